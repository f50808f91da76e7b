//! JUnit's XML, as CI servers read it: a test for each number. Format: the schema of Apache Ant's JUnit task, in the subset that
//! Jenkins, GitLab and GitHub actions agree on.

use super::detail;
use plumb_result::Gate;
use plumb_result::gate::GateAnswer;

/// One test suite. A number that cannot be told is `skipped`; what was not measured, or rejected, is an `error`.
pub fn junit(gate: &Gate) -> String {
    let count = |answer| gate.numbers.iter().filter(|number| number.answer == answer).count();
    let rejected = usize::from(gate.rejected || gate.numbers.is_empty() && gate.missing.is_empty());
    let errors = gate.missing.len() + rejected;
    let (failures, skipped) = match gate.rejected {
        true => (0, gate.numbers.len()),
        false => (count(GateAnswer::Regression), count(GateAnswer::CannotTell)),
    };
    let tests = gate.numbers.len() + errors;
    let name = escaped(&format!("plumb gate: {} against {}", gate.candidate.name, gate.baseline.name));
    let totals = format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{:.3}\"",
        gate.seconds
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite name=\"{name}\" {totals}>\n"
    );
    for number in &gate.numbers {
        let detail = escaped(&detail(number));
        let body = match number.answer {
            _ if gate.rejected => format!("<skipped message=\"{}\"/>", escaped("the checks rejected too many runs")),
            GateAnswer::Pass => format!("<system-out>{detail}</system-out>"),
            GateAnswer::Regression => {
                format!("<failure message=\"{detail}\" type=\"regression\">{}</failure>", escaped(&gate.note))
            }
            GateAnswer::CannotTell => format!("<skipped message=\"{}: {detail}\"/>", number.word()),
        };
        xml.push_str(&test(&number.workload, &format!("{} {}", number.phase, number.metric), &body));
    }
    for missing in &gate.missing {
        let body = format!("<error message=\"{}\" type=\"missing\"/>", escaped(missing));
        xml.push_str(&test("missing", missing, &body));
    }
    if rejected > 0 {
        let body = format!("<error message=\"{}\" type=\"rejected\"/>", escaped(&gate.note));
        xml.push_str(&test("checks", "runs are accepted", &body));
    }
    let said = escaped(&format!("{} {}", gate.note, gate.promise));
    xml.push_str(&format!("    <system-out>{said}</system-out>\n  </testsuite>\n</testsuites>\n"));
    xml
}

fn test(class: &str, name: &str, body: &str) -> String {
    let (class, name) = (escaped(class), escaped(name));
    format!("    <testcase classname=\"plumb.{class}\" name=\"{name}\">{body}</testcase>\n")
}

/// For text and attributes. What XML 1.0 has no place for, not even escaped (§2.2), becomes U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\r' | '\t' => out.push_str(&format!("&#{};", c as u32)),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c < ' ' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
