//! `plumb as fs_mark` end to end.

use crate::common::traced::{traced, whole_calls};
use crate::common::{Home, needs};
use regex::Regex;
use serde_json::json;
use std::process::Command;

/// Protects the whole path: files are created and removed, or kept; each iteration has a line, here and in the log, and
/// a result.
#[test]
fn iterations_make_files_and_print_their_rates() {
    let home = Home::new();
    let gone = home.plumb("as fs_mark -d out -n 20 -s 20000 -t 2 -S 4").expect(0);
    assert!(gone.out.contains("#\tSync method: SYNC POST REVERSE: "), "{}", gone.out);
    let line = Regex::new(r"\n +\d+ {11}40 {8}20000 +\d+\.\d +\d+\n$").unwrap();
    assert!(line.is_match(&gone.out), "{}", gone.out);
    assert_eq!(std::fs::read_dir(home.work().join("out")).unwrap().count(), 0);
    let kept = home.plumb("as fs_mark -d out -n 20 -s 100 -L 2 -l log -D 2 -N 5 -v").expect(0);
    let entries = |name: &str| std::fs::read_dir(home.work().join(name)).unwrap().count();
    assert_eq!((entries("out"), entries("out/00"), entries("out/01")), (2, 20, 20));
    let log = std::fs::read_to_string(home.work().join("log")).unwrap();
    assert_eq!(kept.out.lines().last(), log.lines().last());
    assert_eq!(kept.out.lines().filter(|line| line.trim_start().starts_with(char::is_numeric)).count(), 2);
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("fs_mark"), json!(3)]]);
    home.plumb("as fs_mark -n 5").expect(1).expect_stderr(&["Must specify at least one directory", "Usage: fs_mark"]);
}

/// Returns the calls of a command on its files, with names reduced to their directory.
fn calls(home: &Home, command: &Command) -> Vec<String> {
    let text =
        traced(home, command, &["-y", "-e", "trace=mkdir,mkdirat,openat,write,fsync,sync,close,unlink,unlinkat"]);
    // Names contain a time and random letters, and the tools use different descriptors and equivalent calls.
    let name = Regex::new(r"6[0-9a-f]{7}~{8}[0-9A-Z]{24}").unwrap();
    // Ours makes directories relative to their parent.
    let is_numbered = |call: &str| call.contains("out/0") || call.contains("/out>, \"0");
    // Ours inspects each name before it begins.
    let calls = whole_calls(&text).into_iter().map(|(_, call)| call).filter(|call| {
        let is_own = call.starts_with("sync") || name.is_match(call) || is_numbered(call) && call.starts_with("mkdir");
        is_own && !call.contains("O_PATH")
    });
    let plain = |call: String| {
        let (what, result) = call.rsplit_once(" = ").unwrap_or((&call, ""));
        let what = what.split_once('(').map_or(what, |(what, _)| what);
        let what = if what == "openat" { what } else { what.trim_end_matches("at") };
        let result = match what {
            "write" => result,
            _ if result.starts_with("-1") => "failed",
            _ => "ok",
        };
        format!("{what} {result}{}", if call.contains("O_TRUNC") { " new" } else { "" })
    };
    calls.map(plain).collect()
}

/// The real tool and ours make the same calls in the same order, for each way of flushing.
#[test]
fn the_same_calls_are_made_as_by_fs_mark() {
    if !needs::tools(&["fs_mark", "strace"]) {
        return;
    }
    for method in 0..7 {
        let words = format!("-d out -n 6 -s 40000 -D 3 -N 2 -S {method}");
        let home = Home::new();
        let mut command = Command::new("fs_mark");
        command.args(words.split_whitespace()).current_dir(home.work());
        let real = calls(&home, &command);
        let home = Home::new();
        let ours = calls(&home, &home.command(format!("as fs_mark {words}").split_whitespace()));
        assert!(real.len() > 30, "{real:?}");
        crate::common::traced::same(&real, &ours).unwrap_or_else(|why| panic!("-S {method}: {why}"));
    }
}
