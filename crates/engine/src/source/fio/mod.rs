//! The ops of a job, drawn as fio draws them.
//!
//! A [`FioPlan`] describes the work of a [`Stream`](plumb_workload::blocks::fio::Stream)'s worker; [`FioSource::new`]
//! turns it into the source of its ops. For the same seed, kinds, files, offsets, sizes, flushes, trims and read-back
//! come in the order in which fio 3.33 issues them; the tests compare with its log, op by op. Trims amid writes are
//! those of fio 3.42, since 3.33 ends at the first by an assertion. All of this is based on observing fio.
//!
//! # Meaning of a job
//!
//! * **Positions.** Each file keeps separate positions for reads, writes and trims. A file is done when an op would
//!   start after its part, or end after the file; a rest shorter than an op is not touched. A sequential op that starts
//!   within the part may end after it.
//! * **Random blocks** are drawn as `blocks * r / 2^32`. With coverage `once`, the next free block from the
//!   drawn one on is used, wrapping around to the first. A block has the smallest size; an op of a larger size
//!   ends before the first used block. An alignment that differs from the smallest size, and every distribution
//!   but the uniform, disable the map.
//! * **A mix** draws a read or a write; after a change the new kind continues without draws until it has its
//!   share of the other kind's work. If one of them has a rate, a kind that is due replaces one that is not,
//!   and draws depend on the clock.
//! * **Flushes** come when the number of writes is a multiple of the interval, on the file that is *next*, directly
//!   after a write (fio before 3.38 repeated them after reads). They are not repeated if a loop begins after a flush
//!   (as in fio 3.42). They do not wait for ops in flight, as fio's do not (with libaio and io_uring); those at the end
//!   of a loop do. `sync_file_range` of a file without writes since its last flush is omitted. A range of 4 GiB or more
//!   has length 0, which means "to the end of the file".
//! * **Loops.** Each begins with all files closed and nothing in flight. The random numbers restart if the job says
//!   so; the rotation of files and the count of writes continue. A loop ends when all files are done. Limits of
//!   bytes and ops apply to all loops together. Without a map, files are never done, so with [`Handing::Inline`]
//!   there is one endless loop; with [`Handing::Queued`] each ends after as many bytes as the parts have. More
//!   loops follow until `io-bytes` are moved; sequential writes wrap around to the start of their file instead, as
//!   in fio 3.42. Read-back ops count toward `max-ops`.
//! * **Trims with writes**: the limit of ops counts both, and doubles with each loop.
//! * **Read-back** comes after each loop, or in batches after N writes; see `history.rs` for its order. A batch waits
//!   for the writes in flight. With `verify.only` the writes are drawn but not made. A job that only reads gives its
//!   reads [`Role::ReadBack`](crate::op::Role::ReadBack) directly. Writes and their read-backs carry the number of
//!   the write, counted over all loops.
//! * **Cached data** is dropped, if the job drops it, when a loop begins, when a job that ends by time reaches the end
//!   of its file or map, and before read-back. As with fio, each pass reads the device.
//! * **Files** are opened and closed by ops if fewer may be open than there are, or if they are created when they are
//!   opened. Read-back opens the files that it needs, beyond that limit, as fio does.
//!
//! # Intended differences from fio
//!
//! * zipf, pareto and normal reach every block, see `curve.rs`.
//! * More than 2^32 blocks are drawn with 64 bits from the first loop on; fio uses 32 for the first.
//! * A job that only reads and verifies does all its loops; fio ends it after the first.
//! * Blocks that are written again despite a map (by sequential ops between random ones, or in a job
//!   that ends by time) are read back once, with the content of the last write. fio reads each write
//!   back and finds the earlier ones overwritten.
//! * A flush is not repeated while it is in flight; fio's io_uring engine fills its queue with flushes.
//! * With `verify.redraw` and seeds that continue from loop to loop, the same ops are redrawn; fio draws other ops.
//! * `verify.only` reads back at the end, regardless of the backlog; fio skips the ops that its backlog took.
//! * `verify.only` ignores the rates of a mix, since the drawn ops are not made.
//! * A list of zones or blocks that does not fit its file is refused before the start.

mod choice;
mod curve;
mod files;
mod fio_curve;
mod general;
mod history;
mod machine;
mod parts;
mod places;
mod plain;
mod plan;
mod random_map;
mod script;
mod sizes;
mod steady_state;
mod verify_tracking;

pub use plan::{FioPlan, FioPlanRequest};
pub use script::Handing;

use crate::op::BlockOp;
use crate::pacer::KindsDue;
use crate::source::Source;
use general::General;
use plain::{Anywhere, Once, Plain, Shortcut, Upwards};

/// The source of a plan. The first three have one size and kind on one file, which is
/// how the fastest storage is measured.
pub(crate) enum FioSource {
    Sequential(Plain<Upwards>),
    Random(Plain<Anywhere>),
    /// Every block once per loop.
    Permuted(Plain<Once>),
    General(Box<General>),
}

impl FioSource {
    /// Creates the source of a plan, at its start. If rates decide over a mix of reads and writes, `kinds`
    /// contains the kind that is due.
    pub(crate) fn new(plan: &FioPlan, kinds: Option<KindsDue>) -> FioSource {
        match Shortcut::from_script(&plan.script) {
            Some(Shortcut::Upwards(short)) => FioSource::Sequential(short.source(short.upwards())),
            Some(Shortcut::Anywhere(short)) => FioSource::Random(short.source(short.anywhere())),
            Some(Shortcut::Once(short)) => FioSource::Permuted(short.source(short.once())),
            None => FioSource::General(Box::new(General::new(&plan.script, kinds))),
        }
    }

    /// Returns the source as a trait object.
    pub(crate) fn table(&mut self) -> &mut dyn Source<Op = BlockOp> {
        match self {
            FioSource::Sequential(source) => source,
            FioSource::Random(source) => source,
            FioSource::Permuted(source) => source,
            FioSource::General(source) => &mut **source,
        }
    }
}

#[cfg(test)]
mod tests;
