//! Files of programs.

use crate::files::Names;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A user's directory in which programs create, use and remove named files. Plumb lays out nothing there, and only
/// the program's own steps remove anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScratchTarget {
    /// Path of the directory. Relative paths start at the working directory, which is also the default.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: PathBuf,
    /// Names of files and directories in it, by number.
    pub names: Names,
    /// Directories that the user named and that contain the files. Symbolic links on the way to them are followed
    /// once, and none below them. When empty, the parent directories of the files are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<PathBuf>,
}

fn is_empty(path: &std::path::Path) -> bool {
    path.as_os_str().is_empty()
}

/// Selects the file that a step works on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Pick {
    /// `own` for named files, `random` for a file set.
    #[default]
    Usual,
    /// For named files: the file of the innermost [`Each`](super::Each), or else the file with the
    /// worker's number in its group.
    Own,
    /// For named files: the file with this number.
    Nth(u32),
    /// For a file set: a uniformly random existing file.
    Random,
    /// For a file set: the existing files in order of their numbers, starting over after the last.
    Sequential,
    /// Like `sequential`, but with one position for all steps of the program.
    RoundRobin,
    /// For a file set: an existing file by Zipf's law over the live files.
    Zipf {
        /// Exponent; larger values are more skewed.
        theta: f64,
    },
    /// A file of the set that does not exist yet: the file that `create` makes, or the new name
    /// for `rename`, `link` and `symlink`.
    New,
    /// For a file set: the file of the previous step.
    Same,
}

/// All calls on one file, timed and counted as one op.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileStep {
    /// Action on the file.
    pub does: FileWork,
    /// File to work on; defaults to `usual`.
    #[serde(default)]
    pub file: Pick,
    /// Work on the next file in the directory that [`List`](super::Step::List) opened, instead of `file`. Only for
    /// looking at files and removing them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
    /// Number of the file that a link points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Bytes per read or write.
    #[serde(default = "page")]
    pub record: Bytes,
    /// Lengths of new files, beginning with the first file of the surrounding [`Each`](super::Each). The last entry
    /// also applies to all further files; files are empty when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<Bytes>,
    /// Call `fsync` on a new file and on the directory that holds its name, as opened by [`HoldDirectories`].
    ///
    /// [`HoldDirectories`]: super::Step::HoldDirectories
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
}

fn page() -> Bytes {
    Bytes(4096)
}

impl FileStep {
    /// Returns the length in bytes of the longest new file.
    pub fn longest_bytes(&self) -> u64 {
        self.lengths.iter().map(|length| length.0).max().unwrap_or(0)
    }
}

/// Action on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileWork {
    /// `open` of a new file, which must not exist, with access for its owner only; `write` up to its length; `close`.
    Make,
    /// `link` to the file `to`.
    Link,
    /// `symlink` to the last path component of the file `to`.
    Symlink,
    /// `stat`. If the file is not empty, also `open`, `read` up to its length, and `close`.
    #[serde(rename = "look")]
    Stat,
    /// `unlink` of the file.
    Remove,
}

/// Directories that are kept open so that they can be flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Held {
    /// Number of the first directory.
    pub first: u32,
    /// Number of directories to open.
    pub count: u32,
    /// Number of the first file in the first directory.
    pub first_file: u32,
    /// Number of files per directory.
    pub per_directory: u32,
}
