//! `plumb as zcav` end to end, compared with the real one.

use crate::common::traced::{traced, whole_calls};
use crate::common::{CommandOutput, Home, needs};
use std::process::{Command, Stdio};

const MIB: usize = 1 << 20;

fn real(home: &Home, words: &str) -> CommandOutput {
    let mut command = Command::new("zcav");
    command.args(words.split(' ')).current_dir(home.work()).stdin(Stdio::null());
    CommandOutput::run(command)
}

/// Masks times, and rates of a run that is too short to print one.
fn masked(text: &str) -> String {
    let line = |line: &str| {
        let mut parts: Vec<&str> = line.split(' ').collect();
        if let [.., "++++", time] = &mut parts[..] {
            *time = "T";
        }
        if let Some(at) = parts.iter().position(|part| *part == "seconds,") {
            parts[at - 1] = "S";
            parts[at + 1] = "N";
        }
        if let [.., "at", time] = &mut parts[..] {
            *time = "T";
        }
        parts.join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The output equals the real one's, except for times; files are unchanged, and each run is stored.
#[test]
fn a_run_prints_what_the_tool_prints() {
    if !needs::tools(&["zcav"]) {
        return;
    }
    let home = Home::new();
    let file = home.work().join("a");
    std::fs::write(&file, vec![7; 21 * MIB]).unwrap();
    std::fs::copy(&file, home.work().join("b")).unwrap();
    let all = [
        "-b 4 a",
        "-b 4:3 -c 3 a",
        "-b 4 -s 2 a",
        "--compat=strict -b 4 -r 8:16 a",
        "-b 4 a b",
        "-b 64 a",
        "-b 4 nowhere",
        "-b 4 -r 0:8 a",
    ];
    for words in all {
        let theirs = real(&home, words.trim_start_matches("--compat=strict "));
        let ours = home.plumb(&format!("as zcav {words} --plumb-quiet"));
        let sorted = |text: &str| {
            let masked = masked(text);
            let mut lines: Vec<String> = masked.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        // Lines of several devices are interleaved there, and consecutive here.
        if words == "-b 4 a b" {
            assert_eq!(sorted(&ours.out), sorted(&theirs.out), "{words}");
        } else {
            assert_eq!(masked(&ours.out), masked(&theirs.out), "{words}");
        }
        assert_eq!(sorted(&ours.err), sorted(&theirs.err), "{words}");
        assert_eq!(ours.code, theirs.code, "{words}");
    }
    home.plumb("as zcav -b 4 -l log a").expect(0);
    let log = std::fs::read_to_string(home.work().join("log")).unwrap();
    assert!(log.starts_with("#block offset (GiB), MiB/s, time\n#0.00 ++++ "), "{log}");
    assert_eq!(std::fs::read(&file).unwrap(), vec![7; 21 * MIB]);
    let rows = home.query("SELECT count(*) FROM run WHERE dialect = 'zcav'");
    assert_eq!(rows[0][0], 6);
}

/// Standard input can be a file; a pipe cannot be read from its start repeatedly.
#[test]
fn standard_input_is_read() {
    if !needs::tools(&["zcav"]) {
        return;
    }
    let home = Home::new();
    let file = home.work().join("a");
    std::fs::write(&file, vec![7; 9 * MIB]).unwrap();
    let mut real = Command::new("zcav");
    real.args(["-b", "4", "-"]);
    let [theirs, ours] = [real, home.command(["as", "zcav", "--plumb-quiet", "-b", "4", "-"])].map(|mut command| {
        command.stdin(std::fs::File::open(&file).unwrap());
        CommandOutput::run(command).expect(0)
    });
    assert_eq!((masked(&ours.out), masked(&ours.err)), (masked(&theirs.out), masked(&theirs.err)));
    let mut piped = home.command(["as", "zcav", "-b", "4", "-"]);
    piped.stdin(std::io::pipe().unwrap().0);
    CommandOutput::run(piped).expect_stderr(&["Can't lseek()"]);
    home.plumb("as zcav -b 4 -w -").expect_stderr(&["not written to"]);
}

/// `-w` fills a permitted target up to its end, and nothing else.
#[test]
fn only_what_is_allowed_is_written() {
    let home = Home::new();
    let file = home.work().join("a");
    std::fs::write(&file, vec![7; 5 * MIB + 3]).unwrap();
    home.plumb("as zcav -b 2 -w a").expect(1).expect_stderr(&["Warning, writing to a in 5 seconds.", "PLUMB_ALLOW"]);
    assert_eq!(std::fs::read(&file).unwrap(), vec![7; 5 * MIB + 3]);
    let mut command = home.command("as zcav -b 2 -w a".split(' '));
    command.env("PLUMB_ALLOW", &file);
    let output = CommandOutput::run(command).expect(0);
    assert!(output.out.contains("# Read 4 megs in "), "{}", output.out);
    assert_eq!(std::fs::read(&file).unwrap(), vec![0; 5 * MIB + 3]);
}

/// Both make the same reads and seeks, except for the empty read at the end of the file.
#[test]
fn its_calls_are_the_tools_calls() {
    if !needs::tools(&["strace", "zcav"]) {
        return;
    }
    let home = Home::new();
    std::fs::write(home.work().join("a"), vec![7; 21 * MIB]).unwrap();
    for words in ["-b 4:3 -c 2 -r 12 a", "-b 4 -s 3 -r 18 a", "-b 2 -r 4:9 a", "-b 8 a"] {
        let theirs = calls(&home, &mut Command::new("zcav"), words);
        let ours = calls(&home, &mut home.command(["as", "zcav"]), words);
        assert!(theirs.len() > 2, "strace saw only {theirs:?}");
        assert_eq!(ours, theirs, "{words}");
    }
}

/// Returns the reads with their offsets, in order.
fn calls(home: &Home, command: &mut Command, words: &str) -> Vec<String> {
    command.args(words.split(' '));
    let text = traced(home, command, &["-y", "-e", "trace=read,write,lseek,fsync"]);
    let (mut all, mut at) = (Vec::new(), 0u64);
    for (_, call) in whole_calls(&text) {
        let Some((name, rest)) = call.split_once('(') else { continue };
        let Some((_, result)) = rest.rsplit_once(" = ") else { continue };
        let is_own = rest.split('>').next().is_some_and(|first| first.ends_with("/a"));
        // Ours queries the length of the file.
        if !is_own || result == "0" && name == "read" || rest.contains("SEEK_END") {
            continue;
        }
        let Ok(result) = result.parse::<u64>() else { continue };
        if name == "lseek" {
            at = result;
        } else {
            all.push(format!("{name} {at} {result}"));
            at += result;
        }
    }
    all
}
