//! The table of `--profile=act`: shares of ops per hour that were slower than its limits.

use plumb_result::Histogram;
use std::fmt::Write;

/// A limit: at most this share of ops may take longer.
struct Limit {
    above_ms: u64,
    percent_max: f64,
}

const LIMITS: [Limit; 3] = [
    Limit { above_ms: 1, percent_max: 5.0 },
    Limit { above_ms: 8, percent_max: 1.0 },
    Limit { above_ms: 64, percent_max: 0.1 },
];

/// Latencies of an hour, or of the rest of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActSlice {
    count: u64,
    /// Number of ops above each limit. As in fio, an op counts only under the highest limit that it exceeds.
    slow: [u64; LIMITS.len()],
}

impl ActSlice {
    /// Length of a slice in nanoseconds.
    pub const LENGTH_NS: u64 = 3_600_000_000_000;

    /// Counts the ops of these latencies, in nanoseconds.
    pub fn from_latencies(latencies: &Histogram) -> ActSlice {
        let mut slice = ActSlice { count: latencies.count(), ..ActSlice::default() };
        for bucket in latencies.buckets() {
            // fio counts whole microseconds.
            let above = |limit: &Limit| bucket.lowest / 1_000 > limit.above_ms * 1_000;
            if let Some(highest) = LIMITS.iter().rposition(above) {
                slice.slow[highest] += bucket.count;
            }
        }
        slice
    }

    fn percents(&self) -> [f64; LIMITS.len()] {
        self.slow.map(|slow| if self.count == 0 { 0.0 } else { 100.0 * slow as f64 / self.count as f64 })
    }

    /// Whether too many ops were slow.
    pub fn fails(&self) -> bool {
        self.percents().iter().zip(&LIMITS).any(|(percent, limit)| *percent >= limit.percent_max)
    }
}

/// Formats the table of all slices and the verdict.
pub fn act_table(slices: &[ActSlice]) -> String {
    let mut text =
        String::from("        trans                   device\n        %>(ms)                  %>(ms)\n slice");
    // As in fio, the application's and the device's latencies are the same here.
    for _ in 0..2 {
        for limit in &LIMITS {
            let _ = write!(text, "\t {:>2}", limit.above_ms);
        }
    }
    text.push_str("\n -----  -----   -----  ------   -----   -----  ------\n");
    for (number, slice) in slices.iter().enumerate() {
        let _ = write!(text, "   {:>2}", number + 1);
        for percent in [slice.percents(), slice.percents()].as_flattened() {
            let _ = write!(text, "\t{percent:.2}");
        }
        text.push('\n');
    }
    let verdict = if slices.iter().any(ActSlice::fails) { "FAILED" } else { "PASSED" };
    let _ = writeln!(text, "\nact: test complete, device(s): {verdict}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the table equals that of fio 3.42, an op counts only under its highest limit,
    // and reaching a limit is a failure.
    #[test]
    fn the_table_is_fios() {
        let mut latencies = Histogram::new();
        latencies.record_n(100_000, 957);
        latencies.record_n(2_000_000, 40);
        latencies.record_n(9_000_000, 3);
        let passed = ActSlice::from_latencies(&latencies);
        assert!(!passed.fails());
        let expected = "        trans                   device\n        %>(ms)                  %>(ms)\n slice\t  1\t  8\t 64\t  1\t  8\t 64\n \
                        -----  -----   -----  ------   -----   -----  ------\n    1\t4.00\t0.30\t0.00\t4.00\t0.30\t0.00\n\nact: test complete, device(s): PASSED\n";
        assert_eq!(act_table(&[passed]), expected);
        latencies.record(100_000_000);
        let failed = ActSlice::from_latencies(&latencies);
        assert!(!failed.fails(), "one in 1,001 is below 0.1 %");
        latencies.record(100_000_000);
        let failed = ActSlice::from_latencies(&latencies);
        assert!(failed.fails());
        assert!(act_table(&[passed, failed]).ends_with("device(s): FAILED\n"));
        assert!(!ActSlice::from_latencies(&Histogram::new()).fails(), "without ops, no op is slow");
    }
}
