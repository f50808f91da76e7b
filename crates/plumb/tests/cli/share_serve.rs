//! `plumb serve` over a team's PostgreSQL: the same pages as over a local file, tokens, uploads, and a team that pushes.

use crate::common::postgres::Postgres;
use crate::common::served::Served;
use crate::common::{CommandOutput, Home, needs, wait_until};
use crate::study_conduct::STUDY;
use serde_json::Value;
use std::process::{Command, Stdio};

fn measure(home: &Home, options: &str) {
    home.plumb(&format!("run {options} --set time=200ms --set size=64MiB")).expect(0);
}

// Protects: a team sees what each of its members sees: every page and every answer of the API is the same over both databases.
#[test]
fn both_databases_have_the_same_pages() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    for tag in ["before", "before", "after", "after"] {
        measure(&home, &format!("random-read --at sim:ssd --name {tag}"));
    }
    measure(&home, "random-write --at sim:hdd --name before");
    home.plumb("gate --baseline sim:ssd --candidate sim:ssd?slow=30% --budget 60s").expect(1);
    home.file("two-disks.toml", STUDY);
    home.plumb("study run two-disks.toml").expect(0);
    home.plumb_args(["push", "--to", &server.url("owner")]).expect(0);
    server.sql("admin", "CREATE ROLE viewer LOGIN IN ROLE plumb_reader");
    let (local, team) = (Served::start(&home, None), Served::start(&home, Some(&server.url("viewer"))));
    let runs: Value = serde_json::from_str(&local.get("/api/v1/runs")).unwrap();
    let ids: Vec<&str> = runs["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let gates: Value = serde_json::from_str(&local.get("/api/v1/gates")).unwrap();
    assert_eq!(gates[0]["answer"], "regression", "{gates}");
    let gate = gates[0]["id"].as_str().unwrap();
    home.plumb_args(["report", gate]).expect(0).expect_stdout(&["Regression: ", "6 blocks"]);
    for path in [
        "/",
        "/runs?verdict=pass&tool=plumb&workload=random-read&tag=before&q=ssd",
        "/runs?host=nowhere",
        &format!("/runs/{}", ids[0]),
        "/compare?a=before&b=after",
        "/history",
        "/history?workload=random-read",
        "/machines",
        &format!("/changes?a={}&b={}", ids[0], ids[1]),
        "/studies",
        "/studies/last",
        "/gates",
        "/gates?answer=regression",
        &format!("/gates/{gate}"),
        "/conformance",
        "/api/v1/runs?limit=2",
        "/api/v1/values",
        "/api/v1/places",
        "/api/v1/machines",
        "/api/v1/numbers?tag=after",
        &format!("/api/v1/runs/{}", ids[0]),
        &format!("/api/v1/gates/{gate}"),
        "/api/v1/compare?a=before&b=after",
        "/metrics",
    ] {
        let without_counts =
            |body: String| body.lines().filter(|line| !line.starts_with("plumb_serve_")).collect::<Vec<_>>().join("\n");
        assert_eq!(without_counts(team.get(path)), without_counts(local.get(path)), "{path}");
    }
}

// Protects: who may write is decided by the owner of the database, a token ends when it is revoked, and an upload is stored as a
// push stores it.
#[test]
fn tokens_and_uploads_of_a_team() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    measure(&home, "random-read --at sim:ssd");
    let file = home.plumb("export last").expect(0).out;
    let url = server.url("owner");
    let token = home.plumb_args(["serve", "token", "add", "ci", "--write", "--db", &url]).expect(0).out;
    let token = token.trim();
    server.sql("admin", "CREATE ROLE viewer LOGIN IN ROLE plumb_reader; CREATE ROLE ci LOGIN IN ROLE plumb_writer");
    for user in ["viewer", "ci"] {
        let url = server.url(user);
        let refused = home.plumb_args(["serve", "token", "add", "more", "--write", "--db", &url]);
        refused.expect(4).expect_stderr(&["permission denied"]);
        home.plumb_args(["serve", "token", "list", "--db", &url]).expect(0).expect_stdout(&["ci"]);
    }
    let viewer = Served::start(&home, Some(&server.url("viewer")));
    let (status, body) = viewer.upload(token, file.as_bytes());
    assert!(status.contains(" 403 ") && body.contains("may only read its database"), "{status} {body}");
    let writer = Served::start(&home, Some(&server.url("ci")));
    for expected in ["added", "unchanged"] {
        let (status, body) = writer.upload(token, file.as_bytes());
        assert!(status.contains(" 200 ") && body.contains(expected), "{status} {body}");
    }
    // A push of the same run finds it there.
    home.plumb_args(["push", "--to", &url]).expect(0).expect_stdout(&["0 pushed, 1 there already"]);
    let mut changed: Value = serde_json::from_str(&file).unwrap();
    changed[0]["partial"] = true.into();
    let (status, body) = writer.upload(token, changed.to_string().as_bytes());
    assert!(status.contains(" 409 "), "{status} {body}");
    home.plumb_args(["serve", "token", "revoke", "ci", "--db", &url]).expect(0).expect_stdout(&["revoked: 1"]);
    let (status, _) = writer.upload(token, file.as_bytes());
    assert!(status.contains(" 401 "), "{status}");
    assert_eq!(server.sql("admin", "SELECT count(*) FROM plumb.run"), "1");
}

/// Runs that each host of a team pushes. One that is killed has pushed a part of them.
const RUNS: u64 = 120;

/// Address of the database's host, from a documentation range (RFC 5737), so that no real network is cut off.
const DATABASE: &str = "198.51.100.10";

/// A team on a network of its own: a host with the database, and three that measure.
struct Team;

impl Team {
    fn name(host: &str) -> String {
        format!("pt{}{host}", std::process::id() % 100_000)
    }

    fn new() -> Team {
        let database = Team::name("db");
        ip(&format!("netns add {database}"));
        ip(&format!("-n {database} link add bridge type bridge"));
        ip(&format!("-n {database} address add {DATABASE}/24 dev bridge"));
        ip(&format!("-n {database} link set bridge up"));
        for (number, host) in HOSTS.iter().enumerate() {
            let name = Team::name(host);
            ip(&format!("netns add {name}"));
            ip(&format!("link add eth0 netns {name} type veth peer name {host} netns {database}"));
            ip(&format!("-n {database} link set {host} master bridge up"));
            ip(&format!("-n {name} address add 198.51.100.{}/24 dev eth0", number + 1));
            ip(&format!("-n {name} link set eth0 up"));
        }
        Team
    }

    /// Returns a command of Plumb on one of the hosts.
    fn plumb(home: &Home, host: &str, words: &[&str]) -> Command {
        let plain = home.command(words);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &Team::name(host), "unshare", "--uts", "sh", "-c"]);
        command
            .args([&format!("hostname {host} && exec \"$@\""), "sh"])
            .arg(plain.get_program())
            .args(plain.get_args());
        command.current_dir(home.work()).envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for host in HOSTS.iter().chain(&["db"]) {
            let _ = Command::new("ip").args(["netns", "delete", &Team::name(host)]).status();
        }
    }
}

const HOSTS: [&str; 3] = ["n1", "n2", "n3"];

#[track_caller]
fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Measures one run on a host, and fills its store with copies under other ids.
fn fill(home: &Home, host: &str, number: u64) {
    let measure = ["run", "random-read", "--at", "sim:ssd", "--set", "time=200ms", "--set", "size=64MiB"];
    CommandOutput::run(Team::plumb(home, host, &measure)).expect(0);
    let template = home.plumb("export last").expect(0).json()[0].clone();
    let copy = |run: u64| {
        let millis = 0x0193_0000_0000 + run;
        let mut result = template.clone();
        result["id"] = format!("{:08x}-{:04x}-7000-8000-{number:04x}{run:08x}", millis >> 16, millis & 0xffff).into();
        result
    };
    let file = home.file("runs.json", &Value::Array((1..RUNS).map(copy).collect()).to_string());
    home.plumb_args(["import", file.to_str().unwrap(), "--json"]).expect(0);
}

// Protects: three machines push into one database while one of them is killed; the dashboard shows all of what was pushed at each
// moment, and after the next push of the killed one everything.
#[test]
fn root_a_team_pushes_while_one_is_killed_and_the_dashboard_shows_all() {
    if !needs::root_and(&["ip", "unshare", "nsenter"]) {
        return;
    }
    let team = Team::new();
    let Some(server) = Postgres::start_on(&Team::name("db"), DATABASE) else { return };
    let homes = [(); HOSTS.len()].map(|()| Home::new());
    for (number, (home, host)) in (1..).zip(homes.iter().zip(HOSTS)) {
        fill(home, host, number);
    }
    let url = format!("postgres://owner@{DATABASE}/results?sslmode=disable");
    let viewer = Home::new();
    // The owner's first push makes the schema.
    CommandOutput::run(Team::plumb(&viewer, "n1", &["serve", "token", "list", "--db", &url])).expect(4);
    viewer.plumb_args(["serve", "token", "add", "screen", "--db", &server.url("owner")]).expect(0);
    let dashboard = Served::start(&viewer, Some(&server.url("owner")));
    let shown = |host: &str| -> u64 {
        let found: Value = serde_json::from_str(&dashboard.get(&format!("/api/v1/runs?host={host}&limit=1"))).unwrap();
        found["total"].as_u64().unwrap()
    };
    let push = |home: &Home, host: &str| Team::plumb(home, host, &["push", "--to", &url]);
    let mut pushes = [0, 1, 2].map(|at| push(&homes[at], HOSTS[at]).stdout(Stdio::null()).spawn().unwrap());
    wait_until("the third host has pushed a run", || shown("n3") > 0);
    pushes[2].kill().unwrap();
    let ends = pushes.each_mut().map(|push| push.wait().unwrap().success());
    assert_eq!(ends, [true, true, false]);
    let of_killed = shown("n3");
    assert!((1..RUNS).contains(&of_killed), "{of_killed} of {RUNS} runs before the kill");
    assert_eq!([shown("n1"), shown("n2")], [RUNS; 2]);
    CommandOutput::run(push(&homes[2], "n3")).expect(0);
    assert_eq!(HOSTS.map(shown), [RUNS; 3]);
    let machines = dashboard.get("/machines");
    assert!(HOSTS.iter().all(|host| machines.contains(&format!(">{host}<"))), "{machines}");
    assert!(dashboard.get("/").contains("<b>360 runs</b>"));
    drop(team);
}
