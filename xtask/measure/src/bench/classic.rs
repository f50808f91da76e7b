//! Plumb's promised ratios to the tools that it replaces. Command lines alternate between both, on memory or a null
//! target, so that the program is the bottleneck.

use super::Options;
use super::classics::{Line, Rates, Run, SHARED, how_to_install};
use super::engine::hot_loops;
use super::neighbours::Processors;
use super::plumb::Plumb;
use super::readers::{self, UnitOf};
use super::report::Report;
use super::rounds::{Bar, Row, Unit, median};
use super::start;
use crate::mount::Tmpfs;
use anyhow::{Context, Result, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;
use std::time::Duration;

/// A command line, and the compared measures.
struct Case {
    name: &'static str,
    line: Line,
    /// Files that the tool creates once, for all runs of both. The position of a file's pages in memory matters more
    /// than the program that reads them.
    shared: Option<Line>,
    judged: Judged,
    unit: UnitOf,
}

/// Measures of a run that are compared with the tool's.
#[derive(Clone, Copy, PartialEq)]
enum Judged {
    /// The time of the whole process. The printed numbers must equal the tool's: they count the work.
    Process,
    /// The time of the whole process, and the printed rates.
    ProcessAndRates,
    /// The printed rates, against this bar.
    Rates(Bar),
}

/// Enough to show a difference of a few percent.
const ROUNDS: usize = 11;

/// Bar for rates and whole processes.
const BAR: Bar = Bar::AtLeast(1.0);

/// Neighbours are busy for seconds at a time.
const BETWEEN_DISTURBANCES: Duration = Duration::from_secs(2);

/// Size of the file system in memory.
const MEMORY_BYTES: u64 = 4 << 30;

const CASES: &[Case] = &[
    dd("dd bs=512, zero to null", &["if=/dev/zero", "of=/dev/null", "bs=512", "count=1000000"]),
    dd_of_file("dd bs=512, cached to null", &["if=plumb-bench-input", "of=/dev/null", "bs=512"]),
    dd_of_file("dd bs=4k, file to file", &["if=plumb-bench-input", "of=plumb-bench-output", "bs=4k"]),
    dd_of_file("dd bs=64k, file to file", &["if=plumb-bench-input", "of=plumb-bench-output", "bs=64k"]),
    Case {
        name: "iozone -r 4k, cached",
        line: iozone(&["-R", "-w", "-s", "256m", "-r", "4k", "-i", "0", "-i", "1", "-i", "2", "-i", "3", "-f", SHARED]),
        shared: Some(iozone(&["-R", "-w", "-s", "256m", "-r", "4k", "-i", "0", "-f", SHARED])),
        judged: Judged::ProcessAndRates,
        unit: readers::kib,
    },
    Case {
        name: "bonnie++",
        line: Line {
            tool: "bonnie++",
            words: &["-q", "-f2", "-u", "root", "-r", "0", "-s", "64", "-n", "8:1024:0:4", "-z", "42"],
            input: "",
            reads: readers::bonnie,
            needs_file: false,
        },
        shared: None,
        judged: Judged::ProcessAndRates,
        unit: readers::bonnie_unit,
    },
    Case {
        name: "postmark, 50,000 transactions",
        line: postmark(
            "set number 2000\nset transactions 50000\nset size 500 5000\nrun\nquit\n",
            readers::postmark_work,
        ),
        shared: None,
        judged: Judged::Process,
        unit: readers::ops,
    },
    Case {
        name: "postmark, 100,000 transactions",
        line: postmark("set number 50000\nset transactions 100000\nrun\nquit\n", readers::postmark),
        shared: None,
        // PostMark prints whole seconds, and the times when it prints its lines say little about a fast part.
        judged: Judged::Rates(Bar::Shown),
        unit: readers::ops,
    },
    sysbench("sysbench fileio, random reads", RANDOM_READS),
    sysbench("sysbench fileio, random writes", RANDOM_WRITES),
    fs_mark("fs_mark -S 0", &["-d", "files", "-n", "40000", "-s", "4096", "-S", "0", "-l", "log"]),
    fs_mark("fs_mark -S 1", &["-d", "files", "-n", "40000", "-s", "4096", "-S", "1", "-l", "log"]),
    Case {
        name: "dbench, 1 client",
        line: Line {
            tool: "dbench",
            // Without `-c`, both take the load file of Debian's package.
            words: &["-t", "4", "-D", ".", "1"],
            input: "",
            reads: readers::dbench,
            needs_file: false,
        },
        shared: None,
        // Its duration is fixed.
        judged: Judged::Rates(BAR),
        unit: readers::mb,
    },
];

const fn dd(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "dd", words, input: "", reads: readers::dd, needs_file: false };
    Case { name, line, shared: None, judged: Judged::ProcessAndRates, unit: readers::bytes }
}

const fn dd_of_file(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "dd", words, input: "", reads: readers::dd, needs_file: true };
    Case { name, line, shared: None, judged: Judged::ProcessAndRates, unit: readers::bytes }
}

const fn iozone(words: &'static [&'static str]) -> Line {
    Line { tool: "iozone", words, input: "", reads: readers::iozone, needs_file: false }
}

const fn postmark(input: &'static str, reads: super::classics::Reader) -> Line {
    Line { tool: "postmark", words: &[], input, reads, needs_file: false }
}

const fn fs_mark(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "fs_mark", words, input: "", reads: readers::fs_mark, needs_file: false };
    Case { name, line, shared: None, judged: Judged::ProcessAndRates, unit: readers::ops }
}

/// Returns a number of requests, so that both do the same work.
const fn sysbench_words(mode: &'static str, command: &'static str) -> [&'static str; 9] {
    [
        "fileio",
        "--file-num=16",
        "--file-total-size=256M",
        "--file-block-size=4096",
        "--rand-seed=1",
        "--time=0",
        "--events=500000",
        mode,
        command,
    ]
}

const RANDOM_READS: &[&str] = &sysbench_words("--file-test-mode=rndrd", "run");
const RANDOM_WRITES: &[&str] = &sysbench_words("--file-test-mode=rndwr", "run");
const PREPARE: &[&str] = &sysbench_words("--file-test-mode=rndrd", "prepare");

const fn sysbench(name: &'static str, words: &'static [&'static str]) -> Case {
    let line = Line { tool: "sysbench", words, input: "", reads: readers::sysbench, needs_file: false };
    let prepare =
        Line { tool: "sysbench", words: PREPARE, input: "", reads: readers::sysbench_prepared, needs_file: false };
    Case { name, line, shared: Some(prepare), judged: Judged::ProcessAndRates, unit: readers::ops }
}

/// Runs `cargo xtask bench classic`.
pub(crate) fn classic(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let rounds = options.rounds_or(ROUNDS);
    let mut report = Report::default();
    println!(
        "plumb against the tools that it replaces, in turn, rounds: {rounds}; a ratio says how many times as fast plumb is"
    );
    hot_loops(&plumb, options, rounds, &mut report)?;
    start::one_block(&plumb, options, rounds, &mut report);
    if CASES.iter().any(|case| options.wants(case.name)) {
        command_lines(&plumb, options, rounds, &mut report)?;
    }
    report.finish()
}

fn command_lines(plumb: &Plumb, options: &Options, rounds: usize, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir_in(xtask::tools::target_directory())?;
    let memory = Tmpfs::below(folder.path(), MEMORY_BYTES)?;
    let (place, what) = match &memory {
        Some(memory) => (memory.place(), "a tmpfs"),
        None => (folder.path(), "the file system of the build (root mounts a tmpfs)"),
    };
    println!("\nthe same command lines in both, on {what} and on one processor:");
    let _one = OneProcessor::get()?;
    for case in CASES.iter().filter(|case| options.wants(case.name)) {
        if options.installed(case.line.tool).is_none() {
            report.skip(case.name, &how_to_install(case.line.tool));
            continue;
        }
        println!("\n{}", case.name);
        report.case(case.name, alternated((plumb, options), case, place, rounds));
    }
    Ok(())
}

/// Pins this thread and its children to one processor. The choice of processor, with its warm caches and free pages,
/// makes a difference of a few percent, so it must be the same for all.
struct OneProcessor {
    before: CpuSet,
}

impl OneProcessor {
    fn get() -> Result<OneProcessor> {
        let before = sched_getaffinity(None)?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|number| before.is_set(*number));
        let mut one = CpuSet::new();
        one.set(last.context("no processor is allowed")?);
        sched_setaffinity(None, &one)?;
        Ok(OneProcessor { before })
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Returns a row for each measure of a command line.
fn alternated((plumb, options): (&Plumb, &Options), case: &Case, place: &Path, rounds: usize) -> Result<Vec<Row>> {
    // Plumb also stores its results in memory, so that other disk activity does not matter.
    let [files, store] = [tempfile::tempdir_in(place)?, tempfile::tempdir_in(place)?];
    let (files, store, line) = (files.path(), store.path(), &case.line);
    if let Some(shared) = &case.shared {
        shared.run(shared.tool(options), files, store)?;
    }
    let run = |command| {
        if case.shared.is_none() && !line.needs_file {
            empty(files)?;
        }
        line.run(command, files, store)
    };
    let own = || {
        let mut command = plumb.as_tool(line.tool);
        if case.shared.is_some() {
            command.env("PLUMB_ALLOW", files);
        }
        run(command)
    };
    let tool = || {
        run(match case.judged {
            Judged::Process | Judged::ProcessAndRates => line.tool(options),
            Judged::Rates(_) => line.speaking_tool(options),
        })
    };
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
        println!("  {}  {}", round + 1, round_line(case, &own, &tool));
        if case.judged == Judged::Process {
            ensure!(own.rates == tool.rates, "plumb did other work: {:?}, the tool {:?}", own.rates, tool.rates);
        }
        owns.push(own);
        tools.push(tool);
    }
    Ok(rows(case, &owns, &tools))
}

/// Removes the files of the other program.
fn empty(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder)?;
    std::fs::create_dir(folder).with_context(|| format!("making {}", folder.display()))
}

/// Formats the ratios of one round.
fn round_line(case: &Case, own: &Run, tool: &Run) -> String {
    if let Judged::Rates(_) = case.judged {
        let ratio = |(name, rate): (&String, &f64)| Some(format!("{name} {:.2}×", rate / tool.rates.get(name)?));
        return own.rates.iter().filter_map(ratio).collect::<Vec<_>>().join("   ");
    }
    format!(
        "plumb {:.0} ms   {} {:.0} ms   {:.2}×   CPU time {:.2}×",
        own.wall_seconds * 1e3,
        case.line.tool,
        tool.wall_seconds * 1e3,
        tool.wall_seconds / own.wall_seconds,
        tool.cpu_seconds / own.cpu_seconds
    )
}

fn rows(case: &Case, owns: &[Run], tools: &[Run]) -> Vec<Row> {
    let row = |what: &str, unit, pick: &dyn Fn(&Run) -> f64, bar| {
        let series = |all: &[Run]| -> Vec<f64> { all.iter().map(pick).collect() };
        Row::compare((&format!("{}: {what}", case.name), case.line.tool), unit, &series(owns), &series(tools), bar)
    };
    let cpu_ratio = |work: &dyn Fn(&Run) -> f64| {
        let cpu = |run: &Run| run.cpu_seconds / work(run);
        median(owns.iter().zip(tools).map(|(own, tool)| cpu(tool) / cpu(own)))
    };
    let mut all = Vec::new();
    if let Judged::Process | Judged::ProcessAndRates = case.judged {
        let wall = row("wall time", Unit::Milliseconds, &|run| run.wall_seconds * 1e3, BAR);
        all.push(wall.with_cpu_ratio(cpu_ratio(&|_| 1.0)));
        all.push(row("CPU time", Unit::Milliseconds, &|run| run.cpu_seconds * 1e3, Bar::Shown));
    }
    let bar = match case.judged {
        Judged::Process => return all,
        Judged::ProcessAndRates => BAR,
        Judged::Rates(bar) => bar,
    };
    let names = always_printed(owns.iter().chain(tools).map(|run| &run.rates));
    for name in &names {
        let (unit, one) = (case.unit)(name);
        let rate = row(name, unit, &|run| run.rates[*name] * one, bar);
        let is_all_of_it = names.len() == 1 && matches!(case.judged, Judged::Rates(_));
        all.push(if is_all_of_it { rate.with_cpu_ratio(cpu_ratio(&|run| run.rates[*name])) } else { rate });
    }
    all
}

/// Returns the names of the rates that all runs printed: a part that was once too fast has none.
fn always_printed<'a>(all: impl Iterator<Item = &'a Rates> + Clone) -> Vec<&'a String> {
    let mut runs = all.clone();
    let names = runs.next().into_iter().flat_map(Rates::keys);
    names.filter(|name| all.clone().all(|rates| rates.contains_key(*name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> &'static Case {
        CASES.iter().find(|case| case.name == name).unwrap()
    }

    fn run(wall_seconds: f64, cpu_seconds: f64, rates: &[(&str, f64)]) -> Run {
        let rates = rates.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect();
        Run { wall_seconds, cpu_seconds, rates }
    }

    #[test]
    fn a_slower_process_misses_the_bar_whatever_rate_it_prints() {
        let own = [run(2.0, 1.0, &[("copied", 100.0)])];
        let tool = [run(1.0, 1.0, &[("copied", 50.0)])];
        let rows = rows(case("dd bs=512, zero to null"), &own, &tool);
        assert_eq!(rows.iter().map(Row::is_met).collect::<Vec<_>>(), [Some(false), None, Some(true)]);
        assert!(
            rows[0]
                .sentence()
                .unwrap()
                .contains("0.500, expected at least 1: missed. By processor time it is 1.000: met")
        );
    }

    #[test]
    fn a_given_time_is_not_compared() {
        let own = [run(5.0, 4.0, &[("throughput", 90.0)])];
        let tool = [run(5.0, 5.0, &[("throughput", 100.0)])];
        let rows = rows(case("dbench, 1 client"), &own, &tool);
        assert_eq!(rows.iter().map(Row::is_met).collect::<Vec<_>>(), [Some(false)]);
        // 4 s for 90 against 5 s for 100.
        assert!(rows[0].sentence().unwrap().contains("By processor time it is 1.125: met"), "{:?}", rows[0].sentence());
    }

    #[test]
    fn a_rate_that_was_missing_once_is_left_out() {
        let [both, one] = [&[("in", 1.0), ("out", 1.0)][..], &[("out", 2.0)]];
        let rows = rows(
            case("bonnie++"),
            &[run(1.0, 1.0, both), run(1.0, 1.0, one)],
            &[run(1.0, 1.0, both), run(1.0, 1.0, both)],
        );
        assert_eq!(rows.len(), 3, "wall time, CPU time and one rate");
    }
}
