//! IOR's CSV tables of ranks and of single transfers.

use super::print::access_name;
use super::result::{Access, AccessKind};
use super::settings::Test;
use crate::aiori::exponent;

/// Formats the rows for `saveRankPerformanceDetailsCSV`: the times of each rank.
pub fn rank_csv(access: &Access) -> String {
    let mut text = String::new();
    for (rank, times) in access.ranks.iter().enumerate() {
        let total_s = times.open_s + times.transfer_s + times.close_s;
        let rate = |seconds: f64| if seconds > 0.0 { times.bytes as f64 / seconds } else { 0.0 };
        let values = [total_s, times.transfer_s, rate(total_s), rate(times.transfer_s)];
        let values: String = values.iter().map(|value| format!(",{}", exponent(*value, 10))).collect();
        text.push_str(&format!("{},{rank}{values}\n", access_name(access)));
    }
    text
}

pub fn rank_csv_head() -> &'static str {
    "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n"
}

/// Returns the file for a rank's transfers. In IOR the last phase of a repetition replaces the others, so that phase
/// gets IOR's name. The other phases have their phase in the name.
pub fn op_csv_name(prefix: &str, test: &Test, phase: &str, repetition: u32, rank: u32) -> String {
    let last = match (test.phases.reads, test.phases.checks_write) {
        (true, _) => AccessKind::Read,
        (false, true) => AccessKind::WriteCheck,
        (false, false) => AccessKind::Write,
    };
    let phase = if phase == last.phase() { String::new() } else { format!("-{phase}") };
    format!("{prefix}{phase}-{repetition}-{rank:05}.csv")
}
