//! The page of one result: the measurements, what may mislead, and where to read more.
//!
//! A survey (`plumb try`) is a short table with reads next to writes; any other run has a block for each
//! phase. `-v` shows the rest.

mod access;
mod fidelity;
mod findings;
mod head;
mod imported;
mod limits;
mod matrix;
mod phases;
mod ranks;
mod rows;
mod survey;

pub(crate) use findings::FoundText;
pub use findings::{findings, found, found_again, withdrawn};
pub(crate) use limits::limit;
pub use survey::side_by_side;

use crate::assertion;
use crate::format;
use crate::measure;
use crate::style::{Ink, Style};
use plumb_result::Utilisation;
use plumb_result::assertion::{Asserted, Steadiness};
use plumb_result::medians::Spread;
use plumb_result::{Finding, RunResult, RunVerdict, VerdictEvidence};

/// Whether a result can be shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptResult {
    Stored,
    Nowhere,
}

/// Amount of detail on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The table, and the three most serious findings in a line each.
    Brief,
    /// Every rate, percentile, limit and finding.
    Full,
}

/// Conditions of a run, and their outcomes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunConditions {
    /// Outcome of each `--assert`.
    pub assertions: Vec<Asserted>,
    /// Steadiness of each phase that should run until it is steady.
    pub steady: Vec<Steadiness>,
    /// Utilisation of emulated consumers.
    pub utilisation: Vec<Utilisation>,
}

/// Options of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions<'a> {
    /// Whether `plumb show` can find the result.
    pub kept: KeptResult,
    /// Amount of detail to print.
    pub detail: Detail,
    /// Title that the user gave to the run, if any.
    pub name: Option<&'a str>,
    /// Number of runs whose medians these are.
    pub runs: usize,
    /// The rate with the largest spread between those runs.
    pub widest: Option<&'a Spread>,
}

impl PageOptions<'_> {
    /// Options for one stored run in brief.
    pub const STORED: PageOptions<'static> =
        PageOptions { kept: KeptResult::Stored, detail: Detail::Brief, name: None, runs: 1, widest: None };
}

/// Returns the whole page.
pub fn page(result: &RunResult, options: &PageOptions<'_>, style: &Style) -> String {
    page_with(result, &RunConditions::default(), options, style)
}

/// Returns the whole page of a run with conditions. If there are assertions, the answer is whether they hold.
pub fn page_with(result: &RunResult, conditions: &RunConditions, options: &PageOptions<'_>, style: &Style) -> String {
    if let Some(imported) = &result.imported {
        return imported::page(result, imported, options, style);
    }
    let mut page = assertion::assertions(&conditions.assertions, result.verdict, style);
    page.push_str(&state(result, style));
    page.push_str(&head::head(result, options, style));
    page.push_str(&match (survey::survey(result, style).or_else(|| matrix::matrix(result, style)), options.detail) {
        (Some(survey), Detail::Brief) => survey,
        (Some(survey), Detail::Full) => format!("{survey}{}", phases::phases(result, options.detail, style)),
        (None, detail) => phases::phases(result, detail, style),
    });
    page.push_str(&fidelity::sheets(result, style));
    page.push_str(&crate::net::phases_text(result, style));
    page.push_str(&spread(options, style));
    page.push_str(&assertion::steadiness(&conditions.steady, style));
    page.push_str(&assertion::utilisation(&conditions.utilisation, style));
    let notes = notes(result);
    // A survey is short; users who run a workload want to read which of its requests were impossible.
    let notes_are_shown = options.detail == Detail::Full || !survey::is_survey(result);
    if notes_are_shown {
        let line = |(note, phases): &(&str, Vec<&str>)| not_possible(&format!("{}: {note}", phases.join(", ")), style);
        page.extend(notes.iter().map(line));
    }
    let checks = in_row_names(result);
    match options.detail {
        Detail::Brief => {
            let behind_v = if notes_are_shown { 0 } else { notes.len() };
            page.push_str(&findings::brief(&checks, behind_v, style));
        }
        Detail::Full => {
            page.push_str(&findings(&checks, style));
        }
    }
    page.push_str(&last_line(result, options, style));
    page
}

/// Returns the verdict as a sentence, with the names of the table's rows.
pub(crate) fn verdict(result: &RunResult) -> String {
    let words = VerdictEvidence {
        verdict: result.verdict,
        checks: &result.checks,
        under_load: result.under_load.as_deref(),
        row_of: &|phase| survey::row_name(result, phase),
    };
    let rest = if result.verdict == RunVerdict::Reject { " Comparisons leave it out." } else { "" };
    format!("{}{rest}", words.sentence())
}

pub(crate) const fn verdict_ink(verdict: RunVerdict) -> Ink {
    match verdict {
        RunVerdict::Pass => Ink::Good,
        RunVerdict::Caution | RunVerdict::Unknown => Ink::Caution,
        RunVerdict::Reject => Ink::Bad,
    }
}

/// Warns before any number that a run was cut short, and whether its numbers can be used.
fn state(result: &RunResult, style: &Style) -> String {
    let mut lines = Vec::new();
    match (&result.error, result.partial) {
        (Some(error), _) => lines.push(format!("The run ended early: {}.", error.trim_end_matches('.'))),
        (None, true) => lines.push("The run was interrupted. These are the numbers up to then.".to_owned()),
        (None, false) => {}
    }
    let mut text: String =
        lines.iter().map(|line| format!("{}\n", style.ink(Ink::Bad, &style.wrap(line, 0)))).collect();
    text.push_str(&format!("{}\n", style.ink(verdict_ink(result.verdict), &style.wrap(&verdict(result), 0))));
    text
}

/// Returns the findings with the table's names for their phases.
fn in_row_names(result: &RunResult) -> Vec<Finding> {
    let named = |finding: &Finding| Finding {
        phase: finding.phase.as_deref().map(|phase| survey::row_name(result, phase)),
        ..finding.clone()
    };
    result.checks.iter().map(named).collect()
}

/// Describes the spread of several runs.
fn spread(options: &PageOptions<'_>, style: &Style) -> String {
    let Some(widest) = options.widest.filter(|_| options.runs > 1) else { return String::new() };
    let wording = format!(
        "Rates of the {} runs differ by up to {} ({} of {}).",
        options.runs,
        format::percent(widest.share),
        widest.metric,
        widest.phase
    );
    format!("{}\n\n", style.wrap(&wording, 0))
}

/// Returns the requests that could not be met, with their phases.
fn notes(result: &RunResult) -> Vec<(&str, Vec<&str>)> {
    let mut by_note: Vec<(&str, Vec<&str>)> = Vec::new();
    for phase in &result.phases {
        for note in &phase.notes {
            match by_note.iter_mut().find(|(wording, _)| wording == note) {
                Some((_, phases)) => phases.push(&phase.name),
                None => by_note.push((note, vec![&phase.name])),
            }
        }
    }
    by_note
}

/// Formats the line about a request that could not be met.
pub(crate) fn not_possible(what: &str, style: &Style) -> String {
    const HEAD: &str = "note ";
    let body = style.wrap(what, HEAD.len() + 2);
    format!("  {}{body}\n", style.ink(Ink::Caution, HEAD))
}

fn last_line(result: &RunResult, options: &PageOptions<'_>, style: &Style) -> String {
    let mut words = Vec::new();
    if let Some(worst) = findings::by_severity(&result.checks).first() {
        words.push(format!("plumb explain {}", worst.code));
    }
    if options.kept == KeptResult::Stored {
        let more = if options.detail == Detail::Brief { " -v" } else { "" };
        words.push(format!("plumb show {}{more}", short_id(&result.id)));
    }
    if words.is_empty() {
        return String::new();
    }
    let line = format!("More: {}", words.join("   "));
    if measure::width(&line) <= style.width {
        format!("{line}\n")
    } else {
        format!("More:\n  {}\n", words.join("\n  "))
    }
}

/// Returns the shortest form of an id that is unlikely to be ambiguous: a UUIDv7 begins with the time in
/// milliseconds, and its last block is random.
pub fn short_id(id: &str) -> &str {
    id.get(..13).unwrap_or(id)
}
