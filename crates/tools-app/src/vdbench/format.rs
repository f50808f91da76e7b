//! `format=`: whether a run makes the files of its file systems, and nothing else.

use super::parse::Parameter;
use super::usage_error::Reason;

/// What a run makes that does nothing else. Other runs make what they need before their clock starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// Directories alone.
    pub(super) directories: bool,
    /// For no longer than the run is to last.
    pub(super) limited: bool,
}

const WORDS: &str = "yes, no, restart, only, once, directories, limited or complete";

impl Format {
    /// What a run makes, where that is all.
    pub(super) fn read(parameter: &Parameter) -> Result<Option<Format>, Reason> {
        let words: Vec<String> = parameter.values.iter().map(|value| value.to_ascii_lowercase()).collect();
        // As the tool has it: a no is the answer whatever else is said.
        if words.iter().any(|word| "no".starts_with(word.as_str())) {
            return Ok(None);
        }
        let mut format = Format { directories: false, limited: false };
        let mut is_all = false;
        for (word, said) in words.iter().zip(&parameter.values) {
            match word.as_str() {
                // Files are made anew for each run, so that there is nothing to keep or to leave out.
                "restart" | "once" | "complete" => {}
                word if "yes".starts_with(word) => {}
                "only" => is_all = true,
                "limited" => format.limited = true,
                "clean" => {
                    let way_out = "no run leaves files behind: remove this one";
                    return Err(Reason::not_supported(&parameter.key, said, way_out));
                }
                word if "directories".starts_with(word) => format.directories = true,
                _ => return Err(Reason::value(&parameter.key, said, WORDS)),
            }
        }
        if format.limited && !is_all {
            let way_out = "use format=(only,limited)";
            return Err(Reason::not_supported(&parameter.key, &parameter.said(), way_out));
        }
        Ok(is_all.then_some(format))
    }
}
