//! Hostile names and files: they cannot inject terminal escapes or markup, or exhaust memory.

use crate::common::{CommandOutput, Home, needs};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Sets the title of a terminal, colours what follows, and reverses it.
const EVIL: &str = "\u{1b}]0;PWN\u{7}\u{1b}[31m\u{202e}x";

/// Panics if the output holds control characters or other hidden ones.
#[track_caller]
fn assert_tame(output: &CommandOutput) {
    for (name, text) in [("output", &output.out), ("error", &output.err)] {
        let hidden = text.replace("\r\n", "\n").chars().find(|&c| plumb_text::visible::is_hidden(c));
        assert!(hidden.is_none(), "{}: {hidden:?} in standard {name}:\n{text:?}", output.command);
    }
}

/// Stores a run in a directory with a hostile name.
fn with_run(home: &Home) {
    let directory = home.work().join(format!("{EVIL}\n##[error]y"));
    std::fs::create_dir(&directory).unwrap();
    let words = ["as", "fio", "--name=a", "--rw=write", "--size=64k", "--directory"].map(OsStr::new);
    home.plumb_args(words.into_iter().chain([directory.as_os_str()])).expect_measured();
}

// Failed before: `list`, `show`, `query` and `report` printed the name of the directory unescaped.
#[test]
fn a_directory_s_name_steers_no_terminal() {
    let home = Home::new();
    with_run(&home);
    for line in ["list", "show", "show -v", "query", "report", "export", "export --csv", "show --json", "list --json"] {
        assert_tame(&home.plumb(line).expect(0));
    }
    let output = home.plumb_args(["query", "SELECT path FROM target"]);
    assert_tame(&output);
    let output = home.plumb_args(["query", "SELECT facts FROM target"]);
    assert_tame(&output);
    // Printed JSON still decodes to the original name.
    let shown = home.plumb("show --json").expect(0).json();
    assert!(shown.to_string().contains("\u{202e}"), "{shown}");
    // In a CI runner, a line feed in a name cannot begin a command.
    let mut list = home.command(["show", "-v"]);
    list.env("GITHUB_ACTIONS", "true");
    let output = CommandOutput::run(list).expect(0);
    assert!(!output.out.lines().any(|line| line.trim_start().starts_with("##[")), "{}", output.out);
}

// Failed before: values from the database were printed unescaped.
#[test]
fn what_is_stored_steers_no_terminal() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=64MiB").expect_measured();
    let database = rusqlite::Connection::open(home.work().join("../data/plumb/plumb.db")).unwrap();
    database.execute("UPDATE run SET name = ?1", [format!("{EVIL}\nsecond line")]).unwrap();
    database.execute("INSERT INTO run_tag (run_id, tag) SELECT id, ?1 FROM run", [EVIL]).unwrap();
    drop(database);
    let output = home.plumb("list").expect(0).expect_stdout(&["\\u001b]0;PWN"]);
    assert_tame(&output);
    assert_eq!(output.out.lines().count(), 2, "a line feed in a name begins no row: {}", output.out);
    assert_tame(&home.plumb_args(["query", "SELECT name FROM run"]).expect(0));
}

// Failed before: `watch` printed the names of processes unescaped.
#[test]
fn a_process_s_name_steers_no_terminal() {
    let home = Home::new();
    let program = home.work().join("\u{1b}]0;P\u{7}\u{1b}[31m");
    let dd = ["/bin/dd", "/usr/bin/dd"].into_iter().find(|path| Path::new(path).exists()).unwrap();
    std::fs::copy(dd, &program).unwrap();
    let mut writer = Command::new(&program);
    writer.args(["if=/dev/zero", "of=written", "bs=16k", "oflag=dsync", "status=none"]).current_dir(home.work());
    let mut writer = writer.stderr(Stdio::null()).spawn().unwrap();
    let output = home.plumb("watch --count 2 --interval 500ms");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let kind = Command::new("stat").args(["-f", "-c", "%T"]).arg(home.work()).output().unwrap();
    assert_tame(&output);
    if String::from_utf8_lossy(&kind.stdout).contains("tmpfs") {
        return needs::not_shown("who writes: the test directory lies in memory");
    }
    output.expect(0).expect_stdout(&["\\u001b]0;P\\u0007"]);
}

// Failed before: titles of audited studies, parse errors and command-line words were printed unescaped.
#[test]
fn titles_and_errors_steer_no_terminal() {
    let home = Home::new();
    let title = "title = \"a\\u001b]0;PWN\\u0007\\u202eb\"";
    home.file("study.toml", &format!("[study]\n{title}\n"));
    assert_tame(&home.plumb("audit study.toml"));
    home.file("job.fio", &format!("[a]\nrw={EVIL}\n{EVIL}=1\n"));
    assert_tame(&home.plumb("as fio job.fio"));
    home.file("w.toml", &format!("name = \"{}\"\n", "\\u001b[31m"));
    assert_tame(&home.plumb("run w.toml sim:ssd"));
    for words in [["show", EVIL], ["explain", EVIL], [EVIL, "x"], ["run", EVIL], ["as", EVIL]] {
        assert_tame(&home.plumb_args(words));
    }
    let unreadable = home.plumb_args(["as", "dd", &format!("if=/nonexistent/{EVIL}")]);
    assert_tame(&unreadable);
}

// Failed before: the title of a report was written to its Markdown unescaped.
#[test]
fn names_open_no_markup_in_markdown() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=64MiB").expect_measured();
    home.plumb_args(["tag", "last", "x"]).expect(0);
    let sql = "SELECT id FROM run -- <script>alert(1)</script> ![a](http://b) [c](javascript:d)";
    let output = home.plumb_args(["report", sql]).expect(0);
    assert!(output.out.contains("&lt;script&gt;alert(1)&lt;/script&gt; \\!\\[a\\](http://b)"), "{}", output.out);
    assert!(
        !output.out.contains("<script") && !output.out.contains("![a](") && !output.out.contains("[c]("),
        "{}",
        output.out
    );
}

/// Runs with limited memory, so that an unbounded read fails here instead of exhausting the machine.
fn within_memory(home: &Home, words: &[&str], input: Option<&str>) -> CommandOutput {
    let plain = home.command(words);
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(home.work()).stdin(Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(path) = input {
        command.stdin(std::fs::File::open(path).unwrap());
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    CommandOutput { command: format!("{words:?}"), code, out: text(output.stdout), err: text(output.stderr) }
}

/// Returns `true` if the message names the limit and memory did not run out first.
fn is_refused(output: &str) -> bool {
    (output.contains("longer than") || output.contains("too long")) && !output.contains("memory allocation")
}

// Failed before: each of these allocated without a limit, 1 GiB in 4 s.
#[test]
fn inputs_without_an_end_are_refused() {
    let home = Home::new();
    const ZERO: &str = "/dev/zero";
    for words in [
        &["as", "fio", "--parse-only", ZERO] as &[&str],
        &["audit", ZERO],
        &["study", "plan", ZERO],
        &["as", "postmark", ZERO],
        &["as", "dbench", "-c", ZERO, "-D", ".", "-t", "1", "1"],
        &["as", "elbencho", "-c", ZERO, "-w", "-s", "4k", "f"],
        &["as", "ior", "-f", ZERO],
        &["as", "iometer", "/c", ZERO],
        &["as", "filebench", "-f", ZERO],
        &["as", "vdbench", "-f", ZERO],
        &["as", "io500", ZERO],
        &["as", "bon_csv2html", ZERO],
        &["import", ZERO],
        &["agent", "--vm", ZERO],
    ] {
        let output = within_memory(&home, words, None);
        let all = format!("{}{}", output.out, output.err);
        assert!(is_refused(&all), "{words:?}: {} {all}", output.code);
        // Like the original, PostMark continues with standard input.
        let least = if words.contains(&"postmark") { 0 } else { 1 };
        assert!(output.code >= least, "{words:?}: {} {all}", output.code);
    }
    for words in
        [&["audit", "-"] as &[&str], &["as", "fio", "--parse-only", "-"], &["as", "bon_csv2txt"], &["as", "postmark"]]
    {
        let output = within_memory(&home, words, Some(ZERO));
        let all = format!("{}{}", output.out, output.err);
        assert!(is_refused(&all), "{words:?}: {} {all}", output.code);
    }
}

// Failed before: queries had no limits of time or memory.
#[test]
fn queries_have_limits() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=64MiB").expect_measured();
    home.plumb_args(["query", "SELECT randomblob(1000000000)"]).expect(2).expect_stderr(&["larger than 64 MiB"]);
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    home.plumb_args(["query", "--timeout", "300ms", endless])
        .expect(2)
        .expect_stderr(&["exceeded its time limit of 300ms", "--timeout"]);
    let wide =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT zeroblob(1000000) FROM n";
    home.plumb_args(["query", wide]).expect(2).expect_stderr(&["the answer", "LIMIT"]);
    home.plumb_args(["query", "SELECT count(*) FROM run"]).expect(0);
}

// Protects scripts: names with non-ASCII letters are printed as in the original tool.
#[test]
fn ordinary_names_stay_as_they_are() {
    let home = Home::new();
    let output = home.plumb("as fio --name=größe-磁盘 --rw=write --size=64k --filename=ä.0").expect_measured();
    assert!(output.out.contains("größe-磁盘: (g=0)"), "{}", output.out);
}
