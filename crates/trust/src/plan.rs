//! The requested properties of a phase, read from the workload.

use plumb_workload::{Backend, CachePolicy, Flush, OpKind, OwnFlush, Phase, Work, WorkerGroup};
use std::collections::BTreeSet;

fn works(phase: &Phase) -> impl Iterator<Item = &Work> {
    phase.workers.iter().map(|group| &group.work)
}

/// Returns the planned kinds of op; a number is expected for each.
pub(crate) fn expected_kinds(phase: &Phase) -> BTreeSet<OpKind> {
    BTreeSet::from_iter(works(phase).flat_map(Work::op_kinds))
}

/// Returns the names of the phase's targets, each once, in the order of its worker groups.
pub(crate) fn target_names(phase: &Phase) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in phase.workers.iter().flat_map(WorkerGroup::targets) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns `true` if every worker runs at full speed, without a rate, think time or delays.
pub(crate) fn is_closed(phase: &Phase) -> bool {
    phase.workers.iter().all(|group| !group.pace.waits() && !group.work.waits())
}

/// Returns `true` if a job searches for the largest depth within a latency goal.
pub(crate) fn searches_depth(phase: &Phase) -> bool {
    phase.workers.iter().any(|group| group.pace.latency_goal.is_some())
}

/// Returns the shortest mean gap between the due times of an open load, in ns; `None` if no worker has due times.
pub(crate) fn shortest_interval_ns(phase: &Phase) -> Option<f64> {
    phase.workers.iter().filter_map(|group| group.pace.shortest_interval_ns()).reduce(f64::min)
}

/// Returns `true` if a worker waits by spinning, so that its processor time is meaningless.
pub(crate) fn spins(phase: &Phase) -> bool {
    phase.workers.iter().any(|group| {
        group.pace.open.is_some()
            || matches!(group.backend, Backend::IoUring { poll_completions, poll_submissions, .. }
                if poll_completions || poll_submissions)
    })
}

/// Returns the requested cache policy. Some work opens its files by its own rules: if all of it bypasses the
/// cache, so does the phase.
pub(crate) fn cache(phase: &Phase) -> CachePolicy {
    if phase.goes_around_cache() { CachePolicy::Direct } else { phase.cache }
}

/// Returns `true` if only block I/O moves bytes.
pub(crate) fn is_block_io(phase: &Phase) -> bool {
    works(phase).all(Work::is_block_io)
}

/// Returns `true` if all writes are flushed at the end.
pub(crate) fn flushes_at_end(phase: &Phase) -> bool {
    let own: Vec<OwnFlush> = phase.workers.iter().map(WorkerGroup::own_flush).collect();
    let all_own = !own.iter().any(|flush| matches!(flush, OwnFlush::ByPhase | OwnFlush::Part | OwnFlush::Never));
    if !phase.workers.is_empty() && !works(phase).any(Work::is_flushed_by_phase) {
        return all_own;
    }
    matches!(phase.end.flush, Flush::Fsync | Flush::Fdatasync) || (own.contains(&OwnFlush::All) && all_own)
}

/// Returns `true` if a program flushes its writes after its clock.
pub(crate) fn flushes_outside_clock(phase: &Phase) -> bool {
    works(phase).any(|work| matches!(work, Work::Program(program) if program.flushes_outside_clock()))
}

/// Returns `true` if there are streams of other tools' generators: their authors know the language of fio or
/// elbencho, and remedies should use it.
pub(crate) fn has_jobs(phase: &Phase) -> bool {
    // In Plumb's own replay, the phase sets how writes are made durable.
    works(phase).any(|work| work.foreign_stream().is_some() && !work.trace().is_some_and(|recording| recording.sheet))
}

/// Returns `true` if jobs go part by part, as only elbencho's do.
pub(crate) fn sweeps(phase: &Phase) -> bool {
    has_jobs(phase) && works(phase).filter(|work| work.foreign_stream().is_some()).all(Work::is_sweep)
}

/// Returns `true` if the phase removes or shortens files, so that its writes need never reach a device.
pub(crate) fn discards(phase: &Phase) -> bool {
    let kinds = expected_kinds(phase);
    kinds.contains(&OpKind::Unlink) || kinds.contains(&OpKind::Truncate)
}

/// Returns `true` if the phase creates, changes or removes files and directories.
pub(crate) fn changes_names(phase: &Phase) -> bool {
    const CHANGES: [OpKind; 11] = [
        OpKind::Create,
        OpKind::Unlink,
        OpKind::Rename,
        OpKind::Link,
        OpKind::Symlink,
        OpKind::Mkdir,
        OpKind::Rmdir,
        OpKind::Truncate,
        OpKind::Fallocate,
        OpKind::Utimens,
        OpKind::Chmod,
    ];
    let kinds = expected_kinds(phase);
    CHANGES.iter().any(|kind| kinds.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Scene;
    use plumb_workload::blocks::ByKind;
    use plumb_workload::program::Step;
    use plumb_workload::{Nanos, Pace, Program};

    fn program(steps: Vec<Step>) -> Phase {
        let mut phase = Scene::stats(1).workload.phase.remove(0);
        phase.workers[0].work = Work::Program(Box::new(Program::new(steps)));
        phase
    }

    #[test]
    fn a_phase_of_direct_jobs_goes_around_the_cache() {
        let phase = |direct| {
            let scene = Scene::writing(1000).job(|job| job.files.direct = direct);
            scene.workload.phase[0].clone()
        };
        assert_eq!(cache(&phase(true)), CachePolicy::Direct);
        assert_eq!(cache(&phase(false)), phase(false).cache);
    }

    #[test]
    fn a_job_with_a_rate_does_not_go_as_fast_as_it_can() {
        let rate = Some(plumb_workload::PerSecond(1000.0));
        let phase = |pace: Pace| Scene::writing(1000).job(|_| {}).pace(pace).workload.phase[0].clone();
        let rated = phase(Pace { ops_per_second: ByKind { write: rate, ..ByKind::default() }, ..Pace::default() });
        assert!(!is_closed(&rated));
        assert_eq!(shortest_interval_ns(&rated), Some(1e6));
        assert!(is_closed(&phase(Pace::default())));
    }

    #[test]
    fn a_program_that_waits_does_not_go_as_fast_as_it_can() {
        let wait = Step::Delay { time: Nanos(1) };
        assert!(!is_closed(&program(vec![Step::Loop { times: 2, steps: vec![wait] }])));
        assert!(is_closed(&program(vec![Step::Readdir {}])));
    }
}
