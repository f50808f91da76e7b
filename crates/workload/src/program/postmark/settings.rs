//! PostMark's settings, and the parts of its run.

use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is set before a run. Numbers of files and transactions are those of each thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Postmark {
    /// Smallest size of a new file.
    pub low: Bytes,
    /// Largest size: new files stay below it where it is larger than the smallest, appended ones reach it.
    pub high: Bytes,
    /// Files at the beginning; the table has room for twice as many.
    pub number: u32,
    /// Transactions: each one read or append, and one creation or deletion.
    pub transactions: u32,
    /// Of the first thread; the next one has the next.
    pub seed: u32,
    /// Directories that files are made in, each as often as its weight says; the working directory when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<PostmarkLocation>,
    /// Directories `s0`, `s1` … in each of these; 0 and 1 are none.
    pub subdirectories: u32,
    /// Bytes of a read.
    pub read_block: Bytes,
    /// Bytes of a write.
    pub write_block: Bytes,
    /// Reads among ten reads and appends; neither when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias_read: Option<u8>,
    /// Creations among ten creations and deletions; neither when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias_create: Option<u8>,
    /// Files are streams of the C library.
    pub buffered: bool,
    /// Threads, each with a table, a seed and files of its own.
    pub threads: u32,
}

/// A directory for files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PostmarkLocation {
    /// The directory.
    pub path: PathBuf,
    /// How often it is drawn, against the others.
    pub weight: u32,
}

/// One part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PostmarkStep {
    /// Which.
    pub part: PostmarkPart,
    /// The whole run: what a part finds depends on the parts before it.
    pub run: Postmark,
}

/// The parts of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PostmarkPart {
    /// The files of the beginning are created.
    Create,
    /// Transactions.
    Transactions,
    /// What is left is deleted, in the order of the table.
    Delete,
}

/// From this many transactions on, each of the things that may be drawn for them is drawn: one in ten is missed by all with a
/// chance below 10⁻⁹.
pub(super) const CERTAIN_TRANSACTIONS: u32 = 200;

/// The kinds of op of transactions that read, append, do both or neither, and create, delete, do both or neither.
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

    /// The kinds of op that it makes: the content of a file is one read or write, however many calls that takes.
    pub fn kinds(self, run: &Postmark) -> &'static [OpKind] {
        match self {
            PostmarkPart::Create => KINDS[0][1],
            PostmarkPart::Delete => KINDS[0][2],
            // What few transactions come to is chance.
            PostmarkPart::Transactions if run.transactions < CERTAIN_TRANSACTIONS => KINDS[0][0],
            PostmarkPart::Transactions => {
                let half = |bias: Option<u8>| match bias {
                    None => 0,
                    Some(10..) => 1,
                    Some(0) => 2,
                    Some(1..10) => 3,
                };
                let first = half(run.bias_read);
                // Files of one size are full from the beginning.
                let first = if run.low >= run.high { first & 1 } else { first };
                KINDS[first][half(run.bias_create)]
            }
        }
    }

    /// Whether it writes to files.
    pub fn writes(self, run: &Postmark) -> bool {
        match self {
            PostmarkPart::Create => true,
            PostmarkPart::Transactions => run.bias_read.is_some_and(|bias| bias < 10) || run.bias_create.is_some(),
            PostmarkPart::Delete => false,
        }
    }
}
