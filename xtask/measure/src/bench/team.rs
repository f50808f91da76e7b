//! A team's database: how fast results are pushed, and how long queries take among a million runs. The server is started
//! for it, with the settings of Debian's package, on a directory of its own.

use super::Options;
use super::plumb::Plumb;
use super::rounds::Bar;
use anyhow::{Context, Result, bail, ensure};
use plumb_postgres::{Address, SharedStore};
use plumb_store::{Filter, Overviews, ResultStore, RunSearch};
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs whose push is timed.
const PUSHED: u64 = 2_000;

/// Synthetic runs, of [`HOSTS`] hosts over two years.
const RUNS: u64 = 1_000_000;
const HOSTS: u64 = 50;
const WORKLOADS: [&str; 4] = ["random-read", "random-write", "mail", "database"];
const METRICS: [&str; 4] = ["read.iops", "read.bw", "read.p99", "write.iops"];

/// First start, 2024-11-01, and time between starts.
const FIRST_MS: u64 = 1_730_419_200_000;
const STEP_MS: u64 = 63_000;

/// One run in this number has the tag of a group of ten, which comparisons select.
const TAGGED_EVERY: u64 = 1_000;
const GROUP: u64 = 10;

/// Queries of each kind; the 95th percentile is judged.
const QUERIES: u64 = 100;
const PERCENTILE: f64 = 0.95;

const PUSH_BAR: Bar = Bar::AtLeast(200.0);
const QUERY_BAR: Bar = Bar::AtMost(300.0);

/// Of a page of `plumb serve`, in milliseconds, without what the browser and the network take.
const PAGE_BAR: Bar = Bar::AtMost(1_000.0);

/// Times pushes and queries.
///
/// # Errors
///
/// PostgreSQL is not installed, or a command or query fails.
pub(crate) fn team(options: &Options) -> Result<()> {
    let server = Server::start()?;
    let plumb = Plumb::get(options)?;
    let home = tempfile::tempdir()?;
    let template = measured(&plumb, home.path())?;
    push(&plumb, &server, home.path(), &template)?;
    if !options.wants("queries") {
        return Ok(());
    }
    seed(&server, &template)?;
    let address = Address::parse(&server.url(), None)?;
    let store = SharedStore::open_to_read(&address)?;
    println!("\n{QUERIES} queries of each kind among {RUNS} runs");
    let kinds = KINDS.iter().map(|kind| (kind, &QUERY_BAR)).chain(PAGES.iter().map(|page| (page, &PAGE_BAR)));
    for ((name, query), bar) in kinds {
        timed(name, bar, |number| query(&store, number))?;
    }
    // The whole command: its judgement is much of its time, and this program is not the build that users have.
    timed("compare two tags", &QUERY_BAR, |number| {
        let (one, other, url) = (tag(2 * number), tag(2 * number + 1), server.url());
        output(plumb.in_home(home.path()).args(["compare", "--from-store", &one, &other, "--db", &url])).map(drop)
    })
}

/// Runs queries of one kind, and prints how long they took.
fn timed(name: &str, bar: &Bar, query: impl Fn(u64) -> Result<()>) -> Result<()> {
    let mut times: Vec<f64> = Vec::new();
    for number in 0..QUERIES {
        let begun = Instant::now();
        query(number)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (median, judged, most) = (at(0.5), at(PERCENTILE), at(1.0));
    println!("  {name:24} p50 {median:7.1} ms  p95 {judged:7.1} ms  max {most:7.1} ms  {}", bar.format(judged));
    Ok(())
}

type Query = fn(&SharedStore, u64) -> Result<()>;

/// The queries of a dashboard and of the commands.
const KINDS: [(&str, Query); 6] = [
    ("list, the newest", |store, _| listed(store, &Filter::default())),
    ("list of a host and work", |store, number| {
        let host = Some(host(number % HOSTS));
        let workload = Some(WORKLOADS[(number / HOSTS % 4) as usize].to_owned());
        listed(store, &Filter { host, workload, ..Filter::default() })
    }),
    ("list of a month and path", |store, number| {
        let since = (FIRST_MS + number % 20 * 30 * 86_400_000) as i64 * 1_000_000;
        let until = since + 30 * 86_400_000_000_000;
        let path = Some(format!("/mnt/{}", number % 3));
        listed(store, &Filter { since_ns: Some(since), until_ns: Some(until), path, ..Filter::default() })
    }),
    ("list of a tag", |store, number| listed(store, &Filter { tag: Some(tag(number)), ..Filter::default() })),
    ("find by the end of an id", |store, number| {
        let id = id(number * 9_973 % RUNS);
        ensure!(store.find(&id[26..])? == id, "{id} was not found");
        Ok(())
    }),
    ("history of a host and work", |store, number| {
        let filter = Filter {
            host: Some(host(number % HOSTS)),
            workload: Some(WORKLOADS[(number / HOSTS % 4) as usize].to_owned()),
            limit: Some(1_000),
            ..Filter::default()
        };
        ensure!(!store.history(&filter, METRICS[0])?.is_empty(), "no history");
        Ok(())
    }),
];

/// The queries of whole pages of `plumb serve`.
const PAGES: [(&str, Query); 5] = [
    ("page: the newest runs", |store, _| page(store, &Filter::default())),
    ("page: runs of a host", |store, number| {
        page(store, &Filter { host: Some(host(number % HOSTS)), ..Filter::default() })
    }),
    ("page: search of a word", |store, number| {
        page(store, &Filter { text: Some(host(number % HOSTS)), ..Filter::default() })
    }),
    ("page: history", |store, _| {
        ensure!(!store.places()?.is_empty(), "no place");
        Ok(())
    }),
    ("page: machines", |store, _| {
        ensure!(!store.machines()?.is_empty(), "no machine");
        Ok(())
    }),
];

/// Reads what a page of runs shows.
fn page(store: &SharedStore, filter: &Filter) -> Result<()> {
    let found = store.search(&Filter { limit: Some(50), ..filter.clone() })?;
    ensure!(!found.runs.is_empty(), "no run matches {filter:?}");
    ensure!(!store.known_values()?.workloads.is_empty(), "no workloads");
    Ok(())
}

fn listed(store: &SharedStore, filter: &Filter) -> Result<()> {
    let rows = store.list(&Filter { limit: Some(50), ..filter.clone() })?;
    ensure!(!rows.is_empty(), "no run matches {filter:?}");
    Ok(())
}

/// Measures one run, and returns its result.
fn measured(plumb: &Plumb, home: &Path) -> Result<Value> {
    let run = ["run", "random-read", "--at", "sim:ssd", "--set", "time=200ms", "--set", "size=64MiB"];
    output(plumb.in_home(home).args(run))?;
    let text = output(plumb.in_home(home).args(["export", "last"]))?;
    let results: Value = serde_json::from_slice(&text)?;
    Ok(results[0].clone())
}

/// Pushes many runs, and prints the rate.
fn push(plumb: &Plumb, server: &Server, home: &Path, template: &Value) -> Result<()> {
    output(plumb.in_home(home).args(["push", "--to", &server.url()]))?;
    let copies: Vec<Value> = (0..PUSHED).map(|number| with_id(template, &id(RUNS + 1 + number))).collect();
    let file = home.join("runs.json");
    std::fs::write(&file, serde_json::to_vec(&copies)?)?;
    output(plumb.in_home(home).arg("import").arg(&file))?;
    let begun = Instant::now();
    output(plumb.in_home(home).args(["push", "--to", &server.url()]))?;
    let rate = PUSHED as f64 / begun.elapsed().as_secs_f64();
    println!("push of {PUSHED} runs: {rate:.0} runs/s  {}", PUSH_BAR.format(rate));
    Ok(())
}

/// Seeds synthetic runs by COPY. Only tagged ones have a whole result: others are only listed and counted.
fn seed(server: &Server, template: &Value) -> Result<()> {
    let begun = Instant::now();
    for month in 0..=RUNS * STEP_MS / (28 * 86_400_000) {
        let first = id(month * 28 * 86_400_000 / STEP_MS);
        server.sql(&format!("SELECT plumb.ensure_month('{first}')"))?;
    }
    server.sql("INSERT INTO plumb.machine (id, hostname, facts) SELECT 'm' || n, 'host' || n, '{}' FROM generate_series(0, 49) n")?;
    server.sql("INSERT INTO plumb.environment (id, machine_id, kernel, facts) SELECT 'e' || n, 'm' || n, '6.1', '{}' FROM generate_series(0, 49) n")?;
    server.sql("INSERT INTO plumb.target (id, environment_id, path, fs, facts) SELECT 't' || n, 'e0', '/mnt/' || n, 'xfs', '{}' FROM generate_series(0, 2) n")?;
    let bare = "{\"schema\": \"plumb.result/1\"}";
    let hash = "0".repeat(64);
    let columns = "id, tool_name, tool_version, environment_id, origin, command, name, started_at, status, verdict, document, document_blake3";
    server.copy(&format!("run ({columns})"), |out, number| {
        let (id, ms, workload) = (id(number), FIRST_MS + number * STEP_MS, WORKLOADS[(number / HOSTS % 4) as usize]);
        let document = match is_tagged(number) {
            // COPY's text form doubles backslashes.
            true => with_id(template, &id).to_string().replace('\\', "\\\\"),
            false => bare.to_owned(),
        };
        let environment = number % HOSTS;
        writeln!(
            out,
            "{id}\tplumb\t1\te{environment}\tnative\tplumb run\t{workload}\t{ms}000000\tok\tpass\t{document}\t{hash}"
        )
    })?;
    server.copy("run_target (run_id, name, target_id)", |out, number| {
        writeln!(out, "{}\tdata\tt{}", id(number), number % 3)
    })?;
    server.copy("phase (run_id, seq, name)", |out, number| writeln!(out, "{}\t1\tmain", id(number)))?;
    server.copy("value (run_id, phase, metric, scope, value, source_tier)", |out, number| {
        METRICS
            .iter()
            .try_for_each(|metric| writeln!(out, "{}\t1\t{metric}\tall\t{}\tdevice", id(number), 1_000 + number % 97))
    })?;
    server.copy("run_tag (run_id, tag)", |out, number| match is_tagged(number) {
        true => writeln!(out, "{}\t{}", id(number), tag(number / TAGGED_EVERY)),
        false => Ok(()),
    })?;
    server.sql("ANALYZE")?;
    println!("\nseeded {RUNS} runs by COPY in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn is_tagged(number: u64) -> bool {
    number % TAGGED_EVERY < GROUP
}

fn tag(group: u64) -> String {
    format!("group-{}", group % (RUNS / TAGGED_EVERY))
}

fn host(number: u64) -> String {
    format!("host{number}")
}

/// Returns the UUIDv7 of a synthetic run.
fn id(number: u64) -> String {
    let ms = FIRST_MS + number * STEP_MS;
    format!(
        "{:08x}-{:04x}-7000-8000-{:012x}",
        ms >> 16,
        ms & 0xffff,
        number.wrapping_mul(0x9e37_79b9_7f4b) >> 1 & 0xffff_ffff_ffff
    )
}

fn with_id(template: &Value, id: &str) -> Value {
    let mut result = template.clone();
    result["id"] = id.into();
    result
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// A PostgreSQL server with durable commits; ends with the value.
struct Server {
    process: Child,
    programs: PathBuf,
    directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Result<Server> {
        const UNPRIVILEGED: u32 = 65534;
        let versions = std::fs::read_dir("/usr/lib/postgresql").context("apt-get install postgresql")?;
        let programs = versions
            .filter_map(|version| Some(version.ok()?.path().join("bin")))
            .filter(|programs| programs.join("initdb").exists())
            .max()
            .context("apt-get install postgresql")?;
        // Not in memory, where a commit costs nothing.
        let directory = tempfile::tempdir_in("/var/tmp")?;
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            std::os::unix::fs::chown(directory.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED))?;
        }
        let own = |program: &str| {
            let mut command = Command::new(programs.join(program));
            command.current_dir(directory.path()).env("LC_ALL", "C");
            // The server refuses to run as root.
            if is_root {
                command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
            }
            command
        };
        output(own("initdb").args(["--auth=trust", "--username=owner", "--encoding=UTF8", "--pgdata=data"]))?;
        let mut process = own("postgres");
        process.args(["-D", "data", "-c", "listen_addresses=", "-k"]).arg(directory.path());
        let process = process.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Server { process, programs, directory };
        let begun = Instant::now();
        while output(server.psql("postgres").args(["-c", "CREATE DATABASE results"])).is_err() {
            ensure!(begun.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    fn url(&self) -> String {
        format!("postgres://owner@/results?host={}", self.directory.path().display())
    }

    fn psql(&self, database: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", "owner", "-d", database, "-h"]);
        command.arg(self.directory.path());
        command
    }

    fn sql(&self, sql: &str) -> Result<()> {
        output(self.psql("results").args(["-c", sql])).map(drop)
    }

    /// Copies the lines that a function writes for each run into a table.
    fn copy(&self, table: &str, line: impl Fn(&mut dyn Write, u64) -> std::io::Result<()>) -> Result<()> {
        let mut psql = self.psql("results");
        psql.args(["-c", &format!("COPY plumb.{table} FROM STDIN")]).stdin(Stdio::piped());
        let mut process = psql.spawn()?;
        {
            let mut out = BufWriter::new(process.stdin.take().context("psql has no input")?);
            (0..RUNS).try_for_each(|number| line(&mut out, number))?;
            out.flush()?;
        }
        let ended = process.wait()?;
        ensure!(ended.success(), "COPY into {table}: {ended}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGQUIT ends the server and its children at once; nothing of it is needed again.
        let pid = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        let _ = self.process.wait();
    }
}
