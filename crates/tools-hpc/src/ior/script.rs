//! Scripts: lines of directives between `IOR START` and `IOR STOP`. `RUN` ends a test, and the next one inherits its
//! values.

use super::error::IorError;
use super::options::TABLE;
use crate::aiori::GivenOptions;

/// Limit of tests. More are probably a mistake.
const TESTS_MAX: usize = 100_000;

/// Returns the tests of a script, each with all its options. `given` holds the options of the command line.
///
/// # Errors
/// The first error, with its line.
pub(super) fn read(given: &GivenOptions, name: &str, text: &str) -> Result<Vec<GivenOptions>, IorError> {
    let mut tests = Vec::new();
    let mut at_hand = given.clone();
    let mut changed = false;
    let is =
        |line: &str, words: &str| line.split_whitespace().collect::<Vec<_>>().join(" ").eq_ignore_ascii_case(words);
    let mut lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()));
    if !lines.by_ref().any(|(_, line)| is(line, "IOR START")) {
        return Err(IorError::NoStart { name: name.to_owned() });
    }
    for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
        if is(text, "IOR STOP") {
            break;
        }
        if is(text, "RUN") {
            tests.push(at_hand.clone());
            changed = false;
            if tests.len() > TESTS_MAX {
                return Err(IorError::TooMany { name: name.to_owned(), most: TESTS_MAX });
            }
            continue;
        }
        for directive in text.split(',').filter(|text| !text.trim().is_empty()) {
            at_hand.directive(directive, TABLE).map_err(|error| IorError::Line {
                name: name.to_owned(),
                line,
                error,
            })?;
            changed = true;
        }
    }
    // Directives after the last `RUN` are a test too.
    if changed || tests.is_empty() {
        tests.push(at_hand);
    }
    Ok(tests)
}
