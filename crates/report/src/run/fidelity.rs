//! The fidelity sheet of a replay, one line for each property.

use crate::format;
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::{FidelityLine, FidelityUnit, FidelityVerdict, PhaseResult, RunResult};

/// Formats a number with its unit.
fn set(value: f64, unit: FidelityUnit) -> String {
    match unit {
        FidelityUnit::Ns => format::time(value),
        FidelityUnit::Ops => format!("{value}"),
        FidelityUnit::Bytes => format::bytes_brief(value),
        FidelityUnit::Share => format!("{:.3} %", value * 100.0),
    }
}

/// Formats the difference of the two numbers, as a share of the recorded one.
fn off(line: &FidelityLine) -> String {
    match line.recorded {
        Some(recorded) if recorded != 0.0 && line.unit != FidelityUnit::Share => {
            format!("{:+.3} %", (line.replayed / recorded - 1.0) * 100.0)
        }
        _ => String::new(),
    }
}

/// Formats the allowed difference.
fn allowed(line: &FidelityLine) -> String {
    match (line.allowed, line.recorded, line.unit) {
        (Some(0.0), _, _) => "none".to_owned(),
        (Some(allowed), Some(_), _) | (Some(allowed), None, FidelityUnit::Share) => {
            format!("{} %", allowed * 100.0)
        }
        (Some(allowed), None, unit) => set(allowed, unit),
        (None, _, _) => String::new(),
    }
}

/// Returns the sheets of all phases that replay a recording.
pub(super) fn sheets(result: &RunResult, style: &Style) -> String {
    result.phases.iter().filter(|phase| !phase.fidelity.is_empty()).map(|phase| sheet(phase, style)).collect()
}

fn sheet(phase: &PhaseResult, style: &Style) -> String {
    let lines = &phase.fidelity;
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let worst = lines.iter().map(|line| line.verdict).max().unwrap_or(FidelityVerdict::Info);
    let (failed, warned) = (count(FidelityVerdict::Fail), count(FidelityVerdict::Warn));
    let answer = match (failed, warned) {
        (0, 0) => "all required properties were kept".to_owned(),
        (0, 1) => "one property was not quite kept".to_owned(),
        (0, warned) => format!("{warned} properties were not quite kept"),
        (1, _) => "one property was not kept".to_owned(),
        (failed, _) => format!("{failed} properties were not kept"),
    };
    let mut text = format!("Fidelity of {}: {}, {answer}.\n", phase.name, style.ink(ink(worst), worst.name()));
    let column = |title: &str, align, hide_order, cells: Vec<String>| Column {
        title: title.to_owned(),
        cells,
        align,
        hide_order,
    };
    let each = |cell: &dyn Fn(&FidelityLine) -> String| lines.iter().map(cell).collect();
    let columns = vec![
        column(
            "",
            Align::Left,
            None,
            each(&|line| match &line.host {
                Some(host) => format!("{} on {host}", line.name),
                None => line.name.clone(),
            }),
        ),
        column("", Align::Left, None, each(&|line| line.verdict.name().to_owned())),
        column(
            "recorded",
            Align::Right,
            None,
            each(&|line| line.recorded.map_or(String::new(), |recorded| set(recorded, line.unit))),
        ),
        column("replayed", Align::Right, None, each(&|line| set(line.replayed, line.unit))),
        column("off by", Align::Right, None, each(&off)),
        column("allowed", Align::Right, Some(1), each(&allowed)),
    ];
    let set = table::set(columns, style.width);
    text.push_str(&format!("{}\n", style.ink(Ink::Faint, &set.head)));
    for (line, row) in lines.iter().zip(&set.rows) {
        // Colour only the verdict, because colours would disturb the column widths.
        let verdict = line.verdict.name();
        let inked = style.ink(ink(line.verdict), verdict);
        text.push_str(&row.replacen(verdict, &inked, 1));
        text.push('\n');
        if !line.about.is_empty() {
            // File names come from other programs, and must not be able to move the cursor.
            let about = line.about.replace(char::is_control, "\u{fffd}");
            text.push_str(&format!("      {}\n", style.ink(Ink::Faint, &style.wrap(&about, 6))));
        }
    }
    text + "\n"
}

fn ink(verdict: FidelityVerdict) -> Ink {
    match verdict {
        FidelityVerdict::Info => Ink::Faint,
        FidelityVerdict::Pass => Ink::Good,
        FidelityVerdict::Warn => Ink::Caution,
        FidelityVerdict::Fail => Ink::Bad,
    }
}
