//! fs_mark's output.

use super::settings::{Directories, FsMarkSettings, SyncMethod};
use plumb_result::PhaseMeasurement;
use plumb_result::measurement::WorkerMeasurement;
use plumb_workload::OpKind;

/// fs_mark's descriptions of the flush methods, by number.
const METHODS: [&str; 7] = [
    "NO SYNC: Test does not issue sync() or fsync() calls.",
    "INBAND FSYNC: fsync() per file in write loop.",
    "SYSTEM SYNC/SINGLE FSYNC: Issue sync() after main write loop and 1 file fsync() per subdirectory.",
    "POST REVERSE: Reopen and fsync() each file in reverse order after main write loop.",
    "SYNC POST REVERSE: Issue sync() and then reopen and fsync() each file in reverse order after main write loop.",
    "POST: Reopen and fsync() each file in order after main write loop.",
    "SYNC POST: Issue sync() and then reopen and fsync() each file in order after main write loop.",
];

/// Destination of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Output,
    Log,
}

/// Formats the lines before the first iteration. `began` is the time in the format of ctime(3).
pub fn head(settings: &FsMarkSettings, command: &[String], began: &str, to: To) -> String {
    let words: String = command.iter().map(|word| format!(" {word} ")).collect();
    let method = SyncMethod::ALL.iter().position(|known| *known == settings.sync).map_or("", |number| METHODS[number]);
    let directories = match settings.directories {
        Directories::None => "no subdirectories used".to_owned(),
        Directories::ByTime(count) => format!(
            "Time based hash between directories across {count} subdirectories with 180 seconds per subdirectory."
        ),
        Directories::InTurn { count, files } => format!(
            "Round Robin between directories across {count} subdirectories with {files} files per subdirectory."
        ),
    };
    let (all, random) = (settings.name_bytes, settings.random_bytes);
    let mut text = format!(
        "\n# {words}\n#\tVersion 3.3, {} thread(s) starting at {began}\n#\tSync method: {method}\n#\tDirectories:  \
         {directories}\n#\tFile names: {all} bytes long, ({} initial bytes of time stamp with {random} random bytes at end \
         of name)\n#\tFiles info: size {} bytes, written with an IO size of {} bytes per write\n#\tApp overhead is time in \
         microseconds spent in the test not doing file writing related system calls.\n",
        settings.threads.len(),
        all - random,
        settings.bytes,
        settings.write_bytes,
    );
    if to == To::Log {
        text.push('#');
    }
    if settings.verbose {
        text.push_str("#\tAll system call times are reported in microseconds.\n\n");
    } else {
        text.push('\n');
    }
    text.push_str(&format!(
        "{:>6} {:>12} {:>12} {:>12} {:>16}",
        "FSUse%", "Count", "Size", "Files/sec", "App Overhead"
    ));
    if settings.verbose {
        for call in ["CREAT", "WRITE", "FSYNC", "SYNC", "CLOSE", "UNLINK"] {
            text.push_str(&format!(" {:>26}", format!("{call} (Min/Avg/Max)")));
        }
    }
    text.push('\n');
    text
}

/// Op kinds of each column. Flushing a closed file opens it first.
const CALLS: [&[OpKind]; 6] = [
    &[OpKind::Create],
    &[OpKind::Write],
    &[OpKind::Fsync, OpKind::Open],
    &[OpKind::Sync],
    &[OpKind::Close],
    &[OpKind::Unlink],
];

/// Returns the time of some op kinds, ns.
fn time(worker: &WorkerMeasurement, kinds: &[OpKind]) -> u128 {
    kinds.iter().filter_map(|kind| worker.ops.get(kind)).map(|ops| ops.service.sum()).sum()
}

/// Formats the line of an iteration. `full_percent` is the use of the first directory's file
/// system; `before` counts earlier files.
pub fn line(settings: &FsMarkSettings, phases: &[PhaseMeasurement], full_percent: u32, before: u64) -> String {
    let Some(writing) = phases.first() else { return String::new() };
    let (mut rate, mut overhead_ns) = (0.0, 0);
    for worker in &writing.workers {
        rate += f64::from(settings.files) / (worker.wall_ns.max(1) as f64 / 1e9);
        let in_calls: u128 = CALLS.iter().map(|kinds| time(worker, kinds)).sum();
        overhead_ns += u128::from(worker.wall_ns).saturating_sub(in_calls);
    }
    let count = before + u64::from(settings.files) * settings.threads.len() as u64;
    let mut text =
        format!("{full_percent:>6} {count:>12} {:>12} {rate:>12.1} {:>16}", settings.bytes, overhead_ns / 1000);
    if settings.verbose {
        for kinds in CALLS {
            for us in times_us(settings, phases, kinds) {
                text.push_str(&format!(" {us:>8}"));
            }
        }
    }
    text.push('\n');
    text
}

/// Returns the smallest, mean and largest time of a column, µs.
fn times_us(settings: &FsMarkSettings, phases: &[PhaseMeasurement], kinds: &[OpKind]) -> [u64; 3] {
    let ops = || phases.iter().flat_map(|phase| kinds.iter().filter_map(|kind| phase.ops.get(kind)));
    let sum: u128 = ops().map(|ops| ops.service.sum()).sum();
    let threads = settings.threads.len() as u128;
    match kinds {
        [OpKind::Write] => {
            let count: u64 = ops().map(|ops| ops.count).sum();
            let min = ops().filter_map(|ops| ops.service.min()).min().unwrap_or(0);
            let max = ops().filter_map(|ops| ops.service.max()).max().unwrap_or(0);
            [min / 1000, (sum / u128::from(count.max(1)) / 1000) as u64, max / 1000]
        }
        // As in fs_mark: only the mean, over threads.
        [OpKind::Sync] => [0, (sum / threads / 1000) as u64, 0],
        kinds => {
            let first = || phases.iter().filter_map(|phase| phase.ops.get(&kinds[0]));
            let min = first().filter_map(|ops| ops.service.min()).min().unwrap_or(0);
            let max = first().filter_map(|ops| ops.service.max()).max().unwrap_or(0);
            [min / 1000, (sum / (u128::from(settings.files) * threads) / 1000) as u64, max / 1000]
        }
    }
}
