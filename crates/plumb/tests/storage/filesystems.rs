//! `try`, `check`, `run` and `compare X X` on each file system.

use crate::common::disks::Mounted;
use crate::common::{Home, assert_no_test_data, flat, metric, needs, verdicts};
use crate::{alone, trusted_but_for_others};
use serde_json::Value;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Runs the first commands that a user would run on a target. Every line of output names the storage.
fn everything(path: &Path, kind: &str, tier: &str) {
    let home = Home::new();
    let place = path.to_str().unwrap();

    let check = home.plumb(&format!("check {place}"));
    // 3 if other programs use the machine.
    assert!(check.code == 0 || check.code == 3, "{}", check.err);
    assert!(check.out.starts_with(&format!("{kind} on ")), "{}", check.out);

    let output = home.plumb(&format!("try {place} --time 300ms --size 64MiB"));
    assert!(
        output.err.contains("in a new directory") && output.err.contains("removes it at the end"),
        "{}",
        output.err
    );
    eprintln!("{}", output.out);
    assert!(flat(&output.out).contains(kind) && output.out.contains("More: plumb "), "{}", output.out);
    let result = trusted_but_for_others(&home.plumb(&format!("try {place} --time 300ms --size 64MiB --json")));
    let phases: Vec<&str> =
        result["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    let all = [
        "stream-write",
        "stream-read",
        "random-read-1",
        "random-read-32",
        "random-write-1",
        "random-write-32",
        "fsync",
        "create",
        "stat",
        "read",
        "delete",
    ];
    assert_eq!(phases, all);
    for (phase, name) in [
        ("stream-read", "read.bw"),
        ("random-read-1", "read.iops"),
        ("random-read-32", "read.bw"),
        ("stream-write", "write.bw"),
        ("random-write-32", "write.bw"),
    ] {
        let metric = metric(&result, phase, name);
        assert!(metric["value"].as_f64().unwrap() > 0.0);
        assert_eq!(metric["tier"], tier, "{phase} {name} on {kind}: {metric}");
    }
    for (phase, name) in
        [("fsync", "fsync.ops"), ("create", "create.ops"), ("stat", "stat.ops"), ("delete", "unlink.ops")]
    {
        assert!(metric(&result, phase, name)["value"].as_f64().unwrap() > 0.0, "{phase} {name}");
    }

    let run = trusted_but_for_others(
        &home.plumb(&format!("run random-read --at {place} --set size=32MiB --set time=500ms --json")),
    );
    assert_eq!(metric(&run, "random-read", "read.iops")["tier"], tier, "run random-read on {kind}: {run:#}");
    assert_eq!(run["target"]["data"]["filesystem"]["yes"]["kind"], kind);
    assert_no_test_data(path);

    let comparison = assert_no_winner(&home, place, kind);
    assert_eq!(comparison["differences"], Value::Array(Vec::new()), "a place does not differ from itself");
    assert_no_test_data(path);
}

/// Panics if one place is called faster than itself. False claims occur at a known rate, but do not repeat: three
/// comparisons with three seeds must not all find a winner.
#[track_caller]
fn assert_no_winner(home: &Home, place: &str, what: &str) -> Value {
    let mut last = Value::Null;
    for seed in 1..=3 {
        last = home.plumb(&format!("compare {place} {place} --budget 20s --size 32MiB --seed {seed} --json")).json();
        let verdicts = verdicts(&last);
        eprintln!("{what} against itself: {verdicts:?}, {}", last["verdict_note"]);
        for one in last["left_out"].as_array().unwrap() {
            let reason = one["reason"].as_str().unwrap();
            assert!(reason.starts_with("C1 ") || reason.starts_with("C5 "), "{one}");
        }
        if !verdicts.iter().any(|verdict| verdict == "faster" || verdict == "slower") {
            return last;
        }
    }
    panic!("{last:#}");
}

#[test]
fn ext4() {
    let _alone = alone();
    if needs::root_and(&["losetup", "mkfs.ext4"]) {
        everything(Mounted::on_loop("ext4", 1024 * MIB, "").path(), "ext4", "device");
    }
}

#[test]
fn xfs() {
    let _alone = alone();
    if needs::root_and(&["losetup", "mkfs.xfs"]) {
        everything(Mounted::on_loop("xfs", 1024 * MIB, "").path(), "xfs", "device");
    }
}

#[test]
fn btrfs() {
    let _alone = alone();
    if needs::root_and(&["losetup", "mkfs.btrfs"]) {
        everything(Mounted::on_loop("btrfs", 1024 * MIB, "").path(), "btrfs", "device");
    }
}

#[test]
fn memory() {
    let _alone = alone();
    if !needs::root_and(&["mount"]) {
        return;
    }
    let memory = Mounted::in_memory(1024 * MIB);
    everything(memory.path(), "tmpfs", "cache");
    let home = Home::new();
    // The user's options are not changed: a cold cache is impossible here, which is reported.
    let page = home.plumb(&format!("run stream-read --at {} --set size=16MiB", memory.as_str())).expect(0);
    page.expect_stdout(&["note stream-read: a cold cache: not possible, because tmpfs is in memory", "⚠ from memory"]);
    home.plumb(&format!("run stream-read --at {} --set cache=cold --set size=16MiB", memory.as_str()))
        .expect(2)
        .expect_stderr(&["is in memory", "as-is"]);
    let json = home.plumb("show last --json").expect(0).json();
    assert!(json["phases"][0]["notes"][0].as_str().unwrap().contains("tmpfs"));
    let place = memory.as_str();
    let comparison =
        home.plumb(&format!("compare {place} {place} --budget 5s --size 16MiB --for stream-read --json")).json();
    assert!(
        comparison["notes"][0].as_str().unwrap().contains("a cold cache: not possible, because tmpfs is in memory"),
        "{}",
        comparison["notes"]
    );
}

/// The file system of the project itself: it is named, measured and left clean.
#[test]
fn the_directory_of_the_build() {
    let _alone = alone();
    let home = Home::new();
    let place = env!("CARGO_TARGET_TMPDIR");
    trusted_but_for_others(&home.plumb(&format!("check {place} --json")));
    let result = trusted_but_for_others(&home.plumb(&format!("try {place} --time 300ms --size 64MiB --json")));
    assert!(metric(&result, "stream-write", "write.bw")["value"].as_f64().unwrap() > 0.0);
    assert_no_winner(&home, place, "the build's directory");
    assert_no_test_data(Path::new(place));
}

#[test]
fn an_unwritable_or_full_place_is_reported_clearly() {
    let _alone = alone();
    if !needs::root_and(&["mount"]) {
        return;
    }
    let home = Home::new();
    let small = Mounted::in_memory(100 * MIB);
    for line in [format!("try {}", small.as_str()), format!("compare {0} {0}", small.as_str())] {
        home.plumb(&line).expect(2).expect_stderr(&["100 MiB free", "`--size 8MiB` measures in up to half of it"]);
    }
    // A program with debug information takes 250 MiB of it.
    let memory = Mounted::in_memory(1000 * MIB);
    crate::common::disks::system("mount", &["-o", "remount,ro", memory.as_str()]);
    for line in [format!("try {}", memory.as_str()), format!("compare {0} {0} --budget 5s", memory.as_str())] {
        home.plumb(&line).expect(5).expect_stderr(&["its file system is mounted read-only", "remount,rw"]);
    }
    crate::common::disks::system("mount", &["-o", "remount,rw", memory.as_str()]);
    // A user without write permission there.
    let locked = memory.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    if needs::tools(&["setpriv"]) {
        std::fs::set_permissions(home.work().parent().unwrap(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let program = home.command([""; 0]).get_program().to_owned();
        let copy = memory.path().join("plumb");
        std::fs::copy(program, &copy).unwrap();
        std::fs::set_permissions(memory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut nobody = std::process::Command::new("setpriv");
        nobody
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(copy)
            .args(["try", "--no-store"])
            .arg(&locked);
        nobody.env("XDG_DATA_HOME", "/nonexistent").current_dir("/");
        crate::common::CommandOutput::run(nobody).expect(4).expect_stderr(&[
            "cannot make a test directory in",
            "Permission denied",
            "choose a directory that you can write to",
        ]);
    }
}

/// The disk fills up during the run: an error of the operation, with the measurements before it.
#[test]
fn a_full_disk_is_4_and_named() {
    let _alone = alone();
    if !needs::root_and(&["mount"]) {
        return;
    }
    let memory = Mounted::in_memory(64 * MIB);
    let home = Home::new();
    // Appending without an end: its space cannot be predicted.
    home.file(
        "grow.toml",
        r#"name = "grow"
[target.files.tree]
path = "files"
files = 4
size = "4KiB"
preallocated-percent = 100
[[phase]]
name = "append"
stop.time = "60s"
[[phase.workers]]
target = "files"
work.flow.steps = [{ open = { file = "random", write = true } }, { append = { size = "64KiB" } }, "close"]
"#,
    );
    let output = home.plumb(&format!("run grow.toml --at {} --json", memory.as_str())).expect(4);
    let result = output.json();
    crate::common::assert_found(&result, "B9", "fail", "No space left on device");
    assert_no_test_data(memory.path());
    // Refused in advance: less than 5 % would stay free.
    home.file("large.toml", "name = \"large\"\n[target.data.file]\npath = \"data\"\nsize = \"62MiB\"\n[[phase]]\nname = \"read\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"1MiB\"\n");
    home.plumb(&format!("run large.toml --at {}", memory.as_str()))
        .expect(5)
        .expect_stderr(&["would leave less than 5 %", "write at most"]);
}
