//! iperf3: the output of `-J` and `--json-stream`; [`super::iperf3_text`] reads its text. Bits per second become bytes.
//! Bytes sent are writes, bytes received are reads. A bidirectional test has a second pair of sums.

use super::iperf3_text;
use crate::error::unread;
use crate::input::{Input, list_at, number_at, text_at};
use crate::json::repeated_key;
use crate::run::Run;
use jiff::Timestamp;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use serde_json::{Map, Value};

const BITS: f64 = 8.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.is_json() && input.has("\"iperf 3") || iperf3_text::recognises(input)
}

/// Returns `true` for sums that a bidirectional test before 3.8 prints twice, under the same key.
pub(super) fn reads_repeated(path: &str) -> bool {
    matches!(path, "end.sum_sent" | "end.sum_received" | "end.sum")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    // Text lines begin with brackets, as JSON may.
    if iperf3_text::recognises(input) || !input.is_json() {
        return iperf3_text::read(input.text());
    }
    let values = input.json_values()?;
    let is_stream = values.first().is_some_and(|value| value.get("event").is_some());
    let whole: Vec<Value> = match is_stream {
        true => streams(values),
        false => values,
    };
    whole.iter().map(|value| read_run(value, if is_stream { "JSON stream" } else { "JSON" })).collect()
}

/// Collects the events of each test of a stream, in the form of `-J`.
fn streams(events: Vec<Value>) -> Vec<Value> {
    let mut found: Vec<Map<String, Value>> = Vec::new();
    for event in events {
        let Some(name) = text_at(&event, &["event"]) else { continue };
        let data = event.get("data").cloned().unwrap_or_default();
        if name == "start" || found.is_empty() {
            found.push(Map::new());
        }
        if let Some(last) = found.last_mut()
            && name != "interval"
        {
            last.insert(name, data);
        }
    }
    found.into_iter().map(Value::Object).collect()
}

fn read_run(value: &Value, form: &str) -> Result<Run, Unread> {
    if let Some(error) =
        text_at(value, &["error"]).filter(|_| number_at(value, &["end", "sum_sent", "seconds"]).is_none())
    {
        return Err(unread("", format!("iperf3 failed: {error}"), "pass the output of a completed test"));
    }
    let mut run = Run::new(form);
    run.is_network = true;
    run.version = text_at(value, &["start", "version"]).unwrap_or_default().trim_start_matches("iperf ").to_owned();
    run.at = number_at(value, &["start", "timestamp", "timesecs"]).and_then(|s| Timestamp::from_second(s as i64).ok());
    run.error = text_at(value, &["error"]);
    run.host =
        text_at(value, &["start", "system_info"]).and_then(|text| Some(text.split_whitespace().nth(1)?.to_owned()));
    run.set("server", text_at(value, &["start", "connecting_to", "host"]));
    for name in
        ["protocol", "num_streams", "blksize", "omit", "duration", "bytes", "reverse", "bidir", "target_bitrate"]
    {
        run.set(name, text_at(value, &["start", "test_start", name]));
    }
    let second = |key: &str| repeated_key(key, 2);
    for (name, sent, received) in [
        ("stream", "sum_sent", "sum_received"),
        ("reverse", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"),
        ("reverse", second("sum_sent").as_str(), second("sum_received").as_str()),
    ] {
        let number = |sum: &str, key: &str| number_at(value, &["end", sum, key]);
        if number(sent, "bits_per_second").is_none() && number(received, "bits_per_second").is_none() {
            continue;
        }
        let phase = run.phase(name);
        let seconds = [number(sent, "seconds"), number(received, "seconds")].into_iter().flatten().fold(0.0, f64::max);
        phase.wall_ns = Some(seconds * 1e9);
        phase.bandwidth(OpKind::Write, number(sent, "bits_per_second").map(|bits| bits / BITS));
        phase.bandwidth(OpKind::Read, number(received, "bits_per_second").map(|bits| bits / BITS));
        phase.less("retransmits", number(sent, "retransmits"), "");
        phase.less("jitter", number(received, "jitter_ms").map(|ms| ms * 1e6), "ns");
        phase.less("lost packets", number(received, "lost_packets"), "");
        phase.less("lost packets share", number(received, "lost_percent"), "%");
    }
    // Early versions print one sum for UDP.
    if run.phases.is_empty() && number_at(value, &["end", "sum", "bits_per_second"]).is_some() {
        for (name, sum) in [("stream", "sum"), ("reverse", second("sum").as_str())] {
            let number = |key: &str| number_at(value, &["end", sum, key]);
            if number("bits_per_second").is_none() {
                continue;
            }
            let phase = run.phase(name);
            phase.wall_ns = number("seconds").map(|s| s * 1e9);
            phase.bandwidth(OpKind::Write, number("bits_per_second").map(|bits| bits / BITS));
            phase.less("jitter", number("jitter_ms").map(|ms| ms * 1e6), "ns");
            phase.less("lost packets share", number("lost_percent"), "%");
        }
    }
    if let Some(phase) = run.phases.first_mut() {
        phase.less("CPU of this host", number_at(value, &["end", "cpu_utilization_percent", "host_total"]), "%");
        phase.less("CPU of the other host", number_at(value, &["end", "cpu_utilization_percent", "remote_total"]), "%");
        let streams = list_at(value, &["end", "streams"]);
        let rtt = |stream: &Value| number_at(stream, &["sender", "mean_rtt"]).filter(|us| *us > 0.0);
        let times: Vec<f64> = streams.iter().filter_map(rtt).collect();
        let mean = (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64 * 1e3);
        phase.less("RTT mean", mean, "ns");
    }
    Ok(run)
}
