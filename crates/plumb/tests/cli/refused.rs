//! The write guard through `plumb run`: exit code 5, and the exact setting that would allow the write. Devices, which
//! need root, are covered by the storage tests.

use crate::common::{CommandOutput, Home, assert_no_test_data, needs};
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Returns a workload that writes 1 MiB over a file.
pub(crate) fn workload(path: &Path) -> String {
    format!(
        "name = \"over\"\n[target.data.file]\npath = {:?}\nsize = \"1MiB\"\n[[phase]]\nname = \"write\"\n[[phase.workers]]\n\
         target = \"data\"\nwork.blocks.block = \"64KiB\"\nwork.blocks.mix.write = 100\n",
        path.to_str().unwrap()
    )
}

/// Returns the setting that a refusal prints, `PLUMB_ALLOW=…`, split like a shell.
#[track_caller]
pub(crate) fn printed_setting(printed: &CommandOutput) -> String {
    let after = printed.err.split("PLUMB_ALLOW=").nth(1).unwrap_or_else(|| panic!("no setting in: {}", printed.err));
    let script = format!("PLUMB_ALLOW={} ; printf %s \"$PLUMB_ALLOW\"", after.split([' ', ')', '\n']).next().unwrap());
    let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_existing_file_is_refused_until_it_is_named() {
    let home = Home::new();
    let precious = home.file("precious", "x");
    home.file("over.toml", &workload(&precious));
    let refused = home.plumb("run over.toml").expect(5).expect_stderr(&["precious exists, and Plumb did not make it"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");
    assert_no_test_data(&home.work());
    // Naming something else does not help.
    home.plumb("run over.toml --plumb-allow elsewhere").expect(5);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");

    let setting = printed_setting(&refused);
    assert_eq!(Path::new(&setting), precious);
    let mut allowed = home.command(["run", "over.toml"]);
    allowed.env("PLUMB_ALLOW", &setting);
    CommandOutput::run(allowed).expect_measured();
    assert_eq!(std::fs::metadata(&precious).unwrap().len(), 1 << 20);
    home.plumb_args(["run", "over.toml", "--plumb-allow", &setting]).expect_measured();
}

/// Plumb may overwrite a file that it made, which is test data, but not a copy of it.
#[test]
fn a_file_that_plumb_made_may_be_written_again() {
    let home = Home::new();
    let path = home.work().join("made");
    home.file("over.toml", &workload(&path));
    home.plumb("run over.toml").expect_measured();
    let has_marks =
        std::process::Command::new("cp").arg("--preserve=all").args([&path, &home.work().join("copy")]).status();
    let again = home.plumb("run over.toml");
    if again.code == 5 {
        return eprintln!("SKIPPED: this file system has no extended attributes of users");
    }
    again.expect_measured();
    if has_marks.is_ok_and(|status| status.success()) {
        home.file("over.toml", &workload(&home.work().join("copy")));
        home.plumb("run over.toml").expect(5);
    }
}

#[test]
fn links_and_directories_are_refused() {
    let home = Home::new();
    let precious = home.file("precious", "x");
    let link = home.work().join("link");
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    home.file("over.toml", &workload(&link));
    home.plumb("run over.toml").expect(5).expect_stderr(&["is a symbolic link"]);
    home.file("over.toml", &workload(&home.work()));
    home.plumb("run over.toml").expect(5).expect_stderr(&["a directory"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");
}

/// A relative path in a workload stays inside the test directory.
#[test]
fn a_relative_path_does_not_leave_the_test_directory() {
    let home = Home::new();
    home.file("precious", "x");
    home.file("over.toml", &workload(Path::new("../precious")));
    let output = home.plumb("run over.toml");
    assert!([2, 5].contains(&output.code), "{output:?}");
    assert_eq!(std::fs::read_to_string(home.work().join("precious")).unwrap(), "x");
    assert_no_test_data(&home.work());
}

/// Reading an existing file needs no permission and does not change it.
#[test]
fn reading_an_existing_file_is_allowed() {
    let home = Home::new();
    let path = home.file("mine", &"x".repeat(1 << 20));
    home.file("read.toml", &workload(&path).replace("work.blocks.mix.write = 100", "").replace("size = \"1MiB\"", ""));
    home.plumb("run read.toml").expect_measured();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "x".repeat(1 << 20));
}

/// Every path into the guard, each with a file named `f`: native, a job, a copy, a program.
const WRITERS: &[&str] = &[
    "run over.toml",
    "as fio --output=out --name=m --filename=f --rw=write --size=1m",
    "as fio --output=out --name=m --filename=f --rw=randrw --size=1m --numjobs=2",
    "as dd if=source of=f bs=4k",
    "as iozone -s 64k -r 4k -i 0 -w -f f",
];

/// Creates a new file of one kind.
type Make = fn(&File);

/// Empty files that scripts create before writing to them.
const BLANK: &[(&str, Make)] = &[
    ("mktemp", |_| {}),
    ("truncate", |file| file.set_len(1 << 20).unwrap()),
    ("fallocate", |file| {
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
    }),
    ("zeros", |file| file.write_all_at(&vec![0; 1 << 20], 0).unwrap()),
];

/// Protects scripts: a tool may write repeatedly to a given file that contains no data. Data that its owner puts into
/// it afterwards is protected.
#[test]
fn what_scripts_make_is_written_to_until_its_owner_fills_it() {
    let home = Home::new();
    home.file("source", &"x".repeat(8192));
    let path = home.work().join("f");
    home.file("over.toml", &workload(&path));
    for writer in WRITERS {
        for (what, make) in BLANK {
            let _ = std::fs::remove_file(&path);
            make(&File::create_new(&path).unwrap());
            for _ in 0..2 {
                let output = home.plumb(writer);
                assert!([0, 3].contains(&output.code), "{what}: {output:?}");
            }
            assert!(path.exists(), "{what}: {writer}");
        }
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(b"precious", 100).unwrap();
        drop(file);
        let before = std::fs::read(&path).unwrap();
        let output = home.plumb(writer);
        assert!(![0, 3].contains(&output.code) && output.err.contains("PLUMB_ALLOW="), "{output:?}");
        assert!(std::fs::read(&path).unwrap() == before, "{writer}");
    }
}

/// fio extends a file that is shorter than the range to read, which is a write.
#[test]
fn a_read_that_extends_a_file_is_writing() {
    let home = Home::new();
    let read = "as fio --output=out --name=m --filename=f --rw=read --size=1m";
    home.file("f", &"\0".repeat(4096));
    home.plumb(read).expect(0);
    assert_eq!(home.work().join("f").metadata().unwrap().len(), 1 << 20);
    home.file("f", "precious");
    home.plumb(read).expect(1).expect_stderr(&["it holds data, first at byte 0", "PLUMB_ALLOW="]);
    assert_eq!(std::fs::read_to_string(home.work().join("f")).unwrap(), "precious");
}

/// A file with fio's headers throughout is test data; other tools' content cannot be distinguished from user data.
#[test]
fn a_file_that_fio_stamped_throughout_is_test_data() {
    if !needs::tools(&["fio"]) {
        return;
    }
    let home = Home::new();
    let theirs = |words: &str| {
        let line = format!("--output=theirs --name=v --filename=f --size=1m --do_verify=0 {words}");
        let ran = std::process::Command::new("fio").args(line.split(' ')).current_dir(home.work()).status();
        assert!(ran.unwrap().success(), "{words}");
    };
    let ours = || home.plumb("as fio --output=ours --name=m --filename=f --rw=write --size=1m");
    let path = home.work().join("f");
    for words in [
        "--rw=write --verify=crc32c",
        "--rw=randwrite --verify=md5 --io_size=256k",
        "--rw=write --bs=64k --verify=crc7",
        "--rw=write --bs=64k --verify=sha512",
        "--rw=write --bs=256k --verify=meta --verify_interval=4k",
        "--rw=randwrite --bs=64k --verify=crc16 --verify_interval=512",
        "--rw=randwrite --norandommap --bsrange=4k-64k --io_size=2m --verify=meta",
    ] {
        theirs(words);
        ours().expect(0);
        std::fs::remove_file(&path).unwrap();
        theirs(words);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        let at = (0..1 << 20).step_by(4096).map(|at| at + 2000).find(|&at| {
            file.read_exact_at(&mut byte, at).unwrap();
            byte != [0]
        });
        file.write_all_at(&[byte[0] ^ 1], at.unwrap()).unwrap();
        drop(file);
        ours().expect(1).expect_stderr(&["it holds data, first at byte"]);
        std::fs::remove_file(&path).unwrap();
    }
    theirs("--rw=write");
    ours().expect(1);
}

/// Protects users with more zeros than the guard reads: a part does not decide.
#[test]
fn more_than_a_gibibyte_of_zeros_is_somebodys() {
    const GIB: u64 = 1 << 30;
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    if room < 2 * GIB {
        return needs::not_shown("needs 2 GiB in /dev/shm; the guard's own tests lower the limit");
    }
    let (home, dir) = (Home::new(), tempfile::tempdir_in(memory).unwrap());
    let path = dir.path().join("zeros");
    let file = File::create_new(&path).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..1024).for_each(|mebibyte| file.write_all_at(&zeros, mebibyte << 20).unwrap());
    file.write_all_at(&[0], GIB).unwrap();
    drop(file);
    let line = format!("as fio --output=out --name=m --filename={} --rw=randwrite --size=1m", path.display());
    home.plumb(&line).expect(1).expect_stderr(&["more than the 1024 MiB that are searched for data"]);
    File::options().write(true).open(&path).unwrap().set_len(GIB).unwrap();
    home.plumb(&line).expect(0);
}

#[test]
fn a_directory_that_is_allowed_covers_what_lies_in_it_and_nothing_else() {
    let home = Home::new();
    for name in ["named/deep", "outside"] {
        std::fs::create_dir_all(home.work().join(name)).unwrap();
    }
    let (inside, outside) = (home.file("named/deep/f", "old"), home.file("outside/f", "precious"));
    std::os::unix::fs::symlink(home.work().join("outside"), home.work().join("named/link")).unwrap();
    std::fs::hard_link(&outside, home.work().join("named/second")).unwrap();
    let write = |path: &str, allow: &str| {
        let line = format!("as fio --output=out --name=m --filename={path} --rw=write --size=64k");
        let mut command = home.command(line.split(' '));
        command.env("PLUMB_ALLOW", allow);
        CommandOutput::run(command).code
    };
    let named = home.work().join("named");
    let named = named.to_str().unwrap();
    for path in ["outside/f", "named/link/f", "named/second"] {
        assert_eq!(write(path, named), 1, "{path}");
    }
    assert_eq!(write("named/deep/f", "/"), 1);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(&inside).unwrap(), "old");
    assert_eq!((write("named/deep/f", named), inside.metadata().unwrap().len()), (0, 64 << 10));
    std::fs::write(&inside, "old").unwrap();
    assert_eq!(write("named/deep/f", "named"), 0, "by its name in the working directory");
}

/// Returns the configuration file of a home.
fn configured(home: &Home, text: &str) -> PathBuf {
    let directory = home.work().parent().unwrap().join("config/plumb");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = directory.join("config.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    path
}

#[test]
fn the_configuration_file_allows_for_good_and_only_where_nobody_else_could_have_written_it() {
    let home = Home::new();
    let path = home.file("f", "old");
    home.file("over.toml", &workload(&path));
    home.plumb("run over.toml").expect(5);
    let config = configured(&home, &format!("allow = [{:?}]\n", home.work()));
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o664)).unwrap();
    let ignored = ["config.toml is ignored: others can write to ", "exists, and Plumb did not make it"];
    let output = home.plumb("run over.toml").expect(5).expect_stderr(&ignored);
    assert_eq!(output.err.matches("is ignored").count(), 1, "{}", output.err);
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o644)).unwrap();
    for line in ["run over.toml", "as fio --output=out --name=m --filename=f --rw=write --size=64k"] {
        std::fs::write(&path, "old").unwrap();
        home.plumb(line).expect_measured();
    }
    // A bare word is a serial number, never a relative file name.
    std::fs::write(&path, "old").unwrap();
    configured(&home, "allow = [\"f\"]\n");
    home.plumb("run over.toml").expect(5);
    configured(&home, "allow = [\n  \"./f\",\n]\n");
    for line in ["run over.toml", "as dd if=over.toml of=f", "as iozone -s 64k -i 0 -f f"] {
        home.plumb(line).expect(2).expect_stderr(&["absolute path", "config.toml:2:3"]);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    // Commands that only read the store do not need it.
    home.plumb("list").expect(0);
}
