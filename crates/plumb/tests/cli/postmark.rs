//! `plumb as postmark` end to end.

use crate::common::traced::same;
use crate::common::{CommandOutput, Home, needs};
use regex::Regex;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a session with these lines typed.
fn session(home: &Home, arguments: &str, lines: &str) -> CommandOutput {
    let mut command = home.command(arguments.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    CommandOutput {
        command: format!("{arguments}: {lines}"),
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Removes seconds and rates, which depend on time.
fn timeless(text: &str) -> String {
    let text = Regex::new(r"[\d.]+ seconds").unwrap().replace_all(text, "T seconds");
    Regex::new(r"\([\d.]+ ([a-z]+ )?per second\)").unwrap().replace_all(&text, "(R)").into_owned()
}

fn entries(path: &Path) -> usize {
    std::fs::read_dir(path).unwrap().count()
}

const DEFAULT: &str = "\
PostMark v1.51 : 8/14/01
pm>Creating files...Done
Performing transactions..........Done
Deleting files...Done
Time:
\tT seconds total
\tT seconds of transactions (R)

Files:
\t764 created (R)
\t\tCreation alone: 500 files (R)
\t\tMixed with transactions: 264 files (R)
\t243 read (R)
\t257 appended (R)
\t764 deleted (R)
\t\tDeletion alone: 528 files (R)
\t\tMixed with transactions: 236 files (R)

Data:
\t1.36 megabytes read (R)
\t4.45 megabytes written (R)
pm>";

/// The counts are those of completed ops, and equal the tool's; nothing is left behind, and the run is stored.
#[test]
fn the_default_run_counts_what_the_tool_counts() {
    let home = Home::new();
    let meant = session(&home, "as postmark", "run\nquit\n").expect(0).expect_stderr(&["times are exact"]);
    assert_eq!(timeless(&meant.out), DEFAULT);
    assert!(Regex::new(r"\t\d+\.\d{3} seconds total\n").unwrap().is_match(&meant.out), "{}", meant.out);
    assert_eq!(entries(&home.work()), 0);
    let stored = home.query("select dialect, count(*) from run group by dialect");
    assert_eq!(stored, [[serde_json::json!("postmark"), serde_json::json!(1)]]);
    let strict = session(&home, "as postmark --compat=strict --plumb-quiet", "run\nquit\n").expect(0);
    assert_eq!(timeless(&strict.out), DEFAULT);
    assert!(Regex::new(r"\t[1-9]\d* seconds total\n").unwrap().is_match(&strict.out), "{}", strict.out);
    assert_eq!(strict.err, "");
}

#[test]
fn commands_come_from_files_too() {
    let home = Home::new();
    home.file(".pmrc", "set number 50\nset transactions 100\n");
    home.file("more", "set seed 7\nquit\nset seed 8\n");
    let output = session(&home, "as postmark", "load more\nshow\nload none\n!echo shell\nexit\nshow\n").expect(0);
    let output = output.expect_stderr(&["Error: cannot read configuration file 'none'\n"]);
    for expected in
        ["Reading configuration from file '.pmrc'\npm>", "number of files is 50\n", "seed is 7\n", "shell\n"]
    {
        assert!(output.out.contains(expected), "{expected}: {}", output.out);
    }
    assert!(output.out.ends_with("pm>"), "{}", output.out);
    home.file("c.pm", "set transactions 2000\nrun out\nset report terse\nrun out\nshow out\nquit\n");
    let output = home.plumb("as postmark c.pm").expect(0);
    assert!(!output.out.contains("pm>") && !output.out.contains("seconds"), "{}", output.out);
    let out = std::fs::read_to_string(home.work().join("out")).unwrap();
    assert!(out.starts_with("Time:\n\t") && out.contains("\t1556 created"), "{out}");
    let terse = out.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit())).unwrap();
    assert_eq!(terse.split(' ').count(), 13, "{out}");
    assert!(out.ends_with("Report format is terse.\n"), "{out}");
}

/// Locations, subdirectories and threads: everything created is removed again.
#[test]
fn several_places_and_threads() {
    let home = Home::new();
    for name in ["A", "B"] {
        std::fs::create_dir(home.work().join(name)).unwrap();
    }
    let lines = "set location +A 2\nset location +B\nset subdirectories 10\nset number 100\nset threads 3\nshow\nrun\n";
    let output = session(&home, "as postmark", lines).expect(0);
    assert!(
        output.out.contains("Threads: 3,") && output.out.contains("\t\tCreation alone: 300 files"),
        "{}",
        output.out
    );
    assert!(output.out.contains("Deleting subdirectories...Done\nTime:\n"), "{}", output.out);
    assert_eq!([entries(&home.work().join("A")), entries(&home.work().join("B"))], [0, 0]);
}

/// If the tool would divide by zero, the run succeeds; in strict mode, it ends like the tool.
#[test]
fn fewer_than_ten_transactions() {
    let home = Home::new();
    let lines = "set transactions 5\nrun\nquit\n";
    let output = session(&home, "as postmark", lines).expect(0);
    assert!(output.out.contains("Performing transactions.....Done\n"), "{}", output.out);
    let output = session(&home, "as postmark --compat=strict", lines).expect(136).expect_stderr(&["crashes here"]);
    assert!(output.out.ends_with("Performing transactions"), "{}", output.out);
}

#[test]
fn all_files_gone_before_the_end() {
    let home = Home::new();
    let lines = "set number 5\nset bias create 0\nset transactions 100\nrun\nquit\n";
    let output = session(&home, "as postmark", lines).expect(0);
    let expected = "Performing transactions.out of files!\nFor this workload, either increase the number of files or\n\
                    decrease the number of transactions.\nDeleting files...Done\npm>";
    assert!(output.out.ends_with(expected), "{}", output.out);
}

/// PostMark would overwrite it.
#[test]
fn what_is_there_is_kept() {
    let home = Home::new();
    let mine = home.file("700", "do not lose");
    let output = session(&home, "as postmark", "run\nset subdirectories 2\n").expect(5).expect_stderr(&["700 exists"]);
    assert!(!output.out.contains("Creating files"), "{}", output.out);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "do not lose");
    assert_eq!(entries(&home.work()), 1);
    std::fs::create_dir(home.work().join("s1")).unwrap();
    session(&home, "as postmark", "set subdirectories 2\nrun\n").expect(1).expect_stderr(&["'s1' exists"]);
    assert_eq!(entries(&home.work()), 2);
}

/// A failed write is an error with its reason, and nothing of the run is left. The limit simulates a full disk.
#[test]
fn a_write_that_fails_ends_the_run() {
    let home = Home::new();
    let plain = home.command(["as", "postmark", "c.pm"]);
    home.file("c.pm", "set size 100000 200000\nset number 20\nset buffering false\nrun\nquit\n");
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" --no-store \"$@\""]);
    limited.arg(plain.get_program()).args(plain.get_args()).current_dir(home.work()).stdin(Stdio::null());
    limited.env("XDG_DATA_HOME", home.work());
    let output = CommandOutput::run(limited).expect(1).expect_stderr(&["Error: write of '1': File too large"]);
    assert!(!output.out.contains("seconds total"), "{}", output.out);
    assert!(!home.work().join("1").exists());
}

/// Returns a call on a file of the run, from strace.
fn calls(program: &mut Command, place: &Path) -> Vec<String> {
    let traces = tempfile::tempdir().unwrap();
    let mut strace = Command::new("strace");
    strace.args([
        "-ff",
        "-ttt",
        "-e",
        "trace=openat,openat2,open,creat,read,write,lseek,fcntl,close,unlink,unlinkat,mkdir,mkdirat,rmdir",
        "-o",
    ]);
    strace.arg(traces.path().join("t")).arg(program.get_program()).args(program.get_args());
    strace.current_dir(place).stdin(Stdio::null()).stdout(Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    assert!(strace.status().unwrap().success());
    // With its thread: another thread may get a descriptor that this one has just closed,
    // and calls are sorted by their start.
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (thread, file) in std::fs::read_dir(traces.path()).unwrap().enumerate() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        lines.extend(String::from_utf8_lossy(&text).lines().map(|line| (line.to_owned(), thread)));
    }
    lines.sort();
    // Ours opens a directory once and names files relative to it.
    let directory = Regex::new(r#"openat2\((?:\d+|AT_FDCWD), "(s\d+)", .*O_PATH.*\) += (\d+)"#).unwrap();
    let opened = Regex::new(r#"openat\((AT_FDCWD|\d+), "((?:s\d+/)?\d+)", ([A-Z_|]+)(?:, 0\d+)?\) += (\d+)"#).unwrap();
    let moved = Regex::new(r#"(read|write)\((\d+), .*, (\d+)\) += (-?\d+)"#).unwrap();
    let sought = Regex::new(r"(lseek|fcntl)\((\d+), (.*)\) += (-?\d+)").unwrap();
    let closed = Regex::new(r"close\((\d+)\)").unwrap();
    let named = Regex::new(r#"(unlink|mkdir|rmdir)(?:at)?\((?:(AT_FDCWD|\d+), )?"((?:s\d+/)?\d+|s\d+)""#).unwrap();
    let mut directories: BTreeMap<String, String> = BTreeMap::new();
    let mut names: BTreeMap<(usize, String), String> = BTreeMap::new();
    let mut calls = Vec::new();
    for (line, thread) in &lines {
        let of_thread = |fd: &str| (*thread, fd.to_owned());
        if let Some(found) = directory.captures(line) {
            directories.insert(found[2].to_owned(), format!("{}/", &found[1]));
        } else if let Some(found) = opened.captures(line) {
            // Ours adds flags that make an open safer.
            let ours = ["|O_CLOEXEC", "|O_NOFOLLOW", "|O_LARGEFILE"];
            let flags = ours.iter().fold(found[3].to_owned(), |flags, ours| flags.replace(ours, ""));
            let mut flags: Vec<&str> = flags.split('|').collect();
            flags.sort_unstable();
            let name = directories.get(&found[1]).cloned().unwrap_or_default() + &found[2];
            calls.push(format!("open {name} {}", flags.join("|")));
            names.insert(of_thread(&found[4]), name);
        } else if let Some(found) = moved.captures(line).or_else(|| sought.captures(line))
            && let Some(name) = names.get(&of_thread(&found[2]))
        {
            calls.push(format!("{} {name} {} = {}", &found[1], &found[3], &found[4]));
        } else if let Some(found) = closed.captures(line)
            && let Some(name) = names.remove(&of_thread(&found[1]))
        {
            calls.push(format!("close {name}"));
        } else if let Some(found) = named.captures(line) {
            let does = if &found[1] == "unlink" && line.contains("AT_REMOVEDIR") { "rmdir" } else { &found[1] };
            let place = found.get(2).and_then(|fd| directories.get(fd.as_str())).cloned().unwrap_or_default();
            calls.push(format!("{does} {place}{}", &found[3]));
        }
    }
    calls
}

/// Both make the same calls on the same files with the same lengths in the same order: with and without the library's
/// buffers, with blocks that divide the file sizes, and in subdirectories.
#[test]
fn calls_are_those_of_the_real_tool() {
    if !needs::tools(&["postmark", "strace"]) {
        return;
    }
    for settings in [
        "set size 500 20000",
        "set size 500 20000\nset buffering false",
        "set size 1024 1025\nset read 512\nset write 256\nset buffering false",
        "set size 4096\nset read 1024\nset write 1024",
        "set subdirectories 5\nset bias read 8\nset bias create 3\nset seed 7",
    ] {
        if let Err(why) = compared(&format!("set number 30\nset transactions 60\n{settings}\nrun\nquit\n"), 300) {
            panic!("{why}");
        }
    }
}

/// Runs both tools and returns the differences of their calls. The real one must make at least `least` calls.
pub(crate) fn compared(script: &str, calls_min: usize) -> Result<(), String> {
    let home = Home::new();
    let path = home.file("c.pm", script);
    let path = path.to_str().unwrap();
    let real = calls(Command::new("postmark").arg(path), &home.work());
    let ours = calls(&mut home.command(["as", "postmark", path]), &home.work());
    if real.len() < calls_min {
        return Err(format!("postmark {script:?}: only {} calls were seen", real.len()));
    }
    same(&real, &ours).map_err(|why| format!("postmark {script:?}: {why}"))
}
