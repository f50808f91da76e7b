//! Runs the same command lines with `plumb as fio` and with fio.

use super::Options;
use super::fio::version;
use super::plumb::Plumb;
use super::rounds::{Bar, Peer, Speed, alternate, table};
use crate::mount::{LoopDevice, LoopMode};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SECONDS: u32 = 2;

#[derive(Clone, Copy)]
pub(super) enum Tool<'a> {
    Plumb(&'a Plumb),
    Fio,
}

/// Runs one program with a command line, in a separate folder.
pub(super) struct Bench<'a> {
    pub(super) plumb: &'a Plumb,
    pub(super) folder: tempfile::TempDir,
}

impl Bench<'_> {
    fn command(&self, tool: Tool<'_>, words: &[String]) -> Command {
        let mut command = match tool {
            Tool::Fio => Command::new("fio"),
            Tool::Plumb(plumb) => plumb.as_tool("fio"),
        };
        // Results go into the bench's own store.
        command.args(words).current_dir(self.folder.path()).env("XDG_DATA_HOME", self.folder.path());
        command
    }

    /// Runs to the end; a failure is an error with the program's output.
    fn output(&self, tool: Tool<'_>, words: &[String]) -> Result<Output> {
        let mut command = self.command(tool, words);
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        if !output.status.success() {
            let signal = output.status.signal().map(|signal| format!(" (signal {signal})")).unwrap_or_default();
            bail!("{command:?}: {}{signal}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(output)
    }

    /// Returns ops per second of all jobs together, from the JSON output.
    pub(super) fn speed(&self, tool: Tool<'_>, words: &[String]) -> Result<Speed> {
        let mut words = words.to_vec();
        words.push("--output-format=json".to_owned());
        let output = self.output(tool, &words)?;
        let result: Value = serde_json::from_slice(&output.stdout).context("the output is not JSON")?;
        let jobs = result["jobs"].as_array().context("a result without jobs")?;
        let (mut rate, mut cpus) = (0.0, 0.0);
        for job in jobs {
            for direction in ["read", "write"] {
                // `total_ios / runtime`: `iops` is the same, rounded from whole milliseconds.
                let ios = job[direction]["total_ios"].as_f64().unwrap_or(0.0);
                let runtime_ms = job[direction]["runtime"].as_f64().unwrap_or(0.0);
                if runtime_ms > 0.0 {
                    rate += ios / runtime_ms * 1e3;
                }
            }
            cpus += (job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0)) / 100.0;
        }
        if rate == 0.0 {
            bail!("no ops were done by {:?}", self.command(tool, &words));
        }
        Ok(Speed { ops_per_second: rate, cpu_ns: cpus * 1e9 / rate })
    }

    /// Returns how often the whole command could run per second.
    fn turns(&self, tool: Tool<'_>, words: &[String]) -> Result<Speed> {
        let start = Instant::now();
        self.output(tool, words)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Speed { ops_per_second: 1.0 / seconds, cpu_ns: f64::NAN })
    }

    /// Returns the peak memory of the program and its children together in KiB, sampled while it runs.
    fn peak_kib(&self, tool: Tool<'_>, words: &[String]) -> Result<u64> {
        let mut child = self.command(tool, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut peak = 0;
        loop {
            peak = peak.max(tree_kib(child.id()));
            if let Some(status) = child.try_wait()? {
                if !status.success() {
                    bail!("{:?}: {status}", self.command(tool, words));
                }
                return Ok(peak);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Returns the proportional memory of a process and its children in KiB: shared pages count once. Source:
/// proc_pid_smaps(5).
fn tree_kib(pid: u32) -> u64 {
    let folder = Path::new("/proc").join(pid.to_string());
    let rollup = std::fs::read_to_string(folder.join("smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let own = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0);
    let Ok(tasks) = std::fs::read_dir(folder.join("task")) else { return own };
    let children = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    own + children
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(tree_kib).collect::<Vec<_>>())
        .sum::<u64>()
}

/// A command line for both programs.
struct Case {
    name: &'static str,
    bar: Bar,
    words: Vec<String>,
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|&word| word.to_owned()).collect()
}

pub(super) fn timed(all: &[&str]) -> Vec<String> {
    let mut words = words(all);
    words.extend(["--time_based".to_owned(), format!("--runtime={SECONDS}")]);
    words
}

/// Returns the cases whose rates come from the JSON of both.
fn cases(file: &str, device: Option<&str>) -> Vec<Case> {
    let cached = |name, bar, more: &[&str]| {
        let mut all = vec!["--name=c", "--thread", "--rw=randread", "--bs=4k", "--size=256m", "--invalidate=0"];
        all.push(file);
        all.extend(more);
        Case { name, bar: Bar::AtLeast(bar), words: timed(&all) }
    };
    let direct = |name, place: &str| Case {
        name,
        bar: Bar::AtLeast(0.97),
        words: timed(&[
            "--name=d",
            "--thread",
            "--rw=randread",
            "--bs=4k",
            "--size=256m",
            "--direct=1",
            "--ioengine=io_uring",
            "--iodepth=32",
            "--norandommap",
            place,
        ]),
    };
    const NULL: &[&str] = &["--name=n", "--thread", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=256m"];
    const URING: &[&str] = &["--ioengine=io_uring", "--iodepth=32", "--norandommap"];
    const BATCHED: &[&str] = &[
        "--iodepth_batch_submit=16",
        "--iodepth_batch_complete_min=16",
        "--iodepth_batch_complete_max=32",
        "--fixedbufs",
        "--registerfiles",
    ];
    let mut all = vec![
        Case { name: "null", bar: Bar::AtLeast(5.0), words: timed(&[NULL, &["--norandommap"]].concat()) },
        Case { name: "null, random map", bar: Bar::AtLeast(1.0), words: timed(NULL) },
        cached("psync, cached 4 KiB", 1.2, &["--ioengine=psync", "--norandommap"]),
        cached("io_uring 32, default", 1.5, URING),
        cached("io_uring 32, batched and fixed", 1.25, &[URING, BATCHED].concat()),
        cached("libaio 32, cached 4 KiB", 1.0, &["--ioengine=libaio", "--iodepth=32", "--norandommap"]),
        cached("psync, cached 1 MiB in sequence", 0.97, &["--rw=read", "--bs=1m"]),
        cached("64 jobs, cached 4 KiB", 1.0, &["--numjobs=64", "--norandommap", "--group_reporting"]),
        direct("O_DIRECT 32, root disk", file),
    ];
    all.extend(device.map(|device| direct("O_DIRECT 32, loop device", device)));
    all
}

/// Runs `cargo xtask bench fio`.
pub(crate) fn dialect(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let bench = Bench { plumb: &plumb, folder: tempfile::tempdir_in(xtask::tools::target_directory())? };
    let rounds = options.rounds();
    println!("plumb as fio against {}: {rounds} rounds of the same command lines, in turn", version(Path::new("fio"))?);
    let data = bench.folder.path().join("data");
    let file = format!("--filename={}", data.display());
    lay_out(&data)?;
    let device = LoopDevice::attach(&data, LoopMode::ReadOnly);
    if device.is_none() {
        println!("SKIPPED: O_DIRECT on a loop device: no loop device is available (root is needed)");
    }
    let node = device.as_ref().map(|device| format!("--filename={}", device.node()));
    let mut rows = Vec::new();
    let cases = cases(&file, node.as_deref());
    for Case { name, bar, words } in cases.into_iter().filter(|case| options.wants(case.name)) {
        let peer = Peer { name: "fio", at_least: bar, run: Box::new(|| bench.speed(Tool::Fio, &words)) };
        rows.extend(alternate(name, rounds, || bench.speed(Tool::Plumb(bench.plumb), &words), vec![peer])?);
    }
    drop(device);
    if options.only.is_some() {
        table(&rows);
        return Ok(());
    }
    for (name, bar, words) in whole_commands(&bench)? {
        let peer = Peer { name: "fio", at_least: Bar::AtLeast(bar), run: Box::new(|| bench.turns(Tool::Fio, &words)) };
        rows.extend(alternate(name, rounds, || bench.turns(Tool::Plumb(bench.plumb), &words), vec![peer])?);
    }
    table(&rows);
    let memory = memory(&bench)?;
    println!();
    for row in &rows {
        row.sentence().inspect(|sentence| println!("{sentence}"));
    }
    println!("{memory}");
    poisson(&bench)
}

/// Creates a file that both read, flushed so that no write-back runs during the measurement.
pub(super) fn lay_out(path: &Path) -> Result<()> {
    use std::io::Write;
    let mut file = std::fs::File::create(path)?;
    let block: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for _ in 0..256 {
        file.write_all(&block).with_context(|| format!("writing {}", path.display()))?;
    }
    file.sync_all().with_context(|| format!("flushing {}", path.display()))
}

/// Files of the case with a slow start.
const MANY_FILES: &str = "--nrfiles=100000";

fn many_files() -> Vec<String> {
    words(&[
        "--name=m",
        "--thread",
        "--rw=read",
        "--bs=4k",
        MANY_FILES,
        "--filesize=4k",
        "--openfiles=100",
        "--number_ios=1",
        "--directory=many",
    ])
}

/// Returns whole commands, measured by wall time: name, bar, words.
fn whole_commands(bench: &Bench<'_>) -> Result<Vec<(&'static str, f64, Vec<String>)>> {
    let folder = bench.folder.path();
    std::fs::create_dir(folder.join("many"))?;
    // Both lay the files out once, so that the timed part starts with existing files.
    bench.output(Tool::Fio, &many_files())?;
    bench.output(Tool::Plumb(bench.plumb), &many_files())?;
    let file = folder.join("many.fio");
    let jobs: String = (0..10_000)
        .map(|job| format!("[job{job}]\nrw=randread\nbs=4k\nsize=1g\niodepth=8\nioengine=libaio\nruntime=10s\n"))
        .collect();
    std::fs::write(&file, jobs)?;
    let verify = [
        "--name=v",
        "--thread",
        "--rw=randwrite",
        "--bs=4k",
        "--size=256m",
        "--ioengine=psync",
        "--verify=crc32c",
        "--do_verify=1",
        // Otherwise both would read back from the device, which would be the bottleneck.
        "--invalidate=0",
    ];
    Ok(vec![
        ("randwrite with verify=crc32c, then verify, in the page cache", 2.0, words(&verify)),
        ("start with 100,000 files", 2.0, many_files()),
        ("parse a file of 10,000 jobs", 1.0, vec!["--parse-only".to_owned(), file.display().to_string()]),
        ("start and end of a job of one op", 1.0, words(&["--name=s", "--ioengine=null", "--size=4k", "--bs=4k"])),
    ])
}

/// Returns a sentence about the peak memory with 100,000 files.
fn memory(bench: &Bench<'_>) -> Result<String> {
    let fio = bench.peak_kib(Tool::Fio, &many_files())?;
    let plumb = bench.peak_kib(Tool::Plumb(bench.plumb), &many_files())?;
    let ratio = plumb as f64 / fio as f64;
    let what = format!("peak memory with 100,000 files, {plumb} KiB against {fio} KiB");
    Ok(Bar::AtMost(0.5).sentence(&what, ratio).unwrap_or(what))
}

/// Rate of the recorded ops whose gaps are examined.
const POISSON_PER_SECOND: f64 = 300_000.0;

/// Prints how well each follows a Poisson process of 300,000 ops per second: the rate, and the gaps between ops.
fn poisson(bench: &Bench<'_>) -> Result<()> {
    println!("\nPoisson at {POISSON_PER_SECOND} ops/s for {SECONDS} s on the null engine:");
    let line = [
        "--name=p",
        "--thread",
        "--ioengine=null",
        "--rw=randread",
        "--bs=4k",
        "--size=1g",
        "--norandommap",
        "--rate_process=poisson",
        "--rate_iops=300000",
    ];
    for (name, tool) in [("plumb", Tool::Plumb(bench.plumb)), ("fio", Tool::Fio)] {
        let rate = bench.speed(tool, &timed(&line))?.ops_per_second;
        let log: PathBuf = bench.folder.path().join(format!("{name}.iolog"));
        let mut logged = timed(&line);
        logged.push(format!("--write_iolog={}", log.display()));
        bench.output(tool, &logged)?;
        let gaps = gaps_us(&std::fs::read_to_string(&log)?);
        let off = (rate / POISSON_PER_SECOND - 1.0) * 100.0;
        let spread = match distance(&gaps) {
            Some(distance) => format!("gaps differ from the exponential law by {distance:.3} (Kolmogorov-Smirnov)"),
            None => "its recording holds no times".to_owned(),
        };
        println!("  {name:5}  rate off by {off:+.2} %; {spread}");
        std::fs::remove_file(&log)?;
    }
    Ok(())
}

/// Returns microseconds between the starts of reads, from a recording of version 3: `µs FILE read OFFSET LENGTH`.
fn gaps_us(log: &str) -> Vec<u64> {
    let start = |line: &str| {
        let mut words = line.split(' ');
        let at: u64 = words.next()?.parse().ok()?;
        (words.nth(1) == Some("read")).then_some(at)
    };
    let starts: Vec<u64> = log.lines().filter_map(start).collect();
    starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

/// Returns the largest distance between the share of gaps up to N whole microseconds and that of an exponential
/// distribution. A difference of two truncated times is exact to one microsecond, so both neighbours bound it.
fn distance(gaps: &[u64]) -> Option<f64> {
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable();
    let largest = *sorted.last().filter(|_| sorted.len() > 1000)?;
    let mean_us = 1e6 / POISSON_PER_SECOND;
    let law = |us: f64| 1.0 - (-us.max(0.0) / mean_us).exp();
    let off = (0..=largest.min(1000)).map(|us| {
        let share = sorted.partition_point(|gap| *gap <= us) as f64 / sorted.len() as f64;
        (law(us as f64) - share).max(share - law(us as f64 + 1.0)).max(0.0)
    });
    off.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_an_exponential_law_are_near_it_and_even_gaps_are_not() {
        // The quantiles of the distribution, truncated to microseconds like a recording.
        let mean_us = 1e6 / POISSON_PER_SECOND;
        let exact: Vec<u64> = (0..10_000).map(|i| (-mean_us * (1.0 - (i as f64 + 0.5) / 1e4).ln()) as u64).collect();
        assert!(distance(&exact).unwrap() < 0.01);
        assert!(distance(&vec![3; 10_000]).unwrap() > 0.2);
    }

    #[test]
    fn a_recording_yields_the_gaps_between_its_reads() {
        let log = "fio version 3 iolog\n0 f add\n1 f open\n10 f read 0 4096\n13 f read 4096 4096\n20 f close\n";
        assert_eq!(gaps_us(log), [3]);
    }
}
