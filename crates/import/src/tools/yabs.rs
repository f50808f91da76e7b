//! YABS (yet-another-bench-script): its tables of fio, iperf3 and Geekbench. Its MB are 1000 KiB in most versions and
//! 10^6 bytes in others; IOPS times the block size show which.

use crate::amount::{bits_as_bytes, decimal, scaled, time_ns};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has_line("fio Disk Speed Tests (Mixed R/W") || input.has("Yet-Another-Bench-Script")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("text");
    let mut sizes: Vec<String> = Vec::new();
    let mut is_network = false;
    for line in input.text().lines() {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let trimmed = line.trim();
        match fields.as_slice() {
            ["Block Size", of @ ..] => {
                sizes = of.iter().filter_map(|field| Some(field.split_whitespace().next()?.to_owned())).collect();
                is_network = false;
            }
            [name @ ("Read" | "Write" | "Total"), values @ ..] if !sizes.is_empty() => {
                for (size, value) in sizes.iter().zip(values) {
                    disk(&mut run, name, size, value);
                }
            }
            ["Provider", ..] => is_network = true,
            [provider, place, sent, received, rest @ ..] if is_network && !provider.starts_with('-') => {
                let phase = run.phase(format!("iperf3 {provider}, {place}"));
                // "busy" if the test did not run.
                phase.more("sent", bits_as_bytes(sent), "B/s");
                phase.more("received", bits_as_bytes(received), "B/s");
                phase.less("ping", rest.first().and_then(|text| time_ns(text)), "ns");
            }
            [name @ ("Single Core" | "Multi Core"), score] => {
                run.phase_named("Geekbench").more(name, decimal(score), "");
            }
            [_] => setting(&mut run, trimmed),
            _ => {}
        }
    }
    run.phases.retain(|phase| phase.size() > 0);
    match run.phases.is_empty() {
        true => Err(unread("", "no table of YABS in the file has numbers", "pass the output of YABS")),
        false => Ok(vec![run]),
    }
}

/// Records `Processor  : AMD EPYC`, `#                     v2026-09-20                    #`.
fn setting(run: &mut Run, line: &str) {
    let version = line.trim_matches(['#', ' ']);
    if version.starts_with('v') && version[1..].starts_with(|c: char| c.is_ascii_digit()) {
        run.version = version[1..].to_owned();
    } else if let Some((name, value)) = line.split_once(" : ") {
        let name = name.trim();
        if matches!(name, "Processor" | "CPU cores" | "RAM" | "Disk" | "Distro" | "Kernel" | "VM Type") {
            run.set(name, Some(value.trim()));
        }
    }
}

/// Returns the bytes of a block size: `4k`, `1m`.
fn block_bytes(size: &str) -> Option<f64> {
    let (number, unit) = size.split_at(size.len().checked_sub(1)?);
    let factor = match unit {
        "k" => 1024.0,
        "m" => 1_048_576.0,
        _ => return None,
    };
    Some(decimal(number)? * factor)
}

/// Parses `110.95 MB/s  (27.0k)`.
fn disk(run: &mut Run, name: &str, size: &str, text: &str) {
    let Some((amount, iops)) = text.split_once('(') else { return };
    let mut words = amount.split_whitespace();
    let (Some(value), Some(unit)) = (words.next().and_then(decimal), words.next()) else { return };
    let thousands = match unit {
        "KB/s" => 0,
        "MB/s" => 1,
        "GB/s" => 2,
        _ => return,
    };
    let iops = scaled(iops.trim_end_matches([')', ' ']));
    let forms = [1024.0, 1000.0].map(|kilo| value * kilo * 1000f64.powi(thousands));
    let expected = iops.zip(block_bytes(size)).map(|(iops, bytes)| iops * bytes);
    let nearest = |one: &f64, other: &f64| {
        let far = |rate: f64| expected.map_or(0.0, |expected| (rate - expected).abs());
        far(*one).total_cmp(&far(*other))
    };
    let rate = forms.into_iter().min_by(nearest);
    let phase = run.phase_named(&format!("fio {size}"));
    match name {
        "Read" => (phase.bandwidth(OpKind::Read, rate), phase.rate(OpKind::Read, iops)),
        "Write" => (phase.bandwidth(OpKind::Write, rate), phase.rate(OpKind::Write, iops)),
        _ => (phase.more("all bandwidth", rate, "B/s"), phase.more("all rate", iops, "ops/s")),
    };
}
