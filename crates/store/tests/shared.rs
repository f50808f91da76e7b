//! Runs that other databases take, and the notes of what is where.

mod common;

use common::{FIRST, SECOND, measurement, result};
use plumb_document::json;
use plumb_store::{Filter, FurtherBlobs, Mark, MarkKind, QueryCell, ResultStore, Store, TagChange};
use serde_json::Value;

const DESTINATION: &str = "db:5432/results";

fn with_two_runs() -> Store {
    let mut store = Store::open_in_memory().unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    store.finish_run(&result(SECOND, 2), &measurement()).unwrap();
    store
}

// Protects: a run waits until it is noted, at each destination separately, and a note for a pulled run counts, too.
#[test]
fn runs_wait_until_they_are_noted() {
    let mut store = with_two_runs();
    assert_eq!(store.unpushed(DESTINATION).unwrap(), [FIRST, SECOND]);
    for _ in 0..2 {
        store.note_pushed(FIRST, DESTINATION).unwrap();
        assert_eq!(store.unpushed(DESTINATION).unwrap(), [SECOND]);
        assert_eq!(store.count_pushed(DESTINATION).unwrap(), 1);
    }
    assert_eq!(store.unpushed("elsewhere:5432/results").unwrap().len(), 2);
    let mut other = Store::open_in_memory().unwrap();
    store.tag(FIRST, "nightly", TagChange::Add).unwrap();
    let rows = store.list(&Filter { ids: Some(vec![FIRST.to_owned()]), ..Filter::default() }).unwrap();
    let further = FurtherBlobs { phases: store.phase_blobs(FIRST).unwrap(), histograms: Vec::new() };
    other.import_shared(&result(FIRST, 1), &rows[0], &further, DESTINATION).unwrap();
    assert_eq!(other.intervals(FIRST).unwrap(), store.intervals(FIRST).unwrap());
    assert_eq!(other.unpushed(DESTINATION).unwrap(), [""; 0]);
    assert_eq!(other.ids_with_result().unwrap(), [FIRST.to_owned()].into());
    assert_eq!(other.query("SELECT tag FROM run_tag").unwrap().rows, [[QueryCell::Text("nightly".to_owned())]]);
}

// Protects: a damaged series of a shared database is refused before anything is stored.
#[test]
fn damaged_series_are_refused() {
    let store = with_two_runs();
    let row = &store.list(&Filter::default()).unwrap()[0];
    let mut other = Store::open_in_memory().unwrap();
    for blob in [&b""[..], b"\x09", b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"] {
        let mut further = FurtherBlobs { phases: store.phase_blobs(SECOND).unwrap(), histograms: Vec::new() };
        further.phases[0].series[0].data = blob.to_vec();
        other.import_shared(&result(SECOND, 2), row, &further, DESTINATION).unwrap_err();
        assert!(other.ids_with_result().unwrap().is_empty(), "{blob:?}");
    }
}

// Protects: a tag or mark that a user adds later is pushed, too, once.
#[test]
fn a_later_tag_or_mark_waits_for_the_next_push() {
    let mut store = with_two_runs();
    let note = |store: &mut Store| {
        store.note_pushed(FIRST, DESTINATION).unwrap();
        store.note_pushed(SECOND, DESTINATION).unwrap();
    };
    let mark = Mark {
        id: "018f0000-0000-7000-8000-00000000aaaa".to_owned(),
        kind: MarkKind::Retraction,
        reason: "wrong disk".to_owned(),
        at: 1,
        author: "ann@box".to_owned(),
    };
    note(&mut store);
    store.tag(FIRST, "a", TagChange::Remove).unwrap();
    assert_eq!(store.unpushed(DESTINATION).unwrap(), [""; 0], "nothing was removed");
    store.tag(FIRST, "a", TagChange::Add).unwrap();
    assert_eq!(store.unpushed(DESTINATION).unwrap(), [FIRST]);
    note(&mut store);
    assert_eq!(store.mark("1b", &mark).unwrap(), SECOND);
    assert_eq!(store.unpushed(DESTINATION).unwrap(), [SECOND]);
    note(&mut store);
    store.tag(FIRST, "a", TagChange::Add).unwrap();
    store.mark(SECOND, &mark).unwrap();
    assert_eq!(store.unpushed(DESTINATION).unwrap(), [""; 0], "both are known");
    let rows = store.list(&Filter::default()).unwrap();
    assert_eq!(rows[0].retraction(), Some(&mark));
    assert_eq!(rows[1].retraction(), None);
    for reason in ["", " ", "two\nlines", &"x".repeat(5000)] {
        assert!(store.mark(FIRST, &Mark { reason: reason.to_owned(), ..mark.clone() }).is_err(), "{reason:?}");
    }
}

// Protects: a run leaves with every row, its exact document and the hash of that, after the rows that it refers to.
#[test]
fn a_run_leaves_with_all_its_rows() {
    let store = with_two_runs();
    let run = store.local_run(FIRST).unwrap();
    assert_eq!(run.document, json::to_string(&result(FIRST, 1)).unwrap());
    let hash = store.query(&format!("SELECT blake3 FROM artifact WHERE run_id = '{FIRST}'")).unwrap();
    assert_eq!(hash.rows, [[QueryCell::Text(run.blake3.clone())]]);
    let rows = |name: &str| -> Vec<Value> {
        let table = run.tables.iter().find(|table| table.name == name).unwrap();
        json::from_str(&table.rows).unwrap()
    };
    for name in
        ["machine", "environment", "target", "metric", "run", "run_target", "phase", "value", "histogram", "series"]
    {
        assert!(!rows(name).is_empty(), "{name}");
    }
    assert_eq!(rows("run")[0]["id"], FIRST);
    assert!(rows("machine")[0]["facts"].is_object(), "JSON stays JSON");
    let blob = rows("histogram")[0]["hdr"].as_str().unwrap().to_owned();
    assert!(blob.starts_with("\\x1c8493") && blob.len() % 2 == 0, "the cookie of HdrHistogram V2: {blob}");
    let place = |name: &str| run.tables.iter().position(|table| table.name == name).unwrap();
    assert!(
        place("machine") < place("environment") && place("environment") < place("run") && place("run") < place("value")
    );
}
