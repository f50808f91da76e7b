//! Pages as users see them, on simulated devices, whose numbers are the same everywhere.

use crate::common::{Home, needs};
use std::io::Read;
use std::process::{Command, Stdio};

/// Removes ids, which differ from run to run.
fn redacted(page: &str) -> String {
    let mut words = Vec::new();
    for line in page.lines() {
        let line: Vec<&str> = line.split(' ').map(|word| if is_id(word) { "ID" } else { word }).collect();
        words.push(line.join(" "));
    }
    words.join("\n")
}

/// Whether a word is the short form of an id, `01a1fcae-9e9b`, perhaps with punctuation around it.
fn is_id(word: &str) -> bool {
    let word = word.trim_matches([':', ';', '(', ')']).as_bytes();
    word.len() == 13 && word[8] == b'-' && word.iter().enumerate().all(|(i, byte)| i == 8 || byte.is_ascii_hexdigit())
}

fn page(line: &str) -> String {
    redacted(&Home::new().plumb(line).out)
}

#[test]
fn page_of_a_survey() {
    insta::assert_snapshot!(page("try sim:ssd --size 64MiB --time 500ms"));
}

#[test]
fn page_of_a_rejected_run() {
    insta::assert_snapshot!(page("run stream-read --at sim:hdd?cached=60%"));
}

#[test]
fn page_of_a_mail_server() {
    insta::assert_snapshot!(page("run mail --at sim:ssd --set time=1s"));
}

#[test]
fn page_of_a_slower_device() {
    insta::assert_snapshot!(page("compare sim:hdd sim:hdd?slow=20% --for random-read,fsync-log"));
}

#[test]
fn page_of_equals() {
    insta::assert_snapshot!(page("compare sim:ssd sim:ssd"));
}

#[test]
fn page_of_a_confounded_comparison() {
    insta::assert_snapshot!(page("compare sim:ssd sim:nvme --varying scheduler"));
}

#[test]
fn page_of_a_comparison_without_runs() {
    insta::assert_snapshot!(page("compare sim:ssd sim:ssd?cached=60% --for stream-read"));
}

/// Runs a command in a terminal of this width; returns its output.
fn in_terminal(columns: u32, environment: &[(&str, &str)], line: &str) -> String {
    let home = Home::new();
    let program = home.command([""; 0]).get_program().to_str().unwrap().to_owned();
    let data = home.registry().parent().unwrap().parent().unwrap().display().to_string();
    let script = format!("stty cols {columns} rows 40; {program} {line}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--command", &script, "/dev/null"]).current_dir(home.work());
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color").env("XDG_DATA_HOME", data).stdin(Stdio::null());
    for (name, value) in environment {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Removes colours and other control sequences.
fn visible(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {},
            // A carriage return starts the line over, which is then redrawn.
            '\r' if chars.peek() != Some(&'\n') => out.truncate(out.rfind('\n').map_or(0, |newline| newline + 1)),
            '\r' => {}
            c => out.push(c),
        }
    }
    out
}

#[test]
fn lines_stay_within_the_terminal() {
    if !needs::tools(&["script", "stty"]) {
        return;
    }
    for (columns, line) in [
        (60, "run mail --at sim:ssd --set time=200ms"),
        (70, "run stream-read --at 'sim:hdd?cached=60%'"),
        (80, "try sim:ssd --size 16MiB --time 100ms"),
        (60, "compare sim:hdd 'sim:hdd?slow=20%'"),
        (80, "compare sim:ssd sim:nvme --varying fs"),
        (120, "check ."),
    ] {
        for text in visible(&in_terminal(columns, &[], line)).lines() {
            // A single word may exceed the width.
            let fits = text.chars().count() <= columns as usize || text.split_whitespace().count() <= 1;
            assert!(fits, "{line} at {columns} columns: {} in `{text}`", text.chars().count());
        }
    }
}

#[test]
fn without_a_terminal_lines_have_100_columns_and_no_colour() {
    for line in ["try sim:ssd --size 16MiB --time 100ms", "compare sim:hdd sim:ssd --for all --time 200ms --size 16MiB"]
    {
        let page = Home::new().plumb(line).expect(0).out;
        assert!(!page.contains('\x1b'));
        for text in page.lines() {
            assert!(text.chars().count() <= 100, "{} columns: {text}", text.chars().count());
        }
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    if !needs::tools(&["script", "stty"]) {
        return;
    }
    let line = "run random-read --at sim:ssd --set time=100ms";
    let green = "\x1b[32mTrusted.";
    assert!(in_terminal(100, &[], line).contains(green));
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let page = in_terminal(100, &[variable], line);
        assert!(page.contains("Trusted.") && !page.contains("\x1b[3"), "{variable:?}: {page:?}");
    }
}

/// The live line is drawn while a phase runs, and removed afterwards.
#[test]
fn the_live_line_is_drawn_and_cleared() {
    if !needs::tools(&["script", "stty"]) {
        return;
    }
    let line = "run random-read --set size=4MiB --set time=2500ms --set cache=as-is --json >/dev/null";
    let drawn = in_terminal(100, &[], line);
    assert!(
        drawn.contains("random-read")
            && drawn.contains("p99")
            && drawn.contains("in flight")
            && drawn.contains(" left"),
        "{drawn:?}"
    );
    assert!(drawn.ends_with("\x1b[2K") || drawn.trim_end_matches(['\r', '\n']).ends_with("\x1b[2K"), "{drawn:?}");
    let quiet =
        Home::new().plumb("run random-read --set size=4MiB --set time=1500ms --set cache=as-is").expect_measured();
    // Only the run's requirements, and its rejection: other programs may use this disk.
    let is_said =
        |line: &str| line.contains("new directory") || line.starts_with("fail ") || line.contains("withdrawn");
    assert!(quiet.err.lines().all(is_said), "quiet when not a terminal: {}", quiet.err);
}

/// `plumb list | head -1` is not an error.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    for line in [
        "man",
        "query",
        "schema result",
        "completions bash",
        "explain",
        "run random-read --at sim:ssd --set time=100ms --json",
    ] {
        let mut child = home.start(line);
        let mut pipe = child.stdout.take().unwrap();
        let _ = pipe.read(&mut [0; 1]);
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), complaints.as_ref()), (Some(0), ""), "{line}");
    }
}

/// Protects users of CrystalDiskMark: its tests are a matrix of reads and writes, and -v prints each phase.
#[test]
fn crystal_like_is_a_matrix() {
    let home = Home::new();
    for (load, last) in [("crystal-like", "RND4K-Q1T1"), ("crystal-nvme-like", "RND4K-Q1T1")] {
        let brief = home.plumb(&format!("run {load} --at sim:ssd --set time=200ms")).expect(0);
        let head = brief.out.lines().find(|line| line.contains("read MB/s")).unwrap_or_else(|| panic!("{}", brief.out));
        assert_eq!(head.split_whitespace().collect::<Vec<_>>().join(" "), "read MB/s write MB/s read IOPS write IOPS");
        let row = brief.out.lines().find(|line| line.starts_with(last)).unwrap_or_else(|| panic!("{}", brief.out));
        assert_eq!(
            row.split_whitespace().filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit())).count(),
            4,
            "{row}"
        );
        assert!(brief.out.contains("all: burst") && !brief.out.contains("-read: depth"), "{}", brief.out);
        home.plumb("show last -v").expect(0).expect_stdout(&["read MB/s", "SEQ1M-Q8T1-read: depth 8"]);
    }
}
