//! Measurement conditions: storage is brought to a steady state first, and measured until it is
//! steady. Pure except for [`capacity_bytes`](plumb_bench::place::capacity_bytes).
//!
//! Source: SNIA Solid State Storage Performance Test Specification 2.0.1: workload-independent preconditioning
//! writes twice the capacity in sequence with 128 KiB, workload-based preconditioning runs the work itself in
//! rounds until it is steady.

use plumb_result::assertion::PRECONDITIONING;
use plumb_workload::units::UnitError;
use plumb_workload::{
    BlockSize, Blocks, Bytes, CachePolicy, Limit, Mix, Nanos, Pace, Pattern, Phase, Steady, Stop, Target, WorkerGroup,
    Workload,
};

/// Bytes of one write of the fill.
const FILL_BLOCK: u64 = 128 << 10;

/// Number of times that the fill writes the capacity.
const FILL_PASSES: u64 = 2;

/// Writes of the fill in flight, if it bypasses the cache: it needs sequence, not low latency.
const FILL_DEPTH: u32 = 8;

/// Phases that preconditioning adds to a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preconditioning {
    /// The targets that are filled.
    pub fills: Vec<FilledTarget>,
    /// Phases whose own writes run in rounds before them, with the longest time that these may take.
    pub rounds: Vec<RoundPlan>,
}

/// A target that is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledTarget {
    pub target: String,
    /// Bytes written to it: twice its capacity; `None` if that is unknown.
    pub bytes: Option<u64>,
}

/// The rounds before a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundPlan {
    pub phase: String,
    /// Time limit of the rounds.
    pub longest: Nanos,
}

/// The reason why a workload cannot meet a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It has no block target.
    #[error(
        "there is nothing to precondition: `{workload}` has no work on a file or device of known extent; programs over file \
         sets start from files that each run lays out"
    )]
    NothingToFill { workload: String },
    /// No phase is ended by time.
    #[error(
        "no phase of `{workload}` is ended by time, so that none can go on until it is steady; add `--set time=4s`, or \
         `stop.time` in its file"
    )]
    NothingTimed { workload: String },
}

/// Condition of `--until` that ends timed phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    pub round: Nanos,
}

/// The reason why a text is not a condition of `--until`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UntilError {
    /// No condition has this name.
    #[error("{}", unknown(text))]
    Unknown { text: String },
    /// The length of a round is malformed.
    #[error("{}: {source}", unknown(text))]
    Round {
        text: String,
        /// The error in the length.
        source: UnitError,
    },
    /// Rounds are too short to be counted in.
    #[error("rounds of {round} are too short: use at least one second")]
    TooShort { round: Nanos },
}

fn unknown(text: &str) -> String {
    format!("invalid condition `{text}`; use `steady`, or `steady:10s` for rounds of ten seconds")
}

impl std::str::FromStr for Until {
    type Err = UntilError;
    fn from_str(text: &str) -> Result<Until, UntilError> {
        let unknown_condition = || UntilError::Unknown { text: text.to_owned() };
        match text.split_once(':') {
            None if text == "steady" => Ok(Until { round: Steady::default().round }),
            Some(("steady", round)) => {
                let round: Nanos =
                    round.parse().map_err(|source| UntilError::Round { text: text.to_owned(), source })?;
                if round.0 < Steady::default().round.0 {
                    return Err(UntilError::TooShort { round });
                }
                Ok(Until { round })
            }
            _ => Err(unknown_condition()),
        }
    }
}

/// Extends every timed phase until it is steady by SNIA's rule, or for 25 rounds. Its time limit becomes a bound
/// that the rule never reaches.
///
/// # Errors
/// [`ConditionError::NothingTimed`].
pub fn until_steady(workload: &mut Workload, until: Until) -> Result<(), ConditionError> {
    let mut timed = 0;
    for phase in &mut workload.phase {
        if phase.stop.time.is_some() && phase.stop.steady.is_none() {
            phase.stop = steady_stop(&phase.stop, until.round);
        }
        timed += usize::from(phase.stop.steady.is_some());
    }
    if timed == 0 {
        return Err(ConditionError::NothingTimed { workload: workload.name.clone() });
    }
    Ok(())
}

fn steady_stop(stop: &Stop, round: Nanos) -> Stop {
    let steady = Steady { round, ..Steady::default() };
    // One round more than the rule takes: intervals are seconds as they pass, not exact to the nanosecond.
    let time = Nanos(round.0.saturating_mul(u64::from(steady.max_rounds) + 1));
    Stop { time: Some(time), steady: Some(steady), ..stop.clone() }
}

/// Inserts preconditioning before the phases of a workload: each file and device with block I/O is written twice in
/// sequence. Then, before each phase that writes, its own writes run in rounds until they are steady. `capacity`
/// returns the size of a target that sets none.
///
/// # Errors
/// [`ConditionError::NothingToFill`].
pub fn precondition(
    workload: &mut Workload,
    capacity: impl Fn(&Target) -> Option<u64>,
) -> Result<Preconditioning, ConditionError> {
    let mut added = Preconditioning { fills: Vec::new(), rounds: Vec::new() };
    let mut phases = Vec::new();
    for (name, target) in &workload.target {
        let has_extent = match target {
            Target::File(_) | Target::Files(_) | Target::Device(_) => true,
            Target::Sim(sim) => sim.files.is_none(),
            Target::Tree(_)
            | Target::JobFiles(_)
            | Target::Scratch(_)
            | Target::SharedTree(_)
            | Target::Recorded(_)
            | Target::Host(_)
            | Target::Null(_) => false,
        };
        let first = workload
            .phase
            .iter()
            .find(|phase| phase.workers.iter().any(|group| group.target == *name && group.work.blocks().is_some()));
        let (true, Some(first)) = (has_extent, first) else { continue };
        let bytes = capacity(target);
        phases.push(fill(name, bytes, first.cache));
        added
            .fills
            .push(FilledTarget { target: name.clone(), bytes: bytes.map(|bytes| bytes.saturating_mul(FILL_PASSES)) });
    }
    if added.fills.is_empty() {
        return Err(ConditionError::NothingToFill { workload: workload.name.clone() });
    }
    for phase in std::mem::take(&mut workload.phase) {
        if let Some(rounds) = rounds(&phase) {
            let longest = rounds.stop.time.unwrap_or_default();
            added.rounds.push(RoundPlan { phase: phase.name.clone(), longest });
            phases.push(rounds);
        }
        phases.push(phase);
    }
    workload.phase = phases;
    Ok(added)
}

fn fill(target: &str, bytes: Option<u64>, cache: CachePolicy) -> Phase {
    // A size that is not a multiple of the block ends in a smaller one. When bypassing the cache,
    // blocks must divide the size.
    let fitting = bytes
        .filter(|bytes| *bytes > 0)
        .map_or(FILL_BLOCK, |bytes| FILL_BLOCK.min(1 << bytes.trailing_zeros().min(62)));
    let direct = cache == CachePolicy::Direct && fitting >= 512;
    let work = Blocks {
        pattern: Pattern::Sequential,
        block: BlockSize::Fixed(Bytes(if direct {
            fitting
        } else {
            FILL_BLOCK.min(bytes.unwrap_or(FILL_BLOCK).max(1))
        })),
        mix: Mix::WRITE,
        ..Blocks::default()
    };
    let group = WorkerGroup {
        depth: if direct { FILL_DEPTH } else { 1 },
        limit: Limit { passes: Some(FILL_PASSES), ..Limit::default() },
        ..WorkerGroup::new(target, work)
    };
    Phase {
        cache: if direct { CachePolicy::Direct } else { CachePolicy::AsIs },
        ..Phase::new(format!("{PRECONDITIONING}-fill-{target}"), vec![group])
    }
}

/// Returns the phase's own writes, at full speed, until they are steady.
fn rounds(phase: &Phase) -> Option<Phase> {
    let writers = phase.workers.iter().filter_map(|group| {
        let blocks = group.work.blocks().filter(|blocks| blocks.mix.write > 0)?;
        Some(WorkerGroup {
            work: Blocks { mix: Mix::WRITE, ..blocks.clone() }.into(),
            limit: Limit::default(),
            pace: Pace::default(),
            steady: None,
            ..group.clone()
        })
    });
    let workers: Vec<WorkerGroup> = writers.collect();
    if workers.is_empty() {
        return None;
    }
    Some(Phase {
        name: format!("{PRECONDITIONING}-rounds-{}", phase.name),
        ramp: Nanos(0),
        stop: steady_stop(&Stop::default(), Steady::default().round),
        workers,
        ..phase.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_bench::place::capacity_bytes;
    use plumb_workload_text::named::{self, RunPlace, Scale};
    use plumb_workload_text::validate::validate;

    fn workload(name: &str) -> Workload {
        named::select(name).unwrap()[0].workload(&Scale::moderate(RunPlace::Directory))
    }

    fn names(workload: &Workload) -> Vec<&str> {
        workload.phase.iter().map(|phase| phase.name.as_str()).collect()
    }

    #[test]
    fn twice_the_capacity_then_rounds_then_the_measured_phase() {
        let mut work = workload("random-write");
        let measured = work.phase[0].clone();
        let added = precondition(&mut work, capacity_bytes).unwrap();
        assert_eq!(names(&work), ["preconditioning-fill-data", "preconditioning-rounds-random-write", "random-write"]);
        assert_eq!(work.phase[2], measured, "the measured phase is unchanged");
        assert_eq!(added.fills, [FilledTarget { target: "data".to_owned(), bytes: Some(2 << 30) }]);
        assert_eq!(work.phase[0].workers[0].limit.passes, Some(2));
        assert!(work.phase[1].stop.steady.is_some());
        assert_eq!(validate(&work), []);
    }

    #[test]
    fn a_phase_that_only_reads_is_filled_without_rounds() {
        let mut work = workload("random-read");
        let added = precondition(&mut work, capacity_bytes).unwrap();
        assert_eq!(names(&work), ["preconditioning-fill-data", "random-read"]);
        assert_eq!(added.rounds, []);
        assert_eq!(validate(&work), []);
    }

    #[test]
    fn only_the_writes_of_a_mix_run_in_the_rounds() {
        let mut work = workload("database");
        precondition(&mut work, capacity_bytes).unwrap();
        assert_eq!(
            names(&work),
            ["preconditioning-fill-data", "preconditioning-fill-log", "preconditioning-rounds-database", "database"]
        );
        for group in &work.phase[2].workers {
            assert!(group.work.blocks().is_some_and(|blocks| blocks.mix == Mix::WRITE), "{group:?}");
        }
        assert_eq!(validate(&work), []);
    }

    #[test]
    fn file_sets_have_nothing_to_fill() {
        let error = precondition(&mut workload("mail"), capacity_bytes).unwrap_err().to_string();
        assert!(error.contains("nothing to precondition: `mail`"), "{error}");
    }

    #[test]
    fn until_steady_outlasts_the_rule() {
        let mut work = workload("random-read");
        until_steady(&mut work, "steady:10s".parse().unwrap()).unwrap();
        let stop = &work.phase[0].stop;
        let rule = stop.steady.unwrap();
        assert_eq!(rule.round, Nanos(10_000_000_000));
        assert!(stop.time.unwrap().0 > rule.round.0 * u64::from(rule.max_rounds));
        assert_eq!(validate(&work), []);
        let mut untimed = workload("random-read");
        untimed.phase[0].stop.time = None;
        assert!(until_steady(&mut untimed, Until { round: Nanos(1_000_000_000) }).is_err());
    }

    #[test]
    fn other_conditions_are_refused() {
        for text in ["stady", "steady:", "steady:soon", "steady:1ms", ""] {
            assert!(text.parse::<Until>().is_err(), "{text}");
        }
    }
}
