//! The page of a noise floor: the smallest difference that can be claimed for each number, and its causes.

use crate::compare::{RejectedTogether, count, left_out, remark_lines, speeds, works};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::{Noise, NoiseFloor, RejectedNumber};
use plumb_workload::named::WorkloadTitle;

/// Whether later comparisons can use a noise floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFloor {
    /// Later comparisons will use it.
    Stored,
    Nowhere,
}

/// Returns the whole page. `workloads` describes the named workloads.
pub fn page(noise: &Noise, kept: KeptFloor, workloads: &[WorkloadTitle], style: &Style) -> String {
    let mut page = style.ink(Ink::Strong, &style.wrap(&noise.note, 0));
    page.push_str("\n\n");
    if !noise.floors.is_empty() {
        page.push_str(&table_of(&noise.floors, workloads, style));
    }
    if !noise.rejected.is_empty() {
        page.push_str(&rejected_table(&noise.rejected, workloads, style));
    }
    page.push_str(&noise.notes.iter().map(|note| crate::run::not_possible(note, style)).collect::<String>());
    page.push_str(&left_out(&noise.left_out, RejectedTogether::PerSide, style));
    if !noise.floors.is_empty() {
        let line = match kept {
            KeptFloor::Stored => {
                "Stored: comparisons of this workload here claim nothing below these floors, until the machine or the storage \
                 changes."
            }
            KeptFloor::Nowhere => "Not stored: comparisons will not use these floors.",
        };
        page.push_str(&format!("{}\n", style.wrap(line, 0)));
    }
    page
}

/// Formats numbers of rejected runs, which have no floor.
fn rejected_table(numbers: &[RejectedNumber], workloads: &[WorkloadTitle], style: &Style) -> String {
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&RejectedNumber) -> String| Column {
        title: title.to_owned(),
        cells: numbers.iter().map(cell).collect(),
        align,
        hide_order,
    };
    let columns = vec![
        column("floor", Align::Right, None, &|_| "rejected".to_owned()),
        column("", Align::Left, None, &|number| number.phase.clone()),
        column("", Align::Left, None, &|number| number.metric.to_string()),
        column("value", Align::Right, None, &|number| format::metric(number.value, number.metric)),
        column("from", Align::Right, Some(1), &|number| format::metric(number.least, number.metric)),
        column("to", Align::Right, Some(1), &|number| format::metric(number.most, number.metric)),
        column("runs", Align::Right, Some(0), &|number| number.runs.to_string()),
    ];
    let lines = table::set(columns, style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &lines.head));
    lines.rows.iter().for_each(|row| text.push_str(&format!("{}\n", style.ink(Ink::Bad, row))));
    text.push_str(&works(numbers.iter().map(|number| number.workload.as_str()), workloads, style));
    text.push('\n');
    text
}

fn columns(floors: &[NoiseFloor]) -> Vec<Column> {
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&NoiseFloor) -> String| Column {
        title: title.to_owned(),
        cells: floors.iter().map(cell).collect(),
        align,
        hide_order,
    };
    let itself = |log_ratio: f64| format::fine_ratio(log_ratio.exp());
    vec![
        column("floor", Align::Right, None, &|floor| format::percent(floor.floor)),
        column("", Align::Left, None, &|floor| floor.phase.clone()),
        column("", Align::Left, None, &|floor| floor.metric.to_string()),
        column("value", Align::Right, Some(3), &|floor| match (floor.modes.len(), floor.value) {
            (0, Some(value)) => format::metric(value, floor.metric),
            (0, None) => MISSING.to_owned(),
            (speeds, _) => format!("{speeds} speeds"),
        }),
        column("spread", Align::Right, Some(2), &|floor| floor.cv.map_or(MISSING.to_owned(), format::percent)),
        column("A/A ratio", Align::Right, Some(1), &|floor| format!("{}×", itself(floor.log_ratio))),
        column("95 % CI", Align::Left, Some(1), &|floor| {
            let (lo, hi) = (floor.log_ratio - floor.log_half_width, floor.log_ratio + floor.log_half_width);
            format!("{} – {}", itself(lo), itself(hi))
        }),
        column("over", Align::Right, Some(0), &|floor| count(floor.blocks, floor.unit, "")),
    ]
}

fn table_of(floors: &[NoiseFloor], workloads: &[WorkloadTitle], style: &Style) -> String {
    let lines = table::set(columns(floors), style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &lines.head));
    lines.rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
    text.push_str(&works(floors.iter().map(|floor| floor.workload.as_str()), workloads, style));
    text.push('\n');
    let several = floors.iter().filter(|floor| !floor.modes.is_empty());
    let wording =
        several.map(|floor| (format!("{} {}", floor.phase, floor.metric), speeds(&floor.modes, floor.metric)));
    text.push_str(&remark_lines(wording.collect(), usize::MAX, style));
    text
}
