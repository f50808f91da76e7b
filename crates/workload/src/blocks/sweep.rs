//! Going through parts of files in order, block by block: what elbencho's phases do.

use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Goes through parts of the target's files, one after another, or calls each by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sweep {
    /// What is done.
    pub does: SweepOps,
    /// Where.
    pub parts: SweepParts,
    /// In which order.
    #[serde(default)]
    pub order: SweepOrder,
    /// Bytes of an op; the last one of a part may be shorter.
    pub block: Bytes,
    /// Bytes to move where the order is random: in each part, or of all parts together. As many as there are where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_bytes: Option<Bytes>,
    /// Begins again at its end, until the group's time is over.
    #[serde(default)]
    pub repeat: bool,
    /// What random places follow from.
    #[serde(default)]
    pub seed: u64,
    /// Number of the worker among all workers, from 1: what makes its random places its own.
    pub worker_number: u32,
}

/// What a sweep does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SweepOps {
    /// Reads.
    Read,
    /// Writes.
    Write {
        /// What follows each write.
        #[serde(default)]
        then: AfterWrite,
    },
    /// Writes, some of which are reads instead: op `n` reads where `(n + first) % 100` is below the percentage.
    Mix {
        /// Per cent of the ops that read.
        read_percent: u8,
        /// Where the count begins.
        first: u32,
    },
    /// A call on the name of each file, with a backend of such calls.
    Call {
        /// As what it is counted.
        kind: OpKind,
        /// This error number, of errno(3), is no error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passes_over_errno: Option<i32>,
        /// A directory whose parent is missing is made with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        makes_parents: bool,
    },
}

/// What follows each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AfterWrite {
    /// Nothing.
    #[default]
    Nothing,
    /// It is read back, and verified where the job verifies.
    ReadBack,
}

/// What a sweep goes over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SweepParts {
    /// Every file of the target, from its first byte on.
    Files {
        /// Bytes of each; the last one holds for all further files.
        lengths: Vec<Bytes>,
    },
    /// These parts.
    Said(Vec<FilePart>),
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilePart {
    /// Which of the target's files.
    pub file: u32,
    /// Its first byte.
    pub start: Bytes,
    /// Its bytes.
    pub length: Bytes,
}

/// The order of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SweepOrder {
    /// One after another.
    #[default]
    Forward,
    /// The last one of each part first.
    Backward,
    /// Every Nth of all parts together, from a first one on.
    Strided {
        /// The first.
        first: u64,
        /// The distance.
        step: u64,
    },
    /// At random: within each part where it is a whole file, or where files are opened as their turn comes
    /// (`create-on-open`); else over all parts together.
    Random(SweepDraw),
}

/// How random places are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SweepDraw {
    /// Each block once before any comes again.
    Once,
    /// Any block, each time.
    Again,
    /// Any byte from which a whole block fits.
    Unaligned,
}

impl Sweep {
    /// The call that it makes on the name of each of its parts, where it does that.
    pub fn call(&self) -> Option<OpKind> {
        match self.does {
            SweepOps::Call { kind, .. } => Some(kind),
            SweepOps::Read | SweepOps::Write { .. } | SweepOps::Mix { .. } => None,
        }
    }

    /// Bytes of the part of this number; nothing where there is no such part.
    pub fn part(&self, number: usize) -> Option<FilePart> {
        match &self.parts {
            SweepParts::Files { lengths } => {
                let length = *lengths.get(number).or(lengths.last())?;
                Some(FilePart { file: u32::try_from(number).ok()?, start: Bytes(0), length })
            }
            SweepParts::Said(parts) => parts.get(number).copied(),
        }
    }

    /// Where what is used of a file ends, bytes.
    pub fn end_in(&self, file: usize) -> u64 {
        match &self.parts {
            SweepParts::Files { .. } => self.part(file).map_or(0, |part| part.length.0),
            SweepParts::Said(parts) => {
                parts.iter().filter(|part| part.file as usize == file).map(end_of).max().unwrap_or(0)
            }
        }
    }

    /// The same of the first N files: one look at each part, however many files there are.
    pub fn ends(&self, files: usize) -> Vec<u64> {
        match &self.parts {
            SweepParts::Files { .. } => (0..files).map(|file| self.end_in(file)).collect(),
            SweepParts::Said(parts) => {
                let mut ends = vec![0; files];
                for part in parts {
                    if let Some(end) = ends.get_mut(part.file as usize) {
                        *end = end_of(part).max(*end);
                    }
                }
                ends
            }
        }
    }
}

fn end_of(part: &FilePart) -> u64 {
    part.start.0.saturating_add(part.length.0)
}
