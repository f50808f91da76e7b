//! MLPerf Storage: `summary.json`, which DLIO writes. Its MB are 2^20 bytes: DLIO divides twice by 1024.

use crate::error::unread;
use crate::input::{Input, number_at, text_at};
use crate::run::Run;
use plumb_result::metric::Better;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use serde_json::Value;

const MIB: f64 = 1_048_576.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.is_json()
        && input.has("\"metric\"")
        && ["\"train_au_", "\"train_io_", "\"save_", "\"load_", "\"checkpoint_"].iter().any(|key| input.has(key))
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let value = input.json()?;
    let Some(metrics) = value.get("metric").and_then(Value::as_object) else {
        return Err(unread("", "this JSON has no `metric`", "pass the summary.json of a run"));
    };
    let mut run = Run::new("summary.json");
    for (name, setting) in value.as_object().into_iter().flatten().filter(|(name, _)| *name != "metric") {
        let is_short = setting.is_string() || setting.is_number() || setting.is_boolean();
        if is_short {
            run.set(name, text_at(value, &[name]));
        }
    }
    run.host = text_at(value, &["hostname"]);
    for (name, number) in metrics {
        if let Some(text) = number.as_str() {
            run.set(name, Some(text));
            continue;
        }
        let (phase, rest) = name.split_once('_').unwrap_or(("run", name));
        let values: Vec<Option<f64>> = match number.as_array() {
            Some(list) => list.iter().map(Value::as_f64).collect(),
            None => vec![number_at(value, &["metric", name])],
        };
        let is_list = number.is_array();
        let phase = run.phase_named(phase);
        for (at, value) in values.into_iter().enumerate() {
            let epoch = if is_list { format!(" ({})", at + 1) } else { String::new() };
            // Training reads its samples.
            if name == "train_io_mean_MB_per_second" {
                phase.bandwidth(OpKind::Read, value.map(|mib| mib * MIB));
                continue;
            }
            let (value, unit) = match rest {
                _ if rest.ends_with("_MB_per_second") => (value.map(|mib| mib * MIB), "B/s"),
                _ if rest.ends_with("_GB_per_second") => (value, "GB/s"),
                _ if rest.ends_with("_per_second") => (value, "samples/s"),
                _ if rest.ends_with("_percentage") => (value, "%"),
                _ if rest.contains("duration") && rest.ends_with("_seconds") => (value.map(|s| s * 1e9), "ns"),
                _ => (value, ""),
            };
            let better = match unit {
                _ if rest.contains("stdev") => None,
                "B/s" | "GB/s" | "samples/s" | "%" => Some(Better::Higher),
                "ns" => Some(Better::Lower),
                _ => None,
            };
            phase.number(&format!("{rest}{epoch}"), value, unit, better);
        }
    }
    Ok(vec![run])
}
