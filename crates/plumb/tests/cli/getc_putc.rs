//! `plumb as getc_putc` end to end, compared with the real one.

use crate::common::traced::{traced, whole_calls};
use crate::common::{CommandOutput, Home, needs};
use std::process::{Command, Stdio};

#[test]
fn invalid_arguments_are_reported_like_the_original() {
    let home = Home::new();
    home.plumb("as getc_putc -h")
        .expect(1)
        .expect_stderr(&["getc_putc: invalid option -- 'h'\nusage:\ngetc_putc [-d", "Version: 2.00a"]);
    if !needs::is_root() {
        return needs::skip("the rule about root needs root");
    }
    home.plumb("as getc_putc")
        .expect(1)
        .expect_stderr(&["You must use the \"-u\" switch when running as root.\nusage:"]);
    home.plumb("as getc_putc -u root -s 63").expect(1).expect_stderr(&["Using uid:0, gid:0.\nusage:"]);
    home.plumb("as getc_putc -u root -d nowhere -s 64")
        .expect(1)
        .expect_stderr(&["Can't create file \"nowhere/getc_putc.", "usage:"]);
}

/// Replaces its numbers by a mark.
fn masked(text: &str) -> String {
    let mark = |part: &str| part == "++++++" || (!part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit()));
    let line = |line: &str| {
        let separator = if line.contains(',') { ',' } else { ' ' };
        let parts = line.split(separator).filter(|part| !part.is_empty());
        parts.map(|part| if mark(part) { "N" } else { part }).collect::<Vec<_>>().join(" ")
    };
    // Texts with commas of their own contain no numbers.
    text.lines().map(|one| if one.contains("...") { one.to_owned() } else { line(one) }).collect::<Vec<_>>().join("\n")
}

/// The output equals the real one's, except for numbers; nothing is left behind, and the run is stored.
#[test]
fn a_run_prints_what_the_tool_prints() {
    if !needs::root_and(&["getc_putc"]) {
        return;
    }
    let home = Home::new();
    for (run, words) in (1i64..).zip(["-u root -s 64 -m golden", "-u root -s 1m -m golden -q"]) {
        let mut real = Command::new("getc_putc");
        real.args(words.split(' ')).current_dir(home.work()).stdin(Stdio::null());
        let real = CommandOutput::run(real).expect(0);
        let own = home.plumb(&format!("as getc_putc --compat=strict --plumb-quiet {words}")).expect(0);
        assert_eq!(masked(&own.out), masked(&real.out), "{words}");
        assert_eq!(masked(&own.err), masked(&real.err), "{words}");
        let rows = home.query("SELECT count(*) FROM run WHERE dialect = 'getc_putc'");
        assert_eq!(rows[0][0], run);
    }
    home.plumb("as getc_putc -q -u root -s 64")
        .expect(0)
        .expect_stderr(&["plumb: `putc` and `getc` take", "compat=strict"]);
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0, "nothing stays");
}

/// Returns the calls of a run on its file, with the number of repetitions. The number of opens, and seeks to the
/// current position, are omitted.
fn calls(home: &Home, command: &Command) -> Vec<(String, usize)> {
    let text = traced(home, command, &["-y", "-e", "trace=read,write,lseek,fsync,unlink,unlinkat"]);
    let mut all: Vec<(String, usize)> = Vec::new();
    for (_, call) in whole_calls(&text) {
        let Some((name, rest)) = call.split_once('(') else { continue };
        let Some((_, result)) = rest.rsplit_once(" = ") else { continue };
        // The process also writes to its standard streams.
        let first = rest.split(['>', ',']).next().unwrap_or_default();
        if !(first.contains("getc_putc.") || (name.starts_with("unlink") && rest.contains("getc_putc."))) {
            continue;
        }
        let event = format!("{} {result}", name.trim_end_matches("at"));
        match all.last_mut().filter(|(last, _)| *last == event) {
            Some((_, count)) if name != "lseek" => *count += 1,
            Some(_) => {}
            None => all.push((event, 1)),
        }
    }
    all
}

/// Both make the same calls with the same sizes, in the same order.
#[test]
fn its_calls_are_the_tools_calls() {
    if !needs::root_and(&["strace", "getc_putc"]) {
        return;
    }
    for size in ["64", "1600"] {
        let home = Home::new();
        let words = ["-q", "-u", "root", "-s", size];
        let mut real = Command::new("getc_putc");
        real.args(words);
        let theirs = calls(&home, &real);
        let ours = calls(&home, &home.command(["as", "getc_putc"].iter().chain(&words)));
        assert!(theirs.len() > 15, "strace saw only {theirs:?}");
        assert_eq!(theirs, ours, "-s {size}");
    }
}
