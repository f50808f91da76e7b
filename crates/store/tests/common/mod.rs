//! A small run to store, shared by the tests.

#![allow(dead_code, unreachable_pub)] // each test file uses its part

use plumb_result::metric::Stat;
use plumb_result::observe::{Environment, FileSystem, TargetFacts};
use plumb_result::run::TierName;
use plumb_result::{
    Finding, Histogram, Interval, Level, Measurement, Metric, MetricValue, OpCounts, OpMeasurement, PhaseMeasurement,
    PhaseResult, RunResult, RunVerdict, Seen, Tool,
};
use plumb_store::RunStart;
use plumb_workload::{NullTarget, OpKind, Target, Workload};
use std::collections::BTreeMap;

pub const FIRST: &str = "018f0000-0000-7000-8000-00000000000a";
pub const SECOND: &str = "018f0000-0000-7000-8000-00000000001b";

pub fn workload() -> Workload {
    Workload {
        name: "seq".to_owned(),
        description: String::new(),
        seed: u64::MAX,
        target: [("data".to_owned(), Target::Null(NullTarget::with_size(plumb_workload::Bytes(1 << 30))))].into(),
        phase: Vec::new(),
        repeat: None,
    }
}

pub fn environment() -> Environment {
    Environment {
        hostname: "box".to_owned(),
        os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        arch: "x86_64".to_owned(),
        kernel: "6.1.0-35-amd64".to_owned(),
        kernel_cmdline: Seen::Yes("quiet".to_owned()),
        libc: "glibc 2.36".to_owned(),
        cpu: "A CPU".to_owned(),
        cpus: 8,
        ram_bytes: 1 << 34,
        governor: Seen::no("no cpufreq"),
        facts: [("vm.dirty_ratio".to_owned(), "20".to_owned())].into(),
        ..Environment::default()
    }
}

pub fn targets(free_bytes: u64) -> BTreeMap<String, TargetFacts> {
    let filesystem = FileSystem {
        kind: "ext4".to_owned(),
        mount_point: "/mnt/data".to_owned(),
        options: vec!["noatime".to_owned(), "rw".to_owned()],
        size_bytes: 1000,
        free_bytes,
        ..FileSystem::default()
    };
    let facts =
        TargetFacts { path: "/mnt/data".to_owned(), filesystem: Seen::Yes(filesystem), ..TargetFacts::default() };
    [("data".to_owned(), facts)].into()
}

pub fn tool() -> Tool {
    Tool { name: "plumb".to_owned(), version: "0.1.0".to_owned() }
}

/// Returns the result of run `id`, which started at `second` past a fixed minute.
pub fn result(id: &str, second: u32) -> RunResult {
    let write = OpKind::Write;
    let bandwidth = Metric::bandwidth(write);
    let value = |metric: Metric, value| MetricValue { value, unit: metric.unit(), tier: None, device_share: None };
    let p99 = Metric::latency(write, Stat::P99);
    let p9999 = Metric::latency(write, Stat::P9999);
    RunResult {
        ranks: None,
        imported: None,
        gated: None,
        under_load: None,
        schema: "plumb.result/1".to_owned(),
        id: id.to_owned(),
        started_at: format!("2024-05-01T12:00:{second:02}.123456789Z"),
        tool: tool(),
        workload: workload(),
        environment: environment(),
        target: targets(250),
        verdict: RunVerdict::Caution,
        partial: false,
        error: None,
        checks: ["seq-write", "seq-read"]
            .map(|phase| Finding {
                code: "A3".to_owned(),
                level: Level::Warn,
                phase: Some(phase.to_owned()),
                at_ns: None,
                observed: "4.1 GiB dirty".to_owned(),
                threshold: "0".to_owned(),
                message: "still in memory, when the clock stopped".to_owned(),
                remedy: "flush inside the clock".to_owned(),
                remedies: Vec::new(),
            })
            .to_vec(),
        phases: vec![PhaseResult {
            name: "seq-write, \"cold\"".to_owned(),
            wall_ns: 3_000_000_000,
            metrics: [
                (
                    bandwidth,
                    MetricValue {
                        tier: Some(TierName::Mixed),
                        device_share: Some(0.9),
                        ..value(bandwidth, Some(123_456_789.12345679))
                    },
                ),
                (p99, value(p99, Some(0.0))),
                (p9999, value(p9999, None)),
            ]
            .into(),
            done: BTreeMap::new(),
            steps: Vec::new(),
            replay: None,
            network: Vec::new(),
            fidelity: Vec::new(),
            first_done: None,
            notes: vec!["direct: not had; a cold page cache used instead".to_owned()],
            caches: None,
            limiter: None,
            ranks: None,
        }],
    }
}

pub fn intervals(from: u64, count: u64) -> Vec<Interval> {
    (from..from + count)
        .map(|i| Interval {
            start_ns: i * 1_000_000_000,
            length_ns: 1_000_000_000 - i % 2,
            ops: if i == 0 {
                BTreeMap::new()
            } else {
                let p50 = (i % 3 != 0).then_some(90_000 + i);
                [
                    (
                        OpKind::Write,
                        OpCounts { count: 1000 + i, bytes: i << 20, p50_ns: p50, p99_ns: p50, max_ns: Some(u64::MAX) },
                    ),
                    (OpKind::Fsync, OpCounts { count: 0, bytes: 0, p50_ns: None, p99_ns: None, max_ns: None }),
                ]
                .into()
            },
        })
        .collect()
}

pub fn measurement() -> Measurement {
    let mut service = Histogram::new();
    (1..1000).for_each(|i| service.record(i * 1000));
    let write = OpMeasurement { count: 999, bytes: 999 << 12, service, response: None, ..OpMeasurement::default() };
    Measurement {
        phases: vec![PhaseMeasurement {
            name: "seq-write, \"cold\"".to_owned(),
            wall_ns: 3_000_000_000,
            ops: [(OpKind::Write, write), (OpKind::Fsync, OpMeasurement::default())].into(),
            intervals: intervals(0, 7),
            steady: Some(true),
            ..PhaseMeasurement::default()
        }],
        ..Measurement::default()
    }
}

/// Calls `with` with the start of run `id`.
pub fn started<T>(id: &str, with: impl FnOnce(&RunStart<'_>) -> T) -> T {
    with(&RunStart {
        id,
        started_at: "2024-05-01T12:00:00Z",
        tool: &tool(),
        command: "plumb run seq.toml",
        dialect: None,
        workload: &workload(),
        environment: &environment(),
        targets: &targets(250),
    })
}
