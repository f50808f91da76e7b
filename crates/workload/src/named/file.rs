//! Named work on many files.

use super::{Named, Scale, flow, message_size, passes, phase, steps};
use crate::Workload;
use crate::flow::{Flow, Pick, Step};
use crate::phase::{CachePolicy, Phase, Stop, WorkerGroup};

/// Filebench's mail server has 16 threads, too.
const MAIL_WORKERS: u64 = 16;

const TREE: &str = "files";

/// The whole of a file in one request where that is possible.
fn request() -> crate::Bytes {
    crate::Bytes(super::MIB)
}

/// One program makes, looks at, reads and removes a tree of small files, as unpacking and cleaning a source tree does.
///
/// Each phase goes once through the files. Creating and removing always finish, for the phases after them count on it;
/// looking and reading also end by time. The flush that makes the created files durable runs once, at the end of the
/// phase and inside its time: nobody calls `fsync` for each file of an archive.
pub(super) fn small_files(scale: &Scale, named: &Named) -> Workload {
    let mut workload = scale.workload(named.name, named.about, [(TREE, scale.tree_target(TREE, 0))]);
    workload.phase = small_file_phases(scale, TREE);
    workload
}

/// Create, stat, read and delete, over a file set that is empty before and after.
pub(super) fn small_file_phases(scale: &Scale, target: &str) -> Vec<Phase> {
    let each = |work: Flow| WorkerGroup { limit: passes(scale.files()), ..flow(target, 1, work) };
    let finishes = Stop::default();
    let also_by_time = Stop { time: scale.time(), ..Stop::default() };
    let file = Pick::Sequential;
    vec![
        phase(
            "create",
            CachePolicy::AsIs,
            finishes.clone(),
            vec![each(steps(vec![
                Step::Create { handle: 0 },
                Step::WriteWhole { handle: 0, request: request() },
                Step::Close { handle: 0 },
            ]))],
        ),
        phase("stat", CachePolicy::AsIs, also_by_time.clone(), vec![each(steps(vec![Step::Stat { file }]))]),
        phase(
            "read",
            CachePolicy::Cold,
            also_by_time,
            vec![each(steps(vec![
                Step::Open { file, handle: 0, write: false },
                Step::ReadWhole { handle: 0, request: request() },
                Step::Close { handle: 0 },
            ]))],
        ),
        phase("delete", CachePolicy::AsIs, finishes, vec![each(steps(vec![Step::Unlink { file }]))]),
    ]
}

/// A mail server with one file a message. A transaction deletes one message, delivers one, reads one and adds to it, and
/// reads another: the population stays as large as it was. Source: the shape of Filebench's `varmail`.
pub(super) fn mail(scale: &Scale, named: &Named) -> Workload {
    let workers = (scale.files() / 4).clamp(1, MAIL_WORKERS) as u32;
    let file = Pick::Random;
    let append = || Step::Append { handle: 0, size: message_size() };
    let (fsync, close) = (|| Step::Fsync { handle: 0 }, || Step::Close { handle: 0 });
    let read_whole = || Step::ReadWhole { handle: 0, request: request() };
    let work = Flow {
        steps: vec![
            Step::Unlink { file },
            Step::Create { handle: 0 },
            append(),
            fsync(),
            close(),
            Step::Open { file, handle: 0, write: true },
            read_whole(),
            append(),
            fsync(),
            close(),
            Step::Open { file, handle: 0, write: false },
            read_whole(),
            close(),
        ],
        count_transactions: true,
    };
    let mut workload = scale.workload(named.name, named.about, [(TREE, scale.tree_target(TREE, 80))]);
    let stop = Stop { time: scale.time(), ..Stop::default() };
    workload.phase = vec![phase(named.name, CachePolicy::AsIs, stop, vec![flow(TREE, workers, work)])];
    workload
}
