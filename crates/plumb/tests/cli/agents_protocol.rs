//! Recorded conversations between the host that leads and an agent, one file for each protocol. This program takes the
//! place of either end: what an older release sent and expected, it must still understand and send.
//!
//! `PLUMB_BLESS=1 cargo test -p plumb-storage --test cli agents_protocol` records the newest protocol again. The file of a
//! released protocol never changes.

use crate::agents::{Agent, socket};
use crate::common::Home;
use plumb_cluster::star::{Frame, Kind, Protocols};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Two phases with several kinds of op, on a target without storage, so that a recording fits every machine.
const WORKLOAD: &str = "name = \"conversation\"\n[target.none.null]\nsize = \"1MiB\"\n\
    [[phase]]\nname = \"write\"\nstop.ops = 1000\n[[phase.workers]]\ntarget = \"none\"\nwork.blocks.mix.write = 1\n\
    [[phase]]\nname = \"mixed\"\nstop.ops = 2000\n[[phase.workers]]\ncount = 2\ntarget = \"none\"\n\
    work.blocks.mix = { read = 3, write = 1 }\n";

/// Number of ops of [`WORKLOAD`].
const OPS: [u64; 2] = [1000, 2000];

/// Length of what follows, and the rank, before a payload in a packet.
const PACKET_HEAD_BYTES: usize = 12;

/// One end of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Leader,
    Agent,
}

impl End {
    const BOTH: [End; 2] = [End::Leader, End::Agent];

    fn name(self) -> &'static str {
        match self {
            End::Leader => "leader",
            End::Agent => "agent",
        }
    }
}

/// Something that one end sent: its line, or a frame.
#[derive(Debug, Clone, PartialEq)]
enum Sent {
    Line(String),
    Frame(Frame),
}

impl Sent {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Sent::Line(line) => format!("{line}\n").into_bytes(),
            Sent::Frame(frame) => frame.bytes(),
        }
    }

    /// Reads what an end sends next, other than signs of life and progress, whose number depends on the time that passes.
    fn read(from: &mut dyn Read) -> Option<Sent> {
        loop {
            match Frame::read(from).ok()?? {
                Frame { kind: Kind::Alive | Kind::News, .. } => {}
                frame => return Some(Sent::Frame(frame)),
            }
        }
    }

    /// Returns a frame's payload, if it is JSON, or the only one in a packet of several ranks' payloads.
    fn json(&self) -> Option<Value> {
        let Sent::Frame(Frame { payload, .. }) = self else { return None };
        let object = |bytes: &[u8]| serde_json::from_slice(bytes).ok().filter(Value::is_object);
        object(payload).or_else(|| object(payload.get(PACKET_HEAD_BYTES..)?))
    }

    fn to_value(&self) -> Value {
        let Sent::Frame(Frame { kind, rank, payload }) = self else {
            let Sent::Line(line) = self else { unreachable!() };
            return json!({ "line": line });
        };
        let mut value = json!({ "kind": format!("{kind:?}"), "rank": rank });
        match (self.json(), std::str::from_utf8(payload)) {
            (Some(json), _) => {
                value["json"] = json;
                if payload[0] != b'{' {
                    value["packed"] = payload[8].into();
                }
            }
            (None, Ok(text)) if text.bytes().all(|byte| byte >= b' ' || b"\t\n".contains(&byte)) => {
                value["text"] = text.into();
            }
            (None, _) => value["bytes"] = payload.as_slice().into(),
        }
        value
    }

    fn of_value(value: &Value) -> Sent {
        if let Some(line) = value["line"].as_str() {
            return Sent::Line(line.to_owned());
        }
        let kinds = [Kind::Message, Kind::Ends, Kind::Leaves, Kind::Gone];
        let kind = kinds.into_iter().find(|kind| value["kind"] == format!("{kind:?}")).expect("a kind of frame");
        let payload = match (value.get("json"), value["text"].as_str()) {
            (Some(json), _) => {
                let json = serde_json::to_vec(json).unwrap();
                let head = value["packed"].as_u64().map(|rank| {
                    let rank = (rank as u32).to_le_bytes();
                    [((rank.len() + json.len()) as u64).to_le_bytes().as_slice(), &rank].concat()
                });
                [head.unwrap_or_default(), json].concat()
            }
            (None, Some(text)) => text.as_bytes().to_vec(),
            (None, None) => serde_json::from_value(value["bytes"].clone()).unwrap(),
        };
        Sent::Frame(Frame { kind, rank: value["rank"].as_u64().unwrap() as u32, payload })
    }
}

type Conversation = Vec<(End, Sent)>;

fn recording(protocol: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/recorded/agents-protocol-{protocol}.jsonl"))
}

fn load(protocol: u32) -> Conversation {
    let text = std::fs::read_to_string(recording(protocol)).expect("each protocol has its recorded conversation");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of = |line: Value| {
        let end = End::BOTH.into_iter().find(|end| line["from"] == end.name()).unwrap();
        (end, Sent::of_value(&line))
    };
    lines.map(of).collect()
}

/// Writes a recording, without the names of the machine.
fn save(protocol: u32, conversation: &Conversation, home: &Home) {
    let mut text = String::new();
    for (end, sent) in conversation {
        let mut line = sent.to_value();
        line["from"] = end.name().into();
        if let Some(environment) = line.pointer_mut("/json/hosts/0/facts/environment") {
            environment["kernel_cmdline"] = json!({ "no": "left out of the recording" });
            environment["kernel"] = "6.1.0".into();
            environment["facts"] = json!({});
        }
        text.push_str(&format!("{line}\n"));
    }
    let own = |path: &str| std::fs::read_to_string(path).unwrap().trim().to_owned();
    let host = own("/proc/sys/kernel/hostname");
    for (name, public) in [
        (own("/proc/sys/kernel/random/boot_id"), "11111111-2222-3333-4444-555555555555"),
        (format!("\\t{host}\\t"), "\\tmachine\\t"),
        (format!("\"{host}\""), "\"machine\""),
        (home.work().display().to_string(), "/mnt/data"),
    ] {
        text = text.replace(&name, public);
    }
    std::fs::create_dir_all(recording(protocol).parent().unwrap()).unwrap();
    std::fs::write(recording(protocol), text).unwrap();
}

/// Reads the line with which each end begins.
fn read_line(stream: &UnixStream) -> Sent {
    let mut line = Vec::new();
    let mut byte = [0];
    while (&*stream).read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    Sent::Line(String::from_utf8(line).unwrap())
}

/// Passes everything on between a leading host and an agent, and writes down what each of them sends.
fn record(listener: &UnixListener, agent: &str) -> Conversation {
    let (leader, _) = listener.accept().unwrap();
    let agent = UnixStream::connect(agent).unwrap();
    let written: Arc<Mutex<Conversation>> = Arc::default();
    std::thread::scope(|scope| {
        for (end, from, to) in [(End::Leader, &leader, &agent), (End::Agent, &agent, &leader)] {
            let written = Arc::clone(&written);
            scope.spawn(move || {
                let mut next = Some(read_line(from));
                while let Some(sent) = next {
                    written.lock().unwrap().push((end, sent.clone()));
                    if (&*to).write_all(&sent.bytes()).is_err() {
                        break;
                    }
                    next = Sent::read(&mut &*from);
                }
                let _ = to.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    Arc::into_inner(written).unwrap().into_inner().unwrap()
}

/// Takes the place of one end: sends what it sent, and returns what the other end sends instead of the recorded.
fn replay(conversation: &Conversation, end: End, stream: &UnixStream) -> Vec<(Sent, Sent)> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut received = Vec::new();
    for (from, recorded) in conversation {
        if *from == end {
            (&*stream).write_all(&recorded.bytes()).expect("the other end listens");
            continue;
        }
        let sent = match recorded {
            Sent::Line(_) => Some(read_line(stream)),
            Sent::Frame(_) => Sent::read(&mut &*stream),
        };
        let sent = sent.unwrap_or_else(|| panic!("the other end sends nothing where it sent {recorded:?}"));
        received.push((recorded.clone(), sent));
    }
    received
}

/// Returns the paths of all keys in a value, such as `whole.measured.ops`.
fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = format!("{at}.{key}");
                keys(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, at, found)),
        _ => {}
    }
}

fn keys_of(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    keys(value, "", &mut found);
    found
}

/// Whether a part of a report describes the machine, so that its keys differ from those of the machine of the recording.
fn is_of_machine(path: &str) -> bool {
    ["facts", "observations"].iter().any(|part| path.split('.').any(|key| key == *part))
}

fn stored(home: &Home) -> Value {
    home.plumb("show --json").expect(0).json()
}

fn ops_of(result: &Value) -> Vec<u64> {
    let phases = result["phases"].as_array().unwrap();
    let count = |phase: &Value| phase["done"].as_object().unwrap().values().map(|op| op["ops"].as_u64().unwrap()).sum();
    phases.iter().map(count).collect()
}

// Protects the tests below: each protocol has its recording.
#[test]
fn every_protocol_is_recorded() {
    if std::env::var_os("PLUMB_BLESS").is_some() {
        let home = Home::new();
        home.file("w.toml", WORKLOAD);
        let (at, agent) = (home.work().join("recorder.sock"), home.work().join("agent.sock"));
        // On a clock of its own, so that the conversation has the comparison of clocks.
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--time", "--monotonic", "1000", "--fork", "--kill-child"]);
        let words = home.command(["agent", "--listen", &format!("unix:{}", agent.display()), "--allow", "/"]);
        command.arg(words.get_program()).args(words.get_args()).current_dir(home.work());
        command.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let _agent = Agent::start(command, &home.work().join("agent.log"));
        let listener = UnixListener::bind(&at).unwrap();
        let conversation = std::thread::scope(|scope| {
            let recorded = scope.spawn(|| record(&listener, agent.to_str().unwrap()));
            home.plumb(&format!("run w.toml --hosts unix:{}", at.display())).expect(0);
            recorded.join().unwrap()
        });
        save(Protocols::OWN.newest, &conversation, &home);
    }
    for protocol in Protocols::OWN.oldest..=Protocols::OWN.newest {
        let conversation = load(protocol);
        let frames = |end| conversation.iter().filter(|(from, _)| *from == end).count();
        assert!(frames(End::Leader) > 10 && frames(End::Agent) > 10, "protocol {protocol}");
    }
}

// Protects users of two releases: an agent that does not know a part of a workload names it before the run, and says which
// end to update.
#[test]
fn an_agent_names_what_it_does_not_know() {
    let home = Home::new();
    let _agent = Agent::local(&home, 1, "--allow /");
    let stream = UnixStream::connect(socket(&home, 1).strip_prefix("unix:").unwrap()).unwrap();
    let mut conversation = load(Protocols::OWN.newest);
    let is_resolve = |sent: &Sent| sent.json().is_some_and(|order| order.get("Resolve").is_some());
    let at = conversation.iter().position(|(_, sent)| is_resolve(sent)).unwrap();
    let mut order = conversation[at].1.to_value();
    order["json"]["Resolve"]["workload"]["invention"] = json!({ "of": 2031 });
    conversation[at].1 = Sent::of_value(&order);
    conversation.truncate(at + 2);
    let (_, answer) = replay(&conversation, End::Leader, &stream).pop().unwrap();
    let error = answer.json().unwrap()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("invention") && error.contains("update it"), "{error}");
}

// Protects an older leading host: this agent makes the run that it orders, answers in the recorded order, and leaves
// nothing out that it expects.
#[test]
fn an_agent_serves_leaders_of_every_protocol() {
    for protocol in Protocols::OWN.oldest..=Protocols::OWN.newest {
        let home = Home::new();
        let agent = Agent::local(&home, 1, "--allow /");
        let stream = UnixStream::connect(socket(&home, 1).strip_prefix("unix:").unwrap()).unwrap();
        for (recorded, sent) in replay(&load(protocol), End::Leader, &stream) {
            match (&recorded, &sent) {
                (Sent::Line(recorded), Sent::Line(sent)) => assert_eq!(recorded, sent),
                (Sent::Frame(recorded), Sent::Frame(sent)) => {
                    assert_eq!((recorded.kind, recorded.rank), (sent.kind, sent.rank));
                }
                _ => panic!("{sent:?} instead of {recorded:?}"),
            }
            let Some(report) = recorded.json() else { continue };
            let own = keys_of(&sent.json().expect("a report"));
            let missing: Vec<String> =
                keys_of(&report).into_iter().filter(|key| !is_of_machine(key) && !own.contains(key)).collect();
            assert!(missing.is_empty(), "protocol {protocol}: the report lacks {missing:?}");
        }
        drop(agent);
    }
}

// Protects an older agent: this program orders runs in words that it knows, and understands its reports.
#[test]
fn a_leader_uses_agents_of_every_protocol() {
    for protocol in Protocols::OWN.oldest..=Protocols::OWN.newest {
        let home = Home::new();
        home.file("w.toml", WORKLOAD);
        let at = home.work().join("recorded.sock");
        let listener = UnixListener::bind(&at).unwrap();
        let conversation = load(protocol);
        let played = std::thread::spawn(move || replay(&conversation, End::Agent, &listener.accept().unwrap().0));
        home.plumb(&format!("run w.toml --hosts unix:{}", at.display())).expect(0);
        assert_eq!(ops_of(&stored(&home)), OPS, "protocol {protocol}");
        for (recorded, sent) in played.join().unwrap() {
            let (Some(recorded), Some(sent)) = (recorded.json(), sent.json()) else { continue };
            let (recorded, sent) = (keys_of(&recorded), keys_of(&sent));
            let unknown: Vec<&String> = sent.difference(&recorded).collect();
            assert!(unknown.is_empty(), "protocol {protocol}: an older agent does not know {unknown:?}");
            let missing: Vec<&String> = recorded.difference(&sent).collect();
            assert!(missing.is_empty(), "protocol {protocol}: an older agent may need {missing:?}");
        }
    }
}
