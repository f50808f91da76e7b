//! Rules for streams of other tools' generators, and for files, memory and processes.

use super::Checker;
use super::names::names;
use plumb_workload::backend::Backend;
use plumb_workload::blocks::accesses::Accesses;
use plumb_workload::blocks::fio::{OffsetDistribution, Stream};
use plumb_workload::files::JobFiles;
use plumb_workload::phase::{Phase, RunAs, WorkerGroup};
use plumb_workload::process::BufferMemory;
use plumb_workload::program::Program;

/// Checks the names and lengths of named files.
pub(super) fn files(check: &mut Checker, files: &JobFiles) {
    names(check, &files.names);
}

/// Checks a stream of another tool's generator and its group.
pub(super) fn check(check: &mut Checker, phase: &Phase, group: &WorkerGroup) {
    if let Some(requests) = group.work.requests() {
        if let Some((key, problem, help)) = requests.problem() {
            check.problem(["work", "blocks", "requests", key], problem, help);
        }
        if group.run_as != RunAs::Thread {
            check.problem(["run-as"], "processes cannot share one queue of requests", "use `run-as = \"thread\"`");
        }
    } else if group.count != 1 {
        check.problem(
            ["work"],
            format!("a group of {} workers cannot share one stream", group.count),
            "use `count = 1`, and a separate group with another `worker-number` for each further worker",
        );
    }
    if let Some((key, problem, help)) = group.work.accesses().and_then(Accesses::problem) {
        check.problem(["work", "blocks", "accesses", key], problem, help);
    }
    for name in &group.start.after {
        if !phase.has_member(name) {
            check.problem(
                ["work"],
                format!("the group waits for `{name}`, which does not exist in the phase"),
                "name a group of the same phase in `start.after`",
            );
        }
    }
    if group.files.record_lock.is_some() && !takes_record_locks(&group.backend) {
        check.problem(
            ["files", "record-lock"],
            format!("the backend `{}` does not support record locks", group.backend.name()),
            "use psync, libaio or mmap, or leave `record-lock` out",
        );
    }
    for (key, mode) in group.files.new.all() {
        if mode > 0o7777 {
            check.problem(["files", "new", key], format!("{mode:o} is not a valid file mode"), "use at most 0o7777");
        }
    }
    if let Some(drawn) = group.work.fio() {
        check.nested(&["work", "blocks", "fio"], |check| {
            stream(check, drawn);
            // An engine that Plumb does not run has no size that could be checked.
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

/// Checks that the work and its target support the group's settings for files, memory and processes.
pub(super) fn has_means(check: &mut Checker, group: &WorkerGroup, is_real: bool) {
    let is_foreign = group.work.foreign_stream().is_some();
    for (key, is_set, help) in [
        ("files", !group.files.is_default(), "set it on the target and in the phase's `cache`"),
        ("syncs", !group.syncs.is_none(), "use `fsync-every` of `work.blocks`, or the phase's `end.flush`"),
    ] {
        if is_set && !is_foreign {
            check.problem([key], "only streams of `fio`, `sweep` and `trace` support this setting", help);
        }
    }
    // Threads that share file sets can have a nice value, but they run no commands.
    let process = &group.process;
    let is_nice = group.work.program().is_some_and(Program::is_over_shared_sets)
        && process.run_before.is_none()
        && process.run_after.is_none();
    for (key, is_set) in [
        ("buffers", !group.buffers.is_default()),
        ("process", !process.is_default() && !is_nice),
        ("log-ops", group.log_ops),
        ("time-submission", group.time_submission),
    ] {
        if is_set && !group.work.has_queue() {
            let help = match (key, group.work.program().is_some()) {
                ("log-ops", true) => "use `work.program.log-ops`",
                _ => "leave it out, or use `work.blocks`",
            };
            check.problem([key], "only block I/O supports this setting", help);
        } else if is_set && !is_foreign && !is_real && matches!(key, "buffers" | "process") {
            check.problem(
                [key],
                format!("work on `{}` needs no memory and no process of its own", group.target),
                "leave it out, or use a real target",
            );
        }
    }
    for (key, line) in [("run-before", &group.process.run_before), ("run-after", &group.process.run_after)] {
        if group.count > 1 && line.is_some() {
            check.problem(
                ["process", key],
                format!("each of the {} workers would run this", group.count),
                "give it to a group of one worker",
            );
        }
    }
    if group.count > 1 && matches!(group.buffers.memory, BufferMemory::File(_)) {
        check.problem(
            ["buffers", "memory"],
            format!("{} workers would use the same file as memory", group.count),
            "use `private` or `shared` memory, or a group with a file of its own for each worker",
        );
    }
}

/// Returns `true` if ops go to descriptors from the calling thread or the kernel's queue,
/// where locks can surround them.
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
        check.problem([], "the stream has no reads, writes or trims", "give a `read-percent`, or `trims = true`");
    }
    if stream.read_percent.is_some_and(|percent| percent > 100) {
        check.problem(["read-percent"], "`read-percent` is above 100", "use 0 to 100");
    }
    for (key, moves, size) in [
        ("read", moves.read, &stream.sizes.read),
        ("write", moves.write, &stream.sizes.write),
        ("trim", moves.trim, &stream.sizes.trim),
    ] {
        if moves && size.min().0 == 0 {
            check.problem(["sizes", key], "an op has 0 bytes", "use a size above 0");
        }
        if size.max().0 > u64::from(u32::MAX) {
            check.problem(
                ["sizes", key],
                format!("{} is more than one op can move", size.max()),
                "use less than 4 GiB",
            );
        }
    }
    if let OffsetDistribution::SteadyState(steady) = &stream.distribution {
        if let Some(problem) = steady.problem() {
            check.problem(["distribution", "steady-state"], problem, "see `spr_op` and `spr_num_regions` of fio");
        } else if !moves.write {
            check.problem(["distribution", "steady-state"], "nothing is written", "use `read-percent = 0`");
        }
    }
    check.positive(["worker-number"], "the worker's number", stream.worker_number.into(), "workers count from 1");
    check.positive(["loops"], "the number of loops", stream.loops, "use at least 1");
}
