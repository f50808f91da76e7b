//! `plumb watch` from outside: lines, JSON, and the screen in a terminal.

use crate::common::{Home, needs, schema};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

// Protects: every interval is a document of the published form.
#[test]
fn json_lines_fit_their_schema() {
    let home = Home::new();
    let said = home.plumb("watch --json --count 2 --interval 200ms").expect(0);
    let form = home.plumb("schema watch").expect(0).json();
    let seen: Vec<Value> = said.out.lines().map(|line| plumb_document::json::from_str(line).unwrap()).collect();
    assert_eq!(seen.len(), 2);
    for one in &seen {
        assert_eq!(schema::problems(&form, one), Vec::<String>::new());
        assert_eq!(one["schema"], "plumb.watch/1");
        assert!(one["interval_ns"].as_u64().unwrap() >= 100_000_000);
    }
}

// Protects: where nobody looks there are lines, each with its time.
#[test]
fn lines_where_nobody_looks() {
    let home = Home::new();
    let said = home.plumb("watch --count 2 --interval 200ms").expect(0);
    let lines: Vec<&str> = said.out.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.iter().all(|line| line.as_bytes()[2] == b':' && line.as_bytes()[8] == b' '), "{}", said.out);
    assert_eq!(lines.iter().filter(|line| line[9..].starts_with("who: ")).count(), 2, "{}", said.out);
}

// Protects: who writes is named, with their rate.
#[test]
fn who_writes_is_named() {
    let home = Home::new();
    // A file system in memory counts nothing to anybody.
    let kind = Command::new("stat").args(["-f", "-c", "%T"]).arg(home.work()).output().unwrap();
    if String::from_utf8_lossy(&kind.stdout).contains("tmpfs") {
        return needs::not_shown("who writes: the test directory lies in memory");
    }
    // Each write reaches the device before the next, so that there are some in every interval.
    let mut writer = Command::new("dd");
    writer.args(["if=/dev/zero", "of=written", "bs=16k", "oflag=dsync", "status=none"]).current_dir(home.work());
    let mut writer = writer.spawn().unwrap();
    let said = home.plumb("watch --json --count 2 --interval 500ms");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let last: Value = plumb_document::json::from_str(said.expect(0).out.lines().last().unwrap()).unwrap();
    let processes = last["processes"].as_array().unwrap();
    let found = processes.iter().find(|one| one["pid"] == writer.id()).unwrap_or_else(|| panic!("{last}"));
    assert_eq!(found["command"], "dd");
    assert!(found["write_bytes_per_s"].as_f64().unwrap() >= 16_384.0, "{found}");
}

// Protects: what cannot be watched is named, with the way out.
#[test]
fn what_cannot_be_watched() {
    let home = Home::new();
    home.plumb("watch nosuchdisk --count 1").expect(2).complains(&["`nosuchdisk`", "plumb watch"]);
    home.plumb("watch /proc --count 1").expect(2).complains(&["no block device under `/proc`"]);
    home.plumb("watch --interval 5ms").expect(2).complains(&["--interval 5ms", "100ms"]);
}

/// What is seen in a terminal of 80 columns in which a shell runs a line; `keys` are typed once the screen is taken.
pub(crate) fn in_a_terminal(home: &Home, line: &str, keys: &[u8]) -> Option<String> {
    if !needs::tools(&["script", "stty"]) {
        return None;
    }
    let program = home.command([""]).get_program().to_string_lossy().into_owned();
    let line = line.replace("plumb", &program);
    // Ctrl-C may be a signal, which the shell has too.
    let line =
        format!("trap : INT; stty rows 24 cols 80; stty -g > before; {line}; echo \"ended $?\"; stty -g > after");
    // Whoever runs the tests in the background ignores Ctrl-C, and so would everything below.
    let mut command = Command::new("env");
    // Its database and its directories are those of this home.
    let plumb = home.command([""]);
    command.envs(plumb.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .args(["--default-signal=INT", "script", "-qec", &line, "/dev/null"])
        .current_dir(home.work())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let (mut seen, mut piece, mut typed) = (Vec::new(), [0u8; 4096], false);
    loop {
        let count = output.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        seen.extend_from_slice(&piece[..count]);
        if !typed && String::from_utf8_lossy(&seen).contains(TAKEN) {
            typed = true;
            input.write_all(keys).unwrap();
        }
    }
    child.wait().unwrap();
    Some(String::from_utf8_lossy(&seen).into_owned())
}

/// What a program says to a terminal of which it takes the second screen.
pub(crate) const TAKEN: &str = "\x1b[?1049h";

// Protects: a key ends it, Ctrl-C and a signal as well, and the terminal is then as it was.
#[test]
fn the_terminal_is_given_back() {
    for (line, keys) in [
        ("plumb watch", b"q".as_slice()),
        ("plumb watch", b"\x03"),
        ("plumb watch", b"\x1b"),
        ("plumb watch --count 1 --interval 300ms", b"p"),
        ("plumb watch < /dev/null --count 1 --interval 300ms", b""),
        ("timeout --foreground -s TERM 2 plumb watch || true", b""),
    ] {
        let home = Home::new();
        let Some(seen) = in_a_terminal(&home, line, keys) else { return };
        assert!(seen.contains("ended 0"), "{line} {keys:?}: {seen}");
        let (entered, left) = (seen.matches(TAKEN).count(), seen.matches("\x1b[?25h\x1b[?1049l").count());
        // On a machine that is very busy the signal may come before the screen is taken.
        assert!(entered == left && (entered == 1 || line.contains("TERM")), "{line}: {seen}");
        let modes = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
        assert_eq!(modes("before"), modes("after"), "{line}");
    }
}

// Protects: the screen has its parts, within 80 columns, and no colour where none is wanted.
#[test]
fn a_screen_of_eighty_columns() {
    let home = Home::new();
    let Some(seen) = in_a_terminal(&home, "NO_COLOR=1 plumb watch --count 2 --interval 300ms", b"") else { return };
    assert!(
        seen.contains("plumb watch · ") && seen.contains("q quits") && seen.contains("busy: share of the time"),
        "{seen}"
    );
    assert!(!seen.contains("\x1b[32m") && !seen.contains("\x1b[1m"), "{seen}");
    let picture = seen.split(TAKEN).nth(1).unwrap().split("\x1b[?1049l").next().unwrap();
    for line in picture.split("\x1b[H").flat_map(str::lines) {
        let mut plain = line.to_owned();
        for escape in ["\x1b[K", "\x1b[J", "\x1b[2J", "\x1b[?25l", "\x1b[?25h", "\x1b[0m"] {
            plain = plain.replace(escape, "");
        }
        assert!(plain.chars().count() <= 80, "{} columns: {plain}", plain.chars().count());
    }
}
