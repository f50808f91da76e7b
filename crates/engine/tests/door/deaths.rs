//! Workers that cannot start, and workers that die.

use super::common::*;
use plumb_engine::Nobody;

fn text(size: &str, phase: &str, workers: &str) -> String {
    format!(
        r#"
        name = "deaths"
        [target.data.file]
        path = "data"
        size = "{size}"
        [[phase]]
        name = "only"
        {phase}
        [[phase.workers]]
        target = "data"
        {workers}
        "#
    )
}

/// Returns the processes that this thread has forked and not reaped.
fn children() -> Option<Vec<i32>> {
    let text = std::fs::read_to_string("/proc/thread-self/children").ok()?;
    Some(text.split_whitespace().map(|pid| pid.parse().unwrap()).collect())
}

#[test]
fn a_worker_process_that_is_killed_is_reported_and_ends_the_phase() {
    if children().is_none() {
        return skipped("this kernel does not list a thread's children");
    }
    for workers in
        ["count = 3\nwork.blocks.pattern = \"random\"", "count = 3\npace.open.rate = \"0.2/s\"\nwork.blocks = {}"]
    {
        let text = text("1MiB", "stop.time = \"1h\"", &format!("run-as = \"process\"\n{workers}"));
        let measurement = within(WATCHDOG, move || {
            let mut killed = false;
            let mut spy = Spy {
                at_interval: Some(Box::new(move |_| {
                    if let Some(&victim) = children().unwrap().get(1).filter(|_| !killed) {
                        killed = true;
                        let pid = rustix::process::Pid::from_raw(victim).unwrap();
                        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                    }
                })),
                ..Spy::default()
            };
            let measurement = Place::new().watch(&text, &mut spy);
            assert_eq!(children().unwrap(), Vec::<i32>::new(), "no process is left, not even a zombie");
            measurement
        });
        assert!(!measurement.interrupted, "nobody pressed Ctrl-C");
        let phase = &measurement.phases[0];
        consistent(phase);
        assert!(phase.count() > 0, "{workers}: the measurement is kept");
        assert_eq!(phase.fault_count, 1, "{workers}");
        let ended: Vec<&str> = phase.workers.iter().filter_map(|worker| worker.ended_by.as_deref()).collect();
        let [reason] = ended[..] else { panic!("expected one of three to die: {ended:?}") };
        assert!(reason.contains("signal 9"), "{reason}");
    }
}

#[test]
fn the_workers_of_a_run_are_gone_when_it_returns() {
    if children().is_none() {
        return skipped("this kernel does not list a thread's children");
    }
    let place = Place::new();
    for phase in ["stop.time = \"200ms\"", "stop.when = \"first-done\"", "stop.ops = 100"] {
        place.run(&text("1MiB", phase, "run-as = \"process\"\ncount = 4\nwork.blocks = {}"));
        assert_eq!(children().unwrap(), Vec::<i32>::new(), "{phase}");
    }
}

#[test]
fn an_unavailable_processor_is_an_error_that_names_the_worker() {
    for run_as in ["thread", "process"] {
        let message = within(WATCHDOG, move || {
            let workers =
                format!("name = \"pinned\"\nrun-as = \"{run_as}\"\ncount = 3\ncpus = [0, 1023]\nwork.blocks = {{}}");
            let outcome = Place::new().try_run(&text("1MiB", "stop.time = \"1h\"", &workers), &mut Nobody);
            assert!(children().is_none_or(|children| children.is_empty()), "the other processes are gone");
            outcome.unwrap_err().to_string()
        });
        assert!(message.contains("pinned/1") && message.contains("CPU 1023"), "{run_as}: {message}");
    }
}

#[test]
fn a_mapping_beyond_its_file_is_an_error_instead_of_a_crash() {
    for (run_as, mix) in [("thread", "read = 1"), ("process", "read = 0, write = 1")] {
        let workers = format!("run-as = \"{run_as}\"\nbackend = \"mmap\"\nwork.blocks.mix = {{ {mix} }}");
        let text = text("1MiB", "", &workers).replace("size =", "prepare = \"nothing\"\nsize =");
        let error = Place::new().try_run(&text, &mut Nobody).unwrap_err().to_string();
        assert!(error.contains("has 0 bytes") && error.contains("prepare"), "{error}");
    }
}

#[test]
fn many_workers_start_and_end() {
    let place = Place::new();
    for run_as in ["thread", "process"] {
        let workers = format!("run-as = \"{run_as}\"\ncount = 150\nlimit.ops = 20\nwork.blocks.pattern = \"random\"");
        let phase = &place.run(&text("1MiB", "", &workers)).phases[0];
        consistent(phase);
        assert_eq!((phase.count(), phase.workers.len()), (3000, 150), "{run_as}");
        assert!(phase.workers.iter().all(|worker| worker.count == 20 && worker.ended_by.is_none()), "{run_as}");
    }
}
