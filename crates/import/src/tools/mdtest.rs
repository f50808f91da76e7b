//! mdtest: its summaries. Each block of them, one for each number of tasks, is a run; the numbers are means over iterations,
//! whose single rates mdtest does not print.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const NS_PER_MS: f64 = 1e6;

pub(super) fn is_its(input: &Input<'_>) -> bool {
    input.has("mdtest") && (input.has("SUMMARY rate") || input.has("SUMMARY time") || input.has("SUMMARY:"))
}

/// What a summary is of.
#[derive(Clone, Copy, PartialEq)]
enum Summary {
    Rate,
    Time,
    /// Plumb's own block behind mdtest's: percentiles of single operations.
    Latency,
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut head = Run::new("text");
    let mut of: Option<Summary> = None;
    let mut rates_taken = false;
    let mut iterations = 1.0;
    for (number, line) in (1..).zip(input.text().lines()) {
        let said = line.trim();
        if let Some(rest) = said.strip_prefix("mdtest-") {
            head.version = rest.split_whitespace().next().unwrap_or_default().to_owned();
            head.set("tasks", rest.split_once("launched with ").and_then(|(_, rest)| rest.split_whitespace().next()));
        } else if let Some(command) = said.strip_prefix("Command line used: ") {
            head.command = Some(command.to_owned());
        } else if let Some((name, path)) = said.split_once(':').filter(|(name, _)| name.trim() == "Path") {
            let _ = name;
            head.paths = [path.trim().to_owned()].into();
        } else if said.contains(" tasks, ") || said.contains(" task, ") {
            head.set("work", Some(said));
            rates_taken = false;
            of = None;
        } else if said.starts_with("LATENCY (in ms)") {
            of = Some(Summary::Latency);
        } else if let Some(rest) = said.strip_prefix("SUMMARY") {
            let kind = if rest.contains("time") { Summary::Time } else { Summary::Rate };
            iterations =
                rest.split_once("(of ").and_then(|(_, rest)| decimal(rest.split_whitespace().next()?)).unwrap_or(1.0);
            // A summary of times after one of rates is of the same run.
            if !(kind == Summary::Time && rates_taken) {
                runs.push(copy(&head));
            }
            rates_taken = kind == Summary::Rate;
            of = Some(kind);
        } else if let (Some(summary), Some(run)) = (of, runs.last_mut()) {
            if said.starts_with("--") && said.contains("finished") {
                of = None;
            } else {
                row(run, said, summary, iterations)
                    .map_err(|message| unread(format!("line {number}"), message, HELP))?;
            }
        }
    }
    Ok(runs)
}

const HELP: &str = "give the summary as mdtest printed it";

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

/// `Directory creation  0.019519  0.028223  0.050814  0.050814  0.050814`: three percentiles, 99.9 %, and the longest, ms.
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

/// `Directory creation  42430.996  42430.996  42430.996  0.000`: greatest, least, mean, standard deviation. With statistics
/// of ranks there are three numbers before these.
fn row(run: &mut Run, line: &str, summary: Summary, iterations: f64) -> Result<(), String> {
    const OPERATIONS: [(&str, Option<OpKind>); 12] = [
        ("Directory creation", Some(OpKind::Mkdir)),
        ("Directory stat", Some(OpKind::Stat)),
        ("Directory read", None),
        ("Directory rename", Some(OpKind::Rename)),
        ("Directory removal", Some(OpKind::Rmdir)),
        ("File creation", Some(OpKind::Create)),
        ("File stat", Some(OpKind::Stat)),
        // An open, a read and a close.
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
        // Of rates too, the time is their inverse, with fewer digits.
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
