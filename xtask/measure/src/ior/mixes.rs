//! Random command lines of IOR, run by IOR and by Plumb: the exit code, the calls on the test file and the form of the
//! report are the same.
//!
//! Known differences are left out: `-Y`, for which IOR flushes twice after each write, and Plumb's own latency lines.
//! IOR refuses `-z -C` without `-F` even if nothing is read; Plumb does not.

use super::{Site, Whose};
use anyhow::{Context, Result};
use plumb_workload::library_random::LibraryRandom;
use std::collections::HashMap;
use std::process::Command;

/// An option with values to draw from; an empty value makes it a flag.
type Row = (&'static str, &'static [&'static str]);

/// Each command line has one value of each of these.
const ALWAYS: &[Row] =
    &[("-b", &["64k", "256k", "1m"]), ("-t", &["4k", "16k", "64k", "100", "128k"]), ("-s", &["1", "2", "5"])];

/// Each command line has about one in four of these.
const SOME: &[Row] = &[
    ("-w", &[""]),
    ("-r", &[""]),
    ("-k", &[""]),
    ("-e", &[""]),
    ("-C", &[""]),
    ("-F", &[""]),
    ("-z", &[""]),
    ("-Z", &[""]),
    ("-i", &["2", "3"]),
    ("-m", &[""]),
    ("-g", &[""]),
    ("-W", &[""]),
    ("-R", &[""]),
    ("-G", &["7", "-1"]),
    ("-u", &[""]),
    ("-E", &[""]),
    ("-D", &["0", "2"]),
    ("-d", &["0"]),
    ("-v", &["", "-v"]),
    ("-O", &["summaryFormat=CSV", "summaryFormat=JSON", "randomPrefill=4096", "bogus=1", "uniqueDir=1"]),
    ("-J", &["4096"]),
    ("-l", &["random", "timestamp", "offset"]),
    ("-a", &["POSIX", "DUMMY", "BOGUS"]),
];

/// Random command line of IOR, without the program's name.
pub(super) struct IorMix {
    pub(super) words: Vec<String>,
}

impl IorMix {
    pub(super) fn draw(numbers: &mut LibraryRandom) -> IorMix {
        let mut below = |bound: usize| numbers.draw() as usize % bound;
        let mut words = Vec::new();
        for (option, values) in ALWAYS {
            words.extend([(*option).to_owned(), values[below(values.len())].to_owned()]);
        }
        for (option, values) in SOME {
            if below(4) == 0 {
                words.push((*option).to_owned());
                words.push(values[below(values.len())].to_owned());
            }
        }
        words.retain(|word| !word.is_empty());
        IorMix { words }
    }
}

/// Exit status, calls and report of one run of IOR.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IorRun {
    succeeds: bool,
    /// Calls of one rank on the test file.
    calls: Vec<String>,
    /// Lines of the report, without numbers.
    report: Vec<String>,
}

impl IorRun {
    /// Returns the first difference from another run: this run's part, and the other's.
    pub(super) fn difference(&self, other: &IorRun) -> Option<(String, String)> {
        if self.succeeds != other.succeeds {
            return Some((format!("success: {}", self.succeeds), format!("success: {}", other.succeeds)));
        }
        // Error messages differ on purpose.
        if !self.succeeds {
            return None;
        }
        first_difference(&self.calls, &other.calls).or_else(|| first_difference(&self.report, &other.report))
    }
}

fn first_difference(own: &[String], other: &[String]) -> Option<(String, String)> {
    let line = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_else(|| "nothing".to_owned());
    let at = (0..own.len().max(other.len())).find(|&at| own.get(at) != other.get(at))?;
    Some((line(own, at), line(other, at)))
}

/// Plumb's own lines, after those of IOR.
const LATENCIES: &str = "Latency of single transfers";

/// Runs a mix with one rank under strace.
pub(super) fn run(site: &Site, mix: &IorMix, whose: Whose) -> Result<IorRun> {
    let data = site.path("drawn");
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir(&data)?;
    let trace = site.path("drawn.strace");
    let mut command: Command = site.command("strace");
    command.args([
        "-f",
        "-y",
        "-qq",
        "-e",
        "trace=openat,pread64,pwrite64,read,write,lseek,fsync,unlink,unlinkat,ftruncate",
        "-o",
    ]);
    command.arg(&trace).arg(site.programs(whose).join("ior")).args(&mix.words).arg("-o").arg(data.join("file"));
    let output = command.output().context("cannot start strace")?;
    let text = std::fs::read(&trace).context("strace left no trace")?;
    let calls = calls(&String::from_utf8_lossy(&text), &data.display().to_string());
    let text = String::from_utf8_lossy(&output.stdout);
    let report = text.split(LATENCIES).next().unwrap_or_default().lines().filter_map(shape).collect();
    Ok(IorRun { succeeds: output.status.success(), calls, report })
}

/// Returns the calls of a trace that moved data in files below a directory, in order: their names and lengths, and the
/// offset if the call names one. Source: strace(1), `-y`.
fn calls(trace: &str, directory: &str) -> Vec<String> {
    let moved = |line: &str| {
        let call = line.split_once(' ')?.1.trim_start();
        let (name, arguments) = call.split_once('(')?;
        let (arguments, result) = arguments.rsplit_once(" = ")?;
        // The first argument is a descriptor with its path, or a path.
        let first = arguments.split(", ").next()?;
        if !first.contains(directory) || result.starts_with('-') || result.starts_with('?') {
            return None;
        }
        let words: Vec<&str> = arguments.trim_end_matches(')').rsplit(", ").collect();
        match name {
            // With an explicit offset, or at the current position: `result` is the length moved in both cases.
            "pread64" | "pwrite64" => Some(format!("{} {} at {}", &name[1..name.len() - 2], result, words.first()?)),
            "read" | "write" => Some(format!("{name} {result}")),
            "unlinkat" => Some("unlink".to_owned()),
            "fsync" | "unlink" => Some(name.to_owned()),
            _ => None,
        }
    };
    whole_lines(trace).iter().filter_map(|line| moved(line)).collect()
}

/// Returns a trace's lines with one call in each: strace splits a call if another thread's comes in between.
fn whole_lines(trace: &str) -> Vec<String> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut lines = Vec::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, start);
        } else if let (Some((_, end)), Some(start)) = (call.split_once(" resumed>"), begun.remove(thread)) {
            lines.push(format!("{thread} {start}{end}"));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Returns a line of a report with `#` for its numbers and single spaces. Returns `None` for an empty line, and for
/// facts about the machine and the time.
fn shape(line: &str) -> Option<String> {
    const OF_THE_MOMENT: [&str; 9] =
        ["IOR-", "Began", "StartTime", "Finished", "Machine", "Command line", "Path", "FS", "TestID"];
    let bare = line.trim().trim_matches(|letter: char| "\",{}[]".contains(letter));
    if bare.is_empty() || OF_THE_MOMENT.iter().any(|start| bare.starts_with(start)) {
        return None;
    }
    let is_number = |word: &str| {
        let word = word.trim_matches(|letter: char| "\",:[]{}%()".contains(letter));
        word.parse::<f64>().is_ok()
    };
    let words = line.split([' ', ',']).filter(|word| !word.is_empty());
    Some(words.map(|word| if is_number(word) { "#" } else { word }).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the comparison: it ignores calls on other files and failed calls, and includes lengths and offsets.
    #[test]
    fn calls_are_those_on_the_test_file() {
        let trace = "12 openat(AT_FDCWD, \"/d/file\", O_RDWR) = 3</d/file>\n12 pwrite64(3</d/file>, \"a, b\", 4096, 8192) = 4096\n\
            12 write(1</x>, \"of /d/file\", 10) = 10\n12 write(3</d/file>, \"\\0\"..., 100) = 100\n12 fsync(3</d/file>) = 0\n\
            12 unlink(\"/d/file\") = -1 ENOENT (No such file)\n12 unlink(\"/d/file\") = 0\n12 exit_group(0) = ?\n";
        assert_eq!(calls(trace, "/d"), ["write 4096 at 8192", "write 100", "fsync", "unlink"]);
        let split = "12 fsync(3</d/file> <unfinished ...>\n13 read(0</x>, \"\", 1) = 0\n12 <... fsync resumed>) = 0\n";
        assert_eq!(calls(split, "/d"), ["fsync"]);
    }

    // Protects the comparison: it ignores numbers, dates and paths of a report, and compares its words.
    #[test]
    fn reports_are_compared_by_their_words() {
        assert_eq!(shape("write     1234.5     0.1  0 "), Some("write # # #".to_owned()));
        assert_eq!(shape("Began               : Sat Nov"), None);
        assert_eq!(shape("access,bw(MiB/s),IOPS"), Some("access bw(MiB/s) IOPS".to_owned()));
        assert_eq!(first_difference(&["a".to_owned()], &[]), Some(("a".to_owned(), "nothing".to_owned())));
        assert_eq!(first_difference(&[], &[]), None);
    }
}
