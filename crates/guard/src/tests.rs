//! Tests that each refusal fires, and that it does not fire in the opposite case.

use super::space::{FillHint, FillPlaces, Space, WhenFull};
use super::testing::{LoopDevice, Mounted, attach, guard, is_root, once_released, run, skipped};
use super::*;
use crate::testdir::TestDir;
use rustix::fs::OFlags;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::path::PathBuf;

const OVERWRITE: FileOpening = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes: 4096 };
const TRUNCATE: FileOpening = FileOpening { intent: Intent::Truncate, ..OVERWRITE };

fn strict() -> Guard {
    guard(Permissions::none())
}

fn allowing(text: &str) -> Guard {
    guard(Permissions::parse(text))
}

/// Returns the value of a printed setting as the program would get it from a shell.
fn value_of(setting: &str) -> String {
    let output =
        std::process::Command::new("sh").arg("-c").arg(format!("{setting}; printf %s \"$PLUMB_ALLOW\"")).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn precious(dir: &Path) -> PathBuf {
    let path = dir.join("precious data, all of it.db");
    fs::write(&path, "precious").unwrap();
    path
}

#[test]
fn an_existing_file_is_refused_untouched_and_the_printed_setting_allows_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = precious(dir.path());
    for opening in [OVERWRITE, TRUNCATE] {
        let refusal = strict().open_file(&path, opening).unwrap_err();
        assert!(matches!(refusal, Refusal::ExistingFile { .. }), "{refusal:?}");
        assert_eq!(refusal.exit_code(), 5);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
    let refusal = strict().open_file(&path, OVERWRITE).unwrap_err();
    let guard = allowing(&value_of(refusal.setting().unwrap()));
    let file = guard.open_file(&path, OVERWRITE).unwrap();
    assert_eq!(file.origin(), PassReason::Allowed);
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious", "allowed, but not truncated");
    guard.open_file(&path, TRUNCATE).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
    file.remove().unwrap();
    assert!(path.exists(), "a named file is not removed");
}

#[test]
fn allowing_one_file_allows_no_other_and_allowing_a_directory_covers_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = precious(dir.path());
    let other = dir.path().join("other");
    fs::write(&other, "").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for allowed in [&other, elsewhere.path()] {
        let guard = allowing(&allowed.display().to_string());
        assert!(matches!(guard.open_file(&path, TRUNCATE), Err(Refusal::ExistingFile { .. })));
    }
    let link = elsewhere.path().join("link");
    symlink(&path, &link).unwrap();
    let guard = allowing(&elsewhere.path().display().to_string());
    assert!(matches!(guard.open_file(&link, TRUNCATE), Err(Refusal::Symlink { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let guard = allowing(&dir.path().display().to_string());
    assert_eq!(guard.open_file(&path, TRUNCATE).unwrap().origin(), PassReason::Allowed);
}

#[test]
fn a_new_file_is_created_known_next_time_and_removed() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = dir.path().join("new");
    let first = strict();
    let file = first.open_file(&path, OVERWRITE).unwrap();
    assert_eq!(file.origin(), PassReason::Made);
    file.file().write_all_at(b"test data", 0).unwrap();
    first.give_back();
    let again = strict().open_file(&path, OVERWRITE).unwrap();
    assert_eq!(again.origin(), PassReason::TestData);
    assert_eq!(fs::read_to_string(&path).unwrap(), "test data");

    let copy = dir.path().join("copy");
    assert!(run("cp", &["--preserve=all", path.to_str().unwrap(), copy.to_str().unwrap()]));
    assert!(matches!(strict().open_file(&copy, TRUNCATE), Err(Refusal::ExistingFile { .. })), "a copy has no mark");

    again.remove().unwrap();
    assert!(!path.exists());
    file.remove().unwrap();
}

#[test]
fn a_file_is_not_removed_if_its_name_refers_to_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let file = strict().open_file(&path, OVERWRITE).unwrap();
    fs::rename(&path, dir.path().join("moved")).unwrap();
    fs::write(&path, "precious").unwrap();
    assert!(matches!(file.remove(), Err(Refusal::Swapped { .. })));
    assert!(path.exists());
}

#[test]
fn a_symbolic_link_is_refused_but_one_in_the_directory_part_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = precious(dir.path());
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    let guard = allowing(&format!("{},{}", path.display().to_string().replace(',', "\\,"), link.display()));
    assert!(matches!(guard.open_file(&link, TRUNCATE), Err(Refusal::Symlink { .. })));
    let dangling = dir.path().join("dangling");
    symlink(dir.path().join("nowhere"), &dangling).unwrap();
    assert!(matches!(guard.open_file(&dangling, TRUNCATE), Err(Refusal::Symlink { .. })));
    assert!(!dir.path().join("nowhere").exists());

    symlink(dir.path(), dir.path().join("way")).unwrap();
    guard.open_file(&dir.path().join("way/new"), OVERWRITE).unwrap();
    assert!(dir.path().join("new").exists());
}

#[test]
fn a_file_that_is_replaced_between_check_and_open_is_refused_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    let test_data = dir.path().join("test-data");
    let swaps: [(&str, &dyn Fn()); 4] = [
        ("a link for a test file", &|| {
            fs::remove_file(&test_data).unwrap();
            symlink(&victim, &test_data).unwrap();
        }),
        ("another file for a test file", &|| fs::rename(&victim, &test_data).unwrap()),
        ("nothing for a test file", &|| fs::remove_file(&test_data).unwrap()),
        ("a pipe for a test file", &|| {
            fs::remove_file(&test_data).unwrap();
            assert!(run("mkfifo", &[test_data.to_str().unwrap()]));
        }),
    ];
    let guard = allowing(&format!("{},{}", victim.display(), test_data.display()));
    for (what, swap) in swaps {
        let _ = fs::remove_file(&test_data);
        fs::write(&victim, "precious").unwrap();
        fs::write(&test_data, "test data").unwrap();
        let result = guard.open_file_while(&test_data, TRUNCATE, swap);
        assert!(matches!(result, Err(Refusal::Swapped { .. })), "{what}: {result:?}");
        let survivor = if victim.exists() { &victim } else { &test_data };
        assert_eq!(fs::read_to_string(survivor).unwrap(), "precious", "{what}");
    }
}

#[test]
fn a_file_that_appears_between_check_and_open_is_refused_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let path = precious(dir.path());
    for (name, appear) in [
        ("link", &(|absent: &Path| symlink(&path, absent).unwrap()) as &dyn Fn(&Path)),
        ("file", &|absent: &Path| fs::write(absent, "precious").unwrap()),
    ] {
        let absent = dir.path().join(name);
        let result = strict().open_file_while(&absent, TRUNCATE, || appear(&absent));
        assert!(matches!(result, Err(Refusal::Swapped { .. })), "{name}: {result:?}");
        assert_eq!(fs::read_to_string(&absent).unwrap(), "precious");
    }
}

// Protects hosts that share a file: if one creates it while the other checks, both recognise it as test data.
#[test]
fn a_file_that_another_host_creates_concurrently_is_known_to_both() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for (name, holds_on) in [("made-and-closed", false), ("made-and-held", true)] {
        let path = dir.path().join(name);
        let theirs = fs::File::create(&path).unwrap();
        if !put_mark_of_another_host(&theirs) {
            return skipped("this file system has no extended attributes");
        }
        rustix::fs::fremovexattr(&theirs, mark::MARK).unwrap();
        // Their mark comes a little later.
        let other = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            put_mark_of_another_host(&theirs);
            holds_on.then_some(theirs)
        });
        let guard = strict();
        guard.door(Naming::Typed).open(&path, Create::IfMissing).unwrap();
        let theirs = other.join().unwrap();
        let file = fs::File::open(&path).unwrap();
        assert!(guard.holds_test_data(file.as_fd()), "{name}");
        drop(theirs);
    }
    // The mark may appear between the check for it and the proof that the file is blank.
    let path = dir.path().join("made-in-between");
    let theirs = fs::File::create(&path).unwrap();
    let open = fs::File::open(dir.path()).unwrap();
    let (name, mode) = (path.file_name().unwrap(), super::pass::FILE_MODE);
    let place = super::FileLocation { dir: open.into(), name, path: &path, within: None, copy_of: None, mode };
    let stat = place.stat().unwrap().unwrap();
    let judged = place.open(&stat, OFlags::RDONLY).unwrap();
    put_mark_of_another_host(&theirs);
    drop(theirs);
    let (_, reason) = strict().take_blank(&place, &stat, judged, Intent::Overwrite).unwrap();
    assert_eq!(reason, PassReason::TestData);
    // The same file with data written after the mark: it changed during the check, and is judged again.
    let path = dir.path().join("written-in-between");
    let mut theirs = fs::File::create(&path).unwrap();
    let open = fs::File::open(dir.path()).unwrap();
    let name = path.file_name().unwrap();
    let place = super::FileLocation { dir: open.into(), name, path: &path, within: None, copy_of: None, mode };
    let stat = place.stat().unwrap().unwrap();
    let judged = place.open(&stat, OFlags::RDONLY).unwrap();
    put_mark_of_another_host(&theirs);
    std::io::Write::write_all(&mut theirs, b"data").unwrap();
    drop(theirs);
    let again = strict().take_blank(&place, &stat, judged, Intent::Overwrite).map(drop);
    assert!(matches!(again, Err(Refusal::ExistingFile { why: NotBlank::Changed, .. })), "{again:?}");
    // An unmarked file that another program has open is refused.
    let path = dir.path().join("theirs");
    let theirs = fs::File::create(&path).unwrap();
    let refused = strict().door(Naming::Typed).open(&path, Create::IfMissing).map(drop);
    assert!(matches!(refused, Err(Refusal::ExistingFile { .. })), "{refused:?}");
    drop(theirs);
}

/// Marks a file as just taken by a run on another host. Returns `false` if the file system stores no marks.
fn put_mark_of_another_host(file: &fs::File) -> bool {
    let mark = mark::Mark::taken(mark::FileOwner::Plumb, mark::RunName(1));
    let mark::Mark::Taken { maker, .. } = mark else { panic!() };
    let maker = super::maker::Maker { place: maker.place ^ 1, ..maker };
    let mark::Mark::Taken { owner, run, at_s, .. } = mark else { panic!() };
    let inode = super::path_resolution::Identity::from_stat(&rustix::fs::fstat(file).unwrap()).inode;
    mark::Mark::Taken { owner, run, maker, at_s }.put(file.as_fd(), inode).is_ok()
}

#[test]
fn anything_but_a_file_or_a_sink_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    if run("mkfifo", &[pipe.to_str().unwrap()]) {
        assert!(matches!(strict().open_file(&pipe, OVERWRITE), Err(Refusal::WrongKind { .. })));
    }
    assert!(matches!(strict().open_file(dir.path(), OVERWRITE), Err(Refusal::WrongKind { .. })));
    assert!(matches!(strict().open_file(Path::new("/"), OVERWRITE), Err(Refusal::WrongKind { .. })));
    assert!(matches!(strict().open_file(Path::new("/dev/tty"), OVERWRITE), Err(Refusal::WrongKind { .. })));
    let absent = dir.path().join("absent/file");
    assert!(matches!(strict().open_file(&absent, OVERWRITE), Err(Refusal::Io { .. })));
    assert_eq!(strict().open_file(Path::new("/dev/null"), OVERWRITE).unwrap().origin(), PassReason::Sink);
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(strict().open_device(&file, None, IoMode::Buffered), Err(Refusal::WrongKind { .. })));
}

#[test]
fn inside_a_test_directory_everything_is_test_data() {
    let base = tempfile::tempdir().unwrap();
    let dir = TestDir::create(base.path(), "guard").unwrap();
    let file = strict().open_in(&dir, Path::new("a/b/file"), OVERWRITE).unwrap();
    assert_eq!(file.origin(), PassReason::Made);
    file.file().write_all_at(b"test data", 0).unwrap();
    let again = strict().open_in(&dir, Path::new("a/b/file"), OVERWRITE).unwrap();
    assert_eq!(again.origin(), PassReason::TestData);
    assert_eq!(again.file().metadata().unwrap().len(), 9);
    let truncated = strict().open_in(&dir, Path::new("./a/b/file"), TRUNCATE).unwrap();
    assert_eq!(truncated.file().metadata().unwrap().len(), 0);
    let tree = strict().open_dir_in(&dir, Path::new("tree/of/files"), 4096).unwrap();
    assert!(tree.path().is_dir());
}

#[test]
fn no_path_leaves_a_test_directory() {
    let base = tempfile::tempdir().unwrap();
    let path = precious(base.path());
    let dir = TestDir::create(base.path(), "guard").unwrap();
    symlink(&path, dir.path().join("link")).unwrap();
    symlink(base.path(), dir.path().join("up")).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let guard = allowing(&path.display().to_string().replace(',', "\\,"));
    for bad in [path.to_str().unwrap(), &format!("../{name}"), &format!("up/{name}"), "..", "", ".plumb"] {
        let result = guard.open_in(&dir, Path::new(bad), TRUNCATE);
        assert!(matches!(result, Err(Refusal::Outside { .. })), "{bad}: {result:?}");
    }
    assert!(matches!(guard.open_in(&dir, Path::new("link"), TRUNCATE), Err(Refusal::Symlink { .. })));
    assert!(matches!(guard.open_dir_in(&dir, Path::new("up/x"), 0), Err(Refusal::Outside { .. })));
    // The file is replaced by a link during the open.
    fs::create_dir(dir.path().join("sub")).unwrap();
    strict().open_in(&dir, Path::new("sub/file"), OVERWRITE).unwrap();
    let result = guard.open_in_while(&dir, Path::new("sub/file"), TRUNCATE, || {
        fs::remove_file(dir.path().join("sub/file")).unwrap();
        symlink(&path, dir.path().join("sub/file")).unwrap();
    });
    assert!(matches!(result, Err(Refusal::Swapped { .. })), "{result:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_directory_without_its_marker_is_not_a_test_directory() {
    let base = tempfile::tempdir().unwrap();
    let dir = TestDir::create(base.path(), "guard").unwrap();
    fs::remove_file(dir.path().join(crate::testdir::MARKER)).unwrap();
    assert!(strict().open_in(&dir, Path::new("file"), OVERWRITE).is_err());
    let path = dir.path().to_owned();
    drop(dir);
    assert!(path.exists(), "it is not removed either");
}

#[test]
fn direct_io_is_switched_and_a_second_descriptor_refers_to_the_same_file() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = dir.path().join("file");
    let file = strict().open_file(&path, OVERWRITE).unwrap();
    fs::rename(&path, dir.path().join("moved")).unwrap();
    fs::write(&path, "precious").unwrap();
    match file.set_mode(IoMode::Direct) {
        Ok(()) => assert!(rustix::fs::fcntl_getfl(file.file()).unwrap().contains(OFlags::DIRECT)),
        Err(refusal) => assert!(matches!(refusal, Refusal::NoDirect { .. }), "{refusal:?}"),
    }
    file.set_mode(IoMode::Buffered).unwrap();
    assert!(!rustix::fs::fcntl_getfl(file.file()).unwrap().contains(OFlags::DIRECT));
    let again = file.again(Access::ReadWrite, IoMode::Buffered).unwrap();
    again.write_all_at(b"test data", 0).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let reader = file.again(Access::Read, IoMode::Buffered).unwrap();
    assert!(reader.write_at(b"x", 0).is_err());
    assert!(!rustix::fs::fcntl_getfl(file.file()).unwrap().contains(OFlags::NONBLOCK));
}

#[test]
fn root_a_full_file_system_is_refused_before_anything_is_made() {
    if !is_root() {
        return;
    }
    let tmpfs = Mounted::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"]);
    let path = tmpfs.path().join("file");
    let space = Space::read(fs::File::open(tmpfs.path()).unwrap()).unwrap().unwrap();
    let writing = |needed_bytes| FileOpening { needed_bytes, ..OVERWRITE };
    let refusal = strict().open_file(&path, writing(space.headroom_bytes() + 1)).unwrap_err();
    assert!(matches!(refusal, Refusal::Space { .. }), "{refusal:?}");
    assert!(!path.exists());
    let dir = TestDir::create(tmpfs.path(), "guard").unwrap();
    assert!(matches!(strict().open_in(&dir, Path::new("f"), writing(8 << 20)), Err(Refusal::Space { .. })));
    assert!(matches!(strict().open_dir_in(&dir, Path::new("d"), 8 << 20), Err(Refusal::Space { .. })));
    dir.remove().unwrap();

    // If filled up to the limit, the file may be overwritten but not grow.
    let full = space.headroom_bytes() / 4096 * 4096;
    // Another test may be starting a child, which keeps a copy of the removed marker's descriptor until it runs its
    // program. Only then does tmpfs free the marker's page.
    let first = strict();
    let file = once_released(|| match first.open_file(&path, writing(full)) {
        Err(Refusal::Space { .. }) => None,
        done => Some(done.unwrap()),
    });
    file.file().write_all_at(&vec![7; full as usize], 0).unwrap();
    first.give_back();
    assert_eq!(strict().open_file(&path, writing(full)).unwrap().origin(), PassReason::TestData);
    let more = strict().open_file(&path, writing(full + (1 << 20)));
    assert!(matches!(more, Err(Refusal::Space { .. })), "{more:?}");
}

// Protects: a file system that the system needs is never filled, and any other only with the user's permission.
#[test]
fn root_a_file_system_is_filled_only_with_permission_and_never_if_the_system_needs_it() {
    if !is_root() {
        return;
    }
    let tmpfs = Mounted::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"]);
    let filling = |at: &[&Path], never: &[&Path]| {
        let all = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
        let when_full = WhenFull::FilledAt(FillPlaces { at: all(at), never: all(never) });
        guard(Permissions { when_full, ..Permissions::none() })
    };
    let path = tmpfs.path().join("below/file");
    fs::create_dir(tmpfs.path().join("below")).unwrap();
    let admit = |guard: &Guard| guard.admit_files(std::slice::from_ref(&path), 9 << 20);
    let refused = |guard: &Guard| admit(guard).unwrap_err();
    let without = refused(&strict());
    assert!(matches!(without, Refusal::Space { fill: FillHint::None, .. }), "Plumb's own commands give no hint");
    let elsewhere = filling(&[Path::new("/dev")], &[Path::new("/")]);
    let refusal = refused(&elsewhere);
    assert_eq!(refusal.setting(), Some(format!("PLUMB_FILL=/dev,{}", tmpfs.path().display()).as_str()));
    admit(&filling(&[tmpfs.path()], &[Path::new("/")])).unwrap();
    admit(&filling(&[&tmpfs.path().join("below")], &[Path::new("/"), Path::new("/absent")])).unwrap();
    let needed = filling(&[tmpfs.path()], &[&tmpfs.path().join("below")]);
    let refusal = refused(&needed);
    assert!(matches!(refusal, Refusal::Space { fill: FillHint::Never, .. }) && refusal.setting().is_none());
    assert!(refusal.to_string().contains("is never filled"), "{refusal}");
    let mut door = needed.door(Naming::Typed);
    assert!(matches!(door.admit_filling(&path), Err(Refusal::NeverFilled { .. })));
    filling(&[], &[Path::new("/")]).door(Naming::Typed).admit_filling(&path).unwrap();
    strict().admit_files(std::slice::from_ref(&path), 1 << 20).unwrap();
}

#[test]
fn root_a_read_only_file_system_is_reported() {
    if !is_root() {
        return;
    }
    let tmpfs = Mounted::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"]);
    let existing = tmpfs.path().join("existing");
    strict().open_file(&existing, OVERWRITE).unwrap();
    let point = tmpfs.path().to_str().unwrap();
    assert!(run("mount", &["-o", "remount,ro", point]));
    for path in [&existing, &tmpfs.path().join("new")] {
        let result = strict().open_file(path, OVERWRITE);
        assert!(matches!(result, Err(Refusal::ReadOnly { .. })), "{result:?}");
    }
    let made = TestDir::create(tmpfs.path(), "guard");
    assert!(matches!(made, Err(crate::testdir::TestDirError::Refused(Refusal::ReadOnly { .. }))), "{made:?}");
    assert!(run("mount", &["-o", "remount,rw", point]));
    strict().open_file(&existing, OVERWRITE).unwrap();
}

#[test]
fn root_an_image_in_use_is_refused_even_if_named() {
    if !is_root() {
        return;
    }
    let mut device = LoopDevice::new(8 << 20);
    let guard = allowing(&device.image.display().to_string());
    let result = guard.open_file(&device.image, OVERWRITE);
    assert!(matches!(result, Err(Refusal::FileInUse { .. })), "{result:?}");
    device.detach();
    let origin = once_released(|| match guard.open_file(&device.image, OVERWRITE) {
        Err(Refusal::FileInUse { .. }) => None,
        done => Some(done.unwrap().origin()),
    });
    assert_eq!(origin, PassReason::Allowed);
}

fn open(guard: &Guard, device: &LoopDevice, serial: Option<&str>) -> Result<GuardedFile, Refusal> {
    guard.open_device(&device.path, serial, IoMode::Buffered)
}

/// Retries an open that must succeed, until no other process holds the device.
fn opens(guard: &Guard, device: &LoopDevice, serial: Option<&str>) -> PassReason {
    once_released(|| match open(guard, device, serial) {
        Err(Refusal::Held { .. }) => None,
        done => Some(done.unwrap().origin()),
    })
}

#[test]
fn root_a_device_needs_its_serial_named() {
    if !is_root() {
        return;
    }
    let device = LoopDevice::new(8 << 20);
    fs::write(&device.path, "precious").unwrap();
    let refusal = open(&strict(), &device, None).unwrap_err();
    assert!(matches!(&refusal, Refusal::Unnamed { serial, .. } if *serial == device.serial()), "{refusal:?}");
    assert_eq!(refusal.exit_code(), 5);
    let setting = value_of(refusal.setting().unwrap());
    assert_eq!(opens(&allowing(&setting), &device, None), PassReason::Device);
    assert_eq!(open(&strict(), &device, Some(&device.serial())).unwrap().origin(), PassReason::Device);

    let result = open(&strict(), &device, Some("loop:/another.img"));
    assert!(matches!(result, Err(Refusal::WrongSerial { .. })), "{result:?}");
    let by_path = allowing(device.path.to_str().unwrap());
    assert!(matches!(open(&by_path, &device, None), Err(Refusal::Unnamed { .. })), "a node's name is not a serial");
}

#[test]
fn root_a_device_with_a_signature_needs_its_serial_typed() {
    if !is_root() {
        return;
    }
    let device = LoopDevice::new(320 << 20);
    let formats: [(&str, &[&str]); 4] =
        [("mkfs.ext4", &["-q", "-F"]), ("mkfs.xfs", &["-q", "-f"]), ("mkfs.btrfs", &["-q", "-f"]), ("mkswap", &["-f"])];
    for (tool, options) in formats {
        run("wipefs", &["-a", device.path.to_str().unwrap()]);
        if !device.format(tool, options) {
            continue;
        }
        for in_file in [None, Some(device.serial())] {
            let result = open(&strict(), &device, in_file.as_deref());
            assert!(matches!(result, Err(Refusal::Signed { .. })), "{tool}: {result:?}");
        }
        let refusal = open(&strict(), &device, None).unwrap_err();
        let typed = allowing(&value_of(refusal.setting().unwrap()));
        assert_eq!(opens(&typed, &device, None), PassReason::Device, "{tool}");
    }
}

#[test]
fn root_a_mounted_device_is_refused_with_any_permission() {
    if !is_root() {
        return;
    }
    for (tool, options) in [("mkfs.ext4", ["-q", "-F"]), ("mkfs.btrfs", ["-q", "-f"])] {
        let device = LoopDevice::new(320 << 20);
        if !device.format(tool, &options) {
            continue;
        }
        let typed = guard(Permissions { allow: vec![Allow::Named(device.serial())], ..Permissions::default() });
        let mounted = Mounted::new(&[device.path.to_str().unwrap()]);
        let result = open(&typed, &device, Some(&device.serial()));
        assert!(
            matches!(&result, Err(Refusal::Mounted { mount_point, .. }) if mount_point == mounted.path()),
            "{tool}: {result:?}"
        );
        drop(mounted);
        opens(&typed, &device, None);
    }
}

#[test]
fn root_a_held_device_is_refused_with_any_permission() {
    if !is_root() {
        return;
    }
    let device = LoopDevice::new(16 << 20);
    let path = device.path.to_str().unwrap();
    let typed = guard(Permissions { allow: vec![Allow::Named(device.serial())], ..Permissions::default() });
    let held = |what: &str| {
        let result = open(&typed, &device, None);
        assert!(matches!(result, Err(Refusal::Held { .. })), "{what}: {result:?}");
    };

    let upper = attach(&device.path, &[]);
    held("a loop device over it");
    assert!(run("losetup", &["-d", upper.to_str().unwrap()]));

    let other = open(&typed, &device, None);
    held("opened exclusively by another");
    drop(other);

    if device.format("mkswap", &[]) && run("swapon", &[path]) {
        held("swap");
        assert!(run("swapoff", &[path]));
    } else {
        skipped("no swap here");
    }
    opens(&typed, &device, None);
}

#[test]
fn root_a_read_only_device_is_reported() {
    if !is_root() {
        return;
    }
    let device = LoopDevice::with(8 << 20, &["-r"]);
    let result = open(&strict(), &device, Some(&device.serial()));
    assert!(matches!(result, Err(Refusal::ReadOnly { .. })), "{result:?}");
}
