//! Results that the database does not accept are not lost: they go to a file, which `plumb import` reads.

use crate::common::disks::system;
use crate::common::needs::root_and;
use crate::common::{CommandOutput, Home, wait_until};
use std::path::{Path, PathBuf};
use std::process::Child;

/// Returns the results that were saved to files in a directory.
fn saved(directory: &Path, head: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(head);
    let mut found: Vec<PathBuf> = entries.filter(is_one).collect();
    found.sort();
    found
}

fn ended(child: Child, command: &str) -> CommandOutput {
    let output = child.wait_with_output().unwrap();
    CommandOutput {
        command: command.to_owned(),
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn rows(home: &Home, database: &Path) -> Vec<serde_json::Value> {
    let output = home.plumb(&format!("--db {} list --json", database.display())).expect(0);
    output.json().as_array().unwrap().clone()
}

/// Another program locks the database from before the first op until after the last one.
#[test]
fn with_a_locked_database_every_command_saves_its_results_to_files() {
    let home = Home::new();
    let database = home.work().join("locked.db");
    let db = format!("--db {}", database.display());
    home.plumb(&format!("{db} run random-read --at sim:ssd")).expect(0);
    let lock = rusqlite::Connection::open(&database).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // Each waits as long as it must; they wait at the same time.
    let commands = [
        (format!("{db} run random-read --at sim:ssd --set time=200ms"), 1),
        (format!("{db} try sim:ssd --time 200ms"), 1),
        (format!("{db} compare sim:ssd sim:nvme --budget 1s"), 2),
        (format!("{db} sweep depth=1,2 sim:ssd --repeat 1 --time 200ms"), 2),
    ];
    let running: Vec<(Child, &str)> = commands.iter().map(|(line, _)| (home.start(line), line.as_str())).collect();
    for (child, line) in running {
        let output = ended(child, line).expect(4).expect_stderr(&["could not be stored", "locked by another process"]);
        assert!(output.err.contains(" import "), "{}", output.err);
    }
    // Other tools' commands wait as well.
    home.plumb(&format!("{db} as fio --name=x --filename=sim:ssd --rw=randread --size=16m")).expect(0);
    // Reading does not wait for the writer.
    assert_eq!(rows(&home, &database).len(), 1);
    let files = saved(&home.work(), "plumb-result-");
    assert!(files.len() >= commands.iter().map(|(_, runs)| runs).sum::<usize>(), "{files:?}");
    assert_eq!(saved(&home.work(), "plumb-compare-").len(), 1);
    drop(lock);
    let listed = rows(&home, &database);
    assert_eq!(listed.iter().filter(|row| row["status"] == "ok").count(), 2, "{listed:?}");

    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let import = format!("{db} import {}", names.join(" "));
    let first = home.plumb(&import).expect(0);
    assert_eq!(first.out.lines().filter(|line| line.ends_with(": added")).count(), files.len(), "{}", first.out);
    let again = home.plumb(&import).expect(0);
    assert_eq!(again.out.matches("already stored").count(), files.len(), "{}", again.out);
    assert_eq!(rows(&home, &database).len(), files.len() + 2);
    let kept = std::fs::read_to_string(&files[0]).unwrap();
    let id = plumb_document::json::from_str::<serde_json::Value>(&kept).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(home.plumb(&format!("{db} show {id} --json")).expect(0).out, kept, "to the last byte");
}

/// The disk of the database fills while a run continues; its row existed before.
#[test]
fn with_a_full_disk_the_result_is_saved_elsewhere_and_completes_its_row() {
    if !root_and(&["mount", "umount"]) {
        return;
    }
    let home = Home::new();
    let small = Tmpfs::new(&home.work().join("small"), "2m");
    let database = small.0.join("plumb.db");
    let db = format!("--db {}", database.display());
    home.plumb(&format!("{db} run random-read --at sim:ssd")).expect(0);
    let line = format!("{db} run random-read --set size=4MiB --set time=3s");
    let child = home.start(&line);
    wait_until("it runs", || rows(&home, &database).iter().any(|row| row["status"] == "running"));
    small.fill();
    ended(child, &line).expect(4).expect_stderr(&["could not be stored", "disk is full", "plumb-result-"]);

    // The database is readable, and the interrupted run is not listed as still running.
    let listed = rows(&home, &database);
    assert_eq!((&listed[0]["status"], &listed[1]["status"]), (&"aborted".into(), &"ok".into()));
    home.plumb(&format!("{db} show last")).expect(0).expect_stdout(&["sim:ssd"]);
    // Nothing is measured that could not be stored. The space freed at the end of the first run is filled too.
    small.fill();
    home.plumb(&format!("{db} run random-read --at sim:ssd")).expect(4).expect_stderr(&[
        "plumb.db",
        "full",
        "Free some space",
    ]);
    assert!(saved(&small.0, "plumb-result-").is_empty());
    let files = saved(&home.work(), "plumb-result-");
    let [file] = files.as_slice() else { panic!("{files:?}") };

    small.empty();
    home.plumb(&format!("{db} import {}", file.display())).expect(0).expect_stdout(&["added to its unfinished run"]);
    let listed = rows(&home, &database);
    assert_eq!((listed.len(), &listed[0]["status"]), (2, &"ok".into()));
    assert!(listed[0]["command"].as_str().unwrap().contains("time=3s"), "{listed:?}");

    // Without space for SQLite's own files.
    small.fill();
    assert_eq!(rows(&home, &database).len(), 2);
    home.plumb_args(["--db", database.to_str().unwrap(), "query", "SELECT count(*) FROM run"])
        .expect(0)
        .expect_stdout(&["2"]);
}

#[test]
fn what_is_no_result_of_plumbs_is_refused() {
    let home = Home::new();
    home.file("fio.json", r#"{"fio version": "fio-3.33", "jobs": []}"#);
    home.plumb("import fio.json").expect(2).expect_stderr(&["fio.json: not read as results of fio", "--from TOOL"]);
    home.file("text.json", "hello");
    home.plumb("import text.json").expect(2).expect_stderr(&["text.json: not JSON", "line 1 column 1"]);
    home.plumb("import nowhere.json").expect(4).expect_stderr(&["nowhere.json: "]);
    home.plumb("run random-read --at sim:ssd").expect(0);
    let exported = home.plumb("export").expect(0).out;
    home.file("all.json", &exported);
    home.plumb("import all.json").expect(0).expect_stdout(&["already stored"]);
    home.file("cut.json", &exported[..exported.len() - 20]);
    home.plumb("import all.json cut.json").expect(2).expect_stderr(&["cut.json: the file is cut off"]);
    home.file("broken.json", &exported.replacen("\"verdict\":\"pass\"", "\"verdict\":\"superb\"", 1));
    home.plumb("import broken.json").expect(2).expect_stderr(&[
        "broken.json: result 1",
        "superb",
        "plumb schema result",
    ]);
}

/// Without HOME, the data directory must be one that nobody else can have created.
#[test]
fn without_home_a_directory_that_others_prepared_is_refused() {
    const NOBODY: u32 = 61_234;
    if !root_and(&[]) {
        return;
    }
    let home = Home::new();
    let expected = PathBuf::from(format!("/var/tmp/plumb-{NOBODY}"));
    let _ = std::fs::remove_dir_all(&expected);
    let list = || {
        use std::os::unix::process::CommandExt;
        let mut command = home.command(["list"]);
        command.current_dir("/").uid(NOBODY).gid(NOBODY);
        for name in ["HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        // The build may be in a directory that others cannot access.
        match command.output() {
            Err(error) => {
                crate::common::needs::skip(&format!("another user cannot run {command:?}: {error}"));
                None
            }
            Ok(_) => Some(CommandOutput::run(command)),
        }
    };
    std::os::unix::fs::symlink("/tmp", &expected).unwrap();
    let refused = list();
    std::fs::remove_file(&expected).unwrap();
    let Some(refused) = refused else { return };
    refused.expect(4).expect_stderr(&["is not safe to use", "symbolic link", "HOME is not set"]);
    list().unwrap().expect(0);
    let metadata = std::fs::metadata(&expected).unwrap();
    std::fs::remove_dir_all(&expected).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (NOBODY, 0o700));
}

/// A file system in memory with a fixed size.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn new(at: &Path, size: &str) -> Tmpfs {
        std::fs::create_dir(at).unwrap();
        system("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", at.to_str().unwrap()]);
        Tmpfs(at.to_owned())
    }

    /// Fills it until nothing more fits.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("fill")).unwrap();
        while std::io::Write::write(&mut file, &[1; 4096]).is_ok_and(|written| written > 0) {}
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("fill")).unwrap();
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
