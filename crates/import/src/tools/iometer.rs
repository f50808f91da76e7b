//! IOMeter 2006 and 1.1: the CSV of its results. Times are in ms. The row of all targets of a test is a phase; so are
//! the rows of workers and disks, which are part of it.

use crate::amount::{csv, decimal};
use crate::error::unread;
use crate::input::Input;
use crate::run::{PhaseRead, Run};
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

const HEAD: &str = "'Target Type,";

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has_line(HEAD) || input.has_line("'Test Type,Test Description")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("CSV");
    let mut columns = Vec::new();
    let mut title = "";
    let mut tests = 0;
    for line in input.text().lines() {
        if line.starts_with('\'') {
            title = line;
            if line.starts_with(HEAD) {
                columns = csv(line.trim_start_matches('\''));
            }
        } else if title.starts_with(HEAD) {
            let cells: BTreeMap<&str, String> = columns.iter().map(String::as_str).zip(csv(line)).collect();
            tests += usize::from(cells.get("Target Type").is_some_and(|kind| kind == "ALL"));
            row(&mut run, &cells, tests);
        } else if title == "'Version" {
            run.version = line.trim().to_owned();
        } else if title.starts_with("'Test Type,") {
            run.set("test description", line.split_once(',').map(|(_, text)| text));
        } else if title == "'Time Stamp" && !run.settings.contains_key("began") {
            run.set("began", Some(line));
        }
    }
    run.phases.retain(|phase| phase.size() > 0);
    match run.phases.is_empty() {
        true => {
            Err(unread("", "the file contains no completed test", "pass the whole file of results that IOMeter saved"))
        }
        false => Ok(vec![run]),
    }
}

/// Reads the row of a target.
fn row(run: &mut Run, cells: &BTreeMap<&str, String>, test: usize) {
    let text = |name: &str| cells.get(name).map_or("", |cell| cell.trim());
    let kind = text("Target Type");
    if !matches!(kind, "ALL" | "MANAGER" | "WORKER" | "DISK" | "NETWORK") {
        return;
    }
    let spec = match text("Access Specification Name") {
        "" => format!("test {test}"),
        name => format!("test {test}: {name}"),
    };
    let phase = match kind {
        "ALL" => run.phase(spec),
        _ => {
            let name = text("Target Name");
            run.phase(format!("test {test}, {} {name}", kind.to_lowercase()))
        }
    };
    let value = |name: &str| cells.get(name).and_then(|cell| decimal(cell));
    for (op, name, bytes, ops) in
        [(OpKind::Read, "Read", "Bytes Read", "Read I/Os"), (OpKind::Write, "Write", "Bytes Written", "Write I/Os")]
    {
        let (done, moved) = (value(ops), value(bytes));
        // A direction without ops was not measured.
        if done == Some(0.0) {
            continue;
        }
        let rate = value(&format!("{name} IOps"));
        phase.rate(op, rate);
        // Files of 2006 do not define their MB.
        let mean_bytes = moved.zip(done).map(|(moved, done)| moved / done);
        phase.bandwidth(op, rate.zip(mean_bytes).map(|(rate, bytes)| rate * bytes));
        phase.done(op, done, moved);
        latency(phase, op, Stat::Mean, value(&format!("Average {name} Response Time")));
        latency(phase, op, Stat::Max, value(&format!("Maximum {name} Response Time")));
    }
    phase.more("IOps", value("IOps"), "1/s");
    phase.more("transactions", value("Transactions per Second"), "1/s");
    phase.more("connections", value("Connections per Second").filter(|rate| *rate > 0.0), "1/s");
    phase.less("errors", value("Errors"), "");
    phase.plain("processor utilisation", value("% CPU Utilization"), "%");
    phase.plain("queue depth", value("Queue Depth").filter(|depth| *depth > 0.0), "");
}

fn latency(phase: &mut PhaseRead, op: OpKind, stat: Stat, ms: Option<f64>) {
    phase.latency(op, stat, ms.map(|ms| ms * 1e6));
}
