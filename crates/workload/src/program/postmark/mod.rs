//! PostMark's load: small files that are created, read, appended to and deleted, in an order that its seed fixes.
//!
//! What PostMark 1.5x does is one sequence of draws from one generator: the text that files are filled with, then for each
//! file its place and size, then for each transaction what is done to which file. [`Course`] makes that sequence, and does
//! nothing else; who runs it, who counts it and who checks a published number against it all see the same.

mod course;
mod limits;
mod twister;

pub use course::{Act, Course, Totals};
pub use limits::Unsound;
pub use twister::Twister;

use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

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

impl Default for Postmark {
    fn default() -> Postmark {
        Postmark {
            low: Bytes(500),
            high: Bytes(10_000),
            number: 500,
            transactions: 500,
            seed: 42,
            locations: Vec::new(),
            subdirectories: 0,
            read_block: Bytes(512),
            write_block: Bytes(512),
            bias_read: Some(5),
            bias_create: Some(5),
            buffered: true,
            threads: 1,
        }
    }
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

/// From so many transactions on, each of the things that may be drawn for them is drawn: one in ten is missed by all with a
/// chance below 10⁻⁹.
const CERTAIN_TRANSACTIONS: u32 = 200;

/// The kinds of op of transactions that read, append, do both or neither, and create, delete, do both or neither.
const KINDS: [[&[OpKind]; 4]; 4] = {
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

impl Postmark {
    /// Directories in which `s0` and its like lie, or files where there are none; never empty.
    pub fn bases(&self) -> Vec<&Path> {
        match self.locations.is_empty() {
            true => vec![Path::new("")],
            false => self.locations.iter().map(|location| location.path.as_path()).collect(),
        }
    }

    /// Subdirectories of each base; 0 where there are none.
    pub fn subdirectories(&self) -> u32 {
        if self.subdirectories > 1 { self.subdirectories } else { 0 }
    }

    /// The subdirectories of all bases.
    pub fn directories(&self) -> impl Iterator<Item = PathBuf> {
        let subdirectories = self.subdirectories();
        let of_base = move |base: &Path| {
            let base = base.to_owned();
            (0..subdirectories).map(move |number| base.join(format!("s{number}")))
        };
        self.bases().into_iter().flat_map(of_base)
    }

    /// How many names of [`Postmark::paths`] are directories; they are the first ones.
    #[inline]
    pub fn directory_count(&self) -> u32 {
        self.subdirectories().saturating_mul(self.locations.len().max(1) as u32)
    }

    /// The place of a file in [`Postmark::paths`].
    #[inline]
    pub fn place(&self, thread: u32, number: u32) -> u32 {
        self.directory_count() + self.number_of(thread, number) - 1
    }

    /// What a thread's file is called: threads take turns with numbers. One thread has all of them, from 1.
    #[inline]
    fn number_of(&self, thread: u32, number: u32) -> u32 {
        number.saturating_sub(1).saturating_mul(self.threads).saturating_add(thread + 1)
    }

    /// Bytes of all files of all threads, in blocks of 4 KiB, at the most.
    pub fn peak_bytes(&self) -> u64 {
        self.totals().iter().map(|totals| totals.set_blocks_bytes_max).fold(0, u64::saturating_add)
    }

    /// What every thread does altogether, thread by thread.
    pub fn totals(&self) -> Vec<Totals> {
        (0..self.threads).map(|thread| Course::new(self, thread).to_end()).collect()
    }

    /// All names: first the subdirectories, then the files. Threads do not create equally many: where a number is left over,
    /// the first file's name stands.
    /// Empty where the run is not [sound](Postmark::is_sound).
    pub fn paths(&self) -> Vec<PathBuf> {
        if !self.is_sound() {
            return Vec::new();
        }
        let bases = self.bases();
        let mut paths: Vec<PathBuf> = self.directories().collect();
        let mut files: Vec<PathBuf> = Vec::new();
        for thread in 0..self.threads {
            let mut course = Course::new(self, thread);
            for part in [PostmarkPart::Create, PostmarkPart::Transactions] {
                while let Some(act) = course.next(part) {
                    let Act::Create { number, base, subdirectory, .. } = act else { continue };
                    let number = self.number_of(thread, number);
                    let mut path = bases.get(base as usize).map(PathBuf::from).unwrap_or_default();
                    path.extend(subdirectory.map(|number| format!("s{number}")));
                    path.push(number.to_string());
                    let place = number as usize - 1;
                    if files.len() <= place {
                        files.resize(place + 1, PathBuf::new());
                    }
                    files[place] = path;
                }
            }
        }
        let first = files.first().cloned().unwrap_or_default();
        paths.extend(files.into_iter().map(|path| if path.as_os_str().is_empty() { first.clone() } else { path }));
        paths
    }
}
