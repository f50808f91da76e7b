//! IOR: its text, and its summaries as JSON and CSV. Each iteration of a test is a run. MiB are 2^20 bytes. Latencies
//! and times are in seconds; JSON and CSV print four digits of them.

use crate::amount::{csv, decimal};
use crate::error::unread;
use crate::input::{Input, list_at, number_at, text_at};
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use serde_json::Value;
use std::collections::BTreeMap;

const MIB: f64 = 1_048_576.0;
const NS_PER_S: f64 = 1e9;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("MPI Coordinated Test of Parallel I/O") || is_csv(input.head()) || is_json(input)
}

fn is_json(input: &Input<'_>) -> bool {
    input.is_json() && input.has("\"tests\"") && input.has("\"TestID\"")
}

fn is_csv(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("access,bw(MiB/s),"))
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    if is_json(input) {
        // With -v or a deadline, IOR writes other text into its JSON.
        let help = "IOR's own JSON is broken with -v and -D; pass its text instead";
        return read_json(input.json().map_err(|unread| Unread { help: help.to_owned(), ..unread })?);
    }
    let text = input.text();
    if is_csv(text) {
        return read_csv(text);
    }
    read_text(text)
}

/// One access of an iteration: values by column name.
struct Access<'a> {
    kind: OpKind,
    of: BTreeMap<&'a str, &'a str>,
}

fn kind_of(word: &str) -> Option<OpKind> {
    match word {
        "write" => Some(OpKind::Write),
        "read" => Some(OpKind::Read),
        _ => None,
    }
}

impl Access<'_> {
    fn number(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| decimal(self.of.get(name)?))
    }

    fn put(&self, run: &mut Run) {
        put(run, self.kind, &|names| self.number(names));
    }
}

/// Adds the numbers of an access, under IOR's names in each format.
fn put(run: &mut Run, kind: OpKind, number: &dyn Fn(&[&str]) -> Option<f64>) {
    let positive = |names: &[&str]| number(names).filter(|value| *value > 0.0);
    let phase = run.phase(kind.name());
    phase.wall_ns = number(&["total(s)", "totalTime"]).map(|s| s * NS_PER_S);
    phase.bandwidth(kind, number(&["bw(MiB/s)", "bwMiB"]).map(|mib| mib * MIB));
    phase.rate(kind, number(&["IOPS", "iops"]));
    // A latency of 0 is a rounded value.
    phase.latency(kind, Stat::Mean, positive(&["Latency(s)", "Latency", "latency"]).map(|s| s * NS_PER_S));
    for (name, keys) in [
        ("open", ["open(s)", "openTime"]),
        ("transfer", ["wr/rd(s)", "wrRdTime"]),
        ("close", ["close(s)", "closeTime"]),
    ] {
        phase.less(name, positive(&keys).map(|s| s * NS_PER_S), "ns");
    }
}

fn read_text(text: &str) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut test = Run::new("text");
    let mut columns: Vec<&str> = Vec::new();
    let mut iteration = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(rest) = line.trim_start().strip_prefix("IOR-") {
            test.version = rest.split(':').next().unwrap_or_default().to_owned();
        } else if words.first() == Some(&"access") && words.get(1) == Some(&"bw(MiB/s)") {
            columns = words;
            iteration.clear();
        } else if line.starts_with("Summary of all tests") || line.starts_with("Max Write") {
            columns.clear();
        } else if let Some(kind) = words.first().and_then(|word| kind_of(word)).filter(|_| words.len() == columns.len())
        {
            let access = Access { kind, of: BTreeMap::from_iter(columns.iter().copied().zip(words)) };
            let of_line = access.of.get("iter").copied().unwrap_or_default();
            let again = runs.last().is_some_and(|run| run.phases.iter().any(|phase| phase.name == kind.name()));
            if iteration.is_empty() || of_line != iteration || again {
                iteration = of_line.to_owned();
                runs.push(copy(&test));
            }
            if let Some(run) = runs.last_mut() {
                access.put(run);
            }
        } else if columns.is_empty() || line.contains(" : ") {
            setting(&mut test, line);
        }
    }
    match runs.is_empty() {
        true => Err(unread("", "the file contains no table of results", "pass IOR's whole output, or its summaryFile")),
        false => Ok(runs),
    }
}

/// Copies the parts of a test that each of its runs shares.
fn copy(test: &Run) -> Run {
    Run {
        form: test.form.clone(),
        version: test.version.clone(),
        command: test.command.clone(),
        host: test.host.clone(),
        paths: test.paths.clone(),
        settings: test.settings.clone(),
        ..Run::default()
    }
}

fn setting(test: &mut Run, line: &str) {
    let Some((name, value)) = line.split_once(':') else { return };
    let (name, value) = (name.trim(), value.trim());
    match name {
        "Command line" => test.command = Some(value.to_owned()),
        "Machine" => test.host = value.split_whitespace().nth(1).map(str::to_owned),
        "Path" => test.paths = [value.to_owned()].into(),
        "Began" | "StartTime" | "Finished" | "FS" | "TestID" | "Options" | "Results" => {}
        _ if name.len() < 32 && !value.is_empty() => test.set(name, Some(value)),
        _ => {}
    }
}

fn read_csv(text: &str) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    let mut iteration = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fields = csv(line.trim());
        if line.starts_with("access,") {
            columns = fields;
            iteration.clear();
            continue;
        }
        let Some(kind) = fields.first().and_then(|word| kind_of(word)).filter(|_| !columns.is_empty()) else {
            continue;
        };
        if fields.len() != columns.len() {
            let message = format!("{} values for {} columns", fields.len(), columns.len());
            return Err(unread(format!("line {number}"), message, "pass the file as IOR wrote it"));
        }
        let of: BTreeMap<&str, &str> =
            BTreeMap::from_iter(columns.iter().map(String::as_str).zip(fields.iter().map(String::as_str)));
        let of_line = of.get("iter").copied().unwrap_or_default();
        let again = runs.last().is_some_and(|run| run.phases.iter().any(|phase| phase.name == kind.name()));
        if runs.is_empty() || of_line != iteration || again {
            iteration = of_line.to_owned();
            let mut run = Run::new("CSV");
            run.set("tasks", of.get("numTasks"));
            runs.push(run);
        }
        if let Some(run) = runs.last_mut() {
            Access { kind, of }.put(run);
        }
    }
    Ok(runs)
}

fn read_json(value: &Value) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    for test in list_at(value, &["tests"]) {
        let mut of_test = Run::new("JSON");
        of_test.version = text_at(value, &["Version"]).unwrap_or_default();
        of_test.command = text_at(value, &["Command line"]);
        of_test.host = text_at(value, &["Machine"]).and_then(|text| Some(text.split_whitespace().nth(1)?.to_owned()));
        of_test.paths.extend(text_at(test, &["Path"]));
        for part in ["Parameters", "Options"] {
            for (name, setting) in test.get(part).and_then(Value::as_object).into_iter().flatten() {
                of_test.set(name, text_at(test, &[part, name]).or_else(|| Some(setting.to_string())));
            }
        }
        let first = runs.len();
        for access in list_at(test, &["Results"]) {
            let Some(kind) = text_at(access, &["access"]).and_then(|word| kind_of(&word)) else { continue };
            let again = runs.last().is_some_and(|run| run.phases.iter().any(|phase| phase.name == kind.name()));
            if runs.len() == first || again {
                runs.push(copy(&of_test));
            }
            if let Some(run) = runs.last_mut() {
                put(run, kind, &|names| names.iter().find_map(|name| number_at(access, &[name])));
            }
        }
    }
    match runs.is_empty() {
        true => Err(unread("", "the tests in the file have no results", "pass the whole summary that IOR wrote")),
        false => Ok(runs),
    }
}
