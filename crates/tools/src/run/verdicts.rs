//! Verdicts on a tool's runs. They are the same for every tool: one line on standard error if a run was rejected or
//! memory answered, and exit code 3 with `--plumb-strict`.

use crate::own_words::VerdictOptions;
use plumb_bench::RunOutcome;
use plumb_cli::common::Common;
use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_cli::session;
use plumb_result::metric::Subject;
use plumb_result::run::TierName;
use plumb_result::{Finding, Level, MetricValue, RunResult, RunVerdict};
use plumb_workload::OpKind;
use std::io::IsTerminal;

/// Checks that name the memory that answered.
const MEMORY_CHECKS: [&str; 4] = ["A1", "A2", "A3", "A7"];
/// Limit of findings, or of op kinds, that are named; the rest is counted.
const NAMED_MAX: usize = 3;

/// Where a line on standard error does not break programs that parse the tool's output.
/// `docs/dialects/verdicts.md` lists the known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePlace {
    /// At the end of the command.
    Last,
    /// Before the tool's report, because its readers take the last line.
    BeforeReport,
    /// At the end, unless standard output and standard error are the same pipe or file: readers take
    /// the last line of both.
    LastUnlessMerged,
    /// At the end, on a terminal only: readers take any text on standard error for a failure.
    LastOnTerminal,
    /// Nowhere: the arguments ask for silence.
    Nowhere,
}

/// Doubt about a run's numbers, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// A check warns. Printed only on a terminal.
    Caution,
    Memory,
    Rejected,
}

/// Verdicts on all runs of one invocation.
pub struct Verdicts {
    options: VerdictOptions,
    is_stored: bool,
    is_on_terminal: bool,
    runs: u32,
    rejected: u32,
    /// Number of runs with the worst doubt so far.
    doubted: u32,
    worst: Option<DoubtedRun>,
    place: LinePlace,
}

/// A run whose numbers may mislead.
struct DoubtedRun {
    doubt: Doubt,
    reason: String,
}

impl Verdicts {
    /// Returns the verdicts before the first run.
    pub fn new(options: VerdictOptions, common: &Common) -> Verdicts {
        Verdicts {
            options,
            is_stored: !common.no_store,
            is_on_terminal: std::io::stderr().is_terminal(),
            runs: 0,
            rejected: 0,
            doubted: 0,
            worst: None,
            place: LinePlace::Last,
        }
    }

    /// Adds a finished run, before the tool prints its report.
    pub fn add(&mut self, outcome: &RunOutcome, place: LinePlace) {
        self.place = place;
        self.is_stored &= outcome.not_stored.is_none();
        self.add_result(&outcome.result);
        if place == LinePlace::BeforeReport {
            self.print();
        }
    }

    fn add_result(&mut self, result: &RunResult) {
        self.runs += 1;
        self.rejected += u32::from(result.verdict == RunVerdict::Reject);
        let Some(run) = DoubtedRun::from_result(result) else { return };
        match self.worst.as_ref().map(|worst| worst.doubt.cmp(&run.doubt)) {
            Some(std::cmp::Ordering::Greater) => {}
            Some(std::cmp::Ordering::Equal) => self.doubted += 1,
            Some(std::cmp::Ordering::Less) | None => {
                self.doubted = 1;
                self.worst = Some(run);
            }
        }
    }

    /// Prints the line once, if there is a doubt and a place for it.
    pub fn print(&mut self) {
        let line = self.line();
        self.worst = None;
        if let Some(line) = line.filter(|_| self.has_room()) {
            error_line!("{line}");
        }
    }

    fn has_room(&self) -> bool {
        match self.place {
            LinePlace::Last | LinePlace::BeforeReport => true,
            LinePlace::LastUnlessMerged => self.is_on_terminal || !is_merged(),
            LinePlace::LastOnTerminal => self.is_on_terminal,
            LinePlace::Nowhere => false,
        }
    }

    fn line(&self) -> Option<String> {
        let worst = self.worst.as_ref().filter(|worst| worst.doubt > Doubt::Caution || self.is_on_terminal)?;
        if self.options.quiet {
            return None;
        }
        let head = match worst.doubt {
            Doubt::Rejected => "rejected",
            Doubt::Memory => "memory answered, not the device",
            Doubt::Caution => "caution",
        };
        let runs = match self.runs {
            1 => String::new(),
            runs => format!(" ({} of {runs} runs; this is the first)", self.doubted),
        };
        // No id, so that simulated runs print the same text each time.
        let show = match (self.is_stored, self.runs) {
            (false, _) => "",
            (true, 1) => "; see `plumb show last`",
            (true, _) => "; see `plumb list`",
        };
        Some(format!("plumb: {head}{runs}: {}{show}; PLUMB_QUIET=1 silences this", worst.reason))
    }

    /// Replaces exit code 0 with 3 if a run was rejected and `--plumb-strict` was given.
    pub fn end(&self, end: End) -> End {
        if self.options.strict && self.rejected > 0 && end.number() == 0 { End::Rejected } else { end }
    }
}

impl DoubtedRun {
    fn from_result(result: &RunResult) -> Option<DoubtedRun> {
        let findings = |level: Level| reasons(result.checks.iter().filter(move |finding| finding.level >= level));
        let run = |doubt, reason| Some(DoubtedRun { doubt, reason });
        if result.verdict == RunVerdict::Reject {
            return run(Doubt::Rejected, findings(Level::Fail));
        }
        let cached = cached_ops(result);
        if !cached.is_empty() {
            return run(Doubt::Memory, format!("{}{}", listed(&cached), codes(result)));
        }
        let cautions = findings(Level::Warn);
        if cautions.is_empty() { None } else { run(Doubt::Caution, cautions) }
    }
}

/// Formats the first findings in one line, each check once, and counts the rest.
fn reasons<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let mut named: Vec<&Finding> = Vec::new();
    for finding in findings {
        if named.iter().all(|other| other.code != finding.code) {
            named.push(finding);
        }
    }
    let more = named.len().saturating_sub(NAMED_MAX);
    let shown = named.iter().take(NAMED_MAX).map(|finding| format!("{} {}", finding.code, finding.message));
    let text = shown.collect::<Vec<_>>().join(" ");
    let text = text.strip_suffix('.').unwrap_or(&text);
    if more == 0 { text.to_owned() } else { format!("{text}; {more} more") }
}

/// Returns the op kinds whose rate is that of the page cache, each once. In a run that moves bytes only ops that move
/// bytes count, because memory answers a single `open` in any case.
fn cached_ops(result: &RunResult) -> Vec<&'static str> {
    let rates: Vec<(OpKind, &MetricValue)> = result
        .phases
        .iter()
        .flat_map(|phase| &phase.metrics)
        .filter_map(|(metric, value)| match metric.subject {
            Subject::Op(op) if value.value.is_some_and(|value| value > 0.0) => Some((op, value)),
            _ => None,
        })
        .collect();
    let moves_bytes = rates.iter().any(|(op, _)| op.moves_bytes());
    let mut ops = Vec::new();
    for (op, value) in rates {
        let is_counted = op.moves_bytes() || !moves_bytes;
        if is_counted && value.tier == Some(TierName::Cache) && !ops.contains(&op.name()) {
            ops.push(op.name());
        }
    }
    ops
}

fn listed(ops: &[&str]) -> String {
    let (named, more) = ops.split_at(ops.len().min(NAMED_MAX));
    if more.is_empty() { named.join(", ") } else { format!("{} and {} more", named.join(", "), more.len()) }
}

/// Formats the memory checks that noted something, in brackets.
fn codes(result: &RunResult) -> String {
    let noted = |code: &&str| result.checks.iter().any(|found| found.code == **code && found.level >= Level::Note);
    let codes: Vec<&str> = MEMORY_CHECKS.iter().filter(|code| noted(code)).copied().collect();
    if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) }
}

/// Returns `true` if standard output and standard error are the same pipe or file, as after `2>&1`.
fn is_merged() -> bool {
    match (rustix::fs::fstat(std::io::stdout()), rustix::fs::fstat(std::io::stderr())) {
        (Ok(output), Ok(error)) => (output.st_dev, output.st_ino) == (error.st_dev, error.st_ino),
        _ => false,
    }
}

/// Reports why a run's result is not stored.
pub fn report_unstored(outcome: &RunOutcome, common: &Common) {
    if let Some(not_stored) = &outcome.not_stored {
        session::report_unstored(not_stored, "the result", common);
    }
}
