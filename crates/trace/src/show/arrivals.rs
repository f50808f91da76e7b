//! Arrivals of ops: gaps, bursts and rates.

use super::burst::{Burst, WIDTHS_NS};
use super::{Histogram, Rates, Sheet};
use crate::record::Record;

/// Arrivals of the ops of a recording.
#[derive(Default)]
pub(super) struct Arrivals {
    first_ns: Option<u64>,
    last_ns: u64,
    /// Ops that begin before their predecessor in the recording.
    pub(super) out_of_order: u64,
    pub(super) gaps: Histogram,
    /// Sum of squared gaps, ns².
    gap_squares: f64,
    burst: Burst,
    pub(super) rates: Rates,
}

impl Arrivals {
    /// Adds the start of an op.
    pub(super) fn add(&mut self, record: &Record) {
        let is_first = self.first_ns.is_none();
        let first_ns = *self.first_ns.get_or_insert(record.at_ns);
        let before_ns = if is_first { record.at_ns } else { self.last_ns };
        match record.at_ns.checked_sub(before_ns) {
            Some(gap) => {
                if !is_first {
                    self.gaps.add(gap);
                    self.gap_squares += gap as f64 * gap as f64;
                }
                self.last_ns = record.at_ns;
                self.burst.add(record.at_ns);
                self.rates.add(record.at_ns - first_ns, record.act);
            }
            None => self.out_of_order += 1,
        }
    }

    /// Returns the time from the first start to the last, ns.
    pub(super) fn span_ns(&self) -> f64 {
        self.last_ns.saturating_sub(self.first_ns.unwrap_or(0)) as f64
    }

    /// Writes its section. `ops` moved `bytes` in total.
    pub(super) fn put(&self, sheet: &mut Sheet, ops: u64, bytes: u64) {
        let span_ns = self.span_ns();
        if span_ns <= 0.0 {
            return;
        }
        let section = "arrivals";
        let per_second = |count: u64| count as f64 / (span_ns / 1e9);
        sheet.put(section, "ops", per_second(ops));
        sheet.put(section, "data", per_second(bytes));
        sheet.put(section, "mean gap", self.gaps.mean());
        sheet.put(section, "gap p50", self.gaps.quantile(0.5) as f64);
        sheet.put(section, "gap p99", self.gaps.quantile(0.99) as f64);
        let mean = self.gaps.mean();
        let squares = self.gap_squares / self.gaps.total().max(1) as f64;
        let variation = if mean > 0.0 { (squares / (mean * mean) - 1.0).max(0.0) } else { 0.0 };
        sheet.put(section, "squared variation of gaps", variation);
        let peak = self.burst.peak(3) as f64 / per_second(ops).max(1e-9);
        if span_ns > 2e9 {
            sheet.put(section, "busiest second by mean", peak);
        }
        const NAMES: [&str; WIDTHS_NS.len()] = [
            "dispersion at 1 ms",
            "dispersion at 10 ms",
            "dispersion at 100 ms",
            "dispersion at 1 s",
            "dispersion at 10 s",
        ];
        for (name, value) in NAMES.into_iter().zip(self.burst.dispersion()) {
            if let Some(value) = value {
                sheet.put(section, name, value);
            }
        }
        if let Some(hurst) = self.burst.hurst() {
            sheet.put(section, "Hurst exponent", hurst);
        }
    }
}
