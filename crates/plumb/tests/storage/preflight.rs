//! Studies on real loop devices are tried before their first run, and leave nothing behind.

use super::alone;
use crate::common::disks::system;
use crate::common::{Home, needs};

/// Returns a study with two file systems on a loop device; the large workload does not fit.
fn study(home: &Home, size: &str, mount_options: &str) -> String {
    let dir = home.work().join("images");
    std::fs::create_dir_all(&dir).unwrap();
    format!(
        r#"
[experiment]
name = "tried"

[[factor]]
name   = "fs"
levels = ["ext4", "ext2"]
change = "hard"

[[provision]]
kind      = "loop"
name      = "disk"
directory = "{0}"
size      = "64MiB"
fill      = "filled"

[[provision]]
kind   = "mkfs"
fs     = "${{fs}}"
device = "@disk"
options = ["-E", "lazy_itable_init=0"]
mount  = "{1}"
mount-options = [{mount_options}]

[workload]
write = {{ size = "{size}", block = "64KiB", end = "fsync" }}

[design]
plots  = 2
repeat = 1

[compare]
metrics = ["device.written-bytes"]
"#,
        dir.display(),
        home.work().join("mnt").display(),
    )
}

/// Returns loop devices over images of this test, and mounts in its directory.
fn left(home: &Home) -> usize {
    let dir = home.work().to_str().unwrap().to_owned();
    let loops = system("losetup", &["--list", "--noheadings", "--output", "BACK-FILE"]);
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    loops.lines().chain(mounts.lines()).filter(|line| line.contains(&dir)).count()
}

fn here() -> bool {
    needs::root_and(&["losetup", "mkfs.ext4", "mkfs.ext2", "mount"])
}

#[test]
fn root_each_provisioning_is_built_once_and_taken_down() {
    if !here() {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    home.file("good.toml", &study(&home, "8MiB", ""));
    home.plumb("study plan good.toml --check")
        .expect(0)
        .expect_stdout(&["2 plots built and taken down", "No problem found."]);
    assert_eq!(left(&home), 0);
    // A gibibyte on 64 MiB: in the review, 36 runs failed of it, one after another.
    home.file("large.toml", &study(&home, "1GiB", ""));
    let output = home.plumb("study run large.toml").expect(2);
    output.expect_stderr(&["1 problem found before the first run", "its data need 1GiB", "has 64MiB", "`--no-check`"]);
    // Only the kernel knows the options of its file systems.
    home.file("options.toml", &study(&home, "8MiB", "\"no_such_option\""));
    let output = home.plumb("study plan options.toml --check").expect(2);
    output.expect_stderr(&["local: step 2 (mkfs): `mount -t ext4 -o no_such_option", "mount -t ext2"]);
    assert_eq!(left(&home), 0);
}

/// An error that only building reveals ends the study at its second occurrence, with one message and the way to resume.
#[test]
fn root_a_failure_that_comes_again_ends_the_study() {
    if !here() {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    home.file("options.toml", &study(&home, "8MiB", "\"no_such_option\"").replace(r#", "ext2""#, ""));
    let output = home.plumb("study run options.toml --set design.plots=4").expect(4);
    let reported = output.err.lines().filter(|line| line.contains("no_such_option")).count();
    assert_eq!(reported, 1, "the cause is printed once: {}", output.err);
    assert!(output.err.contains("plot 2 was not built, so its run has failed: as before"), "{}", output.err);
    let output = output.expect_stdout(&["plots 1, 2 could not be built"]);
    let ends = output.err.lines().filter(|line| line.contains("the same failure occurred twice")).count();
    assert_eq!(ends, 1, "{}", output.err);
    assert!(output.err.contains("study resume --failed"), "{}", output.err);
    assert_eq!(left(&home), 0);
}

/// I/O while preparing a run's data does not count as I/O of its work: reading prepared files writes nothing.
#[test]
fn root_counts_are_those_of_the_work() {
    if !here() {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    let reads = "[workload]\nrandom-read = { size = \"16MiB\", block = \"4KiB\", direct = true, bytes = \"1MiB\" }";
    let text = study(&home, "8MiB", "");
    let at = text.find("[workload]").unwrap();
    let end = text.find("[design]").unwrap();
    home.file("reads.toml", &format!("{}{reads}\n\n{}", &text[..at], &text[end..]));
    let output = home.plumb("study run reads.toml --json");
    let report = output.json();
    let cells = report["cells"].as_array().unwrap();
    let disks: Vec<_> = cells
        .iter()
        .flat_map(|cell| cell["devices"].as_array().unwrap())
        .filter(|device| device["device"] == "@disk")
        .collect();
    assert_eq!(left(&home), 0);
    if disks.is_empty() {
        return needs::not_shown("every run was rejected, because others use this machine's disk");
    }
    for disk in disks {
        let of = |key: &str| disk[key]["mean"].as_f64().unwrap_or_else(|| panic!("{key}: {disk:#}"));
        assert!((1_048_576.0..1_200_000.0).contains(&of("read_bytes")), "{disk:#}");
        // At most the times of files, and not the 16 MiB that are read.
        assert!(of("written_bytes") < 1_000_000.0, "{disk:#}");
    }
}
