//! Lines of a run's page about its conditions: assertions, and steadiness.

use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use plumb_result::assertion::{Asserted, Steadiness};
use plumb_result::{RunVerdict, Utilisation};

/// Returns a line for each phase that should run until it is steady.
pub(crate) fn steadiness(found: &[Steadiness], style: &Style) -> String {
    const HEAD: &str = "steady  ";
    let line = |one: &Steadiness| {
        let ink = if one.reached { Ink::Good } else { Ink::Caution };
        let wording = style.wrap(&format!("{}: {}", one.phase, one.words()), HEAD.len() + 4);
        format!("  {}{wording}\n", style.ink(ink, HEAD))
    };
    let text: String = found.iter().map(line).collect();
    if text.is_empty() { text } else { text + "\n" }
}

/// Returns a line for each consumer of the bytes read.
pub(crate) fn utilisation(found: &[Utilisation], style: &Style) -> String {
    const HEAD: &str = "utilisation  ";
    let line = |one: &Utilisation| {
        let share = one.share.map_or(MISSING.to_owned(), format::percent);
        let total = format::time(one.total_ns as f64);
        let text = format!(
            "{}: {share}: {} steps in {total}, busy for {}",
            one.phase,
            one.steps,
            format::time(one.busy_ns as f64)
        );
        format!("  {}{}\n", style.ink(Ink::Strong, HEAD), style.wrap(&text, HEAD.len() + 4))
    };
    let text: String = found.iter().map(line).collect();
    if text.is_empty() { text } else { text + "\n" }
}

/// Returns whether all assertions hold, and a line for each with the measured numbers; empty without assertions.
pub(crate) fn assertions(asserted: &[Asserted], verdict: RunVerdict, style: &Style) -> String {
    let broken = asserted.iter().filter(|one| !one.holds).count();
    let (ink, answer) = match (verdict, asserted.len(), broken) {
        (_, 0, _) => return String::new(),
        (RunVerdict::Reject, _, _) => (
            Ink::Bad,
            "The checks reject this result: whether a condition is true or false cannot be read from its numbers."
                .to_owned(),
        ),
        (_, 1, 0) => (Ink::Good, "The condition is true.".to_owned()),
        (_, 1, _) => (Ink::Bad, "The condition is false.".to_owned()),
        (_, all, 0) => (Ink::Good, format!("All {all} conditions are true.")),
        (_, all, broken) => (Ink::Bad, format!("{broken} of {all} conditions are false.")),
    };
    let lines: String = asserted.iter().map(|one| assertion(one, verdict, style)).collect();
    format!("{}\n{lines}\n", style.ink(ink, &style.wrap(&answer, 0)))
}

fn assertion(asserted: &Asserted, verdict: RunVerdict, style: &Style) -> String {
    let (word, ink) = match (verdict, asserted.holds) {
        (RunVerdict::Reject, _) => ("unproven", Ink::Caution),
        (_, true) => ("ok", Ink::Good),
        (_, false) => ("false", Ink::Bad),
    };
    let observed: Vec<String> = asserted
        .observed
        .iter()
        .map(|one| {
            let value = one.value.map_or(MISSING.to_owned(), |value| format::value(value, asserted.unit));
            format!("{} {value}", one.phase)
        })
        .collect();
    let mut wording = asserted.assertion.clone();
    if !observed.is_empty() {
        wording.push_str(&format!("   ({})", observed.join(", ")));
    }
    if let Some(reason) = &asserted.reason {
        wording.push_str(&format!("   {reason}"));
    }
    format!("  {} {}\n", style.ink(ink, &format!("{word:9}")), style.wrap(&wording, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::Unit;
    use plumb_result::assertion::Observed;

    #[test]
    fn unmeasured_conditions_give_the_reason_and_are_not_ok() {
        let asserted = |holds, value: Option<f64>, reason: Option<&str>| Asserted {
            assertion: "read.lat.p99 < 5ms".to_owned(),
            holds,
            unit: Unit::Nanoseconds,
            observed: vec![Observed { phase: "read".to_owned(), value }],
            reason: reason.map(str::to_owned),
        };
        let wording = assertions(
            &[asserted(true, Some(1.5e6), None), asserted(false, None, Some("not measured: too few"))],
            RunVerdict::Pass,
            &Style::PLAIN,
        );
        assert_eq!(
            wording,
            "1 of 2 conditions are false.\n  ok        read.lat.p99 < 5ms (read 1.50 ms)\n  false     read.lat.p99 < 5ms (read –) not measured: too few\n\n"
        );
    }
}
