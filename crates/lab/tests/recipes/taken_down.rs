//! Nothing is left: after success, after a failure in the middle, after `kill -9` in the middle.

use crate::bench::{Bench, standing, steps, system, zram};
use crate::needs;
use plumb_lab::step::Safety;
use plumb_lab::{Builder, recover};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A loop device, a file system on it, and its mount.
const MOUNTED: &str = r#"
    {"kind": "loop", "name": "disk", "directory": "DIR", "size": "64MiB"},
    {"kind": "mkfs", "name": "fs", "fs": "ext4", "device": "@disk", "mount": "DIR/a/mnt", "mount-options": ["noatime"]}"#;

#[test]
fn root_a_system_is_built_and_taken_down() {
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = format!("[{MOUNTED}]");
    let made = bench.build(&text).unwrap();
    let mount_point = bench.at("a/mnt");
    assert_eq!(made["fs"], [mount_point.to_str().unwrap()]);
    assert!(system("findmnt", &["-no", "OPTIONS", &made["fs"][0]]).contains("noatime"));
    let with = bench.standing();
    assert!(with.len() > before.len() + 2, "{with:?}");
    // Building the same steps again changes nothing. A different system is not built over it.
    assert_eq!(bench.build(&text).unwrap(), made);
    assert_eq!(bench.standing(), with);
    let error = bench.build(r#"[{"kind": "cmd", "run": "true"}]"#).unwrap_err();
    assert!(error.to_string().contains("already built"), "{error}");
    assert_eq!(bench.standing(), with);
    // Add more steps on top.
    let more = format!(r#"[{MOUNTED}, {{"kind": "cmd", "run": "touch DIR/a/mnt/file"}}]"#);
    bench.build(&more).unwrap();
    assert!(mount_point.join("file").exists());
    bench.undo();
    assert_eq!(bench.standing(), before);
    bench.undo();
    // Build again, as the next plot does.
    bench.build(&text).unwrap();
    bench.undo();
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_vanished_parts_are_reported_and_the_rest_taken_down() {
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = format!("[{MOUNTED}]");
    bench.build(&text).unwrap();
    system("umount", &[bench.at("a/mnt").to_str().unwrap()]);
    let error = bench.build(&text).unwrap_err();
    assert!(error.to_string().contains("was built but is gone"), "{error}");
    bench.undo();
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_a_failure_in_the_middle_leaves_nothing() {
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    for (last, expected) in [
        (r#"{"kind": "cmd", "run": "echo broken >&2; exit 3", "undo": "rm DIR/x"}"#, "broken"),
        (r#"{"kind": "mkfs", "fs": "ext4", "device": "@disk", "options": ["-b", "77"]}"#, "is mounted"),
        (r#"{"kind": "mount", "device": "@other", "mount": "DIR/b"}"#, "@disk, @fs,"),
        (r#"{"kind": "cmd", "run": "sleep 1000 # DIR", "timeout": 1}"#, "was killed after 1 s"),
    ] {
        let mut bench = Bench::new();
        let before = bench.standing();
        // The undo of the first case removes this file.
        std::fs::write(bench.at("x"), "").unwrap();
        let zram = zram();
        let error = bench.build(&format!("[{zram} {MOUNTED}, {last}]")).unwrap_err();
        let step = if zram.is_empty() { "step 3 (" } else { "step 4 (" };
        assert!(error.to_string().starts_with(step), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let _ = std::fs::remove_file(bench.at("x"));
        assert_eq!(bench.standing(), before, "{error}");
    }
}

// Protects: mkfs's error text is quoted, and the device is free again.
#[test]
fn root_a_mkfs_that_fails_is_quoted_and_leaves_nothing() {
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "16MiB"},
                   {"kind": "mkfs", "fs": "ext4", "device": "@d", "options": ["-b", "77"]}]"#;
    let error = bench.build(text).unwrap_err().to_string();
    assert!(
        error.contains("step 2 (mkfs): `mkfs.ext4 -q -F -b 77 -E lazy_itable_init=0,lazy_journal_init=0 /dev/loop"),
        "{error}"
    );
    assert!(error.contains("invalid block size"), "{error}");
    assert_eq!(bench.standing(), before);
}

/// Variable that passes the directory to the child that is killed.
const CHILD: &str = "PLUMB_LAB_TEST_DIR";

/// Returns the same system with a last step that never ends.
fn endless() -> String {
    let zram = zram();
    format!(r#"[{zram} {MOUNTED}, {{"kind": "cmd", "run": "sleep 1000 # DIR", "undo": "touch DIR/undone"}}]"#)
}

#[test]
#[ignore = "started by another test, which kills it"]
fn builds_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let dir = PathBuf::from(dir);
    let mut builder = Builder::new(&dir.join("journals"));
    let _ = builder.build("killed plot", &steps(&endless(), &dir), &Safety::default(), &mut |line| println!("{line}"));
}

#[test]
fn root_leftovers_of_kill_9_are_taken_down_by_another_process() {
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    // Killed during each of these commands, and during the endless one.
    for word in ["$ losetup", "$ mkfs.ext4", "$ mount", "$ sh -c"] {
        let bench = Bench::new();
        let before = bench.standing();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "taken_down::builds_until_it_is_killed", "--ignored", "--nocapture"])
            .env(CHILD, bench.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.map_while(Result::ok).find(|line| line.contains(word));
        assert!(seen.is_some(), "`{word}` was never run");
        let journals = bench.at("journals");
        if word == "$ sh -c" {
            assert_eq!(recover(&journals, &mut |_| ()).unwrap(), [], "it lives");
            assert!(bench.at("a/mnt").exists());
        }
        // Its commands keep running.
        child.kill().unwrap();
        child.wait().unwrap();
        // A command that is about to execute its program holds the journal's lock a moment longer.
        let begun = Instant::now();
        let recovered = loop {
            let recovered = recover(&journals, &mut |line| eprintln!("{line}")).unwrap();
            if !recovered.is_empty() || begun.elapsed() > Duration::from_secs(10) {
                break recovered;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(recovered.len(), 1);
        assert_eq!((recovered[0].tag.as_str(), recovered[0].pid), ("killed plot", child.id()));
        if word == "$ sh -c" {
            assert!(recovered[0].undone >= 5, "{recovered:?}");
            std::fs::remove_file(bench.at("undone")).unwrap();
        }
        assert_eq!(standing(bench.path()), before, "killed at {word}");
        assert_eq!(recover(&journals, &mut |_| ()).unwrap(), [], "nothing is taken down twice");
    }
}
