//! The page of a gate, for terminals and as Markdown.

use crate::compare::unexplained;
use crate::document::{self, ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::Align;
use plumb_result::gate::{GateAnswer, GateDesign, GateNumber, GateSide, GateUnit};
use plumb_result::{Contrast, Gate, Level};

/// Largest number of warnings on a page, and of runs left out, unless all are requested.
const WARNINGS_SHOWN: usize = 3;

/// Returns the page: the answer, its numbers, the guaranteed error rates, and further facts.
pub fn page(gate: &Gate, verbose: bool, style: &Style) -> String {
    document::terminal(&parts(gate, if verbose { usize::MAX } else { WARNINGS_SHOWN }), style)
}

/// Returns the page as Markdown, for a comment on a forge.
pub fn markdown(gate: &Gate) -> String {
    let mark = match gate.answer {
        GateAnswer::Pass => "✅",
        GateAnswer::Regression => "❌",
        GateAnswer::CannotTell if gate.suspected => "⚠️",
        GateAnswer::CannotTell => "❔",
    };
    let text = document::markdown(&all_parts(gate), "");
    // A name must not notify anybody: forges look for mentions in the text that remains after Markdown is removed.
    let text = text.replace('@', "@<!-- -->");
    format!("### {mark} Plumb gate: {}\n\n{text}", gate.word())
}

/// Returns the parts of the page, with every warning.
pub(crate) fn all_parts(gate: &Gate) -> Vec<ReportPart> {
    parts(gate, usize::MAX)
}

fn parts(gate: &Gate, shown: usize) -> Vec<ReportPart> {
    let ink = match gate.answer {
        GateAnswer::Pass => Ink::Good,
        GateAnswer::Regression => Ink::Bad,
        GateAnswer::CannotTell => Ink::Caution,
    };
    let mut parts = vec![ReportPart::Text(ink, gate.note.clone())];
    if !gate.numbers.is_empty() || !gate.rejected_numbers.is_empty() {
        parts.push(ReportPart::Table(table(gate)));
    }
    parts.push(ReportPart::Text(Ink::Faint, design(gate)));
    parts.push(ReportPart::Text(Ink::Faint, gate.promise.clone()));
    let items = items(gate, shown);
    if !items.is_empty() {
        parts.push(ReportPart::List(items));
    }
    parts
}

fn table(gate: &Gate) -> ReportTable {
    let column = ColumnHead::new;
    let columns = vec![
        column("", Align::Left, None),
        column("number", Align::Left, None),
        column("baseline", Align::Right, Some(2)),
        column("candidate", Align::Right, Some(2)),
        column("ratio", Align::Right, None),
        column("interval", Align::Left, Some(3)),
        column("over", Align::Right, Some(1)),
    ];
    let row = |number: &GateNumber| {
        let value = |value: Option<f64>| value.map_or(MISSING.to_owned(), |value| format::metric(value, number.metric));
        let interval = number.lo.zip(number.hi);
        vec![
            number.word().to_owned(),
            number.name(),
            value(number.baseline_value),
            value(number.candidate_value),
            number.ratio.map_or(MISSING.to_owned(), |ratio| format!("{}×", format::ratio(ratio))),
            interval.map_or(MISSING.to_owned(), |(lo, hi)| format::interval(lo, hi)),
            samples(number),
        ]
    };
    ReportTable {
        columns,
        rows: gate.numbers.iter().map(row).chain(gate.rejected_numbers.iter().map(rejected)).collect(),
    }
}

/// Returns the row of a number from rejected runs, which does not affect the answer.
fn rejected(contrast: &Contrast) -> Vec<String> {
    let value = |value: Option<f64>| value.map_or(MISSING.to_owned(), |value| format::metric(value, contrast.metric));
    let workload = contrast.workload.as_deref().unwrap_or_default();
    vec![
        contrast.word().to_owned(),
        match workload == contrast.phase || workload.is_empty() {
            true => format!("{} {}", contrast.phase, contrast.metric),
            false => format!("{workload}/{} {}", contrast.phase, contrast.metric),
        },
        value(contrast.baseline_value),
        value(contrast.candidate_value),
        contrast.ratio.map_or(MISSING.to_owned(), |ratio| format!("{}×", format::ratio(ratio))),
        MISSING.to_owned(),
        count(contrast.blocks, contrast.unit.name()),
    ]
}

/// Returns the number of samples, such as `8 blocks`.
pub(super) fn samples(number: &GateNumber) -> String {
    count(number.units, number.unit.name())
}

fn count(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Describes how the numbers were collected, and what the interval is.
fn design(gate: &Gate) -> String {
    let side = |side: &GateSide| match side.sessions {
        Some(sessions) => format!("{} of {}", count(side.runs, "run"), count(sessions, "session")),
        None => count(side.runs, "run"),
    };
    let how = match gate.design {
        GateDesign::Interleaved => {
            let places = gate.numbers.iter().any(|number| number.unit == GateUnit::Plot);
            let unit = if places { "each place is one sample" } else { "each block is one sample" };
            format!(
                "Measured in interleaved blocks over {}, judged {}; {unit}.",
                format::time(gate.seconds * 1e9),
                times(gate)
            )
        }
        GateDesign::History => format!(
            "Baseline: {}; candidate: {}. A session is one sample, so the interval includes the differences between \
             sessions.",
            side(&gate.baseline),
            side(&gate.candidate)
        ),
    };
    let confidence = gate.numbers.first().map_or(0.0, |number| number.confidence);
    let better = "Above 1× the candidate is better.";
    let level = format::percent(confidence);
    if gate.numbers.is_empty() { how } else { format!("{how} {level} confidence intervals. {better}") }
}

fn times(gate: &Gate) -> String {
    let word = |count: u32| match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    match gate.looks.done == gate.looks.planned {
        true => word(gate.looks.done),
        false => format!("at {} of {}", gate.looks.done, count(gate.looks.planned, "planned look")),
    }
}

fn items(gate: &Gate, shown: usize) -> Vec<Item> {
    let item = |ink, head: &str, text: String| Item { ink, head: head.to_owned(), text };
    let mut items: Vec<Item> = Vec::new();
    for number in &gate.numbers {
        for change in &number.changes {
            let text = format!(
                "{}: the level changed from {} to {} on {}",
                number.name(),
                format::metric(change.before, number.metric),
                format::metric(change.after, number.metric),
                change.at.get(..16).unwrap_or(&change.at).replace('T', " ")
            );
            items.push(item(Ink::Strong, "change", text));
        }
        // Notes that the answer already contains are not repeated.
        if let Some(note) = number.note.as_ref().filter(|note| !gate.note.contains(note.as_str())) {
            let code = number.capped.as_ref().map_or(String::new(), |code| format!("{code}: "));
            items.push(item(Ink::Faint, "note", format!("{}: {code}{note}", number.name())));
        }
    }
    items.extend(gate.missing.iter().map(|missing| item(Ink::Caution, "missing", missing.clone())));
    let left_out = unexplained(&gate.left_out, &gate.run_checks);
    items.extend(left_out.iter().take(shown).map(|run| {
        item(Ink::Bad, "left out", format!("run {} of {}: {}", crate::run::short_id(&run.run), run.side, run.reason))
    }));
    let of_both = gate.checks.iter().filter(|finding| finding.level >= Level::Warn);
    let of_both = of_both.map(|finding| Item::finding(finding.level, &finding.code, &finding.message, &finding.remedy));
    let of_runs = gate.run_checks.iter().map(|check| {
        let finding = &check.finding;
        let message = format!("{} ({} of {} runs): {}", check.side, check.runs, check.of, finding.message);
        Item::finding(finding.level, &finding.code, &message, &finding.remedy)
    });
    let warnings: Vec<Item> = of_both.chain(of_runs).collect();
    let more = warnings.len().saturating_sub(shown) + left_out.len().saturating_sub(shown);
    items.extend(warnings.into_iter().take(shown));
    if more > 0 {
        items.push(item(Ink::Faint, "", format!("{more} more: -v")));
    }
    items.extend(gate.notes.iter().map(|note| item(Ink::Faint, "note", note.clone())));
    items
}
