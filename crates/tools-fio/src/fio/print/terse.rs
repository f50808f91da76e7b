//! `terse`, versions 2 to 5: one line per job, fields separated by `;`, latencies in microseconds.

use super::grid::{self, PERCENTILES_MAX};
use super::group::together;
use super::number::{fixed, float, plain};
use super::report::{DirectionReport, DiskUse, Figure, JobReport, Latency, ReadWriteCounts, Report};
use crate::fio::Compat;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TerseVersion {
    /// No fio version and no disks, but with trims.
    V2,
    /// The default: without trims.
    #[default]
    V3,
    /// Like 3, with trims.
    V4,
    /// Like 4, with the numbers of samples and of ops per second.
    V5,
}

impl TerseVersion {
    const fn number(self) -> u32 {
        match self {
            TerseVersion::V2 => 2,
            TerseVersion::V3 => 3,
            TerseVersion::V4 => 4,
            TerseVersion::V5 => 5,
        }
    }

    const fn trims(self) -> bool {
        !matches!(self, TerseVersion::V3)
    }
}

/// Formats a line for each job. In version 2 a description has a separate line, as in fio.
pub fn terse(report: &Report, version: TerseVersion) -> String {
    report.jobs.iter().map(|job| line(report, job, version)).collect()
}

fn line(report: &Report, job: &JobReport, version: TerseVersion) -> String {
    let name = plain(&job.name, Some(';'), report.compat);
    let error = job.failures.error.as_ref().map_or(0, |error| error.code);
    let mut fields = Fields(version.number().to_string());
    if version != TerseVersion::V2 {
        fields.push(plain(&report.version, Some(';'), report.compat));
    }
    fields.push(name);
    fields.push(job.group);
    fields.push(error);
    for (name, one) in job.io.named() {
        if name != "trim" || version.trims() {
            direction(&mut fields, report, job, name, one, version);
        }
    }
    let cpu = job.cpu_percent();
    fields.push(format!("{}%", float(cpu.user)));
    fields.push(format!("{}%", float(cpu.system)));
    for figure in [&job.cpu.context_switches, &job.cpu.major_faults, &job.cpu.minor_faults] {
        fields.push(figure.value().copied().unwrap_or(0));
    }
    for share in job.depths.level.value().unwrap_or(&[0.0; 7]) {
        fields.push(format!("{}%", fixed(*share, 1)));
    }
    // The format predates nanoseconds: latencies below 1 µs count in the first class.
    let below_us: f64 = job.latency_shares.ns.iter().sum();
    for (class, share) in job.latency_shares.us.iter().enumerate() {
        let more = if class == 0 { below_us } else { 0.0 };
        fields.push(format!("{}%", fixed(grid::shown(*share) + more, 2)));
    }
    for share in job.latency_shares.ms {
        fields.push(format!("{}%", fixed(grid::shown(share), 2)));
    }
    if version != TerseVersion::V2 {
        for disk in report.disks.iter().flatten() {
            fields.push(plain(&disk.name, Some(';'), report.compat));
            disk_use(&mut fields, &disk.counters);
            if let Some(below) = &disk.below {
                fields.push("slaves");
                disk_use(&mut fields, below);
            }
        }
    }
    if let Some(continued) = &job.failures.continued {
        fields.push(continued.total);
        fields.push(continued.first_code);
    }
    if let Some(description) = job.description.as_ref().filter(|text| !text.is_empty()) {
        if version == TerseVersion::V2 {
            fields.0.push('\n');
        }
        fields.push(plain(description, Some(';'), report.compat));
    }
    fields.0.push('\n');
    fields.0
}

/// Fields, each preceded by its separator.
struct Fields(String);

impl Fields {
    fn push(&mut self, field: impl std::fmt::Display) {
        self.0 += &format!(";{field}");
    }
}

fn direction(
    fields: &mut Fields,
    report: &Report,
    job: &JobReport,
    name: &str,
    one: &DirectionReport,
    version: TerseVersion,
) {
    fields.push(one.bytes >> 10);
    fields.push(one.bytes_per_second() / 1024);
    fields.push(super::direction::rate(one.ios, one.runtime_ms));
    fields.push(one.runtime_ms);
    latency(fields, &one.slat);
    latency(fields, &one.clat);
    percentiles(fields, one, job, report.compat);
    latency(fields, &one.lat);
    let samples = one.bandwidth.value().copied().unwrap_or_default();
    let group = together(report, job, name).rate / 1024;
    let share = match (samples.count, group) {
        (0, _) => 0.0,
        (_, 0) => 100.0,
        _ => (samples.mean * 100.0 / group as f64).min(100.0),
    };
    fields.push(samples.min);
    fields.push(samples.max);
    fields.push(format!("{}%", float(share)));
    fields.push(float(samples.mean));
    fields.push(float(samples.stddev));
    if version == TerseVersion::V5 {
        let iops = one.iops.value().copied().unwrap_or_default();
        fields.push(samples.count);
        fields.push(iops.min);
        fields.push(iops.max);
        fields.push(float(iops.mean));
        fields.push(float(iops.stddev));
        fields.push(iops.count);
    }
}

fn latency(fields: &mut Fields, figure: &Figure<Latency>) {
    let nothing = Latency::default();
    let latency = figure.value().unwrap_or(&nothing);
    fields.push(latency.min_ns / 1000);
    fields.push(latency.max_ns / 1000);
    fields.push(float(latency.mean_ns / 1000.0));
    fields.push(float(latency.stddev_ns / 1000.0));
}

/// Formats exactly 20 percentiles. Missing ones are `0%=0`; without values, they are 0.
fn percentiles(fields: &mut Fields, one: &DirectionReport, job: &JobReport, compat: Compat) {
    let of = job.display.percentiles_of;
    let asked = if of.lat || of.clat { grid::wanted(&job.display.percentiles) } else { Vec::new() };
    let figure = if of.lat { &one.lat } else { &one.clat };
    let found = figure.value().map_or_else(Vec::new, |latency| grid::percentiles(latency, &asked, compat));
    for place in 0..PERCENTILES_MAX {
        match asked.get(place) {
            None => fields.push("0%=0"),
            Some(percent) => {
                let value_us = found.get(place).map_or(0, |one| one.value_ns / 1000);
                fields.push(format!("{}%={value_us}", float(*percent)));
            }
        }
    }
}

fn disk_use(fields: &mut Fields, counters: &DiskUse) {
    let pair = |figure: &Figure<ReadWriteCounts>| figure.value().copied().unwrap_or_default();
    for one in [counters.ios, pair(&counters.merges), pair(&counters.ticks_ms)] {
        fields.push(one.read);
        fields.push(one.write);
    }
    fields.push(counters.in_queue_ms);
    fields.push(format!("{}%", fixed(counters.util_percent.clamp(0.0, 100.0), 2)));
}
