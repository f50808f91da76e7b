//! Tests against the loss of user data that the guard could mistake for nothing, and tests that it accepts blank
//! files as scripts make them.

use super::blank::Patience;
use super::mark::MARK;
use super::testing::{self, LoopDevice, Mounted, guard, is_root, once_released, run, skipped};
use super::*;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

mod made;

const OVERWRITE: FileOpening = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes: 4096 };
const TRUNCATE: FileOpening = FileOpening { intent: Intent::Truncate, ..OVERWRITE };
const MIB: u64 = 1 << 20;

/// Returns a guard without permissions.
fn strict() -> Guard {
    guard(Permissions::none())
}

/// A directory on the disk, on a file system with holes and unwritten blocks.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

type Make = fn(&File);

fn at(file: &File, offset: u64, bytes: &[u8]) {
    file.write_all_at(bytes, offset).unwrap();
}

fn zeros(file: &File, length: u64) {
    at(file, 0, &vec![0; length as usize]);
}

fn reserve(file: &File, length: u64) {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, length).unwrap();
}

/// Writes blocks of test data.
fn test_data(file: &File, count: u64) {
    for number in 0..count {
        at(file, number * 4096, &testing::test_data(number * 4096, 4096));
    }
}

/// User files, most of which look empty.
const PRECIOUS: &[(&str, Make)] = &[
    ("one byte", |file| at(file, 0, b"x")),
    ("a database of one page", |file| {
        let mut page = vec![0; 4096];
        page[..16].copy_from_slice(b"SQLite format 3\0");
        at(file, 0, &page);
    }),
    ("a machine's image, mostly holes", |file| {
        file.set_len(1 << 35).unwrap();
        at(file, 446, &[0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 64, 0]);
        at(file, 510, &[0x55, 0xaa]);
    }),
    ("a machine's image, mostly zeros", |file| {
        zeros(file, 8 * MIB);
        at(file, 5 * MIB + 1024 + 0x38, &[0x53, 0xef]);
    }),
    ("data in the middle of zeros", |file| {
        zeros(file, 8 * MIB);
        at(file, 4 * MIB + 17, b"the only copy");
    }),
    ("one byte far into a hole", |file| {
        file.set_len(1 << 40).unwrap();
        at(file, (1 << 39) + 3, b"x");
    }),
    ("the last byte of a hole", |file| at(file, (1 << 36) - 1, b"x")),
    ("data in reserved blocks", |file| {
        reserve(file, 64 * MIB);
        at(file, 40 * MIB, b"a log's last page");
    }),
    ("a byte behind reserved blocks", |file| {
        reserve(file, MIB);
        at(file, MIB, b"x");
    }),
    ("the digit 0", |file| at(file, 0, &[b'0'; 4096])),
    ("test data that somebody wrote into", |file| {
        test_data(file, 64);
        at(file, 33 * 4096 + 2000, b"mine");
    }),
    ("test data with something behind it", |file| {
        test_data(file, 64);
        at(file, 64 * 4096, b"mine");
    }),
    ("test data, of which a part is a copy of another", |file| {
        test_data(file, 2);
        let mut block = vec![0; 4096];
        file.read_exact_at(&mut block, 0).unwrap();
        at(file, 4096, &block);
    }),
];

/// Blank files as scripts make them.
const BLANK: &[(&str, Make)] = &[
    ("empty", |_| {}),
    ("a hole", |file| file.set_len(1 << 40).unwrap()),
    ("reserved blocks", |file| reserve(file, 64 * MIB)),
    ("zeros", |file| zeros(file, 9 * MIB + 7)),
    ("zeros between holes", |file| {
        file.set_len(1 << 40).unwrap();
        at(file, 1 << 38, &[0; 100_000]);
    }),
    ("test data", |file| test_data(file, 200)),
    ("test data between zeros and holes", |file| {
        test_data(file, 3);
        at(file, 5 * 4096, &[0; 8192]);
        file.set_len(1 << 33).unwrap();
    }),
];

fn made(dir: &Path, make: Make) -> PathBuf {
    let path = dir.join("file");
    let _ = fs::remove_file(&path);
    make(&File::options().read(true).write(true).create_new(true).open(&path).unwrap());
    path
}

/// Returns length, blocks and modification time of a file, and its content unless it is too long.
fn observed_state(path: &Path) -> (u64, i64, Vec<u8>) {
    use std::os::unix::fs::MetadataExt;
    let meta = path.metadata().unwrap();
    let content = if meta.len() < 64 * MIB { fs::read(path).unwrap() } else { vec![] };
    (meta.len(), meta.mtime_nsec(), content)
}

#[track_caller]
fn refused(guard: &Guard, path: &Path) -> NotBlank {
    let before = observed_state(path);
    let mut last = None;
    for opening in [OVERWRITE, TRUNCATE] {
        match guard.open_file(path, opening) {
            Err(Refusal::ExistingFile { why, .. }) => last = Some(why),
            other => panic!("{other:?}"),
        }
        assert!(observed_state(path) == before, "the file was changed");
    }
    assert!(rustix::fs::getxattr(path, MARK, &mut [0u8; 300][..]).is_err(), "the file was marked");
    last.unwrap()
}

#[track_caller]
fn passes(guard: &Guard, path: &Path) {
    let before = observed_state(path);
    assert_eq!(guard.open_file(path, OVERWRITE).unwrap().origin(), PassReason::Blank);
    assert!(observed_state(path) == before, "nothing has been written yet");
}

// Protects user data against a mistyped name.
#[test]
fn no_file_with_user_data_counts_as_blank() {
    let dir = on_disk();
    let mut places = vec![dir.path().to_owned()];
    let memory = tempfile::tempdir_in("/dev/shm");
    places.extend(memory.as_ref().ok().map(|memory| memory.path().to_owned()));
    for place in places {
        for (what, make) in PRECIOUS {
            eprintln!("{what} in {}", place.display());
            let why = refused(&strict(), &made(&place, *make));
            assert!(matches!(why, NotBlank::Data { .. }), "{what}: {why}");
        }
    }
}

#[test]
fn root_every_file_system_distinguishes_blank_files_from_data() {
    if !is_root() {
        return;
    }
    for (tool, options) in [("mkfs.ext4", ["-q", "-F"]), ("mkfs.xfs", ["-q", "-f"]), ("mkfs.btrfs", ["-q", "-f"])] {
        let device = LoopDevice::new(640 << 20);
        if !device.format(tool, &options) {
            continue;
        }
        let mounted = Mounted::new(&[device.path.to_str().unwrap()]);
        for (what, make) in PRECIOUS {
            eprintln!("{what} on {tool}");
            refused(&strict(), &made(mounted.path(), *make));
        }
        for (what, make) in BLANK {
            eprintln!("{what} on {tool}");
            passes(&strict(), &made(mounted.path(), *make));
        }
    }
}

#[test]
fn blank_files_are_written_to_and_truncated_only_on_request() {
    let dir = on_disk();
    for (what, make) in BLANK {
        eprintln!("{what}");
        let path = made(dir.path(), *make);
        passes(&strict(), &path);
        let path = made(dir.path(), *make);
        strict().open_file(&path, TRUNCATE).unwrap();
        assert_eq!(path.metadata().unwrap().len(), 0);
        strict().open_file(&path, OVERWRITE).unwrap().remove().unwrap();
        assert!(path.exists(), "the file still belongs to its owner");
    }
}

// Protects files of which only a part would be read: no file is judged by a sample.
#[test]
fn zeros_beyond_the_limit_prove_nothing() {
    let dir = on_disk();
    let path = made(dir.path(), |file| zeros(file, 4 * MIB));
    let with = |bytes_max| Guard { patience: Patience { bytes_max, ..Patience::default() }, ..strict() };
    let why = refused(&with(4 * MIB - 4096), &path);
    assert!(matches!(why, NotBlank::TooLarge { .. }), "{why}");
    passes(&with(4 * MIB), &path);
}

#[test]
fn an_empty_file_with_a_second_name_is_the_users() {
    let dir = on_disk();
    let path = made(dir.path(), |_| {});
    fs::hard_link(&path, dir.path().join("second")).unwrap();
    let why = refused(&strict(), &path);
    assert!(matches!(why, NotBlank::Linked { count: 2 }), "{why}");
    fs::remove_file(dir.path().join("second")).unwrap();
    passes(&strict(), &path);
}

struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn holder(file: File) -> Holder {
    Holder(Command::new("sleep").arg("60").stdin(Stdio::from(file)).spawn().unwrap())
}

// Protects logs, downloads and lock files that are empty now and about to be written.
#[test]
fn an_empty_file_that_a_program_has_open_or_mapped_is_refused() {
    let dir = on_disk();
    let path = made(dir.path(), |_| {});
    for open in [File::open(&path), File::options().append(true).open(&path)] {
        let _holder = holder(open.unwrap());
        let why = refused(&strict(), &path).to_string();
        assert!(why.contains("(sleep) has it open"), "{why}");
    }
    let path = made(dir.path(), |file| file.set_len(8192).unwrap());
    let script = "import mmap,os,sys,time\nf=os.open(sys.argv[1],os.O_RDWR)\nm=mmap.mmap(f,8192)\nos.close(f)\n\
                  print('mapped',flush=True)\ntime.sleep(60)";
    let child = Command::new("python3").args(["-c", script]).arg(&path).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return skipped("needs python3, to map a file") };
    let mut message = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut message).unwrap();
    let holder = Holder(child);
    let why = refused(&strict(), &path).to_string();
    assert!(why.contains("(python3") && why.contains("has it open"), "{why}");
    drop(holder);
    passes(&strict(), &path);
}

#[test]
fn another_users_file_is_refused_if_its_users_cannot_be_seen() {
    if !is_root() {
        return;
    }
    // Asks again as an ordinary user, who gets no lease on another user's file.
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let path = made(dir.path(), |file| zeros(file, 8192));
    for path in [dir.path(), &path] {
        run("chmod", &["a+rwx", path.to_str().unwrap()]);
    }
    let test = "disasters::child_that_asks_for_a_file";
    let ask = |owner: &str| {
        assert!(run("chown", &[owner, path.to_str().unwrap()]));
        let exe = dir.path().join("exe");
        fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&exe)
            .args(["--exact", test, "--nocapture"])
            .env(CHILD_FILE, &path)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    if !run("setpriv", &["--reuid=65534", "true"]) {
        return skipped("needs setpriv");
    }
    let message = ask("0");
    assert!(message.contains("only its owner and root can know"), "{message}");
    assert!(ask("65534").contains("passed: Blank"));
    run("setfattr", &["-x", MARK, path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    File::create_new(&path).unwrap();
    run("chmod", &["a+rw", path.to_str().unwrap()]);
    assert!(ask("0").contains("passed: Blank"), "an empty file has nothing to lose");
}

const CHILD_FILE: &str = "PLUMB_TEST_CHILD_FILE";

/// Not a test of its own: asks for a file as another user.
#[test]
fn child_that_asks_for_a_file() {
    let Some(path) = std::env::var_os(CHILD_FILE) else { return };
    match strict().open_file(Path::new(&path), OVERWRITE) {
        Ok(file) => eprintln!("passed: {:?}", file.origin()),
        Err(refusal) => eprintln!("{refusal}"),
    }
}

#[test]
fn root_swap_space_and_the_image_of_a_loop_device_are_in_use() {
    if !is_root() {
        return;
    }
    let device = LoopDevice::new(8 * MIB);
    for opening in [OVERWRITE, TRUNCATE] {
        let result = strict().open_file(&device.image, opening);
        assert!(matches!(result, Err(Refusal::FileInUse { .. })), "{result:?}");
    }
    let dir = on_disk();
    let path = made(dir.path(), |file| zeros(file, 4 * MIB));
    let name = path.to_str().unwrap();
    if !(run("chmod", &["600", name]) && run("mkswap", &[name]) && run("swapon", &[name])) {
        return skipped("no swap files here");
    }
    let result = strict().open_file(&path, OVERWRITE);
    let named = guard(Permissions::parse(name)).open_file(&path, OVERWRITE);
    assert!(run("swapoff", &[name]));
    // Its signature is data, so the check stops there.
    assert!(matches!(result, Err(Refusal::ExistingFile { .. } | Refusal::FileInUse { .. })), "{result:?}");
    // The kernel refuses too, if it is asked first.
    let busy = libc::ETXTBSY;
    assert!(
        matches!(&named, Err(Refusal::FileInUse { .. }))
            || matches!(&named, Err(refusal @ Refusal::Io { .. }) if refusal.errno() == busy),
        "{named:?}"
    );
}

// Protects against changes between the check of a name and the first write: the descriptor that is written is
// the one that was checked.
#[test]
fn a_file_that_is_filled_or_replaced_after_the_check_is_the_users() {
    let dir = on_disk();
    for (what, make) in BLANK {
        for opening in [OVERWRITE, TRUNCATE] {
            eprintln!("{what}: {opening:?}");
            let path = made(dir.path(), *make);
            let filled = strict().open_file_while(&path, opening, || {
                at(&File::options().write(true).open(&path).unwrap(), 5000, b"precious");
            });
            assert!(matches!(&filled, Err(Refusal::ExistingFile { why: NotBlank::Data { .. }, .. })), "{filled:?}");
            let mut read = [0; 8];
            File::open(&path).unwrap().read_exact_at(&mut read, 5000).unwrap();
            assert_eq!(&read, b"precious");

            let path = made(dir.path(), *make);
            let other = dir.path().join("other");
            fs::write(&other, "precious").unwrap();
            let exchanged = strict().open_file_while(&path, opening, || fs::rename(&other, &path).unwrap());
            assert!(matches!(exchanged, Err(Refusal::Swapped { .. })), "{exchanged:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "precious");

            let path = made(dir.path(), *make);
            let second = dir.path().join("second");
            let linked = strict().open_file_while(&path, opening, || fs::hard_link(&path, &second).unwrap());
            fs::remove_file(&second).unwrap();
            assert!(matches!(&linked, Err(Refusal::ExistingFile { why: NotBlank::Linked { .. }, .. })), "{linked:?}");
        }
    }
}

// Protects a file that a run left and its owner fills at the moment when the next run begins.
#[test]
fn a_file_that_is_filled_after_the_check_of_a_runs_mark_is_the_users() {
    let dir = on_disk();
    let path = made(dir.path(), |_| {});
    if !has_marks(&path) {
        return;
    }
    let guard = strict();
    guard.open_file(&path, OVERWRITE).unwrap().file().write_all_at(b"measured", 0).unwrap();
    guard.give_back();
    // Lets the file system's clock advance.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let filled = strict().open_file_while(&path, TRUNCATE, || {
        at(&File::options().write(true).open(&path).unwrap(), 0, b"precious");
    });
    assert!(matches!(&filled, Err(Refusal::ExistingFile { why: NotBlank::Data { .. }, .. })), "{filled:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

fn has_marks(path: &Path) -> bool {
    let has = rustix::fs::setxattr(path, "user.try", b"x", rustix::fs::XattrFlags::empty()).is_ok();
    if !has {
        skipped("this file system has no extended attributes");
    }
    has
}

// Protects a file that its owner fills after a benchmark: repeating the same command must not destroy it.
#[test]
fn a_blank_file_is_known_until_another_program_writes_to_it() {
    let dir = on_disk();
    let path = made(dir.path(), |_| {});
    if !has_marks(&path) {
        return;
    }
    let first = strict();
    first.open_file(&path, OVERWRITE).unwrap().file().write_all_at(b"measured", 0).unwrap();
    // Another worker of the run, and another run.
    assert_eq!(first.open_file(&path, OVERWRITE).unwrap().origin(), PassReason::Blank);
    first.give_back();
    for _ in 0..2 {
        let guard = strict();
        let file = guard.open_file(&path, OVERWRITE).unwrap();
        assert_eq!(file.origin(), PassReason::Blank);
        file.file().write_all_at(b"measured again", 0).unwrap();
        drop(file);
        guard.give_back();
    }
    // Reading the file changes nothing.
    fs::read(&path).unwrap();
    passes_again(&path);
    // Writes in place, as a database or a hypervisor does.
    let file = File::options().write(true).open(&path).unwrap();
    at(&file, 0, b"precious");
    drop(file);
    let result = strict().open_file(&path, TRUNCATE);
    assert!(matches!(&result, Err(Refusal::ExistingFile { why: NotBlank::Data { .. }, .. })), "{result:?}");
    assert!(fs::read(&path).unwrap().starts_with(b"precious"));
}

// Protects data that an owner writes to a file that a tool, such as IOzone, removed and recreated.
#[test]
fn a_file_that_replaces_a_lent_one_is_its_owners_too() {
    let dir = on_disk();
    let path = made(dir.path(), |_| {});
    if !has_marks(&path) {
        return;
    }
    let guard = strict();
    drop(guard.open_file(&path, OVERWRITE).unwrap());
    // Kept open, so that the new file cannot reuse its inode number.
    let _old = File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let new = File::create_new(&path).unwrap();
    guard.take_lent(new.as_fd(), &path);
    at(&new, 0, b"measured");
    drop(new);
    guard.give_back();
    passes_again(&path);
    // Lets the file system's clock advance.
    std::thread::sleep(std::time::Duration::from_millis(50));
    at(&File::options().write(true).open(&path).unwrap(), 0, b"precious");
    let result = strict().open_file(&path, TRUNCATE);
    assert!(matches!(&result, Err(Refusal::ExistingFile { why: NotBlank::Data { .. }, .. })), "{result:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[track_caller]
fn passes_again(path: &Path) {
    let guard = strict();
    assert_eq!(guard.open_file(path, OVERWRITE).unwrap().origin(), PassReason::Blank);
    guard.give_back();
}

#[test]
fn a_file_that_a_killed_run_had_taken_must_be_named() {
    let dir = on_disk();
    let path = made(dir.path(), |file| at(file, 0, b"half of a run"));
    if !has_marks(&path) {
        return;
    }
    let inode = std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let lent = format!("held nothing, format 1, inode {inode}, lent to 00112233445566ff");
    rustix::fs::setxattr(&path, MARK, lent.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
    let result = strict().open_file(&path, OVERWRITE);
    assert!(matches!(result, Err(Refusal::ExistingFile { .. })), "{result:?}");
}

#[test]
fn a_copy_of_a_file_that_was_taken_is_its_owners() {
    let dir = on_disk();
    let path = made(dir.path(), |_| {});
    let guard = strict();
    guard.open_file(&path, OVERWRITE).unwrap().file().write_all_at(b"measured", 0).unwrap();
    guard.give_back();
    let copy = dir.path().join("copy");
    assert!(run("cp", &["--preserve=all", path.to_str().unwrap(), copy.to_str().unwrap()]));
    assert!(matches!(strict().open_file(&copy, OVERWRITE), Err(Refusal::ExistingFile { .. })));
}

fn open(guard: &Guard, device: &LoopDevice) -> Result<PassReason, Refusal> {
    once_released(|| match guard.open_device(&device.path, None, IoMode::Buffered) {
        Err(Refusal::Held { .. }) => None,
        done => Some(done.map(|file| file.origin())),
    })
}

#[test]
fn root_a_loop_device_is_blank_where_its_image_is_and_only_then() {
    if !is_root() {
        return;
    }
    for (what, make) in BLANK.iter().filter(|(what, _)| *what != "empty") {
        let device = LoopDevice::made(|file| {
            make(file);
            file.set_len(file.metadata().unwrap().len().next_multiple_of(4096).min(1 << 30)).unwrap();
        });
        assert_eq!(open(&strict(), &device).unwrap(), PassReason::Device, "{what}");
    }
    let device = LoopDevice::new(8 * MIB);
    fs::hard_link(&device.image, device.image.with_extension("second")).unwrap();
    assert!(matches!(open(&strict(), &device), Err(Refusal::Unnamed { .. })), "a second name");
    fs::remove_file(device.image.with_extension("second")).unwrap();
    {
        let _holder = holder(File::open(&device.image).unwrap());
        assert!(matches!(open(&strict(), &device), Err(Refusal::Unnamed { .. })), "image open elsewhere");
    }
    {
        let _holder = holder(File::open(&device.path).unwrap());
        assert!(matches!(open(&strict(), &device), Err(Refusal::Unnamed { .. })), "device open elsewhere");
    }
    assert_eq!(open(&strict(), &device).unwrap(), PassReason::Device);
}

// Protects a disk image that its owner used between two benchmarks, even through its loop device.
#[test]
fn root_a_loop_device_is_known_until_another_program_writes_to_it() {
    if !is_root() {
        return;
    }
    let device = LoopDevice::new(32 * MIB);
    if !has_marks(&device.image) {
        return;
    }
    let measured = |guard: &Guard| {
        let file = once_released(|| match guard.open_device(&device.path, None, IoMode::Buffered) {
            Err(Refusal::Held { .. }) => None,
            done => Some(done.unwrap()),
        });
        file.file().write_all_at(&[7; 4096], 8192).unwrap();
        drop(file);
        guard.give_back();
    };
    measured(&strict());
    measured(&strict());
    // Data that is only in the device's cache counts too.
    let file = File::options().write(true).open(&device.path).unwrap();
    at(&file, MIB, b"precious");
    drop(file);
    assert!(matches!(open(&strict(), &device), Err(Refusal::Unnamed { .. })));
    if device.format("mkfs.ext4", &["-q", "-F"]) {
        assert!(matches!(open(&strict(), &device), Err(Refusal::Signed { .. })));
    }
}

#[test]
fn an_input_without_content_takes_nothing_from_anybody_who_was_not_named() {
    let dir = on_disk();
    let empty = Path::new("/dev/null");
    let to = |cut_to_bytes: u64, empty_input: Option<&'static str>| OutputOpening {
        creates: true,
        is_new: false,
        cut_to_bytes: Some(cut_to_bytes),
        empty_input: empty_input.map(Path::new),
        content: WrittenContent::TestData,
        copy_of: None,
        stream_flags: rustix::fs::OFlags::empty(),
    };
    let path = dir.path().join("testfile");
    let output = |guard: &Guard, opening| guard.open_output(&path, opening);
    // Plumb made the file, and it contains only zeros.
    output(&strict(), to(0, None)).unwrap().write_all_at(&[0; 8192], 0).unwrap();
    for cut_to_bytes in [0, 4096, 8191] {
        let result = output(&strict(), to(cut_to_bytes, Some("/dev/null")));
        assert!(matches!(&result, Err(Refusal::Exchanged { input, .. }) if input == empty), "{result:?}");
        assert_eq!(path.metadata().unwrap().len(), 8192);
    }
    output(&strict(), to(8192, Some("/dev/null"))).unwrap();
    let beside = guard(Permissions::parse(&dir.path().display().to_string()));
    assert!(
        matches!(output(&beside, to(0, Some("/dev/null"))), Err(Refusal::Exchanged { .. })),
        "only the file's name"
    );
    assert_eq!(path.metadata().unwrap().len(), 8192);
    let named = guard(Permissions::parse(&path.display().to_string()));
    output(&named, to(0, Some("/dev/null"))).unwrap();
    assert_eq!(path.metadata().unwrap().len(), 0);
    // With a non-empty input, the file is recreated as before.
    let again = strict();
    output(&again, to(0, None)).unwrap().write_all_at(&[1; 8192], 0).unwrap();
    again.give_back();
    output(&strict(), to(0, None)).unwrap();
    assert_eq!(path.metadata().unwrap().len(), 0);
    // A hole counts as nothing.
    File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    output(&strict(), to(0, Some("/dev/null"))).unwrap();
    assert_eq!(path.metadata().unwrap().len(), 0);
}
