//! The ops of a job, drawn as fio draws them.
//!
//! A [`FioPlan`] says what the worker of a [`Stream`](plumb_workload::blocks::fio::Stream) does; [`FioSource::new`] turns it into the
//! source of its ops. For the same seed, kinds, files, offsets, sizes, flushes, trims and read-back come in the order in
//! which fio 3.33 issues them; the tests compare with what it logs, op by op. Trims amid writes are those of fio 3.42, since
//! 3.33 ends at the first by an assertion. All of this is written from what fio does.
//!
//! # What a job means
//!
//! * **Positions.** Each file keeps a position of its own for reads, writes and trims. A file is done when an op would
//!   start behind its part, or end behind the file; a rest shorter than an op is not touched. A sequential op that starts
//!   within the part may end behind it.
//! * **Random blocks** are drawn as `blocks * r / 2^32`. With coverage `once`, the next free block from the drawn one is
//!   taken, beginning again at the first; a block counts as the smallest size, an op of a larger size ends before the
//!   first used block. Alignment apart from the smallest size, and every distribution but the uniform, switch the map off.
//! * **A mix** draws a read or a write; after a change the new kind goes on without draws until it has had its share of
//!   what the other had. Where one of them has a rate, the kind that is due comes in place of one that is not, and draws
//!   depend on the clock.
//! * **Flushes** come when the number of writes is a multiple of the interval, on the file that is *next*, directly
//!   behind a write (fio before 3.38 repeated them behind reads), and not again where a loop begins behind a flush (as in
//!   fio 3.42). They do not wait for ops in flight, as fio's do not (under libaio and
//!   io_uring); those at the end of a loop do. `sync_file_range` of a file in which nothing was written since its last
//!   flush is left out; a range of 4 GiB or more has length 0, which means "to the end of the file".
//! * **Loops.** Each begins with all files closed and nothing in flight, with the draws begun again where the job says
//!   so; the turn of files and the count of writes go on. A loop ends when all files are done. Limits of bytes and ops
//!   count over all loops together. Without a map nothing is ever done, so that with [`Handing::Inline`] one loop takes
//!   all; with [`Handing::Queued`] each ends after as many bytes as the parts have. More loops follow until `io-bytes`
//!   are moved; writes in sequence begin again at the start of their file instead, as in fio 3.42. Ops that are read back count
//!   against `max-ops`.
//! * **Trims with writes**: the limit of ops counts both, and doubles with each loop.
//! * **Read-back** comes behind each loop, or in batches behind N writes; see `history.rs` for its order. A batch
//!   waits for the writes in flight. With `verify.only` the writes are drawn and not done. Reads of a job that only reads
//!   have [`Role::ReadBack`](crate::op::Role::ReadBack) at once. Writes and what reads them back carry the number of the
//!   write, counted over all loops.
//! * **Begun again.** Where a loop begins, where a job that ends by time comes to the end of its file or map, and before
//!   what was written is read back, what is cached is dropped, if the job drops it: as with fio, each time through reads the
//!   device.
//! * **Files** are opened and closed by ops where fewer may be open than there are, or where they are made when they are
//!   opened. Reading back opens what it needs, beyond that limit, as fio does.
//!
//! # Where it is not fio's, on purpose
//!
//! * zipf, pareto and normal reach every block, see `curve.rs`.
//! * More than 2^32 blocks are drawn with 64 bits from the first loop on; fio keeps 32 for the first.
//! * A job that only reads and verifies does all its loops; fio ends it after the first.
//! * Blocks that come again in spite of a map (by ops in sequence between random ones, or in a job that ends by time) are
//!   read back once, as the last write left them; fio reads each write back and finds the earlier ones overwritten.
//! * A flush is not repeated while it is in flight; fio's io_uring engine fills its queue with flushes.
//! * With `verify.redraw` and seeds that go on from loop to loop, what was drawn is drawn again; fio draws other ops.
//! * `verify.only` reads back at the end, whatever the backlog; fio passes over what its backlog took.
//! * `verify.only` draws a mix without a look at its rates, since what it draws is not done.
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

/// The source of a plan. The first three are of one size and kind on one file, which is what the fastest storage is
/// measured with.
pub(crate) enum FioSource {
    Sequential(Plain<Upwards>),
    Random(Plain<Anywhere>),
    /// Every block once a loop.
    Permuted(Plain<Once>),
    General(Box<General>),
}

impl FioSource {
    /// The source of a plan, at its start. Where rates decide over a mix of reads and writes, `kinds` says which kind is
    /// due.
    pub(crate) fn new(plan: &FioPlan, kinds: Option<KindsDue>) -> FioSource {
        match Shortcut::of(&plan.script) {
            Some(Shortcut::Upwards(short)) => FioSource::Sequential(short.source(short.upwards())),
            Some(Shortcut::Anywhere(short)) => FioSource::Random(short.source(short.anywhere())),
            Some(Shortcut::Once(short)) => FioSource::Permuted(short.source(short.once())),
            None => FioSource::General(Box::new(General::new(&plan.script, kinds))),
        }
    }

    /// Through a table of functions.
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
