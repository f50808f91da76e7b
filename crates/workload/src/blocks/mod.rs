//! Block I/O: a stream of ops, by the generator that makes it.
//!
//! [`plumb`] is Plumb's own, and goes by a pattern. The others follow other tools: what is left of a job of fio, or of a
//! thread of elbencho, when all that depends on others, files and the machine is decided is a group of one worker; sizes
//! are bytes, the seed is a number.

pub mod accesses;
pub mod fio;
pub mod plumb;
pub mod requests;
pub mod sweep;
pub mod trace;

pub use plumb::{BlockSize, Blocks, Mix, Pattern, WeightedSize, Zone};

use accesses::Accesses;
use fio::Stream;
use plumb_document::Unnamed;
use requests::{RequestOps, Requests};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sweep::{Sweep, SweepOps};
use trace::Recording;

/// One value for each of reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ByKind<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T: Clone> ByKind<T> {
    /// The same for all.
    pub fn all(value: T) -> ByKind<T> {
        ByKind { read: value.clone(), write: value.clone(), trim: value }
    }
}

/// A stream of block ops, by its generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "BlockStream", transform = plumb_needs_no_name))]
pub enum BlockStream {
    /// By a pattern over one range: Plumb's own. Its keys need no name of a generator before them.
    Plumb(Blocks),
    /// Drawn as fio draws them, so that the same seed gives the same ops. Its group has one worker.
    Fio(Box<Stream>),
    /// Part of files after part, as elbencho goes. Its group has one worker.
    Sweep(Box<Sweep>),
    /// Drawn from a table of lines, as IOMeter does. Its group has one worker.
    Accesses(Box<Accesses>),
    /// Taken by all workers of the group from one queue, as sysbench does.
    Requests(Box<Requests>),
    /// Read from a recording. Its group has one worker.
    Trace(Recording),
}

/// Reads a table without a generator's name as `plumb`.
impl<'de> Deserialize<'de> for BlockStream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BlockStream, D::Error> {
        // The function that `remote = "Self"` made, not the trait's.
        BlockStream::deserialize(Unnamed::table(deserializer, "plumb"))
    }
}

impl Serialize for BlockStream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            BlockStream::Plumb(blocks) => blocks.serialize(serializer),
            _ => BlockStream::serialize(self, serializer),
        }
    }
}

/// The schema of what is written: Plumb's keys stand without a generator's name.
#[cfg(feature = "schema")]
fn plumb_needs_no_name(schema: &mut schemars::Schema) {
    let Some(serde_json::Value::Array(choices)) = schema.ensure_object().get_mut("oneOf") else { return };
    for choice in choices {
        if let Some(mut keys) = choice.pointer("/properties/plumb").cloned() {
            keys["description"] = choice["description"].take();
            *choice = keys;
        }
    }
}

impl BlockStream {
    /// Whether Plumb's own generator makes it. All others follow another tool: each worker is a group of its own, and opens
    /// files by the rules of that group.
    pub fn is_plumb(&self) -> bool {
        matches!(self, BlockStream::Plumb(_))
    }

    /// The kinds of op among its own: reads, writes and trims; those of verifying are not counted. None for calls on names.
    pub fn moves(&self) -> ByKind<bool> {
        match self {
            BlockStream::Plumb(Blocks { mix, .. }) => {
                ByKind { read: mix.read > 0, write: mix.write > 0, trim: mix.trim > 0 }
            }
            BlockStream::Fio(stream) => stream.moves(),
            BlockStream::Trace(recording) => recording.moves,
            BlockStream::Accesses(accesses) => {
                let (read, write) = accesses.moves();
                ByKind { read, write, trim: false }
            }
            BlockStream::Requests(requests) => {
                let (read, write) = match requests.does {
                    RequestOps::Read => (true, false),
                    RequestOps::Write => (false, true),
                    RequestOps::Mix { reads_per_write } => (reads_per_write > 0.0, true),
                };
                ByKind { read, write, trim: false }
            }
            BlockStream::Sweep(sweep) => match sweep.does {
                SweepOps::Read => ByKind { read: true, write: false, trim: false },
                SweepOps::Write { .. } => ByKind { read: false, write: true, trim: false },
                SweepOps::Mix { read_percent, .. } => {
                    ByKind { read: read_percent > 0, write: read_percent < 100, trim: false }
                }
                SweepOps::Call { .. } => ByKind::all(false),
            },
        }
    }
}

impl From<Blocks> for BlockStream {
    fn from(blocks: Blocks) -> BlockStream {
        BlockStream::Plumb(blocks)
    }
}

impl From<Stream> for BlockStream {
    fn from(stream: Stream) -> BlockStream {
        BlockStream::Fio(Box::new(stream))
    }
}

impl From<Sweep> for BlockStream {
    fn from(sweep: Sweep) -> BlockStream {
        BlockStream::Sweep(Box::new(sweep))
    }
}

impl From<Accesses> for BlockStream {
    fn from(accesses: Accesses) -> BlockStream {
        BlockStream::Accesses(Box::new(accesses))
    }
}

impl From<Requests> for BlockStream {
    fn from(requests: Requests) -> BlockStream {
        BlockStream::Requests(Box::new(requests))
    }
}

impl From<Recording> for BlockStream {
    fn from(recording: Recording) -> BlockStream {
        BlockStream::Trace(recording)
    }
}
