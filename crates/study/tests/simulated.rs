//! The checks on the simulated device, through the whole of a run: what is healthy raises nothing above a note, and what
//! is wrong is called so.

use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::SimRun;
use plumb_engine::testdir::TestDirs;
use plumb_result::{Finding, Level};
use plumb_study::{Bench, Policies, RunRequest, Silent};
use plumb_workload::Workload;
use plumb_workload::named::{NAMED, Place, Scale, try_workload};
use std::path::Path;

const MIB: u64 = 1 << 20;

fn bench() -> Bench {
    let state = std::env::temp_dir();
    Bench::new(None, StopFlag::detached(), Permissions::default(), TestDirs::new(state))
}

fn scale(device: &str, seconds: u64) -> Scale {
    let place = Place::Sim(device.parse().expect("a simulated device"));
    Scale { file_bytes: 256 * MIB, files: 200, time_ns: seconds * 1_000_000_000, seed: 7, place }
}

fn findings(bench: &mut Bench, workload: &Workload, seed: u64) -> Vec<Finding> {
    let request = RunRequest {
        workload,
        policies: Policies::Fitted,
        base: Path::new("/tmp"),
        command: "test",
        sim_run: SimRun { seed, run_index: 0, plot_index: 0 },
    };
    bench.run(&request, &mut Silent).expect("a simulated run").result.checks
}

fn above_note(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(|finding| finding.level >= Level::Warn).collect()
}

/// Protects: nobody is warned of what is in order. The bar of the project is 1 % of runs; of these, it is none.
#[test]
fn clean_runs_raise_nothing_above_a_note() {
    const SEEDS: u64 = 20;
    let mut bench = bench();
    let (mut runs, mut raised) = (0, Vec::new());
    for device in ["sim:hdd", "sim:ssd", "sim:nvme"] {
        let named = NAMED.iter().map(|named| named.workload(&scale(device, 2)));
        for workload in named.chain([try_workload(&scale(device, 1))]) {
            for seed in 0..SEEDS {
                runs += 1;
                let seeded = Workload { seed, ..workload.clone() };
                for finding in above_note(findings(&mut bench, &seeded, seed)) {
                    raised.push(format!("{device} {} seed {seed}: {} {}", workload.name, finding.code, finding.message));
                }
            }
        }
    }
    assert!(raised.is_empty(), "{} of {runs} clean runs:\n{}", raised.len(), raised.join("\n"));
}
