//! kubestr: the output of `kubestr fio`. Its text has a few of fio's numbers, in KiB/s; `-o json` wraps fio's JSON.

use super::fio;
use crate::amount::decimal;
use crate::error::unread;
use crate::input::{Input, at, text_at};
use crate::run::Run;
use plumb_result::published::Unread;
use serde_json::Value;

const KIB: f64 = 1024.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    let wraps = || ["\"storageClass\"", "\"testName\"", "\"raw\""].iter().any(|key| input.has(key));
    input.has_line("JobName: ") && input.has("BW(KiB/s)=") || input.is_json() && input.has("\"fio version\"") && wraps()
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    if input.has_line("JobName: ") {
        return read_text(input.text());
    }
    let value = input.json()?;
    let tests: Vec<&Value> = value.as_array().map_or_else(|| vec![value], |list| list.iter().collect());
    let mut runs = Vec::new();
    for test in tests {
        let raw = at(test, &["raw"]).or_else(|| at(test, &["Raw"])).unwrap_or(test);
        let Some(result) = at(raw, &["result"]).or_else(|| at(raw, &["Result"])) else { continue };
        let mut run = fio::read_json(result)?;
        run.form = "JSON".to_owned();
        run.version = format!("fio {}", run.version);
        let class = at(raw, &["storageClass"]).or_else(|| at(test, &["storageClass"]));
        run.set(
            "storageClass",
            class.and_then(|class| text_at(class, &["name"]).or_else(|| class.as_str().map(str::to_owned))),
        );
        run.set("size", text_at(raw, &["size"]));
        runs.push(run);
    }
    match runs.is_empty() {
        true => Err(unread("", "this JSON has no `raw.result` of fio", "pass the output of `kubestr fio -o json`")),
        false => Ok(runs),
    }
}

fn read_text(text: &str) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("text");
    let mut name = String::new();
    let mut kind = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(version) = trimmed.strip_prefix("FIO version - ") {
            run.version = version.replace("fio-", "fio ");
        } else if let Some(options) = trimmed.strip_prefix("Global options - ") {
            run.set("global options", Some(options));
        } else if let Some((_, class)) = trimmed.split_once("on StorageClass (") {
            run.set("storageClass", class.split(')').next());
        } else if let Some(job) = trimmed.strip_prefix("JobName: ") {
            job.clone_into(&mut name);
            run.phase(job);
            kind = None;
        } else if trimmed.starts_with("blocksize=") && !name.is_empty() {
            run.set(&name, Some(trimmed));
        } else if let Some(one) = fio::DIRECTIONS.into_iter().find(|one| trimmed == format!("{}:", one.name())) {
            kind = Some(one);
        } else if let (Some(one), Some(rest)) = (kind, trimmed.strip_prefix("IOPS=")) {
            let Some(phase) = run.phases.last_mut() else { continue };
            let (iops, bandwidth) = rest.split_once(" BW(KiB/s)=").unwrap_or((rest, ""));
            phase.rate(one, decimal(iops));
            phase.bandwidth(one, decimal(bandwidth).map(|kib| kib * KIB));
        }
    }
    Ok(vec![run])
}
