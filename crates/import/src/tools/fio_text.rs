//! fio's normal output, of 2.x and 3.x. Its numbers are rounded to a few digits.

use super::fio::{CLAT_NOTE, DIRECTIONS, MIXED_NOTE};
use crate::amount::{bytes, bytes_of_1024, decimal, scaled, time_ns, unit_ns};
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

/// Recognises `a: (groupid=0, jobs=1): err= 0: pid=1101: Fri Nov 20 18:46:23 2026`.
fn job_line(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(": (groupid=")?;
    rest.contains("err=").then_some((name.trim(), rest))
}

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| job_line(line).is_some())
}

pub(super) fn read(text: &str) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("normal");
    let mut kind: Option<OpKind> = None;
    // Unit of the percentiles that follow, ns.
    let mut unit = 1.0;
    let mut job = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(version) = trimmed.strip_prefix("fio-").filter(|_| !job) {
            run.version = version.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some((name, rest)) = job_line(line) {
            job = true;
            kind = None;
            let error = rest.split_once("err=").and_then(|(_, text)| text.split([':', '(']).next()).and_then(decimal);
            if let Some(error) = error.filter(|error| *error != 0.0) {
                run.error = Some(format!("job {name} ended with error {error}"));
            }
            run.phase(name);
        } else if !job {
            command_options(&mut run, trimmed);
        } else if trimmed.starts_with("Run status group") {
            job = false;
        } else if let Some(values) = direction_named(trimmed, "mixed") {
            kind = None;
            mixed_rates(&mut run, values);
        } else if let Some((one, values)) = direction(trimmed) {
            kind = Some(one);
            rates(&mut run, one, values);
        } else if trimmed.starts_with("fsync/fdatasync") {
            kind = Some(OpKind::Fsync);
        } else if let Some(one) = kind {
            unit = latencies(&mut run, one, trimmed, unit);
        }
    }
    run.note("fio rounds what it prints to three or four digits; its JSON has them all");
    Ok(vec![run])
}

/// Records options of `b: (g=1): rw=read, bs=(R) 64.0KiB-64.0KiB, …, ioengine=io_uring, iodepth=8`, before the results.
fn command_options(run: &mut Run, line: &str) {
    let Some((name, rest)) = line.split_once(": (g=") else { return };
    let Some((_, options)) = rest.split_once("): ") else { return };
    for one in options.split(", ").filter(|one| !one.starts_with('(')) {
        if let Some((key, value)) = one.split_once('=') {
            run.settings.insert(format!("{}: {key}", name.trim()), value.to_owned());
        }
    }
}

fn direction(line: &str) -> Option<(OpKind, &str)> {
    DIRECTIONS.into_iter().find_map(|kind| Some((kind, direction_named(line, kind.name())?)))
}

fn direction_named<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(name)?.trim_start().strip_prefix(':')?;
    (rest.contains("IOPS=") || rest.contains("iops=")).then_some(rest)
}

/// Reads rates of all directions together, for `unified_rw_reporting`.
fn mixed_rates(run: &mut Run, values: &str) {
    run.note(MIXED_NOTE);
    let Some(phase) = run.phases.last_mut() else { return };
    for one in values.split(", ").map(str::trim) {
        match one.split_once('=') {
            Some(("IOPS" | "iops", value)) => phase.more("all rate", scaled(value), "ops/s"),
            Some(("BW", value)) => {
                phase.more("all bandwidth", bytes(value), "B/s");
                let took = value.rsplit_once('/').and_then(|(_, took)| time_ns(took.trim_end_matches(')')));
                phase.extend_to(took);
            }
            Some(("bw", value)) => phase.more("all bandwidth", bytes_of_1024(value), "B/s"),
            _ => {}
        }
    }
}

/// Reads `IOPS=37.3k, BW=146MiB/s (153MB/s)(292MiB/2001msec)`; before 3.0 `io=512.0MB, bw=1234.5KB/s, iops=308,
/// runtime= 1659msec`, where KB is 1024 bytes.
fn rates(run: &mut Run, kind: OpKind, values: &str) {
    let Some(phase) = run.phases.last_mut() else { return };
    let mut is_old = false;
    for one in values.split(", ").map(str::trim) {
        let Some((key, value)) = one.split_once('=') else { continue };
        match key.trim() {
            "IOPS" | "iops" => phase.rate(kind, scaled(value)),
            "BW" => {
                phase.bandwidth(kind, bytes(value));
                let took = value.rsplit_once('/').and_then(|(_, took)| time_ns(took.trim_end_matches(')')));
                phase.extend_to(took);
            }
            "bw" => {
                is_old = true;
                phase.bandwidth(kind, bytes_of_1024(value));
            }
            "runtime" if is_old => phase.extend_to(time_ns(value)),
            _ => {}
        }
    }
}

/// Reads `clat (usec): min=…, max=…, avg=…, stdev=…`, `clat percentiles (usec):`, `|  1.00th=[   55],  5.00th=[  100],`.
fn latencies(run: &mut Run, kind: OpKind, line: &str, unit: f64) -> f64 {
    let named = |what: &str| -> Option<(f64, &str)> {
        let (word, rest) = line.strip_prefix(what)?.trim_start().strip_prefix('(')?.split_once(')')?;
        Some((unit_ns(word)?, rest.trim_start().strip_prefix(':')?))
    };
    if let Some((unit, _)) =
        named("clat percentiles").or_else(|| named("lat percentiles")).or_else(|| named("sync percentiles"))
    {
        if line.starts_with("clat") {
            run.note(CLAT_NOTE);
        }
        return unit;
    }
    let Some(phase) = run.phases.last_mut() else { return unit };
    // The latency that has percentiles comes first and is kept; `lat` is used only without it.
    let whole = named("clat").or_else(|| named("sync")).or_else(|| named("lat").filter(|_| line.contains("min=")));
    if let Some((unit_of, values)) = whole {
        let is_lat = line.starts_with("lat");
        for one in values.split(',').map(str::trim) {
            let Some((key, value)) = one.split_once('=') else { continue };
            let stat = match key.trim() {
                "min" => Stat::Min,
                "max" => Stat::Max,
                "avg" => Stat::Mean,
                _ => continue,
            };
            if !(is_lat && phase.has_latency(kind, stat)) {
                phase.latency(kind, stat, scaled(value).map(|value| value * unit_of));
            }
        }
        return unit;
    }
    if let Some(table) = line.strip_prefix('|') {
        for entry in table.split(']') {
            let Some((percent, value)) = entry.split_once("th=[") else { continue };
            let (Some(percent), Some(value)) = (decimal(percent.trim_matches([',', ' '])), decimal(value)) else {
                continue;
            };
            let stat = Stat::ALL
                .iter()
                .copied()
                .find(|stat| stat.quantile().is_some_and(|q| (q * 100.0 - percent).abs() < 1e-6));
            if let Some(stat) = stat {
                phase.latency(kind, stat, Some(value * unit));
            }
        }
    }
    unit
}
