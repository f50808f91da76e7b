//! Undo journals that another user could have written: no command executes them.

use crate::common::{Home, needs};
use std::fs::{Permissions, create_dir_all, metadata, set_permissions, write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

const STRANGER: u32 = 65534;

/// Writes a journal of a dead process that runs a command and writes to a file.
fn forged(home: &Home, ran: &Path, written: &Path) -> PathBuf {
    let dir = home.work().join("../state/plumb/journals");
    create_dir_all(&dir).unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let begin = format!(r#"{{"line":"begin","version":1,"pid":999999,"boot":"{}","tag":"x"}}"#, boot.trim());
    let setting = format!(
        r#"{{"line":"ahead","id":0,"undo":{{"undo":"setting","path":"{}","value":"forged"}}}}"#,
        written.display()
    );
    let cmd =
        format!(r#"{{"line":"ahead","id":1,"undo":{{"undo":"cmd","run":"touch {}","timeout_s":5}}}}"#, ran.display());
    let path = dir.canonicalize().unwrap().join("1-0.journal");
    write(&path, format!("{begin}\n{setting}\n{cmd}\n")).unwrap();
    for (path, mode) in [(&dir.join("../.."), 0o755), (&dir.join(".."), 0o755), (&dir, 0o755), (&path, 0o644)] {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    path
}

fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

// Protects root with another user's HOME, and users whose state directory is writable by others. Before, `plumb clean` ran the
// command and wrote to the file.
#[test]
fn forged_journals_are_named_and_left_alone() {
    let home = Home::new();
    let (ran, written) = (home.work().join("ran"), home.work().join("written"));
    write(&written, "kept").unwrap();
    let journal = forged(&home, &ran, &written);
    let dir = journal.parent().unwrap();
    let refused = |reason: &str| {
        let output = home.plumb("clean").expect(4);
        for part in [&*journal.display().to_string(), reason, "not trusted"] {
            assert!(output.out.contains(part), "{part}: {}", output.out);
        }
        assert!(!ran.exists() && journal.exists(), "{}", output.out);
        assert_eq!(std::fs::read_to_string(&written).unwrap(), "kept");
    };
    set_mode(&journal, 0o666);
    refused("others can write to");
    set_mode(&journal, 0o644);
    set_mode(dir, 0o777);
    refused("others can write to");
    set_mode(dir, 0o755);
    if needs::is_root() {
        // From the review: the other user owns the directories and the journal.
        for path in [&journal, dir, dir.parent().unwrap()] {
            chown(path, Some(STRANGER), None).unwrap();
        }
        refused("user 65534 owns");
        let dirs = ["a", "b"].map(|name| home.work().join(name).display().to_string());
        home.file(
            "s.toml",
            &format!(
                "[experiment]\nname = \"s\"\nquestion = \"Which?\"\n[[factor]]\nname = \"dir\"\nlevels = {dirs:?}\n[target]\npath = \
                 \"${{dir}}\"\n[workload]\nrandom-read = {{ size = \"1MiB\", cache = \"warm\", time = \"100ms\" }}\n[design]\nplots = \
                 1\nrepeat = 2\n[compare]\nby = \"dir\"\nmetrics = [\"read.iops\"]\n"
            ),
        );
        for name in ["a", "b"] {
            std::fs::create_dir(home.work().join(name)).unwrap();
        }
        for line in ["study plan s.toml --check", "study run s.toml", "study resume"] {
            let output = home.plumb(line);
            assert_eq!(output.err.matches("not trusted").count(), 1, "{output:?}");
            assert!(!ran.exists() && journal.exists(), "{line}");
        }
        for path in [&journal, dir, dir.parent().unwrap()] {
            chown(path, Some(0), None).unwrap();
        }
    } else {
        needs::skip("needs root, to give files to another user");
    }
    // A journal of this user from an earlier version: its command runs, but it may change only kernel settings.
    let output = home.plumb("clean").expect(4);
    assert!(ran.exists(), "{}", output.out);
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "kept");
    assert!(output.out.contains("not a kernel setting"), "{}", output.out);
    assert_eq!(metadata(&journal).unwrap().permissions().mode() & 0o777, 0o600);
}
