//! The files of `savePerOpDataCSV`.

use super::exponent;

/// The first line of each.
pub const OP_CSV_HEAD: &str = "time,runtime,tp\n";

/// The row of an operation of so many bytes that began so long after the first moment, and took so long: s, s, B/s.
pub fn op_csv_row(bytes: u64, after_ns: u64, took_ns: u64) -> String {
    let seconds = took_ns as f64 / 1e9;
    let rate = if took_ns > 0 { bytes as f64 / seconds } else { 0.0 };
    format!("{},{},{}\n", exponent(after_ns as f64 / 1e9, 8), exponent(seconds, 8), exponent(rate, 6))
}
