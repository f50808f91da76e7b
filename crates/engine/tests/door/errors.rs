//! Failed ops are results too: they are counted, with their address, and earlier measurements are kept.

use super::common::*;
use plumb_engine::Nobody;
use plumb_workload::OpKind;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Fills a file system up, leaving about `leave_bytes` free.
fn fill_up(directory: &Path, leave_bytes: u64) {
    let mut file = File::create(directory.join("filler")).unwrap();
    let free = || {
        let stat = rustix::fs::statvfs(directory).unwrap();
        stat.f_bavail * stat.f_frsize
    };
    while free() > leave_bytes {
        let piece = (free() - leave_bytes).clamp(4096, 1 << 20) as usize;
        if file.write_all(&vec![1; piece]).is_err() {}
    }
    file.sync_all().unwrap();
}

/// Undoes [`fill_up`]. A worker process of another test may briefly hold a copy of the descriptor.
fn make_room(directory: &Path) {
    std::fs::remove_file(directory.join("filler")).unwrap();
    let all_but = |bytes: u64| {
        let stat = rustix::fs::statvfs(directory).unwrap();
        (stat.f_blocks - stat.f_bavail) * stat.f_frsize <= bytes
    };
    for _ in 0..200 {
        if all_but(1 << 20) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the space was not freed");
}

fn text(workers: &str) -> String {
    format!(
        r#"
        name = "full"
        [target.data.file]
        path = "data"
        size = "8MiB"
        prepare = "sparse"
        [[phase]]
        name = "write"
        end.flush = "none"
        [[phase.workers]]
        target = "data"
        work.blocks.mix = {{ read = 0, write = 1 }}
        {workers}
        [[phase]]
        name = "after"
        [[phase.workers]]
        target = "data"
        work.blocks = {{}}
        "#
    )
}

#[test]
fn root_a_full_file_system_is_a_fault_with_its_address() {
    let Some(memory) = Mounted::tmpfs(64 << 20) else { return };
    let place = Place::on(memory.path());
    for manner in ["", "depth = 8", "run-as = \"process\"", "backend = \"preadv2\"", "count = 3", "backend = \"stdio\""]
    {
        for on_error in ["stop", "continue"] {
            let mut path = None;
            let mut spy = Spy::at_begin(|phase, targets| {
                if phase == "write" {
                    path = Some(targets[0].path.to_owned());
                    fill_up(memory.path(), 4 << 20);
                }
            });
            let measurement = place.watch(&text(&format!("{manner}\non-error = \"{on_error}\"")), &mut spy);
            drop(spy);
            make_room(memory.path());
            assert!(!measurement.interrupted);
            let phase = &measurement.phases[0];
            consistent(phase);
            assert!(phase.fault_count > 0 && phase.count() > 0, "{manner}: both completed and failed ops");
            for fault in &phase.faults {
                assert_eq!(
                    (fault.op, fault.errno, fault.length),
                    (OpKind::Write, Some(libc::ENOSPC), 4096),
                    "{manner}"
                );
                assert_eq!(Some(&fault.path), path.as_ref(), "{manner}");
                assert!(fault.offset > 0 && fault.offset.is_multiple_of(4096), "{manner}: {fault:?}");
                assert!(fault.message.contains("No space left"), "{manner}: {fault:?}");
            }
            let tried = phase.count() + phase.fault_count;
            let all = 2048 * phase.workers.len() as u64;
            match on_error {
                "stop" => assert!(tried < all, "{manner}: it continued after a fault"),
                _ => assert_eq!(tried, all, "{manner}: each op completed or failed"),
            }
            assert_eq!(measurement.phases[1].name, "after", "{manner}: the run continues with the next phase");
        }
    }
}

#[test]
fn root_buffered_data_that_cannot_be_written_is_a_fault() {
    let Some(memory) = Mounted::tmpfs(32 << 20) else { return };
    let place = Place::on(memory.path());
    for run_as in ["thread", "process"] {
        let mut spy = Spy::at_begin(|_, _| fill_up(memory.path(), 0));
        let text =
            text(&format!("backend = \"stdio\"\nrun-as = \"{run_as}\"\nlimit.ops = 3\nwork.blocks.block = \"100\""));
        let measurement = place.watch(&text[..text.find("[[phase]]\n        name = \"after\"").unwrap()], &mut spy);
        drop(spy);
        make_room(memory.path());
        let phase = &measurement.phases[0];
        assert_eq!((phase.count(), phase.fault_count), (3, 1), "{run_as}: the library accepted all three");
        let fault = &phase.faults[0];
        assert_eq!((fault.op, fault.errno), (OpKind::Write, Some(libc::ENOSPC)), "{run_as}");
        assert!(fault.path.ends_with("data") && fault.message.contains("buffered data"), "{run_as}: {fault:?}");
    }
}

#[test]
fn root_a_flow_on_a_full_file_system_knows_its_files_afterwards() {
    let Some(memory) = Mounted::tmpfs(64 << 20) else { return };
    let place = Place::on(memory.path());
    for run_as in ["thread", "process"] {
        let mut spy = Spy::at_begin(|phase, _| {
            if phase == "grow" {
                fill_up(memory.path(), 2 << 20);
            }
        });
        let measurement = place.watch(&FULL_FLOW.replace("RUN_AS", run_as), &mut spy);
        drop(spy);
        make_room(memory.path());
        let [grow, read] = &measurement.phases[..] else { panic!("two phases: {:?}", measurement.error) };
        consistent(grow);
        assert!(grow.fault_count > 0 && count(grow, OpKind::Create) > 0);
        let here = |path: &Path| path.starts_with(memory.path());
        assert!(grow.faults.iter().all(|fault| fault.errno == Some(libc::ENOSPC) && here(&fault.path)));
        assert_eq!(read.faults, [], "{run_as}: files that could not be created are not read");
        assert_eq!(count(read, OpKind::Open), 400);
    }
}

const FULL_FLOW: &str = r#"
        name = "full-flow"
        [target.set.tree]
        path = "set"
        files = 400
        size = "16KiB"
        preallocated-percent = 10
        [[phase]]
        name = "grow"
        [[phase.workers]]
        target = "set"
        count = 2
        run-as = "RUN_AS"
        on-error = "continue"
        limit.passes = 150
        work.flow.steps = ["create", "write-whole", "close"]
        [[phase]]
        name = "read"
        [[phase.workers]]
        target = "set"
        count = 2
        limit.passes = 200
        work.flow.steps = [{ open = { file = "sequential" } }, "read-whole", "close", "stat"]
        "#;

#[test]
fn root_a_flush_that_fails_is_a_fault_and_the_numbers_stay() {
    // A file system in an image without room for its blocks: writes go into the cache, and the flush fails.
    let Some(memory) = Mounted::tmpfs(48 << 20) else { return };
    let Some(file_system) = Mounted::on_loop_in(memory.path(), "ext4", 256 << 20) else { return };
    let place = Place::on(file_system.path());
    let mut spy = Spy::at_begin(|_, _| fill_up(memory.path(), 1 << 20));
    let outcome = place.try_run(
        r#"
                name = "lost"
                [target.data.file]
                path = "data"
                size = "32MiB"
                prepare = "sparse"
                [[phase]]
                name = "write"
                end = { flush = "fsync", clock = "inside" }
                [[phase.workers]]
                target = "data"
                work.blocks = { block = "1MiB", mix = { read = 0, write = 1 } }
                "#,
        &mut spy,
    );
    drop(spy);
    let phase = &outcome.unwrap().phases[0];
    assert_eq!(count(phase, OpKind::Write), 32);
    let fault = phase.faults.last().expect("the flush failed");
    assert_eq!((fault.op, phase.fault_count), (OpKind::Fsync, 1), "{fault:?}");
    assert!(matches!(fault.errno, Some(libc::EIO | libc::ENOSPC)), "{fault:?}");
    assert!(fault.path.ends_with("data"), "{fault:?}");
    assert_eq!(phase.end.flush_ns, None, "nothing was made durable");
}

#[test]
fn an_impossible_later_phase_is_found_before_the_first() {
    let place = Place::new();
    let mut spy = Spy::default();
    let outcome = place.try_run(
        r#"
        name = "plan"
        [target.data.files]
        path = "data"
        count = 2
        size = "1MiB"
        prepare = "sparse"
        [[phase]]
        name = "fine"
        [[phase.workers]]
        target = "data"
        work.blocks = {}
        [[phase]]
        name = "too-large"
        [[phase.workers]]
        target = "data"
        work.blocks = { block = "2MiB" }
        "#,
        &mut spy,
    );
    assert!(outcome.unwrap_err().to_string().contains("too-large"));
    assert_eq!(spy.log, Vec::<String>::new(), "nothing has started");
}

#[test]
fn an_impossible_plan_is_an_error_that_names_phase_and_group() {
    let place = Place::new();
    let error = place
        .try_run(
            r#"
            name = "plan"
            [target.data.files]
            path = "data"
            count = 2
            size = "1MiB"
            prepare = "sparse"
            [[phase]]
            name = "too-large"
            [[phase.workers]]
            name = "movers"
            target = "data"
            work.blocks = { block = "2MiB" }
            "#,
            &mut Nobody,
        )
        .map(|measurement| panic!("{measurement:?}"))
        .unwrap_err();
    assert!(error.is_plan(), "{error}");
    let message = error.to_string();
    assert!(["too-large", "movers", "2097152"].iter().all(|word| message.contains(word)), "{message}");
}

const LATER: &str = r#"
    name = "later"
    [target.data.file]
    path = "data"
    size = "1MiB"
    [[phase]]
    name = "first"
    [[phase.workers]]
    target = "data"
    work.blocks = {}
    [[phase]]
    name = "second"
    memory-pressure = "900TiB"
    [[phase.workers]]
    target = "data"
    work.blocks = {}
"#;

/// Protects: an error in a later phase does not lose an hour of measurements.
#[test]
fn an_error_in_a_later_phase_keeps_earlier_measurements() {
    let place = Place::new();
    let measurement = place.run(LATER);
    assert_eq!(measurement.phases.len(), 1);
    assert_eq!((measurement.phases[0].name.as_str(), measurement.phases[0].bytes()), ("first", 1 << 20));
    let error = measurement.error.expect("the error is returned");
    assert!(error.contains("second") && error.contains("memory"), "{error}");
    assert!(!measurement.interrupted, "there was no signal");
    // If nothing was measured, only the error is returned.
    let first = LATER.replacen("name = \"first\"", "name = \"first\"\nmemory-pressure = \"900TiB\"", 1);
    assert!(place.try_run(&first, &mut Nobody).is_err());
}
