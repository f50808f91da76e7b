//! Settings of PostMark and the parts of its run.

use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Settings of a run. Numbers of files and transactions are per thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Postmark {
    /// Smallest size of a new file.
    pub low: Bytes,
    /// Largest size of a file. If it exceeds `low`, new files stay below it, but appends can reach it.
    pub high: Bytes,
    /// Number of initial files. The table has room for twice as many.
    pub number: u32,
    /// Number of transactions. Each is one read or append plus one creation or deletion.
    pub transactions: u32,
    /// Seed of the first thread. Each further thread uses the next number.
    pub seed: u32,
    /// Directories for files, drawn by weight; the working directory when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<PostmarkLocation>,
    /// Number of subdirectories `s0`, `s1` … in each location; 0 and 1 mean none.
    pub subdirectories: u32,
    /// Bytes requested per `read` call.
    pub read_block: Bytes,
    /// Bytes passed to each `write` call.
    pub write_block: Bytes,
    /// Reads out of ten reads and appends; neither happens when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias_read: Option<u8>,
    /// Creations out of ten creations and deletions; neither happens when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias_create: Option<u8>,
    /// Use buffered streams of the C library.
    pub buffered: bool,
    /// Number of threads. Each has its own table, seed and files.
    pub threads: u32,
}

/// A directory that files are created in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PostmarkLocation {
    /// Path of the directory.
    pub path: PathBuf,
    /// Weight relative to the other locations.
    pub weight: u32,
}

/// One part of a PostMark run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PostmarkStep {
    /// Part of the run that this step does.
    pub part: PostmarkPart,
    /// Settings of the whole run. The files that a part finds depend on the parts before it.
    pub run: Postmark,
}

/// Parts of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PostmarkPart {
    /// Create the initial files.
    Create,
    /// Run all transactions.
    Transactions,
    /// Delete the remaining files, in the order of the table.
    Delete,
}

/// Minimum number of transactions at which every possible action is certain to occur. An action drawn one time in ten
/// is missed with a probability below 10⁻⁹.
pub(super) const CERTAIN_TRANSACTIONS: u32 = 200;

/// Kinds of op of the transactions. Outer index: reads, appends, both or neither; inner index:
/// creations, deletions, both or neither.
pub(super) const KINDS: [[&[OpKind]; 4]; 4] = {
    use OpKind::{Close, Create, Open, Read, Unlink, Write};
    [
        [&[], &[Create, Write, Close], &[Unlink], &[Create, Write, Close, Unlink]],
        [
            &[Open, Read, Close],
            &[Open, Read, Create, Write, Close],
            &[Open, Read, Close, Unlink],
            &[Open, Read, Create, Write, Close, Unlink],
        ],
        [
            &[Open, Write, Close],
            &[Open, Create, Write, Close],
            &[Open, Write, Close, Unlink],
            &[Open, Create, Write, Close, Unlink],
        ],
        [
            &[Open, Read, Write, Close],
            &[Open, Read, Create, Write, Close],
            &[Open, Read, Write, Close, Unlink],
            &[Open, Read, Create, Write, Close, Unlink],
        ],
    ]
};

impl PostmarkPart {
    /// Returns the part that follows.
    pub fn next(self) -> Option<PostmarkPart> {
        match self {
            PostmarkPart::Create => Some(PostmarkPart::Transactions),
            PostmarkPart::Transactions => Some(PostmarkPart::Delete),
            PostmarkPart::Delete => None,
        }
    }

    /// Returns the kinds of op of this part. The content of a file is one read or write, however many calls it takes.
    pub fn kinds(self, run: &Postmark) -> &'static [OpKind] {
        match self {
            PostmarkPart::Create => KINDS[0][1],
            PostmarkPart::Delete => KINDS[0][2],
            // With few transactions, the actions depend on chance.
            PostmarkPart::Transactions if run.transactions < CERTAIN_TRANSACTIONS => KINDS[0][0],
            PostmarkPart::Transactions => {
                let half = |bias: Option<u8>| match bias {
                    None => 0,
                    Some(10..) => 1,
                    Some(0) => 2,
                    Some(1..10) => 3,
                };
                let first = half(run.bias_read);
                // Files of one size are full from the start, so nothing is appended.
                let first = if run.low >= run.high { first & 1 } else { first };
                KINDS[first][half(run.bias_create)]
            }
        }
    }

    /// Returns `true` if the part writes to files.
    pub fn writes(self, run: &Postmark) -> bool {
        match self {
            PostmarkPart::Create => true,
            PostmarkPart::Transactions => run.bias_read.is_some_and(|bias| bias < 10) || run.bias_create.is_some(),
            PostmarkPart::Delete => false,
        }
    }
}
