//! Files of `savePerOpDataCSV`.

use super::exponent;

/// Header row of each file.
pub const OP_CSV_HEAD: &str = "time,runtime,tp\n";

/// Formats the row of an op: start since the first moment (s), duration (s) and throughput (B/s). `bytes`
/// is the amount it moved.
pub fn op_csv_row(bytes: u64, after_ns: u64, took_ns: u64) -> String {
    let seconds = took_ns as f64 / 1e9;
    let rate = if took_ns > 0 { bytes as f64 / seconds } else { 0.0 };
    format!("{},{},{}\n", exponent(after_ns as f64 / 1e9, 8), exponent(seconds, 8), exponent(rate, 6))
}
