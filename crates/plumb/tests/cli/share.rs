//! Results that a team shares: push and pull against a real PostgreSQL.

use crate::common::ports::free_port;
use crate::common::postgres::{Postgres, store_of};
use crate::common::{CommandOutput, Home};
use plumb_postgres::SCHEMA_VERSION;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Time until another process must have come as far as a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

fn push(home: &Home, url: &str) -> CommandOutput {
    home.plumb_args(["push", "--to", url])
}

fn pull(home: &Home, url: &str, options: &[&str]) -> CommandOutput {
    home.plumb_args(["pull", "--from", url].iter().chain(options))
}

fn measure(home: &Home, name: &str) {
    home.plumb(&format!("run random-read --at sim:ssd --set time=200ms --set size=64MiB --name {name}")).expect(0);
}

/// Returns all results of a home by id.
fn results(home: &Home) -> Vec<Value> {
    let mut list = home.plumb("export").expect(0).json().as_array().unwrap().clone();
    list.sort_by_key(|result| result["id"].as_str().unwrap().to_owned());
    list
}

/// Counts the rows of every table that a push fills.
fn rows(server: &Postgres) -> String {
    let tables = "run run_tag run_target phase value histogram series check_result machine environment target metric latency_map lane";
    let counts: Vec<String> = tables.split(' ').map(|table| format!("(SELECT count(*) FROM plumb.{table})")).collect();
    server.sql("admin", &format!("SELECT concat_ws(' ', {})", counts.join(", ")))
}

// Protects: results come back as they were pushed, with tags, and a second push or pull changes nothing.
#[test]
fn results_are_pushed_once_and_pulled_equal() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url("owner");
    let here = Home::new();
    push(&here, &url).expect(0).expect_stdout(&["nothing to push"]);
    pull(&here, &url, &[]).expect(4).expect_stderr(&["schema 0", "plumb push"]);
    for name in ["one", "two"] {
        measure(&here, name);
    }
    push(&here, &url).expect(0).expect_stdout(&["2 pushed, 0 there already, 0 refused, 0 waiting", "/results"]);
    let stored = rows(&server);
    assert!(stored.split(' ').take(9).all(|count| count != "0"), "{stored}");
    push(&here, &url).expect(0).expect_stdout(&["nothing to push: all 2 runs are in"]);
    // A store that has lost its notes compares.
    rusqlite::Connection::open(store_of(&here)).unwrap().execute("DELETE FROM pushed", []).unwrap();
    push(&here, &url).expect(0).expect_stdout(&["0 pushed, 2 there already, 0 refused"]);
    assert_eq!(rows(&server), stored);
    measure(&here, "three");
    push(&here, &url).expect(0).expect_stdout(&["1 pushed, 0 there already"]);

    let there = Home::new();
    pull(&there, &url, &["--host", "no-such-host"]).expect(0).expect_stdout(&["nothing to pull"]);
    pull(&there, &url, &["--tag", "two"]).expect(0).expect_stdout(&["1 pulled, 0 here already, 0 refused"]);
    pull(&there, &url, &["--since", "2000-01-01"]).expect(0).expect_stdout(&["2 pulled, 1 here already"]);
    pull(&there, &url, &[]).expect(0).expect_stdout(&["nothing to pull: all 3 runs are"]);
    assert_eq!(results(&there), results(&here));
    there.plumb("list --tag three").expect(0).expect_stdout(&["random-read"]);
    // With the series, histograms and commands of the host that measured.
    for words in ["list --json", "show last --plot", "report last"] {
        assert_eq!(there.plumb(words).expect(0).out, here.plumb(words).expect(0).out, "{words}");
    }
    let hdr = "SELECT run_id, phase, op, kind, hex(hdr) FROM histogram ORDER BY 1, 2, 3, 4";
    assert_eq!(there.query(hdr), here.query(hdr));
    // Pulled runs are not pushed back.
    push(&there, &url).expect(0).expect_stdout(&["nothing to push"]);
    // The tables of numbers have what the documents have, and the month is that of the id.
    let stored = "(document #>> ARRAY['phases', (phase - 1)::text, 'metrics', metric, 'value'])::float8";
    let value = format!(
        "SELECT count(*) FILTER (WHERE value <> {stored}), count(*) FILTER (WHERE value = {stored}) > 20
         FROM plumb.value JOIN plumb.run ON run.id = run_id"
    );
    assert_eq!(server.sql("admin", &value), "0|t");
    let partition = "SELECT count(DISTINCT tableoid) FROM plumb.run WHERE tableoid::regclass::text
                     = 'plumb.run_' || to_char(to_timestamp(started_at / 1e9) AT TIME ZONE 'UTC', 'YYYY_MM')";
    assert_ne!(server.sql("admin", partition), "0");
}

// Protects: another result under the same id is refused with both hashes, changes nothing, stays queued, and does not
// hold up the other runs.
#[test]
fn another_result_under_the_same_id_is_refused() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url("owner");
    let (here, there) = (Home::new(), Home::new());
    measure(&here, "one");
    push(&here, &url).expect(0);
    let mut changed = results(&here)[0].clone();
    changed["partial"] = true.into();
    let file = there.file("changed.json", &changed.to_string());
    there.plumb_args(["import", file.to_str().unwrap()]).expect(0);
    measure(&there, "two");
    let pattern = regex::Regex::new("blake3 here ([0-9a-f]{64}), there ([0-9a-f]{64})").unwrap();
    for pushed in ["1 pushed", "0 pushed"] {
        let output = push(&there, &url).expect(4).expect_stdout(&[pushed, "1 refused, 0 waiting"]);
        let hashes = pattern.captures(&output.err).unwrap_or_else(|| panic!("{}", output.err));
        assert_ne!(hashes[1], hashes[2]);
        assert_eq!(server.sql("admin", "SELECT document_blake3 FROM plumb.run ORDER BY id LIMIT 1"), hashes[2]);
    }
    let refused = there.plumb_args(["push", "--json", "--to", &url]).expect(4).json();
    assert_eq!(refused["refused"].as_array().unwrap().len(), 1, "{refused}");
    // A pull refuses a document that is not a result.
    server
        .sql("admin", "UPDATE plumb.run SET document = '{\"schema\": \"plumb.result/1\"}' WHERE name = 'random-read'");
    pull(&Home::new(), &url, &[])
        .expect(4)
        .expect_stdout(&["0 pulled", "2 refused"])
        .expect_stderr(&["cannot be read"]);
}

// Protects: an older client touches nothing of a newer schema, and its error says how to go on. So does one that may not
// create the schema, and one that cannot connect: the runs wait.
#[test]
fn what_cannot_be_pushed_waits() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    measure(&home, "one");
    let lost = home.plumb_args(["push", "--to", "postgres://me@/results?host=/nonexistent"]);
    lost.expect(4)
        .expect_stdout(&["0 pushed", "1 waiting"])
        .expect_stderr(&["cannot connect", "1 run waits for the next"]);
    server.sql("admin", "CREATE ROLE ann LOGIN");
    push(&home, &server.url("ann")).expect(4).expect_stderr(&[
        "schema 0",
        &format!("needs {SCHEMA_VERSION}"),
        "docs/team.md",
    ]);
    push(&home, &server.url("owner")).expect(0);
    measure(&home, "two");
    push(&home, &server.url("ann")).expect(4).expect_stderr(&["permission denied", "grants plumb_writer"]);
    server.sql("admin", "INSERT INTO plumb.schema_version (version, program) VALUES (99, 'later')");
    let before = rows(&server);
    push(&home, &server.url("owner")).expect(4).expect_stderr(&[
        "schema 99",
        "newer Plumb",
        &format!("up to {SCHEMA_VERSION}"),
        "Install",
    ]);
    pull(&home, &server.url("owner"), &[]).expect(4).expect_stderr(&["schema 99"]);
    assert_eq!(rows(&server), before);
    server.sql("admin", "DELETE FROM plumb.schema_version WHERE version = 99");
    push(&home, &server.url("owner")).expect(0).expect_stdout(&["1 pushed"]);
    for (url, says) in [("postgres://u:secret@h/r", "~/.pgpass"), ("mysql://h/r", "postgres://USER@HOST/DATABASE")] {
        let output = push(&home, url).expect(2).expect_stderr(&["--to or PLUMB_PUSH_TO", says]);
        assert!(!output.err.contains("secret"), "{}", output.err);
    }
}

// Protects: two hosts that push at once, as the first ever, create schema and partitions once and lose nothing.
#[test]
fn two_hosts_push_at_once() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url("owner");
    let homes = [Home::new(), Home::new()];
    for home in &homes {
        for name in ["a", "b", "c"] {
            measure(home, name);
        }
    }
    let shared = homes[0].plumb("export last").expect(0).out;
    let file = homes[1].file("shared.json", &shared);
    homes[1].plumb_args(["import", file.to_str().unwrap()]).expect(0);
    let start = |home: &Home| {
        home.command(["push", "--to", &url]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for pushing in homes.iter().map(start).collect::<Vec<_>>() {
        let output = pushing.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(server.sql("admin", "SELECT count(*), count(DISTINCT id) FROM plumb.run"), "6|6");
    pull(&homes[0], &url, &[]).expect(0).expect_stdout(&["3 pulled, 3 here already"]);
    assert_eq!(results(&homes[0]).len(), 6);
}

// Protects: a client that is killed after the server's commit and before its own note pushes nothing twice.
#[test]
fn a_kill_after_the_commit_doubles_nothing() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url("owner");
    let home = Home::new();
    measure(&home, "one");
    push(&home, &url).expect(0);
    measure(&home, "two");
    // While the test holds the lock of the store, the client reads and pushes, and waits with its note.
    let lock = rusqlite::Connection::open(store_of(&home)).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut client = home.command(["push", "--to", &url]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while server.sql("admin", "SELECT count(*) FROM plumb.run") != "2" {
        assert!(begun.elapsed() < PATIENCE && client.try_wait().unwrap().is_none(), "the client ended too soon");
        std::thread::sleep(Duration::from_millis(5));
    }
    client.kill().unwrap();
    client.wait().unwrap();
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    assert_eq!(home.query("SELECT count(*) FROM pushed"), [[1]]);
    let stored = rows(&server);
    push(&home, &url).expect(0).expect_stdout(&["0 pushed, 1 there already, 0 refused, 0 waiting"]);
    assert_eq!(rows(&server), stored);
    push(&home, &url).expect(0).expect_stdout(&["nothing to push"]);
}

// Protects: members of the team have the rights they need and no others.
#[test]
fn writers_cannot_delete_and_readers_cannot_write() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    measure(&home, "one");
    push(&home, &server.url("owner")).expect(0);
    server.sql(
        "admin",
        "CREATE ROLE ann LOGIN; GRANT plumb_writer TO ann; CREATE ROLE bob LOGIN; GRANT plumb_reader TO bob",
    );
    measure(&home, "two");
    push(&home, &server.url("bob")).expect(4).expect_stderr(&["permission denied", "plumb_writer"]);
    // A writer may create the partitions of a month, through the owner's function alone.
    server.sql(
        "admin",
        "DO $$ DECLARE t text; BEGIN FOR t IN SELECT inhrelid::regclass FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid WHERE relkind = 'r' AND relname !~ '_other$' LOOP
        EXECUTE 'DROP TABLE IF EXISTS ' || t || ' CASCADE'; END LOOP; END $$",
    );
    push(&home, &server.url("ann")).expect(0).expect_stdout(&["1 pushed"]);
    assert_eq!(server.sql("ann", "SELECT count(*) FROM plumb.run_other"), "0");
    for sql in [
        "DELETE FROM plumb.run",
        "UPDATE plumb.run SET note = 'x'",
        "TRUNCATE plumb.value",
        "DROP TABLE plumb.run",
        "CREATE TABLE plumb.mine (id int)",
        "INSERT INTO plumb.schema_version (version, program) VALUES (2, 'x')",
    ] {
        for user in ["ann", "bob"] {
            let message = server.refuses(user, sql);
            assert!(message.contains("permission denied") || message.contains("must be owner"), "{sql}: {message}");
        }
    }
    for sql in
        ["INSERT INTO plumb.run_tag SELECT id, 'x' FROM plumb.run", "SELECT plumb.ensure_month(gen_random_uuid())"]
    {
        assert!(server.refuses("bob", sql).contains("permission denied"), "{sql}");
    }
    pull(&Home::new(), &server.url("bob"), &[]).expect(0).expect_stdout(&["1 pulled"]);
}

// Protects: over the network the server's certificate is checked, also against the name in the address.
#[test]
fn certificates_are_checked() {
    let port = free_port();
    let Some(server) = Postgres::start_with_tls(port) else { return };
    let home = Home::new();
    measure(&home, "one");
    let url = |host: &str, options: &str| format!("postgres://owner@{host}:{port}/results?{options}");
    let trusted = format!("sslmode=verify-full&sslrootcert={}", server.authority().display());
    let output = push(&home, &url("localhost", "sslmode=verify-full"));
    output.expect(4).expect_stdout(&["1 waiting"]).expect_stderr(&["cannot connect", "certificate"]);
    push(&home, &url("127.0.0.1", &trusted)).expect(4).expect_stderr(&["certificate"]);
    push(&home, &url("localhost", "sslmode=require")).expect(2).expect_stderr(&["`require`", "verify-full"]);
    push(&home, &url("localhost", &trusted)).expect(0).expect_stdout(&["1 pushed"]);
    let missing = url("localhost", "sslmode=verify-full&sslrootcert=/nonexistent");
    measure(&home, "two");
    push(&home, &missing).expect(4).expect_stderr(&["sslrootcert", "/nonexistent"]);
}

// Protects: old runs go with all their rows, only by the owner, only after a preview, and not those that are kept by a tag.
#[test]
fn old_runs_expire() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    for name in ["old", "kept", "old"] {
        measure(&home, name);
    }
    home.plumb("compare sim:ssd sim:hdd --budget 2s --for random-read").expect_measured();
    push(&home, &server.url("owner")).expect(0).expect_stdout(&["document"]);
    server.sql("admin", "CREATE ROLE ann LOGIN; GRANT plumb_writer TO ann");
    let measured = server.sql("admin", "SELECT count(*) FROM plumb.run");
    let expire = |user: &str, options: &[&str]| {
        let url = server.url(user);
        home.plumb_args(["expire", "--from", &url, "--keep", "kept"].iter().chain(options))
    };
    expire("owner", &["--before", "2020-01-01", "--yes"]).expect(0).expect_stdout(&["0 runs", "0 documents, deleted"]);
    let tomorrow = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24)).to_string();
    let old = (measured.parse::<u64>().unwrap() - 1).to_string();
    expire("ann", &["--before", &tomorrow]).expect(0).expect_stdout(&[&old, "would be deleted", "--yes"]);
    expire("ann", &["--before", &tomorrow, "--yes"]).expect(4).expect_stderr(&["only the owner"]);
    assert_eq!(server.sql("admin", "SELECT count(*) FROM plumb.run"), measured);
    expire("owner", &["--before", &tomorrow, "--yes"])
        .expect(0)
        .expect_stdout(&[&format!("{old} runs of 1 hosts"), "deleted"]);
    assert_eq!(server.sql("admin", "SELECT count(*), count(DISTINCT tag) FROM plumb.run_tag"), "1|1");
    assert_eq!(server.sql("admin", "SELECT count(*), count(DISTINCT run_id) FROM plumb.run, plumb.value"), {
        server.sql("admin", "SELECT count(*), 1 FROM plumb.value")
    });
    for table in ["document", "run_target", "phase"] {
        let count = server.sql("admin", &format!("SELECT count(*) FROM plumb.{table}"));
        assert_eq!(count, if table == "document" { "0" } else { "1" }, "{table}");
    }
    push(&home, &server.url("owner")).expect(0).expect_stdout(&["nothing to push"]);
}

// Protects: the documented commands restore a team's results in another database.
#[test]
fn documented_commands_dump_and_restore() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    measure(&home, "one");
    push(&home, &server.url("owner")).expect(0);
    server.sql("admin", "CREATE ROLE plumb_owner LOGIN");
    let page = include_str!("../../../../docs/team.md");
    let section = page.split("## Dump and restore").nth(1).unwrap().split("\n## ").next().unwrap();
    let commands: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        let output = std::process::Command::new("sh")
            .args(["-ec", command])
            .current_dir(home.work())
            .envs(server.environment())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let read = |url: &str| home.plumb_args(["export", "last", "--db", url]).expect(0).out;
    assert_eq!(read(&server.url_of("restored")), read(&server.url("owner")));
    measure(&home, "two");
    home.plumb_args(["push", "--to", &server.url_of("restored")])
        .expect(0)
        .expect_stdout(&["1 pushed, 1 there already"]);
}

// Protects: tags, notes and retractions travel in both directions, and a retracted run is left out of comparisons everywhere.
#[test]
fn a_retraction_reaches_the_team() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url("owner");
    let (here, there) = (Home::new(), Home::new());
    for name in ["a", "b", "a", "b"] {
        measure(&here, name);
    }
    push(&here, &url).expect(0);
    pull(&there, &url, &[]).expect(0).expect_stdout(&["4 pulled"]);
    for reason in ["", "two\nlines"] {
        here.plumb_args(["retract", "last", "--reason", reason]).expect(2).expect_stderr(&["one line"]);
    }
    here.plumb_args(["retract", "last", "--reason", "a backup ran"]).expect(0).expect_stdout(&["is retracted"]);
    here.plumb_args(["annotate", "last~1", "--note", "new firmware"]).expect(0);
    here.plumb("tag last~1 later").expect(0);
    here.plumb("list").expect(0).expect_stdout(&["retracted"]);
    push(&here, &url).expect(0).expect_stdout(&["0 pushed, 2 there already"]);
    push(&here, &url).expect(0).expect_stdout(&["nothing to push"]);
    pull(&there, &url, &[]).expect(0).expect_stdout(&["nothing to pull"]);
    let at = |home: &Home, words: &[&str]| home.plumb_args(words).expect(0).out;
    for words in [["list", "--json"], ["show", "last"], ["show", "last~1"], ["list", "--tag=later"]] {
        let shared = at(&here, &[words[0], words[1], "--db", &url]);
        assert_eq!(at(&here, &words), shared, "{words:?}");
        if words[0] == "show" {
            assert_eq!(at(&there, &words), shared, "{words:?}");
        }
    }
    there.plumb("show last").expect(0).expect_stdout(&["Retracted by", "a backup ran"]);
    there.plumb("show last~1").expect(0).expect_stdout(&["Note by", "new firmware"]);
    for home in [&here, &there] {
        let output = home.plumb_args(["compare", "--from-store", "a", "b", "--json"]).expect_measured().json();
        let left_out = output["left_out"].as_array().unwrap();
        assert_eq!(left_out.len(), 1, "{output}");
        assert!(left_out[0]["reason"].as_str().unwrap().contains("a backup ran"), "{output}");
    }
    there
        .plumb_args(["retract", "last", "--undo", "--reason", "another host"])
        .expect(0)
        .expect_stdout(&["counts again"]);
    push(&there, &url).expect(0).expect_stdout(&["there already"]);
    pull(&here, &url, &[]).expect(0);
    here.plumb("list --json").expect(0);
    assert_eq!(
        here.plumb_args(["compare", "--from-store", "a", "b", "--json"]).expect_measured().json()["left_out"],
        serde_json::json!([])
    );
}
