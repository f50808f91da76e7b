//! Tests that workload files and results with former keys are still accepted.

use plumb_document::json;
use plumb_workload::blocks::fio::OffsetDistribution;
use plumb_workload::companion::{Activity, Busy, Companion};
use plumb_workload::former::*;
use plumb_workload::pace::{ThinkBasis, ThinkTime};
use plumb_workload::phase::{Batch, ErrorOrigin, IgnoredError, OnError, Phase, RunAs, Start, WhenDone, WorkerGroup};
use plumb_workload::process::BufferMemory;
use plumb_workload::units::{Bytes, Nanos, PerSecond};
use plumb_workload::verify::{StampLayout, Verify, VerifyMethod};
use plumb_workload_text::native::{parse, parse_with};

/// A job as `--translate` wrote it when jobs had a pace, a queue and rules of their own.
const JOB: &str = r#"
name = "a"
[target.a.job-files]
names.numbered = { path = "a.0.0", count = 1 }
lengths = ["1MiB"]
[[phase]]
name = "1-a"
[[phase.workers]]
target = "a"
backend = "libaio"
depth = 8
pace = "closed"
batch = { submit = 1, complete = 1 }
work.job.ops.stream.read-percent = 50
work.job.ops.stream.order.random = {}
work.job.ops.stream.sizes = { read = "4KiB", write = "4KiB", trim = "4KiB" }
work.job.ops.stream.align = { read = "4KiB", write = "4KiB", trim = "4KiB" }
work.job.ops.stream.law.sequence = [3, 0]
work.job.ops.stream.seed = 137
work.job.ops.stream.worker-number = 1
work.job.ops.stream.ranges = [{ start = "0", length = "1MiB" }]
work.job.pace.ops-per-second = { read = "100/s", write = "100/s" }
work.job.pace.process = "poisson"
work.job.pace.think = { pause = "500us", every = 3 }
work.job.pace.steady = { figure = "ops", judged = "deviation", limit = 1.0, window = "3s", check-every = "1s" }
work.job.queue = { refill-at = 2, offload = true, never-wait = false }
work.job.errors.ignore = [{ at = "write", errno = 5 }]
work.job.files = { direct = true, prepare.write = true }
work.job.syncs.at-end = true
work.job.buffers.memory = "shared"
work.job.process.nice = 3
work.job.log-ops = true
work.job.time-submission = true
work.job.content = { refill = true, dedupe-percent = 20 }
work.job.verify = { method = "crc32c", interval = "4KiB" }
on-error = "leave"
"#;

fn only_group(text: &str) -> WorkerGroup {
    let mut workload = parse("old.toml", text).unwrap_or_else(|error| panic!("{error}"));
    workload.phase.remove(0).workers.remove(0)
}

#[test]
fn a_jobs_keys_belong_to_its_group() {
    let group = only_group(JOB);
    assert_eq!(group.batch, Batch { submit: 1, complete: 1, refill_at: Some(2), most_completions: None });
    assert_eq!(group.errors.ignore, [IgnoredError { at: ErrorOrigin::Write, errno: 5 }]);
    assert_eq!(group.pace.ops_per_second.write, Some(PerSecond(100.0)));
    assert!(!group.pace.arrival.is_fixed());
    assert_eq!(group.pace.think, Some(ThinkTime::every(3, Nanos(500_000))));
    assert_eq!(group.content.unwrap().dedupe_percent, 20);
    let verify = group.verify.unwrap();
    assert_eq!((verify.method, verify.layout), (VerifyMethod::Crc32c, StampLayout::Versioned));
    assert_eq!(group.steady.as_ref().unwrap().window, Nanos(3_000_000_000));
    let stream = group.work.fio().unwrap();
    assert_eq!((stream.read_percent, stream.seed, stream.ranges.len()), (Some(50), 137, 1));
    assert_eq!(stream.distribution, OffsetDistribution::Sequence(vec![3, 0]));
    assert!(group.files.direct && group.files.prepare.write && group.files.drop_cached);
    assert!(group.syncs.at_end && group.log_ops && group.time_submission);
    assert_eq!((group.process.nice, &group.buffers.memory), (Some(3), &BufferMemory::Shared(None)));
}

/// Protects error positions: an unknown key of a job has its own position, and the help suggests keys of the group.
#[test]
fn an_unknown_key_of_a_job_is_located() {
    let broken = JOB.replace("work.job.syncs.at-end", "work.job.snycs.at-end");
    let error = parse("old.toml", &broken).unwrap_err().to_string();
    let line = broken.lines().position(|line| line.contains("snycs")).unwrap() + 1;
    assert!(error.contains(&format!("old.toml:{line}:")) && error.contains("did you mean `syncs`?"), "{error}");
    let broken = JOB.replace("work.job.ops.stream.order.random", "work.job.ops.stream.odrer.random");
    let error = parse("old.toml", &broken).unwrap_err().to_string();
    assert!(error.contains("did you mean `order`?"), "{error}");
}

/// Protects printing: a stream is printed under its generator's current name.
#[test]
fn each_generator_is_printed_under_its_name() {
    let workload = parse("old.toml", JOB).unwrap();
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert!(text.contains("\nwork.blocks.fio.") && !text.contains("job."), "{text}");
    assert_eq!(parse("new.toml", &text).unwrap(), workload);
}

#[test]
fn stored_results_are_read_wherever_they_contain_workers() {
    let stored = r#"{ "name": "p", "workers": [{ "target": "t", "pace": "closed", "batch": { "submit": 0, "complete": 0 },
        "work": { "job": { "ops": { "recording": { "path": "r", "moves": { "read": true, "write": false, "trim": false },
                                                   "largest": 4096 } },
                           "pace": { "ops_per_second": null }, "queue": { "refill-at": 4 },
                           "errors": { "go-on-after-read": true } } } }] }"#;
    let stored = stored.replace(r#""ops_per_second": null"#, r#""think": { "pause": "1ms", "every": 2 }"#);
    let phase: Phase = read_json(&stored).unwrap_or_else(|error| panic!("{error}"));
    let group = &phase.workers[0];
    assert_eq!(group.batch.refill_at, Some(4));
    assert!(group.errors.go_on_after_read);
    assert_eq!(group.work.trace().unwrap().largest, Bytes(4096));
    assert_eq!(group.pace.think.unwrap().pause, Nanos(1_000_000));
}

/// Protects former short forms: pauses used to begin at once and to count started ops.
#[test]
fn former_short_forms_keep_their_meaning() {
    let blocks = |keys: &str| {
        format!(
            "name = \"b\"\n[target.t.null]\nsize = \"1MiB\"\n[[phase]]\nname = \"p\"\n[[phase.workers]]\n\
             target = \"t\"\nwork.blocks = {{}}\n{keys}\n"
        )
    };
    assert!(only_group(&blocks("pace = \"closed\"")).pace.is_closed());
    let think = only_group(&blocks("pace = { think = { time = \"1ms\" } }")).pace.think.unwrap();
    assert_eq!((think.pause, think.every), (Nanos(1_000_000), 1));
    assert_eq!((think.at_once, think.counts), (true, ThinkBasis::Started));
    let open = only_group(&blocks("pace = { open = { rate = \"10/s\", arrival = \"poisson\", shared = true } }")).pace;
    for (checksum, method) in [("crc32c", VerifyMethod::Crc32c), ("xxh3", VerifyMethod::XxHash)] {
        let text = blocks(&format!("verify = {{ checksum = \"{checksum}\" }}")).replace("null", "file");
        let text = text.replace("[target.t.file]", "[target.t.file]\npath = \"f\"");
        let own = Verify { layout: StampLayout::Plumb, ..Verify::new(method) };
        assert_eq!(only_group(&text).verify, Some(own));
    }
    assert!(open.open.is_some_and(|load| load.shared && !load.arrival.is_fixed()));
}

/// CPU load and programs used to be a kind of work, in a group with an unused target.
const COMPANIONS: &str = r#"
name = "b"
[target.t.null]
size = "1MiB"
[[phase]]
name = "p"
[[phase.workers]]
name = "burn"
target = "t"
count = 2
run-as = "process"
backend = "auto"
depth = 1
batch = { submit = 0, complete = 0 }
work.busy = { percent = 50, piece = "50ms", ends-with-others = true }
pace = "closed"
limit.time = "10s"
cpus = [1, 2]
on-error = "leave"
start = { delay = "1s" }
ramp = "2s"
when-done.groups = ["workers.2"]
[[phase.workers]]
target = "t"
work.exec = { program = "sleep", arguments = "5", grace = "1s" }
[[phase.workers]]
target = "t"
work.blocks = {}
"#;

#[test]
fn work_without_io_is_a_companion() {
    let workload = parse("old.toml", COMPANIONS).unwrap_or_else(|error| panic!("{error}"));
    let [phase] = workload.phase.as_slice() else { panic!("one phase") };
    // Its metrics keep their former name.
    assert_eq!(phase.workers[0].name.as_deref(), Some("workers.2"));
    let [burn, program] = phase.companions.as_slice() else { panic!("two companions") };
    let does = Busy { percent: 50, piece: Nanos(50_000_000), sorts: false, ends_with_others: true };
    let expected = Companion {
        count: 2,
        run_as: RunAs::Process,
        start: Start { delay: Nanos(1_000_000_000), after: Vec::new() },
        ramp: Nanos(2_000_000_000),
        time: Some(Nanos(10_000_000_000)),
        cpus: vec![1, 2],
        on_error: OnError::Leave,
        when_done: WhenDone::Groups(vec!["workers.2".to_owned()]),
        ..Companion::new("burn", Activity::Busy(does))
    };
    assert_eq!(*burn, expected);
    assert!(matches!(&program.does, Activity::Exec(exec) if exec.program == "sleep"));
    assert_eq!((program.name.as_str(), program.on_error), ("workers.1", OnError::Stop));
    let broken = COMPANIONS.replace("percent = 50", "percent = 500");
    let error = parse("old.toml", &broken).unwrap_err().to_string();
    let line = broken.lines().position(|line| line.contains("500")).unwrap() + 1;
    assert!(error.contains(&format!("old.toml:{line}:")), "{error}");
}

#[test]
fn stored_phases_with_companions_are_upgraded_and_measured_workers_are_unchanged() {
    let stored = r#"{ "name": "p", "workers": [
        { "target": "none", "work": { "busy": { "percent": 1, "piece": "1ms" } }, "limit": { "bytes": null } },
        { "target": "none", "work": { "exec": { "program": "true", "grace": "1s" } } } ] }"#;
    let phase: Phase = read_json(stored).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((phase.workers.len(), phase.companions.len()), (0, 2));
    let measured = r#"{ "workers": [{ "name": "a/0", "count": 3 }] }"#;
    let mut node = json::parse(measured.as_bytes()).unwrap();
    upgrade(&mut node);
    assert_eq!(node, json::parse(measured.as_bytes()).unwrap());
}

#[test]
fn an_override_may_use_a_former_path_and_errors_lead_to_the_original_line() {
    let set = ["phase.0.workers.0.work.job.queue.refill-at=3".parse().unwrap()];
    let workload = parse_with("old.toml", JOB, &set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(workload.phase[0].workers[0].batch.refill_at, Some(3));
    assert!(workload.phase[0].workers[0].work.fio().is_some());
    let set = ["phase.0.workers.0.work.job.ops.stream.seed=7".parse().unwrap()];
    let workload = parse_with("old.toml", JOB, &set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(workload.phase[0].workers[0].work.fio().unwrap().seed, 7);
    let broken = JOB.replace("write = \"100/s\"", "write = \"0/s\"");
    let error = parse("old.toml", &broken).unwrap_err();
    let line = broken.lines().position(|line| line.contains("0/s\" }")).unwrap() + 1;
    assert!(error.to_string().contains(&format!("old.toml:{line}:")), "{error}");
}
