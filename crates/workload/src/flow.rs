//! Flows: programs over a file set.
//!
//! A flow is a list of [`Step`]s that each worker repeats until its phase ends. A worker has numbered handles (open
//! files) and owns a fixed share of the tree's files, so that equal seeds give equal ops whatever the other workers do.
//! Every step has its own time; delays are not timed. Coordination between workers (semaphores, shared rates) will be
//! further variants of [`Step`], compiled by the engine's flow source like the rest.

use crate::blocks::WeightedSize;
use crate::short_form::short_form;
use crate::target::Distribution;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program over a file set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Flow {
    /// What a worker does, again and again.
    pub steps: Vec<Step>,
    /// Count one `txn` each time the steps have run through.
    #[serde(default)]
    pub count_transactions: bool,
}

/// Which file a step works on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(rename = "Pick")]
pub enum Pick {
    /// An existing file, uniformly.
    #[default]
    Random,
    /// Existing files in order of their number, again from the first after the last.
    Sequential,
    /// Like `sequential`, with one position shared by all steps of the flow.
    RoundRobin,
    /// An existing file by Zipf's law over the live files.
    Zipf {
        /// Exponent.
        theta: f64,
    },
    /// A file that does not exist yet (for `create`, and as the new name of `rename`, `link`, `symlink`).
    New,
    /// The file that the step before worked on.
    Same,
}

short_form!(Pick);

/// One step of a flow. `handle` numbers an open file of the worker; most flows need only 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(rename = "Step")]
pub enum Step {
    /// `open(O_CREAT|O_EXCL)` of a file that does not exist; it becomes the handle's file.
    Create {
        /// Handle that it opens.
        #[serde(default)]
        handle: u16,
    },
    /// `open` of an existing file.
    Open {
        /// Which file.
        #[serde(default)]
        file: Pick,
        /// Handle that it opens.
        #[serde(default)]
        handle: u16,
        /// For reading and writing rather than reading only.
        #[serde(default)]
        write: bool,
    },
    /// `close`.
    Close {
        /// Which handle.
        #[serde(default)]
        handle: u16,
    },
    /// Reads the whole file, in requests of `request` bytes.
    ReadWhole {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Size of each `pread`.
        #[serde(default = "request_bytes")]
        request: Bytes,
    },
    /// One `pread` at a random offset within the file.
    ReadRandom {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Bytes.
        size: Distribution,
    },
    /// One `pread` at a given offset.
    ReadAt {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Where.
        offset: Bytes,
        /// Bytes.
        size: Distribution,
    },
    /// Writes the whole file at its own size, in requests of `request` bytes.
    WriteWhole {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Size of each `pwrite`.
        #[serde(default = "request_bytes")]
        request: Bytes,
    },
    /// One `pwrite` at a random offset within the file.
    WriteRandom {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Bytes.
        size: Distribution,
    },
    /// One `pwrite` at a given offset.
    WriteAt {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Where.
        offset: Bytes,
        /// Bytes.
        size: Distribution,
    },
    /// One `pwrite` at the end of the file.
    Append {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Bytes.
        size: Distribution,
    },
    /// `fsync`.
    Fsync {
        /// Which handle.
        #[serde(default)]
        handle: u16,
    },
    /// `fdatasync`.
    Fdatasync {
        /// Which handle.
        #[serde(default)]
        handle: u16,
    },
    /// `stat`.
    Stat {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `utimensat`, to now.
    Utimens {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `chmod`, alternating between 0644 and 0600.
    Chmod {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `rename` of an existing file to a name that does not exist.
    Rename {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `link` of an existing file to a name that does not exist.
    Link {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `symlink` under a name that does not exist, pointing at an existing file.
    Symlink {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `readlink`; a file that is no symbolic link is an error of the op.
    Readlink {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `unlink`.
    Unlink {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `mkdir` of a further directory.
    Mkdir {},
    /// `rmdir` of a directory that this flow made.
    Rmdir {},
    /// Reads one directory of the tree to its end.
    Readdir {},
    /// `ftruncate` of an open file.
    Truncate {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// New length.
        size: Distribution,
    },
    /// `fallocate` of an open file from its start.
    Fallocate {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Length.
        size: Distribution,
    },
    /// Waits, outside every op's time.
    Delay {
        /// How long.
        time: Nanos,
    },
    /// Steps so many times over.
    Loop {
        /// How often.
        times: u64,
        /// What.
        steps: Vec<Step>,
    },
    /// One of several lists of steps, by weight.
    Mix {
        /// The choices.
        choices: Vec<Choice>,
    },
}

short_form!(Step);

fn request_bytes() -> Bytes {
    Bytes(1 << 20)
}

/// One choice of [`Step::Mix`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Choice {
    /// Weight relative to the other choices.
    pub weight: f64,
    /// What happens when it is chosen.
    pub steps: Vec<Step>,
}

impl Distribution {
    /// The largest size it can yield, where that is bounded; buffers are made to fit it.
    pub fn max(&self) -> Bytes {
        match self {
            Distribution::Fixed(size) => *size,
            Distribution::Uniform { max, .. } => *max,
            // The engine clips a gamma draw here; beyond it lies less than 1 in 10^5 for shapes of 1 and more.
            Distribution::Gamma { mean, .. } => Bytes(mean.0.saturating_mul(12)),
            Distribution::Weighted(table) => {
                table.iter().map(|entry: &WeightedSize| entry.size).max().unwrap_or_default()
            }
        }
    }
}
