//! The checks for readers: `plumb explain CODE` and `docs/checks.md`.

use crate::check::Check;
use crate::checks::CHECKS;
use crate::text::paragraph;
use std::borrow::Cow;

/// Returns the check with this code, in upper or lower case.
pub fn explain(code: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.code.eq_ignore_ascii_case(code.trim())).copied()
}

/// Returns everything about one check as plain text, in lines of at most `width` columns; `None` for an unknown code.
pub fn explanation(code: &str, width: usize) -> Option<String> {
    let check = explain(code)?;
    let mut text = format!("{} · {} ({})\n", check.code, check.title, scopes(check));
    for (label, words) in sections(check) {
        text.push_str(&format!("\n{label}\n"));
        text.push_str(&paragraph(&words, width));
    }
    Some(text)
}

/// Returns the text of `docs/checks.md`.
pub fn docs() -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n| code | title | scope | threshold |\n|---|---|---|---|\n");
    for check in CHECKS {
        let threshold = check.threshold.replace('|', "\\|");
        text.push_str(&format!(
            "| [{code}](#{code_lower}) | {} | {} | {threshold} |\n",
            check.title,
            scopes(check),
            code = check.code,
            code_lower = check.code.to_ascii_lowercase(),
        ));
    }
    let mut family = '\0';
    for check in CHECKS {
        let letter = check.code.chars().next().unwrap_or_default();
        if letter != family {
            family = letter;
            text.push_str(&format!("\n## {}\n", family_title(letter)));
        }
        // The heading is the bare code, so that `checks.md#a3` is a stable address.
        text.push_str(&format!("\n### {}\n\n**{}**, {}.\n", check.code, check.title, scopes(check)));
        for (label, words) in sections(check) {
            text.push_str(&format!("\n*{label}.* {words}\n"));
        }
    }
    text
}

const HEAD: &str = "\
# The checks

<!-- Generated from crates/trust; `PLUMB_BLESS=1 cargo test -p plumb-trust` regenerates it. -->

Plumb applies these checks to every run. Each reports `pass`, `note`, `warn` or `fail`, or `skipped` with the reason where
it lacks evidence. Any `fail` rejects a run: it is stored and shown, but left out of comparisons unless you ask for it.
Any `warn` makes it a caution; a `note` changes nothing. Where A1 or A3 is skipped, it is unknown what was measured, and
the verdict is `unknown` rather than `pass`. Codes are stable.

Findings are listed with the most serious first: `fail`, `warn`, `note`, then in the order of this page.

Every rate of bytes carries a tier, from the bytes that the devices moved against the bytes that the program moved:
`device` from 95 % on, `cache` up to 5 %, `mixed` between, `unknown` where the counters are not available. On NFS and Lustre
the server takes the device's place, and the tier is `server` from 95 % on: its own memory may have answered, which no client
can see.

Each check says where its threshold comes from: an experiment here (with its numbers), a calculation, or reasoning, where
no experiment could tell one value from its neighbour. How often Plumb found what simulated devices were made to show is
the table of `cargo xtask calibrate` ([calibration.md](calibration.md)). Most thresholds go back to one number:
comparisons treat two as equal within 5 %, so whatever can move a result by more is reported.
";

fn family_title(letter: char) -> &'static str {
    match letter {
        'A' => "A. Did the bytes really move?",
        'B' => "B. Was the load the one you asked for?",
        'C' => "C. Was the machine quiet?",
        'D' => "D. Are the two sides comparable?",
        _ => "E. Is the sample enough, and honestly shown?",
    }
}

fn scopes(check: &Check) -> String {
    check.judges.iter().map(|judge| judge.scope().name()).collect::<Vec<_>>().join(", ")
}

fn sections(check: &Check) -> [(&'static str, Cow<'static, str>); 6] {
    [
        ("What", check.what.into()),
        ("Why", check.why.into()),
        ("How", check.how.into()),
        ("Threshold", check.threshold.into()),
        ("Why this threshold", check.settled.into()),
        ("What to do", check.fix_in_words().into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The documentation must agree with the table of checks.
    #[test]
    fn the_page_of_checks_is_the_table() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checks.md");
        if std::env::var_os("PLUMB_BLESS").is_some() {
            std::fs::write(&page, docs()).unwrap();
        }
        let written = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(written == docs(), "docs/checks.md is out of date; run `PLUMB_BLESS=1 cargo test -p plumb-trust`");
    }

    /// Words that docs/writing.md advises against.
    #[test]
    fn the_checks_are_in_plain_words() {
        const NOT: &[&str] =
            &[" is told", " are told", "so many", "looked at", " had from", "what is wrong", "beneath"];
        for check in CHECKS {
            for words in
                [check.title, check.what, check.why, check.how, check.threshold, check.settled, &check.fix_in_words()]
            {
                for not in NOT {
                    assert!(!words.contains(not), "{}: {not:?} in: {words}", check.code);
                }
            }
        }
    }

    #[test]
    fn every_check_is_explained() {
        for check in CHECKS {
            let text = explanation(&check.code.to_lowercase(), 60).unwrap();
            assert!(text.starts_with(check.code) && text.contains("What to do"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
            for (label, words) in sections(check) {
                assert!(words.len() > 10, "{}: {label}", check.code);
            }
            for sentences in [check.what, check.why, check.how, check.settled, &check.fix_in_words()] {
                assert!(sentences.ends_with('.') && !sentences.contains(".."), "{}: {sentences}", check.code);
            }
        }
        assert!(explanation("Z9", 60).is_none());
    }
}
