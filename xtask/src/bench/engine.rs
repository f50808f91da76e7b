//! The hot loop against fio's.

use super::Options;
use super::callgrind::instructions_per_op;
use super::fio;
use super::plumb::Plumb;
use super::rounds::{Bar, Peer, alternate, table};
use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

const SECONDS: u32 = 2;
const FILE_BYTES: usize = 256 << 20;

const FIO_BEST: &[&str] = &[
    "--ioengine=io_uring",
    "--iodepth=32",
    "--iodepth_batch_submit=16",
    "--iodepth_batch_complete_min=16",
    "--iodepth_batch_complete_max=32",
    "--fixedbufs",
    "--registerfiles",
];

/// Where the files of the benchmark lie.
struct Bench {
    plumb: Plumb,
    folder: tempfile::TempDir,
}

impl Bench {
    fn workload(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(format!("{name}.toml"));
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// A workload of 4 KiB ops against nothing; `end` is a line that limits it, `work` further lines.
    fn null(&self, name: &str, end: &str, work: &str) -> Result<PathBuf> {
        let text = format!(
            "name = \"{name}\"\n[target.t.null]\nsize = \"256MiB\"\n[[phase]]\nname = \"p\"\n{end}\n[[phase.workers]]\n\
             target = \"t\"\nwork.blocks.block = \"4KiB\"\n{work}\n"
        );
        self.workload(name, &text)
    }

    /// A workload of random reads of the file that fio reads too, through the page cache.
    fn cached(&self, name: &str, data: &Path, work: &str) -> Result<PathBuf> {
        let text = format!(
            "name = \"{name}\"\n[target.t.file]\npath = {:?}\nsize = \"256MiB\"\nprepare = \"nothing\"\n[[phase]]\n\
             name = \"p\"\ncache = \"warm\"\nstop.time = \"{SECONDS}s\"\n[[phase.workers]]\ntarget = \"t\"\n\
             work.blocks.pattern = \"random\"\nwork.blocks.block = \"4KiB\"\n{work}\n",
            data.display().to_string()
        );
        self.workload(name, &text)
    }
}

/// One file for both, in the page cache and written out, so that no write-back runs during the reads.
fn make_data(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("data");
    let mut file = std::fs::File::create(&path)?;
    // Any bytes: cached reads copy them whatever they are.
    let block: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for _ in 0..FILE_BYTES / block.len() {
        file.write_all(&block).with_context(|| format!("writing {}", path.display()))?;
    }
    file.sync_all()?;
    Ok(path)
}

/// `cargo xtask bench engine`.
pub fn engine(options: &Options) -> Result<()> {
    let bench = Bench { plumb: Plumb::get(options)?, folder: tempfile::tempdir()? };
    let here = bench.folder.path().to_owned();
    let data = make_data(&here)?;
    let version = fio::version()?;
    let rounds = options.rounds();
    println!(
        "plumb against {version}: {rounds} rounds of {SECONDS} s each, in turn; full latency recording on both sides"
    );

    let filename = format!("--filename={}", data.display());
    let peer = |name, at_least, arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Peer {
            name,
            at_least: Bar::AtLeast(at_least),
            run: Box::new(move || fio::run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), SECONDS)),
        }
    };
    let plumb = |workload: PathBuf| {
        let bench = &bench;
        move || bench.plumb.run(&workload, bench.folder.path())?.first().context("no phase")?.speed("read.iops")
    };

    let mut rows = Vec::new();
    let null = bench.null("null", &format!("stop.time = \"{SECONDS}s\""), "work.blocks.pattern = \"random\"")?;
    rows.extend(alternate("null", rounds, plumb(null), vec![peer("fio", 5.0, &["--ioengine=null"])])?);

    let psync = bench.cached("psync", &data, "backend = \"psync\"")?;
    let fio_psync = peer("fio", 1.2, &["--ioengine=psync", "--readonly", &filename]);
    rows.extend(alternate("psync, cached", rounds, plumb(psync), vec![fio_psync])?);

    let uring = bench.cached("io-uring", &data, "backend = \"io-uring\"\ndepth = 32")?;
    let best: Vec<&str> = FIO_BEST.iter().copied().chain(["--readonly", &filename]).collect();
    let default = ["--ioengine=io_uring", "--iodepth=32", "--readonly", &filename];
    let peers = vec![peer("fio best", 1.25, &best), peer("fio default", 1.5, &default)];
    rows.extend(alternate("io_uring depth 32, cached", rounds, plumb(uring), peers)?);

    let instructions = instructions(&bench)?;
    table(&rows);
    println!("\nuser instructions an op, null:");
    for (what, number, _) in &instructions {
        println!("  {number:7.1}  {what}");
    }
    println!();
    for row in &rows {
        row.sentence().inspect(|sentence| println!("{sentence}"));
    }
    for (what, number, bar) in &instructions {
        bar.sentence(&format!("instructions, {what}"), *number).inspect(|sentence| println!("{sentence}"));
    }
    Ok(())
}

fn instructions(bench: &Bench) -> Result<Vec<(String, f64, Bar)>> {
    const RANDOM: &str = "work.blocks.pattern = \"random\"";
    let plumb = |name: &str, work: &str| {
        instructions_per_op(|ops| {
            let workload = bench.null(name, "", &format!("{work}\nlimit.ops = {ops}"))?;
            Ok(bench.plumb.command(&workload, bench.folder.path()))
        })
    };
    let mixed = format!("{RANDOM}\nwork.blocks.mix = {{ read = 70, write = 30 }}");
    let fio = instructions_per_op(|ops| {
        Ok(fio::command(&["--ioengine=null", "--io_size=1t", &format!("--number_ios={ops}")]))
    })?;
    Ok(vec![
        ("plumb, random".to_owned(), plumb("random", RANDOM)?, Bar::AtMost(140.0)),
        (
            "plumb, permutation".to_owned(),
            plumb("permutation", "work.blocks.pattern = \"permutation\"")?,
            Bar::AtMost(150.0),
        ),
        ("plumb, random, 70 % reads and 30 % writes".to_owned(), plumb("mixed", &mixed)?, Bar::AtMost(200.0)),
        ("fio, random".to_owned(), fio, Bar::Shown),
    ])
}
