//! Faults that falsify a number without slowing the device: each does what its name says, and a probe can detect it.

use super::*;

fn device_read_bytes(observations: &PhaseObservations) -> u64 {
    let read = |counters: &plumb_result::observe::Counters| counters.devices["sim0"].value().unwrap().read_bytes;
    read(&observations.after) - read(&observations.before)
}

#[test]
fn holes_show_in_the_extents_and_are_not_read_from_the_device() {
    let outcome = simulate("sim:ssd?holes=30%", 0, &phase(2), vec![worker(TestSource::random(4096), 4)]);
    let extents = *outcome.observations.extents_before["disk"].value().unwrap();
    let blank = extents.hole_bytes as f64 / extents.total_bytes as f64;
    assert!((blank - 0.3).abs() < 0.001, "{blank}");
    assert!(extents.extents > 1000, "{}", extents.extents);
    let read = device_read_bytes(&outcome.observations);
    let share = 1.0 - read as f64 / outcome.measurement.bytes() as f64;
    assert!((share - 0.3).abs() < 0.02, "{share}");
}

#[test]
fn the_first_write_fills_the_holes() {
    let target = target("sim:ssd?holes=100%");
    let mut simulation = Simulation::new([("disk", &target)], run(0));
    let mut next = |source: TestSource| {
        simulation.run_phase(&phase(1), vec![worker(source, 1)], None, &mut |_| ControlFlow::Continue(())).unwrap()
    };
    assert_eq!(
        next(TestSource::random(4096)).observations.extents_before["disk"].value().unwrap().hole_bytes,
        64 * GIB
    );
    next(TestSource::random(4096).writing());
    let after = next(TestSource::random(4096));
    assert_eq!(after.observations.extents_before["disk"].value().unwrap().hole_bytes, 0);
    assert_eq!(device_read_bytes(&after.observations), after.measurement.bytes());
}

#[test]
fn empty_reads_move_nothing_and_are_short() {
    let limit = Limit { ops: Some(1000), ..Limit::default() };
    let workers = vec![SimWorker { limit, ..worker(TestSource::sequential(1 << 20), 1) }];
    let outcome = simulate("sim:ssd?empty", 0, &phase(1), workers);
    assert_eq!((outcome.measurement.count(), outcome.measurement.bytes()), (1000, 0));
    assert_eq!(outcome.measurement.short_count, 1000);
    assert_eq!(device_read_bytes(&outcome.observations), 0);
}

#[test]
fn a_serial_device_has_one_op_in_flight_at_any_depth() {
    let (serial, honest) = ("sim:ssd?cv=0&serial", "sim:ssd?cv=0");
    let of = |device, depth| measure(device, 1, TestSource::random(4096), depth);
    let deep = of(serial, 32);
    assert_eq!(deep.workers[0].depth_asked, 32);
    assert!((deep.workers[0].in_flight_mean - 1.0).abs() < 0.01, "{}", deep.workers[0].in_flight_mean);
    assert_eq!(deep.count(), of(honest, 1).count());
    assert!((of(honest, 32).workers[0].in_flight_mean - 32.0).abs() < 0.1);
}

#[test]
fn thin_provisioning_slows_the_first_write_of_each_piece_and_no_other() {
    let rate_of_second_pass = |device: &str| {
        let target = SimTarget { size: Bytes(64 << 20), ..target(device) };
        let mut simulation = Simulation::new([("disk", &target)], run(0));
        let mut pass = || {
            let limit = Limit { bytes: Some(Bytes(64 << 20)), ..Limit::default() };
            let source = TestSource { size: 64 << 20, ..TestSource::sequential(1 << 20).writing() };
            let workers = vec![SimWorker { limit, ..worker(source, 1) }];
            let outcome = simulation.run_phase(&phase(60), workers, None, &mut |_| ControlFlow::Continue(()));
            bandwidth(&outcome.unwrap().measurement)
        };
        let first = pass();
        pass() / first
    };
    assert!((rate_of_second_pass("sim:ssd?thin=100%") - 2.0).abs() < 0.1);
    assert!((rate_of_second_pass("sim:ssd") - 1.0).abs() < 0.02);
}

#[test]
fn a_dry_token_bucket_lets_exactly_its_rate_through() {
    let dry = measure("sim:ssd?throttle=3s&throttle-rate=10MiB", 10, TestSource::random(4096), 8);
    let bytes: Vec<u64> = dry.intervals.iter().map(|interval| interval.ops[&OpKind::Read].bytes).collect();
    assert!(bytes[..3].iter().all(|&bytes| bytes > 150_000_000), "{bytes:?}");
    assert!(bytes[4..10].iter().all(|&bytes| bytes.abs_diff(10 << 20) <= 2 * 4096), "{bytes:?}");
}

#[test]
fn the_state_of_the_device_reflects_its_faults() {
    let of = |device: &str| {
        let outcome = simulate(device, 0, &phase(4), vec![worker(TestSource::random(4096), 1)]);
        outcome.observations.conditions
    };
    let heat = |device: &str| *of(device).after.heat["sim0"].value().unwrap();
    assert!(heat("sim:ssd?hot").celsius > heat("sim:ssd?hot").warning_celsius.unwrap());
    assert!(heat("sim:ssd").celsius < heat("sim:ssd").warning_celsius.unwrap());

    let changes = |device: &str| {
        let seen = of(device);
        let health =
            |conditions: &plumb_result::conditions::Conditions| conditions.health["sim0"].value().unwrap().clone();
        let (before, after) = (health(&seen.before), health(&seen.after));
        let errors = after.errors["media_errors"] - before.errors["media_errors"];
        (errors > 0, after.thermal_throttles > before.thermal_throttles)
    };
    assert_eq!(changes("sim:ssd"), (false, false));
    assert_eq!(changes("sim:ssd?errors=1%"), (true, false));
    assert_eq!(changes("sim:ssd?hot&throttle=2s"), (false, true));
    assert_eq!(of("sim:ssd?worn=91%").after.health["sim0"].value().unwrap().wear_percent, Some(91));

    let upkeep = |device: &str| of(device).before.upkeep.value().unwrap().len();
    assert_eq!((upkeep("sim:hdd"), upkeep("sim:hdd?resync=10%")), (0, 1));
}

/// The luckiest run must stay below the link speed that a probe reads, or A6 would reject healthy devices.
#[test]
fn the_link_carries_what_the_luckiest_run_moves() {
    for model in ["hdd", "ssd", "nvme", "ram"] {
        let device = format!("sim:{model}?cv=10%");
        let link: u64 = target_facts(0, &target(&device)).stack[0].settings["link_bytes_per_second"].parse().unwrap();
        for index in 0..20 {
            let limit = Limit { ops: Some(100), ..Limit::default() };
            let workers = vec![SimWorker { limit, ..worker(TestSource::sequential(1 << 20), 8) }];
            let reached = bandwidth(&simulate(&device, index, &phase(60), workers).measurement);
            assert!(reached <= link as f64, "{model}: {reached} of {link}");
        }
    }
}
