//! `format=`: whether a run only creates the files of its file systems.

use super::parse::Parameter;
use super::usage_error::Reason;

/// The work of a run that only creates files. Other runs create their files before their clock starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// Whether only directories are created.
    pub(super) directories: bool,
    /// Whether the run ends after its elapsed time.
    pub(super) limited: bool,
}

const WORDS: &str = "yes, no, restart, only, once, directories, limited or complete";

impl Format {
    /// Returns the format if the run only creates files.
    pub(super) fn read(parameter: &Parameter) -> Result<Option<Format>, Reason> {
        let words: Vec<String> = parameter.values.iter().map(|value| value.to_ascii_lowercase()).collect();
        // As in vdbench, `no` takes precedence over other words.
        if words.iter().any(|word| "no".starts_with(word.as_str())) {
            return Ok(None);
        }
        let mut format = Format { directories: false, limited: false };
        let mut is_all = false;
        for (word, value) in words.iter().zip(&parameter.values) {
            match word.as_str() {
                // Files are created for each run, so that there are none to keep or to skip.
                "restart" | "once" | "complete" => {}
                word if "yes".starts_with(word) => {}
                "only" => is_all = true,
                "limited" => format.limited = true,
                "clean" => {
                    let way_out = "no run leaves files behind: remove this one";
                    return Err(Reason::not_supported(&parameter.key, value, way_out));
                }
                word if "directories".starts_with(word) => format.directories = true,
                _ => return Err(Reason::value(&parameter.key, value, WORDS)),
            }
        }
        if format.limited && !is_all {
            let way_out = "use format=(only,limited)";
            return Err(Reason::not_supported(&parameter.key, &parameter.joined_values(), way_out));
        }
        Ok(is_all.then_some(format))
    }
}
