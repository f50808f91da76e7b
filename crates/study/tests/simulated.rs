//! Runs the checks on the simulated device, through complete runs: healthy devices raise nothing above a
//! note, and faults are reported.

use plumb_bench::{Bench, Policies, RunRequest, Silent};
use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::SimRun;
use plumb_engine::testdir::TestDirs;
use plumb_result::{Finding, Level};
use plumb_workload::Workload;
use plumb_workload_text::named::{NAMED, RunPlace, Scale, try_workload};
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Returns `true` in the lab tier (`cargo xtask test --lab`), which tests more seeds.
fn is_lab() -> bool {
    std::env::var_os("PLUMB_TEST_LAB").is_some()
}

fn bench() -> Bench {
    let state = std::env::temp_dir();
    Bench::new(None, StopFlag::detached(), Permissions::default(), TestDirs::new(state))
}

fn scale(device: &str, seconds: u64) -> Scale {
    let place = RunPlace::Sim(device.parse().expect("a simulated device"));
    Scale { file_bytes: 256 * MIB, files: 200, time_ns: seconds * 1_000_000_000, seed: 7, place }
}

fn findings(bench: &mut Bench, workload: &Workload, seed: u64) -> Vec<Finding> {
    let request = RunRequest {
        workload,
        policies: Policies::Fitted,
        base: Path::new("/tmp"),
        command: "test",
        dialect: None,
        sim_run: SimRun { seed, run_index: 0, plot_index: 0 },
    };
    bench.run(&request, &mut Silent).expect("a simulated run").result.checks
}

fn above_note(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(|finding| finding.level >= Level::Warn).collect()
}

/// Protects: no warning about a healthy device. The project allows 1 % of runs; of these, it is none.
#[test]
fn clean_runs_raise_nothing_above_a_note() {
    let seeds = if is_lab() { 20 } else { 3 };
    let mut bench = bench();
    let (mut runs, mut raised) = (0, Vec::new());
    for device in ["sim:hdd", "sim:ssd", "sim:nvme"] {
        // A second of this device is as many ops as an hour of a disk.
        let seconds = if device == "sim:nvme" { 1 } else { 2 };
        let named = NAMED.iter().map(|named| named.workload(&scale(device, seconds)));
        for workload in named.chain([try_workload(&scale(device, 1))]) {
            for seed in 0..seeds {
                runs += 1;
                let seeded = Workload { seed, ..workload.clone() };
                for finding in above_note(findings(&mut bench, &seeded, seed)) {
                    raised
                        .push(format!("{device} {} seed {seed}: {} {}", workload.name, finding.code, finding.message));
                }
            }
        }
    }
    assert!(raised.is_empty(), "{} of {runs} clean runs:\n{}", raised.len(), raised.join("\n"));
}

/// Phases long enough for the checks of a run's seconds.
#[test]
fn clean_long_runs_have_one_level_and_no_trend() {
    let mut bench = bench();
    let mut raised = Vec::new();
    let seeds_of = if is_lab() { [20, 6, 1] } else { [3, 2, 1] };
    for (device, seeds) in ["sim:hdd", "sim:ssd", "sim:nvme"].into_iter().zip(seeds_of) {
        for name in ["random-read", "random-write", "fsync-log", "mail", "database"] {
            let named = NAMED.iter().find(|named| named.name == name).expect("a named workload");
            for seed in 0..seeds {
                let workload = Workload { seed, ..named.workload(&scale(device, 12)) };
                for finding in above_note(findings(&mut bench, &workload, seed)) {
                    raised.push(format!("{device} {name} seed {seed}: {} {}", finding.code, finding.message));
                }
            }
        }
    }
    assert!(raised.is_empty(), "{}", raised.join("\n"));
}

fn levels(device: &str, name: &str, seconds: u64, code: &str) -> Vec<Level> {
    let mut bench = bench();
    let named = NAMED.iter().find(|named| named.name == name).expect("a named workload");
    let level = |seed: u64| {
        let workload = Workload { seed, ..named.workload(&scale(device, seconds)) };
        let found = findings(&mut bench, &workload, seed);
        found
            .into_iter()
            .filter(|finding| finding.code == code)
            .map(|finding| finding.level)
            .max()
            .unwrap_or(Level::Pass)
    };
    (0..3).map(level).collect()
}

#[track_caller]
fn always(device: &str, name: &str, seconds: u64, code: &str, at_least: Level) {
    let levels = levels(device, name, seconds, code);
    assert!(levels.iter().all(|level| *level >= at_least), "{code} on {device}, {name}: {levels:?}");
}

/// Protects: a flush that does nothing is flagged wherever one was requested, also once at the end.
#[test]
fn a_lying_flush_is_always_flagged() {
    for device in ["sim:hdd?lying-flush", "sim:ssd?lying-flush", "sim:nvme?lying-flush"] {
        for name in ["stream-write", "random-write", "fsync-log", "mail", "database", "small-files"] {
            always(device, name, 2, "A5", Level::Warn);
        }
    }
}

#[test]
fn a_neighbour_is_always_flagged() {
    for model in ["hdd", "ssd", "nvme"] {
        for name in ["stream-read", "stream-write", "random-read", "random-write", "fsync-log", "mail", "database"] {
            always(&format!("sim:{model}?background=10%"), name, 2, "C1", Level::Warn);
            always(&format!("sim:{model}?background=30%"), name, 2, "C1", Level::Fail);
        }
    }
}

/// Protects: throttling part-way is a change of level, in runs of a few seconds and of many.
#[test]
fn throttling_is_always_a_change_of_level() {
    for name in ["random-read", "random-write", "database"] {
        for device in ["sim:hdd", "sim:ssd"] {
            always(&format!("{device}?throttle=4s&throttle-slow=100%"), name, 8, "E3", Level::Warn);
            always(&format!("{device}?throttle=4s&throttle-slow=50%"), name, 24, "E3", Level::Warn);
        }
    }
}

fn open_load(rate: u32, depth: u32, arrival: &str) -> Workload {
    let text = format!(
        "name = \"open\"\n[target.data.sim]\ndevice = \"sim:ssd\"\nsize = \"256MiB\"\n[[phase]]\nname = \"open\"\n\
         cache = \"direct\"\nstop.time = \"4s\"\n[[phase.workers]]\ntarget = \"data\"\ndepth = {depth}\n\
         work.blocks = {{ pattern = \"random\", block = \"4KiB\" }}\n\
         pace.open = {{ rate = \"{rate}/s\", arrival = \"{arrival}\" }}\n"
    );
    plumb_workload_text::native::parse("open.toml", &text).expect("a workload")
}

/// An open load below saturation with room to start is fine; beyond it, it misses its rate; without room it is late.
#[test]
fn open_loads_are_held_to_their_rate_and_their_due_times() {
    let mut bench = bench();
    let mut levels = |rate: u32, depth: u32, arrival: &str| {
        let found = findings(&mut bench, &open_load(rate, depth, arrival), 3);
        let level = |code: &str| found.iter().find(|finding| finding.code == code).map(|finding| finding.level);
        (level("B3"), level("B4"))
    };
    for arrival in ["fixed", "poisson"] {
        assert_eq!(levels(5_000, 64, arrival), (Some(Level::Pass), Some(Level::Pass)), "{arrival}");
        let (late, missed) = levels(1_000_000, 64, arrival);
        assert_eq!((late, missed), (Some(Level::Warn), Some(Level::Warn)), "{arrival}");
    }
    // One at a time, Poisson arrivals queue within the generator long before the device is busy.
    assert_eq!(levels(8_000, 1, "poisson"), (Some(Level::Warn), Some(Level::Pass)));
}
