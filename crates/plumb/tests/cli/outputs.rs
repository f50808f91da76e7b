//! Outputs: no option writes results onto a device, through a planted link, or into another program's database. Unless noted,
//! every test here failed before all outputs were opened by `guard/src/outputs`.

use crate::common::disks::{Loop, system};
use crate::common::{CommandOutput, Home, needs};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Returns the path of an strace recording in this repository.
fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/golden/strace_y.txt")
}

/// A fio job that writes 64 KiB.
const FIO: &str = "as fio --name=x --ioengine=psync --rw=write --size=64k --bs=4k --filename=f";

/// Command lines that write an output to `OUT`, with the exit code if that is a device. `RUN` is a stored run, `TRACE` a
/// recording. PostMark prints the error and exits with 0.
const COMMANDS: &[(&str, i32)] = &[
    ("--db OUT list", 5),
    ("--db OUT export", 5),
    ("--db OUT query SELECT", 5),
    ("--db OUT tag RUN +x", 5),
    ("export RUN --opensearch OUT", 5),
    ("report RUN --html OUT", 5),
    ("report RUN --xlsx OUT", 5),
    ("report RUN --md OUT", 5),
    ("NATIVE --output OUT", 5),
    ("NATIVE --report OUT", 5),
    ("NATIVE --stream ndjson:OUT", 2),
    ("trace show TRACE --report OUT", 5),
    ("trace convert TRACE OUT", 2),
    ("trace fit TRACE --output OUT", 2),
    ("trace record --output OUT -- true", 2),
    ("posix . --only open.eisdir --junit OUT", 5),
    ("posix . --only open.eisdir --output OUT", 5),
    ("agent --listen 127.0.0.1:0 --pid-file OUT", 5),
    ("FIO --output=OUT", 1),
    ("FIO --write_iolog=OUT", 1),
    ("as iozone -i 0 -s 64k -r 4k -f f2 -b OUT", 5),
    ("as fs_mark -d fsm -n 2 -s 0 -l OUT", 1),
    ("as elbencho -w -t 1 -s 64k -b 4k --resfile OUT f3", 1),
    ("as elbencho -w -t 1 -s 64k -b 4k --csvfile OUT f3", 1),
    ("as elbencho -w -t 1 -s 64k -b 4k --jsonfile OUT f3", 1),
    ("as zcav -b 1 -l OUT sim:ssd", 5),
    ("as postmark postmark.conf", 0),
    ("as ior -a POSIX -w -b 64k -t 4k -o f4 -O summaryFile=OUT", 255),
    ("as ior -a POSIX -w -b 64k -t 4k -o f4 -O saveRankPerformanceDetailsCSV=OUT", 255),
    ("as iperf3 -c 127.0.0.1 -p 1 --logfile OUT", 1),
    ("as iperf3 -s -1 -p 15299 --pidfile OUT", 1),
];

/// A home with a stored run, for the commands of the table.
struct Prepared {
    home: Home,
    run: String,
}

impl Prepared {
    fn new() -> Prepared {
        let home = Home::new();
        // A native run, since its report has charts.
        home.plumb(NATIVE).expect(0);
        let rows = home.query("SELECT id FROM run");
        let run = rows[0][0].as_str().unwrap().to_owned();
        Prepared { home, run }
    }

    /// Runs a command of the table with its output at `out`.
    fn write(&self, line: &str, out: &Path) -> CommandOutput {
        let postmark = format!("set number 5\nset transactions 5\nrun {}\nquit\n", out.display());
        self.home.file("postmark.conf", &postmark);
        let trace = recording();
        let line = line
            .replace("FIO", FIO)
            .replace("NATIVE", NATIVE)
            .replace("RUN", &self.run)
            .replace("TRACE", trace.to_str().unwrap());
        self.home.plumb_args(line.split(' ').map(|word| word.replace("OUT", out.to_str().unwrap())))
    }
}

/// Issue 41: all of these overwrote the device, even a mounted one, and exited with 0.
#[test]
fn no_output_is_written_onto_a_device() {
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let device = Loop::in_memory(16 << 20);
    system("mkfs.ext4", &["-q", device.device()]);
    let prepared = Prepared::new();
    let mounted = tempfile::tempdir().unwrap();
    for is_mounted in [false, true] {
        let point = mounted.path().to_str().unwrap();
        if is_mounted {
            system("mount", &["-o", "ro", device.device(), point]);
        }
        let before = std::fs::read(device.device()).unwrap();
        for (line, code) in COMMANDS {
            let printed = prepared.write(line, Path::new(device.device())).expect(*code);
            let refuses = |text: &str| printed.err.contains(text);
            assert!(refuses("is a block device") || (line.starts_with("trace") && refuses("exists")), "{printed:?}");
            assert!(std::fs::read(device.device()).unwrap() == before, "{line} changed the device");
        }
        if is_mounted {
            system("umount", &[point]);
        }
    }
}

/// Scripts redirect outputs to /dev/null, standard output and shell descriptors (process substitution). Passed before as well.
#[test]
fn sinks_and_descriptors_can_be_written() {
    let prepared = Prepared::new();
    for (line, _) in COMMANDS.iter().filter(|(line, _)| !line.starts_with("--db") && !line.starts_with("agent")) {
        // A server would wait for its client, and a recording must be a new file.
        if line.starts_with("as iperf3") || line.starts_with("trace") {
            continue;
        }
        let output = prepared.write(line, Path::new("/dev/null"));
        assert!([0, 1, 3].contains(&output.code) && !output.err.contains("/dev/null"), "{output:?}");
    }
    let output = prepared.write("report RUN --md OUT", Path::new("/dev/stdout")).expect(0);
    assert!(output.out.contains("# "), "{output:?}");
    let plumb = prepared.home.command([""; 0]);
    let script = format!(
        "\"$0\" report {} --md /dev/fd/3 3>kept >/dev/null && \"$0\" report {} --md >(cat >piped)",
        prepared.run, prepared.run
    );
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &format!("{script}; wait $!")]).arg(plumb.get_program()).current_dir(prepared.home.work());
    shell.envs(plumb.get_envs().filter_map(|(name, value)| Some((name, value?))));
    CommandOutput::run(shell).expect(0);
    for name in ["kept", "piped"] {
        let text = std::fs::read_to_string(prepared.home.work().join(name)).unwrap();
        assert!(text.contains("# "), "{name}: {text}");
    }
}

/// A report replaces an existing file atomically: hard links keep the old content, and the mode is preserved.
#[test]
fn reports_replace_files_at_once() {
    let prepared = Prepared::new();
    let (old, other) = (prepared.home.file("old.html", "old"), prepared.home.work().join("other.html"));
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(&old, &other).unwrap();
    for line in ["report RUN --html OUT", "report RUN --md OUT", "trace show TRACE --report OUT"] {
        prepared.write(line, &old).expect(0);
        assert_ne!(std::fs::read_to_string(&old).unwrap(), "old", "{line}");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "old", "{line}");
        assert_eq!(std::fs::metadata(&old).unwrap().mode() & 0o7777, 0o640, "{line}");
    }
}

/// Commands that write a file under a generated name.
const MADE_UP: &[(&str, &str)] = &[
    ("as fs_mark -d fsm -n 2 -s 0", "fs_log.txt"),
    ("FIO --write_bw_log=X", "X_bw.1.log"),
    ("FIO --write_lat_log=X", "X_clat.1.log"),
    ("FIO --write_hist_log=X --log_hist_msec=10", "X_clat_hist.1.log"),
    ("FIO --bandwidth-log", "agg-read_bw.log"),
    ("as iozone -i 0 -s 64k -r 4k -f f2 -Q", "wol.dat"),
    ("man --all .", "plumb.1"),
    ("report RUN --svg .", "CHART"),
];

/// Issue 41: `fs_log.txt`, `X_bw.1.log`, `wol.dat` and others were opened through links planted by other users.
#[test]
fn planted_links_lead_nowhere() {
    let prepared = Prepared::new();
    let work = prepared.home.work();
    prepared.write("report RUN --svg charts", &work).expect(0);
    let chart = std::fs::read_dir(work.join("charts")).unwrap().next().unwrap().unwrap().file_name();
    let victim = prepared.home.file("victim", "precious");
    for (line, name) in MADE_UP {
        let name = name.replace("CHART", chart.to_str().unwrap());
        let planted = work.join(&name);
        for target in [victim.clone(), work.join("missing")] {
            let _ = std::fs::remove_file(&planted);
            symlink(&target, &planted).unwrap();
            let output = prepared.write(line, &work);
            assert!(output.code != 0 && output.err.contains("is a symbolic link"), "{output:?}");
            assert!(!work.join("missing").exists(), "{line} made a file through {name}");
        }
        std::fs::remove_file(&planted).unwrap();
        std::fs::hard_link(&victim, &planted).unwrap();
        let _ = prepared.write(line, &work);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious", "{line}");
        std::fs::remove_file(&planted).unwrap();
        let output = prepared.write(line, &work);
        assert!([0, 3].contains(&output.code) && planted.is_file(), "{name}: {output:?}");
    }
}

/// Creates a small SQLite database like that of another program.
fn foreign(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch("CREATE TABLE bookmark (url TEXT); INSERT INTO bookmark VALUES ('x');").unwrap();
}

/// Commands that only read the database.
const READING: &[&str] = &[
    "list",
    "show last",
    "query SELECT(1)",
    "export",
    "export --csv",
    "study list",
    "report last --md out.md",
    "posix diff a b",
];

/// Issue 41: `--db EMPTYFILE list` wrote 430 KB to the file.
#[test]
fn commands_that_read_make_and_fill_no_database() {
    let home = Home::new();
    let empty = home.file("empty.db", "");
    for line in READING {
        let words = line.split(' ').map(|word| word.replace('(', " ("));
        let output = home.plumb_args(["--db", "empty.db"].into_iter().map(str::to_owned).chain(words));
        assert!([0, 2].contains(&output.code), "{output:?}");
        assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0, "{line}");
    }
    home.plumb("--db empty.db list").expect(0).expect_stdout(&["no runs are stored"]);
    let names: Vec<_> = std::fs::read_dir(home.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["empty.db"], "no side files");
    home.plumb("list").expect(0);
    assert!(
        !home.work().join("../data/plumb").exists(),
        "the user's data directory was made by a command that only reads"
    );
    // A command that measures initialises the empty file.
    CommandOutput::run(home.command(format!("--db empty.db {}", NATIVE).split(' '))).expect_measured();
    home.plumb("--db empty.db list").expect(0).expect_stdout(&["random-read"]);
}

/// A measurement in virtual time.
const NATIVE: &str = "run random-read --at sim:nvme --seed 1";

/// Another program's database and its WAL stay unchanged. Before, opening the database checkpointed the WAL.
#[test]
fn foreign_databases_are_refused() {
    let home = Home::new();
    let path = home.work().join("places.sqlite");
    foreign(&path);
    let text = home.file(
        "notes.txt",
        "precious notes, longer than the header of a database, so that it is no short file at all\n",
    );
    // Leave a WAL that has not been checkpointed.
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; INSERT INTO bookmark VALUES ('y');")
        .unwrap();
    let copy = home.work().join("copy.sqlite");
    for suffix in ["", "-wal"] {
        let of = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        std::fs::copy(of(&path), of(&copy)).unwrap();
    }
    drop(holder);
    let content = |path: &Path| std::fs::read(path).unwrap();
    let (before, log) = (content(&copy), content(&home.work().join("copy.sqlite-wal")));
    for line in ["list", "export", NATIVE] {
        home.plumb(&format!("--db copy.sqlite {line}")).expect(5).expect_stderr(&["another program's database"]);
        assert!(content(&copy) == before && content(&home.work().join("copy.sqlite-wal")) == log, "{line}");
        let notes = content(&text);
        assert_ne!(home.plumb(&format!("--db notes.txt {line}")).code, 0);
        assert_eq!(content(&text), notes, "{line}");
    }
}

/// Links planted at the names of SQLite's side files are refused; the user's own links are followed.
#[test]
fn databases_follow_only_links_of_the_user() {
    let home = Home::new();
    let victim = home.file("victim", "precious");
    for suffix in ["-wal", "-shm", "-journal"] {
        let side = home.work().join(format!("plumb.db{suffix}"));
        symlink(&victim, &side).unwrap();
        home.plumb(&format!("--db plumb.db {NATIVE}")).expect(5).expect_stderr(&["is a symbolic link"]);
        std::fs::remove_file(&side).unwrap();
    }
    // The user's data directory is a link, and so is a database named with --db.
    let data = home.work().join("../data");
    std::fs::create_dir(home.work().join("big")).unwrap();
    symlink(home.work().join("big"), data.join("plumb")).unwrap();
    CommandOutput::run(home.command(NATIVE.split(' '))).expect_measured();
    assert!(home.work().join("big/plumb.db").is_file());
    symlink("big/plumb.db", home.work().join("mine.db")).unwrap();
    home.plumb("--db mine.db list").expect(0).expect_stdout(&["random-read"]);
    // Links at the default database name are not followed.
    std::fs::rename(home.work().join("big/plumb.db"), home.work().join("moved.db")).unwrap();
    symlink(home.work().join("moved.db"), home.work().join("big/plumb.db")).unwrap();
    home.plumb("list").expect(5).expect_stderr(&["is a symbolic link"]);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
}

/// Issue 41: the umask left databases and queue files at 0644 or worse. Files of earlier versions get their modes fixed.
#[test]
fn state_is_private_whatever_the_umask() {
    let home = Home::new();
    let plumb = home.command([""; 0]);
    let script = format!("umask 0; \"$0\" {NATIVE}; \"$0\" {FIO}; true");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).arg(plumb.get_program()).current_dir(home.work());
    shell.envs(plumb.get_envs().filter_map(|(name, value)| Some((name, value?))));
    CommandOutput::run(shell).expect(0);
    let data = home.work().join("../data/plumb");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
    let check = || {
        assert_eq!(mode(&data), 0o700);
        for entry in std::fs::read_dir(&data).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        }
    };
    check();
    let queue = data.join("plumb.db-queue");
    let queued = std::fs::read_dir(&queue).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert!(!queued.is_empty(), "the short run waits in the queue");
    queued.iter().for_each(|path| assert_eq!(mode(path), 0o600, "{}", path.display()));
    // Restore the modes of earlier versions.
    let open = |path: &Path, mode: u32| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    open(&data, 0o755);
    open(&queue, 0o755);
    open(&data.join("plumb.db"), 0o644);
    queued.iter().for_each(|path| open(path, 0o644));
    let runs = home.query("SELECT count(*) FROM run");
    assert_eq!(runs[0][0], 2, "no result is lost");
    check();
}
