//! `plumb as TOOL`: another tool's language, read by its own rules.

pub mod elbencho;
pub mod fio;

use crate::args::Common;
use crate::exit::{End, Stopped};
use std::ffi::OsString;

/// The tools whose language is spoken.
const TOOLS: &[&str] = &["elbencho", "fio"];

/// Runs the words as the tool would: the first one names it.
pub fn run(words: &[OsString], common: &Common) -> Result<End, Stopped> {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let tool = words.next().unwrap_or_default();
    match tool.as_str() {
        "elbencho" => elbencho::as_elbencho("elbencho", &words.collect::<Vec<_>>(), common),
        "fio" => fio::as_fio(&words.collect::<Vec<_>>(), common),
        other => {
            let hint = plumb_workload::suggest::nearest(other, TOOLS.iter().copied());
            let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(Stopped::usage(format!(
                "`{other}` is no tool whose language is spoken here, only elbencho and fio are{hint}"
            )))
        }
    }
}
