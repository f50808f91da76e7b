//! Ctrl-C if the parent process ignores it, as a shell does for commands that a script starts with `&`. Tools that
//! install their handlers unconditionally end anyway, and others do not.

use super::interrupted::signal;
use crate::common::{Home, wait_until};
use rustix::process::Signal;
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command};

/// Starts a command with SIGINT ignored and its standard output in a file.
fn start(home: &Home, line: &str, out: &str) -> Child {
    let plain = home.command(line.split_whitespace());
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,TERM", "--ignore-signal=INT"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(home.work());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let out = File::create(home.work().join(out)).unwrap();
    command.stdin(std::process::Stdio::null()).stdout(out).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

fn text(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.work().join(name)).unwrap_or_default()
}

/// Waits for a condition, as long as the program runs.
#[track_caller]
fn wait_for(child: &mut Child, what: &str, mut is_so: impl FnMut() -> bool) {
    wait_until(what, || {
        let is_so = is_so();
        if let (false, Some(status)) = (is_so, child.try_wait().unwrap()) {
            let mut output = String::new();
            child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
            panic!("{status} before {what}: {output}");
        }
        is_so
    });
}

#[track_caller]
fn expect(child: Child, code: i32) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the names in the working directory with this prefix.
fn left(home: &Home, start: &str) -> Vec<String> {
    let names = std::fs::read_dir(home.work()).unwrap().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|name| name.starts_with(start)).collect()
}

// Protects hours of a sweep: the results so far are reported and saved, and the file is removed.
#[test]
fn an_interrupted_sweep_of_iozone_reports_what_it_has() {
    let home = Home::new();
    let mut child = start(&home, "as iozone -a -n 64 -g 1g -R -b x.xls -f int.tmp", "out");
    wait_for(&mut child, "rows are printed", || {
        text(&home, "out").lines().filter(|line| line.starts_with("       ")).count() > 4
    });
    signal(&child, Signal::INT);
    expect(child, 0);
    let out = text(&home, "out");
    let (table, rest) = out.split_once("\niozone: interrupted\n\n").unwrap_or_else(|| panic!("{out}"));
    assert!(rest.starts_with("Excel output is below:\n") && rest.ends_with("\nexiting iozone\n\n"), "{rest}");
    // The first row of the report's first table equals the first column of the first rows.
    let column = |row: &str| row.split_whitespace().nth(2).map(str::to_owned);
    let rows: Vec<&str> = table.lines().filter(|row| row.split_whitespace().next() == Some("64")).collect();
    let first = rest.lines().find(|line| line.starts_with("\"64\"")).unwrap();
    let reported: Vec<&str> = first.split_whitespace().skip(1).collect();
    for (row, value) in rows.iter().zip(&reported) {
        assert_eq!(column(row).as_deref(), Some(*value), "{out}");
    }
    assert!(!rest.contains("\"1048576\""), "a size that was never reached has no row: {rest}");
    let sheet = std::fs::read(home.work().join("x.xls")).unwrap();
    assert!(sheet.starts_with(&[9, 0]), "a spreadsheet of BIFF");
    assert_eq!(left(&home, "int.tmp"), [""; 0]);
}

// Synchronous writes, which take long without much space: a disk that is too small would be refused.
#[test]
fn an_interrupted_throughput_test_of_iozone_removes_its_files() {
    let home = Home::new();
    let mut child = start(&home, "as iozone -t 2 -s 128m -r 4k -o -i 0 -i 1 -R -b x.xls", "out");
    wait_for(&mut child, "it writes", || !left(&home, "iozone.DUMMY").is_empty());
    signal(&child, Signal::INT);
    expect(child, 0);
    let out = text(&home, "out");
    assert!(out.contains("\niozone: interrupted\n\n") && out.contains("\"Throughput report Y-axis"), "{out}");
    assert!(out.ends_with("\nexiting iozone\n\n"), "{out}");
    assert!(home.work().join("x.xls").exists());
    assert_eq!(left(&home, "iozone.DUMMY"), [""; 0]);
}

#[test]
fn bonnie_fio_and_elbencho_end_and_clean_up() {
    for (line, ends, files, kept) in [
        ("as bonnie++ -d . -u root -r 0 -s 512m -n 0 -f -D", 5, "Bonnie.", false),
        ("as fio --name=job --rw=randread --size=8m --time_based --runtime=600", 128, "job.0.0", true),
        ("as elbencho -w -s 64m -b 1m --infloop --timelimit 600 file", 1, "file", true),
    ] {
        let home = Home::new();
        let mut child = start(&home, line, "out");
        wait_for(&mut child, "its files are there", || !left(&home, files).is_empty());
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal(&child, Signal::INT);
        expect(child, ends);
        assert_eq!(left(&home, files).is_empty(), !kept, "{line}");
    }
}

#[test]
fn iostat_ends_with_whole_json() {
    let home = Home::new();
    let mut child = start(&home, "as iostat -o JSON 1", "out");
    wait_for(&mut child, "a report is printed", || text(&home, "out").contains("\"disk\""));
    signal(&child, Signal::INT);
    expect(child, 0);
    let out = text(&home, "out");
    let report: serde_json::Value =
        plumb_document::json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    assert!(report["sysstat"]["hosts"][0]["statistics"].is_array());
}

/// GNU dd checks whether SIGINT is ignored, and PostMark has no handler.
#[test]
fn dd_and_postmark_go_on() {
    let home = Home::new();
    home.file("long.pm", "set size 1000 2000\nset number 500\nset transactions 3000000\nset location .\nrun\nquit\n");
    for (line, begun) in [("as dd if=/dev/zero of=out.dd bs=4k oflag=dsync", "out.dd"), ("as postmark long.pm", "")] {
        let before = left(&home, begun).len();
        let mut child = start(&home, line, "out");
        // Besides the file with its output.
        wait_for(&mut child, "it writes", || left(&home, begun).len() > before + 1 - usize::from(!begun.is_empty()));
        signal(&child, Signal::INT);
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none(), "{line} ended");
        signal(&child, Signal::TERM);
        child.wait().unwrap();
    }
}
