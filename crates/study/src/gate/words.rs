//! Describes a gate in words.

use super::ERROR_RATE;
use plumb_result::Gate;
use plumb_result::gate::{GateAnswer, GateDesign, GateNumber, GateUnit};
use plumb_result::number::{self, Digits, percent};
use plumb_trust::advice::budget_text;
use std::time::Duration;

/// Describes the error rates.
pub(super) fn promise(margin: f64) -> String {
    let (rate, margin) = (percent(ERROR_RATE, Digits::Spoken), percent(margin, Digits::Spoken));
    format!(
        "At most {rate} of gates of an unchanged system answer \"regression\", and at most {rate} of gates of one that is {margin} \
         worse answer \"pass\"."
    )
}

/// Describes the error rates for a history, with the conditions under which they hold.
pub(super) fn promise_of_history(margin: f64) -> String {
    let (rate, margin) = (percent(ERROR_RATE, Digits::Spoken), percent(margin, Digits::Spoken));
    format!(
        "At most {rate} of gates of an unchanged system answer \"regression\", if its sessions are independent, or vary as in the table \
         of docs/gate.md: slow sessions, spikes, changing levels, memory, drift. At most {rate} of gates of one that is {margin} worse \
         answer \"pass\", if sessions vary around one level."
    )
}

/// Advises to measure the second session that a suspected one needs.
pub(super) fn second_session(gap: Duration, kept: bool) -> String {
    let later = duration(gap.as_secs_f64());
    let keep = if kept { "" } else { ", both with --keep FILE" };
    format!(
        " A single session may be a bad one: run the same command again more than {later} later or on another machine{keep}. If that \
         session is worse, too, the answer is \"regression\"."
    )
}

/// Describes the answer in a few sentences. `way_out` is the advice of its design: how to get a
/// second session, or longer runs.
pub(super) fn note(gate: &Gate, interrupted: bool, way_out: &str) -> String {
    let mut text = match gate.answer {
        GateAnswer::CannotTell if gate.suspected => suspected(gate, way_out),
        GateAnswer::Pass => pass(gate),
        GateAnswer::Regression => regression(gate),
        GateAnswer::CannotTell => cannot_tell(gate, way_out),
    };
    text.push_str(&worse_within_margin(gate));
    text.push_str(&rejected(gate));
    if interrupted {
        text.push_str(" Interrupted: this is what was measured before.");
    }
    text
}

fn select_numbers(gate: &Gate, answer: GateAnswer) -> Vec<&GateNumber> {
    gate.numbers.iter().filter(|number| number.answer == answer).collect()
}

fn pass(gate: &Gate) -> String {
    let margin = percent(gate.margin, Digits::Spoken);
    let (a, b) = (&gate.baseline.name, &gate.candidate.name);
    let numbers = match gate.numbers.as_slice() {
        [only] => only.name(),
        all => format!("all {} numbers", all.len()),
    };
    format!("Pass: {b} is at most {margin} worse than {a} in {numbers}.")
}

/// Formats ` (0.90×, 0.87 – 0.93)`.
fn ratio(number: &GateNumber) -> String {
    match (number.ratio, number.lo, number.hi) {
        (Some(ratio), Some(lo), Some(hi)) => {
            format!(" ({}×, {})", number::ratio(ratio), number::ratio_interval(lo, hi))
        }
        _ => String::new(),
    }
}

fn regression(gate: &Gate) -> String {
    let worse = select_numbers(gate, GateAnswer::Regression);
    let (a, b) = (&gate.baseline.name, &gate.candidate.name);
    let most = worse.iter().min_by(|one, other| one.ratio.unwrap_or(1.0).total_cmp(&other.ratio.unwrap_or(1.0)));
    let Some(most) = most else { return String::new() };
    match (worse.len(), gate.numbers.len()) {
        (1, 1) => format!("Regression: {b} is worse than {a} in {}{}.{}", most.name(), ratio(most), agreeing(gate)),
        (count, all) => format!(
            "Regression: {b} is worse than {a} in {count} of {all} numbers, most in {}{}.{}",
            most.name(),
            ratio(most),
            agreeing(gate)
        ),
    }
}

fn suspected(gate: &Gate, second: &str) -> String {
    let (a, b) = (&gate.baseline.name, &gate.candidate.name);
    let worse: Vec<&GateNumber> = gate.numbers.iter().filter(|number| number.suspected).collect();
    let most = worse.iter().min_by(|one, other| one.ratio.unwrap_or(1.0).total_cmp(&other.ratio.unwrap_or(1.0)));
    let Some(most) = most else { return String::new() };
    let numbers = match worse.len() {
        1 => most.name(),
        count => format!("{count} of {} numbers, most in {}", gate.numbers.len(), most.name()),
    };
    format!("Suspected: {b} looks worse than {a} in {numbers}{}.{second}", ratio(most))
}

/// Describes the agreement of sessions in a regression.
fn agreeing(gate: &Gate) -> String {
    match gate.candidate.sessions {
        Some(sessions) if gate.design == GateDesign::History => format!(" {sessions} sessions agree."),
        _ => String::new(),
    }
}

fn cannot_tell(gate: &Gate, longer: &str) -> String {
    let (a, b) = (&gate.baseline.name, &gate.candidate.name);
    if gate.rejected {
        let left_out = |name: &str| gate.left_out.iter().filter(|run| run.side == name).count();
        return format!(
            "Cannot tell whether {b} is worse than {a}: the checks rejected too many runs ({} of the baseline's, {} of the \
             candidate's).",
            left_out(a),
            left_out(b)
        );
    }
    if let Some(first) = gate.missing.first() {
        let more = match gate.missing.len() {
            1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        return format!("Cannot tell whether {b} is worse than {a}: no value of {first}{more}.");
    }
    if gate.baseline.runs == 0 {
        return format!("Cannot tell whether {b} is worse than {a}: {a} has no runs yet.");
    }
    let open = select_numbers(gate, GateAnswer::CannotTell);
    let widest = open.iter().min_by(|one, other| one.lo.unwrap_or(0.0).total_cmp(&other.lo.unwrap_or(0.0)));
    let Some(widest) = widest else {
        return format!("Cannot tell whether {b} is worse than {a}: no number was measured on both sides.");
    };
    let numbers = match (open.len(), gate.numbers.len()) {
        (1, _) => widest.name(),
        (count, all) => format!("{count} of {all} numbers, such as {}", widest.name()),
    };
    let why = widest.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    let mut text = format!("Cannot tell whether {b} is worse than {a} in {numbers}{}{why}.", ratio(widest));
    text.push_str(&way_on(gate, widest, longer));
    text
}

fn way_on(gate: &Gate, widest: &GateNumber, longer: &str) -> String {
    match (&gate.needed, gate.design) {
        (Some(need), GateDesign::Interleaved) => match (&need.options, need.seconds) {
            (Some(options), Some(seconds)) => format!(
                " About {} ({} blocks) should decide it, in four of five cases: `{options}`.",
                duration(seconds),
                need.units
            ),
            _ => String::new(),
        },
        (Some(need), GateDesign::History) => {
            let s = if need.units == 1 { "" } else { "s" };
            format!(
                " {} session{s} of the candidate at different times should decide it, in four of five cases; or name a place for \
                 --baseline, so that both sides are measured now.",
                need.units
            )
        }
        (None, _) if widest.capped.is_some() => String::new(),
        (None, GateDesign::History) => {
            " Name a place for --baseline, so that both sides are measured now, or wait for more sessions.".to_owned()
        }
        (None, GateDesign::Interleaved) if widest.unit == GateUnit::Plot => {
            " Name more places for each side: a place is one sample.".to_owned()
        }
        (None, GateDesign::Interleaved) if gate.numbers.iter().any(|number| number.units < 2) => {
            let fewest = gate.numbers.iter().map(|number| number.units).min().unwrap_or(0);
            // Two units are the minimum; eight are the purpose of a budget.
            let needed = gate.seconds * 8.0 / f64::from(fewest.max(1));
            format!(" Use a larger budget: `--budget {}`.", budget_text((needed * 1e9) as u64))
        }
        (None, GateDesign::Interleaved) => format!(
            " No reasonable time would decide it at this spread: make runs longer ({longer}), the machine quieter, or the margin \
             wider (`--margin {:.0}%`).",
            gate.margin * 200.0
        ),
    }
}

/// Formats `40 s`, `4 min`, `2 h`, rounded up.
fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{:.0} s", seconds.ceil())
    } else if seconds < 7200.0 {
        format!("{:.0} min", (seconds / 60.0).ceil())
    } else {
        format!("{:.0} h", (seconds / 3600.0).ceil())
    }
}

fn worse_within_margin(gate: &Gate) -> String {
    let worse: Vec<&GateNumber> =
        gate.numbers.iter().filter(|one| one.answer == GateAnswer::Pass && one.note.is_some()).collect();
    match worse.as_slice() {
        [] => String::new(),
        [only] => format!(" It is worse in {}, within the margin{}.", only.name(), ratio(only)),
        several => format!(" It is worse in {} numbers, within the margin.", several.len()),
    }
}

fn rejected(gate: &Gate) -> String {
    match gate.left_out.len() {
        _ if gate.rejected => String::new(),
        0 => String::new(),
        1 => format!(" 1 of {} runs was left out.", gate.runs.len()),
        left_out => format!(" {left_out} of {} runs were left out.", gate.runs.len()),
    }
}
