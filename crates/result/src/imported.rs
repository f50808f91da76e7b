//! Results that another tool measured and Plumb only read: what the tool's file says, and nothing that it does not.

use crate::metric::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where an imported result comes from, and what of it has no place elsewhere in a result.
///
/// An imported result has an empty workload, since the file does not say what was run so that it could be run again, and a
/// phase of an unknown length has a `wall_ns` of 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// The form of the file, `terse 3`.
    pub form: String,
    /// The file's name, without its directory; empty for standard input.
    pub file: String,
    /// The command that made it, where the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where the time of the run is from.
    pub time: TimeSource,
    /// The tool's own settings, as far as the file says them, by the tool's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Numbers for which there is no metric, in the file's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<ImportedNumber>,
    /// What must be known to read the numbers, such as a rounding of the tool's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The file itself.
    pub raw: RawText,
}

impl Imported {
    /// The settings that say what was done; those that say where and when are left out.
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
            // fio's settings of a job have its name before them.
            let name = name.rsplit(": ").next().unwrap_or_default();
            !PLACES.contains(&name) && !matches!(name, "start" | "end")
        })
    }
}

/// Where the time of an imported run is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    /// The tool recorded when it ran, with its time zone.
    Tool,
    /// Only when the file was last changed is known.
    File,
}

/// A number that no metric stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedNumber {
    /// The phase that it is of; empty for the whole run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// What it is, in the tool's words.
    pub name: String,
    /// The value; `null` is not measured, never 0.
    pub value: Option<f64>,
    /// The value's unit: `ns`, `B/s`, `ops/s`, `%`; empty for a plain number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which direction is better, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// An imported file, whole or its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawText {
    /// How `text` is to be read.
    pub encoding: RawEncoding,
    /// The file, or as much of it as is kept.
    pub text: String,
    /// The whole file's length.
    pub bytes: u64,
    /// The whole file's blake3, in hex.
    pub blake3: String,
    /// How many of its bytes are here, where these are not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bytes: Option<u64>,
}

/// How the text of an imported file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RawEncoding {
    /// As it is.
    Text,
    /// In base64: it is not UTF-8, or it has control characters, which could do something to a terminal.
    Base64,
}
