//! The table for the console and for `--resfile`.

use super::format::{elapsed, latency};
use super::latency::PhaseLatencies;
use super::report::{Both, PhaseReport, ServiceDone, WorkDone};
use crate::elbencho::lower::{Geometry, PathType};
use crate::elbencho::settings::{ElbenchoSettings, Rwmix};

const MIB: u64 = 1 << 20;

fn row(operation: &str, what: &str, colon: &str, first: &str, last: &str) -> String {
    format!("{operation:<11} {what:<17}{colon:1} {first:>11} {last:>11}\n")
}

fn left(what: &str, text: &str) -> String {
    format!("{:<11} {what:<17}: {text}\n", "")
}

pub fn head() -> String {
    let line = row("===========", "================", "", "==========", "=========");
    row("OPERATION", "RESULT TYPE", "", "FIRST DONE", "LAST DONE") + &line
}

/// Returns the lines above the table in a file.
pub fn file_head(date: &str, label: Option<&str>, command: &[String]) -> String {
    let label = label.map(|label| format!("LABEL: {label}\n")).unwrap_or_default();
    format!("ISO DATE: {date}\n{label}COMMAND LINE: {}\n\n", quoted(command))
}

/// Formats a command line as elbencho quotes it.
pub(super) fn quoted(command: &[String]) -> String {
    command.iter().map(|word| format!("\"{word}\" ")).collect()
}

pub fn phase(report: &PhaseReport, settings: &ElbenchoSettings, geometry: &Geometry) -> String {
    let output = &settings.output;
    let entries = report.kind.entries();
    let mixed = report.is_mixed();
    let mixed_threads = mixed && matches!(settings.mix.rwmix, Rwmix::Threads(_));
    let (unit, divisor) = if output.base10 { ("MB/s", 1_000_000) } else { ("MiB/s", MIB) };
    let dir_stats = output.dir_stats && geometry.path_type == PathType::Directory && report.kind.moves_data();
    let files = u64::from(settings.dataset.files.max(1));
    let mut text = row(
        &report.name,
        "Elapsed time",
        ":",
        &elapsed(report.elapsed_us.first / 1000),
        &elapsed(report.elapsed_us.last / 1000),
    );
    let mut add = |what: &str, values: Both<u64>| {
        text.push_str(&row("", what, ":", &values.first.to_string(), &values.last.to_string()));
    };
    let rates = report.rates(report.done);
    let mixed_rates = report.rates(report.mixed);
    let of = |done: Both<WorkDone>, pick: fn(WorkDone) -> u64| Both { first: pick(done.first), last: pick(done.last) };
    let sum = |a: Both<u64>, b: Both<u64>| Both { first: a.first + b.first, last: a.last + b.last };
    let over = |a: Both<u64>, by: u64| Both { first: a.first / by, last: a.last / by };
    let (per_s, mixed_per_s) = (of(rates, |done| done.entries), of(mixed_rates, |done| done.entries));
    let has_entries = report.done.last.entries > 0;
    let has_mixed_entries = report.mixed.last.entries > 0;
    if has_entries {
        add(&format!("{entries}/s{}", if mixed_threads { " write" } else { "" }), per_s);
        if dir_stats {
            add(if mixed_threads { "Dirs/s write" } else { "Dirs/s" }, over(per_s, files));
        }
    }
    if has_mixed_entries {
        add(&format!("{entries}/s read"), mixed_per_s);
        add(&format!("{entries}/s total"), sum(per_s, mixed_per_s));
        if dir_stats {
            add("Dirs/s read", over(mixed_per_s, files));
        }
    }
    // Files of one block have as many I/Os as files.
    let ios_differ = geometry.path_type != PathType::Directory || geometry.block_bytes != geometry.file_bytes;
    let (ios, mixed_ios) = (of(rates, |done| done.ios), of(mixed_rates, |done| done.ios));
    if report.done.last.ios > 0 && (ios_differ || !has_entries) {
        add(if mixed { "IOPS write" } else { "IOPS" }, ios);
    }
    if report.mixed.last.ios > 0 && (ios_differ || !has_mixed_entries) {
        add("IOPS read", mixed_ios);
        add("IOPS total", sum(ios, mixed_ios));
    }
    let (bytes, mixed_bytes) = (of(rates, |done| done.bytes), of(mixed_rates, |done| done.bytes));
    if report.done.last.bytes > 0 {
        let what = if mixed { format!("{unit} write") } else { format!("Throughput {unit}") };
        add(&what, over(bytes, divisor));
    }
    if report.mixed.last.bytes > 0 {
        add(&format!("{unit} read"), over(mixed_bytes, divisor));
        add(&format!("{unit} total"), over(sum(bytes, mixed_bytes), divisor));
    }
    if report.done.last.bytes > 0 {
        add(if mixed { "MiB write" } else { "Total MiB" }, over(of(report.done, |done| done.bytes), MIB));
    }
    if report.mixed.last.bytes > 0 {
        add("MiB read", over(of(report.mixed, |done| done.bytes), MIB));
    }
    let (count, mixed_count) = (of(report.done, |done| done.entries), of(report.mixed, |done| done.entries));
    if has_entries {
        add(&format!("{entries} {}", if mixed_threads { "write" } else { "total" }), count);
        if dir_stats {
            add(if mixed_threads { "Dirs write" } else { "Dirs total" }, over(count, files));
        }
    }
    if has_mixed_entries {
        add(&format!("{entries} read"), mixed_count);
        if dir_stats {
            add("Dirs read", over(mixed_count, files));
        }
    }
    if output.verbose && report.done.last.ios > 0 {
        add(if mixed { "IOs write" } else { "IOs total" }, of(report.done, |done| done.ios));
    }
    if output.verbose && report.mixed.last.ios > 0 {
        add("IOs read", of(report.mixed, |done| done.ios));
    }
    if output.cpu {
        add("CPU util %", Both { first: report.seen.cpu.first.into(), last: report.seen.cpu.last.into() });
    }
    if output.all_elapsed {
        let each: String = report.each_ms.iter().map(|ms| format!("{ms} ")).collect();
        text.push_str(&left("Time ms each", &format!("[ {each}]")));
    }
    if output.services_elapsed && !report.services.is_empty() {
        let mut services: Vec<&ServiceDone> = report.services.iter().collect();
        services.sort_by_key(|service| service.us / 1000);
        let each = services.iter().map(|service| format!("{}={} ", service.name, elapsed(service.us / 1000)));
        text.push_str(&left("Svc compl. time", &format!("[ {}]", each.collect::<String>())));
    }
    let suffix = |is: bool| if is { " wr" } else { "" };
    for (latencies, what) in [
        (&report.entries, format!("{entries}{}", suffix(mixed_threads))),
        (&report.entries_mixed, format!("{entries} rd")),
        (&report.ios, format!("IO{}", suffix(mixed))),
        (&report.ios_mixed, "IO rd".to_owned()),
    ] {
        text.push_str(&latencies_of(latencies, &what, settings));
    }
    if report.elapsed_us.first == 0 && !output.no_zero_warning {
        text.push_str(
            "WARNING: The fastest thread finished in less than 1 microsecond, so rates are shown as 0. Use more files \
             or bytes; --no0usecerr hides this warning.\n",
        );
    }
    text.push_str("---\n");
    text
}

fn latencies_of(latencies: &PhaseLatencies, what: &str, settings: &ElbenchoSettings) -> String {
    let output = &settings.output;
    let mut text = String::new();
    let Some([min, mean, max]) = latencies.summary_us() else { return text };
    if output.latency {
        let text_of_row = format!("[ min={} avg={} max={} ]", latency(min), latency(mean), latency(max));
        text.push_str(&left(&format!("{what} latency"), &text_of_row));
    }
    if let Some(nines) = output.percentiles {
        let text_of_row = if latencies.is_exceeded() {
            "[ Histogram exceeded ]".to_owned()
        } else {
            let more = (1..=nines).map(|count| format!("99.{}", "9".repeat(count.into())));
            let all = ["1", "50", "75", "99"].map(str::to_owned).into_iter().chain(more);
            let each: Vec<String> = all
                .map(|percent| format!("{percent}%<={}", latencies.percentile(percent.parse().unwrap_or(100.0))))
                .collect();
            format!("[ {} ]", each.join(" "))
        };
        text.push_str(&left(&format!("{what} lat % us"), &text_of_row));
    }
    if output.histogram {
        let text_of_row = if latencies.is_exceeded() {
            "Histogram size exceeded".to_owned()
        } else {
            let each: Vec<String> = latencies.used().map(|(_, end, count)| format!("{end}: {count}")).collect();
            each.join(", ")
        };
        text.push_str(&left(&format!("{what} lat hist"), &format!("[ {text_of_row} ]")));
    }
    text
}
