//! Files that Plumb once made or took and that now hold a user's data, and user files that only bear a name that a tool
//! generates. Each was overwritten while a mark or a name alone was trusted.

use super::*;
use crate::testing::random_bytes;
use std::os::unix::fs::PermissionsExt;

/// Acts as one command: the files that it made or took are registered when it ends.
fn run_once(path: &Path, opening: FileOpening, write: impl FnOnce(&File)) -> PassReason {
    let guard = strict();
    let file = guard.open_file(path, opening).unwrap();
    write(file.file());
    let origin = file.origin();
    drop(file);
    guard.give_back();
    origin
}

/// Returns a file that Plumb made and filled with random bytes.
fn made_by_plumb(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    assert_eq!(run_once(&path, OVERWRITE, |file| at(file, 0, &random_bytes(40_000))), PassReason::Made);
    path
}

/// Returns a user's empty file that Plumb then filled with random bytes.
fn lent_to_plumb(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    File::create_new(&path).unwrap();
    assert_eq!(run_once(&path, OVERWRITE, |file| at(file, 0, &random_bytes(40_000))), PassReason::Blank);
    path
}

type Taken = fn(&Path, &str) -> PathBuf;

/// A change that another program makes to a file.
type Change = fn(&Path);

const TAKEN: [(&str, Taken); 2] = [("made by Plumb", made_by_plumb), ("lent to Plumb", lent_to_plumb)];

#[track_caller]
fn refused_message(path: &Path) -> String {
    let before = fs::read(path).unwrap();
    let mut last = String::new();
    for opening in [OVERWRITE, TRUNCATE] {
        let refusal = strict().open_file(path, opening).unwrap_err();
        assert!(matches!(refusal, Refusal::ExistingFile { .. }), "{refusal:?}");
        last = refusal.to_string();
        assert!(last.contains(path.to_str().unwrap()) && last.contains("PLUMB_ALLOW="), "{last}");
    }
    for naming in [Naming::Typed, Naming::Generated] {
        let mut door = strict().door(naming);
        assert!(matches!(door.open(path, Create::IfMissing), Err(Refusal::ExistingFile { .. })), "{naming:?}");
        assert!(matches!(door.remove(path), Err(Refusal::ExistingFile { .. })), "{naming:?}");
    }
    assert!(fs::read(path).unwrap() == before, "it was changed");
    last
}

/// The counterpart to the tests below: as long as only Plumb writes to a file, run after run may use it.
#[test]
fn the_next_run_writes_to_files_of_the_last_one() {
    let dir = on_disk();
    for (what, taken) in TAKEN {
        let path = taken(dir.path(), what);
        for number in 0..3 {
            fs::read(&path).unwrap();
            let reason = run_once(&path, OVERWRITE, |file| at(file, number, b"measured"));
            assert_ne!(reason, PassReason::Made, "{what}");
        }
        run_once(&path, TRUNCATE, |file| at(file, 0, b"shorter"));
        for naming in [Naming::Typed, Naming::Generated] {
            let guard = strict();
            guard.door(naming).open(&path, Create::Never).unwrap().file.write_all_at(b"more", 9000).unwrap();
            guard.give_back();
        }
        strict().door(Naming::Generated).remove(&path).unwrap();
        assert!(!path.exists());
    }
}

/// F4: `cp data disk.img` onto a file that a benchmark made. Fails if a mark suffices, because `cp` leaves it on the file.
#[test]
fn data_copied_into_a_plumb_file_is_the_users() {
    let dir = on_disk();
    let data = dir.path().join("data");
    fs::write(&data, "the only copy").unwrap();
    for (what, taken) in TAKEN {
        for (number, copy) in [vec!["cp"], vec!["cp", "-p"], vec!["cp", "--preserve=all"]].iter().enumerate() {
            let path = taken(dir.path(), &format!("{what} {number}.img"));
            let words = [&copy[1..], &[data.to_str().unwrap(), path.to_str().unwrap()]].concat();
            assert!(run(copy[0], &words));
            let message = refused_message(&path);
            assert!(message.contains("no longer as Plumb left it"), "{message}");
        }
    }
}

/// F4: `mkfs disk.img` on a file that a benchmark made.
#[test]
fn a_file_system_in_a_plumb_file_is_the_users() {
    let dir = on_disk();
    let path = made_by_plumb(dir.path(), "disk.img");
    run_once(&path, TRUNCATE, |file| file.set_len(8 * MIB).unwrap());
    if !run("mkfs.ext4", &["-q", "-F", path.to_str().unwrap()]) {
        return skipped("needs mkfs.ext4");
    }
    refused_message(&path);
}

/// F12: other data with the length and modification time that Plumb left (`touch -r`). Fails if these two are trusted.
#[test]
fn data_of_the_same_length_and_modification_time_is_the_users() {
    let dir = on_disk();
    for (what, taken) in TAKEN {
        let path = taken(dir.path(), what);
        let like = dir.path().join("like");
        assert!(run("touch", &["-r", path.to_str().unwrap(), like.to_str().unwrap()]));
        let before = fs::metadata(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        at(&file, 0, &[b'x'; 40_000]);
        drop(file);
        assert!(run("touch", &["-r", like.to_str().unwrap(), path.to_str().unwrap()]));
        let after = fs::metadata(&path).unwrap();
        assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()), "{what}");
        refused_message(&path);
    }
}

/// F12: a copy with all attributes (`cp --preserve=all`) replaces the file that Plumb left.
#[test]
fn a_copy_with_all_attributes_that_replaces_plumbs_file_is_the_users() {
    let dir = on_disk();
    for (what, taken) in TAKEN {
        let path = taken(dir.path(), what);
        let copy = dir.path().join("copy");
        assert!(run("cp", &["--preserve=all", path.to_str().unwrap(), copy.to_str().unwrap()]));
        refused_message(&copy);
        fs::rename(&copy, &path).unwrap();
        refused_message(&path);
    }
}

/// The change time also moves without a write, for example by chmod. The content then decides.
#[test]
fn after_anything_that_moves_the_change_time_the_content_decides() {
    let dir = on_disk();
    let changes: [(&str, Change); 5] = [
        ("chmod", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap()),
        ("rename", |path| {
            let other = path.with_extension("renamed");
            fs::rename(path, &other).unwrap();
            fs::rename(&other, path).unwrap();
        }),
        ("link and unlink", |path| {
            fs::hard_link(path, path.with_extension("link")).unwrap();
            fs::remove_file(path.with_extension("link")).unwrap();
        }),
        ("an attribute of a backup program", |path| {
            let _ = rustix::fs::setxattr(path, "user.backup", b"1", rustix::fs::XattrFlags::empty());
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }),
        ("touch", |path| assert!(run("touch", &[path.to_str().unwrap()]))),
    ];
    for (what, change) in changes {
        let path = made_by_plumb(dir.path(), "random");
        change(&path);
        refused_message(&path);
        fs::remove_file(&path).unwrap();
        let path = dir.path().join("stamped");
        run_once(&path, OVERWRITE, |file| test_data(file, 20));
        change(&path);
        assert_eq!(run_once(&path, OVERWRITE, |_| {}), PassReason::TestData, "{what}");
        assert_eq!(run_once(&path, OVERWRITE, |_| {}), PassReason::TestData, "{what}: registered again");
        strict().door(Naming::Typed).remove(&path).unwrap();
    }
}

/// A user may have added the second name to keep the data.
#[test]
fn a_plumb_file_with_a_second_name_is_the_users() {
    let dir = on_disk();
    for (what, taken) in TAKEN {
        let path = taken(dir.path(), what);
        fs::hard_link(&path, dir.path().join("second")).unwrap();
        let message = refused_message(&path);
        assert!(message.contains("2 names"), "{message}");
        fs::remove_file(dir.path().join("second")).unwrap();
    }
    // Also during the run.
    let guard = strict();
    let path = dir.path().join("job.0.0");
    drop(guard.door(Naming::Generated).open(&path, Create::IfMissing).unwrap());
    fs::hard_link(&path, dir.path().join("kept")).unwrap();
    fs::write(&path, "x").unwrap();
    let refused = guard.door(Naming::Generated).open(&path, Create::IfMissing);
    assert!(matches!(refused, Err(Refusal::ExistingFile { why: NotBlank::Linked { .. }, .. })), "{refused:?}");
}

/// F9: a user's file may have a name that a tool generates. Fails if every file with such a name counts as test data.
#[test]
fn a_users_file_under_a_name_that_a_tool_makes_up_is_the_users() {
    let dir = on_disk();
    for name in ["job.0.0", "test_file.0", "iozone.tmp", "Bonnie.4711", "iozone.DUMMY.0"] {
        let path = dir.path().join(name);
        fs::write(&path, "precious").unwrap();
        let message = refused_message(&path);
        assert!(message.contains("Plumb did not make it"), "{message}");
        fs::write(&path, "").unwrap();
        let passed = strict().door(Naming::Generated).open(&path, Create::IfMissing).unwrap();
        assert_eq!(passed.origin, PassReason::Blank);
    }
    fs::write(dir.path().join("real"), "precious").unwrap();
    fs::hard_link(dir.path().join("real"), dir.path().join("lk.0.0")).unwrap();
    refused_message(&dir.path().join("lk.0.0"));
    // With permission, they may be overwritten.
    let allowed = guard(Permissions::parse(&dir.path().join("job.0.0").display().to_string()));
    fs::write(dir.path().join("job.0.0"), "precious").unwrap();
    let passed = allowed.door(Naming::Generated).open(&dir.path().join("job.0.0"), Create::IfMissing).unwrap();
    assert_eq!(passed.origin, PassReason::Allowed);
}

/// Two ranks of a benchmark share a file, and the first one ends while the second is still writing.
#[test]
fn a_file_that_two_runs_share_is_known_however_they_end() {
    let dir = on_disk();
    let path = dir.path().join("shared");
    let (first, second) = (strict(), strict());
    let made = first.open_file(&path, OVERWRITE).unwrap();
    at(made.file(), 0, &random_bytes(5000));
    // The second guard must see the first one as another live process.
    let inode = Identity::from_stat(&rustix::fs::fstat(made.file()).unwrap()).inode;
    let other = Holder(Command::new("sleep").arg("60").spawn().unwrap());
    let alive = crate::mark::Mark::taken_by(crate::mark::FileOwner::Plumb, first.run, other.0.id());
    if alive.put(made.file().as_fd(), inode).is_err() {
        return skipped("this file system has no extended attributes");
    }
    let shared = second.open_file(&path, OVERWRITE).unwrap();
    assert_eq!(shared.origin(), PassReason::TestData);
    at(shared.file(), 5000, b"second");
    drop(made);
    first.give_back();
    at(shared.file(), 6000, b"second");
    drop(shared);
    assert_eq!(second.open_file(&path, OVERWRITE).unwrap().origin(), PassReason::TestData, "in its next phase");
    second.give_back();
    drop(other);
    assert_eq!(run_once(&path, OVERWRITE, |_| {}), PassReason::TestData);
}

/// A killed run registers nothing, so only the content of its files can prove that they are test data.
#[test]
fn after_a_kill_only_the_content_decides() {
    let dir = on_disk();
    for (bytes, passes) in [(random_bytes(4096), false), (testing::test_data(0, 4096), true), (vec![0; 4096], true)] {
        let path = dir.path().join("killed");
        let file = strict().open_file(&path, OVERWRITE).unwrap();
        at(file.file(), 0, &bytes);
        drop(file);
        if passes {
            assert_eq!(strict().open_file(&path, OVERWRITE).unwrap().origin(), PassReason::TestData);
        } else {
            let message = refused_message(&path);
            assert!(!has_marks(&path) || message.contains("was killed"), "{message}");
        }
        fs::remove_file(&path).unwrap();
    }
}

/// Marks from before the register only name the maker of a file. A run takes such a file over if its content
/// is test data, and registers it.
#[test]
fn files_of_earlier_versions_are_taken_over_where_their_content_is_proved() {
    let dir = on_disk();
    let path = dir.path().join("old");
    let mark = |owner: &str| {
        let inode = std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        let value = format!("{owner}, format 1, inode {inode}");
        rustix::fs::setxattr(&path, MARK, value.as_bytes(), rustix::fs::XattrFlags::empty()).is_ok()
    };
    for (owner, reason) in [("test data", PassReason::TestData), ("held nothing", PassReason::Blank)] {
        fs::write(&path, random_bytes(9000)).unwrap();
        if !mark(owner) {
            return skipped("this file system has no extended attributes");
        }
        refused_message(&path);
        fs::write(&path, testing::test_data(0, 4096)).unwrap();
        assert!(mark(owner));
        assert_eq!(run_once(&path, OVERWRITE, |file| at(file, 0, &random_bytes(9000))), reason);
        assert_eq!(run_once(&path, OVERWRITE, |_| {}), reason, "registered");
        fs::remove_file(&path).unwrap();
    }
}

fn copying<'a>(
    content: WrittenContent,
    copy_of: Option<CopySource<'a>>,
    cut_to_bytes: Option<u64>,
) -> OutputOpening<'a> {
    OutputOpening {
        creates: true,
        is_new: false,
        cut_to_bytes,
        empty_input: None,
        content,
        copy_of,
        stream_flags: rustix::fs::OFlags::empty(),
    }
}

/// Runs `dd if=INPUT of=OUTPUT`, with bytes skipped in the input and the output.
fn dd(input: &Path, output: &Path, from_bytes: u64, to_bytes: u64) -> Result<(), Refusal> {
    let (guard, file) = (strict(), File::open(input).unwrap());
    let source = CopySource { file: file.as_fd(), path: input, from_bytes, to_bytes };
    let content = match guard.holds_test_data(file.as_fd()) {
        true => WrittenContent::TestData,
        false => WrittenContent::Users,
    };
    let opening = copying(content, Some(source), Some(to_bytes));
    let opened = guard.open_output(output, opening)?;
    opened.set_len(to_bytes).unwrap();
    at(&opened, to_bytes, &fs::read(input).unwrap()[from_bytes as usize..]);
    drop((opened, file));
    guard.give_back();
    Ok(())
}

/// F4: `dd if=src of=backup.img`, then a benchmark on backup.img. Fails if the output of dd counts as test data.
#[test]
fn a_copy_of_user_data_belongs_to_the_user() {
    let dir = on_disk();
    let [src, backup] = ["src", "backup.img"].map(|name| dir.path().join(name));
    fs::write(&src, random_bytes(9_000_000)).unwrap();
    dd(&src, &backup, 0, 0).unwrap();
    refused_message(&backup);
    // Also into a file that Plumb made, and into one that was empty.
    for (what, taken) in TAKEN {
        let path = taken(dir.path(), what);
        dd(&src, &path, 0, 0).unwrap();
        refused_message(&path);
    }
    let empty = dir.path().join("empty");
    File::create(&empty).unwrap();
    dd(&src, &empty, 0, 0).unwrap();
    refused_message(&empty);
    // The source is gone: this is the only copy.
    fs::remove_file(&src).unwrap();
    refused_message(&backup);
}

/// Repeating a copy loses nothing while the source still has every byte of it. Any other write does.
#[test]
fn the_same_copy_is_made_again_only_while_the_source_has_all_of_it() {
    let dir = on_disk();
    let [src, other, backup] = ["src", "other", "backup.img"].map(|name| dir.path().join(name));
    let refused = |result: Result<(), Refusal>| {
        assert!(matches!(result, Err(Refusal::ExistingFile { .. })), "{result:?}");
    };
    fs::write(&src, random_bytes(9_000_000)).unwrap();
    for (from_bytes, to_bytes) in [(0, 0), (1000, 0), (0, 777), (5_000_001, 12_345)] {
        let _ = fs::remove_file(&backup);
        for _ in 0..2 {
            dd(&src, &backup, from_bytes, to_bytes).unwrap();
        }
        // An interrupted copy equals the source up to its end.
        File::options().write(true).open(&backup).unwrap().set_len(to_bytes + 3_000_000).unwrap();
        dd(&src, &backup, from_bytes, to_bytes).unwrap();
        refused(dd(&src, &backup, from_bytes + 1, to_bytes));
    }
    let before = fs::read(&backup).unwrap();
    fs::write(&other, &random_bytes(9_000_001)[1..]).unwrap();
    refused(dd(&other, &backup, 5_000_001, 12_345));
    // The source has changed in the middle, or lost its last byte.
    at(&File::options().write(true).open(&src).unwrap(), 7_000_000, b"changed");
    refused(dd(&src, &backup, 5_000_001, 12_345));
    let _ = fs::remove_file(&src);
    fs::write(&src, &random_bytes(9_000_000)[..8_999_999]).unwrap();
    refused(dd(&src, &backup, 5_000_001, 12_345));
    assert!(fs::read(&backup).unwrap() == before);
    // A file does not count as a copy of itself.
    let result = dd(&backup, &backup, 0, 0);
    assert!(matches!(&result, Err(Refusal::ExistingFile { .. })), "{result:?}");
}

/// A published benchmark sequence: zeros into a file, that file into another one, then everything again.
#[test]
fn copies_of_test_data_are_test_data() {
    let dir = on_disk();
    let [zeros, made, copy, second] = ["zeros", "made", "copy", "second"].map(|name| dir.path().join(name));
    for _ in 0..2 {
        let guard = strict();
        let opened = guard.open_output(&zeros, copying(WrittenContent::TestData, None, Some(0))).unwrap();
        at(&opened, 0, &[0; 100_000]);
        drop(opened);
        guard.give_back();
        run_once(&made, OVERWRITE, |file| at(file, 0, &random_bytes(50_000)));
        dd(&zeros, &copy, 0, 0).unwrap();
        dd(&made, &copy, 0, 0).unwrap();
        dd(&copy, &second, 0, 0).unwrap();
        assert_eq!(run_once(&second, OVERWRITE, |file| at(file, 0, b"measured")), PassReason::TestData);
    }
}

/// Protects against a register that another user, a full disk or a crash has altered.
#[test]
fn a_register_that_is_damaged_or_not_private_makes_no_file_expendable() {
    let dir = on_disk();
    let state = tempfile::tempdir().unwrap();
    let made = state.path().join("made");
    let guard = || Guard::new(Permissions::none(), testing::recognised).with_register(MadeFiles::new(made.clone()));
    let path = dir.path().join("file");
    let first = guard();
    at(first.open_file(&path, OVERWRITE).unwrap().file(), 0, &random_bytes(5000));
    first.give_back();
    let knows = |guard: Guard| guard.holds_test_data(File::open(&path).unwrap().as_fd());
    assert!(knows(guard()));
    let register = made.join("register");
    fs::set_permissions(&register, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!knows(guard()), "others can write to it");
    fs::set_permissions(&register, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(knows(guard()));
    let text = fs::read(&register).unwrap();
    for at in (0..text.len()).step_by(7) {
        let mut damaged = text.clone();
        damaged[at] ^= 4;
        fs::write(&register, &damaged).unwrap();
        assert!(!knows(guard()) || damaged[at].is_ascii_whitespace() || text[at].is_ascii_whitespace(), "byte {at}");
    }
    fs::remove_file(&register).unwrap();
    assert!(matches!(guard().open_file(&path, OVERWRITE), Err(Refusal::ExistingFile { .. })));
}

/// On a file system without extended attributes, the register also tracks files during a run.
#[test]
fn root_a_file_system_without_attributes_keeps_runs_apart_by_the_register() {
    if !is_root() {
        return;
    }
    let mounted = Mounted::new(&["-t", "ramfs", "ramfs"]);
    let path = mounted.path().join("file");
    let guard = strict();
    for naming in [Naming::Generated, Naming::Typed] {
        let file = guard.door(naming).open(&path, Create::IfMissing).unwrap().file;
        at(&file, 0, &random_bytes(5000));
    }
    assert!(matches!(strict().open_file(&path, OVERWRITE), Err(Refusal::ExistingFile { .. })), "it was not given back");
    guard.give_back();
    assert_eq!(run_once(&path, OVERWRITE, |file| at(file, 0, b"measured")), PassReason::TestData);
    // The clock of files ticks every few milliseconds; a changed length shows immediately.
    at(&File::options().write(true).open(&path).unwrap(), 5000, b"precious");
    refused_message(&path);
}
