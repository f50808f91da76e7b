//! iperf3's text. The lines with `sender` and `receiver` at the end of a test are its result; a sum replaces its
//! streams. Bits are decimal, bytes are powers of 1024. Names are those of iperf3's JSON.

use crate::amount::{bits_as_bytes, bytes_of_1024, decimal};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| result(line.trim()).is_some())
        && (input.has("[ ID] Interval") || input.has("[ ID][Role] Interval") || input.has("iperf 3"))
}

/// A result line of one stream, or of all.
struct Sum {
    id: String,
    /// Whether the client sends.
    is_forward: bool,
    is_sender: bool,
    seconds: f64,
    /// Bytes per second.
    rate: f64,
    retransmits: Option<f64>,
    jitter_ns: Option<f64>,
    lost: Option<(f64, f64)>,
}

/// Parses `[  5]   0.00-10.00  sec  1.10 GBytes   943 Mbits/sec    0             sender`, `[  5][TX-C] …`, `[SUM] …`.
fn result(line: &str) -> Option<Sum> {
    let (line, is_sender) = match line.strip_suffix("sender") {
        Some(line) => (line, true),
        None => (line.strip_suffix("receiver")?, false),
    };
    let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (role, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let second = words.iter().position(|word| *word == "sec")?;
    let range = words[..second].concat();
    let (from, to) = range.split_once('-')?;
    let seconds = decimal(to)? - decimal(from)?;
    let unit = words.iter().position(|word| word.ends_with("bits/sec") || word.ends_with("Bytes/sec"))?;
    let amount = format!("{} {}", words.get(unit.checked_sub(1)?)?, words[unit]);
    let rate = match words[unit].ends_with("bits/sec") {
        true => bits_as_bytes(&amount)?,
        false => bytes_of_1024(&amount.replace("Bytes/sec", "B"))?,
    };
    let after = &words[unit + 1..];
    let jitter_ns = (after.get(1) == Some(&"ms")).then(|| decimal(after[0])).flatten().map(|ms| ms * 1e6);
    let lost = jitter_ns.and_then(|_| {
        let count = decimal(after.get(2)?.split_once('/')?.0)?;
        let percent = rest.split_once('(')?.1.split_once("%)")?.0;
        Some((count, decimal(percent)?))
    });
    let retransmits = after.first().filter(|_| jitter_ns.is_none() && is_sender).and_then(|text| decimal(text));
    Some(Sum {
        id: id.trim().to_owned(),
        // In a bidirectional test, the client's receive and the server's send are the reverse direction.
        is_forward: !matches!(role, "RX-C" | "TX-S"),
        is_sender,
        seconds,
        rate,
        retransmits,
        jitter_ns,
        lost,
    })
}

pub(super) fn read(text: &str) -> Result<Vec<Run>, Unread> {
    let mut runs = Vec::new();
    let mut head = Run::new("text");
    let mut version = String::new();
    let mut sums: Vec<Sum> = Vec::new();
    let mut cpu = None;
    for line in text.lines().map(str::trim) {
        let begins = line.starts_with("Connecting to host ") || line.starts_with("Accepted connection from ");
        if begins {
            runs.extend(whole(std::mem::replace(&mut head, Run::new("text")), std::mem::take(&mut sums), cpu.take()));
            head.set("server", line.strip_prefix("Connecting to host ").and_then(|rest| rest.split(',').next()));
        } else if let Some(rest) = line.strip_prefix("iperf 3") {
            version = format!("3{}", rest.split_whitespace().next().unwrap_or_default());
        } else if let Some(rest) = line.strip_prefix("Starting Test: ") {
            settings(&mut head, rest);
        } else if line.starts_with("Reverse mode") {
            head.set("reverse", Some("1"));
        } else if let Some(rest) = line.strip_prefix("CPU Utilization: ") {
            cpu = cpu_of(rest);
        } else if let Some(error) = line.strip_prefix("iperf3: error - ") {
            head.error = Some(error.to_owned());
        } else {
            sums.extend(result(line));
        }
        head.version.clone_from(&version);
    }
    runs.extend(whole(head, sums, cpu));
    match runs.is_empty() {
        true => Err(unread("", "no line has a sum of `sender` or `receiver`", "pass the complete output of a test")),
        false => Ok(runs),
    }
}

/// Records `protocol: TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, 10 second test, tos 0`.
fn settings(head: &mut Run, text: &str) {
    let before = |word: &str| {
        let part = text.split(", ").find(|part| part.ends_with(word))?;
        part.split_whitespace().next()
    };
    head.set("protocol", text.strip_prefix("protocol: ").and_then(|rest| rest.split(',').next()));
    head.set("num_streams", before(" streams"));
    head.set("blksize", before(" byte blocks"));
    head.set("duration", before(" second test"));
}

/// Parses `local/sender 1.2% (0.1%u/1.1%s), remote/receiver 3.0% (…)`.
fn cpu_of(text: &str) -> Option<(f64, f64)> {
    let percent = |side: &str| {
        let (_, rest) = text.split_once(side)?;
        rest.split_whitespace().nth(1).and_then(|word| decimal(word.trim_end_matches('%')))
    };
    Some((percent("local/")?, percent("remote/")?))
}

fn whole(mut run: Run, sums: Vec<Sum>, cpu: Option<(f64, f64)>) -> Option<Run> {
    if sums.is_empty() {
        return None;
    }
    run.is_network = true;
    let has_sum = |one: &Sum| {
        sums.iter().any(|sum| sum.id == "SUM" && (sum.is_forward, sum.is_sender) == (one.is_forward, one.is_sender))
    };
    let mut found: BTreeMap<(bool, bool), Vec<&Sum>> = BTreeMap::new();
    for sum in sums.iter().filter(|sum| (sum.id == "SUM") == has_sum(sum)) {
        found.entry((!sum.is_forward, sum.is_sender)).or_default().push(sum);
    }
    for ((is_reverse, is_sender), all) in &found {
        let phase = run.phase_named(if *is_reverse { "reverse" } else { "stream" });
        let total = |of: fn(&Sum) -> Option<f64>| {
            let values: Vec<f64> = all.iter().filter_map(|sum| of(sum)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>())
        };
        phase.extend_to(all.iter().map(|sum| sum.seconds * 1e9).reduce(f64::max));
        let kind = if *is_sender { OpKind::Write } else { OpKind::Read };
        phase.bandwidth(kind, total(|sum| Some(sum.rate)));
        if *is_sender {
            phase.less("retransmits", total(|sum| sum.retransmits), "");
        } else if let [only] = all.as_slice() {
            phase.less("jitter", only.jitter_ns, "ns");
            phase.less("lost packets", only.lost.map(|(count, _)| count), "");
            phase.less("lost packets share", only.lost.map(|(_, percent)| percent), "%");
        }
    }
    if let (Some((here, there)), Some(phase)) = (cpu, run.phases.first_mut()) {
        phase.less("CPU of this host", Some(here), "%");
        phase.less("CPU of the other host", Some(there), "%");
    }
    run.note("iperf3 rounds what it prints to three or four digits; its JSON has them all");
    Some(run)
}
