//! hdparm: the output of `-t` and `-T`. Its MB are 2^20 bytes, its kB 2^10. Source: `hdparm.c`, `do_time`.

use crate::amount::{bytes_of_1024, decimal};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| timing(line).is_some())
}

/// Parses `Timing O_DIRECT disk reads: 1560 MB in  3.00 seconds = 519.85 MB/sec`: name, seconds, bytes per second.
fn timing(line: &str) -> Option<(&str, f64, f64)> {
    let (name, rest) = line.trim().strip_prefix("Timing ")?.split_once(':')?;
    let (amount, rate) = rest.split_once(" = ")?;
    let seconds = amount.split_once(" in ")?.1.split_whitespace().next().and_then(decimal)?;
    let rate = rate.trim();
    let number = rate.strip_suffix("/sec")?;
    name.contains("reads").then_some((name, seconds, bytes_of_1024(&number.replace('k', "K"))?))
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    for line in input.text().lines() {
        let device = line.trim().strip_suffix(':').filter(|name| name.starts_with('/'));
        if let Some(device) = device {
            let mut run = Run::new("text");
            run.paths.insert(device.to_owned());
            runs.push(run);
        } else if let Some((name, seconds, rate)) = timing(line) {
            if runs.is_empty() {
                runs.push(Run::new("text"));
            }
            let Some(run) = runs.last_mut() else { continue };
            if name.contains("O_DIRECT") {
                run.set("O_DIRECT", Some("yes"));
            }
            let phase = run.phase(name);
            phase.wall_ns = Some(seconds * 1e9);
            // Cached reads come from memory.
            match name.contains("cache") {
                true => phase.more("memory reads", Some(rate), "B/s"),
                false => phase.bandwidth(OpKind::Read, Some(rate)),
            }
        }
    }
    runs.retain(|run| run.size() > 0);
    match runs.is_empty() {
        true => Err(unread("", "the file contains no timing of reads", "pass the output of `hdparm -tT DEVICE`")),
        false => Ok(runs),
    }
}
