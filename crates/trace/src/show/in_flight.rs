//! Ops in flight at the start of another one.

use super::{Histogram, Sheet};
use crate::record::Record;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum number of ops in flight that are counted.
const IN_FLIGHT_MAX: usize = 4096;

/// Window size in ops. A long recording is sampled: only the first of every eight windows counts, without its first
/// few ops, whose predecessors in flight are unknown.
const IN_FLIGHT_WINDOW: u64 = 4096;
const IN_FLIGHT_WARM_UP: u64 = 256;
const LONG: u64 = 1 << 17;

#[derive(Default)]
pub(super) struct InFlight {
    /// Their end times.
    ends_ns: BinaryHeap<Reverse<u64>>,
    pub(super) depths: Histogram,
    took_ns: f64,
}

impl InFlight {
    /// Counts the ops in flight when this one starts, including itself. It is the `number`th op, from 1.
    pub(super) fn add(&mut self, record: &Record, number: u64) {
        self.took_ns += record.took_ns as f64;
        let in_window = number % IN_FLIGHT_WINDOW;
        if number >= LONG {
            if !(number / IN_FLIGHT_WINDOW).is_multiple_of(8) {
                return;
            }
            if in_window == 0 {
                self.ends_ns.clear();
            }
        }
        while self.ends_ns.peek().is_some_and(|Reverse(end_ns)| *end_ns <= record.at_ns) {
            self.ends_ns.pop();
        }
        if self.ends_ns.len() < IN_FLIGHT_MAX {
            self.ends_ns.push(Reverse(record.at_ns.saturating_add(record.took_ns)));
        }
        if number < LONG || in_window >= IN_FLIGHT_WARM_UP {
            self.depths.add(self.ends_ns.len() as u64);
        }
    }

    /// Writes its part of a section, for ops that began within `span_ns`.
    pub(super) fn put(&self, sheet: &mut Sheet, section: &str, span_ns: f64) {
        if self.depths.total() > 0 {
            if span_ns > 0.0 {
                sheet.put(section, "mean in flight", self.took_ns / span_ns);
            }
            sheet.put(section, "in flight p99", self.depths.quantile(0.99) as f64);
        }
    }
}
