//! fio: JSON, JSON+, terse output, logs; [`super::fio_text`] reads its default output.
//!
//! `bw` is in KiB/s and `bw_bytes` in bytes. Latencies are `lat`, from start to completion, if that has percentiles; otherwise
//! `clat`, from submission to completion. Sources: fio's HOWTO, sections "JSON output", "Terse output" and "Log file formats".

use super::fio_text;
use crate::amount::decimal;
use crate::error::unread;
use crate::input::{Input, list_at, number_at, text_at};
use crate::run::{PhaseRead, Run};
use jiff::Timestamp;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use serde_json::Value;

pub(super) const KIB: f64 = 1024.0;
const NS_PER_US: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;

/// Directions in fio's order.
pub(super) const DIRECTIONS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("\"fio version\"")
        || terse_lines(input.head()).next().is_some()
        || fio_text::recognises(input)
        || is_log(input)
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    if input.has("\"fio version\"") || (input.is_json() && input.has("\"jobs\"")) {
        return Ok(vec![read_json(input.json()?)?]);
    }
    if terse_lines(input.text()).next().is_some() {
        return Ok(vec![read_terse(input.text())?]);
    }
    if fio_text::recognises(input) {
        return fio_text::read(input.text());
    }
    if looks_like_log(input.text()) {
        return read_log(input);
    }
    Err(input.nothing("fio's JSON, terse and normal output, and the files of its write_*_log options"))
}

pub(super) fn read_json(value: &Value) -> Result<Run, Unread> {
    let mut run = Run::new("json");
    run.version = text_at(value, &["fio version"]).unwrap_or_default();
    run.version = run.version.trim_start_matches("fio-").to_owned();
    run.at = time_of(value);
    options(&mut run, "", value.get("global options"));
    let (jobs, clients) = (list_at(value, &["jobs"]), list_at(value, &["client_stats"]));
    for job in jobs.iter().chain(clients) {
        let name = text_at(job, &["jobname"]).unwrap_or_default();
        // The sum over clients repeats their numbers.
        if name == "All clients" && clients.len() > 1 {
            continue;
        }
        let name = match text_at(job, &["hostname"]) {
            Some(host) => format!("{host}: {name}"),
            None => name,
        };
        read_job(&mut run, &name, job);
    }
    if jobs.is_empty() && clients.is_empty() {
        return Err(unread(
            "",
            "this JSON has no jobs",
            "pass the complete file that fio wrote with --output-format=json",
        ));
    }
    Ok(run)
}

fn time_of(value: &Value) -> Option<Timestamp> {
    let millis = number_at(value, &["timestamp_ms"]).or_else(|| Some(number_at(value, &["timestamp"])? * 1e3))?;
    Timestamp::from_millisecond(millis as i64).ok().filter(|_| millis > 0.0)
}

fn options(run: &mut Run, prefix: &str, options: Option<&Value>) {
    for (name, value) in options.and_then(Value::as_object).into_iter().flatten() {
        if matches!(name.as_str(), "filename" | "directory") {
            run.paths.extend(value.as_str().map(str::to_owned));
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        run.settings.insert(format!("{prefix}{name}"), value);
    }
}

fn read_job(run: &mut Run, name: &str, job: &Value) {
    options(run, &format!("{name}: "), job.get("job options"));
    if let Some(error) = number_at(job, &["error"]).filter(|error| *error != 0.0) {
        run.error = Some(format!("job {name} ended with error {error}"));
    }
    let mut uses_clat = false;
    let mixed = job.get("mixed");
    let phase = run.phase(name);
    let mut wall_ms = mixed.map_or(0.0, |mixed| read_mixed(phase, mixed));
    for kind in DIRECTIONS {
        let Some(one) = job.get(kind.name()) else { continue };
        let number = |key: &str| number_at(one, &[key]);
        let ops = number("total_ios").unwrap_or(0.0);
        // Before 3.0, `io_bytes` was in KiB, and `io_kbytes` did not exist.
        let bytes = match (number("io_bytes"), number("io_kbytes")) {
            (Some(bytes), Some(_)) => Some(bytes),
            (Some(kib), None) => Some(kib * KIB),
            (None, kib) => kib.map(|kib| kib * KIB),
        };
        if ops == 0.0 && bytes.unwrap_or(0.0) == 0.0 {
            continue;
        }
        wall_ms = wall_ms.max(number("runtime").unwrap_or(0.0));
        phase.bandwidth(kind, number("bw_bytes").or_else(|| Some(number("bw")? * KIB)));
        phase.rate(kind, number("iops"));
        phase.done(kind, Some(ops), bytes);
        uses_clat |= latencies(phase, kind, one);
    }
    if let Some(sync) = job.get("sync") {
        latencies(phase, OpKind::Fsync, sync);
    }
    if mixed.is_some() {
        // Some versions print the directions, too, besides their sum in "mixed".
        run.note(MIXED_NOTE);
    }
    let Some(phase) = run.phases.last_mut() else { return };
    if wall_ms > 0.0 {
        phase.wall_ns = Some(wall_ms * NS_PER_MS);
        phase.less("usr_cpu", number_at(job, &["usr_cpu"]), "%");
        phase.less("sys_cpu", number_at(job, &["sys_cpu"]), "%");
        let depth = number_at(job, &["latency_depth"]).filter(|depth| *depth > 0.0);
        phase.plain("latency_depth", depth, "");
    }
    if uses_clat {
        run.note(CLAT_NOTE);
    }
}

pub(super) const MIXED_NOTE: &str =
    "the job has unified_rw_reporting: `all` covers reads, writes and trims together, which have no metric in common";

/// Reads the sums of all directions that `unified_rw_reporting` prints. Returns the run time, ms.
fn read_mixed(phase: &mut PhaseRead, mixed: &Value) -> f64 {
    let number = |key: &str| number_at(mixed, &[key]);
    phase.more("all bandwidth", number("bw_bytes").or_else(|| Some(number("bw")? * KIB)), "B/s");
    phase.more("all rate", number("iops"), "ops/s");
    for (stat, ns) in latency_values(mixed).1 {
        phase.less(&format!("all latency {}", stat.name()), ns, "ns");
    }
    number("runtime").unwrap_or(0.0)
}

pub(super) const CLAT_NOTE: &str = "latencies are fio's clat: from submission to completion";

/// Adds the latencies of a direction. Returns `true` if they are measured from submission.
fn latencies(phase: &mut PhaseRead, kind: OpKind, one: &Value) -> bool {
    let (is_clat, values) = latency_values(one);
    for (stat, ns) in values {
        phase.latency(kind, stat, ns);
    }
    is_clat && kind != OpKind::Fsync
}

/// Returns whether latencies are measured from submission, and their values, ns.
fn latency_values(one: &Value) -> (bool, Vec<(Stat, Option<f64>)>) {
    // 3.0 and later use nanoseconds, earlier versions microseconds.
    const FORMS: [(&str, f64, bool); 4] =
        [("lat_ns", 1.0, false), ("clat_ns", 1.0, true), ("lat", NS_PER_US, false), ("clat", NS_PER_US, true)];
    let has_any =
        |value: &&Value| number_at(value, &["N"]).unwrap_or(1.0) > 0.0 && number_at(value, &["max"]).is_some();
    let has_percentiles = |value: &Value| {
        ["percentile", "bins"]
            .iter()
            .any(|key| value.get(key).and_then(Value::as_object).is_some_and(|all| !all.is_empty()))
    };
    let found = FORMS.iter().filter_map(|form| Some((form, one.get(form.0).filter(has_any)?)));
    let chosen = found.clone().find(|(_, value)| has_percentiles(value)).or_else(|| found.clone().next());
    let Some((&(_, factor, is_clat), value)) = chosen else { return (false, Vec::new()) };
    let mut values = Vec::new();
    for (key, stat) in [("min", Stat::Min), ("mean", Stat::Mean), ("max", Stat::Max)] {
        values.push((stat, number_at(value, &[key]).map(|number| number * factor)));
    }
    for &stat in Stat::ALL {
        let Some(quantile) = stat.quantile() else { continue };
        let of_table = value.get("percentile").and_then(|table| percentile(table, quantile * 100.0));
        let found = of_table.or_else(|| value.get("bins").and_then(|bins| read_bins(bins, quantile)));
        values.push((stat, found.map(|number| number * factor)));
    }
    (is_clat, values)
}

fn percentile(table: &Value, percent: f64) -> Option<f64> {
    let entries = table.as_object()?.iter();
    let mut of = entries.filter_map(|(key, value)| Some((key.parse::<f64>().ok()?, value.as_f64()?)));
    of.find(|(key, _)| (key - percent).abs() < 1e-6).map(|(_, value)| value)
}

/// Returns a quantile of JSON+'s bins; each key is the value that stands for its bin.
fn read_bins(bins: &Value, quantile: f64) -> Option<f64> {
    let entries = bins.as_object()?.iter();
    let mut all: Vec<(f64, f64)> = entries
        .filter_map(|(key, count)| Some((key.parse().ok()?, count.as_f64().filter(|count| *count > 0.0)?)))
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let total: f64 = all.iter().map(|(_, count)| count).sum();
    let mut below = 0.0;
    all.into_iter()
        .find(|(_, count)| {
            below += count;
            below >= quantile * total
        })
        .map(|(value, _)| value)
}

/// Returns lines of terse output, each with its line number.
fn terse_lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let fields: Vec<&str> = line.trim().split(';').collect();
        let is_one = fields.len() > 80 && matches!(fields[0], "2" | "3" | "4" | "5");
        is_one.then_some((number, fields))
    })
}

/// Reads terse output. A direction has 41 fields, and 47 from version 5. Version 2 lacks fio's own version; 4 and 5 have trims.
fn read_terse(text: &str) -> Result<Run, Unread> {
    let mut run = Run::default();
    for (line, fields) in terse_lines(text) {
        let form: u32 = fields[0].parse().unwrap_or_default();
        run.form = format!("terse {form}");
        let first = if form == 2 { 1 } else { 2 };
        if form > 2 {
            run.version = fields[1].trim_start_matches("fio-").to_owned();
        }
        let of_direction = if form == 5 { 47 } else { 41 };
        let directions = if form >= 4 { 3 } else { 2 };
        let start = first + 3;
        if fields.len() < start + directions * of_direction {
            let message = format!("terse output of version {form} with {} fields", fields.len());
            return Err(unread(format!("line {line}"), message, "pass the whole line as fio printed it"));
        }
        if let Some(error) = decimal(fields[first + 2]).filter(|error| *error != 0.0) {
            run.error = Some(format!("job {} ended with error {error}", fields[first]));
        }
        let phase = run.phase(fields[first]);
        let mut wall_ms = 0.0f64;
        for (number, kind) in DIRECTIONS.into_iter().take(directions).enumerate() {
            let of = &fields[start + number * of_direction..][..of_direction];
            wall_ms = wall_ms.max(terse_direction(phase, kind, of));
        }
        phase.wall_ns = Some(wall_ms * NS_PER_MS);
    }
    run.note(CLAT_NOTE);
    Ok(run)
}

/// Reads a direction's fields: KiB, KiB/s, IOPS, ms, four of slat, four of clat, twenty percentiles, four of lat, in µs.
fn terse_direction(phase: &mut PhaseRead, kind: OpKind, fields: &[&str]) -> f64 {
    let number = |at: usize| decimal(fields[at]);
    if number(0).unwrap_or(0.0) == 0.0 && number(2).unwrap_or(0.0) == 0.0 {
        return 0.0;
    }
    phase.bandwidth(kind, number(1).map(|kib| kib * KIB));
    phase.rate(kind, number(2));
    for (place, stat) in [(8, Stat::Min), (9, Stat::Max), (10, Stat::Mean)] {
        phase.latency(kind, stat, number(place).map(|us| us * NS_PER_US));
    }
    for field in &fields[12..32] {
        let Some((percent, us)) = field.split_once("%=") else { continue };
        let (Some(percent), Some(us)) = (decimal(percent), decimal(us)) else { continue };
        let stat =
            Stat::ALL.iter().copied().find(|stat| stat.quantile().is_some_and(|q| (q * 100.0 - percent).abs() < 1e-6));
        if let Some(stat) = stat {
            phase.latency(kind, stat, Some(us * NS_PER_US));
        }
    }
    number(3).unwrap_or(0.0)
}

/// Kinds of fio's logs, by their file names: `x_bw.1.log`.
const LOGS: [(&str, &str, f64, bool); 5] = [
    ("_bw.", "B/s", KIB, true),
    ("_iops.", "ops/s", 1.0, true),
    ("_slat.", "ns", 1.0, false),
    ("_clat.", "ns", 1.0, false),
    ("_lat.", "ns", 1.0, false),
];

fn is_log(input: &Input<'_>) -> bool {
    log_kind(input.name).is_some() && looks_like_log(input.head())
}

fn log_kind(name: &str) -> Option<&'static (&'static str, &'static str, f64, bool)> {
    let name = name.rsplit('/').next()?;
    LOGS.iter().find(|(part, ..)| name.ends_with(".log") && name.contains(part))
}

fn looks_like_log(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| log_line(line).is_some())
}

/// Parses `time, value, direction, block size[, offset[, priority]]`.
fn log_line(line: &str) -> Option<[f64; 3]> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_whole = |field: &str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    if !(4..=7).contains(&fields.len()) || !fields[..4].iter().all(|field| is_whole(field)) {
        return None;
    }
    Some([fields[0].parse().ok()?, fields[1].parse().ok()?, fields[2].parse().ok()?])
}

fn read_log(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let Some(&(part, unit, factor, is_rate)) = log_kind(input.name) else {
        let help = "name it as fio does, such as x_bw.1.log, x_iops.1.log, x_clat.1.log";
        return Err(unread("", "an fio log has no header, so only its file name shows its kind", help));
    };
    let what = part.trim_matches(['_', '.']);
    let mut run = Run::new(format!("{what} log"));
    let mut sums: [Vec<f64>; 3] = Default::default();
    let mut last_ms = 0.0f64;
    for (number, line) in (1..).zip(input.text().lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let [ms, value, direction] = log_line(line).ok_or_else(|| {
            unread(format!("line {number}"), format!("`{line}` is not a line of a log"), "pass the log as fio wrote it")
        })?;
        let Some(of) = sums.get_mut(direction as usize) else { continue };
        of.push(value * factor);
        last_ms = last_ms.max(ms);
    }
    for (kind, mut values) in DIRECTIONS.into_iter().zip(sums) {
        if values.is_empty() {
            continue;
        }
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        let phase = run.phase(kind.name());
        phase.wall_ns = Some(last_ms * NS_PER_MS);
        let mean = values.iter().sum::<f64>() / count as f64;
        let quantile = |q: f64| values[((q * count as f64).ceil() as usize).clamp(1, count) - 1];
        let of = [
            ("mean", mean),
            ("min", values[0]),
            ("median", quantile(0.5)),
            ("p99", quantile(0.99)),
            ("max", values[count - 1]),
        ];
        for (name, value) in of {
            let name = format!("{what} {name}");
            if is_rate { phase.more(&name, Some(value), unit) } else { phase.less(&name, Some(value), unit) }
        }
        phase.plain("entries", Some(count as f64), "");
    }
    run.note("each entry of the log counts once; with log_avg_msec, each is an average already");
    if !is_rate {
        run.note("fio before 3.0 logged microseconds, which a log does not show; these are read as nanoseconds");
    }
    Ok(vec![run])
}
