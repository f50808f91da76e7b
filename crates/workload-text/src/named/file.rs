//! Named workloads with many files.

use super::{NamedWorkload, Scale, message_size, passes, phase, program};
use plumb_workload::Workload;
use plumb_workload::phase::{CachePolicy, Phase, Stop, Work, WorkerGroup};
use plumb_workload::program::{MissingFile, OpenStep, Pick, Program, Step};

/// Filebench's mail server also has 16 threads.
const MAIL_WORKERS: u64 = 16;

const TREE: &str = "files";

/// Returns the request size, which covers a whole file where possible.
fn request() -> plumb_workload::Bytes {
    plumb_workload::Bytes(super::MIB)
}

fn open(file: Pick, write: bool) -> Step {
    Step::Open(OpenStep { file, write, ..OpenStep::default() })
}

fn unlink(file: Pick) -> Step {
    Step::Unlink { file, missing: MissingFile::Fails }
}

/// A single program creates, looks at, reads and removes a tree of small files, like unpacking
/// and cleaning a source tree.
///
/// Each phase makes one pass over the files. The create and remove phases always finish, because later phases depend
/// on them. The stat and read phases also end by time. One flush at the end of the create phase, within its time,
/// makes the files durable: no program calls `fsync` for each file of an archive.
pub(super) fn small_files(scale: &Scale, named: &NamedWorkload) -> Workload {
    let mut workload = scale.workload(named.name, named.about, [(TREE, scale.tree_target(TREE, 0))]);
    workload.phase = small_file_phases(scale, TREE);
    workload
}

/// Create, stat, read and delete phases, over a file set that is empty before and after.
pub(super) fn small_file_phases(scale: &Scale, target: &str) -> Vec<Phase> {
    let each = |steps| WorkerGroup { limit: passes(scale.files()), ..program(target, 1, steps) };
    let finishes = Stop::default();
    let also_by_time = Stop { time: scale.time(), ..Stop::default() };
    let file = Pick::Sequential;
    vec![
        phase(
            "create",
            CachePolicy::AsIs,
            finishes.clone(),
            vec![each(vec![
                Step::Create { handle: 0 },
                Step::WriteWhole { handle: 0, request: request() },
                Step::Close { handle: 0 },
            ])],
        ),
        phase("stat", CachePolicy::AsIs, also_by_time.clone(), vec![each(vec![Step::Stat { file }])]),
        phase(
            "read",
            CachePolicy::Cold,
            also_by_time,
            vec![each(vec![
                open(file, false),
                Step::ReadWhole { handle: 0, request: request() },
                Step::Close { handle: 0 },
            ])],
        ),
        phase("delete", CachePolicy::AsIs, finishes, vec![each(vec![unlink(file)])]),
    ]
}

/// A mail server with one file per message. A transaction deletes one message, delivers one, reads one and appends to
/// it, and reads another, so that the number of messages stays constant. Source: the shape of Filebench's `varmail`.
pub(super) fn mail(scale: &Scale, named: &NamedWorkload) -> Workload {
    let workers = (scale.files() / 4).clamp(1, MAIL_WORKERS) as u32;
    let file = Pick::Usual;
    let append = || Step::Append { handle: 0, size: message_size() };
    let (fsync, close) = (|| Step::Fsync { handle: 0 }, || Step::Close { handle: 0 });
    let read_whole = || Step::ReadWhole { handle: 0, request: request() };
    let steps = vec![
        unlink(file),
        Step::Create { handle: 0 },
        append(),
        fsync(),
        close(),
        open(file, true),
        read_whole(),
        append(),
        fsync(),
        close(),
        open(file, false),
        read_whole(),
        close(),
    ];
    let work = Program { count_transactions: true, ..Program::new(steps) };
    let mut workload = scale.workload(named.name, named.about, [(TREE, scale.tree_target(TREE, 80))]);
    let stop = Stop { time: scale.time(), ..Stop::default() };
    workload.phase = vec![phase(
        named.name,
        CachePolicy::AsIs,
        stop,
        vec![WorkerGroup { count: workers, ..WorkerGroup::new(TREE, Work::Program(Box::new(work))) }],
    )];
    workload
}
