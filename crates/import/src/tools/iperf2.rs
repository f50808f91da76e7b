//! iperf 2: its text, and the lines of `-y C`. The last interval that begins at 0 covers the whole test. Bytes sent by
//! a client are writes, bytes received by a server are reads. A sum over connections replaces them.

use crate::amount::{bits_as_bytes, decimal, time_ns};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| csv_line(line).is_some())
        || ((input.has("Client connecting to ")
            || input.has("Server listening on TCP")
            || input.has("Server listening on UDP"))
            && input.has("[ ID] Interval"))
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let text = input.text();
    if text.lines().any(|line| csv_line(line).is_some()) {
        return Ok(read_csv(text));
    }
    read_text(text)
}

/// Numbers of an interval.
#[derive(Clone, Copy, Default)]
struct Interval {
    seconds: f64,
    rate: f64,
    jitter_ns: Option<f64>,
    lost_percent: Option<f64>,
}

/// Parses `20261120190820,127.0.0.1,47750,127.0.0.1,5001,1,0.0-1.1,393276,2959270`; UDP adds jitter and losses.
fn csv_line(line: &str) -> Option<(String, Interval, f64)> {
    let fields: Vec<&str> = line.trim().split(',').collect();
    let is_time =
        |text: &str| matches!(text.len(), 14..=18) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if fields.len() < 9 || !is_time(fields[0]) {
        return None;
    }
    let (from, to) = fields[6].split_once('-')?;
    let (from, to) = (decimal(from)?, decimal(to)?);
    let number = |at: usize| fields.get(at).and_then(|text| decimal(text));
    let interval = Interval {
        seconds: to - from,
        rate: number(8)? / 8.0,
        jitter_ns: number(9).map(|ms| ms * 1e6),
        lost_percent: number(12),
    };
    Some((format!("{} {}", fields[4], fields[5]), interval, from))
}

fn read_csv(text: &str) -> Vec<Run> {
    let mut last: BTreeMap<String, Interval> = BTreeMap::new();
    for (id, interval, from) in text.lines().filter_map(csv_line) {
        let known = last.get(&id).map_or(0.0, |known| known.seconds);
        if from == 0.0 && interval.seconds >= known {
            last.insert(id, interval);
        }
    }
    let mut run = Run::new("CSV");
    run.is_network = true;
    // The sum over connections has the id -1.
    let has_sum = last.keys().any(|id| id.ends_with(" -1"));
    for (id, interval) in last.iter().filter(|(id, _)| !has_sum || id.ends_with(" -1")) {
        let phase = run.phase(format!("connection {}", id.split(' ').nth(1).unwrap_or_default()));
        phase.wall_ns = Some(interval.seconds * 1e9);
        phase.more("bandwidth", Some(interval.rate), "B/s");
        phase.less("jitter", interval.jitter_ns, "ns");
        phase.less("lost datagrams", interval.lost_percent, "%");
    }
    run.note("iperf's CSV does not say whether it is the client's or the server's");
    vec![run]
}

fn read_text(text: &str) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("text");
    run.is_network = true;
    let mut kind = OpKind::Write;
    let mut own = OpKind::Write;
    let mut bounces = false;
    let mut found: BTreeMap<(OpKind, String), Interval> = BTreeMap::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("Server listening") {
            (kind, own) = (OpKind::Read, OpKind::Read);
        } else if let Some(rest) = trimmed.strip_prefix("Client connecting to ") {
            (kind, own) = (OpKind::Write, OpKind::Write);
            run.set("server", rest.split(',').next());
            run.set("protocol", rest.split_once(", ").and_then(|(_, rest)| rest.split_whitespace().next()));
        } else if trimmed.contains(" connected with ") && trimmed.contains("(reverse)") {
            // The other side sends.
            (kind, own) = match own {
                OpKind::Write => (OpKind::Read, OpKind::Read),
                _ => (OpKind::Write, OpKind::Write),
            };
        } else if trimmed.contains("Bounce-back test") {
            bounces = true;
        } else if trimmed.ends_with("Server Report:") {
            kind = OpKind::Read;
        } else if let Some((id, interval, from)) = text_line(trimmed) {
            let key = (kind, id);
            let known = found.get(&key).map_or(0.0, |known| known.seconds);
            if from == 0.0 && interval.seconds >= known {
                found.insert(key, interval);
            }
            kind = own;
        }
    }
    if found.is_empty() {
        return Err(unread("", "the file contains no interval that begins at 0", "pass the complete output of a test"));
    }
    for of in [OpKind::Write, OpKind::Read] {
        let all = || found.iter().filter(move |((kind, _), _)| *kind == of);
        let sum = all().find(|((_, id), _)| id == "SUM").map(|(_, interval)| (1, *interval));
        let several = all().count();
        let added = all().fold(Interval::default(), |sum, (_, one)| Interval {
            seconds: sum.seconds.max(one.seconds),
            rate: sum.rate + one.rate,
            jitter_ns: one.jitter_ns,
            lost_percent: one.lost_percent,
        });
        let Some((_, interval)) = sum.or((several > 0).then_some((several, added))) else { continue };
        if bounces {
            run.note("in a bounce-back test, the byte rate is that of its requests; its round trips are in the file");
        }
        let phase = run.phase(if of == OpKind::Write { "sent" } else { "received" });
        phase.wall_ns = Some(interval.seconds * 1e9);
        phase.bandwidth(of, Some(interval.rate));
        if several == 1 {
            phase.less("jitter", interval.jitter_ns, "ns");
            phase.less("lost datagrams", interval.lost_percent, "%");
        }
    }
    Ok(vec![run])
}

/// Parses `[  1] 0.0000-1.0627 sec   384 KBytes  2.96 Mbits/sec …`.
fn text_line(line: &str) -> Option<(String, Interval, f64)> {
    let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "sec")?;
    // "0.0- 1.0" contains a blank.
    let range: String = words[..at].concat();
    let (from, to) = range.split_once('-')?;
    let (from, to) = (decimal(from)?, decimal(to)?);
    let unit = words.iter().position(|word| word.ends_with("bits/sec"))?;
    let rate = bits_as_bytes(&format!("{} {}", words.get(unit.checked_sub(1)?)?, words[unit]))?;
    let after = &words[unit + 1..];
    let jitter = (after.get(1) == Some(&"ms")).then(|| time_ns(&format!("{} ms", after[0]))).flatten();
    let lost = rest.split_once('(').and_then(|(_, rest)| rest.split_once("%)")).and_then(|(text, _)| decimal(text));
    let interval =
        Interval { seconds: to - from, rate, jitter_ns: jitter, lost_percent: lost.filter(|_| jitter.is_some()) };
    // An asterisk marks data received in a reverse test.
    Some((id.trim().trim_start_matches('*').to_owned(), interval, from))
}
