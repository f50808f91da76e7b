//! Results as CSV, with one row of 55 values per phase.

use super::latency::PhaseLatencies;
use super::report::{Both, PhaseReport, WorkDone};
use super::table::quoted;
use crate::elbencho::VERSION;
use crate::elbencho::lower::{Geometry, PathType};
use crate::elbencho::settings::ElbenchoSettings;

const MIB: u64 = 1 << 20;

/// A label, with its value in one phase.
struct Column {
    label: String,
    value: String,
}

pub fn labels(settings: &ElbenchoSettings, geometry: &Geometry) -> String {
    let nothing = PhaseReport::timed(crate::elbencho::lower::PhaseKind::Sync, super::PhaseContext::default(), 0);
    let labels: Vec<String> =
        columns(&nothing, settings, geometry, &[]).into_iter().map(|column| column.label).collect();
    labels.join(",") + "\n"
}

/// Returns the row of a phase.
pub fn line(report: &PhaseReport, settings: &ElbenchoSettings, geometry: &Geometry, command: &[String]) -> String {
    let values: Vec<String> =
        columns(report, settings, geometry, command).into_iter().map(|column| column.value).collect();
    values.join(",") + "\n"
}

fn columns(report: &PhaseReport, settings: &ElbenchoSettings, geometry: &Geometry, command: &[String]) -> Vec<Column> {
    let mut all = Vec::new();
    let mut add = |label: &str, value: String| all.push(Column { label: label.to_owned(), value });
    let dirs = geometry.path_type == PathType::Directory;
    let number = |number: u64| number.to_string();
    let switch = |on: bool| u8::from(on).to_string();
    let only = |when: bool, text: String| if when { text } else { String::new() };
    add("ISO date", report.seen.date.clone());
    add("label", settings.output.label.clone().unwrap_or_default().replace(',', " "));
    add("path type", geometry.path_type.name().to_owned());
    add("paths", settings.paths.len().to_string());
    add("hosts", report.services.len().max(1).to_string());
    add("threads", number(settings.threads.into()));
    add("dirs", only(dirs, number(settings.dataset.dirs.into())));
    add("files", only(dirs, number(settings.dataset.files.into())));
    add("file size", number(geometry.file_bytes));
    add("block size", number(geometry.block_bytes));
    add("direct IO", switch(settings.ops.direct));
    add("random", switch(settings.order.rand));
    add("random aligned", only(settings.order.rand, switch(!geometry.unaligned)));
    add("IO depth", number(settings.ops.iodepth.into()));
    add("shared paths", only(!report.services.is_empty(), switch(settings.hosts.share_paths)));
    add("truncate", only(geometry.path_type != PathType::Device, switch(settings.calls.trunc)));
    add("operation", report.name.clone());
    add("time ms [first]", number(report.elapsed_us.first / 1000));
    add("time ms [last]", number(report.elapsed_us.last / 1000));
    let (done, rates) = (report.done, report.rates(report.done));
    let mut pair = |label: &str, shown: bool, values: Both<u64>| {
        add(&format!("{label} [first]"), only(shown, number(values.first)));
        add(&format!("{label} [last]"), only(shown, number(values.last)));
    };
    let of = |done: Both<WorkDone>, pick: fn(WorkDone) -> u64| Both { first: pick(done.first), last: pick(done.last) };
    pair("entries/s", done.last.entries > 0, of(rates, |done| done.entries));
    pair("IOPS", done.last.ios > 0, of(rates, |done| done.ios));
    pair("MiB/s", done.last.bytes > 0, of(rates, |done| done.bytes / MIB));
    pair("CPU%", true, Both { first: report.seen.cpu.first.into(), last: report.seen.cpu.last.into() });
    pair("entries", done.last.entries > 0, of(done, |done| done.entries));
    pair("MiB", done.last.bytes > 0, of(done, |done| done.bytes / MIB));
    latencies(&mut all, "Ent", &report.entries);
    latencies(&mut all, "IO", &report.ios);
    let (done, rates) = (report.mixed, report.rates(report.mixed));
    let mut add = |label: &str, value: String| all.push(Column { label: label.to_owned(), value });
    let mut pair = |label: &str, shown: bool, values: Both<u64>| {
        add(&format!("rwmix read {label} [first]"), only(shown, number(values.first)));
        add(&format!("rwmix read {label} [last]"), only(shown, number(values.last)));
    };
    pair("entries/s", done.last.entries > 0, of(rates, |done| done.entries));
    pair("IOPS", done.last.ios > 0, of(rates, |done| done.ios));
    pair("MiB/s", done.last.bytes > 0, of(rates, |done| done.bytes / MIB));
    pair("entries", done.last.entries > 0, of(done, |done| done.entries));
    pair("MiB", done.last.bytes > 0, of(done, |done| done.bytes / MIB));
    latencies(&mut all, "rwmix read Ent", &report.entries_mixed);
    latencies(&mut all, "rwmix read IO", &report.ios_mixed);
    let mut add = |label: &str, value: String| all.push(Column { label: label.to_owned(), value });
    add("version", VERSION.to_owned());
    add("command", quoted(command).replace(',', " "));
    all
}

fn latencies(all: &mut Vec<Column>, what: &str, latencies: &PhaseLatencies) {
    let summary = latencies.summary_us();
    for (at, name) in ["min", "avg", "max"].into_iter().enumerate() {
        let value = summary.map_or(String::new(), |summary| summary[at].to_string());
        all.push(Column { label: format!("{what} lat us [{name}]"), value });
    }
}
