//! md-workbench: the lines of its phases, also with `-v`. Latencies are minimum, quartiles, 90 %, 99 % and maximum.

use crate::amount::{bytes, decimal, leading, time_ns};
use crate::error::unread;
use crate::input::Input;
use crate::run::{PhaseRead, Run};
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const PHASES: [&str; 3] = ["precreate", "benchmark", "cleanup"];

/// md-workbench's names of calls, which act on objects.
const CALLS: [(&str, OpKind); 4] =
    [("read", OpKind::Read), ("stat", OpKind::Stat), ("create", OpKind::Create), ("delete", OpKind::Unlink)];

/// Quantiles of a call, in their order. Quartiles have no metric and become numbers.
const QUANTILES: [(Option<Stat>, &str); 7] = [
    (Some(Stat::Min), "min"),
    (None, "p25"),
    (Some(Stat::P50), "p50"),
    (None, "p75"),
    (Some(Stat::P90), "p90"),
    (Some(Stat::P99), "p99"),
    (Some(Stat::Max), "max"),
];

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has_line("MD-Workbench total objects:")
        || PHASES.iter().any(|phase| input.has_line(&format!("{phase} process max:")))
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("text");
    for line in input.text().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(rest) = line.strip_prefix("Args: ") {
            run.command = Some(rest.replace('"', ""));
        } else if let Some((_, rest)) = line.split_once("(version: ").filter(|_| line.starts_with("MD-Workbench ")) {
            run.version = rest.split(')').next().unwrap_or_default().to_owned();
        } else if let Some(name) = words.first().filter(|&&word| PHASES.contains(&word)) {
            // Lines of single ranks begin with the rank.
            match (words.get(1), run.phases.last_mut()) {
                (Some(&"process"), _) => summary(run.phase(*name), name, line),
                (Some(&"err"), Some(phase)) => phase.less("errors", words.get(2).and_then(|count| decimal(count)), ""),
                _ => detailed(run.phase(*name), &words[1..]),
            }
        }
    }
    run.phases.retain(|phase| phase.size() > 0);
    match run.phases.is_empty() {
        true => Err(unread(
            "",
            "the file contains no completed phase",
            "pass the output of md-workbench, with the lines of its phases",
        )),
        false => Ok(vec![run]),
    }
}

/// Finds a rate by its unit: `rate:104141.6 obj/s`.
fn rate_of(line: &str, unit: &str) -> Option<f64> {
    line.split("rate:").skip(1).find_map(|rest| {
        let (value, after) = leading(rest)?;
        after.starts_with(unit).then_some(value)
    })
}

/// Returns the text after a label.
fn after<'line>(line: &'line str, label: &str) -> Option<&'line str> {
    line.split_once(label).map(|(_, rest)| rest)
}

fn summary(phase: &mut PhaseRead, name: &str, line: &str) {
    phase.extend_to(after(line, "process max:").and_then(time_ns));
    phase.more("rate", rate_of(line, "iops/s"), "1/s");
    let (objects, sets) = (rate_of(line, "obj/s"), rate_of(line, "dset/s"));
    let moved = after(line, " tp:").and_then(bytes);
    match name {
        "precreate" => {
            phase.rate(OpKind::Create, objects);
            phase.rate(OpKind::Mkdir, sets);
            phase.bandwidth(OpKind::Write, moved);
        }
        "cleanup" => {
            phase.rate(OpKind::Unlink, objects);
            phase.rate(OpKind::Rmdir, sets);
        }
        // Each object is read and written, so the throughput covers both.
        _ => {
            phase.rate(OpKind::Read, objects);
            phase.more("throughput", moved, "B/s");
        }
    }
    phase.less("op max", after(line, "op-max:").and_then(seconds), "ns");
    phase.plain("waiting factor", after(line, "waiting_factor:").and_then(leading).map(|(value, _)| value), "");
    let errors =
        line.rsplit_once(" errs").and_then(|(front, _)| front.rsplit_once('(')).and_then(|(_, of)| decimal(of));
    phase.less("errors", errors, "");
    for (call, kind) in CALLS {
        let Some(list) = after(line, &format!(" {call}(")).and_then(|rest| rest.split(')').next()) else { continue };
        for ((stat, quantile), value) in QUANTILES.iter().zip(list.split(", ")) {
            match stat {
                Some(stat) => phase.latency(kind, *stat, seconds(value)),
                None => phase.less(&format!("{call} {quantile}"), seconds(value), "ns"),
            }
        }
    }
}

/// Parses `2.7895e-05s`, and returns nanoseconds.
fn seconds(text: &str) -> Option<f64> {
    let end = text.find('s')?;
    Some(decimal(&text[..end])? * 1e9)
}

/// Reads a line of `-v`: counts of each call, two times, the throughput and the longest call.
fn detailed(phase: &mut PhaseRead, words: &[&str]) {
    let [sets, unset, created, read, stat, unlinked, time, _, thp, _, longest, ..] = words else { return };
    phase.extend_to(seconds(time));
    phase.more("throughput", bytes(&format!("{thp} MiB/s")), "B/s");
    phase.less("op max", decimal(longest).map(|s| s * 1e9), "ns");
    let calls = [
        (OpKind::Mkdir, sets),
        (OpKind::Rmdir, unset),
        (OpKind::Create, created),
        (OpKind::Read, read),
        (OpKind::Stat, stat),
        (OpKind::Unlink, unlinked),
    ];
    for (kind, count) in calls {
        phase.done(kind, decimal(count), Some(0.0));
    }
}
