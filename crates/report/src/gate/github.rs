//! Annotations for GitHub Actions: lines on standard output that the runner parses. Source: GitHub Docs, "Workflow
//! commands for GitHub Actions"; escapes as in `@actions/core` (`toolkit/packages/core/src/command.ts`).

use super::detail;
use plumb_result::Gate;
use plumb_result::gate::GateAnswer;

/// Returns an annotation for each number that does not pass, and for each missing or rejected one; a notice if all pass.
pub fn annotations(gate: &Gate) -> String {
    let line = |kind: &str, title: &str, text: &str| format!("::{kind} title={}::{}\n", property(title), data(text));
    if gate.answer == GateAnswer::Pass {
        return line("notice", "plumb gate: pass", &gate.note);
    }
    let mut text = String::new();
    for number in gate.numbers.iter().filter(|_| !gate.rejected) {
        let (kind, word) = match number.answer {
            GateAnswer::Pass => continue,
            GateAnswer::Regression => ("error", "regression"),
            GateAnswer::CannotTell => ("warning", number.word()),
        };
        text.push_str(&line(kind, &format!("plumb gate: {word}: {}", number.name()), &detail(number)));
    }
    for missing in &gate.missing {
        text.push_str(&line("warning", "plumb gate: not measured", missing));
    }
    // The answer comes first, because GitHub shows the first annotations.
    let kind = if gate.answer == GateAnswer::Regression || gate.rejected { "error" } else { "warning" };
    line(kind, &format!("plumb gate: {}", gate.word()), &gate.note) + &text
}

/// Escapes the message of a command.
pub(crate) fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which ends at a colon or comma.
pub(crate) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
