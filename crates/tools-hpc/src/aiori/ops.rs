//! The files of `savePerOpDataCSV`.

use super::exponent;

/// The first line of each.
pub const OP_CSV_HEAD: &str = "time,runtime,tp\n";

/// An operation's row: its start since the first moment (s), its duration (s) and its throughput (B/s). `bytes` is what it moved.
pub fn op_csv_row(bytes: u64, after_ns: u64, took_ns: u64) -> String {
    let seconds = took_ns as f64 / 1e9;
    let rate = if took_ns > 0 { bytes as f64 / seconds } else { 0.0 };
    format!("{},{},{}\n", exponent(after_ns as f64 / 1e9, 8), exponent(seconds, 8), exponent(rate, 6))
}
