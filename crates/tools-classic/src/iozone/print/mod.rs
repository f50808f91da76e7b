//! Prints IOzone's output.

pub mod biff;
pub mod head;
pub mod heat;
pub mod latency;
pub mod report;
pub mod table;
pub mod throughput;

use super::pass::Pass;
use super::settings::Rate;
use super::sweep::SizePoint;

/// The result of a pass over all rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPass {
    pub pass: Pass,
    pub point: SizePoint,
    /// Number of processes; 0 for a single-process test.
    pub children: u32,
    pub rounds: Vec<Round>,
}

/// One round of a pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    pub bytes: u64,
    pub ops: u64,
    /// Counted time in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
    pub children: Vec<Child>,
    /// Time from the start of the first process to the end of the last, in nanoseconds.
    pub parent_ns: u64,
}

/// One process of a round.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Child {
    pub bytes: u64,
    pub ops: u64,
    /// Counted time in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
}

fn per_second(amount: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { amount as f64 * 1e9 / elapsed_ns as f64 }
}

impl Child {
    /// Returns its rate in the reported unit.
    pub fn rate(&self, unit: Rate) -> f64 {
        match unit {
            Rate::Kb => per_second(self.bytes, self.elapsed_ns) / 1024.0,
            Rate::Ops => per_second(self.ops, self.elapsed_ns),
            Rate::Usec if self.ops == 0 => 0.0,
            Rate::Usec => self.elapsed_ns as f64 / 1000.0 / self.ops as f64,
        }
    }

    /// Returns the amount that it transferred, in the unit of throughput tests.
    pub fn amount(&self, unit: Rate) -> f64 {
        match unit {
            Rate::Kb | Rate::Usec => self.bytes as f64 / 1024.0,
            Rate::Ops => self.ops as f64,
        }
    }
}

impl Round {
    pub fn whole(&self) -> Child {
        Child { bytes: self.bytes, ops: self.ops, elapsed_ns: self.elapsed_ns, cpu_ns: self.cpu_ns }
    }

    /// Returns CPU time in percent of the elapsed time.
    pub fn cpu_percent(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.cpu_ns as f64 * 100.0 / self.elapsed_ns as f64 }
    }
}

impl MeasuredPass {
    /// Returns the mean of the rounds in the reported unit: the rate of a single process, or
    /// the sum of the rates of several.
    pub fn rate(&self, unit: Rate) -> f64 {
        mean(&self.rates(unit))
    }

    pub fn rates(&self, unit: Rate) -> Vec<f64> {
        let of = |round: &Round| match self.children {
            0 => round.whole().rate(unit),
            _ => round.children.iter().map(|child| child.rate(unit)).sum(),
        };
        self.rounds.iter().map(of).collect()
    }

    /// Returns the rate as in the table and the report: truncated to a whole number.
    pub fn whole_rate(&self, unit: Rate) -> u64 {
        self.rate(unit) as u64
    }

    /// Returns CPU time in percent of the elapsed time, as the mean of the rounds.
    pub fn cpu_percent(&self) -> f64 {
        mean(&self.rounds.iter().map(Round::cpu_percent).collect::<Vec<_>>())
    }
}

/// Returns the mean; 0 without values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}
