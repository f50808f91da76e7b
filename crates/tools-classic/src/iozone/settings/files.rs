//! The files of the tests.

use super::children::remounts;
use super::{Given, IozoneSettings, Seen, WrittenContent};
use crate::iozone::IozoneUsageError;

/// Files that tests read and write, and their fate.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFiles {
    /// `-f`: the file of a single-process test.
    pub file: String,
    /// `-F`, `-+R`: the files of children.
    pub files: Vec<String>,
    /// `-w`: whether files remain after the test.
    pub keep: bool,
    /// `-+N`: whether existing files keep their contents until they are overwritten.
    pub no_truncate: bool,
    /// `-+E`: whether an existing file is read and nothing is changed.
    pub existing: bool,
    /// `-+k`: whether the file size is the total of all children.
    pub aggregate: bool,
    /// `-+V`, `-+L`: whether all children use one file.
    pub shared: bool,
    /// `-U`: mount point to remount between tests.
    pub remount: Option<String>,
}

#[derive(Default)]
pub(super) struct FilesSeen {
    pub(super) one: bool,
    pub(super) named: bool,
}

/// Handles an option about files; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    match given.name {
        "f" => {
            if seen.files.named {
                return Err(IozoneUsageError::say(10, "invalid options: -f and -F are mutually exclusive\n"));
            }
            seen.files.one = true;
            settings.files.file = given.word.to_owned();
        }
        "U" => {
            settings.files.remount = Some(given.word.to_owned());
            if seen.children.throughput {
                return Err(remounts(16));
            }
        }
        "w" => {
            settings.messages.line("Setting no_unlink");
            settings.files.keep = true;
        }
        "+E" => {
            settings.messages.line(">>> No Verify mode. <<<");
            settings.buffers.content = WrittenContent::Theirs;
            settings.files.existing = true;
            settings.files.keep = true;
        }
        "+k" => settings.files.aggregate = true,
        "+N" => settings.files.no_truncate = true,
        "+V" => {
            settings.messages.line(">>> Shared file mode enabled. <<<");
            settings.files.shared = true;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
