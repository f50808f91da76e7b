//! The answer of a gate: for people as a page and as Markdown from one description, and in formats for pipelines.

mod bencher;
pub(crate) mod github;
pub(crate) mod junit;
mod page;
#[cfg(test)]
mod tests;

pub use bencher::bencher;
pub use github::annotations;
pub use junit::junit;
pub(crate) use page::all_parts;
pub use page::{markdown, page};

use crate::format;
use plumb_result::gate::GateNumber;

/// Formats a number: `0.90× (0.87 – 0.93, 94 %), 41.2 k IOPS → 37.1 k IOPS, 8 blocks: worse, within the margin`.
fn detail(number: &GateNumber) -> String {
    let value =
        |value: Option<f64>| value.map_or(format::MISSING.to_owned(), |value| format::metric(value, number.metric));
    let ratio = match (number.ratio, number.lo, number.hi) {
        (Some(ratio), Some(lo), Some(hi)) => {
            let confidence = format::percent(number.confidence);
            format!("{}× ({}, {confidence}), ", format::ratio(ratio), format::interval(lo, hi))
        }
        _ => String::new(),
    };
    let note = number.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    format!(
        "{ratio}{} → {}, {}{note}",
        value(number.baseline_value),
        value(number.candidate_value),
        page::samples(number)
    )
}
