//! Results that another tool measured and Plumb imported: only facts that the tool's file contains.

use crate::metric::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Source of an imported result, with the contents of the file that fit nowhere else in a result.
///
/// An imported result has an empty workload, because the file does not describe the work well enough to repeat it. A
/// phase of unknown length has a `wall_ns` of 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// Format of the file, such as `terse 3`.
    pub form: String,
    /// Name of the file without its directory; empty for standard input.
    pub file: String,
    /// The command that produced the file, if the file records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Source of the run's timestamp.
    pub time: TimeSource,
    /// The tool's own settings under the tool's names, as far as the file records them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Numbers that no metric describes, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<ImportedNumber>,
    /// Facts needed to interpret the numbers, such as the tool's rounding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Contents of the imported file.
    pub raw: RawText,
}

impl Imported {
    /// Returns the settings that describe the work, without those that describe place and time.
    pub fn work(&self) -> impl Iterator<Item = (&String, &String)> {
        const PLACES: [&str; 16] = [
            "filename",
            "directory",
            "label",
            "location",
            "test filename",
            "testFileName",
            "platform",
            "server",
            "system",
            "title",
            "Hardware",
            "Software",
            "TimeStamp",
            "Notes",
            "storageClass",
            "hostname",
        ];
        self.settings.iter().filter(|(name, _)| {
            // fio prefixes the settings of a job with its name.
            let name = name.rsplit(": ").next().unwrap_or_default();
            !PLACES.contains(&name) && !matches!(name, "start" | "end")
        })
    }
}

/// Source of an imported run's timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    /// The tool recorded the start time with its time zone.
    Tool,
    /// The file's modification time; the tool recorded no usable time.
    File,
}

/// A number that no metric describes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedNumber {
    /// Phase that the number describes; empty for the whole run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Name of the number, as the tool calls it.
    pub name: String,
    /// Value of the number; `null` means not measured and is never written as 0.
    pub value: Option<f64>,
    /// Unit of the value: `ns`, `B/s`, `ops/s`, `%`; empty for a plain number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which direction is better; absent if neither is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// An imported file: all of it, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawText {
    /// Encoding of `text`.
    pub encoding: RawEncoding,
    /// Contents of the file, or the part that was kept.
    pub text: String,
    /// Length of the whole file, bytes.
    pub bytes: u64,
    /// BLAKE3 hash of the whole file, hexadecimal.
    pub blake3: String,
    /// Number of bytes kept; absent if the whole file was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bytes: Option<u64>,
}

/// Encoding of an imported file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RawEncoding {
    /// The file's text, unchanged.
    Text,
    /// Base64, for files that are not UTF-8 or contain control characters, which could affect a terminal.
    Base64,
}
