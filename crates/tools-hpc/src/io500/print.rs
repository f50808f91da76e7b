//! Formats standard output, `result.txt` and `result_summary.txt`.

use super::phase::{Outcome, Phase};
use super::plan::Plan;
use super::score::{Counts, Scores};
use super::{FOLLOWS, STYLE};

/// Returns the name of the plan's mode.
fn mode(plan: &Plan) -> &'static str {
    if plan.is_extended { "extended" } else { "standard" }
}

/// Formats the first line, which states that this is not IO500.
pub fn head(plan: &Plan, version: &str) -> String {
    let mode = mode(plan);
    format!("{version} ({mode}, phases of {FOLLOWS}): measured by Plumb, not an IO500 result\n")
}

/// Returns the text in place of IO500's version. It enters the hash, so that no result can pass for one of IO500.
pub fn version(plumb: &str) -> String {
    format!("{STYLE}-plumb-{plumb}")
}

/// Formats a line of `result.txt`.
pub fn pair(key: &str, value: &str) -> String {
    format!("{key:<15} = {value}\n")
}

/// Formats a reason for invalidity on standard output.
pub fn invalid(why: &str) -> String {
    format!("ERROR INVALID {why}\n")
}

fn mark(is_valid: bool) -> &'static str {
    if is_valid { "" } else { " [INVALID]" }
}

/// Formats the beginning of `result.txt`.
pub fn result_head(plan: &Plan, version: &str, began: &str) -> String {
    let mut text = format!("; {}[run]\n", head(plan, version));
    text.push_str(&pair("procs", &plan.ranks.to_string()));
    text.push_str(&pair("version", version));
    text.push_str(&pair("config-hash", &format!("{:X}", plan.config.hash().0)));
    text.push_str(&pair("result-dir", &plan.results));
    text.push_str(&pair("mode", mode(plan)));
    text.push_str(&format!("; START {began}\n"));
    for why in plan.invalid() {
        text.push_str(&format!("; {}", invalid(&why)));
    }
    text.push('\n');
    text
}

/// Formats a phase in `result.txt`.
pub fn result_phase(phase: Phase, command: &[String], outcome: &Outcome, began: &str, ended: &str) -> String {
    let mut text = format!("\n[{}]\n{}", phase.name(), pair("t_start", began));
    if !command.is_empty() {
        text.push_str(&pair("exe", &command.join(" ")));
    }
    for (key, value) in &outcome.details {
        text.push_str(&pair(key, value));
    }
    for why in &outcome.invalid {
        text.push_str(&format!("; {}", invalid(why)));
    }
    if phase != Phase::Timestamp {
        text.push_str(&pair("score", &format!("{:.6}", outcome.score)));
    }
    text.push_str(&pair("t_delta", &format!("{:.4}", outcome.time_s)));
    text.push_str(&pair("t_end", ended));
    text
}

/// Formats a phase on standard output and in `result_summary.txt`.
pub fn line(phase: Phase, outcome: &Outcome) -> String {
    let kind = if phase.group().is_some() { "RESULT" } else { "      " };
    format!(
        "[{kind}] {:>20} {:>15.6} {} : time {:.3} seconds{}\n",
        phase.name(),
        outcome.score,
        phase.unit().name(),
        outcome.time_s,
        mark(outcome.invalid.is_empty())
    )
}

/// Formats the scores on standard output and in `result_summary.txt`.
pub fn score_line(scores: &Scores, counts: Counts, is_valid: bool) -> String {
    format!(
        "[{:<6}] Bandwidth {:.6} GiB/s : IOPS {:.6} kiops : TOTAL {:.6}{}\n",
        section(counts),
        scores.bandwidth,
        scores.metadata,
        scores.total,
        mark(is_valid)
    )
}

/// Returns the name of the score section.
fn section(counts: Counts) -> &'static str {
    match counts {
        Counts::Standard => "SCORE",
        Counts::All => "SCOREX",
    }
}

/// Formats the scores in `result.txt`.
pub fn result_scores(outcomes: &[(Phase, Outcome)], version: &str, counts: Counts, is_valid: bool) -> String {
    let scores = Scores::from_outcomes(outcomes, counts);
    let mut text = format!("\n[{}]\n", section(counts));
    text.push_str(&pair("MD", &format!("{:.6}", scores.metadata)));
    text.push_str(&pair("BW", &format!("{:.6}", scores.bandwidth)));
    text.push_str(&pair("SCORE", &format!("{:.6}{}", scores.total, mark(is_valid))));
    text.push_str(&pair("hash", &format!("{:X}", scores.hash(version, outcomes, counts, is_valid).0)));
    text
}

/// Formats the last line of `result.txt`.
pub fn result_tail(ended: &str) -> String {
    format!("; END {ended}\n")
}

/// Formats a phase of a dry run.
pub fn dry(phase: Phase, command: &[String]) -> String {
    format!("[{}]\n{}", phase.name(), if command.is_empty() { String::new() } else { pair("exe", &command.join(" ")) })
}
