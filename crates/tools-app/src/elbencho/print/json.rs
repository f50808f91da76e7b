//! Results as JSON: one object per phase, with strings for all values.

use super::latency::PhaseLatencies;
use super::report::{PhaseReport, WorkDone};
use super::table::quoted;
use crate::elbencho::VERSION;
use crate::elbencho::lower::{Geometry, PathType};
use crate::elbencho::settings::ElbenchoSettings;

/// A node of elbencho's JSON.
enum JsonNode {
    Text(String),
    Object(JsonFields),
    List(Vec<JsonFields>),
}

/// Names and values, in order.
#[derive(Default)]
struct JsonFields(Vec<(String, JsonNode)>);

impl JsonFields {
    fn text(&mut self, name: &str, value: impl ToString) {
        self.0.push((name.to_owned(), JsonNode::Text(value.to_string())));
    }

    /// Adds an object unless it is empty.
    fn object(&mut self, name: &str, object: JsonFields) {
        if !object.0.is_empty() {
            self.0.push((name.to_owned(), JsonNode::Object(object)));
        }
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (number, (name, value)) in self.0.iter().enumerate() {
            if number > 0 {
                out.push(',');
            }
            write_text(name, out);
            out.push(':');
            match value {
                JsonNode::Text(text) => write_text(text, out),
                JsonNode::Object(object) => object.write(out),
                JsonNode::List(objects) => {
                    out.push('[');
                    for (number, object) in objects.iter().enumerate() {
                        if number > 0 {
                            out.push(',');
                        }
                        object.write(out);
                    }
                    out.push(']');
                }
            }
        }
        out.push('}');
    }
}

/// Writes a string, with slashes escaped as in elbencho's library.
fn write_text(text: &str, out: &mut String) {
    let quoted = serde_json::Value::from(text).to_string();
    out.push_str(&quoted.replace('/', "\\/"));
}

/// Returns the object of a phase and a line feed.
pub fn line(report: &PhaseReport, settings: &ElbenchoSettings, geometry: &Geometry, command: &[String]) -> String {
    let mut all = JsonFields::default();
    all.text("phase_type", &report.name);
    all.text("phase_id", &report.seen.id);
    if let Some(label) = &settings.output.label {
        all.text("label", label);
    }
    all.text("iso_start_date", &report.seen.date);
    all.object("config", config(report, settings, geometry, command));
    let mut first = JsonFields::default();
    let mut last = JsonFields::default();
    first.text("elapsed_time_ms", report.elapsed_us.first / 1000);
    last.text("elapsed_time_ms", report.elapsed_us.last / 1000);
    let (total, mixed) = (report.done.last, report.mixed.last);
    let (rates, mixed_rates) = (report.rates(report.done), report.rates(report.mixed));
    amounts(&mut first, total, rates.first, report.done.first);
    amounts(&mut last, total, rates.last, report.done.last);
    for (object, rates, done) in
        [(&mut first, mixed_rates.first, report.mixed.first), (&mut last, mixed_rates.last, report.mixed.last)]
    {
        let mut reads = JsonFields::default();
        amounts(&mut reads, mixed, rates, done);
        object.object("rwmix_read", reads);
    }
    first.text("cpu%", report.seen.cpu.first);
    last.text("cpu%", report.seen.cpu.last);
    let mut latency = JsonFields::default();
    latency.object("entries", latencies(&report.entries, &report.entries_mixed, settings));
    latency.object("IO", latencies(&report.ios, &report.ios_mixed, settings));
    last.object("latency", latency);
    all.object("first_done", first);
    all.object("last_done", last);
    let mut text = String::new();
    all.write(&mut text);
    text.push('\n');
    text
}

fn config(report: &PhaseReport, settings: &ElbenchoSettings, geometry: &Geometry, command: &[String]) -> JsonFields {
    let mut config = JsonFields::default();
    config.text("path_type", geometry.path_type.name());
    config.text("paths", settings.paths.len());
    config.text("hosts", report.services.len().max(1));
    config.text("threads", settings.threads);
    match geometry.tree {
        Some(tree) => {
            config.text("custom_tree_dirs", tree.dirs);
            config.text("custom_tree_files_shared", tree.shared);
            config.text("files_not_shared", tree.alone);
        }
        None if geometry.path_type == PathType::Directory => {
            config.text("dirs", settings.dataset.dirs);
            config.text("files", settings.dataset.files);
        }
        None => {}
    }
    config.text("file_size", geometry.file_bytes);
    config.text("block_size", geometry.block_bytes);
    config.text("direct_io", settings.ops.direct);
    config.text("random_offsets", settings.order.rand);
    if settings.order.rand {
        config.text("random_aligned", !geometry.unaligned);
    }
    config.text("io_depth", settings.ops.iodepth);
    if !report.services.is_empty() {
        config.text("shared_service_paths", settings.hosts.share_paths);
    }
    if geometry.path_type != PathType::Device {
        config.text("truncate_files", settings.calls.trunc);
    }
    config.text("version", VERSION);
    config.text("command", quoted(command).replace(',', " "));
    config
}

fn amounts(object: &mut JsonFields, total: WorkDone, rates: WorkDone, done: WorkDone) {
    if total.entries > 0 {
        object.text("entries/s", rates.entries);
    }
    if total.ios > 0 {
        object.text("iops", rates.ios);
    }
    if total.bytes > 0 {
        object.text("bytes/s", rates.bytes);
    }
    if total.entries > 0 {
        object.text("entries", done.entries);
    }
    if total.bytes > 0 {
        object.text("bytes", done.bytes);
    }
}

fn latencies(own: &PhaseLatencies, mixed: &PhaseLatencies, settings: &ElbenchoSettings) -> JsonFields {
    let mut object = summary(own, settings);
    object.object("rwmix_read", summary(mixed, settings));
    if settings.output.histogram {
        let mut histogram = buckets(own);
        histogram.object("rwmix_read", buckets(mixed));
        object.object("histogram", histogram);
    }
    object
}

fn summary(latencies: &PhaseLatencies, settings: &ElbenchoSettings) -> JsonFields {
    let mut object = JsonFields::default();
    if let Some([min, mean, max]) = latencies.summary_us().filter(|_| settings.output.latency) {
        object.text("min_us", min);
        object.text("avg_us", mean);
        object.text("max_us", max);
    }
    object
}

fn buckets(latencies: &PhaseLatencies) -> JsonFields {
    let mut object = JsonFields::default();
    if latencies.is_empty() {
        return object;
    }
    if latencies.is_exceeded() {
        object.text("histo_max_exceeded", "some latencies are above 268 s, the end of the histogram");
        return object;
    }
    let used = latencies.used().map(|(begin, end, count)| {
        let mut bucket = JsonFields::default();
        bucket.text("range", format!("{begin}-{end}us"));
        bucket.text("count", count);
        bucket
    });
    object.0.push(("buckets".to_owned(), JsonNode::List(used.collect())));
    object
}
