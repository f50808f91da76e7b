//! fs_mark: the rows of its iterations, from its output or its log. Times are in µs.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

fn is_head(line: &str) -> bool {
    line.trim_start_matches('#').trim_start().starts_with("FSUse%") && line.contains("Files/sec")
}

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(is_head)
}

/// Columns of `-v`: the least, mean and greatest time of each call.
const CALLS: [&str; 6] = ["creat", "write", "fsync", "sync", "close", "unlink"];

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut head = Run::new("text");
    for line in input.text().lines() {
        let trimmed = line.trim_start_matches('#').trim();
        if is_head(line) {
            runs.push(std::mem::replace(&mut head, Run::new("text")));
        } else if let Some(method) = trimmed.strip_prefix("Sync method: ") {
            head.set("sync method", Some(method));
        } else if let Some(rest) = trimmed.strip_prefix("Version ") {
            head.version = rest.split(',').next().unwrap_or_default().to_owned();
            head.set("threads", rest.split(", ").nth(1).and_then(|text| text.split_whitespace().next()));
        } else if line.starts_with('#') && trimmed.contains("fs_mark ") {
            head.command = Some(trimmed.split_whitespace().collect::<Vec<_>>().join(" "));
        } else if let Some(run) = runs.last_mut() {
            row(run, trimmed);
        }
    }
    runs.retain(|run| run.size() > 0);
    match runs.is_empty() {
        true => Err(unread(
            "",
            "the file contains no completed iteration",
            "pass the output of fs_mark, with its column headers",
        )),
        false => Ok(runs),
    }
}

/// Parses `     5          200         4096       1234.5            12345`: use of the file system, count, size, rate, overhead.
fn row(run: &mut Run, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Option<Vec<f64>> = words.iter().map(|word| decimal(word)).collect();
    let Some(numbers) = numbers.filter(|numbers| numbers.len() >= 5) else { return };
    run.set("file size", words.get(2));
    let phase = run.phase(format!("{} files", words[1]));
    phase.rate(OpKind::Create, Some(numbers[3]));
    phase.less("app overhead", Some(numbers[4] * 1e3), "ns");
    for (name, times) in CALLS.iter().zip(numbers[5..].chunks_exact(3)) {
        for (what, us) in ["min", "mean", "max"].iter().zip(times) {
            phase.less(&format!("{name} {what}"), Some(us * 1e3), "ns");
        }
    }
}
