//! The cost of a command that does almost nothing: scripts call dd a thousand times. The tool and Plumb alternate, as
//! whole commands.

use super::Options;
use super::child;
use super::plumb::Plumb;
use super::report::Report;
use super::rounds::{Bar, Row, Unit, median};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The median of this many distinguishes 10 ms from 11 on a shared machine.
const ROUNDS: usize = 41;

/// A command line that does almost nothing.
struct Case {
    tool: &'static str,
    words: &'static [&'static str],
    input: &'static str,
    /// Limit of Plumb's wall time in milliseconds.
    bar: Bar,
}

const CASES: &[Case] = &[
    Case { tool: "dd", words: &["if=/dev/zero", "of=block", "bs=4k", "count=1"], input: "", bar: Bar::AtMost(6.0) },
    Case {
        tool: "fio",
        words: &["--name=nothing", "--ioengine=null", "--rw=read", "--bs=4k", "--size=4k"],
        input: "",
        bar: Bar::AtMost(15.0),
    },
    Case {
        tool: "iozone",
        words: &["-s", "64k", "-r", "4k", "-i", "0", "-w", "-f", "small"],
        input: "",
        bar: Bar::Shown,
    },
    Case { tool: "postmark", words: &[], input: "set number 10\nset transactions 10\nrun\nquit\n", bar: Bar::Shown },
];

/// Times the commands, and prints milliseconds and ratios.
///
/// # Errors
///
/// A command fails, or no case was selected.
pub(crate) fn start(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let rounds = options.rounds_or(ROUNDS);
    println!("medians of {rounds} whole commands in turn, from start to end");
    let mut report = Report::default();
    for case in CASES.iter().filter(|case| options.wants(&case.name())) {
        compare(&plumb, options, case, rounds, &mut report);
    }
    report.finish()
}

/// Times dd of one block, which has the tightest bar.
pub(super) fn one_block(plumb: &Plumb, options: &Options, rounds: usize, report: &mut Report) {
    for case in CASES.iter().filter(|case| case.tool == "dd" && options.wants(&case.name())) {
        compare(plumb, options, case, rounds, report);
    }
}

impl Case {
    fn name(&self) -> String {
        format!("start of {}", self.tool)
    }
}

fn compare(plumb: &Plumb, options: &Options, case: &Case, rounds: usize, report: &mut Report) {
    let name = case.name();
    match options.installed(case.tool) {
        Some(program) => {
            println!("\n{name}: {} {}", case.tool, case.words.join(" "));
            report.case(&name, timed_rounds(plumb, &program, case, rounds));
        }
        None => report.skip(&name, &super::classics::how_to_install(case.tool)),
    }
}

/// Wall time and CPU time of one command in milliseconds.
#[derive(Clone, Copy)]
struct Times {
    wall_ms: f64,
    cpu_ms: f64,
}

fn timed_rounds(plumb: &Plumb, program: &Path, case: &Case, rounds: usize) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    // Separate directories: Plumb does not write to a file that another program filled.
    let folders = [folder.path().join("plumb"), folder.path().join("tool")];
    folders.iter().try_for_each(fs::create_dir)?;
    let own = || timed(plumb.as_tool(case.tool), case, &folders[0]);
    let tool = || timed(Command::new(program), case, &folders[1]);
    // The first run of each creates the store, and loads the programs into memory.
    own()?;
    tool()?;
    let (mut owns, mut tools) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round.is_multiple_of(2) {
            owns.push(own()?);
            tools.push(tool()?);
        } else {
            tools.push(tool()?);
            owns.push(own()?);
        }
    }
    // Neighbours can only lengthen a run: the shortest one is the least disturbed.
    let least = owns.iter().map(|times| times.wall_ms).fold(f64::INFINITY, f64::min);
    println!("  the shortest of plumb's took {least:.2} ms");
    let series = |all: &[Times], pick: fn(&Times) -> f64| -> Vec<f64> { all.iter().map(pick).collect() };
    let [wall, cpu] = [(|times| times.wall_ms) as fn(&Times) -> f64, |times| times.cpu_ms];
    let cpu_ratio = median(tools.iter().zip(&owns).map(|(tool, own)| tool.cpu_ms / own.cpu_ms));
    let row = |what: &str, pick, bar| {
        let name = format!("{}: {what}", case.name());
        Row::compare((&name, case.tool), Unit::Milliseconds, &series(&owns, pick), &series(&tools, pick), bar)
    };
    Ok(vec![row("wall time", wall, case.bar).with_cpu_ratio(cpu_ratio), row("CPU time", cpu, Bar::Shown)])
}

/// Times a command from before it is started until it has been waited for.
fn timed(mut command: Command, case: &Case, folder: &Path) -> Result<Times> {
    command.args(case.words).current_dir(folder).env("XDG_DATA_HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(case.input.as_bytes())?;
    }
    let mut errors = Vec::new();
    child.stderr.take().context("no standard error")?.read_to_end(&mut errors)?;
    let (status, cpu_seconds) = child::wait(child)?;
    let wall_ms = begun.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        bail!("{command:?}: {status}\n{}", String::from_utf8_lossy(&errors));
    }
    Ok(Times { wall_ms, cpu_ms: cpu_seconds * 1e3 })
}
