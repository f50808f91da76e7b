//! `--stream` and `--live` end to end: files, a scraper, other tools' command lines, studies, and the screen in a
//! terminal.

use crate::common::{Home, schema};
use crate::study_conduct::STUDY;
use crate::watch::{GIVEN_BACK, TAKEN, in_a_terminal, pictures};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

/// A run of three virtual seconds.
const RUN: &str = "run random-read --at sim:ssd --set time=3s --no-store";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| plumb_document::json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn select_event<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

// Protects: every line is a document in the published format, events are in order, and seconds add up to the phase in
// the result.
#[test]
fn lines_fit_their_schema_and_the_result() {
    let home = Home::new();
    let printed = home.plumb(&format!("{RUN} --json --stream ndjson:f")).expect(0);
    let seen = lines(&std::fs::read_to_string(home.work().join("f")).unwrap());
    let form = home.plumb("schema stream").expect(0).json();
    for line in &seen {
        assert_eq!(schema::problems(&form, line), Vec::<String>::new(), "{line}");
        assert_eq!((&line["schema"], &line["run"]), (&Value::from("plumb.stream/1"), &printed.json()["id"]));
        assert_eq!(line["place"], "sim:ssd");
    }
    assert_eq!(seen[0]["event"], "run-begins");
    assert_eq!(seen[1]["event"], "phase-begins");
    assert_eq!(seen.last().unwrap()["event"], "run-ends");
    let intervals = select_event(&seen, "interval");
    assert!((2..=3).contains(&intervals.len()), "{} intervals", intervals.len());
    let [phase] = select_event(&seen, "phase-ends")[..] else { panic!("one phase ends") };
    let count = |line: &Value| line["measured"]["ops"]["read"]["count"].as_u64().unwrap();
    assert!(intervals.iter().map(|line| count(line)).sum::<u64>() <= count(phase));
    let result = printed.json();
    let iops = result["phases"][0]["metrics"]["read.iops"]["value"].as_f64().unwrap();
    let streamed = phase["measured"]["ops"]["read"]["ops_per_s"].as_f64().unwrap();
    assert!((iops / streamed - 1.0).abs() < 1e-6, "{iops} and {streamed}");
    assert_eq!(phase["measured"]["devices"][0]["name"], "sim0");
    let times: Vec<&str> = seen.iter().map(|line| line["at"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|two| two[0] != two[1]));
}

// Protects: a stream on standard output is alone there, the page goes to standard error, and a second writer is
// refused.
#[test]
fn standard_output_is_the_streams() {
    let home = Home::new();
    let output = home.plumb(&format!("{RUN} --stream ndjson:-")).expect(0);
    assert!(lines(&output.out).len() >= 5);
    assert!(output.err.contains("IOPS"), "{}", output.err);
    home.plumb(&format!("{RUN} --json --stream ndjson:-")).expect(2).expect_stderr(&["--json", "standard output"]);
    home.plumb("as dd if=sim:ssd of=/dev/null count=1 --plumb-stream=influx:-").expect(2).expect_stderr(&["the tool"]);
    home.plumb("run random-read --stream json:f").expect(2).expect_stderr(&["json:f", "ndjson:FILE"]);
}

// Protects: a broken stream is reported once, and the run ends normally.
#[test]
fn a_broken_stream_is_no_broken_run() {
    let home = Home::new();
    let output = home.plumb("run random-read --at sim:ssd --set time=9s --stream ndjson:/dev/full").expect(0);
    assert_eq!(output.err.matches("warning: --stream ndjson:/dev/full").count(), 1, "{}", output.err);
    assert!(output.out.contains("IOPS") && home.plumb("list").expect(0).out.contains("random-read"), "{}", output.out);
    // A reader that exits at once.
    let mut child = home.command(format!("{RUN} --stream ndjson:-").split(' ')).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// Protects: the real InfluxDB accepts the format.
#[test]
fn influx_lines() {
    let home = Home::new();
    home.plumb(&format!("{RUN} --stream influx:f")).expect(0);
    let text = std::fs::read_to_string(home.work().join("f")).unwrap();
    let of = |name: &str| text.lines().filter(|line| line.split(',').next() == Some(name)).count();
    assert_eq!((of("plumb_phase_ops"), of("plumb_event")), (1, 4), "{text}");
    assert!((2..=3).contains(&of("plumb_ops")), "{text}");
    for line in text.lines() {
        let at = line.rsplit(' ').next().unwrap();
        assert!(at.parse::<i64>().is_ok() && line.contains("workload=random-read,place=sim:ssd"), "{line}");
    }
}

/// Returns the response to a request.
fn send_request(address: &str, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

// Protects: a scraper reads a run in progress, and is refused without the token.
#[test]
fn a_scraper_reads_a_run() {
    let home = Home::new();
    home.file("token", "a-token-of-some-length\n");
    let words =
        "run random-read --set size=4MiB --set time=600s --no-store --stream openmetrics:0 --stream-token-file token";
    let mut child = home.command(words.split(' ')).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("metrics: ") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it says where it listens");
    }
    let address = line.trim().strip_prefix("metrics: http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
    assert!(send_request(&address, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 401"));
    let page =
        || send_request(&address, "GET /metrics HTTP/1.1\r\nAuthorization: Bearer a-token-of-some-length\r\n\r\n");
    let count = |page: &str| -> Option<f64> {
        let line = page.lines().find(|line| line.starts_with("plumb_ops_total{workload=\"random-read\""))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    let first = loop {
        let page = page();
        assert!(page.ends_with("# EOF\n"), "{page}");
        match count(&page) {
            Some(count) if page.contains("quantile=\"0.99\"") => break count,
            _ => std::thread::sleep(std::time::Duration::from_millis(100)),
        }
    };
    while count(&page()).unwrap() <= first {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    home.plumb("clean").expect(0);
}

// Protects: an address that other machines can reach is refused without a token, before anything is measured.
#[test]
fn an_open_address_is_refused() {
    let home = Home::new();
    home.plumb(&format!("{RUN} --stream openmetrics:0.0.0.0:0")).expect(2).expect_stderr(&["token", "127.0.0.1"]);
    home.file("token", "short");
    let with = format!("{RUN} --stream openmetrics:0.0.0.0:0 --stream-token-file token");
    home.plumb(&with).expect(2).expect_stderr(&["16 characters"]);
}

// Protects: other tools' command lines can stream too, and print the same as without it.
#[test]
fn other_tools_stream() {
    let home = Home::new();
    let fio = "as fio --name=a --rw=read --bs=64k --size=1m --filename=sim:ssd --output-format=terse";
    let without = home.plumb(fio).expect(0).out;
    let with = home.plumb(&format!("{fio} --plumb-stream=ndjson:f --plumb-stream influx:g")).expect(0).out;
    let fields = |text: &str| text.split(';').count();
    assert_eq!(fields(&without), fields(&with));
    let seen = lines(&std::fs::read_to_string(home.work().join("f")).unwrap());
    let [phase] = select_event(&seen, "phase-ends")[..] else { panic!("{seen:?}") };
    assert_eq!(phase["measured"]["ops"]["read"]["count"], 16);
    assert!(std::fs::read_to_string(home.work().join("g")).unwrap().contains("plumb_phase_ops,"));
    let mut command = home.command("as dd if=sim:ssd of=/dev/null bs=64k count=4".split(' '));
    let output = command.env("PLUMB_STREAM", "ndjson:h").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!lines(&std::fs::read_to_string(home.work().join("h")).unwrap()).is_empty());
    home.plumb("as dd if=sim:ssd of=/dev/null count=1 --plumb-stream=f").expect(2).expect_stderr(&["--plumb-stream"]);
}

// Protects: lines of comparisons and sweeps say which run they belong to.
#[test]
fn each_line_names_its_run() {
    let home = Home::new();
    home.plumb("compare sim:ssd sim:ssd?slow=20% --no-store --budget 2s --time 100ms --stream ndjson:f");
    let seen = lines(&std::fs::read_to_string(home.work().join("f")).unwrap());
    let parts = |begin: &str| seen.iter().filter(|line| line["part"].as_str().unwrap().starts_with(begin)).count();
    assert!(parts("block 1 ") > 0 && parts("block 6 ") > 0, "{seen:?}");
    let places: std::collections::BTreeSet<&str> = seen.iter().map(|line| line["place"].as_str().unwrap()).collect();
    assert_eq!(places.len(), 2, "{places:?}");
}

// Protects: a study passes on reports of its runs, which are separate processes.
#[test]
fn a_study_streams_its_runs() {
    let home = Home::new();
    home.file("two-disks.toml", &STUDY.replace("time = \"1s\"", "time = \"2s\""));
    home.plumb("study run two-disks.toml --stream ndjson:f").expect(0);
    let seen = lines(&std::fs::read_to_string(home.work().join("f")).unwrap());
    let begun = select_event(&seen, "run-begins");
    assert_eq!(begun.len(), select_event(&seen, "run-ends").len());
    let runs = home.query("SELECT count(*) FROM study_run WHERE status = 'done'");
    assert_eq!(runs[0][0].as_u64().unwrap() as usize, begun.len());
    assert!(!select_event(&seen, "interval").is_empty());
    assert!(begun[0]["part"].as_str().unwrap().starts_with("plot 1 of "), "{}", begun[0]);
}

// Protects: the screen leaves the page behind and restores the terminal: at the end, after Ctrl-C, and after a signal.
#[test]
fn the_screen_gives_the_terminal_back() {
    let long = "plumb run random-read --set size=4MiB --set time=600s --no-store --live";
    // On a busy machine, checks may reject the run.
    for (line, keys, codes) in [
        ("plumb run random-read --at sim:ssd --no-store --live".to_owned(), b"".as_slice(), ["ended 0", "ended 3"]),
        (long.to_owned(), b"\x03", ["ended 130"; 2]),
        (format!("timeout --foreground -s TERM 3 {long}"), b"", ["ended 124", "ended 130"]),
        // q closes the screen, and the run continues without it.
        (
            "plumb run random-read --set size=4MiB --set time=5s --no-store --live".to_owned(),
            b"q",
            ["ended 0", "ended 3"],
        ),
    ] {
        let home = Home::new();
        let Some(seen) = in_a_terminal(&home, &line, keys) else { return };
        assert!(codes.iter().any(|code| seen.contains(code)), "{line}: {seen}");
        let (entered, left) = (seen.matches(TAKEN).count(), seen.matches(GIVEN_BACK).count());
        assert!(entered == left && (entered == 1 || line.contains("TERM")), "{line}: {seen}");
        let behind = seen.rsplit("\x1b[?1049l").next().unwrap();
        assert!(behind.contains("random-read") || line.contains("TERM"), "no page is left behind: {behind}");
        let is_over = |seen: &str| pictures(seen, 24, 80).iter().any(|picture| picture.contains("the phase has ended"));
        assert!(keys != b"q" || !is_over(&seen), "q has not closed it: {seen}");
        let modes = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
        assert_eq!(modes("before"), modes("after"), "{line}");
    }
}

// Protects: a panic restores the terminal before it is reported, and nothing is drawn over its report.
#[test]
fn a_panic_is_reported_on_the_usual_screen() {
    let home = Home::new();
    let line = "PLUMB_PANIC_WORKER=main plumb run random-read --set size=4MiB --set time=600s --no-store --live";
    let Some(seen) = in_a_terminal(&home, line, b"") else { return };
    assert!(seen.contains("ended 4"), "{seen}");
    assert_eq!((seen.matches(TAKEN).count(), seen.matches(GIVEN_BACK).count()), (1, 1), "{seen}");
    let (_, behind) = seen.split_once(GIVEN_BACK).unwrap();
    assert!(behind.contains("panicked at") && !behind.contains("\x1b[1;1H"), "{behind:?}");
}

// Protects: a study has one screen for all its runs, which shows the progress and leaves the report behind; q closes
// it, and the study continues.
#[test]
fn a_study_has_one_screen() {
    for keys in [b"".as_slice(), b"q"] {
        let home = Home::new();
        home.file("two-disks.toml", STUDY);
        let Some(seen) = in_a_terminal(&home, "plumb study run two-disks.toml --live", keys) else { return };
        assert!(seen.contains("ended 0"), "{seen}");
        assert_eq!((seen.matches(TAKEN).count(), seen.matches(GIVEN_BACK).count()), (1, 1), "{seen}");
        let (_, behind) = seen.split_once(GIVEN_BACK).unwrap();
        assert!(behind.contains("is slower than"), "no report is left behind: {behind}");
        let ended = home.query("SELECT count(*) FROM study_run WHERE status = 'done'");
        assert_eq!(ended[0][0], 16);
        if keys.is_empty() {
            let pictures = pictures(&seen, 24, 80);
            // The numbers of runs in other processes: all but the last have a line.
            for part in ["plumb · two-disks", " of 16 runs", "run 3 random-read"] {
                assert!(pictures.iter().any(|picture| picture.contains(part)), "{part}: {seen:?}");
            }
        }
    }
}

// Protects: without a terminal there is no screen, but a sentence about it.
#[test]
fn no_screen_without_a_terminal() {
    let home = Home::new();
    let output = home.plumb(&format!("{RUN} --live")).expect(0);
    assert!(output.err.contains("--live is off here") && output.out.contains("IOPS"), "{}", output.err);
    assert!(!output.out.contains('\x1b') && !output.err.contains('\x1b'));
}
