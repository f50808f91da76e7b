//! What an operation costs in the classic tools and in Plumb in their place: the same command lines in turn, where the
//! memory or the null device answers, so that the program decides.

use super::Options;
use super::classics::{self, Line, Rates, SHARED};
use super::neighbours::Processors;
use super::plumb::Plumb;
use super::rounds::{Bar, Row, Speed, table};
use crate::mount::Tmpfs;
use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;
use std::time::Duration;

/// A command line, and what is compared of it.
struct Case {
    name: &'static str,
    line: Line,
    /// What the tool makes once, for all runs of both. Where a file's pages lie in memory makes more difference than who
    /// reads them.
    shared: Option<Line>,
    /// Bytes or ops in one of what its rates count.
    unit: f64,
}

/// Enough to show a difference of a few hundredths.
const ROUNDS: usize = 21;

/// Neighbours are busy for seconds at a time.
const BETWEEN_DISTURBANCES: Duration = Duration::from_secs(2);

/// For what a case writes.
const MEMORY_BYTES: u64 = 4 << 30;

const fn case(
    name: &'static str,
    tool: &'static str,
    words: &'static [&'static str],
    reads: fn(&classics::ToolOutput) -> Result<Rates>,
    unit: f64,
) -> Case {
    Case { name, line: Line { tool, words, input: "", reads, needs_file: false }, shared: None, unit }
}

const fn from_file(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "dd", words, input: "", reads: classics::dd, needs_file: true };
    Case { name, line, shared: None, unit: 1.0 }
}

const KIB: f64 = 1024.0;

const CASES: &[Case] = &[
    case(
        "dd bs=512, zero to null",
        "dd",
        &["if=/dev/zero", "of=/dev/null", "bs=512", "count=2000000"],
        classics::dd,
        1.0,
    ),
    from_file("dd bs=512, cached to null", &["if=plumb-bench-input", "of=/dev/null", "bs=512"]),
    from_file("dd bs=4k, file to file", &["if=plumb-bench-input", "of=plumb-bench-output", "bs=4k"]),
    from_file("dd bs=64k, file to file", &["if=plumb-bench-input", "of=plumb-bench-output", "bs=64k"]),
    Case {
        name: "iozone -r 4k, cached",
        line: iozone(&["-R", "-w", "-s", "256m", "-r", "4k", "-i", "0", "-i", "1", "-i", "2", "-i", "3", "-f", SHARED]),
        shared: Some(iozone(&["-R", "-w", "-s", "256m", "-r", "4k", "-i", "0", "-f", SHARED])),
        unit: KIB,
    },
    case(
        "bonnie++ -f4",
        "bonnie++",
        &["-q", "-f4", "-u", "root", "-r", "0", "-s", "16", "-n", "0", "-z", "42"],
        classics::bonnie,
        KIB,
    ),
    Case {
        name: "postmark, 100,000 transactions",
        line: Line {
            tool: "postmark",
            words: &[],
            input: "set number 50000\nset transactions 100000\nrun\nquit\n",
            reads: classics::postmark,
            needs_file: false,
        },
        shared: None,
        unit: 1.0,
    },
];

const fn iozone(words: &'static [&'static str]) -> Line {
    Line { tool: "iozone", words, input: "", reads: classics::iozone, needs_file: false }
}

/// `cargo xtask bench classic`.
pub fn classic(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let rounds = options.rounds_or(ROUNDS);
    let folder = tempfile::tempdir_in(crate::target_directory())?;
    let memory = Tmpfs::below(folder.path(), MEMORY_BYTES)?;
    let (place, what) = match &memory {
        Some(memory) => (memory.place(), "a tmpfs"),
        None => (folder.path(), "the file system of the build (root mounts a tmpfs)"),
    };
    println!(
        "plumb in the place of the classic tools on {what}: {rounds} rounds of the same command lines, in turn, on one \
         processor"
    );
    stay_on_one_processor()?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| options.wants(case.name)) {
        rows.extend(alternated(&plumb, case, place, folder.path(), rounds).with_context(|| case.name.to_owned())?);
    }
    table(&rows);
    println!();
    for row in &rows {
        row.sentence().inspect(|sentence| println!("{sentence}"));
    }
    Ok(())
}

/// Which processor the scheduler takes, whose caches and free pages are warm, makes hundredths: it is the same for all.
fn stay_on_one_processor() -> Result<()> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|number| allowed.is_set(*number)).context("no processor is allowed")?;
    let mut one = CpuSet::new();
    one.set(last);
    Ok(sched_setaffinity(None, &one)?)
}

/// A row for each rate of a command line.
fn alternated(plumb: &Plumb, case: &Case, place: &Path, store: &Path, rounds: usize) -> Result<Vec<Row>> {
    println!("\n{}", case.name);
    let line = &case.line;
    let own = || line.run(plumb.as_tool(line.tool), place, store);
    let tool = || line.run(line.tool(), place, store);
    if let Some(shared) = &case.shared {
        shared.run(shared.tool(), place, store)?;
    }
    let (mut owns, mut tools) = (Vec::new(), Vec::new());
    let mut patience = rounds;
    while owns.len() < rounds {
        let round = owns.len();
        let before = Processors::now()?;
        let [own, tool] = if round.is_multiple_of(2) {
            let own = own()?;
            [own, tool()?]
        } else {
            let tool = tool()?;
            [own()?, tool]
        };
        if Processors::now()?.were_taken_since(before) && patience > 0 {
            patience -= 1;
            println!("  {}  again: the hypervisor took more than 1 % of the processors", round + 1);
            std::thread::sleep(BETWEEN_DISTURBANCES);
            continue;
        }
        let ratios = own.iter().filter_map(|(name, rate)| Some(format!("{name} {:.2}×", rate / tool.get(name)?)));
        println!("  {}  {}", round + 1, ratios.collect::<Vec<_>>().join("   "));
        owns.push(own);
        tools.push(tool);
    }
    // A rate that was missing once was too fast to be reported: it is left out.
    let names = owns[0].keys().filter(|name| owns.iter().chain(&tools).all(|rates| rates.contains_key(*name)));
    let series = |all: &[Rates], name: &str| -> Vec<Speed> {
        all.iter().map(|rates| Speed { ops_per_second: rates[name] * case.unit, cpu_ns: f64::NAN }).collect()
    };
    Ok(names
        .map(|name| {
            let what = format!("{}: {name}", case.name);
            Row::new(&what, line.tool, &series(&owns, name), &series(&tools, name), Bar::AtLeast(1.0))
        })
        .collect())
}
