//! One interface, two databases: what is pushed is read from PostgreSQL as it is read from the local file.

use crate::common::postgres::{Postgres, store_of};
use crate::common::{CommandOutput, Home};
use plumb_postgres::{Address, Pushed, SharedStore};
use plumb_store::{DocumentKind, Filter, FurtherColumns, PageEnd, ResultStore, RunRow, RunStatus, Store, StoreError};
use std::collections::BTreeSet;

/// Fills a home with tagged runs of two workloads on two devices, and pushes all of them.
fn filled(server: &Postgres) -> Home {
    let home = Home::new();
    for (work, place, name) in [
        ("random-read", "sim:ssd", "before"),
        ("random-read", "sim:hdd", "after"),
        ("random-write", "sim:ssd", "before"),
        ("random-read", "sim:ssd", "before"),
        ("random-read", "sim:hdd", "after"),
    ] {
        home.plumb(&format!("run {work} --at {place} --set time=300ms --set size=64MiB --name {name}")).expect(0);
    }
    home.plumb_args(["push", "--to", &server.url("owner")]).expect(0);
    home
}

// Protects a push that goes on while the owner deletes old runs: rows that runs share are inserted again once they are gone.
#[test]
fn shared_rows_that_were_deleted_are_pushed_again() {
    let Some(server) = Postgres::start() else { return };
    let home = filled(&server);
    let store = Store::open(&store_of(&home)).unwrap();
    let runs: Vec<String> = store.list(&Filter::default()).unwrap().into_iter().map(|row| row.id).collect();
    let address = Address::parse(&server.url("owner"), None).unwrap();
    let mut shared = SharedStore::open_to_push(&address).unwrap();
    for _ in 0..2 {
        server.sql("admin", "TRUNCATE plumb.run, plumb.machine, plumb.environment, plumb.target CASCADE");
        for run in &runs {
            assert_eq!(shared.push(&store.local_run(run).unwrap()).unwrap(), Pushed::Added, "{run}");
        }
    }
    let count = "SELECT count(*) > 0 FROM plumb.run JOIN plumb.environment ON environment.id = environment_id";
    assert_eq!(server.sql("admin", count), "t");
}

/// Runs a command on both databases, and requires equal outcomes.
#[track_caller]
fn alike(home: &Home, url: &str, words: &[&str]) -> CommandOutput {
    let local = home.plumb_args(words);
    let shared = home.plumb_args(words.iter().copied().chain(["--db", url]));
    assert_eq!((shared.code, &shared.out), (local.code, &local.out), "{words:?}\n{}", shared.err);
    shared
}

// Protects: every command that reads results answers the same from both databases.
#[test]
fn commands_read_both_databases_alike() {
    let Some(server) = Postgres::start() else { return };
    let home = filled(&server);
    let url = server.url("owner");
    for words in [
        "list",
        "list --json",
        "list --tag before",
        "list --tag none",
        "show last",
        "show last --json",
        "show last~1 -v",
        "show last --plot",
        "show last --diff last~1",
        "show last --diff last~1 -v --json",
        "show last~9",
        "show no-such-run",
        "export",
        "export --csv",
        "export last --ndjson",
        "export last --anonymise",
        "report last",
        "report tag:before",
        "report last last~1",
        "compare --from-store before after",
        "compare --from-store --json 'tag:before work:random-read' 'SELECT run_id FROM run_tag WHERE tag = ''after'''",
        "compare --from-store tag:none after",
        "compare --from-store before nothing",
        "gate tag:before tag:after",
        "study list",
        "query 'SELECT count(*) AS runs FROM run'",
        "query --json 'SELECT name, count(*) AS runs FROM run GROUP BY name ORDER BY name'",
        "query 'DELETE FROM run'",
    ] {
        alike(&home, &url, &shlex::split(words).unwrap().iter().map(String::as_str).collect::<Vec<_>>());
    }
    home.plumb("key").expect(0);
    for words in ["export last --bundle NAME.plumb", "site NAME --all"] {
        for (name, db) in [("local", ""), ("team", url.as_str())] {
            let words = words.replace("NAME", name);
            let db = if db.is_empty() { Vec::new() } else { vec!["--db", db] };
            home.plumb_args(words.split(' ').chain(db)).expect(0);
        }
    }
    home.plumb("verify team.plumb").expect(0);
    let bundle = |name: &str| std::fs::read(home.work().join(format!("{name}.plumb"))).unwrap();
    assert!(bundle("team") == bundle("local"), "the same run is the same bundle");
    let index = |name: &str| std::fs::read_to_string(home.work().join(name).join("index.html")).unwrap();
    assert_eq!(index("team"), index("local"));
    let list = home.plumb("list --json").expect(0).json();
    let id = list[0]["id"].as_str().unwrap();
    for part in [id, &id[..13], &id[24..], &id.to_uppercase()[24..]] {
        alike(&home, &url, &["show", part, "--json"]).expect(0);
    }
    home.plumb("list").expect(0);
    let of_environment = home.command(["list"]).env("PLUMB_DB", &url).output().unwrap();
    assert_eq!(String::from_utf8(of_environment.stdout).unwrap(), home.plumb("list").expect(0).out);
}

// Protects: a command that stores something refuses a team's database before it measures, and says how results get there.
#[test]
fn commands_that_write_refuse_the_database_of_a_team() {
    let home = Home::new();
    let address = "postgres://me@/results?host=/nonexistent";
    for words in [
        "run random-read --at sim:ssd --set time=200ms",
        "tag last nightly",
        "import nothing.json",
        "noise sim:ssd",
        "as fio --name=a --rw=read --size=1m --filename=f",
        "push --to postgres://me@/results?host=/nonexistent",
        "pull --from postgres://me@/results?host=/nonexistent",
    ] {
        let words = shlex::split(words).unwrap();
        let output = CommandOutput::run({
            let mut command = home.command(&words);
            command.env("PLUMB_DB", address);
            command
        });
        assert_ne!(output.code, 0, "{words:?}");
        if words[0] != "import" {
            output.expect_stderr(&["local store first", "plumb push --to"]);
        }
    }
    for (address, says) in [
        ("postgres://me:secret@h/r", "~/.pgpass"),
        ("postgres://me@/results?host=/nonexistent", "cannot connect"),
        ("postgres://me@h", "no database"),
    ] {
        let output = home.plumb_args(["list", "--db", address]).expect_stderr(&[says]);
        assert!(output.code != 0 && !output.err.contains("secret"), "{output:?}");
    }
    let output = home.command(["config", "--json"]).env("PLUMB_DB", "postgres://me:secret@h/r").output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("secret"));
}

/// Both databases with the same runs.
fn opened(server: &Postgres, home: &Home) -> [Box<dyn ResultStore>; 2] {
    let address = Address::parse(&server.url("owner"), None).unwrap();
    [Box::new(Store::open_to_read(&store_of(home)).unwrap()), Box::new(SharedStore::open_to_read(&address).unwrap())]
}

/// Returns the ids that a filter selects, in both databases.
#[track_caller]
fn selected(stores: &[Box<dyn ResultStore>; 2], filter: &Filter) -> Vec<String> {
    let [local, shared] = stores.each_ref().map(|store| store.list(filter).unwrap());
    assert_eq!(shared, local, "{filter:?}");
    local.into_iter().map(|row| row.id).collect()
}

// Protects: each condition of a filter selects the same runs in both databases, some and not all of them, and pages join
// without gaps.
#[test]
fn filters_select_alike() {
    let Some(server) = Postgres::start() else { return };
    let home = filled(&server);
    let stores = opened(&server, &home);
    let all = stores[0].list(&Filter::default()).unwrap();
    assert_eq!(all.len(), 5);
    let host = all[0].host.clone().unwrap();
    let started = |row: &RunRow| stores[0].run_numbers(std::slice::from_ref(&row.id)).unwrap()[0].started_ns;
    let middle = Some(started(&all[2]));
    let text = |text: &str| Some(text.to_owned());
    for (filter, count) in [
        (Filter { tag: text("after"), ..Filter::default() }, 2),
        (Filter { workload: text("random-write"), ..Filter::default() }, 1),
        (Filter { path: all[0].paths.first().cloned(), ..Filter::default() }, 2),
        (Filter { since_ns: middle, ..Filter::default() }, 3),
        (Filter { until_ns: middle, ..Filter::default() }, 2),
        (Filter { ids: Some(vec![all[1].id.clone(), all[4].id.clone()]), ..Filter::default() }, 2),
        (Filter { ids: Some(Vec::new()), ..Filter::default() }, 0),
        (Filter { text: text("RANDOM-W"), ..Filter::default() }, 1),
        (Filter { text: text("AFTE"), ..Filter::default() }, 2),
        (Filter { text: text("r_ndom"), ..Filter::default() }, 0),
        (Filter { text: text(&host), ..Filter::default() }, 5),
        (Filter { host: text(&host), ..Filter::default() }, 5),
        (Filter { host: text("elsewhere"), ..Filter::default() }, 0),
        (Filter { kernel: text("0.0"), ..Filter::default() }, 0),
        (Filter { filesystem: text("none"), ..Filter::default() }, 0),
        (Filter { model: text("none"), ..Filter::default() }, 0),
        (Filter { tool: text("fio"), ..Filter::default() }, 0),
        (Filter { tool: text("plumb"), ..Filter::default() }, 5),
        (Filter { text: text("after random-w nonsense"), ..Filter::default() }, 0),
        (Filter { text: text("PLUMB random"), ..Filter::default() }, 5),
        (Filter { study: text(&all[0].id), ..Filter::default() }, 0),
        (Filter { status: Some(RunStatus::Failed), ..Filter::default() }, 0),
        (Filter { status: Some(RunStatus::Ok), verdict: all[0].verdict, limit: Some(1), ..Filter::default() }, 1),
        (Filter { tag: text("'; DROP TABLE run; --"), ..Filter::default() }, 0),
    ] {
        assert_eq!(selected(&stores, &filter).len(), count, "{filter:?}");
    }
    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = selected(&stores, &Filter { after: after.take(), limit: Some(2), ..Filter::default() });
        let Some(last) = page.last() else { break };
        let last = all.iter().find(|row| row.id == *last).unwrap();
        after = Some(PageEnd { started_ns: started(last), id: last.id.clone() });
        pages.extend(page);
    }
    assert_eq!(pages, all.iter().map(|row| row.id.clone()).collect::<Vec<_>>());
}

// Protects: the queries that commands are built of answer alike, also for runs that do not exist and hostile texts.
#[test]
fn queries_answer_alike() {
    let Some(server) = Postgres::start() else { return };
    let home = filled(&server);
    let stores = opened(&server, &home);
    let all: Vec<String> = stores[0].list(&Filter::default()).unwrap().into_iter().map(|row| row.id).collect();
    let both = |answer: &dyn Fn(&dyn ResultStore) -> String| {
        let [local, shared] = stores.each_ref().map(|store| answer(&**store));
        assert_eq!(shared, local);
        local
    };
    for text in ["", "last", "last~2", "last~9", "%", "_", "'", "\u{0}", "ffffffff", &all[0], &all[0][..8], "0"] {
        both(&|store| match store.find(text) {
            Ok(id) => id,
            Err(StoreError::Ambiguous { candidates, .. }) => candidates.join(" "),
            Err(StoreError::NotFound { text, .. }) => text,
            Err(other) => panic!("{text:?}: {other}"),
        });
    }
    for run in &all {
        both(&|store| format!("{:?}", store.get(run).unwrap()));
        both(&|store| format!("{:?}", store.intervals(run).unwrap()));
        let [local, shared] = stores.each_ref().map(|store| store.result_text(run).unwrap());
        assert_eq!(shared, local, "an export repeats the stored text to the byte");
    }
    let intervals = stores[1].intervals(&all[0]).unwrap();
    assert!(intervals.iter().any(|phase| !phase.intervals.is_empty()), "series are pushed");
    both(&|store| format!("{:?}", store.tidy(&all, &FurtherColumns::default()).unwrap()));
    both(&|store| format!("{:?}", store.history(&Filter::default(), "read.iops").unwrap()));
    let limited = Filter { limit: Some(2), tag: Some("before".to_owned()), ..Filter::default() };
    both(&|store| format!("{:?}", store.history(&limited, "read.iops").unwrap()));
    let missing = "018f0000-0000-7000-8000-000000000000".to_owned();
    both(&|store| format!("{:?}", store.run_numbers(std::slice::from_ref(&missing)).unwrap()));
    for kind in [DocumentKind::Comparison, DocumentKind::Sweep, DocumentKind::Repeat, DocumentKind::Conformance] {
        both(&|store| format!("{:?}", store.document_text(kind, &missing).unwrap()));
        both(&|store| format!("{:?}", store.newest_document(kind, Some(&missing)).unwrap()));
        both(&|store| format!("{:?}", store.matching_documents(kind, "x'%").unwrap()));
    }
    both(&|store| format!("{:?}", store.study_places(&all).unwrap()));
    let metrics = stores.each_ref().map(|store| {
        BTreeSet::from_iter(
            store.metrics().unwrap().into_iter().map(|metric| (metric.name, metric.unit, metric.better)),
        )
    });
    assert!(metrics[1].is_subset(&metrics[0]) && !metrics[1].is_empty());
    for sql in ["SELECT", "nonsense", "SELECT 1; SELECT 2", "SELECT 1) AS a, (SELECT 2", "SELECT $1", "COMMIT"] {
        for store in &stores {
            assert!(store.query(sql).is_err(), "{sql} on {}", store.location().display());
        }
    }
}

// Protects: a query can neither write nor run on without end, and its answer is limited.
#[test]
fn queries_of_a_team_only_read() {
    let Some(server) = Postgres::start() else { return };
    let home = filled(&server);
    let url = server.url("owner");
    let query = |sql: &str| home.plumb_args(["query", sql, "--db", &url]);
    for sql in [
        "DELETE FROM plumb.run",
        "DELETE FROM plumb.run RETURNING id",
        "WITH gone AS (DELETE FROM plumb.run RETURNING id) SELECT * FROM gone",
        "CREATE TABLE x (id int)",
        "SELECT 1 INTO x",
        "COMMIT",
        "SET TRANSACTION READ WRITE",
        "SELECT plumb.ensure_month('018f0000-0000-7000-8000-000000000000')",
        "COPY plumb.run TO '/tmp/x'",
        "SELECT 1; DELETE FROM plumb.run",
        "SELECT 1) AS a (b); DELETE FROM plumb.run; --",
    ] {
        query(sql).expect(2);
    }
    let within = ["--db", &url, "--timeout", "1s"];
    home.plumb_args(["query", "SELECT pg_sleep(60)"].iter().chain(&within)).expect(2).expect_stderr(&["time limit"]);
    query("SELECT repeat('x', 100000000)").expect(2).expect_stderr(&["larger than 64 MiB"]);
    query("SELECT repeat('x', 1000000) FROM generate_series(1, 1000)").expect(2).expect_stderr(&["the answer"]);
    query("SELECT count(*) FROM run").expect(0).expect_stdout(&["5"]);
    home.plumb_args(["query", "--db", &url]).expect(0).expect_stdout(&["document", "run_tag"]);
    assert_eq!(server.sql("admin", "SELECT count(*) FROM plumb.run"), "5");
}
