//! From a phase to its workers: everything that can be wrong is found here, before anything starts.

use crate::bind::Stamping;
use crate::content::IntervalError;
use crate::rng::StreamId;
use crate::source::blocks::{BlockPlan, PlanError, PlanRequest};
use crate::worker::{Budget, Queue};
use plumb_workload::{Blocks, CachePolicy, Checksum, Phase, Stop, Work, WorkerGroup, Workload};

/// Offsets, lengths and memory of direct I/O are multiples of this. Source: open(2), NOTES on `O_DIRECT`.
const DIRECT_ALIGNMENT_BYTES: u64 = 512;

/// Why a worker cannot be planned.
#[derive(Debug, thiserror::Error)]
#[error("phase `{phase}`, {group}: {reason}")]
pub struct WorkerPlanError {
    pub(crate) phase: String,
    pub(crate) group: String,
    pub(crate) reason: String,
}

/// The place of a worker in its phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerSeat<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) phase_number: u32,
    pub(crate) group: &'a WorkerGroup,
    pub(crate) group_number: usize,
    /// Within its group.
    pub(crate) number: u32,
    /// Within the phase, over all groups.
    pub(crate) worker: u32,
}

impl WorkerSeat<'_> {
    /// Name of the group.
    pub(crate) fn group_name(&self) -> String {
        self.group.name.clone().unwrap_or_else(|| format!("workers.{}", self.group_number))
    }

    /// Name of the worker.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.group_name(), self.number)
    }

    /// Its random numbers.
    pub(crate) fn stream(&self, seed: u64) -> StreamId {
        StreamId { seed, phase: self.phase_number, worker: self.worker }
    }

    /// An error about this worker.
    pub(crate) fn error(&self, reason: impl ToString) -> WorkerPlanError {
        WorkerPlanError { phase: self.phase.name.clone(), group: self.group_name(), reason: reason.to_string() }
    }

    /// How many passes its source makes: its own limit, or one where nothing else ends block I/O.
    pub(crate) fn passes(&self) -> Option<u64> {
        let Stop { time, bytes, ops, steady, .. } = &self.phase.stop;
        let limit = &self.group.limit;
        let phase_ends = time.is_some() || bytes.is_some() || ops.is_some() || steady.is_some();
        let worker_ends = limit.bytes.is_some() || limit.ops.is_some();
        match (limit.passes, &self.group.work) {
            (Some(passes), _) => Some(passes),
            (None, Work::Blocks(_)) if !phase_ends && !worker_ends => Some(1),
            (None, _) => None,
        }
    }

    /// What it may use up.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            ops: self.group.limit.ops.unwrap_or(u64::MAX),
            bytes: self.group.limit.bytes.map_or(u64::MAX, |bytes| bytes.0),
            shares_limit: self.phase.stop.ops.is_some() || self.phase.stop.bytes.is_some(),
        }
    }

    /// How it gathers ops.
    pub(crate) fn queue(&self) -> Queue {
        let batch = self.group.batch;
        Queue {
            depth: self.group.depth,
            submit: if batch.submit == 0 { self.group.depth } else { batch.submit },
            complete: batch.complete.clamp(1, self.group.depth),
        }
    }

    /// The processor that it runs on.
    pub(crate) fn cpu(&self) -> Option<u32> {
        let cpus = &self.group.cpus;
        (!cpus.is_empty()).then(|| cpus[self.number as usize % cpus.len()])
    }

    /// Its block I/O over files of these lengths.
    pub(crate) fn blocks(&self, blocks: &Blocks, lengths: &[u64], seed: u64) -> Result<BlockPlan, WorkerPlanError> {
        let direct = self.phase.cache == CachePolicy::Direct;
        let request = PlanRequest {
            blocks,
            file_lengths: lengths,
            worker_in_group: self.number,
            stream: self.stream(seed),
            passes: self.passes(),
            io_alignment_bytes: if direct { DIRECT_ALIGNMENT_BYTES } else { 1 },
        };
        BlockPlan::new(&request).map_err(|error: PlanError| self.error(error))
    }
}

/// Every worker of a phase, in order.
pub(crate) fn seats(phase: &Phase, phase_number: u32) -> impl Iterator<Item = WorkerSeat<'_>> {
    let groups = phase.workers.iter().enumerate();
    let all = groups.flat_map(move |(group_number, group)| {
        (0..group.count).map(move |number| WorkerSeat { phase, phase_number, group, group_number, number, worker: 0 })
    });
    (0..).zip(all).map(|(worker, seat)| WorkerSeat { worker, ..seat })
}

/// How the blocks of a target are stamped: at a distance that suits everything that writes or verifies it in the whole
/// workload. `None` where nothing of it is verified.
pub(crate) fn stamping(
    workload: &Workload,
    target: &str,
    lengths: &[u64],
    run_seed: u64,
) -> Result<Option<Stamping>, WorkerPlanError> {
    let mut checksum: Option<Checksum> = None;
    let mut interval_bytes = 0;
    for (number, phase) in workload.phase.iter().enumerate() {
        for seat in seats(phase, number as u32).filter(|seat| seat.group.target == target) {
            let (Work::Blocks(blocks), Some(verify)) = (&seat.group.work, seat.group.verify) else { continue };
            let plan = seat.blocks(blocks, lengths, workload.seed)?;
            interval_bytes = gcd(interval_bytes, plan.verify_interval_bytes());
            if checksum.is_some_and(|other| other != verify.checksum) {
                return Err(seat.error("all workers that verify one target need the same `checksum`"));
            }
            checksum = Some(verify.checksum);
            crate::content::Verifier::new(interval_bytes, None).map_err(|error: IntervalError| seat.error(error))?;
        }
    }
    Ok(checksum.map(|checksum| Stamping { checksum, interval_bytes, seed: run_seed, first_sequence: 0 }))
}

/// A run of bytes that one worker touches. Those of one worker do not overlap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    target: String,
    file: u32,
    start: u64,
    end: u64,
    verifies: bool,
    writes: bool,
}

/// Finds reads that are to be verified while the same bytes are written: such a read may see half of a write, which is
/// no fault of the storage.
#[derive(Debug, Default)]
pub(crate) struct Verifiable {
    touched: Vec<Touched>,
}

impl Verifiable {
    /// Adds a worker. Refused where it would meet itself.
    pub(crate) fn add(
        &mut self,
        seat: &WorkerSeat<'_>,
        blocks: &Blocks,
        plan: &BlockPlan,
    ) -> Result<(), WorkerPlanError> {
        let verifies = seat.group.verify.is_some() && blocks.mix.read > 0;
        let writes = blocks.mix.write + blocks.mix.trim > 0;
        if verifies && writes && seat.group.depth > 1 && plan.repeats_itself() {
            return Err(seat.error(
                "at this depth a read may be in flight beside a write of the same block, and cannot be verified; use \
                 `depth = 1`, a permutation, or a phase of its own for verifying",
            ));
        }
        if verifies || writes {
            self.touched.extend(plan.pieces.iter().map(|piece| Touched {
                target: seat.group.target.clone(),
                file: piece.file,
                start: piece.start,
                end: piece.start + piece.length,
                verifies,
                writes,
            }));
        }
        Ok(())
    }

    /// Refuses a phase in which one worker verifies what another writes.
    pub(crate) fn check(mut self, phase: &Phase) -> Result<(), WorkerPlanError> {
        self.touched.sort_unstable();
        let mut place = None;
        // How far those that begin before reach.
        let (mut verified, mut written) = (0, 0);
        for touched in &self.touched {
            let here = Some((&touched.target, touched.file));
            if here != place {
                (place, verified, written) = (here, 0, 0);
            }
            if (touched.verifies && touched.start < written) || (touched.writes && touched.start < verified) {
                return Err(WorkerPlanError {
                    phase: phase.name.clone(),
                    group: format!("target `{}`", touched.target),
                    reason: format!(
                        "around byte {} one worker would verify what another writes, and may read half of a write; give \
                         each its own range (`offset-increment` with `span`), or verify in a phase of its own",
                        touched.start
                    ),
                });
            }
            if touched.verifies {
                verified = verified.max(touched.end);
            }
            if touched.writes {
                written = written.max(touched.end);
            }
        }
        Ok(())
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
