//! Output without a reader, or without space: a run continues, is stored, and ends with its own exit code.

use crate::common::Home;
use std::fs::File;
use std::process::Stdio;

/// A pipe whose reader is gone.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Returns a file on a full device.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

#[derive(Debug, Clone, Copy)]
enum Stream {
    Output,
    Error,
}

/// Returns the exit code of these words with one of their streams replaced; `None` after a signal.
fn code(home: &Home, words: &str, stream: Stream, replaced: Stdio) -> Option<i32> {
    let mut command = home.command(words.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match stream {
        Stream::Output => command.stdout(replaced),
        Stream::Error => command.stderr(replaced),
    };
    command.status().unwrap().code()
}

#[test]
fn a_run_ends_as_it_would_whatever_becomes_of_its_output() {
    let home = Home::new();
    let runs = [
        // It prints its duration to standard error before it begins.
        "try sim:ssd",
        "run random-read --at sim:ssd",
        "run random-read --at sim:ssd --json",
        "compare sim:ssd sim:ssd",
        "sweep depth=1..4 sim:ssd",
        "as fio --name=a --filename=sim:ssd --rw=randread --size=1m",
        "as iozone -i 0 -r 4k -s 64k -f sim:ssd",
    ];
    for words in runs {
        for stream in [Stream::Output, Stream::Error] {
            assert_eq!(code(&home, words, stream, unread()), Some(0), "{words}: {stream:?} that nobody reads");
            assert_eq!(code(&home, words, stream, full()), Some(0), "{words}: {stream:?} without room");
        }
    }
    let stored = |status: &str| home.query(&format!("SELECT count(*) FROM run WHERE status {status}"))[0][0].clone();
    assert_eq!(stored("<> 'ok'"), 0, "{:?}", home.query("SELECT id, status FROM run"));
    assert!(stored("= 'ok'").as_u64().unwrap() >= 4 * runs.len() as u64);
}

/// If the printed output is the only copy, its loss must not look like success.
#[test]
fn output_that_is_lost_is_an_error_where_nothing_else_holds_it() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd").expect(0);
    for words in [
        "list",
        "study list",
        "show last",
        "export last --json",
        "explain A1",
        "run random-read --at sim:ssd --no-store",
    ] {
        assert_eq!(code(&home, words, Stream::Output, full()), Some(4), "{words}");
        assert_eq!(code(&home, words, Stream::Output, unread()), Some(0), "{words}");
    }
    let mut command = home.command(["run", "random-read", "--at", "sim:ssd"]);
    let output = command.stdout(full()).stderr(Stdio::piped()).output().unwrap();
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.contains("warning: standard output: No space left"), "{output}");
}
