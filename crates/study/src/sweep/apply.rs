//! Applies a level to a workload. Pure.

use plumb_result::SweepKey;
use plumb_workload::{
    Arrival, BlockSize, Bytes, Mix, Nanos, OpKind, Pace, PerSecond, Phase, Program, Size, Step, Target, Workload,
};

/// The ops of a phase that are counted and timed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedOps {
    /// These ops, together; if empty, all but opening and closing.
    pub ops: Vec<OpKind>,
    /// Whether the rate counts transactions instead; the times are still those of the ops.
    pub rate_of: RateOf,
}

/// The unit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOf {
    Ops,
    /// Passes through the program.
    Transactions,
}

/// The reason why a workload cannot be swept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It has several phases, and none is named.
    #[error("workload `{workload}` has {} phases; say which one with --phase: {}", .phases.len(), .phases.join(", "))]
    WhichPhase { workload: String, phases: Vec<String> },
    /// It has no phase of this name.
    #[error("workload `{workload}` has no phase `{phase}`; there {}", listed(.phases))]
    NoPhase { workload: String, phase: String, phases: Vec<String> },
    /// The key does not apply to this work.
    #[error("{key} cannot be swept here: {reason}")]
    Key {
        key: &'static str,
        /// The reason, and the way out.
        reason: &'static str,
    },
}

fn listed(names: &[String]) -> String {
    if names.len() == 1 { format!("is only {}", names[0]) } else { format!("are {}", names.join(", ")) }
}

/// Returns the index of the phase to sweep: the only one, or the one that is named.
///
/// # Errors
/// [`ApplyError::WhichPhase`], [`ApplyError::NoPhase`].
pub fn phase_of(workload: &Workload, name: Option<&str>) -> Result<usize, ApplyError> {
    let phases = || workload.phase.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    let workload_name = || workload.name.clone();
    match name {
        None if workload.phase.len() == 1 => Ok(0),
        None => Err(ApplyError::WhichPhase { workload: workload_name(), phases: phases() }),
        Some(name) => workload.phase.iter().position(|phase| phase.name == name).ok_or_else(|| ApplyError::NoPhase {
            workload: workload_name(),
            phase: name.to_owned(),
            phases: phases(),
        }),
    }
}

/// Returns `true` if a phase may change anything in its targets.
pub fn writes(phase: &Phase) -> bool {
    phase.workers.iter().any(|group| group.work.changes())
}

/// Returns the group that keys are applied to: the first with block I/O, else the first.
fn leading(phase: &Phase) -> Option<usize> {
    let blocks = phase.workers.iter().position(|group| group.work.blocks().is_some());
    blocks.or((!phase.workers.is_empty()).then_some(0))
}

/// Returns the ops of the leading group's block I/O; if each write is flushed, the flushes.
pub fn counted(phase: &Phase) -> CountedOps {
    let mut ops = Vec::new();
    if let Some(blocks) = leading(phase).and_then(|at| phase.workers[at].work.blocks()) {
        let Mix { read, write, trim } = blocks.mix;
        for (share, kind) in [(read, OpKind::Read), (write, OpKind::Write), (trim, OpKind::Trim)] {
            if share > 0 {
                ops.push(kind);
            }
        }
        // A log that is made durable at each write spends its time in the flush.
        for (every, kind) in [(blocks.fsync_every, OpKind::Fsync), (blocks.fdatasync_every, OpKind::Fdatasync)] {
            if every == 1 && ops == [OpKind::Write] {
                ops = vec![kind];
            }
        }
        return CountedOps { ops, rate_of: RateOf::Ops };
    }
    let programs = phase.workers.iter().filter_map(|group| group.work.program());
    let program = programs.into_iter().find(|program| program.is_over_file_set());
    let rate_of = match program {
        Some(program) if program.count_transactions => RateOf::Transactions,
        _ => RateOf::Ops,
    };
    CountedOps { ops: program.map_or(Vec::new(), slowest), rate_of }
}

/// Returns the ops that a program waits for: its flushes, else its main ops.
fn slowest(program: &Program) -> Vec<OpKind> {
    const RANKS: [OpKind; 6] =
        [OpKind::Fsync, OpKind::Create, OpKind::Unlink, OpKind::Read, OpKind::Write, OpKind::Stat];
    let kinds: Vec<OpKind> = program.steps.iter().flat_map(Step::kinds).copied().collect();
    RANKS.into_iter().filter(|kind| kinds.contains(kind)).take(1).collect()
}

/// Applies a level to the leading group of a phase.
///
/// # Errors
/// [`ApplyError::Key`] if the key does not apply to the work.
pub fn apply(workload: &mut Workload, phase: usize, key: SweepKey, level: f64) -> Result<(), ApplyError> {
    let no = |reason| ApplyError::Key { key: key.name(), reason };
    let Some(at) = workload.phase.get(phase).and_then(leading) else { return Err(no("the phase has no workers")) };
    if key == SweepKey::Size {
        let target = workload.phase[phase].workers[at].target.clone();
        for group in workload.phase.iter_mut().flat_map(|phase| &mut phase.workers) {
            if let (true, Some(blocks)) = (group.target == target, group.work.blocks_mut()) {
                blocks.span = None;
            }
        }
        return match workload.target.get_mut(&target) {
            Some(target) => resize(target, key, Bytes(level as u64)),
            None => Err(no("its target does not exist")),
        };
    }
    let group = &mut workload.phase[phase].workers[at];
    match key {
        SweepKey::Depth => {
            group.work.blocks_mut().ok_or_else(|| no("a program does one thing after another; sweep `threads`"))?;
            group.depth = level as u32;
        }
        SweepKey::Threads => group.count = level as u32,
        SweepKey::Block => {
            let blocks = group
                .work
                .blocks_mut()
                .ok_or_else(|| no("a program has no block size; use a workload with block I/O"))?;
            blocks.block = BlockSize::Fixed(Bytes(level as u64));
            (blocks.write_block, blocks.trim_block, blocks.align) = (None, None, None);
        }
        SweepKey::Read => {
            let blocks =
                group.work.blocks_mut().ok_or_else(|| no("a program has no mix; use a workload with block I/O"))?;
            let read = level.round() as u32;
            blocks.mix = Mix { read, write: 100 - read, trim: 0 };
        }
        SweepKey::Rate => group.pace = poisson(PerSecond(level)),
        SweepKey::Size => {}
    }
    Ok(())
}

/// Arrivals of independent users, shared by the workers of a group.
pub fn poisson(rate: PerSecond) -> Pace {
    Pace::open(rate, Arrival::Poisson, true)
}

/// Sets the duration of a phase, if time ends it.
pub fn set_time(phase: &mut Phase, time: Nanos) {
    if phase.stop.time.is_some() {
        phase.stop.time = Some(time);
    }
}

/// Files in the test directory get a name for each size, so that all of them can stay there.
fn resize(target: &mut Target, key: SweepKey, size: Bytes) -> Result<(), ApplyError> {
    match target {
        Target::File(file) => {
            if file.path.is_relative() {
                let mut name = file.path.clone().into_os_string();
                name.push(format!("-{size}"));
                file.path = name.into();
            }
            file.size = Some(Size::Bytes(size));
        }
        Target::Device(device) => device.size = Some(Size::Bytes(size)),
        Target::Sim(sim) if sim.files.is_none() => sim.size = size,
        Target::Null(null) => null.size = size,
        Target::Files(_)
        | Target::Tree(_)
        | Target::JobFiles(_)
        | Target::Scratch(_)
        | Target::SharedTree(_)
        | Target::Recorded(_)
        | Target::Host(_)
        | Target::Sim(_) => {
            let reason = "the work is on many files; use a workload on one file, or a device";
            return Err(ApplyError::Key { key: key.name(), reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload_text::named::{self, RunPlace, Scale};
    use plumb_workload_text::validate::validate;

    fn workload(name: &str) -> Workload {
        named::select(name).unwrap()[0].workload(&Scale::moderate(RunPlace::Directory))
    }

    /// The workload stays valid with any level.
    #[test]
    fn every_key_makes_a_sound_workload() {
        for (key, level) in [
            (SweepKey::Depth, 7.0),
            (SweepKey::Threads, 3.0),
            (SweepKey::Block, 65536.0),
            (SweepKey::Size, 33554432.0),
            (SweepKey::Read, 30.0),
            (SweepKey::Rate, 1234.5),
        ] {
            for name in ["random-read", "random-write", "database"] {
                let mut changed = workload(name);
                apply(&mut changed, 0, key, level).unwrap();
                assert_eq!(validate(&changed), [], "{name} {key:?}");
                assert_ne!(changed, workload(name), "{name} {key:?}");
            }
        }
    }

    #[test]
    fn each_size_has_a_file_of_its_own() {
        let mut changed = workload("random-read");
        apply(&mut changed, 0, SweepKey::Size, (64u64 << 20) as f64).unwrap();
        let Target::File(file) = &changed.target["data"] else { panic!("a file") };
        assert_eq!(file.path.to_str(), Some("data-64MiB"));
        assert_eq!(file.size, Some(Size::Bytes(Bytes(64 << 20))));
    }

    #[test]
    fn impossible_keys_are_refused_with_the_way_out() {
        let mut mail = workload("mail");
        for key in [SweepKey::Depth, SweepKey::Block, SweepKey::Read, SweepKey::Size] {
            let error = apply(&mut mail, 0, key, 4.0).unwrap_err().to_string();
            assert!(error.contains("use a") || error.contains("sweep `threads`"), "{error}");
        }
        apply(&mut mail, 0, SweepKey::Threads, 4.0).unwrap();
    }

    #[test]
    fn the_ops_that_the_work_waits_for_are_counted() {
        let of = |name: &str| counted(&workload(name).phase[0]);
        assert_eq!(of("random-read").ops, [OpKind::Read]);
        assert_eq!(of("fsync-log").ops, [OpKind::Fdatasync]);
        assert_eq!(of("database").ops, [OpKind::Read, OpKind::Write]);
        assert_eq!(of("mail"), CountedOps { ops: vec![OpKind::Fsync], rate_of: RateOf::Transactions });
    }

    /// `--read-only` prevents any change to storage, in every language of workloads.
    #[test]
    fn writes_are_recognised_in_every_language() {
        let mut phase = workload("random-read").phase.remove(0);
        assert!(!writes(&phase));
        let program =
            Program::new(vec![Step::Mkdir { file: plumb_workload::Pick::Own, mode: Some(0o700), may_exist: false }]);
        phase.workers[0].work = plumb_workload::Work::Program(Box::new(program));
        assert!(writes(&phase));
        assert!(writes(&workload("mail").phase[0]) && writes(&workload("random-write").phase[0]));
    }

    #[test]
    fn one_of_several_phases_must_be_named() {
        let files = workload("small-files");
        let error = phase_of(&files, None).unwrap_err().to_string();
        assert!(error.contains("--phase: create, stat, read, delete"), "{error}");
        assert_eq!(phase_of(&files, Some("read")), Ok(2));
        assert!(phase_of(&files, Some("write")).unwrap_err().to_string().contains("there are create"));
        assert_eq!(phase_of(&workload("random-read"), None), Ok(0));
    }
}
