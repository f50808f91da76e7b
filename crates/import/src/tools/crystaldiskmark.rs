//! CrystalDiskMark: the text that it copies and saves, versions 3 to 9. Its MB are 10^6 bytes.

use crate::amount::{decimal, leading};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("hiyohiyo") && input.has("MB/s")
        || input.head().lines().any(|line| row(line).is_some_and(|row| row.name.contains("Q=")))
}

struct Row<'a> {
    name: &'a str,
    mb_per_second: f64,
    iops: Option<f64>,
    us: Option<f64>,
}

/// Parses `  SEQ    1MiB (Q=  8, T= 1):  3544.112 MB/s [   3379.9 IOPS] <  2364.36 us>`; versions before 7 print
/// `  Random Read 4KiB (Q= 32,T= 1) :   403.286 MB/s [ 98458.5 IOPS]`.
fn row(line: &str) -> Option<Row<'_>> {
    let at = line.find("MB/s")?;
    let (name, value) = line[..at].rsplit_once(':')?;
    let name = name.trim();
    let is_test = ["SEQ", "RND", "Sequential", "Random"].iter().any(|word| name.starts_with(word));
    let within = |open: char, unit: &str| {
        let text = line[at..].split_once(open)?.1.split_once(unit)?.0;
        decimal(text)
    };
    is_test.then_some(())?;
    Some(Row { name, mb_per_second: decimal(value)?, iops: within('[', "IOPS"), us: within('<', "us>") })
}

/// A section of results: `[Read]`, `[Write]`, or `[Mix]`, also with `Read 70%/Write 30%` after it.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Of(OpKind),
    Mixed,
    Unnamed,
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut section = Section::Unnamed;
    for line in input.text().lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("CrystalDiskMark ") || runs.is_empty() {
            let mut run = Run::new("text");
            run.version = trimmed
                .strip_prefix("CrystalDiskMark ")
                .and_then(|rest| rest.split_whitespace().next())
                .unwrap_or_default()
                .to_owned();
            runs.push(run);
            section = Section::Unnamed;
        }
        let Some(run) = runs.last_mut() else { continue };
        match trimmed {
            "[Read]" => section = Section::Of(OpKind::Read),
            "[Write]" => section = Section::Of(OpKind::Write),
            trimmed if trimmed.starts_with("[Mix]") => section = Section::Mixed,
            trimmed => match row(trimmed) {
                Some(row) => add(run, section, &row),
                None => setting(run, trimmed),
            },
        }
    }
    runs.retain(|run| run.size() > 0);
    match runs.is_empty() {
        true => Err(unread("", "no test in the file has a rate", "pass the text that CrystalDiskMark copies or saves")),
        false => Ok(runs),
    }
}

fn add(run: &mut Run, section: Section, row: &Row<'_>) {
    let kind = match section {
        Section::Of(kind) => Some(kind),
        Section::Unnamed if row.name.contains("Read") => Some(OpKind::Read),
        Section::Unnamed if row.name.contains("Write") => Some(OpKind::Write),
        _ => None,
    };
    let name: Vec<&str> = row.name.split_whitespace().collect();
    // The metric has the kind, and both kinds of a test share a phase.
    let name: Vec<&str> = name.into_iter().filter(|word| !matches!(*word, "Read" | "Write")).collect();
    let phase = run.phase_named(&name.join(" "));
    let (rate, ns) = (row.mb_per_second * 1e6, row.us.map(|us| us * 1e3));
    match kind {
        Some(kind) => {
            phase.bandwidth(kind, Some(rate));
            phase.rate(kind, row.iops);
            phase.latency(kind, Stat::Mean, ns);
        }
        None => {
            phase.more("mixed bandwidth", Some(rate), "B/s");
            phase.more("mixed rate", row.iops, "ops/s");
            phase.less("mixed latency mean", ns, "ns");
        }
    }
}

/// Records settings: `Test: 1 GiB (x5) [C: 50% (232/465GiB)]`, `Profile: Default`, `OS: …`.
fn setting(run: &mut Run, line: &str) {
    let Some((name, value)) = line.split_once(':') else { return };
    let name = name.trim();
    if matches!(name, "Test" | "Profile" | "Mode" | "Time" | "OS" | "Date" | "Comment" | "Test Data") {
        run.set(name, Some(value.trim()));
    }
    if name == "Test"
        && let Some((_, drive)) = value.rsplit_once('[')
        && leading(drive).is_none()
        && let Some((drive, _)) = drive.split_once(':')
    {
        run.paths.insert(format!("{}:", drive.trim()));
    }
}
