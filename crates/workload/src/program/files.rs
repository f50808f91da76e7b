//! The files of programs.

use crate::files::Names;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A directory of the user's in which programs make, use and remove files under their own names. Nothing is laid out, and
/// only the programs' own steps remove anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScratchTarget {
    /// The directory; a relative one begins at the working directory, which it is when empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: PathBuf,
    /// What files and directories are called in it, by their number.
    pub names: Names,
    /// Directories that the user named, in which the files lie: links on the way to them are followed once, and none below them.
    /// Without any, those are the directories of the files themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<PathBuf>,
}

fn is_empty(path: &std::path::Path) -> bool {
    path.as_os_str().is_empty()
}

/// Which file a step works on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Pick {
    /// `own` of named files, `random` of a file set.
    #[default]
    Usual,
    /// Of named files: that of the innermost [`Each`](super::Each), else the one whose number is the worker's in its group.
    Own,
    /// Of named files: the one of this number.
    Nth(u32),
    /// Of a file set: an existing file, uniformly.
    Random,
    /// Of a file set: existing files in order of their number, again from the first after the last.
    Sequential,
    /// Like `sequential`, with one position shared by all steps of the program.
    RoundRobin,
    /// Of a file set: an existing file by Zipf's law over the live files.
    Zipf {
        /// Exponent.
        theta: f64,
    },
    /// A file of the set that does not exist yet: what `create` makes, and the new name of `rename`, `link`, `symlink`.
    New,
    /// Of a file set: the file that the step before worked on.
    Same,
}

/// One file as one op: every call that is made of it, in the time of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileStep {
    /// What is done.
    pub does: FileWork,
    /// Which file.
    #[serde(default)]
    pub file: Pick,
    /// The next one that the directory names, which [`List`](super::Step::List) opened, whatever `file` says; to
    /// look at or to remove.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
    /// The file that a link leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Content moves in pieces of this length.
    #[serde(default = "page")]
    pub record: Bytes,
    /// Lengths of new files, from the first of the surrounding [`Each`](super::Each) on; the last one holds for all
    /// further ones, and none means empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<Bytes>,
    /// `fsync` of a new file, and of the directory that holds the name: one that [`HoldDirectories`] opened.
    ///
    /// [`HoldDirectories`]: super::Step::HoldDirectories
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
}

fn page() -> Bytes {
    Bytes(4096)
}

impl FileStep {
    /// Bytes of the longest new file.
    pub fn longest_bytes(&self) -> u64 {
        self.lengths.iter().map(|length| length.0).max().unwrap_or(0)
    }
}

/// What is done of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileWork {
    /// `open` of a new file that must not be there, for its owner alone; `write` up to its length; `close`.
    Make,
    /// `link`.
    Link,
    /// `symlink` to the last part of the other file's path.
    Symlink,
    /// `stat`; of a file that is not empty, `open`, `read` up to its length, and `close`.
    Look,
    /// `unlink`.
    Remove,
}

/// Directories that are kept open, so that they can be flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Held {
    /// Number of the first one.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Number of the first file in the first of them.
    pub first_file: u32,
    /// Files of each.
    pub per_directory: u32,
}
