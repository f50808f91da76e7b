//! md-workbench's output.

use super::part::{Part, PartKind, Sums};
use super::settings::MdWorkbenchSettings;
use crate::aiori::{Divisor, Spread, VERSION, exponent, node_map};
use plumb_result::histogram::Histogram;
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;

const MIB: f64 = (1u64 << 20) as f64;

/// Formats the first lines. `command` includes the program's name; `began` is in md-workbench's time format.
pub fn head(settings: &MdWorkbenchSettings, command: &[String], began: &str) -> String {
    let (called, words) =
        command.split_first().map_or(("md-workbench", [].as_slice()), |(name, rest)| (name.as_str(), rest));
    let words: String = words.iter().map(|word| format!(" \"{word}\"")).collect();
    let map = node_map(settings.launched.as_ref(), settings.ranks);
    let head = format!("Args: {called}{words}\nNodemap: {map}\n");
    if settings.output.quiet {
        return head;
    }
    let ranks_and_sets = u64::from(settings.ranks).saturating_mul(settings.dataset.sets.into());
    let each = settings
        .dataset
        .renewals
        .saturating_mul(settings.phases.iterations.into())
        .saturating_add(settings.dataset.objects);
    let working_set_mib =
        ranks_and_sets as f64 * settings.dataset.objects as f64 * settings.data.object_bytes as f64 / MIB;
    let start = settings.dataset.start_item.map(|item| format!("Using start position {item}\n")).unwrap_or_default();
    let warning = match settings.dataset.renewals > settings.dataset.objects {
        true => "WARNING: num > precreate, this may cause the situation that no objects are available to read\n",
        false => "",
    };
    let columns = match settings.output.detailed {
        true => "phase\t\td name\tcreate\tdelete\tob nam\tcreate\tread\tstat\tdelete\tt_inc_b\tt_no_bar\tthp\tmax_t\n",
        false => "",
    };
    let total = ranks_and_sets.saturating_mul(each);
    format!(
        "{head}{start}MD-Workbench total objects: {total} workingset size: {working_set_mib:.3} MiB \
         (version: {VERSION}) time: {began}\n{warning}{columns}"
    )
}

pub fn phase(settings: &MdWorkbenchSettings, part: &Part, measured: &PhaseMeasurement) -> String {
    let all = Sums::from_measurement(measured);
    let mut text = wall(settings, &all);
    text.push_str(&line(settings, part, &all, true));
    if settings.output.reports_ranks {
        for (number, rank) in measured.workers.iter().enumerate() {
            text.push_str(&format!("{number}: {}", line(settings, part, &Sums::of_rank(rank), false)));
        }
    }
    for fault in &all.faults {
        text.push_str(&format!("WARNING: {} of {}: {}\n", fault.op.name(), fault.path.display(), fault.message));
    }
    text
}

/// Returns the renewals of data sets if a stonewall ended the phase: by all ranks, or by the fastest one.
fn furthest(settings: &MdWorkbenchSettings, sums: &Sums) -> Option<u64> {
    let most = *sums.at_wall.iter().max()?;
    (settings.stonewall.wears_out || sums.at_wall.iter().any(|&count| count < settings.dataset.renewals))
        .then_some(most)
}

fn wall(settings: &MdWorkbenchSettings, sums: &Sums) -> String {
    let met = sums.at_wall.iter().any(|&count| count < settings.dataset.renewals);
    match furthest(settings, sums) {
        Some(most) if settings.stonewall.wears_out && met => {
            format!("stonewall wear out {:.6}s ({most} iter)\n", f64::from(settings.stonewall.wall_s))
        }
        _ => String::new(),
    }
}

fn line(settings: &MdWorkbenchSettings, part: &Part, sums: &Sums, of_all: bool) -> String {
    let count = |kind| sums.count(kind);
    let (made, read) = (count(OpKind::Create), count(OpKind::Read));
    let mib_s = sums.per_second(made + read) * settings.data.object_bytes as f64 / MIB;
    let time_s = sums.time_ns as f64 / 1e9;
    let longest = exponent(sums.longest_s(), 4);
    let name = part.word();
    if settings.output.detailed {
        let kinds = [OpKind::Mkdir, OpKind::Rmdir, OpKind::Create, OpKind::Read, OpKind::Stat, OpKind::Unlink];
        let counts: String = kinds.map(|kind| format!("\t{}", count(kind))).concat();
        let failed = if sums.errors > 0 { format!("{name} err\t{}\n", sums.errors) } else { String::new() };
        return format!("{name} {counts}\t{time_s:.3}s\t{time_s:.3}s\t{mib_s:.2} MiB/s {longest}\n{failed}");
    }
    let mut text = format!("{name} process max:{time_s:.2}s ");
    if of_all {
        let times: Vec<f64> = sums.times_ns.iter().map(|&ns| ns as f64 / 1e9).collect();
        let spread = Spread::from_values(&times, Divisor::CountLessOne);
        let balance = if spread.max > 0.0 { spread.min / spread.max * 100.0 } else { 100.0 };
        text.push_str(&format!(
            "min:{:.2}s mean: {:.2}s balance:{balance:.1} stddev:{:.1} ",
            spread.min, spread.mean, spread.deviation
        ));
    }
    let (sets, rate) = (count(OpKind::Mkdir) + count(OpKind::Rmdir), sums.rate(part, settings.phases.reads_only));
    let sets_s = sums.per_second(sets);
    text.push_str(&match part.kind {
        PartKind::Precreate => format!(
            "rate:{rate:.1} iops/s dsets: {sets} objects:{made} rate:{sets_s:.3} dset/s rate:{:.1} obj/s tp:{mib_s:.1} MiB/s \
             op-max:{longest}s",
            sums.per_second(made)
        ),
        PartKind::Benchmark => {
            let waiting = match part.waits_ppm {
                0 => String::new(),
                _ => format!(" waiting_factor:{:.2}", part.factor()),
            };
            let objects_s = sums.per_second(read);
            format!(
                "rate:{rate:.1} iops/s objects:{read} rate:{objects_s:.1} obj/s tp:{mib_s:.1} MiB/s op-max:{longest}s{waiting}"
            )
        }
        PartKind::Cleanup => format!(
            "rate:{rate:.1} iops/s objects:{} dsets: {sets} rate:{:.1} obj/s rate:{sets_s:.3} dset/s op-max:{longest}s",
            count(OpKind::Unlink),
            sums.per_second(count(OpKind::Unlink))
        ),
    });
    match (sums.errors, settings.output.quiet) {
        (0, true) => {}
        (0, false) => text.push_str(" (0 errs)"),
        (errors, _) => text.push_str(&format!(" ({errors} errs!!!)")),
    }
    if let Some(most) = furthest(settings, sums).filter(|_| !settings.output.quiet) {
        text.push_str(&format!(" stonewall-iter:{most}"));
    }
    for (kind, name) in
        [(OpKind::Read, "read"), (OpKind::Stat, "stat"), (OpKind::Create, "create"), (OpKind::Unlink, "delete")]
    {
        if let Some(latency) = sums.latency(kind).filter(|latency| latency.count() > 0) {
            text.push_str(&format!(" {name}({})", quantiles(latency)));
        }
    }
    text.push('\n');
    text
}

/// Formats minimum, first quartile, median, third quartile, 90 %, 99 % and maximum.
fn quantiles(latency: &Histogram) -> String {
    let at = |quantile: f64| latency.quantile(quantile);
    let all = [latency.min(), at(0.25), at(0.5), at(0.75), at(0.9), at(0.99), latency.max()];
    all.map(|ns| format!("{}s", exponent(ns.unwrap_or(0) as f64 / 1e9, 4))).join(", ")
}

/// Returns the number of times that rank 0 renewed its data sets in a phase. The next run continues there.
pub fn renewed(settings: &MdWorkbenchSettings, part: &Part, measured: &PhaseMeasurement) -> u64 {
    if part.kind != PartKind::Benchmark || settings.phases.reads_only {
        return 0;
    }
    let at_wall = |rank: &WorkerMeasurement| rank.items_at_wall;
    let met = match settings.stonewall.wears_out {
        true => measured.workers.iter().filter_map(at_wall).max(),
        false => measured.workers.first().and_then(at_wall),
    };
    met.unwrap_or(settings.dataset.renewals)
}

pub fn tail(settings: &MdWorkbenchSettings, took_s: f64, ended: &str) -> String {
    if settings.output.quiet { String::new() } else { format!("Total runtime: {took_s:.0}s time: {ended}\n") }
}

/// Returns the name of a file of latencies.
pub fn latency_file(settings: &MdWorkbenchSettings, prefix: &str, part: &Part, name: &str) -> String {
    let all = if settings.output.latencies_of_all { "-all" } else { "" };
    format!("{prefix}-{:.2}-{}-{name}{all}.csv", part.factor(), part.iteration)
}

/// Header row of a file of latencies.
pub const LATENCY_HEAD: &str = "time,runtime\n";

/// Formats an operation's row: start since the start of the phase, ns, and duration, ns.
pub fn latency_row(began_ns: u64, took_ns: u64) -> String {
    format!("{:.7},{}\n", began_ns as f64 / 1e9, exponent(took_ns as f64 / 1e9, 4))
}

/// Formats the file that keeps a run's position.
pub fn status(position: u64) -> String {
    format!("pos: {position}\n")
}

/// Parses the position in such a file.
pub fn position(text: &str) -> Option<u64> {
    text.trim_start().strip_prefix("pos:")?.split_whitespace().next()?.parse().ok()
}
