//! Annotations of GitHub Actions: lines on standard output that the runner reads. Source: GitHub Docs, "Workflow commands for
//! GitHub Actions"; the escapes are those of `@actions/core` (`toolkit/packages/core/src/command.ts`).

use super::detail;
use plumb_result::Gate;
use plumb_result::gate::GateAnswer;

/// One for each number that does not pass, and one for what was missing or rejected; a notice where all is well.
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
    // The answer itself, which GitHub shows first.
    let kind = if gate.answer == GateAnswer::Regression || gate.rejected { "error" } else { "warning" };
    line(kind, &format!("plumb gate: {}", gate.word()), &gate.note) + &text
}

/// The message of a command.
pub(crate) fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which ends at a colon or a comma.
pub(crate) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
