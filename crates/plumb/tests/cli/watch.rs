//! `plumb watch` from outside: lines, JSON, and the screen in a terminal.

use crate::common::{Home, needs, schema, wait_until};
use serde_json::Value;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};

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
    assert_eq!(lines.iter().filter(|line| line[9..].starts_with("processes: ")).count(), 2, "{}", said.out);
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

/// A text, and an action that follows as soon as the terminal has received it.
pub(crate) type Step<'a> = (&'a str, &'a dyn Fn(&mut Child));

/// What is seen in a terminal of 80 columns in which a shell runs a line; `keys` are typed once the screen is taken.
pub(crate) fn in_a_terminal(home: &Home, line: &str, keys: &[u8]) -> Option<String> {
    in_a_terminal_with(home, line, &[(TAKEN, &|terminal| type_keys(terminal, keys))])
}

fn type_keys(terminal: &mut Child, keys: &[u8]) {
    terminal.stdin.as_mut().unwrap().write_all(keys).unwrap();
}

/// The same with several steps, one after the other.
fn in_a_terminal_with(home: &Home, line: &str, steps: &[Step<'_>]) -> Option<String> {
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
    let mut output = child.stdout.take().unwrap();
    let (mut seen, mut piece, mut steps) = (Vec::new(), [0u8; 4096], steps.iter());
    let mut next = steps.next();
    loop {
        let count = output.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        seen.extend_from_slice(&piece[..count]);
        while let Some((after, step)) = next
            && String::from_utf8_lossy(&seen).contains(after)
        {
            step(&mut child);
            next = steps.next();
        }
    }
    child.wait().unwrap();
    Some(String::from_utf8_lossy(&seen).into_owned())
}

/// Returns the second screen of a terminal of this size after each drawing. The bytes alone have no sentences in them: only changed
/// cells are drawn.
pub(crate) fn pictures(seen: &str, rows: u16, columns: u16) -> Vec<String> {
    let (_, screen) = seen.split_once(TAKEN).expect("the screen is taken");
    let (screen, _) = screen.split_once(GIVEN_BACK).unwrap_or((screen, ""));
    let size = |length: u16| NonZero::new(length).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 0);
    let drawings = screen.split_inclusive(DRAWN);
    drawings
        .map(|drawing| {
            terminal.process(drawing.as_bytes());
            terminal.screen().contents()
        })
        .collect()
}

/// What a program says to a terminal of which it takes the second screen.
pub(crate) const TAKEN: &str = "\x1b[?1049h";

/// The sequence that gives it back, with a cursor.
pub(crate) const GIVEN_BACK: &str = "\x1b[?25h\x1b[?1049l";

/// The end of a drawing.
const DRAWN: &str = "\x1b[0m";

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
        let (entered, left) = (seen.matches(TAKEN).count(), seen.matches(GIVEN_BACK).count());
        // On a machine that is very busy the signal may come before the screen is taken.
        assert!(entered == left && (entered == 1 || line.contains("TERM")), "{line}: {seen}");
        let modes = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
        assert_eq!(modes("before"), modes("after"), "{line}");
    }
}

// Protects: the screen has its parts, and no colour where none is wanted.
#[test]
fn a_screen_of_eighty_columns() {
    let home = Home::new();
    let colours = |seen: &str| ["\x1b[1m", "\x1b[2m", "\x1b[38;"].map(|colour| seen.contains(colour));
    let line = "plumb watch --count 2 --interval 300ms";
    let Some(seen) = in_a_terminal(&home, &format!("NO_COLOR=1 {line}"), b"") else { return };
    let picture = pictures(&seen, 24, 80).pop().unwrap();
    for part in ["plumb watch · ", "every 300 ms", "p pauses  q quits", "CPUs: programs ", "busy: share of the time"] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert_eq!(colours(&seen), [false; 3], "{seen:?}");
    let Some(seen) = in_a_terminal(&home, line, b"") else { return };
    assert_eq!(colours(&seen)[..2], [true; 2], "{seen:?}");
}

// Protects: a terminal without a screen has lines.
#[test]
fn a_dumb_terminal_has_lines() {
    let home = Home::new();
    let line = "TERM=dumb plumb watch --count 1 --interval 300ms";
    let Some(seen) = in_a_terminal(&home, line, b"") else { return };
    assert!(seen.contains(" processes: ") && seen.contains("ended 0") && !seen.contains('\x1b'), "{seen:?}");
}

// Protects: a window that changes its size is redrawn without waiting for the next interval.
#[test]
fn a_window_can_be_resized() {
    let home = Home::new();
    let line = "(until [ -e go ]; do sleep 0.1; done; stty rows 40 cols 120 < /dev/tty) & \
                timeout --foreground 60 plumb watch --interval 600s";
    let resize = |_: &mut Child| std::fs::write(home.work().join("go"), "").unwrap();
    // The names of the keys are in the last columns of the first line.
    let keys = ["\x1b[1;64H", "\x1b[1;104H"];
    let steps: [Step<'_>; 2] = [(keys[0], &resize), (keys[1], &|terminal| type_keys(terminal, b"q"))];
    let Some(seen) = in_a_terminal_with(&home, line, &steps) else { return };
    assert!(seen.contains("ended 0"), "{seen:?}");
    let (_, after) = seen.split_once(keys[1]).unwrap();
    let picture = pictures(&format!("{TAKEN}{}{after}", keys[1]), 40, 120).remove(0);
    assert!(picture.starts_with(&" ".repeat(100)) && picture.contains("pauses  q quits"), "{picture:?}");
}

// Protects: after Ctrl-L all of the screen is drawn again; nothing else was to be drawn.
#[test]
fn a_screen_can_be_redrawn() {
    let home = Home::new();
    let keys = "\x1b[1;64H";
    let steps: [Step<'_>; 2] =
        [(keys, &|terminal| type_keys(terminal, b"x\x0c")), ("\x1b[0m\x1b[2J", &|terminal| type_keys(terminal, b"q"))];
    let line = "timeout --foreground 60 plumb watch --interval 600s";
    let Some(seen) = in_a_terminal_with(&home, line, &steps) else { return };
    assert!(seen.contains("ended 0") && seen.matches(keys).count() >= 2, "{seen:?}");
}

// Protects a processor from a screen whose terminal is gone: where SIGHUP is ignored, nothing but the terminal says so.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let home = Home::new();
    let line = "trap '' HUP; plumb watch --interval 600s 2> /dev/null; echo $? > code";
    let close = |terminal: &mut Child| terminal.kill().unwrap();
    // Once it waits for keys: before, a drawing fails.
    if in_a_terminal_with(&home, line, &[(DRAWN, &close)]).is_none() {
        return;
    }
    let code = || std::fs::read_to_string(home.work().join("code")).unwrap_or_default();
    wait_until("it has ended", || code().ends_with('\n'));
    assert_eq!(code(), "4\n");
}
