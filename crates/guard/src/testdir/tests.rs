//! Tests that removal covers the whole test directory and nothing else.

use super::*;
use crate::testing::{Mounted, is_root, once_released, run, skipped};
use rustix::fs::FlockOperation;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

fn list(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn backdate(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn a_test_directory_is_marked_private_and_finally_removed() {
    let base = tempfile::tempdir().unwrap();
    let dir = TestDir::create(base.path(), "a label").unwrap();
    let path = dir.path().to_owned();
    assert!(path.file_name().unwrap().to_str().unwrap().starts_with(PREFIX));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let marker = fs::read_to_string(path.join(MARKER)).unwrap();
    assert!(marker.contains(&format!("pid = {}", std::process::id())) && marker.contains("a label"), "{marker}");
    dir.verify().unwrap();
    drop(dir);
    assert_eq!(list(base.path()), [""; 0]);
}

#[test]
fn removal_covers_deep_trees_many_files_and_entries_without_permissions() {
    let base = tempfile::tempdir().unwrap();
    let dir = TestDir::create(base.path(), "").unwrap();
    let deep = (0..300).fold(dir.path().to_owned(), |path, level| path.join(format!("level-{level}")));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "x").unwrap();
    fs::create_dir(dir.path().join("wide")).unwrap();
    for i in 0..3000 {
        fs::write(dir.path().join(format!("wide/{i}")), "").unwrap();
    }
    fs::write(dir.path().join(".plumb-moved-0"), "in the way").unwrap();
    let shut = dir.path().join("shut");
    fs::create_dir(&shut).unwrap();
    fs::write(shut.join("file"), "").unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    dir.remove().unwrap();
    assert_eq!(list(base.path()), [""; 0]);
}

// Protects against leftovers of conformance tests, which set chattr flags: a directory left
// by a kill is removed nevertheless.
#[cfg(target_os = "linux")]
#[test]
fn root_removal_covers_immutable_and_append_only_entries() {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    if !is_root() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let dir = TestDir::create(base.path(), "").unwrap();
    let sub = dir.path().join("sub");
    fs::create_dir(&sub).unwrap();
    for (name, flag) in [("sub/file", IFlags::IMMUTABLE), ("sub", IFlags::APPEND), ("file", IFlags::APPEND)] {
        let path = dir.path().join(name);
        if name.ends_with("file") {
            fs::write(&path, "x").unwrap();
        }
        let file = fs::File::open(&path).unwrap();
        let Ok(flags) = ioctl_getflags(&file) else { return skipped("no flags of chattr on this file system") };
        ioctl_setflags(&file, flags | flag).unwrap();
    }
    dir.remove().unwrap();
    assert_eq!(list(base.path()), [""; 0]);
}

/// A FUSE file system over a directory, unmounted on drop. `None`, with a message, if FUSE is not available.
struct Fuse {
    mount: tempfile::TempDir,
    _source: tempfile::TempDir,
}

impl Fuse {
    fn new() -> Option<Fuse> {
        let (source, mount) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        if !run("bindfs", &[source.path().to_str().unwrap(), mount.path().to_str().unwrap()]) {
            skipped("bindfs is missing, or nothing can be mounted with FUSE here");
            return None;
        }
        Some(Fuse { mount, _source: source })
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        let mount = self.mount.path().to_str().unwrap();
        once_released(|| run("umount", &[mount]).then_some(()));
    }
}

/// Protects directories on FUSE, which keeps a removed file under another name until it is closed. The marker is such
/// a file, and so is every file that a run has just closed.
#[test]
fn a_fuse_file_system_keeps_nothing_of_a_test_directory() {
    let Some(fuse) = Fuse::new() else { return };
    for _ in 0..5 {
        let dir = TestDir::create(fuse.mount.path(), "").unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        for name in ["data", "below/data"] {
            let path = dir.path().join(name);
            fs::write(&path, [1; 1 << 20]).unwrap();
            drop(fs::File::open(&path).unwrap());
        }
        dir.remove().unwrap();
        assert_eq!(list(fuse.mount.path()), [""; 0]);
    }
}

#[test]
fn files_still_open_on_fuse_are_reported_and_the_marker_stays() {
    let Some(fuse) = Fuse::new() else { return };
    let dir = TestDir::create(fuse.mount.path(), "").unwrap();
    let path = dir.path().to_owned();
    fs::write(path.join("data"), "x").unwrap();
    let open = fs::File::open(path.join("data")).unwrap();
    let text = dir.remove().unwrap_err().to_string();
    assert!(text.contains("a program still has a file in it open"), "{text}");
    drop(open);
    once_released(|| (list(&path) == [MARKER]).then_some(()));
}

#[test]
fn removal_does_not_follow_symbolic_links() {
    let base = tempfile::tempdir().unwrap();
    let outside = base.path().join("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    let dir = TestDir::create(base.path(), "").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    for (target, link) in [("outside", "a"), ("outside/precious", "sub/b"), ("outside/sub", "sub/c"), ("/", "root")] {
        symlink(base.path().join(target), dir.path().join(link)).unwrap();
    }
    dir.remove().unwrap();
    assert_eq!(list(base.path()), ["outside"]);
    assert_eq!(list(&outside), ["precious", "sub"]);
}

#[test]
fn root_removal_does_not_enter_mounts_and_reports_leftovers() {
    if !is_root() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let outside = base.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    let tmpfs = Mounted::new(&["-t", "tmpfs", "tmpfs"]);
    fs::write(tmpfs.path().join("precious"), "x").unwrap();
    for source in [outside.as_path(), tmpfs.path()] {
        for place in ["here", "below/here"] {
            let dir = TestDir::create(base.path(), "").unwrap();
            let path = dir.path().to_owned();
            let point = path.join(place);
            fs::create_dir_all(&point).unwrap();
            fs::write(path.join("test-data"), "x").unwrap();
            assert!(run("mount", &["--bind", source.to_str().unwrap(), point.to_str().unwrap()]));
            let result = dir.remove();
            assert!(run("umount", &[point.to_str().unwrap()]), "the mount is where it was");
            let Err(TestDirError::Remove { leftovers, .. }) = result else { panic!("{result:?}") };
            assert!(leftovers[0].reason.contains("mounted"), "{leftovers:?}");
            assert_eq!(list(source), ["precious"]);
            assert!(!path.join("test-data").exists() && path.join(MARKER).exists());
            fs::remove_dir_all(&path).unwrap();
        }
    }
}

#[test]
fn a_directory_put_under_the_name_of_the_test_directory_stays() {
    let base = tempfile::tempdir().unwrap();
    let dir = TestDir::create(base.path(), "").unwrap();
    let path = dir.path().to_owned();
    fs::write(path.join("test-data"), "x").unwrap();
    fs::rename(&path, base.path().join("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("precious"), "x").unwrap();
    assert!(matches!(dir.remove(), Err(TestDirError::Remove { .. })));
    assert_eq!(list(&path), ["precious"]);
}

#[test]
fn a_worker_process_does_not_remove_its_parents_directory() {
    let base = tempfile::tempdir().unwrap();
    let mut dir = TestDir::create(base.path(), "").unwrap();
    let path = dir.path().to_owned();
    dir.owner = rustix::process::Pid::INIT;
    drop(dir);
    assert!(path.join(MARKER).exists());
}

#[test]
fn the_registry_follows_making_keeping_and_removing() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state/testdirs");
    let dirs = TestDirs::new(&state);
    let dir = dirs.create(base.path(), "").unwrap();
    assert!(dir.is_registered());
    assert_eq!(list(&state), [dir.id()]);
    dir.remove().unwrap();
    assert_eq!(list(&state), [""; 0]);

    let kept = dirs.create(base.path(), "").unwrap().keep();
    assert!(kept.join(MARKER).exists());
    let report = dirs.clean(None).unwrap();
    assert_eq!(report.living.len(), 1, "this process still lives: {report:?}");

    fs::write(base.path().join("file"), "").unwrap();
    let nowhere = TestDirs::new(base.path().join("file/testdirs"));
    assert!(!nowhere.create(base.path(), "").unwrap().is_registered());
}

const CHILD_BASE: &str = "PLUMB_TEST_CHILD_BASE";

/// Not a test of its own: the process that [`killed_child`] kills.
#[test]
fn child_that_makes_a_test_directory_and_waits() {
    let Some(base) = std::env::var_os(CHILD_BASE) else { return };
    let base = Path::new(&base);
    let dir = TestDirs::new(base.join("state")).create(base, "left behind").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("sub/file"), "x").unwrap();
    fs::write(base.join("ready"), dir.path().to_str().unwrap()).unwrap();
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn waiting_child(base: &Path) -> (Child, PathBuf) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "testdir::tests::child_that_makes_a_test_directory_and_waits", "--nocapture"])
        .env(CHILD_BASE, base)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        match fs::read_to_string(base.join("ready")) {
            Ok(path) if !path.is_empty() => return (child, path.into()),
            _ => assert!(child.try_wait().unwrap().is_none(), "the child ended"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn directories_of_killed_runs_are_cleaned_and_those_of_live_runs_kept() {
    for scan_only in [false, true] {
        let base = tempfile::tempdir().unwrap();
        let (mut child, path) = waiting_child(base.path());
        let state = base.path().join(if scan_only { "no-state" } else { "state" });
        let scan = scan_only.then_some(base.path());
        let dirs = TestDirs::new(&state);

        let report = dirs.clean(scan).unwrap();
        assert!(path.join("sub/file").exists());
        assert!(
            matches!(&report.living[..], [living] if living.pid == child.id() && living.label == "left behind"),
            "{report:?}"
        );

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(path.join("sub/file").exists(), "a kill leaves it");
        let report = dirs.clean(scan).unwrap();
        assert_eq!(
            report,
            CleanReport { removed: vec![path.canonicalize().unwrap_or(path.clone())], ..CleanReport::default() }
        );
        assert!(!path.exists());
        assert_eq!(dirs.clean(scan).unwrap(), CleanReport::default());
    }
}

/// Returns a directory as a dead process would have left it.
fn abandoned(base: &Path) -> PathBuf {
    let path = TestDir::create(base, "").unwrap().keep();
    let marker = fs::read_to_string(path.join(MARKER)).unwrap();
    let dead = marker.replace(&format!("pid = {}\n", std::process::id()), "pid = 0\n");
    fs::write(path.join(MARKER), dead).unwrap();
    let marker = fs::File::open(path.join(MARKER)).unwrap();
    once_released(|| rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).ok());
    path
}

#[test]
fn copies_renamed_and_unmarked_directories_are_not_ours() {
    let base = tempfile::tempdir().unwrap();
    let dirs = TestDirs::new(base.path().join("state"));
    let ours = abandoned(base.path());

    let elsewhere = base.path().join("copies");
    fs::create_dir(&elsewhere).unwrap();
    let copy = elsewhere.join(ours.file_name().unwrap());
    fs::create_dir(&copy).unwrap();
    fs::copy(ours.join(MARKER), copy.join(MARKER)).unwrap();
    fs::write(copy.join("precious"), "x").unwrap();

    let unmarked = base.path().join(format!("{PREFIX}mine"));
    fs::create_dir(&unmarked).unwrap();
    fs::write(unmarked.join("precious"), "x").unwrap();
    backdate(&unmarked);

    let renamed = base.path().join(format!("{PREFIX}renamed"));
    fs::rename(abandoned(base.path()), &renamed).unwrap();

    let link = base.path().join(format!("{PREFIX}link"));
    symlink(&elsewhere, &link).unwrap();

    let report = dirs.clean(Some(base.path())).unwrap();
    assert_eq!(report.removed, [ours]);
    assert_eq!(report.kept.len(), 2, "{report:?}");
    assert!(renamed.exists() && unmarked.join("precious").exists() && link.exists());

    let report = dirs.clean(Some(&elsewhere)).unwrap();
    assert_eq!((report.removed.len(), report.kept.len()), (0, 1), "{report:?}");
    assert!(copy.join("precious").exists());
}

#[test]
fn directories_under_construction_are_kept_and_abandoned_ones_removed() {
    let base = tempfile::tempdir().unwrap();
    let dirs = TestDirs::new(base.path().join("state"));
    let empty = base.path().join(format!("{PREFIX}0123"));
    fs::create_dir(&empty).unwrap();
    assert_eq!(dirs.clean(Some(base.path())).unwrap().kept.len(), 1);
    backdate(&empty);
    assert_eq!(dirs.clean(Some(base.path())).unwrap().removed, [empty]);

    let absent = base.path().join(format!("{PREFIX}4567"));
    let entry = dirs.register("4567", &absent).unwrap();
    assert_eq!(dirs.clean(None).unwrap(), CleanReport::default());
    assert!(entry.exists(), "its directory may still be created");
    backdate(&entry);
    assert_eq!(dirs.clean(None).unwrap().forgotten, [absent]);
    assert!(!entry.exists());
}

/// Protects: a kill between creating the marker and writing it, or a crash that left zeros in it, leaves a directory that
/// cleaning removes. Before, the directory stayed, and each cleaning ended with exit code 4.
#[test]
fn a_directory_with_an_unwritten_marker_goes_if_nothing_else_is_in_it() {
    let base = tempfile::tempdir().unwrap();
    let dirs = TestDirs::new(base.path().join("state"));
    let made = |id: &str, marker: &[u8], is_old: bool| {
        let path = base.path().join(format!("{PREFIX}{id}"));
        dirs.register(id, &path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join(MARKER), marker).unwrap();
        if is_old {
            backdate(&path.join(MARKER));
        }
        path
    };
    let (empty, zeros) = (made("01", b"", true), made("02", &[0; 100], true));
    let (young, held) = (made("03", b"", false), made("04", b"", true));
    let (full, other) = (made("05", b"", true), made("06", b"plumb test directory, format 2\n", true));
    fs::write(full.join("precious"), "x").unwrap();
    let lock = fs::File::open(held.join(MARKER)).unwrap();
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    for scan in [None, Some(base.path())] {
        let report = dirs.clean(scan).unwrap();
        let removed = if scan.is_none() { vec![empty.clone(), zeros.clone()] } else { vec![] };
        assert_eq!(report.removed, removed, "{report:?}");
        let kept: Vec<&Path> = report.kept.iter().map(|kept| kept.path.as_path()).collect();
        assert_eq!(kept, [&young, &held, &full, &other], "{report:?}");
    }
    assert!(full.join("precious").exists() && full.join(MARKER).exists());
}

#[test]
fn a_damaged_registry_entry_leads_nowhere() {
    let base = tempfile::tempdir().unwrap();
    let dirs = TestDirs::new(base.path().join("state"));
    let precious = base.path().join("precious");
    fs::create_dir(&precious).unwrap();
    dirs.register("4567", &precious).unwrap();
    let report = dirs.clean(None).unwrap();
    assert_eq!(report.kept.len(), 1, "{report:?}");
    assert!(precious.exists());
}
