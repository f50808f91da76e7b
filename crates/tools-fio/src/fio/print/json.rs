//! The formats `json` and `json+`.

use super::grid::{self, BucketShares};
use super::group::{share_of_group, together};
use super::json_text::{JsonObject, JsonValue};
use super::report::{
    DirectionReport, DiskReport, DiskUse, Figure, GivenOption, Idleness, Io, JobReport, Latency, NotMeasured,
    PriorityReport, ReadWriteCounts, Report, Samples, SteadyBy, SteadyOf, SteadyReport, SteadyScale,
};
use crate::fio::Compat;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFormat {
    Plain,
    /// `json+`: with the buckets of every latency that shows percentiles.
    Bins,
}

/// Formats the whole document, with a line end. It contains only JSON, and every number in it is finite.
pub fn json(report: &Report, format: JsonFormat) -> String {
    let mut root = JsonObject::default();
    root.set("fio version", report.version.as_str())
        .set("timestamp", report.at.unix_ms / 1000)
        .set("timestamp_ms", report.at.unix_ms)
        .set("time", report.at.text.as_str());
    if !report.global_options.is_empty() {
        root.set("global options", options(&report.global_options));
    }
    root.set("jobs", report.jobs.iter().map(|one| job(report, one, format).into()).collect::<Vec<JsonValue>>());
    if let Some(disks) = report.disks.as_ref().filter(|disks| !disks.is_empty()) {
        root.set("disk_util", disks.iter().map(|one| disk(one, report.compat).into()).collect::<Vec<JsonValue>>());
    }
    if let Some(idleness) = &report.idleness {
        root.set("cpu_idleness", idle(idleness));
    }
    root.text()
}

fn idle(idleness: &Idleness) -> JsonObject {
    let mut object = JsonObject::default();
    object.set("system", idleness.system_percent);
    for (cpu, percent) in idleness.each_percent.iter().flatten().enumerate() {
        object.set(&format!("cpu-{cpu}"), *percent);
    }
    object.set("unit_mean", idleness.unit.mean_us).set("unit_stddev", idleness.unit.stddev_us);
    object
}

pub(super) fn options(given: &[GivenOption]) -> JsonObject {
    let mut object = JsonObject::default();
    for one in given {
        object.set(&one.name, one.value.as_str());
    }
    object
}

/// Formats a job of another host, whose remaining time is unknown here.
pub(super) fn job_of_host(report: &Report, one: &JobReport, format: JsonFormat) -> JsonObject {
    let mut object = job(report, one, format);
    object.remove("eta");
    object.remove("elapsed");
    object
}

/// Formats a disk of another host.
pub(super) fn disk_of_host(one: &DiskReport, compat: Compat) -> JsonObject {
    disk(one, compat)
}

fn job(report: &Report, job: &JobReport, format: JsonFormat) -> JsonObject {
    let mut object = JsonObject::default();
    object
        .set("jobname", job.name.as_str())
        .set("groupid", job.group)
        .set("job_start", job.times.started_unix_ms)
        .set("error", job.failures.error.as_ref().map_or(0, |error| error.code))
        .set("eta", job.times.eta_s)
        .set("elapsed", job.times.elapsed_s);
    if !job.options.is_empty() {
        object.set("job options", options(&job.options));
    }
    let maker = Maker { report, job, format };
    let mut late = None;
    for (name, one) in job.io.named() {
        let block = maker.direction(name, one);
        // Mixed numbers replace the others, or follow the flushes if the others are present too.
        match (name, &job.io) {
            ("mixed", Io::Both(..)) => late = Some(block),
            _ => drop(object.set(name, block)),
        }
    }
    // In mixed mode, fio omits the flushes, and programs that read its output expect none.
    if !matches!(job.io, Io::Mixed(_)) {
        let of = job.display.percentiles_of;
        let mut sync = JsonObject::default();
        sync.set("total_ios", job.sync.count).set("lat_ns", maker.latency(&job.sync.latency, of.clat || of.lat));
        object.set("sync", sync);
    }
    if let Some(block) = late {
        object.set("mixed", block);
    }
    let cpu = job.cpu_percent();
    let count = |figure: &Figure<u64>| figure.value().copied().unwrap_or(0);
    object
        .set("job_runtime", job.runtime_ms)
        .set("usr_cpu", cpu.user)
        .set("sys_cpu", cpu.system)
        .set("ctx", count(&job.cpu.context_switches))
        .set("majf", count(&job.cpu.major_faults))
        .set("minf", count(&job.cpu.minor_faults))
        .set("iodepth_level", shares(&LEVELS, job.depths.level.value().unwrap_or(&[0.0; 7])))
        .set("iodepth_submit", shares(&BATCHES, job.depths.submit.value().unwrap_or(&[0.0; 7])))
        .set("iodepth_complete", shares(&BATCHES, job.depths.complete.value().unwrap_or(&[0.0; 7])))
        .set("latency_ns", shares(&BucketShares::NAMES, &job.latency_shares.ns.map(grid::shown)))
        .set("latency_us", shares(&BucketShares::NAMES, &job.latency_shares.us.map(grid::shown)))
        .set("latency_ms", shares(&BucketShares::NAMES, &job.latency_shares.ms.map(grid::shown)));
    if let Some(continued) = &job.failures.continued {
        object.set("total_err", continued.total).set("first_error", continued.first_code);
    }
    if let Some(target) = &job.latency_target {
        object
            .set("latency_depth", target.depth)
            .set("latency_target", target.target_ns)
            .set("latency_target_ns", target.target_ns)
            .set("latency_percentile", target.percentile)
            .set("latency_window", target.window_us)
            .set("latency_window_us", target.window_us);
    }
    if let Some(description) = job.description.as_ref().filter(|text| !text.is_empty()) {
        object.set("desc", description.as_str());
    }
    if let Some(state) = &job.steady {
        object.set("steadystate", steady(state));
    }
    if let Some(resets) = job.zone_resets {
        object.set("zone_resets", resets);
    }
    not_measured(&mut object, &job.not_measured(), report.compat);
    object
}

/// Lists the zeros that represent numbers that were not measured.
fn not_measured(object: &mut JsonObject, missing: &[NotMeasured], compat: Compat) {
    if compat == Compat::Strict || missing.is_empty() {
        return;
    }
    let mut names = JsonObject::default();
    for one in missing {
        names.set(&one.name, one.reason.as_str());
    }
    object.set("not_measured", names);
}

/// Names of the classes of queue depths.
const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Names of the classes of batches.
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

fn shares(names: &[&str], shares: &[f64]) -> JsonObject {
    let mut object = JsonObject::default();
    for (name, share) in names.iter().zip(shares) {
        object.set(name, *share);
    }
    object
}

struct Maker<'a> {
    report: &'a Report,
    job: &'a JobReport,
    format: JsonFormat,
}

impl Maker<'_> {
    fn direction(&self, name: &str, one: &DirectionReport) -> JsonObject {
        let bytes_per_second = one.bytes_per_second();
        let of = self.job.display.percentiles_of;
        let count = |figure: &Figure<u64>| figure.value().copied().unwrap_or(0);
        let bandwidth = one.bandwidth.value().copied().unwrap_or_default();
        let iops = one.iops.value().copied().unwrap_or_default();
        let share = match one.bandwidth.value() {
            // Only here, fio truncates the mean to a whole number.
            Some(Samples { count: 1.., mean, .. }) => {
                share_of_group(mean.trunc(), together(self.report, self.job, name))
            }
            _ => 0.0,
        };
        let mut object = JsonObject::default();
        object
            .set("io_bytes", one.bytes)
            .set("io_kbytes", one.bytes >> 10)
            .set("bw_bytes", bytes_per_second)
            .set("bw", bytes_per_second / 1024)
            .set("iops", one.ios_per_second())
            .set("runtime", one.runtime_ms)
            .set("total_ios", one.ios)
            .set("short_ios", count(&one.short))
            .set("drop_ios", count(&one.dropped))
            .set("slat_ns", self.latency(&one.slat, of.slat))
            .set("clat_ns", self.latency(&one.clat, of.clat))
            .set("lat_ns", self.latency(&one.lat, of.lat));
        if !one.priorities.is_empty() {
            let priorities = one.priorities.iter().map(|one| self.priority(one).into());
            object.set("prios", priorities.collect::<Vec<JsonValue>>());
        }
        object
            .set("bw_min", bandwidth.min)
            .set("bw_max", bandwidth.max)
            .set("bw_agg", share)
            .set("bw_mean", bandwidth.mean)
            .set("bw_dev", bandwidth.stddev)
            .set("bw_samples", bandwidth.count)
            .set("iops_min", iops.min)
            .set("iops_max", iops.max)
            .set("iops_mean", iops.mean)
            .set("iops_stddev", iops.stddev)
            .set("iops_samples", iops.count);
        object
    }

    fn priority(&self, one: &PriorityReport) -> JsonObject {
        let of = self.job.display.percentiles_of;
        let (name, latency) = one.shown(of);
        let [class, level, hint] = one.numbers();
        let mut object = JsonObject::default();
        object
            .set("prioclass", class)
            .set("prio", level)
            .set("priohint", hint)
            .set(&format!("{name}_ns"), self.latency(latency, of.clat || of.lat));
        object
    }

    fn latency(&self, figure: &Figure<Latency>, with_percentiles: bool) -> JsonObject {
        let nothing = Latency::default();
        let latency = figure.value().unwrap_or(&nothing);
        let mut object = JsonObject::default();
        object
            .set("min", latency.min_ns)
            .set("max", latency.max_ns)
            .set("mean", latency.mean_ns)
            .set("stddev", latency.stddev_ns)
            .set("N", latency.count);
        let Some(histogram) = latency.histogram.as_ref().filter(|_| with_percentiles && latency.count > 0) else {
            return object;
        };
        let percentiles = grid::percentiles(latency, &self.job.display.percentiles, self.report.compat);
        if !percentiles.is_empty() {
            let mut values = JsonObject::default();
            for one in percentiles {
                values.set(&super::number::float(one.percent), one.value_ns);
            }
            object.set("percentile", values);
        }
        if self.format == JsonFormat::Bins {
            let mut bins = JsonObject::default();
            for bin in grid::bins(histogram) {
                bins.push(grid::value(bin.bucket).to_string(), bin.count);
            }
            object.set("bins", bins);
        }
        object
    }
}

fn steady(state: &SteadyReport) -> JsonObject {
    let unit = match state.scale {
        SteadyScale::Percent => "%",
        SteadyScale::Absolute => "",
    };
    let of = match state.of {
        SteadyOf::Iops => "iops",
        SteadyOf::Bandwidth => "bw",
        SteadyOf::Latency => "lat",
    };
    let by = match state.by {
        SteadyBy::Slope => "_slope",
        SteadyBy::MeanDeviation => "",
    };
    let list = |values: &[u64]| {
        let to_come = std::iter::repeat_n(&0, state.intervals.saturating_sub(values.len()));
        values.iter().chain(to_come).map(|one| JsonValue::from(*one)).collect::<Vec<JsonValue>>()
    };
    let mut data = JsonObject::default();
    data.set("bw_mean", SteadyReport::mean(&state.bytes_per_second)).set("iops_mean", SteadyReport::mean(&state.iops));
    if state.of == SteadyOf::Latency {
        data.set("lat_mean", SteadyReport::mean(&state.latency_ns)).set("lat_ns", list(&state.latency_ns));
    }
    data.set("iops", list(&state.iops)).set("bw", list(&state.bytes_per_second));
    let float = super::number::float;
    let mut object = JsonObject::default();
    object
        .set("ss", format!("{of}{by}:{}{unit}", float(state.limit)).as_str())
        .set("duration", state.duration_s)
        .set("attained", u64::from(state.attained))
        .set("criterion", format!("{}{unit}", float(state.criterion)).as_str())
        .set("max_deviation", state.max_deviation)
        .set("slope", state.slope)
        .set("data", data);
    object
}

fn disk(disk: &DiskReport, compat: Compat) -> JsonObject {
    let mut object = JsonObject::default();
    object.set("name", disk.name.as_str());
    disk_use(&mut object, "", &disk.counters);
    if let Some(below) = &disk.below {
        disk_use(&mut object, "aggr_", below);
    }
    not_measured(&mut object, &disk.counters.not_measured(), compat);
    object
}

fn disk_use(object: &mut JsonObject, prefix: &str, counters: &DiskUse) {
    let pair = |figure: &Figure<ReadWriteCounts>| figure.value().copied().unwrap_or_default();
    let (merges, ticks) = (pair(&counters.merges), pair(&counters.ticks_ms));
    // fio omits the `s` in this one name, and programs rely on that.
    let write_merges = if prefix.is_empty() { "write_merges" } else { "write_merge" };
    for (name, value) in [
        ("read_ios", counters.ios.read),
        ("write_ios", counters.ios.write),
        ("read_sectors", counters.sectors.read),
        ("write_sectors", counters.sectors.write),
        ("read_merges", merges.read),
        (write_merges, merges.write),
        ("read_ticks", ticks.read),
        ("write_ticks", ticks.write),
        ("in_queue", counters.in_queue_ms),
    ] {
        object.set(&format!("{prefix}{name}"), value);
    }
    object.set(&format!("{prefix}util"), counters.util_percent.clamp(0.0, 100.0));
}
