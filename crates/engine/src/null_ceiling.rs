//! Measures the op rate of the null backend: Plumb's own ceiling on this machine.

use crate::backend::BlockFiles;
use crate::barrier::WorkerSpec;
use crate::bind::{BlockWorker, WorkerFiles};
use crate::bound::BoundBackend;
use crate::clock::Clock;
use crate::content::Writers;
use crate::control::CommonLimit;
use crate::phase::{PhaseRun, Unwatched, run_phase};
use crate::phase_error::PhaseError;
use crate::plan::{GroupRun, WorkerPlanError, WorkerRules, WorkerSeat, seats};
use crate::signals::StopFlag;
use crate::stream_plan::StreamPlan;
use plumb_workload::{Blocks, Bytes, OpKind, Pattern, Phase, RunAs, When, WorkerGroup, Workload};
use std::path::PathBuf;

/// Returns the ops per second of `workers` workers on the null backend, which no result of this machine can exceed.
/// Takes about `time_ns`. Returns the best of three measurements, because other programs can only slow one down.
pub fn null_ceiling_ops(workers: u32, time_ns: u64) -> Result<f64, PhaseError> {
    const MEASUREMENTS: u64 = 3;
    let mut best: f64 = 0.0;
    for _ in 0..MEASUREMENTS {
        best = best.max(measure(workers, time_ns / MEASUREMENTS)?);
    }
    Ok(best)
}

fn measure(workers: u32, time_ns: u64) -> Result<f64, PhaseError> {
    static NEVER: std::sync::OnceLock<StopFlag> = std::sync::OnceLock::new();
    let stop = *NEVER.get_or_init(StopFlag::detached);
    let blocks = Blocks { pattern: Pattern::Random, ..Blocks::default() };
    let group = WorkerGroup { count: workers, ..WorkerGroup::new("null", blocks.clone()) };
    let phase = Phase {
        stop: plumb_workload::Stop { time: Some(plumb_workload::Nanos(time_ns)), ..Default::default() },
        ..Phase::new("null", vec![group])
    };
    let lengths = vec![Bytes(1 << 40).0];
    let spec = |seat: WorkerSeat<'_>| -> Result<WorkerSpec, WorkerPlanError> {
        let stream = seat.stream(Workload::DEFAULT_SEED);
        let worker = BlockWorker {
            name: seat.group_name(),
            group: seat.group.clone(),
            plan: StreamPlan::Plumb(seat.blocks(&blocks, &lengths, stream.seed)?),
            files: WorkerFiles::Held(BlockFiles { lengths: lengths.clone(), ..BlockFiles::default() }),
            backend: BoundBackend::Null,
            queue: seat.queue(),
            pacing: seat.pacing(),
            content: Default::default(),
            stamping: None,
            writers: Writers::Several,
            base: PathBuf::new(),
            stream,
            content_stream: stream,
            recordings: None,
            tally: None,
        };
        Ok(WorkerSpec {
            name: seat.name(),
            group: 0,
            depth: 1,
            cpu: None,
            rules: WorkerRules::default(),
            body: worker.body(),
        })
    };
    let workers: Vec<WorkerSpec> = seats(&phase, 0)
        .map(spec)
        .collect::<Result<_, _>>()
        .map_err(|error| PhaseError::Worker { worker: "null".to_owned(), reason: error.to_string() })?;
    let run = PhaseRun {
        name: phase.name.clone(),
        groups: vec![GroupRun::default()],
        run_as: vec![RunAs::Thread; workers.len()],
        workers,
        ramp_ns: 0,
        time_ns: Some(time_ns),
        limit: CommonLimit::default(),
        when: When::AllDone,
        steady: None,
        working_set_bytes: None,
        flush_inside_clock: true,
        board: None,
        replay: None,
        others: None,
    };
    let measured = run_phase(Clock::best(), run, stop, &mut Unwatched)?.measurement;
    let reads = measured.ops.get(&OpKind::Read).map_or(0, |op| op.count);
    Ok(measured.per_second(reads).unwrap_or(0.0))
}
