//! Numbers in the cells of a table.

use super::super::pass::Pass;
use super::super::settings::Rate;
use plumb_result::{PublishedNumber, Unit};
use plumb_workload::Bytes;

/// Returns the number of a pass as it was printed; `None` if it means that nothing was measured.
pub(super) fn number(pass: Pass, printed: &str, value: f64, rate: Rate, conditions: String) -> Option<PublishedNumber> {
    const NS_PER_US: f64 = 1000.0;
    let (unit, factor, words) = match rate {
        Rate::Kb => (Unit::BytesPerSecond, 1024.0, "kBytes/sec"),
        Rate::Ops => (Unit::OpsPerSecond, 1.0, "ops/sec"),
        Rate::Usec => (Unit::Nanoseconds, NS_PER_US, "µs/op"),
    };
    PublishedNumber::new(pass.kind(), format!("{printed} {words}"), value * factor, unit, conditions)
}

/// Formats sizes in kB of 1024 bytes: `8MiB by 64KiB`. A record of 0 means that none was given.
pub(super) fn sizes(file_kb: u64, record_kb: u64) -> String {
    let size = |kb: u64| Bytes(kb.saturating_mul(1024));
    match record_kb {
        0 => format!("iozone, {}", size(file_kb)),
        _ => format!("iozone, {} by {}", size(file_kb), size(record_kb)),
    }
}
