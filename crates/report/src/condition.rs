//! Conditions that a run was put under, and how they came out.

use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use plumb_result::condition::{Asserted, Steadiness};

/// A line for each phase that was to become steady.
pub fn steadiness(found: &[Steadiness], style: &Style) -> String {
    let line = |one: &Steadiness| {
        let ink = if one.reached { Ink::Good } else { Ink::Caution };
        let head = format!("{:9}", "steady");
        format!("  {} {}\n", style.ink(ink, &head), style.wrap(&format!("{}: {}", one.phase, one.words()), 12))
    };
    found.iter().map(line).collect()
}

/// A line for each assertion, with what was measured.
pub fn assertions(asserted: &[Asserted], style: &Style) -> String {
    asserted.iter().map(|one| assertion(one, style)).collect()
}

fn assertion(asserted: &Asserted, style: &Style) -> String {
    let (word, ink) = if asserted.holds { ("ok", Ink::Good) } else { ("false", Ink::Bad) };
    let observed: Vec<String> = asserted
        .observed
        .iter()
        .map(|one| {
            let value = one.value.map_or(MISSING.to_owned(), |value| format::value(value, asserted.unit));
            format!("{} {value}", one.phase)
        })
        .collect();
    let mut said = asserted.assertion.clone();
    if !observed.is_empty() {
        said.push_str(&format!("   ({})", observed.join(", ")));
    }
    if let Some(reason) = &asserted.reason {
        said.push_str(&format!("   {reason}"));
    }
    format!("  {} {}\n", style.ink(ink, &format!("{word:9}")), style.wrap(&said, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::Unit;
    use plumb_result::condition::Observed;

    #[test]
    fn what_was_not_measured_says_so_and_is_not_ok() {
        let asserted = |holds, value: Option<f64>, reason: Option<&str>| Asserted {
            assertion: "read.lat.p99 < 5ms".to_owned(),
            holds,
            unit: Unit::Nanoseconds,
            observed: vec![Observed { phase: "read".to_owned(), value }],
            reason: reason.map(str::to_owned),
        };
        let said = assertions(
            &[asserted(true, Some(1.5e6), None), asserted(false, None, Some("not measured: too few"))],
            &Style::PLAIN,
        );
        assert_eq!(
            said,
            "  ok        read.lat.p99 < 5ms (read 1.50 ms)\n  false     read.lat.p99 < 5ms (read –) not measured: too few\n"
        );
    }
}
