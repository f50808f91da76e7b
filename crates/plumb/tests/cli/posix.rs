//! `plumb posix` and `plumb as pjdfstest`, on the file system of the temporary directory.

use crate::common::{CommandOutput, Home, needs, schema, wait_until};
use plumb_document::json;
use serde_json::Value;
use std::process::Command;

/// Cases that hold on every file system that tests run on, for any user.
const PLAIN: &str = "make.regular,make.dir,rename.replaces,unlink.removes,mkdir.eexist";

#[test]
fn a_file_system_that_conforms_passes_and_leaves_nothing() {
    let home = Home::new();
    let output = home.plumb(&format!("posix . --only {PLAIN}")).expect(0);
    let first = output.out.lines().next().unwrap();
    assert!(first.ends_with(" conforms to POSIX and Linux's manual."), "{}", output.out);
    assert!(output.out.contains("5 pass; ") && output.out.contains(" checks in "), "{}", output.out);
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(home.registry()).unwrap().count(), 0);
}

// Protects: a broken rule is found, counts only at its level, and is named with the expected result. Linux itself
// breaks this one.
#[test]
fn a_broken_rule_fails_at_its_level_unless_it_is_known() {
    let home = Home::new();
    let output = home.plumb("posix . --only unlink.directory-eperm --no-known").expect(1);
    assert!(
        output.out.contains("fail SHALL unlink.directory-eperm: unlink: expected EPERM, got EISDIR"),
        "{}",
        output.out
    );
    assert!(output.out.contains("plumb posix explain unlink.directory-eperm"), "{}", output.out);
    let known = home.plumb("posix . --only unlink.directory-eperm").expect(0);
    assert!(known.out.contains("except for expected failures") && known.out.contains("man7.org"), "{}", known.out);
    let common = "posix . --only chown.nothing-ctime --no-known --level";
    assert!(home.plumb(&format!("{common} linux")).expect(0).out.contains("differs COMMON"));
    home.plumb(&format!("{common} common")).expect(1);
}

#[test]
fn reports_fit_their_schema_and_serve_as_baselines() {
    let home = Home::new();
    let line = format!("posix . --only {PLAIN},unlink.directory-eperm --no-known --output report.json --json");
    let output = home.plumb(&line).expect(1);
    let schema_text: Value = json::from_str(&home.plumb("schema posix").expect(0).out).unwrap();
    assert_eq!(schema::problems(&schema_text, &output.json()), [""; 0]);
    let cases = output.json()["cases"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 6);
    let failed = cases.iter().find(|case| case["outcome"] == "fail").unwrap();
    assert_eq!((&failed["id"], &failed["got"]), (&"unlink.directory-eperm".into(), &"EISDIR".into()));
    assert!(failed["calls"].as_array().unwrap().iter().any(|call| call.as_str().unwrap().contains("SYS_unlinkat")));

    assert_eq!(home.query("SELECT failures, passed FROM conformance"), [[1, 5]]);
    assert_eq!(
        home.query("SELECT name, got FROM conformance_case WHERE outcome = 'fail'"),
        [["unlink.directory-eperm", "EISDIR"]]
    );
    assert!(
        home.plumb("posix diff last report.json").expect(0).out.starts_with("The two reports agree in every case.")
    );

    let again = format!("posix . --only {PLAIN},unlink.directory-eperm --no-known --baseline report.json");
    assert!(home.plumb(&again).expect(0).out.contains("fails in the baseline of"));
    home.plumb(&format!("posix . --only {PLAIN} --output less.json")).expect(0);
    let diff = home.plumb("posix diff less.json report.json").expect(0);
    assert!(diff.out.contains("only after unlink.directory-eperm (fail)"), "{}", diff.out);
    home.plumb("posix matrix report.json less.json --html matrix.html").expect(0);
    let html = std::fs::read_to_string(home.work().join("matrix.html")).unwrap();
    assert!(html.contains("unlink.directory-eperm") && html.contains("0 of 1"), "{html}");
}

#[test]
fn expected_failures_are_data_and_unexpected_passes_are_reported() {
    let home = Home::new();
    home.plumb("posix . --only unlink.directory-eperm --no-known --write-expected mine.toml").expect(1);
    home.plumb("posix . --only unlink.directory-eperm --no-known --expected mine.toml").expect(0);
    home.file("wrong.toml", "[[expected]]\nid = \"make.regular\"\nreason = \"ours cannot\"\n");
    let output = home.plumb("posix . --only make.regular --expected wrong.toml").expect(0);
    assert!(output.out.contains("unexpected pass make.regular"), "{}", output.out);
    home.file("old.toml", "[[expected]]\nid = \"make.regular\"\nkernel_max = \"2.6\"\nreason = \"long ago\"\n");
    let output = home.plumb("posix . --only make.regular --expected old.toml").expect(0);
    assert!(!output.out.contains("unexpected"), "{}", output.out);
    home.file("bad.toml", "[[expected]]\nid = \"nonsense\"\nreason = \"x\"\n");
    let output = home.plumb("posix . --expected bad.toml").expect(2);
    assert!(output.err.contains("`nonsense` is not the id of a case"), "{}", output.err);
    let output = home.plumb("posix . --only nonsense").expect(2);
    assert!(output.err.contains("no case matches nonsense"), "{}", output.err);
    home.plumb("posix no-such-directory").expect(2);
}

#[test]
fn pipelines_get_their_forms() {
    let home = Home::new();
    let line = "posix . --only make.regular,unlink.directory-eperm --no-known --tap --junit j.xml --md r.md --github";
    let output = home.plumb(line).expect(1);
    assert!(output.out.starts_with("TAP version 14\n1..2\n"), "{}", output.out);
    assert!(output.out.contains("ok 1 - make.regular\nnot ok 2 - unlink.directory-eperm\n"), "{}", output.out);
    assert!(output.err.contains("::error title=plumb posix%3A fail unlink.directory-eperm::"), "{}", output.err);
    let read = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
    assert!(read("j.xml").contains("tests=\"2\" skipped=\"0\" errors=\"0\" failures=\"1\""));
    assert!(read("r.md").contains("### ❌ plumb posix"));
}

#[test]
fn a_case_is_explained_with_its_calls() {
    let home = Home::new();
    let list = home.plumb("posix explain").expect(0).out;
    assert!(list.lines().count() > 1_000 && list.contains("SHALL  rename.dots\n"), "{list}");
    let page = home.plumb("posix explain rmdir.dots").expect(0).out;
    assert!(page.starts_with("rmdir.dots (SHALL)\n"), "{page}");
    assert!(page.contains("POSIX.1-2017, rmdir()") && page.contains("It passes on this "), "{page}");
    assert!(page.contains("CALL(syscall(SYS_unlinkat, AT_FDCWD, \"d/e/.\", AT_REMOVEDIR), \"EINVAL\");"), "{page}");
    let output = home.plumb("posix explain rmdir.dot").expect(2);
    assert!(output.err.contains("did you mean `rmdir.dots`?"), "{}", output.err);
}

// Protects: the C program of a case gives the case's result, and compiles with a bare compiler.
#[test]
fn the_program_of_an_explanation_compiles_and_agrees() {
    let home = Home::new();
    if std::process::Command::new("cc").arg("--version").output().is_err() {
        return crate::common::needs::skip("cc is missing");
    }
    // The last four have hundreds of calls.
    let long = ["readdir.lists", "readdir.seek", "rename.replaces", "rmdir.sticky"];
    for id in ["rmdir.dots", "rename.same-file", "open.fd-modes", "fallocate.einval"].into_iter().chain(long) {
        let page = home.plumb(&format!("posix explain {id} --at .")).expect(0).out;
        let Some(start) = page.find("/* The calls of") else { panic!("{page}") };
        home.file("case.c", &page[start..]);
        assert!(page[start..].lines().count() <= 60, "{page}");
        let run = |program: &str, words: &[&str]| {
            let output = std::process::Command::new(program).args(words).current_dir(home.work()).output().unwrap();
            assert!(output.status.success(), "{id}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        run("cc", &["-Wall", "-Werror", "-o", "case", "case.c"]);
        std::fs::create_dir(home.work().join(id)).unwrap();
        let output = std::process::Command::new("../case").current_dir(home.work().join(id)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() > 3, "{text}");
        for line in text.lines() {
            let (seen, saw) = line.rsplit_once("(Plumb: ").unwrap();
            let failed_here = seen.contains(" -1 ");
            assert_eq!(failed_here, saw.starts_with('E'), "{id}: {line}");
        }
    }
}

/// Protects: help and documents state the actual number of cases.
#[test]
fn the_printed_number_of_cases_is_right() {
    let home = Home::new();
    let count = home.plumb("posix explain").expect(0).out.lines().count();
    let output = format!("{},{:03} cases", count / 1000, count % 1000);
    assert!(crate::common::flat(&home.plumb("--help").expect(0).out).contains(&output), "{output}");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    for page in ["docs/posix.md", "CHANGELOG.md"] {
        assert!(std::fs::read_to_string(root.join(page)).unwrap().contains(&output), "{page}: {output}");
    }
}

#[test]
fn pjdfstest_has_its_files_for_prove() {
    let home = Home::new();
    let printed = home.plumb("as pjdfstest --install tests").expect(0);
    assert!(printed.out.starts_with("wrote 238 files"), "{}", printed.out);
    assert!(home.work().join("tests/chmod/00.t").is_file());
    let printed = home.plumb("as pjdfstest rmdir/12").expect(0);
    assert_eq!(printed.out, "1..1\nok 1 - rmdir.dots\n");
    let refused = home.plumb("as pjdfstest granular/00.t").expect(0);
    assert!(refused.out.starts_with("1..0 # SKIP lists of NFSv4"), "{}", refused.out);
    home.plumb("as pjdfstest chmod/99").expect(2);
    // Protects: a directory with the real pjdfstest is not overwritten.
    home.file("mine.t", "");
    std::fs::create_dir_all(home.work().join("real/chmod")).unwrap();
    std::fs::write(home.work().join("real/chmod/00.t"), "#!/bin/sh\n").unwrap();
    home.plumb("as pjdfstest --install real").expect(5);
    if std::process::Command::new("prove").arg("--version").output().is_ok() {
        let output = std::process::Command::new("prove")
            .args(["tests/rmdir/12.t", "tests/granular"])
            .current_dir(home.work())
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Files with the flag immutable or append-only, in separate directories.
const FLAGS: &str = "*.eperm-immutable,*.eperm-append,*.eperm-immutable-parent,*.eperm-append-parent";

// Protects: after a kill, `plumb clean` removes everything, including files with chattr flags and images with their
// loop devices.
#[test]
fn what_a_kill_leaves_is_cleaned_up() {
    for line in [format!("posix . --only {FLAGS} --jobs 4"), "posix . --only *.erofs,*.enospc,link.emlink".to_owned()] {
        let home = Home::new();
        let mut child = home.start(&line);
        let begun =
            || std::fs::read_dir(home.work()).unwrap().flatten().any(|entry| entry.path().join("cases/w0").exists());
        wait_until("cases run, or have run", || begun() || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        // A worker ends after its current case, and locks the directory until then.
        wait_until("all is removed", || {
            home.plumb("clean").expect(0);
            std::fs::read_dir(home.work()).unwrap().count() == 0
        });
        assert_eq!(std::fs::read_dir(home.registry()).unwrap().count(), 0);
        let work = home.work().display().to_string();
        assert!(!std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&work));
        // Other tests have images of their own, which disappear as well.
        wait_until("loop devices are gone", || {
            let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
            let images = devices.filter_map(|one| std::fs::read_to_string(one.path().join("loop/backing_file")).ok());
            !images.into_iter().any(|image| image.contains("plumb-posix"))
        });
    }
}

/// A library that bindfs preloads: its file system then keeps every name and reports the removal as done.
const UNLINK_KEEPS: &str = "int unlink(const char *path) { (void)path; return 0; }\n";

// Protects: the clean-up never ended on such a file system, and did not react to SIGTERM; the run then ended as if
// nothing was left.
#[test]
fn a_file_system_that_keeps_what_is_removed_does_not_keep_the_run() {
    if !needs::root_and(&["bindfs", "cc", "umount", "timeout"]) || !std::path::Path::new("/dev/fuse").exists() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for name in ["base", "mounted"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    std::fs::write(at("keeps.c"), UNLINK_KEEPS).unwrap();
    let done = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    done(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([at("keeps.so"), at("keeps.c")]));
    done(Command::new("bindfs").args([at("base"), at("mounted")]).env("LD_PRELOAD", at("keeps.so")));
    let home = Home::new();
    let plumb = home.command(["posix", at("mounted").to_str().unwrap(), "--only", "make.regular"]);
    let mut command = Command::new("timeout");
    command.arg("--kill-after=5").arg("120").arg(plumb.get_program()).args(plumb.get_args());
    command.envs(plumb.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = CommandOutput::run(command);
    done(Command::new("umount").arg(at("mounted")));
    // Every tested rule holds, but a directory that cannot be removed still fails the run.
    output.expect(1).expect_stderr(&["the file system reported its removal and kept it"]);
}
