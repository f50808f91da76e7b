//! Plumb's verdicts in a trial.

use anyhow::{Context, Result};
use plumb_result::study::StudyReport;
use plumb_result::{Comparison, Contrast, ContrastVerdict, Gate, GateAnswer};
use serde::{Deserialize, Serialize};
use std::process::Output;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ending {
    Judged(Verdicts),
    /// No answer; the reason.
    Failed(String),
    /// Interrupted by Ctrl-C. The trial is repeated.
    Interrupted,
}

/// The verdicts of one trial. The sides are equal, so every claim is false.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Verdicts {
    /// Claims of faster, slower, fewer or more, as text.
    pub claims: Vec<String>,
    /// Claims of fewer or more about counts that were the same in every run of a side.
    pub exact_claims: Vec<String>,
    /// Numbers whose difference is within the margin, and counts that were the same in every run.
    pub equivalent: u32,
    /// Numbers without a verdict.
    pub cannot_tell: u32,
    /// Numbers on which the two tests disagree.
    pub fragile: u32,
    /// Numbers with an interval and no verdict.
    #[serde(default)]
    pub secondary: u32,
    #[serde(default)]
    pub rejected: u32,
}

impl Verdicts {
    /// Adds the verdicts of another trial.
    pub(super) fn add(&mut self, other: &Verdicts) {
        self.claims.extend(other.claims.iter().cloned());
        self.exact_claims.extend(other.exact_claims.iter().cloned());
        self.equivalent += other.equivalent;
        self.cannot_tell += other.cannot_tell;
        self.fragile += other.fragile;
        self.secondary += other.secondary;
        self.rejected += other.rejected;
    }

    /// Whether nothing was judged: too few runs were left, or time was up.
    pub(super) fn is_empty(&self) -> bool {
        let claims = self.claims.len() + self.exact_claims.len();
        claims == 0 && self.equivalent + self.cannot_tell + self.fragile == 0
    }

    fn count(&mut self, contrast: &Contrast) {
        match contrast.verdict {
            ContrastVerdict::Equivalent => self.equivalent += 1,
            ContrastVerdict::CannotTell => self.cannot_tell += 1,
            ContrastVerdict::Fragile => self.fragile += 1,
            ContrastVerdict::Faster | ContrastVerdict::Slower => {
                // An interval with confidence 1 belongs to counts that were the same in every run.
                let is_exact = contrast.confidence == 1.0;
                let claims = if is_exact { &mut self.exact_claims } else { &mut self.claims };
                claims.push(in_words(contrast));
            }
        }
    }

    /// Formats a summary: `2 equivalent, 1 cannot tell`.
    pub(super) fn line(&self) -> String {
        let parts = [
            (self.claims.len() as u32, "FALSE"),
            (self.exact_claims.len() as u32, "FALSE exact"),
            (self.equivalent, "equivalent"),
            (self.fragile, "fragile"),
            (self.cannot_tell, "cannot tell"),
            (self.secondary, "secondary"),
            (self.rejected, "runs rejected"),
        ];
        let read: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        if read.is_empty() { "no numbers".to_owned() } else { read.join(", ") }
    }
}

/// Formats a contrast with its evidence: `slower: write write.iops of twin B, 0.93 (0.89–0.97), p 0.002, 8 blocks`.
fn in_words(contrast: &Contrast) -> String {
    let number = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.4}"));
    format!(
        "{}: {} {} {} of {}, {} ({}–{}), p {} (corrected {}), {} {:?}s, CV {} and {}",
        contrast.word(),
        contrast.workload.as_deref().unwrap_or_default(),
        contrast.phase,
        contrast.metric,
        contrast.candidate,
        number(contrast.ratio),
        number(contrast.lo),
        number(contrast.hi),
        number(contrast.p),
        number(contrast.p_adjusted),
        contrast.blocks,
        contrast.unit,
        number(contrast.baseline_cv),
        number(contrast.candidate_cv)
    )
}

/// Parses the output of `plumb compare --json`.
pub(super) fn read_comparison(output: &Output) -> Ending {
    ending(output, |comparison: Comparison| {
        let mut verdicts = Verdicts { rejected: comparison.left_out.len() as u32, ..Verdicts::default() };
        comparison.contrasts.iter().filter(|one| !one.rejected).for_each(|contrast| verdicts.count(contrast));
        verdicts
    })
}

/// Parses the output of `plumb study run --json`.
pub(super) fn read_study(output: &Output) -> Ending {
    ending(output, |report: StudyReport| {
        let mut verdicts = Verdicts { rejected: report.counts.rejected, ..Verdicts::default() };
        for contrast in &report.contrasts {
            if contrast.primary {
                verdicts.count(&contrast.contrast);
            } else {
                verdicts.secondary += 1;
            }
        }
        verdicts
    })
}

/// Parses the output of `plumb gate --json`. For equal sides, `regression` is false.
pub(super) fn read_gate(output: &Output) -> Ending {
    ending(output, |gate: Gate| {
        let mut verdicts = Verdicts { rejected: gate.left_out.len() as u32, ..Verdicts::default() };
        match gate.answer {
            GateAnswer::Pass => verdicts.equivalent += 1,
            GateAnswer::CannotTell => verdicts.cannot_tell += 1,
            GateAnswer::Regression => verdicts.claims.push(gate.note),
        }
        verdicts
    })
}

fn ending<T: serde::de::DeserializeOwned>(output: &Output, verdicts: impl Fn(T) -> Verdicts) -> Ending {
    let read: Result<T> = plumb_document::json::from_slice(&output.stdout).context("no answer in JSON");
    match (output.status.code(), read) {
        (Some(130) | None, _) => Ending::Interrupted,
        // 3: checks rejected too much; the rest is judged, and counts as an answer. 1 and 6 come from a gate.
        (Some(0 | 1 | 3 | 6), Ok(read)) => Ending::Judged(verdicts(read)),
        (_, read) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = errors.lines().rev().filter(|line| !line.trim().is_empty()).take(4).collect();
            let why = read.err().map(|error| format!("{error:#}: ")).unwrap_or_default();
            let last: Vec<&str> = last.into_iter().rev().collect();
            Ending::Failed(format!("{why}{}: {}", output.status, last.join(" | ")))
        }
    }
}
