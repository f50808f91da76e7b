//! What is printed, and what `result.txt` and `result_summary.txt` hold.

use super::phase::{Outcome, Phase};
use super::plan::Plan;
use super::score::Scores;
use super::{FOLLOWS, STYLE};

/// The first line: what this is, and what it is not.
pub fn head(version: &str) -> String {
    format!("{version} (standard, phases of {FOLLOWS}): measured by Plumb, not an IO500 result\n")
}

/// What stands where IO500 has its version: by it, and so by the hash, no result passes for one of IO500.
pub fn version(plumb: &str) -> String {
    format!("{STYLE}-plumb-{plumb}")
}

/// A line of `result.txt`.
pub fn pair(key: &str, value: &str) -> String {
    format!("{key:<15} = {value}\n")
}

/// Why something is invalid, as standard output has it.
pub fn invalid(why: &str) -> String {
    format!("ERROR INVALID {why}\n")
}

fn mark(is_valid: bool) -> &'static str {
    if is_valid { "" } else { " [INVALID]" }
}

/// The beginning of `result.txt`.
pub fn result_head(plan: &Plan, version: &str, began: &str) -> String {
    let mut text = format!("; {}[run]\n", head(version));
    text.push_str(&pair("procs", &plan.ranks.to_string()));
    text.push_str(&pair("version", version));
    text.push_str(&pair("config-hash", &format!("{:X}", plan.config.hash().0)));
    text.push_str(&pair("result-dir", &plan.results));
    text.push_str(&pair("mode", "standard"));
    text.push_str(&format!("; START {began}\n"));
    for why in plan.invalid() {
        text.push_str(&format!("; {}", invalid(&why)));
    }
    text.push('\n');
    text
}

/// A phase in `result.txt`.
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

/// A phase on standard output and in `result_summary.txt`.
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

/// The scores on standard output and in `result_summary.txt`.
pub fn score_line(scores: &Scores, is_valid: bool) -> String {
    format!(
        "[SCORE ] Bandwidth {:.6} GiB/s : IOPS {:.6} kiops : TOTAL {:.6}{}\n",
        scores.bandwidth,
        scores.metadata,
        scores.total,
        mark(is_valid)
    )
}

/// The scores in `result.txt`.
pub fn result_scores(outcomes: &[(Phase, Outcome)], version: &str, is_valid: bool) -> String {
    let scores = Scores::of(outcomes);
    let mut text = "\n[SCORE]\n".to_owned();
    text.push_str(&pair("MD", &format!("{:.6}", scores.metadata)));
    text.push_str(&pair("BW", &format!("{:.6}", scores.bandwidth)));
    text.push_str(&pair("SCORE", &format!("{:.6}{}", scores.total, mark(is_valid))));
    text.push_str(&pair("hash", &format!("{:X}", scores.hash(version, outcomes, is_valid).0)));
    text
}

/// The last line of `result.txt`.
pub fn result_tail(ended: &str) -> String {
    format!("; END {ended}\n")
}

/// What a run without work prints of a phase.
pub fn dry(phase: Phase, command: &[String]) -> String {
    format!("[{}]\n{}", phase.name(), if command.is_empty() { String::new() } else { pair("exe", &command.join(" ")) })
}
