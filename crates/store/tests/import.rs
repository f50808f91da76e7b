//! Imports of results from files: accepted files, rejected files, and robustness against any file.

mod common;

use common::{FIRST, SECOND, intervals, measurement, result, started};
use plumb_document::json;
use plumb_result::RunResult;
use plumb_result::reader::{ResultFileError, read};
use plumb_store::{Filter, Imported, Partial, QueryCell, ResultStore, RunStatus, Store, StoreError};
use proptest::prelude::*;

fn text(result: &RunResult) -> String {
    json::to_string_pretty(result).unwrap()
}

fn count(store: &Store, sql: &str) -> i64 {
    match store.query(sql).unwrap().rows[0][0] {
        QueryCell::Integer(number) => number,
        ref other => panic!("{other:?} is not a whole number"),
    }
}

#[test]
fn a_result_is_imported_once() {
    let mut store = Store::open_in_memory().unwrap();
    let results = read(text(&result(FIRST, 1)).as_bytes()).unwrap();
    assert_eq!(results, [result(FIRST, 1)]);
    assert_eq!(store.import(&results[0]).unwrap(), Imported::Added);
    assert_eq!(store.import(&results[0]).unwrap(), Imported::Unchanged);
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
    assert_eq!(count(&store, "SELECT count(*) FROM run WHERE origin = 'import'"), 1);
    assert_eq!(count(&store, "SELECT count(*) FROM phase"), 1);
    let other = RunResult { partial: true, ..result(FIRST, 1) };
    assert!(matches!(store.import(&other), Err(StoreError::OtherResult { .. })));
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
}

// Protects: a file of another tool is one run, regardless of its name. A Plumb version that reads more from it
// completes the run, and another file cannot replace it. An unknown duration is not stored as 0.
#[test]
fn a_file_of_another_tool_is_one_run() {
    use plumb_result::imported::{RawEncoding, RawText, TimeSource};
    let of = |file: &str, blake3: &str, note: &str| {
        let raw = RawText {
            encoding: RawEncoding::Text,
            text: "1 s".to_owned(),
            bytes: 3,
            blake3: blake3.to_owned(),
            kept_bytes: None,
        };
        let imported = plumb_result::Imported {
            form: "text".to_owned(),
            file: file.to_owned(),
            command: Some("dd of=x".to_owned()),
            time: TimeSource::File,
            settings: [].into(),
            numbers: Vec::new(),
            notes: vec![note.to_owned()],
            raw,
        };
        let mut run = RunResult { imported: Some(Box::new(imported)), ..result(FIRST, 1) };
        run.phases[0].wall_ns = 0;
        run
    };
    let mut store = Store::open_in_memory().unwrap();
    assert_eq!(store.import(&of("a.txt", "00", "old")).unwrap(), Imported::Added);
    assert_eq!(store.import(&of("b.txt", "00", "old")).unwrap(), Imported::Unchanged);
    assert_eq!(store.import(&of("b.txt", "00", "new")).unwrap(), Imported::Reread);
    assert_eq!(store.get(FIRST).unwrap(), of("b.txt", "00", "new"));
    assert!(matches!(store.import(&of("b.txt", "01", "new")), Err(StoreError::OtherResult { .. })));
    assert!(matches!(store.import(&result(FIRST, 1)), Err(StoreError::OtherResult { .. })));
    assert_eq!(count(&store, "SELECT count(*) FROM run WHERE origin = 'import' AND command = 'dd of=x'"), 1);
    assert_eq!(
        count(
            &store,
            "SELECT count(*) FROM run JOIN phase ON run_id = id WHERE phase.wall_ns IS NULL AND run.wall_ns IS NULL"
        ),
        1
    );
    assert_eq!(count(&store, "SELECT count(*) FROM value"), 3);
}

#[test]
fn exported_results_can_be_imported() {
    let mut from = Store::open_in_memory().unwrap();
    from.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    from.finish_run(&result(SECOND, 2), &measurement()).unwrap();
    let exported = from.export_json(&[FIRST.to_owned(), SECOND.to_owned()]).unwrap();
    let mut to = Store::open_in_memory().unwrap();
    for result in read(exported.as_bytes()).unwrap() {
        assert_eq!(to.import(&result).unwrap(), Imported::Added);
    }
    assert_eq!(to.export_json(&[FIRST.to_owned(), SECOND.to_owned()]).unwrap(), exported);
}

/// A run that lost its database half-way becomes complete, and keeps the seconds that were stored before.
#[test]
fn an_aborted_run_becomes_complete() {
    let mut store = Store::open_in_memory().unwrap();
    started(FIRST, |start| store.begin_run(start)).unwrap();
    store.heartbeat(FIRST, &Partial { phase: 1, name: "seq-write", intervals: &intervals(0, 3) }).unwrap();
    assert!(
        matches!(store.import(&result(FIRST, 1)), Err(StoreError::Begun { .. })),
        "its process, which is this one, is still alive"
    );
    store.fail_run(FIRST, "cut").unwrap();
    assert_eq!(store.import(&result(FIRST, 1)).unwrap(), Imported::Completed);
    let row = &store.list(&Filter::default()).unwrap()[0];
    assert_eq!((row.status, row.reason.as_deref()), (RunStatus::Ok, None));
    assert_eq!(row.command, "plumb run seq.toml");
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
    let phases = store.intervals(FIRST).unwrap();
    assert_eq!(phases[0].intervals, intervals(0, 3));
    assert_eq!(phases[0].name, result(FIRST, 1).phases[0].name);
}

#[test]
fn other_files_are_rejected_with_the_reason() {
    let whole = text(&result(FIRST, 1));
    let read_error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let with = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        read_error(&whole.replacen(from, to, 1))
    };
    let has =
        |read_error: String, words: &str| assert!(read_error.contains(words), "`{words}` is not in `{read_error}`");
    has(read_error(""), "cut off");
    has(read_error("12"), "not a Plumb result");
    has(read_error("{}"), "not a Plumb result");
    has(read_error("[[]]"), "not a Plumb result");
    has(read_error(r#"{"fio version": "fio-3.33", "jobs": []}"#), "not a Plumb result: it has no `schema`");
    has(read_error("run,started\n"), "line 1");
    has(read_error(&whole[..whole.len() / 2]), "cut off");
    has(read_error(&format!("[{whole}, {{}}]")), "not a Plumb result");
    has(with("plumb.result/1", "plumb.compare/1"), "`plumb.compare/1` cannot be imported");
    has(with("plumb.result/1", "plumb.result/2"), "`plumb.result/2` cannot be imported");
    has(with("plumb.result/1", "\\u001b[2J"), "\\u{1b}[2J");
    has(with("\"caution\"", "\"splendid\""), "verdict");
    has(with("3000000000", "-1"), "wall_ns");
    has(with("3000000000", "1e300"), "wall_ns");
    has(with("3000000000", "\"long\""), "wall_ns");
    has(with(FIRST, "../../etc/passwd"), "not a UUID");
    has(with(FIRST, &FIRST.to_uppercase()), "not a UUID");
    has(with("\"box\"", "\"\\u001b]0;owned\\u0007\""), "environment.hostname contains the control character");
    has(with("\"box\"", "\"\\ud800\""), "not JSON");
    has(read_error(&"[".repeat(100_000)), "not JSON");
    has(read_error(&format!("{}{}", r#"{"schema":"#.repeat(100_000), "1")), "not JSON");
    assert!(matches!(read(b"\xff\xfe"), Err(ResultFileError::Syntax(_))));
}

#[test]
fn numbers_at_the_end_of_their_range_are_kept() {
    let mut odd = result(FIRST, 1);
    odd.phases[0].wall_ns = u64::MAX;
    odd.phases.push(odd.phases[0].clone());
    let mut store = Store::open_in_memory().unwrap();
    store.import(&read(text(&odd).as_bytes()).unwrap()[0]).unwrap();
    assert_eq!(store.get(FIRST).unwrap(), odd);
    let late = RunResult { started_at: "soon".to_owned(), ..result(SECOND, 2) };
    assert!(matches!(store.import(&late), Err(StoreError::Time { .. })));
    assert_eq!(count(&store, "SELECT count(*) FROM run"), 1);
}

/// Text fragments that replace parts of a result.
fn scraps() -> impl Strategy<Value = String> {
    const FIXED: &[&str] =
        &["", "null", "-1", "1e308", "{}", "[]", "\"", ",", "}", "\u{0}", "18446744073709551616", "\"\\u001b\""];
    prop_oneof![prop::sample::select(FIXED).prop_map(str::to_owned), ".{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    /// Fuzz test of the parser: a result with replaced parts is rejected, or read and stored exactly.
    #[test]
    fn a_damaged_result_is_rejected_or_stored_exactly(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, scraps()), 1..4)
    ) {
        let mut damaged = text(&result(FIRST, 1));
        for (at, length, scrap) in cuts {
            let at = at.index(damaged.len());
            let end = (at + length).min(damaged.len());
            if damaged.is_char_boundary(at) && damaged.is_char_boundary(end) {
                damaged.replace_range(at..end, &scrap);
            }
        }
        if let Ok(results) = read(damaged.as_bytes()) {
            let mut store = Store::open_in_memory().unwrap();
            for result in &results {
                match store.import(result) {
                    Ok(_) => prop_assert_eq!(&store.get(&result.id).unwrap(), result),
                    Err(error) => prop_assert!(matches!(error, StoreError::Time { .. }), "{error}"),
                }
            }
        }
    }

    #[test]
    fn any_bytes_give_a_result_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }
}
