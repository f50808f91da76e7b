use super::*;
use crate::testing::{LoopDevice, is_root, random_bytes};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

/// Ways to write an output.
type Way = (&'static str, fn(OutputFile<'_>) -> Result<(), OutputError>);

const WAYS: [Way; 6] = [
    ("create", |output| output.create().and_then(|mut file| file.write_all(b"new").map_err(output.failed()))),
    ("append", |output| output.append().and_then(|mut file| file.write_all(b"new").map_err(output.failed()))),
    ("append_all", |output| output.append_all(b"new")),
    ("write", |output| output.write(b"new")),
    ("replace", |output| output.replace(b"new")),
    ("check", |output| output.check()),
];

/// Protects the targets of planted links: before, `fs_log.txt` and similar files were opened through them.
#[test]
fn made_up_names_change_neither_targets_of_links_nor_second_names() {
    let dir = tempfile::tempdir().unwrap();
    let (victim, name) = (dir.path().join("victim"), dir.path().join("fs_log.txt"));
    for (way, write) in WAYS {
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, &name).unwrap();
        let error = write(OutputFile::made_up("the log", &name)).unwrap_err();
        assert!(matches!(error, OutputError::Link { .. }) && error.is_refusal(), "{way}: {error}");
        std::fs::remove_file(&name).unwrap();
        std::fs::hard_link(&victim, &name).unwrap();
        // A replacement is a new file.
        match write(OutputFile::made_up("the log", &name)) {
            Ok(()) => assert_eq!(way, "replace"),
            Err(error) => assert!(matches!(error, OutputError::SecondName { .. }), "{way}: {error}"),
        }
        std::fs::remove_file(&name).unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious", "{way}");
        symlink(dir.path().join("missing"), &name).unwrap();
        assert!(matches!(write(OutputFile::made_up("the log", &name)), Err(OutputError::Link { .. })), "{way}");
        assert!(!dir.path().join("missing").exists(), "{way} made the target of a dangling link");
        std::fs::remove_file(&name).unwrap();
    }
}

#[test]
fn typed_names_lead_through_links_and_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    std::fs::create_dir(&real).unwrap();
    symlink(&real, dir.path().join("link")).unwrap();
    symlink("file", real.join("to-file")).unwrap();
    let typed = dir.path().join("link/to-file");
    for (way, write) in WAYS {
        let _ = std::fs::remove_file(real.join("file"));
        write(OutputFile::named("--html", &typed)).unwrap();
        assert_eq!(real.join("file").exists(), way != "check", "{way}");
        std::fs::write(real.join("file"), "old").unwrap();
        write(OutputFile::named("--html", &typed)).unwrap();
        let expected = match way {
            "append" | "append_all" => "oldnew",
            "check" => "old",
            _ => "new",
        };
        assert_eq!(std::fs::read_to_string(real.join("file")).unwrap(), expected, "{way}");
        assert!(real.join("to-file").is_symlink(), "{way}");
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_and_nothing_is_left_next_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    std::fs::write(&path, "old").unwrap();
    set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(&path, dir.path().join("other")).unwrap();
    OutputFile::named("--html", &path).replace(b"new").unwrap();
    assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("new", 0o640));
    assert_eq!(std::fs::read_to_string(dir.path().join("other")).unwrap(), "old");
    let failing = |out: &mut dyn Write| out.write_all(b"half").and(Err(std::io::Error::other("stopped")));
    let error = OutputFile::named("--html", &path).replace_with(failing).unwrap_err();
    assert!(error.to_string().contains("--html") && error.to_string().contains("stopped"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn sinks_are_written_and_directories_refused() {
    for (way, write) in WAYS {
        write(OutputFile::named("--output", "/dev/null")).unwrap_or_else(|error| panic!("{way}: {error}"));
        let error = write(OutputFile::named("--output", "/")).unwrap_err();
        assert!(error.to_string().starts_with("--output: "), "{way}: {error}");
        let error = write(OutputFile::named("--output", "/nosuch/dir/f")).unwrap_err();
        assert!(!error.is_refusal() && error.to_string().contains("/nosuch/dir/f"), "{way}: {error}");
        let error = write(OutputFile::named("--output", "/dev/fd/987")).unwrap_err();
        assert!(matches!(error, OutputError::NoDescriptor { .. }), "{way}: {error}");
    }
    // A descriptor that this process opened itself, perhaps of its database.
    let own = tempfile::tempfile().unwrap();
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&own));
    assert!(matches!(OutputFile::named("--output", &path).create(), Err(OutputError::NoDescriptor { .. })));
}

#[test]
fn state_is_private_for_any_umask_and_older_state_becomes_private() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("a/b");
    private_directory(&state).unwrap();
    assert_eq!((mode(&state), mode(&dir.path().join("a"))), (0o700, 0o700));
    set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    private_directory(&state).unwrap();
    assert_eq!(mode(&state), 0o700);
    let file = state.join("queue");
    drop(OutputFile::made_up("the queue", &file).private().create_new().unwrap());
    assert_eq!(mode(&file), 0o600);
    set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    OutputFile::made_up("the queue", &file).private().replace(b"x").unwrap();
    assert_eq!(mode(&file), 0o600);
}

/// Protects databases: SQLite follows a link in the last component, and at best reports a planted `-wal` as its own error.
#[test]
fn databases_are_files_without_planted_side_files() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    std::fs::create_dir(&real).unwrap();
    symlink(&real, dir.path().join("link")).unwrap();
    let path = dir.path().join("link/plumb.db");
    let database = Database::at(&path).unwrap();
    assert_eq!(database.path(), real.canonicalize().unwrap().join("plumb.db"));
    database.make().unwrap();
    assert_eq!(mode(&path), 0o600);
    set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    database.make().unwrap();
    assert_eq!(mode(&path), 0o600, "a mode that came from the umask is closed");
    set_permissions(&path, Permissions::from_mode(0o660)).unwrap();
    database.make().unwrap();
    assert_eq!(mode(&path), 0o660, "a mode that the user chose stays");
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    for suffix in DATABASE_SIDE_FILES {
        let side = real.join(format!("plumb.db{suffix}"));
        symlink(&victim, &side).unwrap();
        assert!(matches!(Database::at(&path), Err(OutputError::Link { .. })), "{suffix}");
        std::fs::remove_file(&side).unwrap();
        std::fs::hard_link(&victim, &side).unwrap();
        assert!(matches!(Database::at(&path), Err(OutputError::SecondName { .. })), "{suffix}");
        std::fs::remove_file(&side).unwrap();
    }
    symlink("plumb.db", real.join("other.db")).unwrap();
    assert!(matches!(Database::at(&real.join("other.db")), Err(OutputError::Link { .. })));
    assert_eq!(Database::followed(&real.join("other.db")).unwrap(), database.path());
    assert!(Database::at(Path::new("/dev/null")).is_err());
}

/// Protects block devices, mounted or not: before, outputs overwrote them.
#[test]
fn devices_are_refused_and_unchanged() {
    if !is_root() {
        return;
    }
    let device =
        LoopDevice::made(|image| std::os::unix::fs::FileExt::write_all_at(image, &random_bytes(1 << 20), 0).unwrap());
    let path = device.path.clone();
    let before = std::fs::read(&path).unwrap();
    for (way, write) in WAYS {
        for output in [OutputFile::named("--output", &path), OutputFile::made_up("the log", &path)] {
            let error = write(output).unwrap_err();
            assert!(matches!(error, OutputError::Device { .. }) && error.is_refusal(), "{way}: {error}");
        }
    }
    assert!(Database::at(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    for (way, write) in WAYS {
        let error = write(OutputFile::named("--output", &device.image)).unwrap_err();
        assert!(error.to_string().contains("losetup -d"), "{way}: {error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
