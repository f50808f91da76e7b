//! Block I/O: streams of ops, one type per generator.
//!
//! [`plumb`] is Plumb's own generator and follows a pattern. The others reproduce other tools. A job of fio or a
//! thread of elbencho becomes a group of one worker once everything that depends on other jobs, files and the machine
//! is resolved. Sizes are then bytes and the seed is a number.

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

/// One value each for reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ByKind<T> {
    /// Value that applies to reads.
    pub read: T,
    /// Value that applies to writes.
    pub write: T,
    /// Value that applies to trims.
    pub trim: T,
}

impl<T: Clone> ByKind<T> {
    /// Returns the same value for all three kinds.
    pub fn all(value: T) -> ByKind<T> {
        ByKind { read: value.clone(), write: value.clone(), trim: value }
    }
}

/// A stream of block ops, by generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "BlockStream", transform = omit_plumb_name))]
pub enum BlockStream {
    /// Plumb's own generator, which follows a pattern over one range. Its keys may be
    /// given without the generator's name.
    Plumb(Blocks),
    /// fio's generator; the same seed gives the same ops as fio. The group must have one worker.
    Fio(Box<Stream>),
    /// One part of a file after another, like elbencho. The group must have one worker.
    Sweep(Box<Sweep>),
    /// Draws from a table of lines, like IOMeter. The group must have one worker.
    Accesses(Box<Accesses>),
    /// One queue of requests shared by all workers of the group, like sysbench.
    Requests(Box<Requests>),
    /// Ops of a recording. The group must have one worker.
    Trace(Recording),
}

/// Reads a table that has no generator's name as `plumb`.
impl<'de> Deserialize<'de> for BlockStream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BlockStream, D::Error> {
        // Calls the inherent function that `remote = "Self"` derives, not the trait method.
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

/// Adapts the schema to the text format, where Plumb's keys appear without a generator's name.
#[cfg(feature = "schema")]
fn omit_plumb_name(schema: &mut schemars::Schema) {
    let Some(serde_json::Value::Array(choices)) = schema.ensure_object().get_mut("oneOf") else { return };
    for choice in choices {
        if let Some(mut keys) = choice.pointer("/properties/plumb").cloned() {
            keys["description"] = choice["description"].take();
            *choice = keys;
        }
    }
}

impl BlockStream {
    /// Returns `true` for Plumb's own generator. Streams of other tools open files by their group's rules, and have one
    /// worker per group, except for `requests`.
    pub fn is_plumb(&self) -> bool {
        matches!(self, BlockStream::Plumb(_))
    }

    /// Returns the kinds of op that the stream issues, not counting reads for verification. Calls on file names
    /// count as none of them.
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
