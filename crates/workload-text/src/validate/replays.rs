//! Rules for replays of recorded calls.

use super::Checker;
use plumb_workload::backend::Backend;
use plumb_workload::phase::{Phase, RunAs, WorkerGroup};
use plumb_workload::replay::{Replay, Timing};
use plumb_workload::target::Target;

/// Maximum number of threads, since each lane of a replay is one bit of a word.
pub(super) const THREADS_MAX: u32 = 64;

pub(super) fn check(check: &mut Checker, phase: &Phase, group: &WorkerGroup, replay: &Replay, target: &Target) {
    if !matches!(target, Target::Recorded(_) | Target::Sim(_)) {
        check.problem(
            ["work", "replay"],
            format!("`{}` has no room for the files of a recording", group.target),
            "use a `[target.NAME.recorded]`, or `work.blocks.trace` for a recording of block I/O",
        );
    }
    if group.count > THREADS_MAX {
        let message = format!("a replay has at most {THREADS_MAX} threads, not {}", group.count);
        check.problem(
            ["count"],
            message,
            format!("use at most {THREADS_MAX}: each makes the calls of several recorded threads"),
        );
    }
    if group.run_as == RunAs::Process {
        check.problem(["run-as"], "the threads of a replay share descriptors", "use run-as = \"thread\"");
    }
    if group.depth > 1 {
        check.problem(
            ["depth"],
            format!("a recorded call is made at once and cannot keep {} in flight", group.depth),
            "use depth = 1, and more threads with `count`",
        );
    }
    if group.backend != Backend::Auto {
        let message = format!("a replay makes its own calls and cannot use the backend `{}`", group.backend.name());
        check.problem(["backend"], message, "leave `backend` out");
    }
    if !group.pace.is_closed() {
        check.problem(
            ["pace"],
            "a replay has its own timing",
            "leave `pace` out; `work.replay.timing` sets when calls begin",
        );
    }
    if group.verify.is_some() {
        check.problem(["verify"], "a replay did not write what it reads and cannot verify it", "leave `verify` out");
    }
    let users = phase.workers.iter().filter(|other| other.target == group.target).count();
    if users > 1 && matches!(target, Target::Recorded(_)) {
        check.problem(
            ["target"],
            "two replays would use the same files",
            "give each a `[target.NAME.recorded]` of its own",
        );
    }
    if let Timing::Recorded { speed_percent } = replay.timing
        && !(0.001..=1e6).contains(&speed_percent)
    {
        check.problem(
            ["work", "replay", "timing", "recorded", "speed-percent"],
            format!("a speed of {speed_percent} % is not possible"),
            "use 0.001 to 1000000; 100 is the recorded speed",
        );
    }
}
