//! Files that a killed process leaves and `plumb clean` removes, and resource limits that must not kill Plumb.

use crate::common::{CommandOutput, Home, needs};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command under a `ulimit`.
pub(super) fn limited(home: &Home, limit: &str, line: &str) -> CommandOutput {
    let plain = home.command(line.split_whitespace());
    let mut command = Command::new("env");
    let script = format!("ulimit {limit}; exec \"$@\"");
    command.args(["--default-signal=XFSZ", "sh", "-c", &script, "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(home.work()).envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    CommandOutput::run(command)
}

/// Protects: every command reports a file size limit as an error. On main, SIGXFSZ silently kills `list` and `compare`
/// (code -1 in this test).
#[test]
fn a_file_size_limit_is_an_error_and_no_death() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd").expect(0);
    for line in
        ["list", "show last", "run random-read --at sim:ssd", "compare sim:ssd sim:ssd", "export --csv", "clean"]
    {
        let output = limited(&home, "-f 8", line);
        assert!([0, 4].contains(&output.code), "{output:?}");
        assert!(output.code == 0 || output.err.contains("error"), "{output:?}");
    }
    home.plumb("list").expect(0);
}

/// Protects programs that Plumb starts: they get the default action of SIGXFSZ. On main they inherited SIG_IGN.
#[test]
fn programs_that_are_started_die_of_their_file_size_limit() {
    if !needs::tools(&["dd"]) {
        return;
    }
    let home = Home::new();
    home.file("fill.sh", "ulimit -f 1; exec dd if=/dev/zero of=full bs=64k count=1");
    let output = limited(&home, "-f 1000000", "trace record --by ptrace -o a.trace -- sh fill.sh");
    assert!(output.err.contains("signal: 25 (SIGXFSZ)"), "{output:?}");
}

/// Protects: every command works with a stack of 64 KiB. On main, each of these overflows it.
#[test]
fn a_small_stack_is_enough() {
    let home = Home::new();
    for line in [
        "--version",
        "run random-read --at sim:ssd",
        "list",
        "show last",
        "compare sim:ssd sim:ssd",
        "as fio --parse-only",
    ] {
        let output = limited(&home, "-s 64", line);
        assert!((0..=3).contains(&output.code), "{output:?}");
    }
}

fn directory(parent: &Path, name: &str, files: &[&str]) -> PathBuf {
    let path = parent.join(name);
    std::fs::create_dir_all(&path).unwrap();
    files.iter().for_each(|file| std::fs::write(path.join(file), "").unwrap());
    path
}

/// Protects: `plumb clean` removes the files of killed studies and half-made test directories, and keeps lookalikes. On main,
/// all of these stay, and the half-made directory makes every `clean` end with 4.
#[test]
fn cleaning_removes_what_killed_studies_left() {
    let home = Home::new();
    let state = home.registry().ancestors().nth(3).unwrap().join("state/plumb");
    let temporary = directory(&home.work(), "tmp", &[]);
    let left = [
        directory(&state, "run-AbCdEf", &["lock", "plumb.db"]),
        directory(&temporary, "plumb-mkfs-AbCdEf", &["lock", "device1"]),
        directory(&temporary, "plumb-vm-AbCdEf", &["lock", "plumbdisk1"]),
    ];
    let kept = [directory(&state, "run-notes", &["text"]), directory(&temporary, "plumb-mkfs-notes", &["text"])];
    let half_made = directory(&home.work(), "plumb-test-0123456789abcdef", &[".plumb"]);
    let marker = std::fs::File::open(half_made.join(".plumb")).unwrap();
    marker.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    drop(marker);
    let clean = || {
        let mut command = home.command(["clean", "."]);
        command.env("TMPDIR", &temporary);
        CommandOutput::run(command)
    };
    let output = clean().expect(0);
    for path in left.iter().chain([&half_made]) {
        let path_text = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!path.exists() && output.out.contains(&path_text), "{path:?}: {}", output.out);
    }
    assert!(kept.iter().all(|path| path.join("text").exists()));
    clean().expect(0).expect_stdout(&["nothing to clean"]);
}
