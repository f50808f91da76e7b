//! Compares the hot loop with fio's.

use super::Options;
use super::callgrind::instructions_per_op;
use super::fio;
use super::plumb::Plumb;
use super::report::Report;
use super::ring;
use super::rounds::{Bar, Peer, Row, Speed, alternate};
use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const SECONDS: u32 = 2;
const FILE_BYTES: usize = 256 << 20;

/// A load of random 4 KiB reads that costs little but the loop, and the peer with the same load.
struct HotLoop {
    name: &'static str,
    target: Target,
    /// Lines for the workers in Plumb's workload.
    worker: &'static str,
    peer: HotPeer,
    /// Minimum ratio of Plumb's rate to the peer's.
    bar: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Null,
    /// One file for Plumb and its peers, in the page cache.
    Cached,
}

enum HotPeer {
    /// fio itself, with these options.
    Fio(&'static [&'static str]),
    /// fio's `t/io_uring` with these options.
    Ring(&'static [&'static str]),
}

impl HotPeer {
    const fn name(&self) -> &'static str {
        match self {
            HotPeer::Fio(_) => "fio",
            HotPeer::Ring(_) => "t/io_uring",
        }
    }
}

/// Plumb registers buffers, the file and the ring by default.
const BATCHED: &str = "backend = \"io-uring\"\ndepth = 32\nbatch = { submit = 16, complete = 16 }";

const HOT_LOOPS: &[HotLoop] = &[
    HotLoop { name: "null", target: Target::Null, worker: "", peer: HotPeer::Fio(&["--ioengine=null"]), bar: 12.0 },
    HotLoop {
        name: "psync, cached 4 KiB",
        target: Target::Cached,
        worker: "backend = \"psync\"",
        peer: HotPeer::Fio(&["--ioengine=psync"]),
        bar: 1.35,
    },
    HotLoop {
        name: "io_uring 32, batches of 16",
        target: Target::Cached,
        worker: BATCHED,
        peer: HotPeer::Fio(&[
            "--ioengine=io_uring",
            "--iodepth=32",
            "--iodepth_batch_submit=16",
            "--iodepth_batch_complete_min=16",
            "--iodepth_batch_complete_max=32",
            "--fixedbufs",
            "--registerfiles",
        ]),
        bar: 1.3,
    },
    HotLoop {
        name: "io_uring 32, batches of 16",
        target: Target::Cached,
        worker: BATCHED,
        // Depth, batches, interrupts, fixed buffers, registered file and ring, page cache.
        peer: HotPeer::Ring(&["-d32", "-s16", "-c16", "-p0", "-B1", "-F1", "-X1", "-O0"]),
        bar: 0.97,
    },
];

/// Files of the benchmark.
struct Bench<'a> {
    plumb: &'a Plumb,
    folder: tempfile::TempDir,
}

impl Bench<'_> {
    /// Runs a workload file and returns the speed of its only phase.
    fn speed(&self, workload: &Path) -> Result<Speed> {
        self.plumb.run(workload, self.folder.path())?.first().context("no phase")?.speed("read.iops")
    }

    fn workload(&self, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join("workload.toml");
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// Writes a workload of 4 KiB ops on a null target. `end` is a line that limits it, `worker` further lines.
    fn null(&self, end: &str, worker: &str) -> Result<PathBuf> {
        self.workload(&format!(
            "name = \"null\"\n[target.t.null]\nsize = \"256MiB\"\n[[phase]]\nname = \"p\"\n{end}\n[[phase.workers]]\n\
             target = \"t\"\nwork.blocks.block = \"4KiB\"\n{worker}\n"
        ))
    }

    /// Writes a workload of random reads of the peers' file, through the page cache.
    fn cached(&self, data: &Path, worker: &str) -> Result<PathBuf> {
        self.workload(&format!(
            "name = \"cached\"\n[target.t.file]\npath = {:?}\nsize = \"256MiB\"\nprepare = \"nothing\"\n[[phase]]\n\
             name = \"p\"\ncache = \"warm\"\nstop.time = \"{SECONDS}s\"\n[[phase.workers]]\ntarget = \"t\"\n\
             work.blocks.pattern = \"random\"\nwork.blocks.block = \"4KiB\"\n{worker}\n",
            data.display().to_string()
        ))
    }
}

/// Creates one file for all, in the page cache and flushed, so that no write-back runs during the reads. It has no
/// access times: `t/io_uring` opens it with `O_NOATIME`, the others do not, and the check whether an update is due
/// takes 4 % of a cached read.
fn make_data(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("data");
    let mut file = std::fs::File::create(&path)?;
    // Any bytes will do: cached reads copy them regardless of their values.
    let block: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for _ in 0..FILE_BYTES / block.len() {
        file.write_all(&block).with_context(|| format!("writing {}", path.display()))?;
    }
    file.sync_all()?;
    let attribute = Command::new("chattr").arg("+A").arg(&path).output();
    if !attribute.is_ok_and(|output| output.status.success()) {
        println!("access times stay on: `chattr +A` fails on {}, and t/io_uring alone avoids them", path.display());
    }
    Ok(path)
}

/// Compares the requested hot loops, each with its peer.
///
/// # Errors
///
/// There is no place for the files.
pub(super) fn hot_loops(plumb: &Plumb, options: &Options, rounds: usize, report: &mut Report) -> Result<()> {
    let bench = Bench { plumb, folder: tempfile::tempdir()? };
    let mut data = None;
    for hot in HOT_LOOPS {
        let name = format!("hot loop: {}", hot.name);
        let case = format!("{name}, against {}", hot.peer.name());
        if !options.wants(&case) {
            continue;
        }
        let (program, lacks) = match hot.peer {
            HotPeer::Fio(_) => (options.installed("fio"), "fio is not here: apt-get install fio"),
            HotPeer::Ring(_) => (
                options.ring(),
                "t/io_uring is not here, and in no package: `./configure && make t/io_uring` in fio's source, and `--peers DIR` \
                 with the directory of that source",
            ),
        };
        let Some(program) = program else {
            report.skip(&case, lacks);
            continue;
        };
        if hot.target == Target::Cached && data.is_none() {
            data = Some(make_data(bench.folder.path())?);
        }
        report.case(&case, compared(&bench, hot, &name, (&program, data.as_deref()), rounds));
    }
    Ok(())
}

fn compared(
    bench: &Bench<'_>,
    hot: &HotLoop,
    name: &str,
    (program, data): (&Path, Option<&Path>),
    rounds: usize,
) -> Result<Vec<Row>> {
    let data = || data.context("no file was made");
    let workload = match hot.target {
        Target::Null => {
            let worker = format!("work.blocks.pattern = \"random\"\n{}", hot.worker);
            bench.null(&format!("stop.time = \"{SECONDS}s\""), &worker)?
        }
        Target::Cached => bench.cached(data()?, hot.worker)?,
    };
    let run: Box<dyn FnMut() -> Result<Speed>> = match hot.peer {
        HotPeer::Fio(options) => {
            let mut words: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
            if hot.target == Target::Cached {
                words.extend(["--readonly".to_owned(), format!("--filename={}", data()?.display())]);
            }
            Box::new(move || fio::run(program, &words, SECONDS))
        }
        HotPeer::Ring(options) => {
            let data = data()?;
            Box::new(move || ring::run(program, options, data, SECONDS))
        }
    };
    let peer = Peer { name: hot.peer.name(), at_least: Bar::AtLeast(hot.bar), run };
    alternate(name, rounds, || bench.speed(&workload), vec![peer])
}

/// Runs `cargo xtask bench engine`.
pub(crate) fn engine(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let fio = options.installed("fio").context("fio is needed: apt-get install fio")?;
    let version = fio::version(&fio)?;
    let rounds = options.rounds();
    println!(
        "plumb against {version}: {rounds} rounds of {SECONDS} s each, in turn; full latency recording in both, none in t/io_uring"
    );
    let mut report = Report::default();
    hot_loops(&plumb, options, rounds, &mut report)?;
    if options.only.is_none() {
        let bench = Bench { plumb: &plumb, folder: tempfile::tempdir()? };
        println!("\nuser instructions an op, null:");
        match instructions(&bench, &fio) {
            Ok(all) => all.iter().for_each(|(what, number, bar)| {
                println!("  {number:7.1}  {:15}  {what}", bar.format(*number));
            }),
            Err(error) => report.case("instructions", Err(error)),
        }
    }
    report.finish()
}

fn instructions(bench: &Bench<'_>, fio: &Path) -> Result<Vec<(String, f64, Bar)>> {
    const RANDOM: &str = "work.blocks.pattern = \"random\"";
    let plumb = |work: &str| {
        instructions_per_op(|ops| {
            let workload = bench.null("", &format!("{work}\nlimit.ops = {ops}"))?;
            Ok(bench.plumb.command(&workload, bench.folder.path()))
        })
    };
    let mixed = format!("{RANDOM}\nwork.blocks.mix = {{ read = 70, write = 30 }}");
    let peer = instructions_per_op(|ops| {
        Ok(fio::command(fio, &["--ioengine=null", "--io_size=1t", &format!("--number_ios={ops}")]))
    })?;
    Ok(vec![
        ("plumb, random".to_owned(), plumb(RANDOM)?, Bar::AtMost(140.0)),
        ("plumb, permutation".to_owned(), plumb("work.blocks.pattern = \"permutation\"")?, Bar::AtMost(150.0)),
        ("plumb, random, 70 % reads and 30 % writes".to_owned(), plumb(&mixed)?, Bar::AtMost(200.0)),
        ("fio, random".to_owned(), peer, Bar::Shown),
    ])
}
