//! `plumb watch` end to end: lines, JSON, and the screen in a terminal.

use crate::common::{Home, needs, schema, wait_until};
use serde_json::Value;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};

// Protects: every interval is a document in the published format.
#[test]
fn json_lines_fit_their_schema() {
    let home = Home::new();
    let output = home.plumb("watch --json --count 2 --interval 200ms").expect(0);
    let form = home.plumb("schema watch").expect(0).json();
    let seen: Vec<Value> = output.out.lines().map(|line| plumb_document::json::from_str(line).unwrap()).collect();
    assert_eq!(seen.len(), 2);
    for one in &seen {
        assert_eq!(schema::problems(&form, one), Vec::<String>::new());
        assert_eq!(one["schema"], "plumb.watch/1");
        assert!(one["interval_ns"].as_u64().unwrap() >= 100_000_000);
    }
}

// Protects: without a terminal there are lines, each with its time.
#[test]
fn plain_lines_without_a_terminal() {
    let home = Home::new();
    let output = home.plumb("watch --count 2 --interval 200ms").expect(0);
    let lines: Vec<&str> = output.out.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.iter().all(|line| line.as_bytes()[2] == b':' && line.as_bytes()[8] == b' '), "{}", output.out);
    assert_eq!(lines.iter().filter(|line| line[9..].starts_with("processes: ")).count(), 2, "{}", output.out);
}

// Protects: the writing process is named with its rate.
#[test]
fn who_writes_is_named() {
    let home = Home::new();
    // A file system in memory has no per-process counters.
    let kind = Command::new("stat").args(["-f", "-c", "%T"]).arg(home.work()).output().unwrap();
    if String::from_utf8_lossy(&kind.stdout).contains("tmpfs") {
        return needs::not_shown("who writes: the test directory lies in memory");
    }
    // Each write reaches the device before the next, so that every interval contains some.
    let mut writer = Command::new("dd");
    writer.args(["if=/dev/zero", "of=written", "bs=16k", "oflag=dsync", "status=none"]).current_dir(home.work());
    let mut writer = writer.spawn().unwrap();
    let output = home.plumb("watch --json --count 2 --interval 500ms");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let last: Value = plumb_document::json::from_str(output.expect(0).out.lines().last().unwrap()).unwrap();
    let processes = last["processes"].as_array().unwrap();
    let found = processes.iter().find(|one| one["pid"] == writer.id()).unwrap_or_else(|| panic!("{last}"));
    assert_eq!(found["command"], "dd");
    assert!(found["write_bytes_per_s"].as_f64().unwrap() >= 16_384.0, "{found}");
}

// Protects: a target that cannot be watched is named, with a suggestion.
#[test]
fn what_cannot_be_watched() {
    let home = Home::new();
    home.plumb("watch nosuchdisk --count 1").expect(2).expect_stderr(&["`nosuchdisk`", "plumb watch"]);
    home.plumb("watch /proc --count 1").expect(2).expect_stderr(&["no block device under `/proc`"]);
    home.plumb("watch --interval 5ms").expect(2).expect_stderr(&["--interval 5ms", "100ms"]);
}

/// A text, and an action to perform once the terminal has received it.
pub(crate) type Step<'a> = (&'a str, &'a dyn Fn(&mut Child));

/// Returns the output in a terminal of 80 columns in which a shell runs a line; `keys` are typed once the screen is
/// active.
pub(crate) fn in_a_terminal(home: &Home, line: &str, keys: &[u8]) -> Option<String> {
    in_a_terminal_with(home, line, &[(TAKEN, &|terminal| type_keys(terminal, keys))])
}

fn type_keys(terminal: &mut Child, keys: &[u8]) {
    terminal.stdin.as_mut().unwrap().write_all(keys).unwrap();
}

/// Like [`in_a_terminal`], with several steps, one after the other.
fn in_a_terminal_with(home: &Home, line: &str, steps: &[Step<'_>]) -> Option<String> {
    if !needs::tools(&["script", "stty"]) {
        return None;
    }
    let program = home.command([""]).get_program().to_string_lossy().into_owned();
    let line = line.replace("plumb", &program);
    // Ctrl-C may be a signal, which the shell receives too.
    let line =
        format!("trap : INT; stty rows 24 cols 80; stty -g > before; {line}; echo \"ended $?\"; stty -g > after");
    // If the tests run in the background, Ctrl-C is ignored, and so it would be in all child processes.
    let mut command = Command::new("env");
    // Use the database and directories of this home.
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

/// Returns the contents of the alternate screen after each drawing, for a terminal of this size. The raw bytes do not
/// contain whole sentences: only changed cells are drawn.
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

/// Escape sequence that activates the alternate screen.
pub(crate) const TAKEN: &str = "\x1b[?1049h";

/// Escape sequence that restores the screen and the cursor.
pub(crate) const GIVEN_BACK: &str = "\x1b[?25h\x1b[?1049l";

/// Escape sequence at the end of a drawing.
const DRAWN: &str = "\x1b[0m";

// Protects: a key, Ctrl-C and a signal each end it, and the terminal is restored.
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
        // On a very busy machine the signal may arrive before the screen is active.
        assert!(entered == left && (entered == 1 || line.contains("TERM")), "{line}: {seen}");
        let modes = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
        assert_eq!(modes("before"), modes("after"), "{line}");
    }
}

// Protects: the screen has its parts, and no colour if colours are off.
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

// Protects: a terminal without screen support gets lines.
#[test]
fn a_dumb_terminal_has_lines() {
    let home = Home::new();
    let line = "TERM=dumb plumb watch --count 1 --interval 300ms";
    let Some(seen) = in_a_terminal(&home, line, b"") else { return };
    assert!(seen.contains(" processes: ") && seen.contains("ended 0") && !seen.contains('\x1b'), "{seen:?}");
}

// Protects: a resized window is redrawn without waiting for the next interval.
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

// Protects: Ctrl-L redraws the whole screen, even if nothing changed.
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

// Protects a processor from a screen whose terminal is gone: if SIGHUP is ignored, only the terminal itself reveals it.
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
