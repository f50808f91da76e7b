//! Studies, sweeps, noise floors and gates over agents on loopback.

use crate::agents::{Agent, socket};
use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, assert_no_test_data, wait_until};
use crate::mpi::launchers;
use serde_json::Value;
use std::process::Stdio;

/// Two agents, and the option that names both.
struct Fleet {
    home: Home,
    ports: [u16; 2],
    agents: Vec<Agent>,
}

impl Fleet {
    fn start() -> Fleet {
        let (home, ports) = (Home::new(), [free_port(), free_port()]);
        let agents = ports.map(|port| Agent::local(&home, port, "")).into();
        Fleet { home, ports, agents }
    }

    fn names(&self) -> String {
        self.ports.map(|port| socket(&self.home, port)).join(",")
    }

    fn hosts(&self) -> String {
        format!("--hosts {}", self.names())
    }

    fn is_idle(&self) -> bool {
        self.agents.iter().all(|agent| agent.sessions().is_empty())
    }
}

/// Reads of a cached file; the directory is a factor. No metric is compared.
fn study(home: &Home, more: &str) -> String {
    let dirs = ["one", "two"].map(|name| {
        let dir = home.work().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir.display().to_string()
    });
    format!(
        "[experiment]\nname = \"dirs\"\nquestion = \"Which?\"\n[[factor]]\nname = \"dir\"\nlevels = {dirs:?}\n{more}\
         [target]\npath = \"${{dir}}\"\n[workload]\nrandom-read = {{ size = \"1MiB\", cache = \"warm\", time = \"100ms\" }}\n\
         [design]\nplots = 1\nrepeat = 2\n[compare]\nby = \"dir\"\nmetrics = [\"read.iops\"]\n"
    )
}

fn runs(home: &Home) -> Vec<(String, u64)> {
    let rows = home.query("SELECT status, attempts FROM study_run ORDER BY study_id, seq");
    rows.iter().map(|row| (row[0].as_str().unwrap().to_owned(), row[1].as_u64().unwrap())).collect()
}

// Protects a study over hosts: both make each of its runs, plan and report name them, and it is resumed without naming
// them again, but not with other hosts.
#[test]
fn a_study_runs_on_its_hosts() {
    let fleet = Fleet::start();
    let (home, hosts) = (&fleet.home, fleet.hosts());
    home.file("s.toml", &study(home, ""));
    let both = fleet.names().replace(',', ", ");
    home.plumb(&format!("study plan s.toml {hosts} --check")).expect(0).expect_stdout(&[
        "Hosts that measure together",
        &format!("agents: {both}"),
        "2 hosts by their agents",
        "No problem found",
    ]);
    // Killed in the middle, the study can be resumed.
    let mut child = home.start(&format!("study run s.toml {hosts}"));
    let ended = |home: &Home| runs(home).iter().filter(|(status, _)| status == "done" || status == "rejected").count();
    let has_run = |studies: Value| studies[0]["ended"].as_u64().is_some_and(|ended| ended > 0);
    wait_until("a run has ended", || has_run(home.plumb("study list --json").expect(0).json()));
    child.kill().unwrap();
    child.wait().unwrap();
    let other = format!("study resume --hosts {}", socket(&fleet.home, fleet.ports[0]));
    home.plumb(&other).expect(2).expect_stderr(&[&format!("was begun with {both}"), "leave --hosts out"]);
    let before = ended(home);
    assert!(before < 4, "the kill came too late");
    let output = home.plumb("study resume --json");
    assert!([0, 3].contains(&output.code), "{output:?}");
    let report = output.json();
    assert_eq!(ended(home), 4, "{report}");
    let facts = report["systems"][0]["facts"].as_array().unwrap();
    let named = facts.iter().find(|fact| fact["name"] == "hosts at once").unwrap();
    assert_eq!(named["values"][0], format!("2: {both}"), "{named}");
    let results = home.query("SELECT run_id FROM study_run WHERE run_id IS NOT NULL");
    for run in results.iter().map(|row| row[0].as_str().unwrap()) {
        assert_eq!(home.plumb(&format!("show {run} --json")).expect_measured().json()["ranks"]["count"], 2);
    }
    assert_no_test_data(&home.work());
    wait_until("no process is left", || fleet.is_idle());
}

// Protects users of studies from errors at the first run: what agents cannot do is reported before it.
#[test]
fn agents_refuse_before_the_first_run() {
    let fleet = Fleet::start();
    let (home, hosts) = (&fleet.home, fleet.hosts());
    let plan = |file: &str| home.plumb(&format!("study plan {file} {hosts}"));
    let hard = "[[factor]]\nname = \"fs\"\nlevels = [\"ext4\", \"xfs\"]\nchange = \"hard\"\n\
                [[provision]]\nkind = \"loop\"\nname = \"disk\"\ndirectory = \"/mnt\"\nsize = \"512MiB\"\n\
                [[provision]]\nkind = \"mkfs\"\nfs = \"${fs}\"\ndevice = \"@disk\"\nmount = \"/mnt/x\"\n";
    home.file("built.toml", &study(home, hard).replace("plots = 1", "plots = 2"));
    plan("built.toml").expect(0);
    for line in ["study plan built.toml --check", "study run built.toml"] {
        home.plumb(&format!("{line} {hosts}")).expect(2).expect_stderr(&[
            "agents: factor `fs` is built (step `loop`), and host unix:",
            "the agent builds nothing: it was started without `--allow-build`",
        ]);
    }
    let raw = study(home, "[[provision]]\nkind = \"zram\"\nname = \"disk\"\nsize = \"1GiB\"\n");
    home.file("raw.toml", &raw.replace("\"${dir}\"", "\"@disk\""));
    plan("raw.toml").expect(2).expect_stderr(&["runs on a device, whose name differs", "`mkfs`"]);
    home.file(
        "other.toml",
        &study(home, "").replace("random-read = {", "dialect = \"dd\"\nargs = \"if=/dev/zero of=x count=1\"\n#"),
    );
    plan("other.toml").expect(2).expect_stderr(&["is in the language of dd", "Plumb's own workloads"]);
    home.file("counts.toml", &study(home, "").replace("\"read.iops\"", "\"device.reads\""));
    plan("counts.toml").expect(2).expect_stderr(&["agents do not count `device.reads`"]);
    home.file("own.toml", &study(home, "[hosts]\nbox = { ssh = \"root@box\" }\n"));
    plan("own.toml").expect(2).expect_stderr(&["chooses its own hosts (`box`)", "leave --hosts out"]);
    // Hosts from the file, and others that replace them.
    home.file("fleet.toml", &study(home, "[hosts]\nfleet = { agents = [\"a\", \"b\"] }\n"));
    home.plumb("study plan fleet.toml").expect(0).expect_stdout(&["on fleet: ", "fleet: a, b"]);
    plan("fleet.toml").expect(0).expect_stdout(&[&format!("fleet: {}", fleet.names().replace(',', ", "))]);
    for (agents, wrong) in
        [("[]", "has no agents"), ("[\"a\", \"a\"]", "names a twice"), ("[\"a b\"]", "`a b` is no host")]
    {
        home.file("wrong.toml", &study(home, &format!("[hosts]\nfleet = {{ agents = {agents} }}\n")));
        home.plumb("study plan wrong.toml").expect(2).expect_stderr(&[wrong]);
    }
    let more = study(home, "[hosts]\nfleet = { agents = [\"a\"], kernel = \"6.1\" }\n");
    home.file("more.toml", &more);
    home.plumb("study plan more.toml").expect(2).expect_stderr(&["agents, and more than that"]);
    // Requests that the agents refuse, and a port without an agent.
    home.file("away.toml", &study(home, "").replace("${dir}", "/nowhere/${dir}"));
    home.plumb(&format!("study run away.toml {hosts}"))
        .expect(2)
        .expect_stderr(&["the agent does not allow `/nowhere/"]);
    home.file("s.toml", &study(home, ""));
    let nobody = format!("study run s.toml --hosts 127.0.0.1:{}", free_port());
    home.plumb(&nobody).expect(2).expect_stderr(&["1 problem found", "is `plumb agent --listen` running there?"]);
}

// Protects a study whose host disappears: the run fails and names the host, the second such run ends the study, and it
// continues when the host is back.
#[test]
fn a_study_goes_on_when_its_host_is_back() {
    let mut fleet = Fleet::start();
    let hosts = fleet.hosts();
    fleet.home.file("s.toml", &study(&fleet.home, ""));
    let lost = fleet.agents.pop().unwrap();
    drop(lost);
    let output = fleet.home.plumb(&format!("study run s.toml {hosts} --no-check")).expect(4);
    output.expect_stderr(&[&format!("host {}", socket(&fleet.home, fleet.ports[1])), "resume --failed"]);
    assert_eq!(runs(&fleet.home).iter().filter(|(status, _)| status == "failed").count(), 2);
    fleet.agents.push(Agent::local(&fleet.home, fleet.ports[1], ""));
    let output = fleet.home.plumb("study resume --failed");
    assert!([0, 3].contains(&output.code), "{output:?}");
    assert!(runs(&fleet.home).iter().all(|(status, _)| status == "done" || status == "rejected"));
}

// Protects the order of a study's runs on simulated devices: it is the same with and without hosts.
#[test]
fn a_study_of_simulated_devices_is_the_same_on_one_host() {
    let fleet = Fleet::start();
    fleet.home.file("two-disks.toml", crate::study_conduct::STUDY);
    let results = |hosts: &str| -> Vec<Value> {
        let report = fleet.home.plumb(&format!("study run two-disks.toml --json {hosts}")).expect(0).json();
        report["contrasts"].as_array().unwrap().iter().map(|one| one["verdict"].clone()).collect()
    };
    let (alone, together) = (results(""), results(&fleet.hosts()));
    assert_eq!(alone, together);
    assert!(together.iter().all(|verdict| verdict == "slower" || verdict == "cannot-tell"), "{together:?}");
    let plan = |hosts: &str| fleet.home.plumb(&format!("study plan two-disks.toml --json {hosts}")).expect(0).json();
    let (alone, together) = (plan(""), plan(&fleet.hosts()));
    assert_eq!(alone["runs"], together["runs"]);
    // Different hosts make a different study.
    assert_ne!(alone["hash"], together["hash"]);
}

// Protects `sweep`, `noise` and `gate`: the hosts make their runs, and the results are not taken for this machine's.
#[test]
fn sweeps_floors_and_gates_are_of_hosts() {
    let fleet = Fleet::start();
    let (home, hosts) = (&fleet.home, fleet.hosts());
    let dir = home.work().join("data");
    std::fs::create_dir(&dir).unwrap();
    let at = dir.display();
    home.file(
        "w.toml",
        "name = \"w\"\n[target.data.file]\npath = \"data\"\nsize = \"1MiB\"\n[[phase]]\nname = \"read\"\n\
                         stop.time = \"100ms\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.mix.read = 1\n",
    );
    let swept = home.plumb(&format!("sweep threads=1,2 {at} --for w.toml --repeat 1 --json {hosts}"));
    assert!([0, 3].contains(&swept.code), "{swept:?}");
    let run = home.query("SELECT id FROM run LIMIT 1")[0][0].as_str().unwrap().to_owned();
    assert_eq!(home.plumb(&format!("show {run} --json")).expect_measured().json()["ranks"]["count"], 2);
    home.plumb(&format!("sweep size=1M,2M {at} --for w.toml --repeat 1 {hosts}"))
        .expect_stderr(&["on each of 2 hosts", "again for every run"]);
    assert_no_test_data(&home.work());
    // The noise floor of two hosts does not apply to this machine.
    home.plumb(&format!("noise sim:ssd --budget 30s {hosts}")).expect(0);
    home.plumb("noise sim:ssd --budget 30s").expect(0);
    let places = home.query("SELECT DISTINCT place FROM noise ORDER BY place");
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(
        places[1][0].as_str().unwrap().contains(&format!(" by 1 {}", socket(&fleet.home, fleet.ports[0]))),
        "{places:?}"
    );
    let gate = "gate --baseline sim:ssd --candidate sim:ssd?slow=50% --budget 5m --json";
    let judged = home.plumb(&format!("{gate} {hosts}")).expect(1).json();
    let run = judged["runs"][0].as_str().unwrap();
    assert_eq!(home.plumb(&format!("show {run} --json")).expect_measured().json()["ranks"]["transport"], "agents");
    let stored = format!("gate --baseline tag:none --candidate last {hosts}");
    home.plumb(&stored).expect(2).expect_stderr(&["`last` was measured before", "leave --hosts out"]);
    home.plumb(&format!("gate --baseline /nowhere/a --candidate /nowhere/b {hosts}"))
        .expect(4)
        .expect_stderr(&["the agent does not allow"]);
    wait_until("no process is left", || fleet.is_idle());
}

// Protects a study from an MPI launcher, whose variables its runs would inherit.
#[test]
fn a_study_is_not_a_rank() {
    let home = Home::new();
    home.file("s.toml", &study(&home, ""));
    for launcher in launchers() {
        let command_output = CommandOutput::run(launcher.command_after(&[], &home, 2, "study run s.toml"));
        assert_ne!(command_output.code, 0, "{command_output:?}");
        command_output.expect_stderr(&["cannot be one of 2 that were started together", "--hosts"]);
        assert!(home.plumb("study list --json").expect(0).json().as_array().unwrap().is_empty());
    }
}

// Protects live output of hosts: each second contains both, and is printed while they measure.
#[test]
fn seconds_of_hosts_are_streamed() {
    let fleet = Fleet::start();
    let (home, hosts) = (&fleet.home, fleet.hosts());
    let dir = home.work().join("one");
    std::fs::create_dir(&dir).unwrap();
    let words = "--set time=4s --set size=1MiB --stream ndjson:seconds --json --no-store";
    let line = format!("run random-read --at {} {words}", dir.display());
    let (alone, both) =
        (home.plumb(&line).expect_measured().json(), home.plumb(&format!("{line} {hosts}")).expect_measured().json());
    let lines = std::fs::read_to_string(home.work().join("seconds")).unwrap();
    let depths = |run: &Value| -> Vec<u64> {
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_run = lines.filter(|line| line["event"] == "interval" && line["run"] == run["id"]);
        of_run
            .map(|line| {
                assert!(line["measured"]["ops"]["read"]["count"].as_u64().unwrap() > 0, "{line}");
                line["measured"]["depth_asked"].as_u64().unwrap()
            })
            .collect()
    };
    let (alone, both) = (depths(&alone), depths(&both));
    assert!(alone.len() >= 2 && both.len() >= 2, "{alone:?} {both:?}\n{lines}");
    // A host that reports its next second first is shown alone.
    assert_eq!(both.iter().max(), Some(&(2 * alone[0])), "{alone:?} {both:?}");
}

// Protects a long comparison from losing a host: the earlier measurements are compared, and the host is named.
#[test]
fn a_comparison_keeps_what_it_has() {
    let mut fleet = Fleet::start();
    let dirs = ["one", "two"].map(|name| fleet.home.work().join(name));
    dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    let line = format!(
        "compare {} {} --time 200ms --size 1M --blocks 1000 --budget 5m --json {}",
        dirs[0].display(),
        dirs[1].display(),
        fleet.hosts()
    );
    let mut command = fleet.home.command(line.split_whitespace());
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stored = || fleet.home.plumb("list --json").out.matches("\"id\"").count();
    wait_until("three runs are stored", || stored() >= 3);
    drop(fleet.agents.pop());
    let output = running.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{printed}");
    assert!(printed.contains(&format!("host {}", socket(&fleet.home, fleet.ports[1]))), "{printed}");
    assert!(printed.contains("the comparison covers the runs before it"), "{printed}");
    let comparison: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(comparison["runs"].as_array().unwrap().len() >= 2, "{comparison}");
    wait_until("no process is left", || fleet.is_idle());
    assert_no_test_data(&fleet.home.work());
}
