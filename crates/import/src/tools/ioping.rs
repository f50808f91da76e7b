//! ioping: the statistics at the end of a run. `k` is 1000; units of bytes are powers of 1024. Source: `ioping.c`, `main`.

use crate::amount::{bytes_of_1024, leading, scaled, time_ns};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

/// Returns the path in `--- . (ext4 /dev/sda1 100 GiB) ioping statistics ---`.
fn head(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix("--- ")?.strip_suffix(" ioping statistics ---")?;
    Some(inner.split_once(" (").map_or(inner, |(path, _)| path))
}

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| head(line).is_some())
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    // Whether a request line has ">>>", which marks writes.
    let mut writes = false;
    let mut kind = OpKind::Read;
    for line in input.text().lines().map(str::trim) {
        if let Some(path) = head(line) {
            let mut run = Run::new("text");
            run.paths.insert(path.to_owned());
            run.phase("requests");
            runs.push(run);
            continue;
        }
        if line.contains(" >>> ") || line.contains(" <<< ") {
            writes = line.contains(" >>> ");
        }
        let Some(run) = runs.last_mut() else { continue };
        let Some(phase) = run.phases.last_mut() else { continue };
        if let Some((_, rest)) = line.split_once(" requests completed in ") {
            let parts: Vec<&str> = rest.split(", ").map(str::trim).collect();
            // Older versions do not print whether they read or wrote.
            kind = match () {
                () if rest.contains(" written") => OpKind::Write,
                () if rest.contains(" read") || !writes => OpKind::Read,
                () => OpKind::Write,
            };
            writes = false;
            phase.wall_ns = parts.first().and_then(|text| time_ns(text));
            let rate = parts.iter().find_map(|part| part.strip_suffix(" iops"));
            phase.rate(kind, rate.and_then(scaled));
            let bandwidth = parts.iter().find_map(|part| part.strip_suffix("/s"));
            phase.bandwidth(kind, bandwidth.and_then(|text| bytes_of_1024(&text.replace("mb", "MB"))));
        } else if let Some(times) = line.strip_prefix("min/avg/max/mdev = ") {
            let parts: Vec<&str> = times.split('/').map(str::trim).collect();
            // Older versions print one unit for all: "0.2/2.8/12.7/5.0 ms".
            let last_unit = parts.last().and_then(|text| leading(text)).map_or("", |(_, unit)| unit);
            let time = |at: usize| {
                let (_, unit) = leading(parts.get(at)?)?;
                if unit.is_empty() { time_ns(&format!("{} {last_unit}", parts[at])) } else { time_ns(parts[at]) }
            };
            for (at, stat) in [Stat::Min, Stat::Mean, Stat::Max].into_iter().enumerate() {
                phase.latency(kind, stat, time(at));
            }
            phase.less("latency mdev", time(3), "ns");
        }
    }
    runs.retain(|run| run.size() > 0);
    match runs.is_empty() {
        true => Err(unread("", "the statistics in the file have no numbers", "pass the complete output of ioping")),
        false => Ok(runs),
    }
}
