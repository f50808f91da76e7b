//! Names, times and marks that several pages print alike.

use plumb_result::RunVerdict;
use plumb_store::{RunRow, RunStatus};

/// Returns `2026-11-30 08:15` of an RFC 3339 time in UTC.
pub(crate) fn minute(started_at: &str) -> String {
    started_at.get(..16).unwrap_or(started_at).replace('T', " ")
}

/// A word that leads to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub name: String,
    pub address: String,
}

/// A word with a class that colours it. The word alone has the meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub word: &'static str,
    pub class: &'static str,
}

/// Returns whether a run's numbers can be trusted, or why it has none.
pub(crate) fn trust(row: &RunRow) -> Mark {
    if row.retraction().is_some() {
        return Mark { word: "retracted", class: "bad" };
    }
    match (row.status, row.verdict) {
        (RunStatus::Ok, Some(verdict)) => verdict_mark(verdict),
        (RunStatus::Ok, None) => Mark { word: "unknown", class: "faint" },
        (RunStatus::Failed, _) => Mark { word: "failed", class: "bad" },
        (status, _) => Mark { word: status.name(), class: "faint" },
    }
}

pub(crate) fn verdict_mark(verdict: RunVerdict) -> Mark {
    let class = match verdict {
        RunVerdict::Pass => "good",
        RunVerdict::Caution => "caution",
        RunVerdict::Reject => "bad",
        RunVerdict::Unknown => "faint",
    };
    Mark { word: verdict.name(), class }
}

/// Returns `1 run` or `10,000 runs`.
pub(crate) fn counted(count: u64, one: &str, several: &str) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let runs = |count| counted(count, "run", "runs");
        assert_eq!(
            [0, 1, 999, 10_000, 1_000_000].map(runs),
            ["0 runs", "1 run", "999 runs", "10,000 runs", "1,000,000 runs"]
        );
    }
}
