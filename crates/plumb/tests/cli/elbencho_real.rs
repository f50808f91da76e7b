//! `plumb as elbencho --hosts` with real elbencho services: recorded answers of two services, and the real program where
//! it is installed.

use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, needs, wait_until};
use plumb_document::json;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

const ANSWERS: &str = include_str!("../../../tools-app/golden/elbencho/service_answers.json");

/// Misbehaviour of a fake service in its write phase.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    OtherVersion,
    /// A thread fails.
    Fails,
    /// The connection ends.
    Lost,
    /// The service works for another client.
    Replaced,
    /// The answer is not the protocol's.
    Malformed,
    /// The phase goes on until it is interrupted.
    Endless,
}

/// A service that answers what a real one answered.
struct FakeService {
    number: usize,
    fault: Fault,
    /// The targets and bodies of all requests.
    requests: Mutex<Vec<String>>,
    /// Number of the phase, and its UUID.
    phase: Mutex<(String, String)>,
    /// Index of the recorded conversation.
    prepared: Mutex<usize>,
}

impl FakeService {
    /// Starts a service, and returns it with its address.
    fn start(number: usize, fault: Fault) -> (Arc<FakeService>, String) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = Arc::new(FakeService {
            number,
            fault,
            requests: Mutex::default(),
            phase: Mutex::default(),
            prepared: Mutex::default(),
        });
        let served = service.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(&stream));
            }
        });
        (service, address)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn serve(&self, stream: &TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        loop {
            let (mut first, mut length) = (String::new(), 0);
            if lines.read_line(&mut first).unwrap_or(0) == 0 {
                return;
            }
            loop {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            lines.read_exact(&mut body).unwrap();
            let target = first.split(' ').nth(1).unwrap().to_owned();
            let body = String::from_utf8(body).unwrap();
            self.requests.lock().unwrap().push(format!("{target}\n{body}"));
            let Some((status, text)) = self.answer(&target, &body) else { return };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", text.len());
            if (&*stream).write_all((head + &text).as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, target: &str, body: &str) -> Option<(&'static str, String)> {
        let answers: Value = json::from_str(ANSWERS).unwrap();
        let own = &answers[self.number];
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)).unwrap().to_owned();
        let prepared = &own["prepared"][*self.prepared.lock().unwrap()];
        let (code, id) = self.phase.lock().unwrap().clone();
        let of_phase = |what: &str| {
            let text = text(&prepared["phases"][&code][what]);
            let at = text.find("\"BenchID\": \"").unwrap() + "\"BenchID\": \"".len();
            format!("{}{id}{}", &text[..at], &text[at + 36..])
        };
        let is_interrupted = || self.requests().last().is_some_and(|last| last.starts_with("/interruptphase"));
        Some((
            "200 OK",
            match path {
                "/protocolversion" if self.fault == Fault::OtherVersion => "3.0.9".to_owned(),
                "/protocolversion" => "3.1.3".to_owned(),
                "/preparephase" if !value("PwHash=").is_empty() => {
                    return Some(("400 Bad Request", text(&own["refusal"]["body"])));
                }
                "/preparephase" => {
                    let options: Value = json::from_str(body).unwrap();
                    let mixes = usize::from(options["rwmixpct"] != "0");
                    *self.prepared.lock().unwrap() = mixes;
                    text(&own["prepared"][mixes]["answer"])
                }
                "/startphase" => {
                    *self.phase.lock().unwrap() = (value("PhaseCode="), value("BenchID="));
                    String::new()
                }
                "/interruptphase" => String::new(),
                "/benchresult" => of_phase("result"),
                "/status" if code == "4" => match self.fault {
                    Fault::Lost => return None,
                    Fault::Malformed => "<html>".to_owned(),
                    Fault::Replaced => of_phase("status").replace(&id, "00000000-0000-0000-0000-000000000000"),
                    Fault::Fails => of_phase("status")
                        .replace("\"NumWorkersDoneWithError\": \"0\"", "\"NumWorkersDoneWithError\": \"1\"")
                        .replace(
                            "\"ErrorHistory\": \"\"",
                            "\"ErrorHistory\": \"File \\u001b[31mfull\\nSysErr: ENOSPC\"",
                        ),
                    Fault::Endless if !is_interrupted() && !self.was_interrupted() => of_phase("status")
                        .replace("\"NumWorkersDone\": \"2\"", "\"NumWorkersDone\": \"0\"")
                        .replace("\"TriggerStoneWall\": \"true\"", "\"TriggerStoneWall\": \"false\""),
                    _ => of_phase("status"),
                },
                "/status" => of_phase("status"),
                other => panic!("the protocol has no {other}"),
            },
        ))
    }

    /// Returns `true` if the write phase was interrupted.
    fn was_interrupted(&self) -> bool {
        let requests = self.requests();
        let begun = requests.iter().rposition(|request| request.starts_with("/startphase")).unwrap_or(0);
        requests[begun..].iter().any(|request| request.starts_with("/interruptphase"))
    }
}

/// Starts two services, of which the second has a fault.
fn two(fault: Fault) -> (Home, [Arc<FakeService>; 2], String) {
    let [(one, first), (two, second)] = [FakeService::start(0, Fault::None), FakeService::start(1, fault)];
    (Home::new(), [one, two], format!("{first},{second}"))
}

const FILES: &str = "-d -w --stat -r -F -D -t 2 -n 2 -N 20 -s 64k -b 4k d";

fn lead(home: &Home, hosts: &str, words: &str) -> CommandOutput {
    home.plumb(&format!("as elbencho --nolive --hosts {hosts} {words}"))
}

fn phases(home: &Home, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(home.work().join(name)).unwrap();
    text.lines().map(|line| json::from_str(line).unwrap()).collect()
}

// Protects sites whose nodes run `elbencho --service`: all phases, the sums, the files, and a stored result that says who measured.
#[test]
fn real_services_are_led_through_all_phases() {
    let (home, services, hosts) = two(Fault::None);
    let words = format!("--csvfile r.csv --jsonfile r.json --lat --cpu --svcelapsed --allelapsed {FILES}");
    let output = lead(&home, &hosts, &words).expect(0);
    let output = output.expect_stderr(&["real elbencho services measured this, Plumb observed nothing"]);
    for row in
        ["MKDIRS ", "WRITE ", "STAT ", "READ ", "RMFILES ", "RMDIRS ", "Svc compl. time", "IO latency", "CPU util %"]
    {
        assert!(output.out.contains(row), "{row}: {}", output.out);
    }
    let reported = phases(&home, "r.json");
    let last = |phase: usize, what: &str| reported[phase]["last_done"][what].as_str().unwrap().to_owned();
    assert_eq!([0, 1, 2, 3, 4, 5].map(|phase| last(phase, "entries")), ["8", "160", "160", "160", "160", "8"]);
    assert_eq!((last(1, "bytes"), last(3, "bytes")), ("10485760".to_owned(), "10485760".to_owned()));
    assert_eq!(reported[1]["config"]["hosts"], "2");
    let csv = std::fs::read_to_string(home.work().join("r.csv")).unwrap();
    assert!(csv.lines().count() == 7 && csv.lines().all(|line| line.split(',').count() == 55), "{csv}");
    for (service, rank) in services.iter().zip(["0", "2"]) {
        let requests = service.requests();
        let prepare = requests.iter().find(|request| request.starts_with("/preparephase")).unwrap();
        assert!(prepare.starts_with("/preparephase?ProtocolVersion=3.1.3&PwHash=\n"), "{prepare}");
        let options: Value = json::from_str(prepare.split_once('\n').unwrap().1).unwrap();
        assert_eq!((&options["rankoffset"], &options["datasetthreads"]), (&rank.into(), &"4".into()));
        assert!(requests.last().unwrap().starts_with("/interruptphase\n"), "its files stay open: {requests:?}");
    }
    let stored = home.plumb("show last --json").expect(0).json();
    assert_eq!((&stored["verdict"], &stored["tool"]["name"]), (&"unknown".into(), &"elbencho".into()));
    let notes = stored["imported"]["notes"].to_string();
    assert!(
        notes.contains("Plumb observed nothing on their hosts") && notes.contains(&hosts.replace(',', ", ")),
        "{notes}"
    );
    let tier = &stored["phases"][1]["metrics"]["write.bw"]["tier"];
    assert_eq!(tier, "unknown", "{}", stored["phases"][1]);
    home.plumb("show last").expect(0).expect_stdout(&["observed nothing"]);
}

// Protects mixes, rotation, dry runs and quiet scripts.
#[test]
fn options_of_a_run_reach_the_services() {
    let (home, services, hosts) = two(Fault::None);
    let quiet = lead(&home, &hosts, "--plumb-quiet -w -t 2 -s 1m -b 4k --rwmixpct 30 --jsonfile m.json f").expect(0);
    assert_eq!(quiet.err, "");
    let mix = phases(&home, "m.json");
    let bytes = |value: &Value| value["bytes"].as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(bytes(&mix[0]["last_done"]) + bytes(&mix[0]["last_done"]["rwmix_read"]), 1 << 20);
    lead(&home, &hosts, "--rotatehosts 1 -w -r -t 2 -n 2 -N 20 -s 64k -b 4k d").expect(0);
    let prepared = |service: &FakeService| -> Vec<Value> {
        let of = |request: &String| json::from_str::<Value>(request.split_once('\n').unwrap().1).unwrap();
        let all = service.requests();
        all.iter()
            .filter(|request| request.starts_with("/preparephase"))
            .map(|one| of(one)["rankoffset"].clone())
            .collect()
    };
    assert_eq!([prepared(&services[0]), prepared(&services[1])], [["0", "0", "2"], ["2", "2", "0"]]);
    lead(&home, &hosts, &format!("--dryrun {FILES}"))
        .expect(0)
        .expect_stdout(&["Entries per service: 80", "Entries total: 160"]);
    lead(&home, &hosts, "-w -s 1m a@b").expect(1).expect_stderr(&["splits paths"]);
}

// Protects users from a silent failure: each is named with its host, no row is printed, and the others are interrupted.
#[test]
fn failing_services_are_named() {
    for (fault, expected) in [
        (Fault::OtherVersion, "protocol 3.0.9; `plumb as elbencho` speaks 3.1.3"),
        (Fault::Fails, "reports: File \\u001b[31mfull / SysErr: ENOSPC"),
        (Fault::Lost, "is lost: "),
        (Fault::Replaced, "works for another client"),
        (Fault::Malformed, "the answer is not JSON"),
    ] {
        let (home, services, hosts) = two(fault);
        let output = lead(&home, &hosts, FILES).expect(1);
        let output = output.expect_stderr(&[expected, hosts.split(',').nth(1).unwrap()]);
        assert!(!output.out.contains("WRITE "), "{}", output.out);
        if fault != Fault::OtherVersion {
            assert!(services[0].requests().last().unwrap().starts_with("/interruptphase"));
            let stored = home.plumb("show last --json").expect(0).json();
            assert_eq!((&stored["partial"], stored["phases"].as_array().unwrap().len()), (&true.into(), 1));
        }
    }
    let (home, _services, hosts) = two(Fault::None);
    home.file("pw", "other\n");
    let refused = lead(&home, &hosts, &format!("--svcpwfile pw {FILES}")).expect(1);
    refused.expect_stderr(&["refuses: Preparation phase error: Invalid authorization code."]);
    home.file("pw", "\n");
    lead(&home, &hosts, &format!("--svcpwfile pw {FILES}")).expect(1).expect_stderr(&["the first line of pw is empty"]);
}

// Protects time limits, which end a phase with its numbers and without an error.
#[test]
fn a_time_limit_interrupts_the_services() {
    let (home, services, hosts) = two(Fault::Endless);
    let output = lead(&home, &hosts, "--timelimit 1 -w -r -t 2 -n 2 -N 20 -s 64k -b 4k d").expect(0);
    let output = output.expect_stdout(&["WRITE ", "Terminating due to phase time limit."]);
    assert!(!output.out.contains("READ "), "{}", output.out);
    assert!(services[1].was_interrupted());
}

// Protects services from a client that leads two kinds of them, and users who end real ones.
#[test]
fn kinds_of_services_are_not_mixed() {
    let (home, services, hosts) = two(Fault::None);
    let port = free_port();
    let mut command = home.command(format!("as elbencho --service --foreground --port {port}").split(' '));
    command.env("PLUMB_AGENT_ALLOW", home.work());
    let _plumb = crate::agents::Agent::start(command, &home.work().join("log"));
    let mixed = lead(&home, &format!("{hosts},127.0.0.1:{port}"), FILES).expect(1);
    mixed.expect_stderr(&["is a real elbencho service and 127.0.0.1:", "services of one kind"]);
    lead(&home, &format!("127.0.0.1:{port}"), "--svcpwfile x -w -s 1m f")
        .expect(1)
        .expect_stderr(&["PLUMB_HOSTS_KEYS"]);
    home.plumb("agent --init keys").expect(0);
    let mut keyed = home.command(format!("as elbencho --hosts {hosts} -w -s 1m f").split(' '));
    keyed.env("PLUMB_HOSTS_KEYS", "keys/client.keys");
    CommandOutput::run(keyed).expect(1).expect_stderr(&["a real elbencho service, which cannot prove the keys"]);
    for (words, target) in [("--interrupt", "/interruptphase\n"), ("--quit", "/interruptphase?quit=1\n")] {
        let output = lead(&home, &hosts, words).expect(0);
        assert_eq!(output.out.matches(": OK\n").count(), 2, "{}", output.out);
        assert_eq!(services[0].requests().last().unwrap(), target);
    }
}

/// A real service, which ends with the test.
struct RealService(Child);

impl Drop for RealService {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// Protects the protocol as the real program speaks it. Debian has no package of elbencho, so CI does not fail without it:
// the recorded answers cover the same protocol.
#[test]
fn the_installed_elbencho_serves_plumb() {
    let version = Command::new("elbencho").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if !version.contains("Net protocol version: 3.1.3") {
        return needs::not_shown("elbencho of protocol 3.1.3 is not on PATH; recorded answers cover it");
    }
    let home = Home::new();
    std::fs::create_dir(home.work().join("d")).unwrap();
    let ports = [free_port(), free_port()];
    let _services = ports.map(|port| {
        let mut command = Command::new("elbencho");
        command.args(["--service", "--foreground", "--port", &port.to_string()]).current_dir(home.work());
        RealService(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    });
    wait_until("both services listen", || ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()));
    let hosts = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
    let output = lead(&home, &hosts, &format!("--verify 3 --jsonfile r.json {FILES}")).expect(0);
    output.expect_stdout(&["MKDIRS ", "WRITE ", "STAT ", "READ ", "RMFILES ", "RMDIRS "]);
    let reported = phases(&home, "r.json");
    assert_eq!(reported[1]["last_done"]["bytes"], "10485760");
    lead(&home, &hosts, "-r -s 1m none").expect(1).expect_stderr(&["none"]);
    lead(&home, &hosts, "--quit").expect(0);
}
