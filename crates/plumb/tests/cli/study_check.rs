//! All errors in a study are reported at once, before its first run.

use crate::common::{CommandOutput, Home, needs};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const SIMULATED: &str = r#"
[experiment]
name = "simulated"

[[factor]]
name   = "device"
levels = ["sim:ssd", "sim:hdd"]
change = "hard"

[target]
path = "${device}"

[workload]
random-read = { size = "64MiB", direct = true, time = "1s" }

[design]
plots = 2
"#;

/// A file system that no step makes, a missing directory, and a line that a shell rejects.
const WRONG: &str = r#"
[experiment]
name = "wrong"

[[factor]]
name   = "fs"
levels = ["ext4", "no-such-fs"]
change = "hard"

[[provision]]
kind      = "loop"
name      = "disk"
directory = "/no/such/directory"
size      = "64MiB"

[[provision]]
kind = "cmd"
run  = "if true"

[[provision]]
kind   = "mkfs"
fs     = "${fs}"
device = "@disk"
mount  = "/mnt/plumb-check"

[workload]
write = { size = "1GiB", block = "64KiB", end = "fsync" }
"#;

/// Returns the number of studies in the store.
fn studies(home: &Home) -> usize {
    home.plumb("study list --json").expect(0).json().as_array().unwrap().len()
}

#[test]
fn a_good_study_is_checked_in_a_few_lines() {
    let home = Home::new();
    home.file("study.toml", SIMULATED);
    let output = home.plumb("study plan study.toml --check").expect(0);
    assert!(
        output.out.contains("\nCheck\n  local  Linux ") && output.out.ends_with("  No problem found.\n"),
        "{}",
        output.out
    );
    let found = home.plumb("study plan study.toml --check --json").expect(0).json();
    assert_eq!((&found["schema"], &found["problems"]), (&"plumb.study-check/1".into(), &serde_json::json!([])));
    crate::commands::fits(&home, "study-check", &found);
    assert_eq!(studies(&home), 0, "a check is no study");
}

// Protects: the review's study had 36 failures of 36, one after another.
#[test]
fn all_problems_are_reported_at_once_and_nothing_begins() {
    let home = Home::new();
    home.file("study.toml", WRONG);
    for line in ["study run study.toml", "study plan study.toml --check"] {
        let output = home.plumb(line);
        assert_eq!(output.code, 2, "{output:?}");
        for part in [
            "problems found before the first run",
            "local: step 1 (loop): `directory` is `/no/such/directory`: no such directory; create it: mkdir -p",
            "local: step 2 (cmd): the shell rejects it",
            "local: step 3 (mkfs): `fs` is `no-such-fs`: write one of ext2",
            "what is mounted at /mnt/plumb-check has 64MiB",
        ] {
            // Loops need root, so their size check is not reached.
            let lines = output.err.lines().filter(|line| line.contains(part)).count();
            assert_eq!(lines, 1, "`{part}`: {}", output.err);
        }
        assert!(output.err.lines().all(|line| line.chars().count() < 400), "{}", output.err);
    }
    assert_eq!(studies(&home), 0);
    // mkfs completes ext4 itself; the plan already shows steps that leave work to the kernel.
    assert!(!home.plumb("study plan study.toml").expect(0).out.contains("initialising"));
    // The plan contains the counts that every run must meet.
    let expect = "[[expect]]\nmetric = \"device.reads\"\nat-most = 2\nbecause = \"no reads\"\n";
    home.file("study.toml", &format!("{WRONG}\n{expect}"));
    home.plumb("study plan study.toml")
        .expect(0)
        .expect_stdout(&["Expected counts", "device.reads at most 2: no reads"]);
    let device = "device = \"@disk\"";
    home.file("study.toml", &WRONG.replace(device, &format!("{device}\noptions = [\"-E\", \"lazy_itable_init=1\"]")));
    home.plumb("study plan study.toml")
        .expect(0)
        .expect_stdout(&["goes on initialising this ext4", "leave out lazy_itable_init"]);
}

/// A refusal by ssh is a single sentence, printed once. A shell script replaces ssh.
#[test]
fn a_host_that_is_not_reached_is_one_line() {
    let home = Home::new();
    let hosts = "[hosts]\nbox = { ssh = \"root@box\" }\n";
    home.file("study.toml", &format!("{SIMULATED}\n{hosts}"));
    let page =
        "@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nIT IS POSSIBLE\nHost key verification failed.";
    let ssh = format!("sh -c 'printf \"{}\" >&2; exit 255'", page.replace('\n', "\\\\n"));
    let run = |line: &str| {
        let mut command = home.command(line.split(' '));
        command.env("PLUMB_SSH", &ssh);
        CommandOutput::run(command)
    };
    let output = run("study run study.toml");
    assert_eq!(output.code, 2, "{output:?}");
    let lines: Vec<&str> = output.err.lines().filter(|line| line.contains("box")).collect();
    let [line] = lines.as_slice() else { panic!("{}", output.err) };
    assert!(line.contains("root@box: its host key has changed") && !line.contains("Broken pipe"), "{line}");
    assert!(!output.err.contains("IT IS POSSIBLE"), "{}", output.err);
    assert!(run("-v study run study.toml").err.contains("ssh: IT IS POSSIBLE"));
}

#[test]
fn who_is_not_root_gets_the_line_that_makes_root_of_him() {
    if !needs::root_and(&["setpriv", "losetup"]) {
        return;
    }
    let home = Home::new();
    home.file("study.toml", &WRONG.replace("/no/such/directory", "/tmp").replace("if true", "true"));
    // The user `nobody` must be able to reach all of it.
    let open = std::fs::Permissions::from_mode(0o777);
    for dir in [home.work(), home.work().parent().unwrap().to_owned(), home.work().join("../data")] {
        std::fs::set_permissions(dir, open.clone()).unwrap();
    }
    let plumb = home.command(["study", "run", "study.toml"]);
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(plumb.get_program()).args(plumb.get_args());
    nobody.current_dir(home.work()).envs(plumb.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = CommandOutput::run(nobody);
    if output.err.contains("setpriv: failed to execute") {
        return needs::not_shown("another user cannot run what was built here");
    }
    assert_eq!(output.code, 2, "{output:?}");
    let count = |part: &str| output.err.lines().filter(|line| line.contains(part)).count();
    assert_eq!(count("step 1 (loop) needs root, and this user is not"), 1, "{}", output.err);
    assert_eq!(count("Run it as root: sudo "), 1, "{}", output.err);
    assert!(output.err.contains("study run study.toml") && !output.err.contains("Permission denied"), "{}", output.err);
}
