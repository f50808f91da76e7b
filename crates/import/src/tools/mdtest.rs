//! mdtest: its summaries. Each block, one per number of tasks, is a run. Its numbers are means over iterations; mdtest
//! does not print the single rates.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const NS_PER_MS: f64 = 1e6;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("mdtest") && (input.has("SUMMARY rate") || input.has("SUMMARY time") || input.has("SUMMARY:"))
}

/// Kind of a summary.
#[derive(Clone, Copy, PartialEq)]
enum Summary {
    Rate,
    Time,
    /// Plumb's own block after mdtest's: percentiles of single operations.
    Latency,
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut head = Run::new("text");
    let mut of: Option<Summary> = None;
    let mut rates_taken = false;
    let mut iterations = 1.0;
    for (number, line) in (1..).zip(input.text().lines()) {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("mdtest-") {
            head.version = rest.split_whitespace().next().unwrap_or_default().to_owned();
            head.set("tasks", rest.split_once("launched with ").and_then(|(_, rest)| rest.split_whitespace().next()));
        } else if let Some(command) = trimmed.strip_prefix("Command line used: ") {
            head.command = Some(command.to_owned());
        } else if let Some((name, path)) = trimmed.split_once(':').filter(|(name, _)| name.trim() == "Path") {
            let _ = name;
            head.paths = [path.trim().to_owned()].into();
        } else if trimmed.contains(" tasks, ") || trimmed.contains(" task, ") {
            head.set("work", Some(trimmed));
            rates_taken = false;
            of = None;
        } else if trimmed.starts_with("LATENCY (in ms)") {
            of = Some(Summary::Latency);
        } else if let Some(rest) = trimmed.strip_prefix("SUMMARY") {
            let kind = if rest.contains("time") { Summary::Time } else { Summary::Rate };
            iterations =
                rest.split_once("(of ").and_then(|(_, rest)| decimal(rest.split_whitespace().next()?)).unwrap_or(1.0);
            // A summary of times after one of rates belongs to the same run.
            if !(kind == Summary::Time && rates_taken) {
                runs.push(copy(&head));
            }
            rates_taken = kind == Summary::Rate;
            of = Some(kind);
        } else if let (Some(summary), Some(run)) = (of, runs.last_mut()) {
            if trimmed.starts_with("--") && trimmed.contains("finished") {
                of = None;
            } else {
                row(run, trimmed, summary, iterations)
                    .map_err(|message| unread(format!("line {number}"), message, HELP))?;
            }
        }
    }
    Ok(runs)
}

const HELP: &str = "pass the summary as mdtest printed it";

fn copy(head: &Run) -> Run {
    Run {
        form: head.form.clone(),
        version: head.version.clone(),
        command: head.command.clone(),
        paths: head.paths.clone(),
        settings: head.settings.clone(),
        ..Run::default()
    }
}

/// Parses `Directory creation  0.019519  0.028223  0.050814  0.050814  0.050814`: three percentiles, 99.9 %, and the maximum, ms.
fn latencies(run: &mut Run, (name, kind): (&str, Option<OpKind>), words: &[&str]) -> Result<(), String> {
    const STATS: [Stat; 5] = [Stat::P50, Stat::P90, Stat::P99, Stat::P999, Stat::Max];
    if words.len() != STATS.len() {
        return Err(format!("`{name}` has {} latencies; a row has five", words.len()));
    }
    let phase = run.phase_named(name);
    for (stat, word) in STATS.into_iter().zip(words) {
        let ns = decimal(word).map(|ms| ms * NS_PER_MS);
        match kind {
            Some(kind) => phase.latency(kind, stat, ns),
            None => phase.less(&format!("latency {}", stat.name()), ns, "ns"),
        }
    }
    Ok(())
}

/// Parses `Directory creation  42430.996  42430.996  42430.996  0.000`: greatest, least, mean, standard deviation. With
/// statistics of ranks, three numbers come before these.
fn row(run: &mut Run, line: &str, summary: Summary, iterations: f64) -> Result<(), String> {
    const OPERATIONS: [(&str, Option<OpKind>); 12] = [
        ("Directory creation", Some(OpKind::Mkdir)),
        ("Directory stat", Some(OpKind::Stat)),
        ("Directory read", None),
        ("Directory rename", Some(OpKind::Rename)),
        ("Directory removal", Some(OpKind::Rmdir)),
        ("File creation", Some(OpKind::Create)),
        ("File stat", Some(OpKind::Stat)),
        // Consists of an open, a read and a close.
        ("File read", None),
        ("File rename", Some(OpKind::Rename)),
        ("File removal", Some(OpKind::Unlink)),
        ("Tree creation", None),
        ("Tree removal", None),
    ];
    let Some((name, kind)) = OPERATIONS.iter().find(|(name, _)| line.starts_with(name)) else { return Ok(()) };
    let rest = line[name.len()..].trim_start_matches([' ', ':']);
    let words: Vec<&str> = rest.split_whitespace().collect();
    if summary == Summary::Latency {
        return latencies(run, (name, *kind), &words);
    }
    if words.len() < 4 {
        return Err(format!("`{line}` has {} numbers; a row has at least four", words.len()));
    }
    let numbers: Vec<Option<f64>> = words[words.len() - 4..].iter().map(|word| decimal(word)).collect();
    let [max, min, mean, deviation] = [numbers[0], numbers[1], numbers[2], numbers[3]];
    let phase = run.phase_named(name);
    match (summary, kind) {
        (Summary::Rate, Some(kind)) => phase.rate(*kind, mean),
        (Summary::Rate, None) => phase.more("rate", mean, "ops/s"),
        // If rates are known, the time is their inverse, with fewer digits.
        (Summary::Time, Some(kind)) => {
            phase.latency(*kind, Stat::Mean, mean.filter(|ms| *ms > 0.0).map(|ms| ms * NS_PER_MS));
        }
        (Summary::Latency, _) => {}
        (Summary::Time, None) => phase.less("time of one", mean.filter(|ms| *ms > 0.0).map(|ms| ms * NS_PER_MS), "ns"),
    }
    if iterations > 1.0 && summary == Summary::Rate {
        phase.plain("rate min", min, "ops/s");
        phase.plain("rate max", max, "ops/s");
        phase.plain("rate stddev", deviation, "ops/s");
        run.note("rates are means over iterations");
    }
    Ok(())
}
