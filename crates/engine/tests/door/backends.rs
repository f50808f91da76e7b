//! Every backend makes exactly the requested ops.

use super::common::*;
use plumb_result::PhaseMeasurement;
use plumb_workload::OpKind;

/// Every backend and mode, with a suitable depth. Those that a file system may not support are listed separately.
const BACKENDS: &[&str] = &[
    r#"backend = "auto""#,
    r#"backend = "psync""#,
    r#"backend = "preadv2""#,
    r#"backend.preadv2.flags = ["dsync"]"#,
    r#"backend.preadv2.flags = ["sync"]"#,
    r#"backend = "mmap""#,
    r#"backend = "stdio""#,
    "backend = \"auto\"\ndepth = 8",
    "backend = \"io-uring\"\ndepth = 1",
    "backend = \"io-uring\"\ndepth = 16",
    "backend.io-uring = { fixed-buffers = false, fixed-files = false }\ndepth = 8",
    "backend.io-uring = { fixed-buffers = true, fixed-files = false }\ndepth = 8",
    "backend.io-uring = { fixed-buffers = false, fixed-files = true }\ndepth = 3",
    "backend.io-uring = { poll-submissions = true }\ndepth = 4",
    "backend = \"io-uring\"\ndepth = 16\nbatch = { submit = 4, complete = 4 }",
    "backend = \"io-uring\"\ndepth = 16\nbatch = { submit = 1, complete = 16 }",
];

const MIB: u64 = 1 << 20;

fn on_a_file(lines: &str) -> String {
    format!(
        r#"
        name = "backends"
        [target.data.file]
        path = "data"
        size = "1MiB"
        content = "zero"
        [[phase]]
        name = "only"
        [[phase.workers]]
        target = "data"
        {lines}
        "#
    )
}

fn assert_no_faults(phase: &PhaseMeasurement, what: &str) {
    consistent(phase);
    assert_eq!((phase.fault_count, phase.short_count), (0, 0), "{what}: {:?}", phase.faults);
    assert!(phase.workers.iter().all(|worker| worker.ended_by.is_none()), "{what}");
}

#[test]
fn two_passes_are_every_block_twice() {
    let place = Place::new();
    for backend in BACKENDS {
        for (mix, kinds) in [("mix.read = 100", [512, 0]), ("mix = { read = 0, write = 100 }", [0, 512])] {
            let phase = place.phase(&on_a_file(&format!("{backend}\nwork.blocks.{mix}\nlimit.passes = 2")));
            assert_no_faults(&phase, backend);
            assert_eq!([count(&phase, OpKind::Read), count(&phase, OpKind::Write)], kinds, "{backend} {mix}");
            assert_eq!(phase.bytes(), 2 * MIB, "{backend} {mix}");
            assert_eq!(phase.end.flush_ns.is_some(), kinds[1] > 0, "{backend}: written data is flushed");
        }
    }
}

#[test]
fn a_mix_does_reads_and_writes_and_all_the_bytes() {
    let place = Place::new();
    for backend in BACKENDS {
        for pattern in ["sequential", "random", "permutation", "reverse"] {
            let phase = place.phase(&on_a_file(&format!(
                "{backend}\nwork.blocks.pattern = \"{pattern}\"\nwork.blocks.mix = {{ read = 50, write = 50 }}\nlimit.passes = 3"
            )));
            assert_no_faults(&phase, backend);
            let (reads, writes) = (count(&phase, OpKind::Read), count(&phase, OpKind::Write));
            assert_eq!((reads + writes, phase.bytes()), (768, 3 * MIB), "{backend} {pattern}");
            // Five standard deviations of a fair coin are 69.
            assert!(reads.abs_diff(384) < 70, "{backend} {pattern}: {reads} reads");
        }
    }
}

#[test]
fn the_backend_that_ran_is_named() {
    let place = Place::new();
    for (backend, name) in [
        ("", "psync"),
        ("backend = \"psync\"", "psync"),
        ("backend = \"preadv2\"", "preadv2"),
        ("backend = \"mmap\"", "mmap"),
        ("backend = \"stdio\"", "stdio"),
        ("backend = \"auto\"\ndepth = 4", "io-uring"),
    ] {
        let phase = place.phase(&on_a_file(&format!("{backend}\nwork.blocks = {{}}")));
        assert!(phase.workers.iter().all(|worker| worker.backend == name), "{backend}: {:?}", phase.workers);
        assert_eq!(phase.fallbacks, Vec::<String>::new());
    }
}

/// Protects: a flag that the file system does not support either works, or is an error of each op.
#[test]
fn an_unsupported_flag_is_an_error_of_every_op() {
    let place = Place::new();
    for flag in ["uncached", "nowait"] {
        for mix in ["read = 100", "write = 100, read = 0"] {
            let phase = place.phase(
                &on_a_file(&format!(
                    "backend.preadv2.flags = [\"{flag}\"]\nwork.blocks.mix = {{ {mix} }}\non-error = \"continue\""
                ))
                .replace("name = \"only\"", "name = \"only\"\ncache = \"warm\""),
            );
            consistent(&phase);
            assert_eq!(phase.count() + phase.fault_count, 256, "{flag}: each op completed or failed");
            let refused = phase.faults.iter().find(|fault| fault.errno != Some(libc::EAGAIN));
            if let Some(fault) = refused {
                assert_eq!(fault.errno, Some(libc::EOPNOTSUPP), "{flag}: {fault:?}");
                eprintln!("this file system does not support {flag}: {}", fault.message);
            }
        }
    }
}

#[test]
fn direct_flags_and_direct_rings_work_where_direct_io_does() {
    let place = Place::new();
    for backend in [
        "backend = \"psync\"",
        "backend.preadv2.flags = [\"dsync\"]",
        "backend.preadv2.flags = [\"hipri\"]",
        "backend = \"io-uring\"\ndepth = 8",
        "backend.io-uring = { fixed-buffers = false }\ndepth = 8",
    ] {
        for mix in ["read = 100", "write = 100, read = 0", "read = 50, write = 50"] {
            let phase = place.phase(
                &on_a_file(&format!("{backend}\nwork.blocks.pattern = \"permutation\"\nwork.blocks.mix = {{ {mix} }}"))
                    .replace("name = \"only\"", "name = \"only\"\ncache = \"direct\""),
            );
            assert_no_faults(&phase, backend);
            assert_eq!((phase.count(), phase.bytes()), (256, MIB), "{backend} {mix}");
        }
    }
}

#[test]
fn written_data_is_in_the_file() {
    let place = Place::new();
    for backend in BACKENDS {
        let mut found = Vec::new();
        let mut spy = Spy::at_end(|_, targets| found = std::fs::read(targets[0].path).unwrap());
        let text = on_a_file(&format!(
            "{backend}\nwork.blocks = {{ mix = {{ read = 0, write = 100 }}, pattern = \"permutation\", offset = \"64KiB\", span = \"128KiB\" }}"
        ))
        .replace("content = \"zero\"", "prepare = \"sparse\"\ncontent = { byte = 7 }");
        place.watch(&text, &mut spy);
        drop(spy);
        assert_eq!(found.len() as u64, MIB, "{backend}");
        let sevens = |range: std::ops::Range<usize>| found[range].iter().filter(|byte| **byte == 7).count();
        assert_eq!((sevens(64 << 10..192 << 10), sevens(0..found.len())), (128 << 10, 128 << 10), "{backend}");
    }
}

#[test]
fn two_streams_on_one_file_do_not_move_each_other() {
    // Duplicated descriptors share one offset, which fread and fwrite move.
    let place = Place::new();
    for run_as in ["thread", "process"] {
        let mut found = Vec::new();
        let mut spy = Spy::at_end(|_, targets| found = std::fs::read(targets[0].path).unwrap());
        let text = format!(
            r#"
            name = "streams"
            [target.data.file]
            path = "data"
            size = "8MiB"
            prepare = "sparse"
            content = {{ byte = 9 }}
            [[phase]]
            name = "write"
            [[phase.workers]]
            target = "data"
            count = 4
            run-as = "{run_as}"
            backend = "stdio"
            work.blocks = {{ block = "1000", mix = {{ read = 0, write = 1 }}, offset-increment = "2MiB", span = "2MiB" }}
            "#
        );
        let measurement = place.watch(&text, &mut spy);
        drop(spy);
        assert_no_faults(&measurement.phases[0], run_as);
        assert_eq!(found.len(), 8 << 20, "nothing was written beyond the end");
        assert_eq!(found.iter().position(|byte| *byte != 9), None, "{run_as}: every byte was written at its place");
    }
}

#[test]
fn flushes_come_after_every_nth_write_and_count_in_no_limit() {
    let place = Place::new();
    for backend in BACKENDS.iter().chain(&["backend = \"psync\"\nrun-as = \"process\""]) {
        for (limit, writes, flushes) in
            [("limit.passes = 1", 256, 25), ("limit.ops = 100", 100, 10), ("limit.bytes = \"80KiB\"", 20, 2)]
        {
            for flush in ["fsync", "fdatasync"] {
                let phase = place.phase(&on_a_file(&format!(
                    "{backend}\nwork.blocks = {{ mix = {{ read = 0, write = 1 }}, {flush}-every = 10 }}\n{limit}"
                )));
                assert_no_faults(&phase, backend);
                let kind = OpKind::from_name(flush).unwrap();
                assert_eq!((count(&phase, OpKind::Write), count(&phase, kind)), (writes, flushes), "{backend} {limit}");
                assert_eq!(phase.count(), writes + flushes, "{backend}: no other ops");
            }
        }
        let phase = place.phase(
            &on_a_file(&format!("{backend}\nwork.blocks = {{ mix = {{ read = 0, write = 1 }}, fsync-every = 1 }}"))
                .replace("name = \"only\"", "name = \"only\"\nstop.ops = 50"),
        );
        assert_eq!((count(&phase, OpKind::Write), count(&phase, OpKind::Fsync)), (50, 50), "{backend} stop.ops");
    }
}

#[test]
fn trims_are_ops_with_their_own_bytes() {
    let place = Place::new();
    for backend in ["backend = \"psync\"", "backend = \"preadv2\"", "backend = \"io-uring\"\ndepth = 8"] {
        let mut blocks_left = 0;
        let mut spy = Spy::at_end(|_, targets| {
            use std::os::unix::fs::MetadataExt;
            blocks_left = std::fs::metadata(targets[0].path).unwrap().blocks();
        });
        let text = on_a_file(&format!(
            "{backend}\nwork.blocks = {{ mix = {{ read = 0, trim = 1 }}, pattern = \"permutation\" }}"
        ));
        let phase = &place.watch(&text, &mut spy).phases[0];
        drop(spy);
        assert_no_faults(phase, backend);
        assert_eq!((count(phase, OpKind::Trim), bytes(phase, OpKind::Trim)), (256, MIB), "{backend}");
        assert_eq!(blocks_left, 0, "{backend}: the file has become a hole");

        let mixed = place.phase(&on_a_file(&format!(
            "{backend}\nwork.blocks = {{ mix = {{ read = 1, write = 1, trim = 1 }}, pattern = \"permutation\", trim-block = \"4KiB\" }}\nlimit.passes = 4"
        )));
        assert_no_faults(&mixed, backend);
        assert_eq!((mixed.count(), mixed.bytes()), (1024, 4 * MIB), "{backend}");
        assert!(count(&mixed, OpKind::Trim) > 256);
    }
}

#[test]
fn each_worker_starts_with_its_own_file() {
    let place = Place::new();
    for backend in BACKENDS {
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut spy = Spy::at_end(|_, targets| {
            found = (0..3)
                .map(|number| std::fs::read(targets[0].path.with_extension(number.to_string())).unwrap())
                .collect();
            assert_eq!(targets[0].files.len(), 3);
        });
        let text = format!(
            r#"
            name = "files"
            [target.data.files]
            path = "data"
            count = 3
            size = "128KiB"
            prepare = "sparse"
            content = {{ byte = 5 }}
            [[phase]]
            name = "write"
            [[phase.workers]]
            target = "data"
            count = 2
            {backend}
            work.blocks = {{ mix = {{ read = 0, write = 1 }}, span = "160KiB", block = "8KiB" }}
            "#
        );
        let phase = &place.watch(&text, &mut spy).phases[0];
        drop(spy);
        assert_no_faults(phase, backend);
        assert_eq!((phase.count(), phase.bytes()), (40, 320 << 10), "{backend}");
        // Worker 0: all of file 0 and the head of file 1. Worker 1: all of file 1 and the head of file 2.
        let written: Vec<usize> = found.iter().map(|file| file.iter().filter(|byte| **byte == 5).count()).collect();
        assert_eq!(written, [128 << 10, 128 << 10, 32 << 10], "{backend}");
        assert!(found[2][..32 << 10].iter().all(|byte| *byte == 5), "{backend}");
        assert_eq!(phase.working_set_bytes, Some(320 << 10), "{backend}: each worker's part of the files");
    }
}

#[test]
fn increments_give_each_worker_its_own_range() {
    let place = Place::new();
    let mut found = Vec::new();
    let mut spy = Spy::at_end(|_, targets| found = std::fs::read(targets[0].path).unwrap());
    let text = on_a_file(
        r#"count = 3
        work.blocks = { mix = { read = 0, write = 1 }, offset = "4KiB", offset-increment = "256KiB", span = "16KiB" }"#,
    )
    .replace("content = \"zero\"", "prepare = \"sparse\"\ncontent = { byte = 3 }");
    let phase = &place.watch(&text, &mut spy).phases[0];
    drop(spy);
    assert_eq!(phase.count(), 12);
    let written: Vec<usize> =
        found.chunks(4096).enumerate().filter(|(_, block)| block[0] == 3).map(|(at, _)| at).collect();
    assert_eq!(written, [1, 2, 3, 4, 65, 66, 67, 68, 129, 130, 131, 132]);
}

#[test]
fn null_completes_the_requested_ops_and_nothing_else() {
    let place = Place::new();
    let text = |lines: &str| {
        format!(
            "name = \"null\"\n[target.nothing.null]\nsize = \"1GiB\"\n[[phase]]\nname = \"only\"\n[[phase.workers]]\ntarget = \"nothing\"\n{lines}"
        )
    };
    for lines in ["", "depth = 32", "run-as = \"process\"\ncount = 2"] {
        for mix in ["read = 1", "read = 0, write = 1", "read = 1, write = 1, trim = 1"] {
            let phase = place.phase(&text(&format!(
                "{lines}\nwork.blocks = {{ mix = {{ {mix} }}, pattern = \"random\" }}\nlimit.ops = 10000"
            )));
            assert_no_faults(&phase, lines);
            let workers = phase.workers.len() as u64;
            assert_eq!((phase.count(), phase.bytes()), (10_000 * workers, 40_960_000 * workers));
            assert!(phase.workers.iter().all(|worker| worker.backend == "null"));
            assert_eq!(phase.end.flush_ns, None, "there is nothing to flush");
        }
    }
}

#[test]
fn threads_and_processes_can_be_mixed() {
    let place = Place::new();
    let phase = place.phase(&on_a_file(
        r#"name = "threads"
        count = 2
        work.blocks = {}
        [[phase.workers]]
        target = "data"
        name = "processes"
        run-as = "process"
        count = 2
        backend = "io-uring"
        depth = 4
        work.blocks = {}
        [[phase.workers]]
        target = "data"
        name = "mapped"
        run-as = "process"
        backend = "mmap"
        work.blocks = {}"#,
    ));
    assert_no_faults(&phase, "mixed");
    assert_eq!(phase.count(), 5 * 256);
    let names: Vec<&str> = phase.workers.iter().map(|worker| worker.name.as_str()).collect();
    assert_eq!(names, ["threads/0", "threads/1", "processes/0", "processes/1", "mapped/0"]);
    assert!(phase.workers.iter().all(|worker| worker.count == 256));
}
