//! Named workloads with block I/O.
//!
//! Streams go through the page cache with one 1 MiB request after another, like `cp`, `tar`, backups and media
//! players. Read-ahead and write-back provide the queue and are part of what is compared. Streams make one pass: a
//! second pass would read from the cache, or overwrite blocks that are already allocated.
//!
//! Random I/O bypasses the page cache, because it would measure memory as soon as the file fits into it. Offsets are
//! a permutation, so that no block repeats within a pass and no lower cache helps by accident.

use super::{MIB, NamedWorkload, Scale, blocks, passes, phase};
use plumb_workload::Workload;
use plumb_workload::blocks::{BlockSize, Blocks, Mix, Pattern};
use plumb_workload::phase::{CachePolicy, Phase, Stop, WorkerGroup};
use plumb_workload::target::Prepare;
use plumb_workload::units::Bytes;

/// Request size of streams, large enough that the cost of a request is negligible.
const STREAM_BLOCK: Bytes = Bytes(MIB);

/// Request size of random I/O: a page, and the sector size of nearly every device.
const RANDOM_BLOCK: Bytes = Bytes(4096);

/// PostgreSQL's page size; InnoDB's is 16 KiB.
const DATABASE_BLOCK: Bytes = Bytes(8192);

/// Depth that fills a SATA device's queue (32) and shows what an NVMe device can do.
pub(super) const DEEP: u32 = 32;

pub(super) fn stream(mix: Mix) -> Blocks {
    Blocks { pattern: Pattern::Sequential, block: BlockSize::Fixed(STREAM_BLOCK), mix, ..Blocks::default() }
}

pub(super) fn scattered(mix: Mix) -> Blocks {
    Blocks { pattern: Pattern::Permutation, block: BlockSize::Fixed(RANDOM_BLOCK), mix, ..Blocks::default() }
}

/// Appends in blocks of 4 KiB.
pub(super) fn log() -> Blocks {
    Blocks { pattern: Pattern::Sequential, block: BlockSize::Fixed(RANDOM_BLOCK), mix: Mix::WRITE, ..Blocks::default() }
}

/// Limits the workers to one pass over the range.
pub(super) fn once(workers: WorkerGroup) -> WorkerGroup {
    WorkerGroup { limit: passes(1), ..workers }
}

/// Builds one phase of `time_ns` over an existing, fully written file.
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

/// Builds a phase that ends after `time_ns`, or earlier if its workers are done.
pub(super) fn timed(scale: &Scale, name: &str, cache: CachePolicy, workers: Vec<WorkerGroup>) -> Phase {
    phase(name, cache, Stop { time: scale.time(), ..Stop::default() }, workers)
}

pub(super) fn stream_read(scale: &Scale, named: &NamedWorkload) -> Workload {
    over_data(scale, named, CachePolicy::Cold, once(blocks("data", 1, stream(Mix::READ))))
}

pub(super) fn stream_write(scale: &Scale, named: &NamedWorkload) -> Workload {
    // The file is not prepared: a new file is allocated as it is written, as in practice.
    with_prepare(scale, named, CachePolicy::AsIs, once(blocks("data", 1, stream(Mix::WRITE))), Prepare::Nothing)
}

pub(super) fn random_read(scale: &Scale, named: &NamedWorkload) -> Workload {
    over_data(scale, named, CachePolicy::Direct, blocks("data", DEEP, scattered(Mix::READ)))
}

pub(super) fn random_write(scale: &Scale, named: &NamedWorkload) -> Workload {
    over_data(scale, named, CachePolicy::Direct, blocks("data", DEEP, scattered(Mix::WRITE)))
}

pub(super) fn fsync_log(scale: &Scale, named: &NamedWorkload) -> Workload {
    // The file grows, so each flush also makes its new length durable. Logs pay this cost until they are recycled.
    let work = Blocks { fdatasync_every: 1, ..log() };
    with_prepare(scale, named, CachePolicy::AsIs, once(blocks("data", 1, work)), Prepare::Nothing)
}

pub(super) fn database(scale: &Scale, named: &NamedWorkload) -> Workload {
    // A redo log is a preallocated ring of fixed size: a sixteenth of the data, and at least 1 MiB.
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
