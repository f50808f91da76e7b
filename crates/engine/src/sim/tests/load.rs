//! The load on virtual time: determinism, pacing, limits, stop rules, intervals.

use super::*;
use plumb_workload::{Arrival, PerSecond, Steady, When};

fn limited(ops: u64) -> Limit {
    Limit { ops: Some(ops), ..Limit::default() }
}

#[test]
fn the_same_run_gives_the_same_measurement_and_another_run_another() {
    let faults = "sim:hdd?cv=3%&errors=1%&short=1%&cached=10%&write-cache=1MiB&background=5%&stall=1s";
    let phase = Phase { cache: CachePolicy::AsIs, ..phase(20) };
    let once = |index| {
        let source = TestSource { write_share: 0.3, fsync_every: 20, ..TestSource::random(8192) };
        simulate(faults, index, &phase, vec![worker(source.clone(), 4), worker(source, 1)])
    };
    assert_eq!(once(3), once(3));
    assert_ne!(once(3), once(4));
}

/// Two streams on parts of one device make its head move back and forth; on separate devices they do not interfere.
#[test]
fn targets_share_a_device_or_have_their_own() {
    let bytes = |shares: Option<&str>| {
        let disk = target("sim:hdd?cv=0");
        let other = SimTarget { shares: shares.map(str::to_owned), ..disk.clone() };
        let mut simulation = Simulation::new([("disk", &disk), ("other", &other)], run(0));
        let workers = ["disk", "other"].map(|device| SimWorker { device, ..worker(TestSource::sequential(65_536), 1) });
        let outcome = simulation.run_phase(&phase(5), workers.into(), None, &mut |_| ControlFlow::Continue(()));
        outcome.unwrap().measurement.bytes()
    };
    assert!(bytes(Some("disk")) * 4 < bytes(None), "{} {}", bytes(Some("disk")), bytes(None));
}

#[test]
fn measurements_do_not_change_between_versions_or_machines() {
    // Golden numbers: stored simulated results, and the documentation's numbers, must stay reproducible.
    let golden = |device, seconds, depth| {
        let measurement = measure(device, seconds, TestSource::random(4096), depth);
        (measurement.count(), service(&measurement, OpKind::Read).sum())
    };
    assert_eq!(golden("sim:ssd", 1, 4), (49_897, 4_000_176_641));
    assert_eq!(golden("sim:hdd?cv=5%&plot=5%&drift=1%", 10, 1), (884, 10_005_684_265));
}

#[test]
fn one_fault_does_not_shift_the_draws_of_another() {
    let ops = |device: &str| {
        let measurement = measure(device, 1, TestSource::random(4096), 1);
        measurement.count() + measurement.fault_count
    };
    let calm = ops("sim:ssd?cv=5%");
    assert_eq!(calm, ops("sim:ssd?cv=5%&errors=1%&lying-flush&write-cache=1MiB&bimodal=0.0000001"));
    assert_ne!(calm, ops("sim:ssd?cv=6%"));
}

#[test]
fn ops_and_bytes_stop_exactly() {
    let stop = Stop { ops: Some(1_000), ..Stop::default() };
    let workers = || vec![worker(TestSource::random(4096), 8), worker(TestSource::random(4096), 1)];
    let outcome = simulate("sim:ssd", 0, &Phase { stop, ..phase(1) }, workers());
    assert_eq!(outcome.measurement.count(), 1_000);
    let stop = Stop { bytes: Some(Bytes(1 << 20)), ..Stop::default() };
    let outcome = simulate("sim:ssd", 0, &Phase { stop, ..phase(1) }, workers());
    assert_eq!(outcome.measurement.bytes(), 1 << 20);
}

#[test]
fn workers_end_by_their_limits_and_the_phase_with_the_last_or_the_first() {
    let workers = || {
        vec![
            SimWorker { limit: limited(100), ..worker(TestSource::random(4096), 1) },
            SimWorker { limit: limited(1_000), ..worker(TestSource::random(4096), 1) },
        ]
    };
    let all = simulate("sim:ssd", 0, &Phase { stop: Stop::default(), ..phase(1) }, workers()).measurement;
    assert_eq!(all.workers.iter().map(|w| w.count).collect::<Vec<_>>(), [100, 1_000]);
    assert_eq!(all.first_done_ns, Some(all.workers[0].wall_ns));
    assert_eq!(all.wall_ns, all.workers[1].wall_ns);
    let stop = Stop { when: When::FirstDone, ..Stop::default() };
    let first = simulate("sim:ssd", 0, &Phase { stop, ..phase(1) }, workers()).measurement;
    assert_eq!(first.workers[0].count, 100);
    assert!((90..=110).contains(&first.workers[1].count), "{}", first.workers[1].count);
}

#[test]
fn the_ramp_runs_but_is_not_measured() {
    let ramped = Phase { ramp: Nanos(2 * SECOND), ..phase(3) };
    let outcome = simulate("sim:ssd?cv=0", 0, &ramped, vec![worker(TestSource::random(4096), 1)]);
    let measurement = &outcome.measurement;
    assert_eq!(measurement.wall_ns.div_euclid(1_000_000), 3_000);
    assert!((36_000..39_000).contains(&measurement.count()));
    let (before, after) = (&outcome.observations.before, &outcome.observations.after);
    assert_eq!(before.at_ns, 2 * SECOND);
    let bytes = |counters: &plumb_result::observe::Counters| counters.devices["sim0"].value().unwrap().read_bytes;
    assert!(bytes(before) > 0);
    assert_eq!(bytes(after) - bytes(before), measurement.bytes() + 4096, "the op at the end of the ramp is its last");
}

#[test]
fn a_phase_that_ends_within_its_ramp_has_measured_nothing() {
    let ramped = Phase { ramp: Nanos(SECOND), ..phase(3) };
    let workers = vec![SimWorker { limit: limited(10), ..worker(TestSource::random(4096), 1) }];
    let measurement = simulate("sim:ssd", 0, &ramped, workers).measurement;
    assert_eq!((measurement.wall_ns, measurement.count(), measurement.intervals.len()), (0, 0, 0));
}

#[test]
fn intervals_tile_the_wall_time_and_sum_to_the_total() {
    let mut starts = Vec::new();
    let source = TestSource { write_share: 0.5, ..TestSource::random(4096) };
    let target = target("sim:hdd?stall=2500ms");
    let measurement = Simulation::new([("disk", &target)], run(0))
        .run_phase(&phase(7), vec![worker(source, 2)], None, &mut |interval| {
            starts.push(interval.start_ns);
            ControlFlow::Continue(())
        })
        .unwrap()
        .measurement;
    let seconds = measurement.intervals.iter().filter(|interval| interval.length_ns == SECOND);
    assert_eq!(starts, seconds.map(|interval| interval.start_ns).collect::<Vec<_>>(), "each second is reported");
    let mut end_ns = 0;
    for interval in &measurement.intervals {
        assert_eq!(interval.start_ns, end_ns);
        end_ns += interval.length_ns;
    }
    assert_eq!(end_ns + measurement.end.flush_ns.unwrap(), measurement.wall_ns, "the flush comes after the intervals");
    let sum: u64 = measurement.intervals.iter().flat_map(|interval| interval.ops.values()).map(|ops| ops.count).sum();
    assert_eq!(sum, measurement.count());
}

#[test]
fn an_open_load_keeps_its_rate_alone_and_shared() {
    for arrival in [Arrival::Fixed, Arrival::Poisson] {
        for shared in [false, true] {
            let pace = Pace::open(PerSecond(3_000.0), arrival, shared);
            let workers: Vec<_> = (0..4)
                .map(|number| SimWorker {
                    pace,
                    arrivals: StreamId { seed: 1, phase: 0, worker: number }.rng(Purpose::Arrival),
                    ..worker(TestSource::random(4096), 4)
                })
                .collect();
            let outcome = simulate("sim:ssd", 0, &phase(20), workers).measurement;
            let asked = if shared { 3_000.0 } else { 12_000.0 };
            // Three standard deviations of a Poisson count of 60,000 are 1.2 %.
            let tolerance = if arrival == Arrival::Fixed { 0.001 } else { 0.013 };
            assert!((rate(&outcome) / asked - 1.0).abs() < tolerance, "{arrival:?} {shared}: {}", rate(&outcome));
            assert!(outcome.workers.iter().all(|worker| worker.count > 5_000), "each worker participates");
        }
    }
}

#[test]
fn a_fixed_rate_starts_no_op_at_the_very_end() {
    let pace = Pace::open(PerSecond(1_000.0), Arrival::Fixed, false);
    let outcome = simulate("sim:ssd", 0, &phase(2), vec![SimWorker { pace, ..worker(TestSource::random(4096), 1) }]);
    assert_eq!(outcome.measurement.count(), 2_000);
}

#[test]
fn think_time_pauses_after_every_n_ops() {
    let pace = Pace::think(10, Nanos(1_000_000));
    let outcome = simulate("sim:ram", 0, &phase(1), vec![SimWorker { pace, ..worker(TestSource::random(4096), 1) }]);
    assert!((9_800..=10_000).contains(&outcome.measurement.count()), "{}", outcome.measurement.count());
}

#[test]
fn a_delay_takes_time_but_does_not_count_as_an_op() {
    let delay = BlockOp::load(OpKind::Delay, 0, 0, 10_000_000);
    let stat = BlockOp { kind: OpKind::Stat, ..delay };
    let outcome = simulate("sim:ram", 0, &phase(1), vec![worker(Steps(vec![delay, stat], 0), 1)]).measurement;
    assert_eq!(outcome.count(), 99);
    assert_eq!(outcome.ops.keys().collect::<Vec<_>>(), [&OpKind::Stat]);
}

#[test]
fn steady_stops_early_or_reports_that_it_was_not_steady() {
    let steady = Steady { max_rounds: 12, ..Steady::default() };
    let phase = |steady| Phase { stop: Stop { steady: Some(steady), ..Stop::default() }, ..phase(1) };
    let calm = simulate("sim:ssd", 0, &phase(steady), vec![worker(TestSource::random(4096), 1)]).measurement;
    assert_eq!(calm.steady, Some(true));
    assert_eq!(calm.intervals.iter().filter(|interval| interval.length_ns == SECOND).count(), 5);
    let never = Steady { range: 0.000_001, ..steady };
    let never = simulate("sim:ssd", 0, &phase(never), vec![worker(TestSource::random(4096), 1)]).measurement;
    assert_eq!(never.steady, Some(false));
    assert_eq!(never.wall_ns / SECOND, 12);
}

#[test]
fn phases_share_one_clock() {
    let target = target("sim:hdd");
    let mut simulation = Simulation::new([("disk", &target)], run(0));
    let mut go = |phase: &Phase, source| {
        simulation.run_phase(phase, vec![worker(source, 1)], Some(7), &mut |_| ControlFlow::Continue(())).unwrap()
    };
    let first = go(&phase(2), TestSource::random(4096).writing());
    let second = go(&phase(2), TestSource::random(4096));
    assert!(second.observations.before.at_ns >= first.observations.after.at_ns);
    assert_eq!(second.measurement.working_set_bytes, Some(7));
    assert_eq!(second.observations.before.devices, first.observations.after.devices, "counters are cumulative");
}

#[test]
fn workers_of_one_phase_may_use_several_devices_and_several_kinds_of_source() {
    let (fast, slow) = (target("sim:nvme"), target("sim:hdd"));
    let mut simulation = Simulation::new([("data", &fast), ("log", &slow)], run(0));
    assert!(simulation.device("none").is_none());
    let blocks = SimWorker { device: "data", ..worker(TestSource::random(4096), 1) };
    let steps = SimWorker { device: "log", ..worker(Steps::from_kinds(&[OpKind::Create, OpKind::Fsync]), 1) };
    let outcome =
        simulation.run_phase(&phase(1), vec![blocks, steps], None, &mut |_| ControlFlow::Continue(())).unwrap();
    let counters = |name: &str| *outcome.observations.after.devices[name].value().unwrap();
    assert!(counters("sim0").reads > 10_000 && counters("sim0").writes == 0);
    assert!(counters("sim1").reads == 0 && counters("sim1").flushes > Some(10));
    assert_eq!(outcome.observations.dirty_after.keys().collect::<Vec<_>>(), ["data", "log"]);
}

#[test]
fn the_caller_can_stop_and_keep_the_measurement() {
    let target = target("sim:ssd");
    let mut seconds = 0;
    let outcome = Simulation::new([("disk", &target)], run(0))
        .run_phase(
            &Phase { stop: Stop::default(), ..phase(1) },
            vec![worker(TestSource::random(4096), 4)],
            None,
            &mut |_| {
                seconds += 1;
                if seconds == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )
        .unwrap();
    assert!(outcome.interrupted);
    assert_eq!(outcome.measurement.wall_ns / SECOND, 3);
}

#[test]
fn a_phase_without_an_end_is_an_error_with_a_way_out() {
    let target = target("sim:ssd");
    let endless = Phase { stop: Stop::default(), ..phase(1) };
    let pace = Pace::think(1, Nanos(3_600 * SECOND));
    let workers = vec![SimWorker { pace, ..worker(TestSource::random(4096), 1) }];
    let error = Simulation::new([("disk", &target)], run(0))
        .run_phase(&endless, workers, None, &mut |_| ControlFlow::Continue(()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("seven days") && error.contains("`stop`"), "{error}");
}

#[test]
fn absurd_faults_and_times_end_in_an_error_or_a_number_but_never_in_a_panic() {
    let longest = Nanos(u64::MAX);
    let absurd = Phase { ramp: longest, stop: Stop { time: Some(longest), ..Stop::default() }, ..phase(1) };
    for device in [
        "sim:hdd?slow=10000%&drift=10000%&cv=10000%&plot=10000%&bimodal=1&bimodal-slow=10000%",
        "sim:ssd?background=10000%&resync=10000%&throttle=0s&throttle-slow=10000%&drift=10000%",
        "sim:ram?stall=18446744073709551615ns&cached=10000%&errors=10000%&short=10000%",
    ] {
        let target = target(device);
        for phase in [&absurd, &phase(1)] {
            let mut simulation = Simulation::new([("disk", &target)], SimRun { run_index: u32::MAX, ..run(0) });
            let limit = limited(200);
            let workers =
                vec![SimWorker { limit, ..worker(TestSource { fsync_every: 3, ..TestSource::random(4096) }, 64) }];
            let _ = simulation.run_phase(phase, workers, None, &mut |_| ControlFlow::Continue(()));
        }
    }
}

#[test]
fn files_of_a_target_are_consecutive() {
    // All ops have the same offset, in ten files. If the files overlapped, they would be one hot spot of the disk.
    let reads: Vec<BlockOp> = (0..10).map(|file| BlockOp::load(OpKind::Read, file, 0, 4096)).collect();
    let files = |files| SimTarget { files, ..target("sim:hdd?cv=0") };
    let rate_with = |target: SimTarget| {
        let workers = vec![worker(Steps(reads.clone(), 0), 1)];
        let outcome = Simulation::new([("disk", &target)], run(0))
            .run_phase(&phase(60), workers, None, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        rate(&outcome.measurement)
    };
    let (scattered, together) = (rate_with(files(Some(10))), rate_with(files(None)));
    assert!(scattered < 0.7 * together, "{scattered} {together}");
}
