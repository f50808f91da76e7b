//! What a phase was asked to do, read from the workload.

use plumb_workload::job::{ByKind, Coverage, JobOps, JobPace, Order, SweepDraw, SweepOps, SweepOrder};
use plumb_workload::script::{ScriptStep, Transfer, walk};
use plumb_workload::{Backend, CachePolicy, Flush, Job, OpKind, Pace, Pattern, Phase, Script, Step, Work, WorkerGroup};
use std::collections::BTreeSet;

/// The kinds of op that the phase is meant to make; each of them owes a number.
pub(crate) fn expected_kinds(phase: &Phase) -> BTreeSet<OpKind> {
    let mut kinds = BTreeSet::new();
    for group in &phase.workers {
        match &group.work {
            Work::Blocks(blocks) => {
                let mix = [
                    (blocks.mix.read, OpKind::Read),
                    (blocks.mix.write, OpKind::Write),
                    (blocks.mix.trim, OpKind::Trim),
                ];
                kinds.extend(mix.into_iter().filter(|(share, _)| *share > 0).map(|(_, kind)| kind));
                if blocks.mix.write > 0 && blocks.fsync_every > 0 {
                    kinds.insert(OpKind::Fsync);
                }
                if blocks.mix.write > 0 && blocks.fdatasync_every > 0 {
                    kinds.insert(OpKind::Fdatasync);
                }
            }
            Work::Flow(flow) => steps_kinds(&flow.steps, &mut kinds),
            Work::Job(job) => {
                let moves = job.moves();
                let said = [(moves.read, OpKind::Read), (moves.write, OpKind::Write), (moves.trim, OpKind::Trim)];
                kinds.extend(said.into_iter().filter(|(moves, _)| *moves).map(|(_, kind)| kind));
                if let JobOps::Sweep(sweep) = &job.ops
                    && let SweepOps::Call { kind, .. } = sweep.does
                {
                    kinds.insert(kind);
                }
            }
            // Which ops a copy makes follows from what its ends are, which shows only when they are opened.
            Work::Copy(_) => {}
            Work::Script(script) => kinds.extend(script.kinds()),
            Work::Busy(_) | Work::Exec(_) => {}
        }
    }
    kinds
}

fn steps_kinds(steps: &[Step], kinds: &mut BTreeSet<OpKind>) {
    for step in steps {
        let kind = match step {
            Step::Create { .. } => OpKind::Create,
            Step::Open { .. } => OpKind::Open,
            Step::Close { .. } => OpKind::Close,
            Step::ReadWhole { .. } | Step::ReadRandom { .. } | Step::ReadAt { .. } => OpKind::Read,
            Step::WriteWhole { .. } | Step::WriteRandom { .. } | Step::WriteAt { .. } | Step::Append { .. } => {
                OpKind::Write
            }
            Step::Fsync { .. } => OpKind::Fsync,
            Step::Fdatasync { .. } => OpKind::Fdatasync,
            Step::Stat { .. } => OpKind::Stat,
            Step::Utimens { .. } => OpKind::Utimens,
            Step::Chmod { .. } => OpKind::Chmod,
            Step::Rename { .. } => OpKind::Rename,
            Step::Link { .. } => OpKind::Link,
            Step::Symlink { .. } => OpKind::Symlink,
            Step::Readlink { .. } => OpKind::Readlink,
            Step::Unlink { .. } => OpKind::Unlink,
            Step::Mkdir {} => OpKind::Mkdir,
            Step::Rmdir {} => OpKind::Rmdir,
            Step::Readdir {} => OpKind::Readdir,
            Step::Truncate { .. } => OpKind::Truncate,
            Step::Fallocate { .. } => OpKind::Fallocate,
            Step::Delay { .. } => continue,
            Step::Loop { steps, .. } => {
                steps_kinds(steps, kinds);
                continue;
            }
            Step::Mix { choices } => {
                for choice in choices.iter().filter(|choice| choice.weight > 0.0) {
                    steps_kinds(&choice.steps, kinds);
                }
                continue;
            }
        };
        kinds.insert(kind);
    }
}

/// Names of the phase's targets, each once, in the order of its worker groups. Groups beside the I/O, which load processors
/// or run programs, have theirs for form's sake: it counts only where nothing else is there.
pub(crate) fn target_names(phase: &Phase) -> Vec<&str> {
    let is_beside = |group: &&WorkerGroup| matches!(group.work, Work::Busy(_) | Work::Exec(_));
    let all_beside = phase.workers.iter().all(|group| is_beside(&group));
    let mut names: Vec<&str> = Vec::new();
    let counted = phase.workers.iter().filter(|group| all_beside || !is_beside(group));
    for name in counted.flat_map(WorkerGroup::targets) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Every worker goes as fast as it can, without a rate, think time or delays.
pub(crate) fn is_closed(phase: &Phase) -> bool {
    phase.workers.iter().all(|group| {
        let waits = match &group.work {
            Work::Flow(flow) => delays(&flow.steps),
            Work::Job(job) => paces(&job.pace),
            Work::Script(script) => pauses(script),
            Work::Blocks(_) | Work::Copy(_) | Work::Busy(_) | Work::Exec(_) => false,
        };
        matches!(group.pace, Pace::Closed) && !waits
    })
}

/// A job keeps to a rate or pauses.
fn paces(pace: &JobPace) -> bool {
    let free = JobPace { longest_op: pace.longest_op, latency_goal: pace.latency_goal, ..JobPace::default() };
    *pace != free
}

/// A job looks for the largest depth that keeps a goal of latency.
pub(crate) fn searches_depth(phase: &Phase) -> bool {
    jobs(phase).any(|job| job.pace.latency_goal.is_some())
}

/// A script waits in its clock.
fn pauses(script: &Script) -> bool {
    walk(&script.steps).any(|step| matches!(step, ScriptStep::Pause { .. })) || script.transfers().any(Transfer::waits)
}

fn delays(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Delay { .. } => true,
        Step::Loop { steps, .. } => delays(steps),
        Step::Mix { choices } => choices.iter().any(|choice| delays(&choice.steps)),
        _ => false,
    })
}

/// The shortest mean gap between the due times of an open load, ns; `None` where no worker has due times.
pub(crate) fn shortest_interval_ns(phase: &Phase) -> Option<f64> {
    let of_jobs = phase.workers.iter().filter_map(|group| match &group.work {
        Work::Job(job) => {
            let ByKind { read, write, trim } = job.pace.ops_per_second;
            [read, write, trim].into_iter().flatten().map(|rate| 1e9 / rate.0).reduce(f64::min)
        }
        _ => None,
    });
    let rates = phase.workers.iter().filter_map(|group| match group.pace {
        Pace::Open { rate, .. } if rate.0 > 0.0 => Some(1e9 / rate.0),
        _ => None,
    });
    rates.chain(of_jobs).reduce(f64::min)
}

/// A worker that waits by spinning, so that its processor time says nothing.
pub(crate) fn spins(phase: &Phase) -> bool {
    phase.workers.iter().any(|group| {
        matches!(group.pace, Pace::Open { .. })
            || matches!(group.backend, Backend::IoUring { poll_completions, poll_submissions, .. }
                if poll_completions || poll_submissions)
    })
}

/// Goes over each block of its range exactly once a pass.
pub(crate) fn covers_once(group: &WorkerGroup) -> bool {
    match &group.work {
        Work::Blocks(blocks) => {
            matches!(
                blocks.pattern,
                Pattern::Sequential | Pattern::Reverse | Pattern::Stride { .. } | Pattern::Permutation
            )
        }
        Work::Job(job) => match &job.ops {
            JobOps::Stream(stream) => {
                matches!(stream.order, Order::Sequential { skip_bytes: 0 }) || stream.coverage != Coverage::Again
            }
            JobOps::Sweep(sweep) => {
                !sweep.repeat && !matches!(sweep.order, SweepOrder::Random(SweepDraw::Again | SweepDraw::Unaligned))
            }
            JobOps::Recording(_) => false,
        },
        Work::Copy(_) => true,
        Work::Script(script) => {
            let mut transfers = script.transfers().peekable();
            transfers.peek().is_some() && transfers.all(Transfer::covers_once)
        }
        Work::Flow(_) | Work::Busy(_) | Work::Exec(_) => false,
    }
}

/// What the page cache was asked to be. Jobs open their files by rules of their own: where all of them go around the
/// cache, so does the phase.
pub(crate) fn cache(phase: &Phase) -> CachePolicy {
    let all_direct = has_jobs(phase) && only_jobs(phase) && jobs(phase).all(|job| job.files.direct);
    let scripts_direct = only_scripts(phase) && scripts(phase).all(Script::is_direct);
    if all_direct || scripts_direct { CachePolicy::Direct } else { phase.cache }
}

fn jobs(phase: &Phase) -> impl Iterator<Item = &Job> {
    phase.workers.iter().filter_map(|group| match &group.work {
        Work::Job(job) => Some(&**job),
        _ => None,
    })
}

fn scripts(phase: &Phase) -> impl Iterator<Item = &Script> {
    phase.workers.iter().filter_map(|group| match &group.work {
        Work::Script(script) => Some(&**script),
        _ => None,
    })
}

fn only_scripts(phase: &Phase) -> bool {
    !phase.workers.is_empty() && phase.workers.iter().all(|group| matches!(group.work, Work::Script(_)))
}

fn only_jobs(phase: &Phase) -> bool {
    phase.workers.iter().all(|group| matches!(group.work, Work::Job(_) | Work::Busy(_) | Work::Exec(_)))
}

/// All that moves bytes is block I/O.
pub(crate) fn is_block_io(phase: &Phase) -> bool {
    phase.workers.iter().all(|group| match &group.work {
        Work::Flow(_) => false,
        Work::Script(script) => script.transfers().next().is_some(),
        Work::Blocks(_) | Work::Job(_) | Work::Copy(_) | Work::Busy(_) | Work::Exec(_) => true,
    })
}

/// Block I/O that writes.
pub(crate) fn writes(work: &Work) -> bool {
    match work {
        Work::Blocks(blocks) => blocks.mix.write > 0,
        Work::Job(job) => job.moves().write,
        Work::Copy(copy) => copy.to.is_some(),
        Work::Script(script) => script.writes(),
        Work::Flow(_) | Work::Busy(_) | Work::Exec(_) => false,
    }
}

/// Everything that was written is flushed at the end.
pub(crate) fn flushes_at_end(phase: &Phase) -> bool {
    let by_jobs = || {
        let mut writers = jobs(phase).filter(|job| job.moves().write).peekable();
        let there = writers.peek().is_some();
        let flush = |job: &Job| job.syncs.at_end || job.syncs.at_close || job.syncs.file_system_at_end;
        there && only_jobs(phase) && writers.all(flush)
    };
    let by_copies = || {
        let flushes = |group: &WorkerGroup| matches!(&group.work, Work::Copy(copy) if copy.fsync || copy.fdatasync);
        !phase.workers.is_empty() && phase.workers.iter().all(flushes)
    };
    let by_scripts = || {
        let mut writers = scripts(phase).filter(|script| script.writes());
        writers.all(Script::flushes)
    };
    match only_scripts(phase) {
        // What a script writes, only its own steps flush.
        true => by_scripts(),
        false => matches!(phase.end.flush, Flush::Fsync | Flush::Fdatasync) || by_jobs() || by_copies(),
    }
}

/// Jobs are among the workers: whoever wrote them speaks fio's language or elbencho's, and remedies should too.
pub(crate) fn has_jobs(phase: &Phase) -> bool {
    jobs(phase).next().is_some()
}

/// Its jobs go part by part, as only elbencho's do.
pub(crate) fn sweeps(phase: &Phase) -> bool {
    has_jobs(phase) && jobs(phase).all(|job| matches!(job.ops, JobOps::Sweep(_)))
}

/// Removes or shortens files, so that what it wrote need never reach a device.
pub(crate) fn discards(phase: &Phase) -> bool {
    let kinds = expected_kinds(phase);
    kinds.contains(&OpKind::Unlink) || kinds.contains(&OpKind::Truncate)
}

/// Makes, changes or removes files and directories.
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
    use plumb_workload::flow::Choice;
    use plumb_workload::{Flow, Nanos, Pick};

    fn flow(steps: Vec<Step>) -> Phase {
        let mut phase = Scene::stats(1).workload.phase.remove(0);
        phase.workers[0].work = Work::Flow(Flow { steps, count_transactions: false });
        phase
    }

    /// Kinds within loops and choices owe numbers like any other; what can never be chosen owes none.
    #[test]
    fn kinds_are_found_at_any_depth() {
        let stat = Step::Stat { file: Pick::Random };
        let choices = vec![
            Choice { weight: 1.0, steps: vec![Step::Mkdir {}] },
            Choice { weight: 0.0, steps: vec![Step::Rmdir {}] },
        ];
        let phase = flow(vec![Step::Loop { times: 2, steps: vec![stat, Step::Mix { choices }] }]);
        assert_eq!(expected_kinds(&phase), BTreeSet::from([OpKind::Stat, OpKind::Mkdir]));
    }

    /// A load on processors beside the I/O has a null target, which is no storage that is measured.
    #[test]
    fn targets_of_groups_beside_the_io_count_only_alone() {
        let mut phase = flow(Vec::new());
        let beside = |target: &str| {
            let busy =
                plumb_workload::Busy { percent: 10, piece: Nanos(1_000_000), sorts: false, ends_with_others: false };
            WorkerGroup::new(target, Work::Busy(busy))
        };
        let measured = phase.workers[0].target.clone();
        phase.workers.push(beside("nothing"));
        assert_eq!(target_names(&phase), [measured]);
        phase.workers.remove(0);
        assert_eq!(target_names(&phase), ["nothing"]);
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
        let phase = |pace: JobPace| Scene::writing(1000).job(|job| job.pace = pace).workload.phase[0].clone();
        let rated =
            phase(JobPace { ops_per_second: ByKind { write: rate, ..ByKind::default() }, ..JobPace::default() });
        assert!(!is_closed(&rated));
        assert_eq!(shortest_interval_ns(&rated), Some(1e6));
        assert!(is_closed(&phase(JobPace::default())));
    }

    #[test]
    fn a_flow_that_waits_does_not_go_as_fast_as_it_can() {
        let wait = Step::Delay { time: Nanos(1) };
        assert!(!is_closed(&flow(vec![Step::Loop { times: 2, steps: vec![wait] }])));
        assert!(is_closed(&flow(vec![Step::Readdir {}])));
    }
}
