//! Rules of jobs.

use super::Checker;
use super::names::names;
use crate::backend::Backend;
use crate::job::{Job, JobFiles, JobOps, Stream};
use crate::phase::{Phase, WorkerGroup};

/// Names and lengths of a job's files.
pub(super) fn files(check: &mut Checker, files: &JobFiles) {
    names(check, &files.names);
}

/// A job and its group.
pub(super) fn check(check: &mut Checker, phase: &Phase, group: &WorkerGroup, job: &Job) {
    if group.count != 1 {
        check.problem(
            [],
            format!("a group of {} workers cannot do one job", group.count),
            "use `count = 1`, and a group of its own with a `worker-number` of its own for each further worker",
        );
    }
    for name in &group.start.after {
        if !phase.has_member(name) {
            check.problem(
                [],
                format!("it waits for the group `{name}`, which the phase does not have"),
                "name a group of the same phase in `start.after`",
            );
        }
    }
    if job.files.record_lock.is_some() && !takes_record_locks(&group.backend) {
        check.problem(
            ["files", "record-lock"],
            format!("the backend `{}` takes no record locks", group.backend.name()),
            "use psync, libaio or mmap, or leave `record-lock` out",
        );
    }
    if let JobOps::Stream(drawn) = &job.ops {
        check.within(&["ops", "stream"], |check| {
            stream(check, drawn);
            // What is behind an engine that Plumb cannot ask is as large as it is.
            if drawn.ranges.is_empty() && !matches!(group.backend, Backend::Foreign { .. }) {
                check.problem(
                    ["ranges"],
                    "no file has a range",
                    "give one `{ start = \"0\", length = \"1GiB\" }` for all files",
                );
            }
        });
    }
}

/// Whether ops of a backend go to descriptors in the calling thread or the kernel's queue, where locks can surround them.
fn takes_record_locks(backend: &Backend) -> bool {
    matches!(
        backend,
        Backend::Psync
            | Backend::Preadv
            | Backend::Preadv2 { .. }
            | Backend::Seek
            | Backend::Mmap
            | Backend::Libaio { .. }
            | Backend::PosixAio
    )
}

fn stream(check: &mut Checker, stream: &Stream) {
    let moves = stream.moves();
    if !moves.read && !moves.write && !moves.trim {
        check.problem([], "it neither reads nor writes nor trims", "give a `read-percent`, or `trims = true`");
    }
    if stream.read_percent.is_some_and(|percent| percent > 100) {
        check.problem(["read-percent"], "it is above 100", "use 0 to 100");
    }
    for (key, moves, size) in [
        ("read", moves.read, &stream.sizes.read),
        ("write", moves.write, &stream.sizes.write),
        ("trim", moves.trim, &stream.sizes.trim),
    ] {
        if moves && size.min().0 == 0 {
            check.problem(["sizes", key], "an op of no bytes does nothing", "use a size above 0");
        }
        if size.max().0 > u64::from(u32::MAX) {
            check.problem(
                ["sizes", key],
                format!("{} is more than one op can move", size.max()),
                "use less than 4 GiB",
            );
        }
    }
    check.positive(["worker-number"], "the worker's number", stream.worker_number.into(), "workers count from 1");
    check.positive(["loops"], "the number of loops", stream.loops, "use at least 1");
}
