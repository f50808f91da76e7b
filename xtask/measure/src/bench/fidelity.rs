//! Checks that Plumb and the original tool report the same rates for a command line. Their runs alternate in randomised
//! blocks on one file system, and the rule of `plumb compare` judges the rates.

use super::Options;
use super::classics::{Line, Rates, SHARED, ToolOutput};
use super::plumb::Plumb;
use super::readers;
use crate::mount::MountedLoop;
use anyhow::{Context, Result, bail};
use plumb_stats::schedule::{Block, blocked_order};
use plumb_stats::verdict::{Better, Verdict, VerdictRule, assess};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Default number of blocks per case: enough for the sign-flip test, and even.
const BLOCKS: usize = 10;
/// Speed limit of the device. If it is the bottleneck, differences come from the tools, and not from the machine.
const DEVICE_BYTES_PER_SECOND: u64 = 100 << 20;
const SECONDS: &str = "--runtime=2";
/// Seed of the order of runs.
const SEED: u64 = 4;

/// A command line for both programs.
struct Case {
    name: &'static str,
    line: Line,
    unit: &'static str,
    /// Files that the tool creates once, for all runs of both to read. The position of a file's pages in memory matters
    /// more for cached reads than the program that reads them.
    shared: Option<Line>,
}

/// Command lines in which the device or the clock is the bottleneck, not the tool. Otherwise Plumb should be faster,
/// and `bench fio` measures by how much.
const CASES: &[Case] = &[
    fio(
        "2000 reads a second",
        &["--rw=randread", "--bs=4k", "--size=64m", "--rate_iops=2000", "--time_based", SECONDS],
    ),
    fio(
        "1 ms of think time after every read",
        &["--rw=randread", "--bs=4k", "--size=64m", "--thinktime=1000", "--time_based", SECONDS],
    ),
    fio(
        "a mix at 20 MiB/s",
        &["--rw=randrw", "--rwmixread=70", "--bs=16k", "--size=64m", "--rate=14m,6m", "--time_based", SECONDS],
    ),
    fio("4 KiB writes, each flushed", &["--rw=write", "--bs=4k", "--size=64m", "--fsync=1", "--time_based", SECONDS]),
    fio("direct random reads", &["--rw=randread", "--bs=4k", "--size=256m", "--direct=1", "--time_based", SECONDS]),
    fio(
        "direct random writes, libaio 8",
        &[
            "--rw=randwrite",
            "--bs=4k",
            "--size=256m",
            "--direct=1",
            "--ioengine=libaio",
            "--iodepth=8",
            "--time_based",
            SECONDS,
        ],
    ),
    fio(
        "direct 1 MiB reads in sequence",
        &["--rw=read", "--bs=1m", "--size=256m", "--direct=1", "--time_based", SECONDS],
    ),
    fio("64 MiB written and flushed", &["--rw=write", "--bs=64k", "--size=64m", "--end_fsync=1"]),
];

const fn fio(name: &'static str, words: &'static [&'static str]) -> Case {
    Case {
        name,
        line: Line { tool: "fio", words, input: "", reads: fio_iops, needs_file: false },
        unit: "ops/s",
        shared: None,
    }
}

const fn dd(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "dd", words, input: "", reads: readers::dd, needs_file: false };
    Case { name, line, unit: "B/s", shared: None }
}

const fn iozone(name: &'static str, words: &'static [&'static str]) -> Case {
    Case { name, line: iozone_line(words), unit: "kB/s", shared: None }
}

const fn iozone_line(words: &'static [&'static str]) -> Line {
    Line { tool: "iozone", words, input: "", reads: readers::iozone, needs_file: false }
}

const fn bonnie(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "bonnie++", words, input: "", reads: readers::bonnie, needs_file: false };
    Case { name, line, unit: "kB/s or files/s", shared: None }
}

/// The classics: most of IOzone's tests, Bonnie++'s columns, PostMark's parts, and dd in the five forms in which its
/// rates are published.
const CLASSICS: &[Case] = &[
    dd("of a file, not flushed", &["if=/dev/zero", "of=plumb-bench-output", "bs=64k", "count=4096"]),
    dd("conv=fdatasync", &["if=/dev/zero", "of=plumb-bench-output", "bs=64k", "count=4096", "conv=fdatasync"]),
    Case {
        name: "if a file, iflag=direct",
        line: Line {
            tool: "dd",
            words: &["if=plumb-bench-input", "of=/dev/null", "bs=1M", "iflag=direct"],
            input: "",
            reads: readers::dd,
            needs_file: true,
        },
        unit: "B/s",
        shared: None,
    },
    dd("oflag=direct", &["if=/dev/zero", "of=plumb-bench-output", "bs=1M", "count=512", "oflag=direct"]),
    Case {
        name: "if a cached file",
        line: Line {
            tool: "dd",
            words: &["if=plumb-bench-input", "of=/dev/null", "bs=64k"],
            input: "",
            reads: readers::dd,
            needs_file: true,
        },
        unit: "B/s",
        shared: None,
    },
    iozone("tests 0 to 7, 9 and 10, flushed", &["-R", "-E", "-e", "-s", "192m", "-r", "64k"]),
    iozone(
        "tests 0 to 5, 9 and 10, direct",
        &[
            "-R", "-E", "-I", "-s", "64m", "-r", "64k", "-i", "0", "-i", "1", "-i", "2", "-i", "3", "-i", "4", "-i",
            "5", "-i", "9", "-i", "10",
        ],
    ),
    Case {
        name: "cached reads of one file",
        line: iozone_line(&[
            "-R", "-w", "-s", "1g", "-r", "64k", "-i", "1", "-i", "3", "-i", "5", "-i", "7", "-f", SHARED,
        ]),
        unit: "kB/s",
        shared: Some(iozone_line(&["-R", "-w", "-s", "1g", "-r", "64k", "-i", "0", "-f", SHARED])),
    },
    iozone(
        "two processes, direct",
        &["-R", "-I", "-x", "-t", "2", "-s", "256m", "-r", "64k", "-i", "0", "-i", "1", "-i", "2"],
    ),
    bonnie("columns", &["-q", "-f2", "-u", "root", "-r", "0", "-s", "384:8k:60000", "-n", "64:1024:0:16", "-z", "42"]),
    Case {
        name: "parts",
        line: Line {
            tool: "postmark",
            words: &[],
            input: "set number 20000\nset transactions 100000\nrun\nquit\n",
            reads: readers::postmark,
            needs_file: false,
        },
        unit: "/s",
        shared: None,
    },
];

/// Returns ops per second in both directions together, from fio's JSON.
fn fio_iops(printed: &ToolOutput) -> Result<Rates> {
    let document: Value = serde_json::from_slice(&printed.output.stdout).context("the output is not JSON")?;
    let job = &document["jobs"][0];
    let iops = ["read", "write"].iter().filter_map(|direction| job[direction]["iops"].as_f64()).sum::<f64>();
    if iops > 0.0 { Ok(Rates::from([(String::new(), iops)])) } else { bail!("no ops were done") }
}

/// Runs `cargo xtask bench fidelity`.
pub(crate) fn fidelity(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let blocks = options.rounds.unwrap_or(BLOCKS);
    let folder = tempfile::tempdir_in(xtask::tools::target_directory())?;
    let mut mounted = MountedLoop::ext4_below(folder.path(), 2 << 30)?;
    let slow = mounted.as_mut().map(|mounted| mounted.slow_down(DEVICE_BYTES_PER_SECOND));
    let what = match slow {
        Some(true) => "a new ext4 for each run, or for runs that share a file, on a loop device limited to 100 MiB/s",
        Some(false) => {
            "a new ext4 for each run, or for runs that share a file, on a loop device without a speed limit \
             (that needs cgroup v1)"
        }
        None => "the build's file system (as root, an ext4 on a loop device is used)",
    };
    println!("the same command lines in both programs on {what}: {blocks} blocks of two runs, in random order");
    println!("\n{:48} {:>12} {:>12}  plumb / tool (interval)    verdict", "case", "plumb", "tool");
    for case in CASES.iter().chain(CLASSICS) {
        if options.wants(&format!("{} {}", case.line.tool, case.name)) {
            for line in judged((&plumb, options), case, folder.path(), mounted.as_ref(), blocks)
                .with_context(|| case.name.to_owned())?
            {
                println!("{line}");
            }
        }
    }
    Ok(())
}

/// Returns a line of the table for each rate that the command line prints.
fn judged(
    (plumb, options): (&Plumb, &Options),
    case: &Case,
    folder: &Path,
    mounted: Option<&MountedLoop>,
    blocks: usize,
) -> Result<Vec<String>> {
    let (line, place, store) = (&case.line, mounted.map_or(folder, MountedLoop::place), folder);
    let renew = || mounted.map_or(Ok(()), MountedLoop::renew);
    if let Some(shared) = &case.shared {
        renew()?;
        shared.run(shared.speaking_tool(options), place, store)?;
    }
    let run = |command| {
        if case.shared.is_none() {
            renew()?;
        }
        line.run(command, place, store).map(|run| run.rates)
    };
    let tool = || run(line.speaking_tool(options));
    let own = || {
        let mut command = plumb.as_tool(line.tool);
        command.env("PLUMB_ALLOW", place.join(SHARED));
        run(command)
    };
    let (mut tools, mut owns) = (Vec::new(), Vec::new());
    for block in blocked_order(SEED, u32::try_from(blocks)?) {
        match block {
            Block::AB => {
                tools.push(tool()?);
                owns.push(own()?);
            }
            Block::BA => {
                owns.push(own()?);
                tools.push(tool()?);
            }
        }
    }
    let names: BTreeSet<&String> = owns.iter().chain(&tools).flat_map(Rates::keys).collect();
    names.into_iter().map(|name| row(case, name, &tools, &owns)).collect()
}

fn row(case: &Case, rate: &str, tools: &[Rates], owns: &[Rates]) -> Result<String> {
    let name = [case.line.tool, case.name, rate].join(" ");
    // IOzone prints 0 for work that it did not time.
    let usable = |rates: &Rates| rates.get(rate).copied().filter(|rate| *rate > 0.0);
    let series = |all: &[Rates]| all.iter().map(usable).collect::<Option<Vec<f64>>>();
    let (Some(tools), Some(owns)) = (series(tools), series(owns)) else {
        return Ok(format!("{:48} was not reported by one of them: too fast, or not timed", name.trim_end()));
    };
    let assessment = assess(&tools, &owns, Better::Higher, &VerdictRule::default())?;
    let verdict = match assessment.verdict {
        Verdict::Faster(_) => "plumb is faster",
        Verdict::Slower(_) => "plumb is slower",
        Verdict::Equivalent(_) => "equivalent within 5 %",
        Verdict::CannotTell { .. } => "cannot tell",
        Verdict::Fragile(_) => "fragile",
    };
    let note = assessment.note.text();
    let ratio = assessment.narrow.map_or_else(String::new, |r| format!("{:.3} ({:.3}-{:.3})", r.value, r.lo, r.hi));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let separator = if note.is_empty() { "" } else { ": " };
    Ok(format!(
        "{:48} {:>12.1} {:>12.1}  {ratio:26} {verdict}{separator}{note} ({})",
        name.trim_end(),
        mean(&owns),
        mean(&tools),
        case.unit
    ))
}
