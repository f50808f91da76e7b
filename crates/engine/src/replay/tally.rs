//! Statistics of a replay, and its differences from the recording. Each lane counts alone; the counts
//! are added up when it ends.

use super::call::CallSurvey;
use crate::source::trace::{RecordedOp, ReplayError};
use plumb_result::{DifferentOutcome, ReplayCounts, ReplayMeasurement, ReplayedSum};
use plumb_workload::blocks::trace::Recording;
use plumb_workload::{OpKind, Timing};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of gap buckets. The bucket follows from the gap's magnitude and the four bits below its highest bit.
const GAP_BUCKETS: usize = 64 * 16;

/// Maximum number of pieces that a recording is divided into to compare rates.
const PIECES: u64 = 1024;

/// Maximum number of pieces if the replay takes longer than the recording.
const PIECES_MAX: usize = 4 * PIECES as usize;

/// Minimum length of a piece. Other lengths are this times a power of two, so that the pieces
/// of several processes can be added.
const PIECE_NS: u64 = 10_000_000;

fn piece_ns(length_ns: u64) -> u64 {
    PIECE_NS * length_ns.div_ceil(PIECES * PIECE_NS).max(1).next_power_of_two()
}

fn bucket(ns: u64) -> usize {
    let magnitude = 64 - ns.leading_zeros() as usize;
    match magnitude {
        0..=4 => ns as usize,
        _ => (magnitude - 4) * 16 + (ns >> (magnitude - 5)) as usize % 16,
    }
}

/// Counts of one lane, or the sum over lanes.
#[derive(Debug, Clone, Default)]
struct Counted {
    begun: u64,
    overtaken: u64,
    held: u64,
    last_ns: (u64, u64),
    counts: ReplayCounts,
    different: Vec<DifferentOutcome>,
    different_count: u64,
    /// Files that had to be opened because the recording has no open of them.
    opened_beside: u64,
    /// Closes of descriptors that the recording did not open.
    closes_of_others: u64,
}

impl Counted {
    fn add(&mut self, other: Counted) {
        self.begun += other.begun;
        self.overtaken += other.overtaken;
        self.held += other.held;
        self.last_ns = (self.last_ns.0.max(other.last_ns.0), self.last_ns.1.max(other.last_ns.1));
        self.counts.add(other.counts);
        for outcome in other.different {
            ReplayMeasurement::add_different(&mut self.different, outcome);
        }
        self.different_count += other.different_count;
        self.opened_beside += other.opened_beside;
        self.closes_of_others += other.closes_of_others;
    }
}

/// Sum of the lanes' counts, with the recording's totals.
#[derive(Debug)]
pub(crate) struct ReplayTally {
    lanes: Mutex<Counted>,
    recorded: std::collections::BTreeMap<OpKind, ReplayedSum>,
    length_ns: u64,
    busy_ns: Option<u64>,
    left_out: Vec<(String, u64)>,
    timing: Timing,
    order: Option<plumb_workload::ReplayOrder>,
    lane_count: u32,
    lanes_wanted: u32,
}

/// Scales recorded times to the replay's speed.
fn at_speed(ns: u64, timing: Timing) -> u64 {
    match timing {
        Timing::Recorded { speed_percent } => (ns as f64 * 100.0 / speed_percent) as u64,
        _ => ns,
    }
}

impl ReplayTally {
    pub(super) fn new(
        survey: &CallSurvey,
        timing: Timing,
        order: plumb_workload::ReplayOrder,
        lane_count: u32,
    ) -> ReplayTally {
        ReplayTally {
            lanes: Mutex::default(),
            recorded: survey.ops.clone(),
            length_ns: survey.length_ns,
            busy_ns: survey.busy_ns,
            left_out: survey.left_out.clone(),
            timing,
            order: Some(order),
            lane_count,
            lanes_wanted: survey.lane_count,
        }
    }

    /// Creates the tally for block I/O from one queue. Reads the whole recording once.
    ///
    /// # Errors
    /// The recording cannot be read, or the timing needs durations that it lacks.
    pub(crate) fn of_ops(
        recording: &Recording,
        ops: impl Iterator<Item = Result<RecordedOp, ReplayError>>,
    ) -> Result<ReplayTally, ReplayError> {
        let mut survey = CallSurvey { busy_ns: Some(0), lane_count: 1, ..CallSurvey::default() };
        let mut ends = (u64::MAX, 0);
        for op in ops {
            let op = op?;
            ends = (ends.0.min(op.at_ns), ends.1.max(op.at_ns));
            let sum = survey.ops.entry(op.kind).or_default();
            sum.ops += 1;
            sum.bytes += if op.kind.moves_bytes() { u64::from(op.length) } else { 0 };
            survey.busy_ns =
                survey.busy_ns.filter(|_| op.took_ns != u64::MAX).map(|busy_ns| busy_ns.saturating_add(op.took_ns));
        }
        survey.length_ns = ends.1.saturating_sub(ends.0);
        let timing = match (recording.speed_percent, recording.in_flight) {
            (Some(speed_percent), _) => Timing::Recorded { speed_percent: speed_percent.into() },
            (None, true) => Timing::InFlight,
            (None, false) => Timing::AsFastAsPossible,
        };
        if timing == Timing::InFlight && survey.busy_ns.is_none() {
            return Err(ReplayError::NoDurations { path: recording.path.clone(), timing: "in-flight" });
        }
        Ok(ReplayTally { order: None, ..ReplayTally::new(&survey, timing, plumb_workload::ReplayOrder::None, 1) })
    }

    /// Creates the start statistics of a lane.
    pub(crate) fn lane(self: &Arc<ReplayTally>) -> LaneTally {
        let counts = ReplayCounts {
            gaps: [vec![0; GAP_BUCKETS], vec![0; GAP_BUCKETS]],
            // Allocate in advance: nothing may be allocated while calls are made.
            rates: [0, 1].map(|_| Vec::with_capacity(PIECES_MAX + 1)),
            piece_ns: piece_ns(at_speed(self.length_ns, self.timing)),
            ..ReplayCounts::default()
        };
        let counted = Counted { counts, ..Counted::default() };
        LaneTally { tally: Arc::clone(self), counted, before_ns: None, timing: self.timing }
    }

    /// Creates the result statistics for the backend of a lane.
    pub(super) fn outcomes(self: &Arc<ReplayTally>) -> Outcomes {
        Outcomes { tally: Arc::clone(self), counted: Counted::default() }
    }

    fn add(&self, counted: Counted) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).add(counted);
    }

    /// Returns the measurement over all lanes.
    pub(crate) fn measured(&self) -> ReplayMeasurement {
        let counted = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut measured = ReplayMeasurement {
            timing: self.timing,
            order: self.order,
            threads: self.lane_count,
            threads_recorded: self.lanes_wanted,
            recorded: self.recorded.clone(),
            recorded_length_ns: at_speed(self.length_ns, self.timing),
            // The first call is due at the start, however late it actually begins.
            replayed_length_ns: counted.last_ns.1,
            recorded_busy_ns: self.busy_ns,
            begun: counted.begun,
            overtaken: counted.overtaken,
            held: counted.held,
            own_lag_p99_ns: 0,
            own_lag_max_ns: 0,
            gap_distance: None,
            rate_error: None,
            different: counted.different,
            different_count: counted.different_count,
            opened_beside: counted.opened_beside,
            closes_of_others: counted.closes_of_others,
            left_out: self.left_out.iter().cloned().collect(),
            counts: Some(Box::new(counted.counts)),
        };
        measured.settle();
        measured
    }
}

/// Start statistics of one lane.
pub(crate) struct LaneTally {
    tally: Arc<ReplayTally>,
    counted: Counted,
    before_ns: Option<(u64, u64)>,
    timing: Timing,
}

impl LaneTally {
    /// Counts a call that begins. `at_ns` is its recorded and `now_ns` its actual time after the start. `own_lag_ns` is
    /// its delay after everything that it had to wait for.
    pub(crate) fn begins(&mut self, at_ns: u64, now_ns: u64, own_lag_ns: u64, is_overtaken: bool, was_held: bool) {
        let recorded_ns = at_speed(at_ns, self.timing);
        let counted = &mut self.counted;
        counted.begun += 1;
        counted.overtaken += u64::from(is_overtaken);
        counted.held += u64::from(was_held);
        counted.counts.own_lag.record(own_lag_ns);
        counted.last_ns = (recorded_ns, now_ns.max(counted.last_ns.1));
        if let Some((recorded_before, before)) = self.before_ns.replace((recorded_ns, now_ns)) {
            counted.counts.gaps[0][bucket(recorded_ns.saturating_sub(recorded_before))] += 1;
            counted.counts.gaps[1][bucket(now_ns.saturating_sub(before))] += 1;
        }
        let piece_ns = counted.counts.piece_ns;
        for (rates, ns) in counted.counts.rates.iter_mut().zip([recorded_ns, now_ns]) {
            // Later pieces are merged; the excess shows in the length of the replay.
            let piece = ((ns / piece_ns) as usize).min(PIECES_MAX);
            if rates.len() <= piece {
                rates.resize(piece + 1, 0);
            }
            rates[piece] += 1;
        }
    }
}

impl Drop for LaneTally {
    fn drop(&mut self) {
        self.tally.add(std::mem::take(&mut self.counted));
    }
}

/// Result statistics of one lane.
pub(super) struct Outcomes {
    tally: Arc<ReplayTally>,
    counted: Counted,
}

impl Outcomes {
    /// Counts a call whose result differs from the recorded one. Both results are bytes, 0, or a negative error number.
    #[cold]
    pub(super) fn count_difference(
        &mut self,
        kind: OpKind,
        recorded: i64,
        replayed: i64,
        path: impl FnOnce() -> String,
    ) {
        self.counted.different_count += 1;
        // Differing byte counts all belong to one kind of difference.
        let [recorded, replayed] = [recorded, replayed].map(|result| result.min(i64::from(result > 0)));
        let known = self
            .counted
            .different
            .iter()
            .any(|known| (known.kind, known.recorded, known.replayed) == (kind, recorded, replayed));
        let path = if known { String::new() } else { path() };
        let outcome = DifferentOutcome { kind, recorded, replayed, count: 1, path };
        ReplayMeasurement::add_different(&mut self.counted.different, outcome);
    }

    /// Counts a file that was opened without a recorded open.
    #[cold]
    pub(super) fn count_unrecorded_open(&mut self) {
        self.counted.opened_beside += 1;
    }

    /// Counts a closed descriptor without a recorded open.
    pub(super) fn count_unmatched_close(&mut self) {
        self.counted.closes_of_others += 1;
    }
}

impl Drop for Outcomes {
    fn drop(&mut self) {
        self.tally.add(std::mem::take(&mut self.counted));
    }
}
