//! Pushes under kills: of clients and of the server's processes, at random moments and at the worst one.

use crate::common::breadth::is_lab;
use crate::common::draws::Draws;
use crate::common::postgres::{Postgres, store_of};
use crate::common::{Home, wait_until};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Kills in the usual tier, and in the lab tier.
const KILLS: [u64; 2] = [24, 200];

/// Runs that a writer gets at once when it has fewer left: a client pushes fewer before it is killed.
const RUNS_AT_ONCE: u64 = 60;

/// One of several kills hits between the server's commit and the client's note, and another one the server.
const EVERY: u64 = 6;

/// A host with runs to push.
struct Writer<'a> {
    home: Home,
    /// Part of the ids of its runs.
    number: u64,
    /// The measured result that its runs are copies of.
    template: &'a Value,
    runs: u64,
}

impl Writer<'_> {
    /// Imports further runs if few wait.
    fn top_up(&mut self) {
        let pushed = self.home.query("SELECT count(*) FROM pushed")[0][0].as_u64().unwrap();
        if self.runs - pushed >= RUNS_AT_ONCE {
            return;
        }
        let results = (self.runs..self.runs + RUNS_AT_ONCE).map(|run| self.result(run)).collect();
        let file = self.home.file("runs.json", &Value::Array(results).to_string());
        self.home.plumb_args(["import", file.to_str().unwrap(), "--json"]).expect(0);
        self.runs += RUNS_AT_ONCE;
    }

    /// Returns a copy of the measured result under another id. The runs are of two months, so that both writers create
    /// partitions at the same time.
    fn result(&self, run: u64) -> Value {
        let month: u64 = if run.is_multiple_of(2) { 0x0193_0000_0000 } else { 0x0193_f000_0000 };
        let millis = month + run;
        let id = format!("{:08x}-{:04x}-7000-8000-{:04x}{run:08x}", millis >> 16, millis & 0xffff, self.number);
        let mut result = self.template.clone();
        result["id"] = id.into();
        result
    }
}

fn start(home: &Home, url: &str) -> Child {
    home.command(["push", "--to", url]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(client: &mut Child) {
    // It may have ended.
    let _ = client.kill();
    client.wait().unwrap();
}

/// Kills a client that has committed on the server, and waits with its note because the test holds the lock of its store.
fn kill_before_the_note(home: &Home, server: &Postgres, url: &str) {
    let lock = rusqlite::Connection::open(store_of(home)).unwrap();
    lock.busy_timeout(Duration::from_secs(30)).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The server notices the end of an earlier client a moment later.
    wait_until("no client is left", || server.sql("admin", COMMITTED) == "0");
    let mut client = start(home, url);
    wait_until("the server has committed", || {
        assert!(client.try_wait().unwrap().is_none(), "the client ended before it was killed");
        server.sql("admin", COMMITTED) != "0"
    });
    kill(&mut client);
    lock.execute_batch("ROLLBACK").unwrap();
}

/// Counts clients whose last statement was the end of a push.
const COMMITTED: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'plumb' AND state = 'idle' AND query = 'COMMIT'";

/// Kills a process of the server that serves a client; the server then restarts all of them.
fn kill_a_backend(server: &Postgres) {
    let pids = server.sql("admin", "SELECT pid FROM pg_stat_activity WHERE application_name = 'plumb'");
    if let Some(pid) = pids.lines().next().and_then(|pid| rustix::process::Pid::from_raw(pid.parse().unwrap())) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        wait_until("the server has recovered", || server.answers());
    }
}

// Protects: two writers whose clients and whose server's processes are killed again and again lose no run and double none.
#[test]
fn kills_lose_and_double_nothing() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url("owner");
    let kills = KILLS[usize::from(is_lab())];
    let measured = Home::new();
    measured.plumb("run random-read --at sim:ssd --set time=200ms --set size=64MiB").expect(0);
    let template = measured.plumb("export last").expect(0).json()[0].clone();
    let writer = |number| Writer { home: Home::new(), number, template: &template, runs: 0 };
    let mut writers = [writer(1), writer(2)];
    // The schema exists, or the first kills would all hit its creation.
    measured.plumb_args(["push", "--to", &url]).expect(0);
    let mut draws = Draws::for_case(20_261_130, kills);
    for number in 0..kills {
        writers.iter_mut().for_each(Writer::top_up);
        let [victim, other] = [number % 2, (number + 1) % 2].map(|index| &writers[index as usize].home);
        // The last kill is of this kind, and the push after it meets a run without a note.
        if number % EVERY == 1 || number + 1 == kills {
            kill_before_the_note(victim, &server, &url);
            continue;
        }
        let mut clients = [start(victim, &url), start(other, &url)];
        std::thread::sleep(Duration::from_millis(draws.number(5..=120)));
        if number % EVERY == 4 {
            kill_a_backend(&server);
        } else {
            kill(&mut clients[0]);
        }
        clients.iter_mut().for_each(kill);
    }
    let mut present = 0;
    for Writer { home, runs, .. } in &writers {
        let output = home.plumb_args(["push", "--json", "--to", &url]).expect(0).json();
        assert_eq!((&output["refused"], &output["waiting"]), (&Value::Array(Vec::new()), &0.into()), "{output}");
        present += output["present"].as_array().unwrap().len();
        assert_eq!(home.query("SELECT count(*) FROM pushed"), [[*runs]]);
    }
    assert!(present > 0, "no kill hit between commit and note");
    let runs = writers.iter().map(|writer| writer.runs).sum::<u64>() + 1;
    let numbers =
        template["phases"].as_array().unwrap().iter().map(|phase| phase["metrics"].as_object().unwrap().len());
    let values = numbers.sum::<usize>() as u64 * runs;
    let sql = "SELECT count(*), count(DISTINCT id), (SELECT count(*) FROM plumb.value),
                 (SELECT count(DISTINCT run_id) FROM plumb.value) FROM plumb.run";
    assert_eq!(server.sql("admin", sql), format!("{runs}|{runs}|{values}|{runs}"));
}
