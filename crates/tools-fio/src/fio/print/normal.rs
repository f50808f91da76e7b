//! `normal`: the default text, which many scripts parse too.

use super::grid::{self, BucketShares};
use super::group::{self, share_of_group, together};
use super::number::{NumberUnit, Prefix, fixed, plain, scaled, scaled_from};
use super::report::{
    DirectionReport, DiskUse, Figure, Io, JobReport, KbBase, Latency, NotMeasured, ReadWriteCounts, Report, Samples,
    SteadyBy, SteadyOf, SteadyReport, SteadyScale, UnitBase, UnitWork,
};
use crate::fio::Compat;

/// Formats the final report: every job that did something, the run status groups, the disks.
pub fn normal(report: &Report) -> String {
    let mut text = String::from("\n");
    for job in &report.jobs {
        text += &job_text(report, job);
    }
    text += &group::status(report);
    if let Some(disks) = report.disks.as_ref().filter(|disks| !disks.is_empty()) {
        text += "\nDisk stats (read/write):\n";
        for disk in disks {
            let indent = if disk.below.is_some() { "    " } else { "  " };
            text += &format!("{indent}{}: {}", plain(&disk.name, None, report.compat), disk_use("", &disk.counters));
            if let Some(below) = &disk.below {
                text += &format!(", {}", disk_use("aggr", below));
            }
            text.push('\n');
            text += &not_measured(&disk.counters.not_measured(), report.compat);
        }
    }
    if let Some(idleness) = &report.idleness {
        text += &format!("\nCPU idleness:\n  system: {}%\n", fixed(idleness.system_percent, 2));
        if let Some(each) = &idleness.each_percent {
            let each: Vec<String> = each.iter().map(|percent| format!("{}%", fixed(*percent, 2))).collect();
            text += &format!("  percpu: {}\n", each.join(", "));
        }
        text += &unit_work(idleness.unit);
    }
    text
}

/// Formats the line about the unit of work that fio uses to measure idle processors.
pub fn unit_work(unit: UnitWork) -> String {
    format!("  unit work: mean={}us, stddev={}\n", fixed(unit.mean_us, 2), fixed(unit.stddev_us, 2))
}

/// Lists the zeros that represent numbers that were not measured.
fn not_measured(missing: &[NotMeasured], compat: Compat) -> String {
    if compat == Compat::Strict || missing.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = missing.iter().map(|one| one.name.as_str()).collect();
    format!("  not measured : {}\n", names.join(", "))
}

pub(super) fn job_text(report: &Report, job: &JobReport) -> String {
    let nothing = !job.does_no_io && job.io.named().iter().all(|(_, one)| one.bytes == 0 && one.ios == 0);
    // fio prints nothing for a job that did nothing. An error that prevented it from running is printed.
    if nothing && (report.compat == Compat::Strict || (job.failures.error.is_none() && job.sync.count == 0)) {
        return String::new();
    }
    let error = match &job.failures.error {
        None => " 0".to_owned(),
        Some(error) => format!("{:2} ({})", error.code, plain(&error.text, None, report.compat)),
    };
    let mut text = format!(
        "{}: (groupid={}, jobs={}): err={error}: pid={}: {}\n",
        plain(&job.name, None, report.compat),
        job.group,
        job.members,
        job.pid,
        report.at.text
    );
    if let Some(description) = job.description.as_ref().filter(|text| !text.is_empty()) {
        text += &format!("  Description  : [{}]\n", plain(description, None, report.compat));
    }
    for (name, one) in job.io.named() {
        if one.bytes > 0 && one.runtime_ms > 0 {
            text += &direction(report, job, name, one);
        }
    }
    text += &shares("nsec", &job.latency_shares.ns);
    text += &shares("usec", &job.latency_shares.us);
    text += &shares("msec", &job.latency_shares.ms);
    if let Some(latency) = job.sync.latency.value().filter(|latency| latency.count > 0) {
        text += "  fsync/fdatasync/sync_file_range/syncfs:\n";
        text += &latency_line("sync", latency);
        text += &percentiles(report, job, "sync", latency);
    }
    let cpu = job.cpu_percent();
    let count = |figure: &Figure<u64>| figure.value().copied().unwrap_or(0);
    text += &format!(
        "  cpu          : usr={}%, sys={}%, ctx={}, majf={}, minf={}\n",
        fixed(cpu.user, 2),
        fixed(cpu.system, 2),
        count(&job.cpu.context_switches),
        count(&job.cpu.major_faults),
        count(&job.cpu.minor_faults)
    );
    let row = |names: [&str; 7], figure: &Figure<[f64; 7]>| {
        let shares = figure.value().copied().unwrap_or_default();
        let cells: Vec<String> =
            names.iter().zip(shares).map(|(name, one)| format!("{name}={}%", fixed(one, 1))).collect();
        cells.join(", ")
    };
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    text += &format!("  IO depths    : {}\n", row(["1", "2", "4", "8", "16", "32", ">=64"], &job.depths.level));
    text += &format!("     submit    : {}\n", row(batches, &job.depths.submit));
    text += &format!("     complete  : {}\n", row(batches, &job.depths.complete));
    text += &issued(job);
    if let Some(continued) = &job.failures.continued {
        let first = plain(&continued.first_text, None, report.compat);
        text +=
            &format!("     errors    : total={}, first_error={}/<{first}>\n", continued.total, continued.first_code);
    }
    if let Some(target) = &job.latency_target {
        text += &format!(
            "     latency   : target={}, window={}, percentile={}%, depth={}\n",
            short_time(target.target_ns),
            short_time(target.window_us.saturating_mul(1000)),
            fixed(target.percentile, 2),
            target.depth
        );
    }
    if let Some(state) = &job.steady {
        text += &steady(job, state, report.compat);
    }
    text + &not_measured(&job.not_measured(), report.compat)
}

fn direction(report: &Report, job: &JobReport, name: &str, one: &DirectionReport) -> String {
    let display = &job.display;
    let rate = one.bytes_per_second();
    let iops = super::direction::rate(one.ios, one.runtime_ms);
    let figures = display.significant_figures;
    let (shown, shown_other) = match (name, &job.io, report.compat) {
        // fio omits the unit when it prints the sum of the directions.
        ("mixed", Io::Both(..), Compat::Strict) => (
            scaled(rate, figures, display.prefix(), NumberUnit::None),
            scaled(rate, figures, display.prefix().other(), NumberUnit::None),
        ),
        _ => (display.rate(rate), display.rate_other(rate)),
    };
    let mut text = format!(
        "  {name}: IOPS={}, BW={shown} ({shown_other})({}/{}msec){}\n",
        scaled(iops, figures, Prefix::Si, NumberUnit::None),
        display.bytes(one.bytes),
        one.runtime_ms,
        job.zone_resets.map(|resets| format!("; {resets} zone resets")).unwrap_or_default()
    );
    let times = [("slat", &one.slat), ("clat", &one.clat), (" lat", &one.lat)];
    let present = |figure: &&Figure<Latency>| figure.value().is_some_and(|latency| latency.count > 0);
    for (name, latency) in times.iter().filter(|(_, figure)| present(figure)) {
        text += &latency_line(name, latency.value().unwrap_or(&Latency::default()));
    }
    let of = display.percentiles_of;
    let priorities = || {
        let named = one.priorities.iter().map(|one| {
            let (what, figure) = one.shown(of);
            let [class, level, hint] = one.numbers();
            (format!("{what} prio {class}/{level}/{hint}"), figure)
        });
        named.filter_map(|(name, figure)| Some((name, figure.value().filter(|latency| latency.count > 0)?)))
    };
    for (name, latency) in priorities() {
        text += &latency_line(&name, latency);
    }
    for ((name, figure), wanted) in times.iter().zip([of.slat, of.clat, of.lat]) {
        if let Some(latency) = figure.value().filter(|latency| wanted && latency.count > 0) {
            text += &percentiles(report, job, name.trim_start(), latency);
        }
    }
    if of.clat || of.lat {
        let all: u64 = priorities().map(|(_, latency)| latency.count).sum();
        for (name, latency) in priorities() {
            let share = latency.count as f64 * 100.0 / all as f64;
            text += &percentiles(report, job, &format!("{name} ({}% of IOs)", fixed(share, 2)), latency);
        }
    }
    if let Some(samples) = one.bandwidth.value().filter(|samples| samples.count > 0) {
        text += &bandwidth_line(report, job, name, samples);
    }
    if let Some(samples) = one.iops.value().filter(|samples| samples.count > 0) {
        text += &format!(
            "   iops        : min={:>5}, max={:>5}, avg={}, stdev={}, samples={}\n",
            samples.min,
            samples.max,
            padded(samples.mean),
            padded(samples.stddev),
            samples.count
        );
    }
    text
}

/// Returns the line of the samples of the bandwidth.
fn bandwidth_line(report: &Report, job: &JobReport, name: &str, samples: &Samples) -> String {
    let display = &job.display;
    let share = share_of_group(samples.mean.trunc(), together(report, job, name));
    let (base, factor) = (
        match display.kb_base {
            KbBase::Binary => 1024.0,
            KbBase::Decimal => 1000.0,
        },
        match (display.unit_base, report.compat) {
            (UnitBase::Bits, Compat::Meant) => 8.0,
            // fio intends to show bits here too, but never does.
            (UnitBase::Bits, Compat::Strict) | (UnitBase::Bytes, _) => 1.0,
        },
    );
    let binary = display.kb_base == KbBase::Binary;
    let (small, large) = match (display.unit_base, binary, report.compat) {
        (UnitBase::Bits, true, Compat::Meant) => ("Kibit", "Mibit"),
        (UnitBase::Bits, false, Compat::Meant) => ("kbit", "Mbit"),
        (UnitBase::Bytes, false, Compat::Meant) => ("kB", "MB"),
        (_, false, Compat::Strict) => ("kB", "MiB"),
        (_, true, _) => ("KiB", "MiB"),
    };
    let (unit, divisor) = if samples.mean * factor > base * base { (large, base) } else { (small, 1.0) };
    let show = |value: f64| value * factor / divisor;
    format!(
        "   bw ({unit:>5}/s): min={:>5}, max={:>5}, per={}%, avg={}, stdev={}, samples={}\n",
        show(samples.min as f64) as u64,
        show(samples.max as f64) as u64,
        fixed(share, 2),
        padded(show(samples.mean)),
        padded(show(samples.stddev)),
        samples.count
    )
}

/// Formats two decimals, at least five characters wide (C's `%5.02f`).
fn padded(value: f64) -> String {
    format!("{:>5}", fixed(value, 2))
}

/// Formats a latency line in the largest unit that suits the minimum, the maximum and the spread.
fn latency_line(name: &str, latency: &Latency) -> String {
    let (min, max, spread) = (latency.min_ns, latency.max_ns, latency.stddev_ns);
    let (unit, divisor) = if min > 2_000_000 && max > 99_999_999 && spread > 1e6 {
        ("msec", 1_000_000)
    } else if min > 2_000 && max > 99_999 && spread > 1e3 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    };
    format!(
        "    {name} ({unit}): min={}, max={}, avg={}, stdev={}\n",
        scaled(min / divisor, 6, Prefix::Si, NumberUnit::None),
        scaled(max / divisor, 6, Prefix::Si, NumberUnit::None),
        padded(latency.mean_ns / divisor as f64),
        padded(spread / divisor as f64)
    )
}

fn percentiles(report: &Report, job: &JobReport, name: &str, latency: &Latency) -> String {
    let found = grid::percentiles(latency, &job.display.percentiles, report.compat);
    let (Some(first), Some(last)) = (found.first(), found.last()) else { return String::new() };
    let (unit, thousands) = if first.value_ns > 2_000_000 && last.value_ns > 99_999_999 {
        ("msec", 2)
    } else if first.value_ns > 2_000 && last.value_ns > 99_999 {
        ("usec", 1)
    } else {
        ("nsec", 0)
    };
    let digits = (last.value_ns / 1000u64.pow(thousands)).max(1).ilog10() as usize + 1;
    let (width, precision) = (digits.max(5), usize::from(job.display.percentile_precision));
    let per_line = ((80 - 7) / (precision + 10 + width)).max(1);
    let cells: Vec<String> = found
        .iter()
        .map(|one| {
            let value = (0..thousands).fold(one.value_ns, |value, _| value.div_ceil(1000));
            format!(" {:>wide$}th=[{value:>width$}]", fixed(one.percent, precision), wide = precision + 3)
        })
        .collect();
    let lines: Vec<String> = cells.chunks(per_line).map(|line| format!("     |{}", line.join(","))).collect();
    format!("    {name} percentiles ({unit}):\n{}\n", lines.join(",\n"))
}

/// Formats the non-empty classes, five per line.
fn shares(unit: &str, shares: &[f64]) -> String {
    let cells: Vec<String> = BucketShares::NAMES
        .iter()
        .zip(shares)
        .filter(|(_, share)| **share > 0.0)
        .map(|(name, share)| format!("{name}={}%", fixed(grid::shown(*share), 2)))
        .collect();
    cells.chunks(5).map(|line| format!("  lat ({unit})   : {}\n", line.join(", "))).collect()
}

fn issued(job: &JobReport) -> String {
    let blocks = job.io.named();
    // Mixed numbers are counted as reads.
    let of = |pick: &dyn Fn(&DirectionReport) -> u64| {
        let cells: Vec<String> =
            (0..3).map(|place| blocks.get(place).map_or(0, |(_, one)| pick(one)).to_string()).collect();
        cells.join(",")
    };
    let count = |figure: &Figure<u64>| figure.value().copied().unwrap_or(0);
    format!(
        "     issued rwts: total={},{} short={},0 dropped={},0\n",
        of(&|one| one.ios),
        job.sync.count,
        of(&|one| count(&one.short)),
        of(&|one| count(&one.dropped))
    )
}

/// Formats a time in the largest unit in which it is at least 2.
fn short_time(ns: u64) -> String {
    let (divisor, unit) = match ns {
        2_000_000_000.. => (1e9, "s"),
        2_000_000.. => (1e6, "ms"),
        2_000.. => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    format!("{}{unit}", fixed(ns as f64 / divisor, 2))
}

fn steady(job: &JobReport, state: &SteadyReport, compat: Compat) -> String {
    let display = &job.display;
    let mean = SteadyReport::mean(&state.bytes_per_second);
    let figures = display.significant_figures;
    let (rate, rate_other) = match compat {
        Compat::Meant => (display.rate(mean), display.rate_other(mean)),
        // fio divides by its own base and then prints the prefix of the other base.
        Compat::Strict => {
            let thousands = mean
                / match display.kb_base {
                    KbBase::Binary => 1024,
                    KbBase::Decimal => 1000,
                };
            let show = |prefix| scaled_from(thousands, 1, figures, prefix, display.rate_unit());
            (show(display.prefix()), show(display.prefix().other()))
        }
    };
    let latency = match state.of {
        SteadyOf::Latency => {
            let mean = SteadyReport::mean(&state.latency_ns);
            format!(", lat={}nsec", scaled(mean, figures, Prefix::Si, NumberUnit::None))
        }
        SteadyOf::Iops | SteadyOf::Bandwidth => String::new(),
    };
    format!(
        "  steadystate  : attained={}, bw={} ({}), iops={}{latency}, {}{}={}{}\n",
        if state.attained { "yes" } else { "no" },
        rate,
        rate_other,
        scaled(SteadyReport::mean(&state.iops), figures, Prefix::Si, NumberUnit::None),
        match state.of {
            SteadyOf::Iops => "iops",
            SteadyOf::Bandwidth => "bw",
            SteadyOf::Latency => "lat",
        },
        match state.by {
            SteadyBy::Slope => " slope",
            SteadyBy::MeanDeviation => " mean dev",
        },
        fixed(state.criterion, 3),
        match state.scale {
            SteadyScale::Percent => "%",
            SteadyScale::Absolute => "",
        }
    )
}

fn disk_use(prefix: &str, counters: &DiskUse) -> String {
    let pair = |one: ReadWriteCounts| format!("{}/{}", one.read, one.write);
    let maybe = |figure: &Figure<ReadWriteCounts>| pair(figure.value().copied().unwrap_or_default());
    format!(
        "{prefix}ios={}, {prefix}sectors={}, {prefix}merge={}, {prefix}ticks={}, {prefix}in_queue={}, {prefix}util={}%",
        pair(counters.ios),
        pair(counters.sectors),
        maybe(&counters.merges),
        maybe(&counters.ticks_ms),
        counters.in_queue_ms,
        fixed(counters.util_percent.clamp(0.0, 100.0), 2)
    )
}
