//! Measurements of a phase, as IOR counts them.

use super::settings::{Api, Test};
use plumb_result::histogram::Histogram;
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Write,
    /// Reads that verify the written data; their time is not reported.
    WriteCheck,
    Read,
}

impl AccessKind {
    /// Returns the name of the phase.
    pub fn phase(self) -> &'static str {
        match self {
            AccessKind::Write => "write",
            AccessKind::WriteCheck => "write-check",
            AccessKind::Read => "read",
        }
    }

    /// Returns the kind of a phase by its name.
    pub fn of_phase(name: &str) -> Option<AccessKind> {
        [AccessKind::Write, AccessKind::WriteCheck, AccessKind::Read].into_iter().find(|kind| kind.phase() == name)
    }
}

/// Times of one rank, s.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RankTimes {
    /// Time of the open.
    pub open_s: f64,
    /// Time of the transfers, and of `fsync` after writes.
    pub transfer_s: f64,
    /// Time of the close.
    pub close_s: f64,
    pub transfers: u64,
    pub bytes: u64,
    /// Number of transfers before the stonewall; `None` without a stonewall.
    pub at_wall: Option<u64>,
}

/// Measurement of a phase. The time of each rank starts at the common barrier. It includes only calls, and
/// not generating or verifying data.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    pub kind: AccessKind,
    /// Index of the repetition, from 0.
    pub repetition: u32,
    pub ranks: Vec<RankTimes>,
    pub bytes: u64,
    /// Time until the last file was open, s.
    pub open_s: f64,
    /// Time from the first transfer to the last, s.
    pub transfer_s: f64,
    /// Time from the first close to the last, s.
    pub close_s: f64,
    /// Total time, s.
    pub total_s: f64,
    pub latency: Histogram,
    /// Number of reads with wrong data.
    pub mismatched: u64,
    /// Number of short transfers.
    pub short: u64,
    pub failed: Vec<String>,
}

impl Access {
    /// Converts the measurement of a phase; `None` for a phase of another kind.
    pub fn from_measurement(measured: &PhaseMeasurement, test: &Test, repetition: u32) -> Option<Access> {
        let kind = AccessKind::of_phase(&measured.name)?;
        let ranks: Vec<RankTimes> = measured.workers.iter().map(|worker| times(worker, test)).collect();
        let most = |of: fn(&RankTimes) -> f64| ranks.iter().map(of).fold(0.0, f64::max);
        let least = |of: fn(&RankTimes) -> f64| ranks.iter().map(of).fold(f64::INFINITY, f64::min);
        let (open_s, transfer_s, close_s, total_s);
        if test.phases.barriers {
            (open_s, transfer_s, close_s) =
                (most(|rank| rank.open_s), most(|rank| rank.transfer_s), most(|rank| rank.close_s));
            total_s = open_s + transfer_s + close_s;
        } else {
            open_s = most(|rank| rank.open_s);
            transfer_s = most(|rank| rank.open_s + rank.transfer_s) - least(|rank| rank.open_s);
            total_s = most(|rank| rank.open_s + rank.transfer_s + rank.close_s);
            close_s = total_s - least(|rank| rank.open_s + rank.transfer_s);
        }
        let mut latency = Histogram::default();
        for kind in [OpKind::Read, OpKind::Write] {
            if let Some(op) = measured.ops.get(&kind) {
                latency.merge(&op.service);
            }
        }
        let failed: Vec<String> = measured
            .faults
            .iter()
            .filter(|fault| fault.errno.is_some() || fault.op != OpKind::Read)
            .map(|fault| format!("{} of {}: {}", fault.op.name(), fault.path.display(), fault.message))
            .collect();
        Some(Access {
            kind,
            repetition,
            bytes: ranks.iter().map(|rank| rank.bytes).sum(),
            open_s,
            transfer_s,
            close_s,
            total_s,
            latency,
            mismatched: measured.workers.iter().map(wrong_reads).sum(),
            short: measured.short_count,
            failed,
            ranks,
        })
    }

    /// Returns the bytes per second, over the total time.
    pub fn bandwidth(&self) -> f64 {
        over(self.bytes as f64, self.total_s)
    }

    /// Returns the transfers per second, over the time of transfers.
    pub fn iops(&self, test: &Test) -> f64 {
        over(self.bytes as f64 / test.size.transfer_bytes as f64, self.transfer_s)
    }

    /// Returns the transfers per second, over the total time.
    pub fn ops(&self, test: &Test) -> f64 {
        over(self.bytes as f64 / test.size.transfer_bytes as f64, self.total_s)
    }

    /// Returns the mean time of a transfer, s, on the rank with the smallest mean. IOR calls this latency.
    pub(crate) fn mean_transfer_s(&self) -> f64 {
        let means = self.ranks.iter().filter(|rank| rank.transfers > 0);
        means.map(|rank| rank.transfer_s / rank.transfers as f64).reduce(f64::min).unwrap_or(0.0)
    }

    /// Returns the transfers before the stonewall: smallest, largest and mean count of all ranks.
    pub fn at_wall(&self) -> Option<(u64, u64, f64)> {
        let counts: Vec<u64> = self.ranks.iter().filter_map(|rank| rank.at_wall).collect();
        let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
        Some((*counts.iter().min()?, *counts.iter().max()?, mean))
    }
}

/// Counts reads with wrong data. Any other error, or a signal, ends its rank and counts once.
fn wrong_reads(worker: &WorkerMeasurement) -> u64 {
    worker.fault_count.saturating_sub(worker.ended_by.is_some().into())
}

fn over(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

fn times(worker: &WorkerMeasurement, test: &Test) -> RankTimes {
    let mut times = RankTimes { bytes: worker.bytes, at_wall: worker.items_at_wall, ..RankTimes::default() };
    for (kind, op) in &worker.ops {
        let seconds = op.service.sum() as f64 / 1e9;
        match kind {
            OpKind::Create | OpKind::Open | OpKind::Map => times.open_s += seconds,
            OpKind::Close | OpKind::Unmap => times.close_s += seconds,
            kind => {
                times.transfer_s += seconds;
                times.transfers += if kind.moves_bytes() { op.count * test.transfers_a_call() } else { 0 };
            }
        }
    }
    if matches!(test.api, Api::Aio(_)) {
        // Requests remain in flight during the delays.
        times.transfer_s += times.transfers as f64 * f64::from(test.repetition.transfer_delay_us) / 1e6;
    }
    times
}
