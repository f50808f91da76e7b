//! Named block I/O.
//!
//! Streams go through the page cache, one 1 MiB request after another, as `cp`, `tar`, backups and media players do:
//! read-ahead and write-back make the queue, and they are part of what is compared. They run once over the file; a
//! second time would be a read from the cache, or an overwrite of blocks that are already allocated.
//!
//! Random I/O bypasses the page cache, for otherwise it measures memory as soon as the file fits into it. Offsets are a
//! permutation, so that no block comes twice in a pass and no cache below helps by accident.

use super::{MIB, NamedWorkload, Scale, blocks, passes, phase};
use plumb_workload::Workload;
use plumb_workload::blocks::{BlockSize, Blocks, Mix, Pattern};
use plumb_workload::phase::{CachePolicy, Phase, Stop, WorkerGroup};
use plumb_workload::target::Prepare;
use plumb_workload::units::Bytes;

/// What streams move at once: large enough that the request itself costs nothing.
const STREAM_BLOCK: Bytes = Bytes(MIB);

/// A page, and the sector of nearly every device.
const RANDOM_BLOCK: Bytes = Bytes(4096);

/// As PostgreSQL has it; InnoDB's is 16 KiB.
const DATABASE_BLOCK: Bytes = Bytes(8192);

/// Enough to keep a SATA device's queue (32) full and to show what an NVMe device can do.
pub(super) const DEEP: u32 = 32;

pub(super) fn stream(mix: Mix) -> Blocks {
    Blocks { pattern: Pattern::Sequential, block: BlockSize::Fixed(STREAM_BLOCK), mix, ..Blocks::default() }
}

pub(super) fn scattered(mix: Mix) -> Blocks {
    Blocks { pattern: Pattern::Permutation, block: BlockSize::Fixed(RANDOM_BLOCK), mix, ..Blocks::default() }
}

/// Appends of 4 KiB.
pub(super) fn log() -> Blocks {
    Blocks { pattern: Pattern::Sequential, block: BlockSize::Fixed(RANDOM_BLOCK), mix: Mix::WRITE, ..Blocks::default() }
}

/// Once over the range.
pub(super) fn once(workers: WorkerGroup) -> WorkerGroup {
    WorkerGroup { limit: passes(1), ..workers }
}

/// A file that is there and full, and one phase of `time_ns` over it.
fn over_data(scale: &Scale, named: &NamedWorkload, cache: CachePolicy, workers: WorkerGroup) -> Workload {
    with_prepare(scale, named, cache, workers, Prepare::Write)
}

fn with_prepare(
    scale: &Scale,
    named: &NamedWorkload,
    cache: CachePolicy,
    workers: WorkerGroup,
    prepare: Prepare,
) -> Workload {
    let target = scale.range_target("data", scale.range(), prepare);
    let mut workload = scale.workload(named.name, named.about, [("data", target)]);
    workload.phase = vec![timed(scale, named.name, cache, vec![workers])];
    workload
}

/// A phase that ends after `time_ns`, if its workers are not done before.
pub(super) fn timed(scale: &Scale, name: &str, cache: CachePolicy, workers: Vec<WorkerGroup>) -> Phase {
    phase(name, cache, Stop { time: scale.time(), ..Stop::default() }, workers)
}

pub(super) fn stream_read(scale: &Scale, named: &NamedWorkload) -> Workload {
    over_data(scale, named, CachePolicy::Cold, once(blocks("data", 1, stream(Mix::READ))))
}

pub(super) fn stream_write(scale: &Scale, named: &NamedWorkload) -> Workload {
    // Not prepared: a new file is allocated as it is written, as in real life.
    with_prepare(scale, named, CachePolicy::AsIs, once(blocks("data", 1, stream(Mix::WRITE))), Prepare::Nothing)
}

pub(super) fn random_read(scale: &Scale, named: &NamedWorkload) -> Workload {
    over_data(scale, named, CachePolicy::Direct, blocks("data", DEEP, scattered(Mix::READ)))
}

pub(super) fn random_write(scale: &Scale, named: &NamedWorkload) -> Workload {
    over_data(scale, named, CachePolicy::Direct, blocks("data", DEEP, scattered(Mix::WRITE)))
}

pub(super) fn fsync_log(scale: &Scale, named: &NamedWorkload) -> Workload {
    // The file grows, so that each flush also makes its new length durable: what a log costs before it is recycled.
    let work = Blocks { fdatasync_every: 1, ..log() };
    with_prepare(scale, named, CachePolicy::AsIs, once(blocks("data", 1, work)), Prepare::Nothing)
}

pub(super) fn database(scale: &Scale, named: &NamedWorkload) -> Workload {
    // A redo log is a ring of fixed size that was allocated long ago: a sixteenth of all, at least 1 MiB.
    let log_bytes = Bytes((scale.range().0 / 16 / MIB).max(1) * MIB);
    let pages = Blocks {
        pattern: Pattern::Random,
        block: BlockSize::Fixed(DATABASE_BLOCK),
        mix: Mix { read: 70, write: 30, trim: 0 },
        ..Blocks::default()
    };
    let commits = Blocks { fdatasync_every: 1, ..log() };
    let mut workload = scale.workload(
        named.name,
        named.about,
        [
            ("data", scale.range_target("data", scale.range(), Prepare::Write)),
            ("log", scale.range_target("log", log_bytes, Prepare::Write)),
        ],
    );
    let named_group = |name: &str, workers: WorkerGroup| WorkerGroup { name: Some(name.to_owned()), ..workers };
    workload.phase = vec![timed(
        scale,
        named.name,
        CachePolicy::Direct,
        vec![named_group("pages", blocks("data", 16, pages)), named_group("commits", blocks("log", 1, commits))],
    )];
    workload
}
