//! Conformance reports: for people as a page and as Markdown from one description, in formats for pipelines, and as a matrix.

mod ci;
mod difference;
mod matrix;
mod page;
#[cfg(test)]
mod tests;

pub use ci::{annotations, junit, tap};
pub use difference::{Difference, difference};
pub use matrix::{matrix, matrix_content};
pub use page::{markdown, page};

use plumb_result::PosixCase;

/// Describes a failure: `mode of f: expected 0755, got 0777`.
fn failure(case: &PosixCase) -> String {
    use plumb_result::PosixOutcome;
    match case.outcome {
        PosixOutcome::Timeout if case.reason.is_empty() => "did not end in time: not judged".to_owned(),
        PosixOutcome::Timeout | PosixOutcome::Broken => case.reason.clone(),
        PosixOutcome::Skip | PosixOutcome::UnexpectedPass => case.reason.clone(),
        PosixOutcome::Blocked => format!("blocked by {}: {}", case.by, case.reason),
        _ if case.what.is_empty() => String::new(),
        _ => format!("{}: expected {}, got {}", case.what, case.expected, case.got),
    }
}
