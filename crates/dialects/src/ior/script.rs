//! Scripts: lines of directives between `IOR START` and `IOR STOP`; `RUN` ends a test, and the next one inherits its values.

use super::options::OPTIONS;
use crate::aiori::{BACKENDS, Opt, Said, Wrong};
use plumb_workload::suggest::nearest;

/// More tests than this are a mistake.
const TESTS_MAX: usize = 100_000;

/// Sets one directive: `name=value`, or a long option.
///
/// # Errors
/// Its name or value is wrong.
pub(super) fn directive(said: &mut Said, text: &str) -> Result<(), Wrong> {
    let text = text.trim();
    let (name, value) =
        text.split_once('=').map_or((text, None), |(name, value)| (name.trim_end(), Some(value.trim())));
    let plain = name.trim_start_matches("--");
    // IOR's older name for -C.
    let plain = if plain.eq_ignore_ascii_case("reorderTasks") { "reorderTasksConstant" } else { plain };
    let Some(row) = row(plain) else {
        let nearest = nearest(plain, rows().filter_map(|row| row.name)).map(str::to_owned);
        return Err(Wrong::Unknown { word: text.to_owned(), nearest });
    };
    said.set(row, plain, value)
}

fn rows() -> impl Iterator<Item = &'static Opt> {
    OPTIONS.iter().chain(BACKENDS)
}

fn row(name: &str) -> Option<&'static Opt> {
    rows().find(|row| row.name.is_some_and(|own| own.eq_ignore_ascii_case(name)))
}

/// The tests of a script, each with all that holds for it; `said` is what the command line says.
///
/// # Errors
/// The first error, with its line.
pub(super) fn read(said: &Said, name: &str, text: &str) -> Result<Vec<Said>, Wrong> {
    let mut tests = Vec::new();
    let mut at_hand = said.clone();
    let mut changed = false;
    let is =
        |line: &str, words: &str| line.split_whitespace().collect::<Vec<_>>().join(" ").eq_ignore_ascii_case(words);
    let mut lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()));
    if !lines.by_ref().any(|(_, line)| is(line, "IOR START")) {
        return Err(Wrong::Conflict(format!("{name}: no line `IOR START`; a script's tests stand behind one")));
    }
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        if is(line, "IOR STOP") {
            break;
        }
        if is(line, "RUN") {
            tests.push(at_hand.clone());
            changed = false;
            if tests.len() > TESTS_MAX {
                return Err(Wrong::Conflict(format!("{name}: more than {TESTS_MAX} tests; use several scripts")));
            }
            continue;
        }
        for text in line.split(',').filter(|text| !text.trim().is_empty()) {
            directive(&mut at_hand, text).map_err(|wrong| Wrong::Conflict(format!("{name}:{number}: {wrong}")))?;
            changed = true;
        }
    }
    // What stands behind the last `RUN` is a test too.
    if changed || tests.is_empty() {
        tests.push(at_hand);
    }
    Ok(tests)
}
