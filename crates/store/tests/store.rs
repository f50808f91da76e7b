//! Stored data comes back unchanged, and foreign files are not touched.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use common::{FIRST, SECOND, environment, intervals, measurement, result, started, targets};
use plumb_result::compare::{COMPARE_SCHEMA, Comparison, Contrast, Replicate};
use plumb_result::{ContrastVerdict, Metric, RunVerdict};
use plumb_result::{NOISE_SCHEMA, Noise, NoiseFloor};
use plumb_store::{
    Filter, FurtherColumns, NoiseIn, NoiseWork, Partial, QueryCell, QueryLimits, ResultStore, RunStatus,
    SCHEMA_VERSION, Store, StoreError, StudyPlotState, StudyRunStatus, TagChange,
};
use plumb_workload::OpKind;
use serde::Serialize;
use std::fs;
use std::path::Path;
use strum::VariantArray;

fn with_two_runs() -> Store {
    let mut store = Store::open_in_memory().unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    store.finish_run(&result(SECOND, 2), &measurement()).unwrap();
    store
}

fn number(store: &Store, sql: &str) -> i64 {
    match store.query(sql).unwrap().rows[0][0] {
        QueryCell::Integer(number) => number,
        ref other => panic!("{other:?} is not an integer"),
    }
}

// Protects stored data: a status has the same name in the schema's CHECK, in documents and on pages.
#[test]
fn statuses_have_one_name() {
    fn agree<T: VariantArray + Serialize + Copy + Into<&'static str>>(store: &Store, table: &str) {
        let sql = format!("SELECT sql FROM sqlite_schema WHERE name = '{table}'");
        let rows = store.query(&sql).unwrap().rows;
        let QueryCell::Text(schema) = &rows[0][0] else { panic!("{table}") };
        for &status in T::VARIANTS {
            let name: &str = status.into();
            assert!(schema.contains(&format!("'{name}'")), "{name}: {schema}");
            assert_eq!(serde_json::to_value(status).unwrap(), name);
        }
    }
    let store = Store::open_in_memory().unwrap();
    agree::<RunStatus>(&store, "run");
    agree::<StudyRunStatus>(&store, "study_run");
    agree::<StudyPlotState>(&store, "study_plot");
}

#[test]
fn a_new_file_gets_the_schema_and_an_old_one_keeps_its_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("not/yet/there/plumb.db");
    let mut store = Store::open(&path).unwrap();
    assert_eq!(number(&store, "SELECT user_version FROM pragma_user_version"), SCHEMA_VERSION);
    assert_eq!(number(&store, "SELECT count(*) FROM metric"), Metric::all().len() as i64);
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    drop(store);
    let again = Store::open(&path).unwrap();
    assert_eq!(again.get(FIRST).unwrap(), result(FIRST, 1));
}

#[test]
fn a_metric_missing_from_the_file_is_added() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plumb.db");
    drop(Store::open(&path).unwrap());
    let older = rusqlite::Connection::open(&path).unwrap();
    older.execute_batch("UPDATE metric SET name = 'write.old' WHERE name = 'write.bw'").unwrap();
    drop(older);
    let mut store = Store::open(&path).unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM metric WHERE name IN ('write.old', 'write.bw')"), 2);
}

/// Each Plumb process looks for killed runs, and must not scan every stored run.
#[test]
fn killed_runs_are_found_by_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plumb.db");
    let mut store = Store::open(&path).unwrap();
    started(FIRST, |start| store.begin_run(start)).unwrap();
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql = "EXPLAIN QUERY PLAN SELECT id, owner FROM run WHERE status = 'running' ORDER BY id";
    let plan: String = connection.query_row(sql, [], |row| row.get("detail")).unwrap();
    assert!(plan.contains("run_by_running"), "{plan}");
}

#[test]
fn a_result_comes_back_bit_for_bit() {
    let store = with_two_runs();
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
    assert!(matches!(store.get("018f"), Err(StoreError::Ambiguous { .. })));
}

#[test]
fn a_run_is_visible_while_it_runs_and_finishing_completes_its_row() {
    let mut store = Store::open_in_memory().unwrap();
    started(FIRST, |start| store.begin_run(start)).unwrap();
    let row = &store.list(&Filter::default()).unwrap()[0];
    assert_eq!((row.status, row.verdict), (RunStatus::Running, None));
    assert!(matches!(store.get(FIRST), Err(StoreError::NoResult { status, .. }) if status == "running"));
    let partial = Partial { phase: 1, name: "seq-write", intervals: &intervals(0, 3) };
    store.heartbeat(FIRST, &partial).unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();

    let row = &store.list(&Filter::default()).unwrap()[0];
    assert_eq!((row.status, row.verdict), (RunStatus::Ok, Some(RunVerdict::Caution)));
    assert_eq!(row.command, "plumb run seq.toml");
    assert_eq!(row.started_at, "2024-05-01T12:00:01.123456789Z");
    assert_eq!((row.wall_ns, &row.paths[..]), (Some(3_000_000_000), &["/mnt/data".to_owned()][..]));
    assert_eq!(number(&store, "SELECT count(*) FROM heartbeat"), 0);
    // Storing a result twice gives one run, not two.
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM run"), 1);
}

#[test]
fn a_run_begins_once() {
    let mut store = with_two_runs();
    let again = started(FIRST, |start| store.begin_run(start));
    assert!(matches!(again, Err(StoreError::Begun { status, .. }) if status == "ok"));
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
}

#[test]
fn a_run_that_a_signal_ended_is_aborted_with_its_result() {
    let mut store = Store::open_in_memory().unwrap();
    let partial = plumb_result::RunResult { partial: true, ..result(FIRST, 1) };
    store.finish_run(&partial, &measurement()).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap()[0].status, RunStatus::Aborted);
    assert_eq!(store.get("last").unwrap(), partial);
}

#[test]
fn a_failed_run_keeps_its_reason_and_measurements() {
    let mut store = Store::open_in_memory().unwrap();
    started(FIRST, |start| store.begin_run(start)).unwrap();
    for (phase, from) in [(1, 0), (1, 3), (2, 0)] {
        let intervals = intervals(from, 3);
        store
            .heartbeat(FIRST, &Partial { phase, name: ["fill", "read"][phase as usize - 1], intervals: &intervals })
            .unwrap();
    }
    store.fail_run(FIRST, "EIO on sda").unwrap();
    let row = &store.list(&Filter::default()).unwrap()[0];
    assert_eq!((row.status, row.reason.as_deref()), (RunStatus::Failed, Some("EIO on sda")));
    let phases = store.intervals(FIRST).unwrap();
    assert_eq!(phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["fill", "read"]);
    assert_eq!(phases[0].intervals, intervals(0, 6));
    assert_eq!(phases[1].intervals, intervals(0, 3));
}

#[test]
fn intervals_and_histograms_survive() {
    let store = with_two_runs();
    assert_eq!(store.intervals(FIRST).unwrap()[0].intervals, measurement().phases[0].intervals);
    // Empty histograms are not stored, because nothing was measured.
    let table = store.query(&format!("SELECT op, kind, hdr FROM histogram WHERE run_id = '{FIRST}'")).unwrap();
    assert_eq!(table.rows.len(), 1);
    let hdr = measurement().phases[0].ops[&OpKind::Write].service.to_hdr_v2().unwrap();
    assert_eq!(
        table.rows[0][..],
        [QueryCell::Text("write".into()), QueryCell::Text("service".into()), QueryCell::Blob(hdr)]
    );
}

#[test]
fn missing_measurements_are_null_and_zero_is_zero() {
    let store = with_two_runs();
    let value = |metric: &str| {
        let sql = format!("SELECT value FROM result WHERE run = '{FIRST}' AND metric = '{metric}'");
        store.query(&sql).unwrap().rows.remove(0).remove(0)
    };
    assert_eq!(value("write.lat.p99.99"), QueryCell::Null);
    assert_eq!(value("write.lat.p99"), QueryCell::Real(0.0));
    assert_eq!(value("write.bw"), QueryCell::Real(123_456_789.12345679));
}

#[test]
fn a_check_may_concern_several_phases() {
    assert_eq!(number(&with_two_runs(), "SELECT count(*) FROM check_result WHERE code = 'A3'"), 4);
}

#[test]
fn equal_facts_are_one_row_regardless_of_free_space() {
    let mut store = with_two_runs();
    let mut third = result("018f0000-0000-7000-8000-00000000002c", 3);
    third.target = targets(100);
    third.environment.facts.insert("now.loadavg".to_owned(), "8.15".to_owned());
    store.finish_run(&third, &measurement()).unwrap();
    let counts = |store: &Store| {
        ["machine", "environment", "target"].map(|table| number(store, &format!("SELECT count(*) FROM {table}")))
    };
    assert_eq!(counts(&store), [1, 1, 1]);
    assert_eq!(number(&store, "SELECT count(DISTINCT free_bytes) FROM run_target"), 2);
    // Another kernel is another environment on the same machine, and the stack below it another target.
    let mut fourth = result("018f0000-0000-7000-8000-00000000003d", 4);
    fourth.environment.kernel = "6.12.0".to_owned();
    store.finish_run(&fourth, &measurement()).unwrap();
    assert_eq!(counts(&store), [1, 2, 2]);
}

#[test]
fn a_run_is_found_by_either_end_of_its_id_and_never_guessed() {
    let store = with_two_runs();
    assert_eq!(store.find("last").unwrap(), SECOND);
    assert_eq!(store.find("last~0").unwrap(), SECOND);
    assert_eq!((store.find("last~1").unwrap(), store.find("last~").unwrap()), (FIRST.to_owned(), FIRST.to_owned()));
    for none in ["last~2", "last~-1", "last~+1", "last~x", "last~99999999999", "last1"] {
        assert!(matches!(store.find(none), Err(StoreError::NotFound { .. })), "{none}");
    }
    assert_eq!(store.find(FIRST).unwrap(), FIRST);
    assert_eq!(store.find("0a").unwrap(), FIRST);
    assert_eq!(store.find("018F0000-0000-7000-8000-00000000001").unwrap(), SECOND);
    let Err(StoreError::Ambiguous { candidates, .. }) = store.find("018f") else { panic!("guessed") };
    assert_eq!(candidates, [SECOND, FIRST]);
    for nothing in ["", "%", "_18f", "ffff"] {
        assert!(matches!(store.find(nothing), Err(StoreError::NotFound { .. })), "{nothing:?}");
    }
    assert!(matches!(Store::open_in_memory().unwrap().find("last"), Err(StoreError::NotFound { .. })));
}

#[test]
fn tags_filter_lists_and_can_be_removed() {
    let mut store = with_two_runs();
    store.tag("0a", "before", TagChange::Add).unwrap();
    store.tag("0a", "before", TagChange::Add).unwrap();
    store.tag("0a", "raid4", TagChange::Add).unwrap();
    let tagged = Filter { tag: Some("before".to_owned()), ..Filter::default() };
    let rows = store.list(&tagged).unwrap();
    assert_eq!((rows.len(), rows[0].id.as_str()), (1, FIRST));
    assert_eq!(rows[0].tags, ["before", "raid4"]);
    store.tag("0a", "before", TagChange::Remove).unwrap();
    assert!(store.list(&tagged).unwrap().is_empty());
    for bad in ["", "a b", "a,b", "a\u{1f}b"] {
        assert!(matches!(store.tag("0a", bad, TagChange::Add), Err(StoreError::Tag { .. })), "{bad:?}");
    }
}

#[test]
fn lists_are_newest_first_and_filters_combine() {
    let store = with_two_runs();
    let ids = |filter: &Filter| store.list(filter).unwrap().into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(&Filter::default()), [SECOND, FIRST]);
    assert_eq!(ids(&Filter { limit: Some(1), ..Filter::default() }), [SECOND]);
    let caution = Filter { verdict: Some(RunVerdict::Caution), workload: Some("seq".to_owned()), ..Filter::default() };
    assert_eq!(ids(&caution).len(), 2);
    assert!(ids(&Filter { status: Some(RunStatus::Failed), ..caution }).is_empty());
}

#[test]
fn a_diff_names_only_what_differs() {
    let mut store = with_two_runs();
    assert!(store.diff(FIRST, SECOND).unwrap().is_empty());
    let mut third = result("018f0000-0000-7000-8000-00000000002c", 3);
    third.environment.facts.insert("vm.dirty_ratio".to_owned(), "40".to_owned());
    third.phases[0].metrics.get_mut(&Metric::bandwidth(OpKind::Write)).unwrap().value = None;
    store.finish_run(&third, &measurement()).unwrap();
    let found = store.diff(FIRST, "2c").unwrap();
    let facts: Vec<_> = found.iter().map(|d| (d.fact.as_str(), d.left.as_deref(), d.right.as_deref())).collect();
    assert_eq!(
        facts,
        [
            ("environment.facts.vm.dirty_ratio", Some("20"), Some("40")),
            ("phases.seq-write, \"cold\".metrics.write.bw.value", Some("123456789.12345679"), None),
        ]
    );
}

#[test]
fn a_query_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plumb.db");
    let mut in_file = Store::open(&path).unwrap();
    in_file.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    let other = directory.path().join("other.db");
    let attach = format!("ATTACH '{}' AS other", other.display());
    for store in [&in_file, &with_two_runs()] {
        for sql in [
            "DELETE FROM run",
            "UPDATE run SET verdict = 'pass' RETURNING id",
            "WITH x AS (SELECT 1) INSERT INTO run_tag SELECT id, 'x' FROM run",
            "PRAGMA user_version = 99",
            "PRAGMA journal_mode = DELETE",
            "DROP TABLE run",
            "BEGIN",
            &attach,
        ] {
            let refused = store.query(sql);
            assert!(
                matches!(refused, Err(StoreError::WouldWrite { .. } | StoreError::Query { .. })),
                "{sql}: {refused:?}"
            );
        }
        assert!(matches!(store.query("SELECT 1; DELETE FROM run"), Err(StoreError::Query { .. })));
        assert!(matches!(store.query("SELEC 1"), Err(StoreError::Query { .. })));
        assert!(store.get("0a").is_ok());
        assert_eq!(number(store, "SELECT user_version FROM pragma_user_version"), SCHEMA_VERSION);
    }
    assert!(!other.exists());
    let table = in_file.query("SELECT 1 AS one, 0.5 AS half, NULL AS missing, 'x' AS text, x'00ff' AS bytes").unwrap();
    assert_eq!(
        plumb_document::json::to_string(&table).unwrap(),
        r#"{"columns":["one","half","missing","text","bytes"],"rows":[[1,0.5,null,"x","00ff"]]}"#
    );
    // The store can still write after a rejected in-memory query.
    let mut memory = with_two_runs();
    memory.query("DELETE FROM run").unwrap_err();
    memory.tag("0a", "still", TagChange::Add).unwrap();
}

#[test]
fn csv_is_tidy_and_shows_runs_without_numbers() {
    let mut store = Store::open_in_memory().unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    store.tag(FIRST, "b", TagChange::Add).unwrap();
    store.tag(FIRST, "a", TagChange::Add).unwrap();
    started(SECOND, |start| store.begin_run(start)).unwrap();
    let run = format!("{FIRST},2024-05-01T12:00:01.123456789Z,seq,ok,caution,a b,\"seq-write, \"\"cold\"\"\"");
    let expected = [
        "run,started,workload,status,verdict,tags,phase,metric,value,unit,better,tier,device_share".to_owned(),
        format!("{run},write.bw,123456789.12345679,B/s,higher,mixed,0.9"),
        format!("{run},write.lat.p99,0,ns,lower,,"),
        format!("{run},write.lat.p99.99,,ns,lower,,"),
        format!("{SECOND},2024-05-01T12:00:00Z,seq,running,,,,,,,,,"),
        String::new(),
    ];
    assert_eq!(
        store.tidy(&["0a".to_owned(), "1b".to_owned()], &FurtherColumns::default()).unwrap().csv(),
        expected.join("\r\n")
    );
}

#[test]
fn json_export_is_what_was_stored() {
    let store = with_two_runs();
    let text = store.export_json(&[FIRST.to_owned(), SECOND.to_owned()]).unwrap();
    let back: Vec<plumb_result::RunResult> = plumb_document::json::from_str(&text).unwrap();
    assert_eq!(back, [result(FIRST, 1), result(SECOND, 2)]);
    assert_eq!(store.export_json(&[]).unwrap(), "[]\n");
}

#[test]
fn a_comparison_is_stored_whole_and_as_conclusions() {
    let contrast = Contrast {
        metric: Metric::bandwidth(OpKind::Write),
        phase: "seq-write".to_owned(),
        baseline: "A".to_owned(),
        candidate: "B".to_owned(),
        baseline_value: Some(1.0),
        candidate_value: Some(1.31),
        baseline_cv: None,
        candidate_cv: None,
        ratio: Some(1.31),
        lo: Some(1.24),
        hi: Some(1.39),
        confidence: 0.95,
        p: Some(0.001),
        p_adjusted: Some(0.002),
        p_sign_flip: Some(0.0078125),
        verdict: ContrastVerdict::Faster,
        blocks: 8,
        blocks_needed: None,
        workload: Some("stream-write".to_owned()),
        unit: Replicate::Block,
        note: None,
        capped: None,
        floor: None,
        baseline_tier: None,
        candidate_tier: None,
        baseline_modes: Vec::new(),
        candidate_modes: Vec::new(),
        outliers: Vec::new(),
        without_outliers: None,
        rejected: false,
        unseen: None,
    };
    let open = Contrast { ratio: None, lo: None, hi: None, verdict: ContrastVerdict::CannotTell, ..contrast.clone() };
    let comparison = Comparison {
        schema: COMPARE_SCHEMA.to_owned(),
        verdict_note: String::new(),
        contrasts: vec![contrast, open],
        tails: Vec::new(),
        differences: Vec::new(),
        confounded: false,
        seed: 42,
        order: vec!["AB".to_owned()],
        runs: vec![FIRST.to_owned(), SECOND.to_owned()],
        left_out: Vec::new(),
        run_checks: Vec::new(),
        notes: Vec::new(),
        checks: Vec::new(),
        varying: None,
        plots: None,
        planned: None,
        stored: None,
        settle: None,
        under_load: Vec::new(),
    };
    let mut store = with_two_runs();
    store.save_comparison("c1", "blocked log-t/1", &comparison).unwrap();
    assert_eq!(store.comparison("c1").unwrap(), comparison);
    let table = store.query("SELECT metric, ratio, p, p_adjusted, verdict FROM conclusion ORDER BY id").unwrap();
    let text = |text: &str| QueryCell::Text(text.to_owned());
    let p = || [QueryCell::Real(0.001), QueryCell::Real(0.002)];
    let row = |ratio, verdict| [&[text("write.bw"), ratio], &p()[..], &[text(verdict)]].concat();
    assert_eq!(table.rows[0], row(QueryCell::Real(1.31), "faster"));
    assert_eq!(table.rows[1], row(QueryCell::Null, "cannot-tell"));
}

fn noise(measured_at: &str, floor: f64) -> Noise {
    Noise {
        schema: NOISE_SCHEMA.to_owned(),
        note: String::new(),
        place: "x".to_owned(),
        measured_at: measured_at.to_owned(),
        rejected: Vec::new(),
        floors: vec![NoiseFloor {
            workload: "seq".to_owned(),
            phase: "seq-write".to_owned(),
            metric: Metric::bandwidth(OpKind::Write),
            value: Some(1.0),
            cv: Some(0.01),
            floor,
            log_ratio: 0.0,
            log_half_width: floor.ln_1p(),
            blocks: 8,
            unit: Replicate::Block,
            modes: Vec::new(),
        }],
        planned: 1,
        seed: 42,
        order: Vec::new(),
        plots: 1,
        runs: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        checks: Vec::new(),
    }
}

/// Protects: the floor of another workload or place is not used for this one.
#[test]
fn the_newest_noise_floor_of_a_workload_and_place_is_found() {
    let mut store = Store::open_in_memory().unwrap();
    let first = result(FIRST, 1);
    let print = serde_json::json!({"phase": [{"name": "seq-write"}]});
    let work = NoiseWork { print: print.clone(), targets: first.target.clone() };
    let works = std::collections::BTreeMap::from([("seq".to_owned(), work)]);
    for (id, place, at, floor) in [
        ("n1", "/mnt/a", "2024-05-01T12:00:00Z", 0.03),
        ("n2", "/mnt/a", "2024-05-02T12:00:00Z", 0.02),
        ("n3", "/mnt/b", "2024-05-03T12:00:00Z", 0.01),
    ] {
        let noise = noise(at, floor);
        let kept = NoiseIn { id, place, noise: &noise, environment: &first.environment, works: &works };
        store.save_noise(&kept).unwrap();
    }
    let found = store.noise_floors("/mnt/a", &print).unwrap().unwrap();
    assert_eq!(found.floors, noise("2024-05-02T12:00:00Z", 0.02).floors);
    assert_eq!((found.measured_at.as_str(), &found.environment), ("2024-05-02T12:00:00Z", &first.environment));
    assert_eq!(found.targets, first.target);
    assert_eq!(store.noise_floors("/mnt/a", &serde_json::json!({"phase": []})).unwrap(), None);
    assert_eq!(store.noise_floors("/mnt/c", &print).unwrap(), None);
}

/// Protects users' results: a database with the first schema gains the new tables and loses no data.
#[test]
fn a_database_without_noise_floors_and_studies_gains_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    let mut store = Store::open(&path).unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    drop(store);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "DROP INDEX run_by_name; DROP INDEX run_by_environment; DROP INDEX run_target_by_target; DROP INDEX run_tag_by_tag; DROP TABLE access_token; DROP TABLE gate;
         DROP TABLE pushed_document; DROP TABLE mark; DROP TABLE pushed; DROP TABLE repeat; DROP TABLE network; DROP TABLE conformance_case; DROP TABLE conformance; DROP TABLE sweep; DROP TABLE lane; DROP TABLE latency_map; DROP TABLE study_rejected; DROP TABLE study_run; DROP TABLE study_plot; DROP TABLE study; DROP TABLE noise_floor; DROP TABLE noise;
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(raw);
    let store = Store::open(&path).unwrap();
    assert_eq!(number(&store, "SELECT user_version FROM pragma_user_version"), SCHEMA_VERSION);
    assert_eq!(number(&store, "SELECT count(*) FROM noise_floor"), 0);
    assert_eq!(number(&store, "SELECT count(*) FROM study_run"), 0);
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
}

/// A database from before network file systems had a tier keeps its values and accepts the new word.
#[test]
fn a_database_without_the_server_tier_gains_it() {
    use plumb_result::run::TierName;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    let mut store = Store::open(&path).unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    drop(store);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "DROP VIEW result; ALTER TABLE value RENAME TO kept;
         CREATE TABLE value (run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE, phase INTEGER NOT NULL DEFAULT 0,
           metric TEXT NOT NULL REFERENCES metric, scope TEXT NOT NULL DEFAULT 'all', value REAL, lo REAL, hi REAL,
           source_tier TEXT CHECK (source_tier IN ('device', 'cache', 'mixed', 'unknown')), device_share REAL,
           PRIMARY KEY (run_id, phase, metric, scope)) STRICT;
         INSERT INTO value SELECT * FROM kept; DROP TABLE kept;
         CREATE INDEX value_by_metric ON value (metric, run_id);
         CREATE VIEW result AS SELECT run.id AS run FROM run LEFT JOIN value ON value.run_id = run.id;
         ALTER TABLE study_run DROP COLUMN conformance_id;
         DROP INDEX run_by_name; DROP INDEX run_by_environment; DROP INDEX run_target_by_target; DROP INDEX run_tag_by_tag; DROP TABLE access_token; DROP TABLE gate;
         DROP TABLE pushed_document; DROP TABLE mark; DROP TABLE pushed; DROP TABLE repeat; DROP TABLE network; DROP TABLE conformance_case; DROP TABLE conformance;
         PRAGMA user_version = 7;",
    )
    .unwrap();
    drop(raw);
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
    let mut served = result(SECOND, 2);
    served.phases[0].metrics.values_mut().for_each(|value| value.tier = value.tier.and(Some(TierName::Server)));
    store.finish_run(&served, &measurement()).unwrap();
    assert_eq!(store.get(SECOND).unwrap(), served);
    assert!(number(&store, "SELECT count(*) FROM result WHERE tier = 'server'") > 0);
}

#[test]
fn a_malformed_time_is_named() {
    let malformed = plumb_result::RunResult { started_at: "yesterday".to_owned(), ..result(FIRST, 1) };
    let error = Store::open_in_memory().unwrap().finish_run(&malformed, &measurement()).unwrap_err();
    assert!(error.to_string().contains("yesterday"), "{error}");
}

/// Opens a file that must be rejected, and checks that it was not changed.
fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).unwrap();
    let error = Store::open(path).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before);
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    error
}

#[test]
fn foreign_files_are_rejected_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");

    fs::write(&path, "dear diary, this is no database at all and quite long enough to be looked at").unwrap();
    assert!(matches!(refused(&path), StoreError::Corrupt { .. }));
    fs::remove_file(&path).unwrap();

    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
    assert!(matches!(refused(&path), StoreError::Foreign { .. }));
    fs::remove_file(&path).unwrap();

    drop(Store::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 1000").unwrap();
    let error = refused(&path);
    assert!(matches!(error, StoreError::Newer { found: 1000, known: SCHEMA_VERSION, .. }), "{error}");

    assert!(matches!(Store::open(directory.path()), Err(StoreError::Open { .. })));
}

#[test]
fn damage_inside_a_file_is_reported_and_not_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let mut store = Store::open(&path).unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    drop(store);
    // Opening the database to read folds the log into the file.
    drop(Store::open_to_read(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    let after_the_header = bytes.len().min(4096);
    bytes[200..after_the_header].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    assert!(matches!(refused(&path), StoreError::Corrupt { .. }));
}

#[test]
fn the_environment_column_and_its_facts_agree() {
    let store = with_two_runs();
    let table = store.query(
        "SELECT kernel, facts ->> '$.kernel', machine.cpu FROM environment JOIN machine ON machine.id = machine_id",
    );
    assert!(table.is_err(), "both tables have facts; SQLite must ask which");
    let table = store
        .query("SELECT kernel, environment.facts ->> '$.kernel', cpu FROM environment JOIN machine ON machine.id = machine_id")
        .unwrap();
    let kernel = QueryCell::Text(environment().kernel);
    assert_eq!(table.rows, [vec![kernel.clone(), kernel, QueryCell::Text("A CPU".to_owned())]]);
}

// Regression: queries had no time or memory limits.
#[test]
fn queries_stop_at_their_limits() {
    let store = with_two_runs();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let brief = QueryLimits { time: std::time::Duration::from_millis(50), ..QueryLimits::default() };
    let error = store.query_within(&format!("{endless} SELECT count(*) FROM n"), &brief).unwrap_err();
    assert!(matches!(error, StoreError::QueryTime { .. }), "{error}");
    let small = QueryLimits { answer_bytes: 1 << 20, ..QueryLimits::default() };
    let error = store.query_within(&format!("{endless} SELECT i FROM n"), &small).unwrap_err();
    assert!(matches!(error, StoreError::QuerySize { what: "the answer", .. }), "{error}");
    let error = store.query("SELECT zeroblob(1000000000)").unwrap_err();
    assert!(matches!(error, StoreError::QuerySize { what: "a value", .. }), "{error}");
    assert_eq!(store.query("SELECT count(*) FROM run").unwrap().rows, [[QueryCell::Integer(2)]]);
}
