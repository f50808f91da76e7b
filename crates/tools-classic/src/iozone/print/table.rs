//! The table of single-process tests.

use super::MeasuredPass;
use crate::iozone::pass::{Pass, Test};
use crate::iozone::settings::{IozoneSettings, Rate};
use crate::iozone::sweep::SizePoint;

/// Returns the two header lines.
pub fn head(settings: &IozoneSettings) -> String {
    if settings.tests.only_writes_and_reads {
        let columns = format!("{:>16}{:>8}{:>9}{:>9}{:>8}{:>10}", "kB", "reclen", "write", "rewrite", "read", "reread");
        return format!("{}\n{columns}\n", " ".repeat(60));
    }
    let mut first = " ".repeat(62);
    let mut second = format!("{:>16}{:>8}{:>9}{:>9}{:>8}{:>10}", "kB", "reclen", "write", "rewrite", "read", "reread");
    first.push_str("random    random     bkwd    record    stride");
    second.push_str("    read     write     read   rewrite      read");
    let tests = settings.table();
    if tests.contains(&Test::Pwrite) {
        first.push_str(&" ".repeat(71));
        second.push_str("   fwrite frewrite    fread  freread  pwrite repwrite   pread   repread");
    } else if tests.contains(&Test::Fwrite) {
        first.push_str(&" ".repeat(36));
        second.push_str("   fwrite frewrite    fread  freread");
    } else {
        first.push_str(&" ".repeat(36));
        second.push_str(&" ".repeat(36));
    }
    format!("{first}\n{second}\n")
}

/// Returns the beginning of a row.
pub fn begin(settings: &IozoneSettings, point: SizePoint) -> String {
    let by_telemetry = settings.telemetry.writes.is_some() || settings.telemetry.reads.is_some();
    let record_kb = if by_telemetry { 0 } else { point.record_bytes / 1024 };
    format!("{:>16}{record_kb:>8}", point.file_kb)
}

/// Returns the columns of a test in a row; blanks if it was not requested.
pub fn columns(settings: &IozoneSettings, test: Test, measured: &dyn Fn(Pass) -> Option<u64>) -> String {
    if !settings.includes(test) {
        return " ".repeat(test.blank());
    }
    let column = |pass: &Pass| {
        let rate = measured(*pass).unwrap_or(0);
        let width = pass.width();
        // As in IOzone, a value that is too wide touches its neighbour.
        format!("{rate:>width$}")
    };
    test.passes().iter().map(column).collect()
}

/// Returns a whole row of measurements.
pub fn row(settings: &IozoneSettings, point: SizePoint, measured: &[MeasuredPass], unit: Rate) -> String {
    let find = |pass: Pass| {
        let found = measured.iter().find(|one| one.pass == pass && one.point == point && one.children == 0);
        found.map(|one| one.whole_rate(unit))
    };
    let columns: String = settings.table().iter().map(|test| columns(settings, *test, &find)).collect();
    format!("{}{columns}\n", begin(settings, point))
}
