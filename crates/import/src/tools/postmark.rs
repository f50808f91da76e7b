//! PostMark: its report, verbose or terse. A megabyte is 1,048,576 bytes. Its clock counts whole seconds, so runs of
//! one second and of almost two print the same.

use crate::amount::{bytes_of_1024, decimal, leading};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const NS_PER_S: f64 = 1e9;

/// Seconds below which a clock of whole seconds is too coarse.
const SECONDS_FEW: f64 = 10.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("PostMark v") || (input.has("seconds of transactions (") && input.has("seconds total"))
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs = Vec::new();
    let mut current = fresh("verbose");
    let mut begun = false;
    for line in input.text().lines() {
        let trimmed = line.trim().trim_start_matches("pm>").trim();
        if let Some((_, version)) = trimmed.split_once("PostMark v") {
            current.version = version.split_whitespace().next().unwrap_or_default().to_owned();
        } else if trimmed.contains("Creating ") && trimmed.contains("...") {
            begun = true;
        } else if is_terse(trimmed) {
            begun = false;
            let mut run = taken(&mut current, "terse");
            terse(&mut run, trimmed);
            runs.push(run);
        } else if let Some(seconds) = trimmed.strip_suffix(" seconds total").and_then(decimal) {
            current.phase_named("whole").wall_ns = Some(seconds * NS_PER_S);
        } else if settings(&mut current, trimmed) {
        } else if verbose(&mut current, trimmed) {
            begun = false;
            let run = taken(&mut current, "verbose");
            runs.push(run);
        }
    }
    if begun || runs.is_empty() {
        let message = "the run did not end with a report";
        return Err(unread(
            "",
            message,
            "pass the output of PostMark up to `megabytes written`, or its line of 13 numbers",
        ));
    }
    for run in &mut runs {
        let seconds = run.phases.iter().filter_map(|phase| phase.wall_ns).fold(0.0, f64::max) / NS_PER_S;
        if seconds < SECONDS_FEW {
            run.note("PostMark's clock counts whole seconds: over so few its rates may be off by their own size");
        }
    }
    Ok(runs)
}

fn fresh(form: &str) -> Run {
    Run::new(form)
}

/// Takes the current run; its version and settings also apply to the next one.
fn taken(current: &mut Run, form: &str) -> Run {
    let next = Run {
        version: current.version.clone(),
        settings: current.settings.clone(),
        paths: current.paths.clone(),
        ..fresh("verbose")
    };
    Run { form: form.to_owned(), ..std::mem::replace(current, next) }
}

fn settings(run: &mut Run, line: &str) -> bool {
    const SETTINGS: [(&str, &str); 8] = [
        ("The base number of files is ", "number"),
        ("Transactions: ", "transactions"),
        ("Files range between ", "size"),
        ("Block sizes are: ", "block sizes"),
        ("Biases are: ", "biases"),
        ("Random number generator seed is ", "seed"),
        ("Number of subdirectories ", "subdirectories"),
        ("Working directory: ", "location"),
    ];
    if let Some((_, name, value)) =
        SETTINGS.iter().find_map(|(text, name)| Some((text, name, line.strip_prefix(text)?)))
    {
        if *name == "location" {
            run.paths.insert(value.to_owned());
        }
        run.set(name, Some(value));
        return true;
    }
    if line.contains("Unix buffered file I/O") {
        run.set("buffering", Some(!line.starts_with("Not")));
        return true;
    }
    false
}

/// Parses `(13636 per second)` at the end of a line.
fn per_second(line: &str) -> Option<f64> {
    let inner = line.rsplit_once('(')?.1.strip_suffix(" per second)")?;
    decimal(inner).or_else(|| bytes_of_1024(&short(inner)))
}

/// Shortens the prefix of `789.76 megabytes` to a letter.
fn short(amount: &str) -> String {
    const WORDS: [(&str, &str); 5] =
        [("kilobytes", "KB"), ("megabytes", "MB"), ("gigabytes", "GB"), ("terabytes", "TB"), ("bytes", "B")];
    let word = WORDS.iter().find(|(word, _)| amount.trim_end().ends_with(word));
    word.map_or_else(|| amount.to_owned(), |(word, letter)| amount.replacen(word, letter, 1))
}

/// Reads a line of the report. Returns `true` for the last one.
fn verbose(run: &mut Run, line: &str) -> bool {
    let rate = per_second(line);
    let count = leading(line);
    let Some(rate) = rate else { return false };
    let what = count.map_or("", |(_, rest)| rest);
    if what.starts_with("seconds of transactions") {
        let seconds = count.map(|(seconds, _)| seconds * NS_PER_S);
        let phase = run.phase("transactions");
        phase.wall_ns = seconds;
        phase.transactions(Some(rate));
    } else if what.starts_with("created") {
        run.phase_named("whole").rate(OpKind::Create, Some(rate));
    } else if line.starts_with("Creation alone") {
        run.phase("creation alone").rate(OpKind::Create, Some(rate));
    } else if line.starts_with("Deletion alone") {
        run.phase("deletion alone").rate(OpKind::Unlink, Some(rate));
    } else if what.starts_with("deleted") {
        run.phase_named("whole").rate(OpKind::Unlink, Some(rate));
    } else if what.starts_with("read") || what.starts_with("appended") {
        let name = what.split_whitespace().next().unwrap_or_default();
        run.phase_named("whole").more(&format!("files {name}"), Some(rate), "ops/s");
    } else if what.contains("bytes read ") {
        run.phase_named("whole").bandwidth(OpKind::Read, Some(rate));
    } else if what.contains("bytes written ") {
        run.phase_named("whole").bandwidth(OpKind::Write, Some(rate));
        return true;
    }
    false
}

/// Recognises the terse report: thirteen numbers.
fn is_terse(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.len() == 13 && words.iter().all(|word| decimal(word).is_some())
}

/// Reads the terse report: seconds; seconds of transactions; rates of transactions, of files created in all, alone and among
/// transactions, of files read and appended, of files deleted in all, alone and among transactions, and of bytes read and written.
fn terse(run: &mut Run, line: &str) {
    let numbers: Vec<Option<f64>> = line.split_whitespace().map(decimal).collect();
    let seconds = |at: usize| numbers[at].map(|seconds| seconds * NS_PER_S);
    let phase = run.phase("transactions");
    phase.wall_ns = seconds(1);
    phase.transactions(numbers[2]);
    run.phase("creation alone").rate(OpKind::Create, numbers[4]);
    run.phase("deletion alone").rate(OpKind::Unlink, numbers[9]);
    let phase = run.phase("whole");
    phase.wall_ns = seconds(0);
    phase.rate(OpKind::Create, numbers[3]);
    phase.rate(OpKind::Unlink, numbers[8]);
    phase.more("files read", numbers[6], "ops/s");
    phase.more("files appended", numbers[7], "ops/s");
    phase.bandwidth(OpKind::Read, numbers[11]);
    phase.bandwidth(OpKind::Write, numbers[12]);
}
