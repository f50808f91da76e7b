//! Ctrl-C: everything ends soon, keeps its measurements, and leaves nothing behind.

use super::common::*;
use plumb_result::Measurement;
use std::time::Duration;

/// Runs with a spy that is created from the stop flag.
fn stopped(
    text: String,
    spy: impl FnOnce(plumb_engine::signals::StopFlag) -> Spy<'static> + Send + 'static,
) -> Measurement {
    within(WATCHDOG, move || {
        let place = Place::new();
        let measurement = place.watch(&text, &mut spy(place.stop));
        assert!(measurement.interrupted, "{measurement:?}");
        measurement
    })
}

/// Raises the flag when the preparation named `word` begins.
fn stop_while_preparing(text: &str, word: &'static str) -> Measurement {
    stopped(text.to_owned(), move |stop| Spy {
        at_preparing: Some(Box::new(move |what| {
            if what.contains(word) {
                stop.request();
            }
        })),
        ..Spy::default()
    })
}

/// Raises the flag shortly after the first phase has begun.
fn stop_in_first_phase(text: String) -> Measurement {
    stopped(text, |stop| {
        Spy::at_begin(move |_, _| {
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(400));
                stop.request();
            });
        })
    })
}

fn file(size: &str, phase: &str, workers: &str) -> String {
    format!(
        r#"
        name = "stopped"
        [target.data.file]
        path = "data"
        size = "{size}"
        [[phase]]
        name = "first"
        {phase}
        [[phase.workers]]
        target = "data"
        {workers}
        [[phase]]
        name = "never"
        [[phase.workers]]
        target = "data"
        work.blocks = {{}}
        "#
    )
}

#[test]
fn while_a_file_is_laid_out() {
    let measurement = stop_while_preparing(&file("512MiB", "", "work.blocks = {}"), "writing data");
    assert_eq!(measurement.phases, []);
}

#[test]
fn while_a_tree_is_laid_out() {
    let text = r#"
        name = "stopped"
        [target.set.tree]
        path = "set"
        files = 100000
        size = "4KiB"
        preallocated-percent = 100
        [[phase]]
        name = "first"
        stop.time = "1h"
        [[phase.workers]]
        target = "set"
        work.flow.steps = ["stat"]
        "#;
    assert_eq!(stop_while_preparing(text, "making set").phases, []);
}

#[test]
fn while_the_cache_is_evicted_or_warmed() {
    for (cache, word) in [("cold", "dropping"), ("warm", "filling")] {
        let measurement =
            stop_while_preparing(&file("16MiB", &format!("cache = \"{cache}\""), "work.blocks = {}"), word);
        assert_eq!(measurement.phases, [], "{cache}");
    }
}

#[test]
fn while_a_phase_runs() {
    for workers in [
        "backend = \"psync\"",
        "backend = \"psync\"\nrun-as = \"process\"\ncount = 2",
        "backend = \"io-uring\"\ndepth = 32",
        "backend = \"io-uring\"\ndepth = 8\nrun-as = \"process\"",
        "backend = \"mmap\"",
        "backend = \"stdio\"",
        "backend = \"psync\"\nverify.checksum = \"crc32c\"",
    ] {
        for mix in ["read = 1", "read = 0, write = 1"] {
            let workers = format!("{workers}\nwork.blocks = {{ pattern = \"random\", mix = {{ {mix} }} }}");
            let measurement = stop_in_first_phase(file("16MiB", "stop.time = \"1h\"", &workers));
            let [phase] = &measurement.phases[..] else { panic!("the second phase must not begin") };
            consistent(phase);
            assert!(phase.count() > 0, "{workers}: the measurement is kept");
            assert!(phase.wall_ns > 0);
            assert!(phase.workers.iter().all(|worker| worker.ended_by.is_none()), "{workers}: {:?}", phase.workers);
        }
    }
}

#[test]
fn while_workers_wait_for_their_next_op() {
    for workers in ["", "run-as = \"process\"", "depth = 4", "depth = 4\nrun-as = \"process\""] {
        for pace in ["pace.open.rate = \"0.1/s\"", "pace.think.time = \"1h\""] {
            let measurement = stop_in_first_phase(file(
                "1MiB",
                "stop.time = \"1h\"",
                &format!("{workers}\n{pace}\nwork.blocks = {{}}"),
            ));
            let [phase] = &measurement.phases[..] else { panic!("the second phase must not begin") };
            consistent(phase);
            assert!((1..=4).contains(&phase.count()), "{workers} {pace}: {}", phase.count());
        }
    }
}

#[test]
fn while_a_flow_waits_or_works() {
    for step in ["{ delay = { time = \"1h\" } }", "\"stat\""] {
        for run_as in ["thread", "process"] {
            let measurement = stop_in_first_phase(format!(
                r#"
                name = "stopped"
                [target.set.tree]
                path = "set"
                files = 10
                size = "4KiB"
                preallocated-percent = 100
                [[phase]]
                name = "first"
                stop.time = "1h"
                [[phase.workers]]
                target = "set"
                run-as = "{run_as}"
                work.flow.steps = ["stat", {step}]
                "#
            ));
            assert!(measurement.phases[0].count() > 0, "{step} {run_as}");
        }
    }
}

#[test]
fn a_stop_in_the_ramp_has_measured_nothing() {
    for run_as in ["thread", "process"] {
        let ramp = "ramp = \"1h\"\nstop.time = \"1h\"";
        let measurement = stop_in_first_phase(file(
            "1MiB",
            ramp,
            &format!("run-as = \"{run_as}\"\nwork.blocks.pattern = \"random\""),
        ));
        let [phase] = &measurement.phases[..] else { panic!("one phase") };
        assert_eq!((phase.count(), phase.wall_ns), (0, 0), "{run_as}");
        assert_eq!(phase.intervals, [], "{run_as}");
    }
}

#[test]
fn before_anything_has_begun() {
    let measurement = within(WATCHDOG, || {
        let place = Place::new();
        place.stop.request();
        place.run(&file("16MiB", "stop.time = \"1h\"", "work.blocks.pattern = \"random\""))
    });
    assert!(measurement.interrupted);
    assert_eq!(measurement.phases, []);
    let measurement = within(WATCHDOG, || {
        let place = Place::new();
        place.stop.request();
        place.run("name = \"x\"\n[target.n.null]\nsize = \"1GiB\"\n[[phase]]\nname = \"p\"\nstop.time = \"1h\"\n[[phase.workers]]\ntarget = \"n\"\nwork.blocks.pattern = \"random\"")
    });
    assert!(measurement.interrupted);
}
