//! Blocks are stamped when they are written and verified when they are read; errors contain the address.

use super::common::*;
use plumb_workload::OpKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn text(write: &str, read: &str) -> String {
    format!(
        r#"
        name = "verify"
        [target.data.file]
        path = "data"
        size = "1MiB"
        prepare = "sparse"
        [[phase]]
        name = "write"
        [[phase.workers]]
        target = "data"
        work.blocks.mix = {{ read = 0, write = 1 }}
        {write}
        [[phase]]
        name = "read"
        [[phase.workers]]
        target = "data"
        {read}
        "#
    )
}

#[test]
fn written_blocks_are_verified() {
    let place = Place::new();
    for checksum in ["crc32c", "xxh3"] {
        let verify = format!("verify.checksum = \"{checksum}\"");
        for write in [
            "backend = \"psync\"",
            "backend = \"io-uring\"\ndepth = 16\nwork.blocks.pattern = \"permutation\"",
            "backend = \"mmap\"\nwork.blocks.pattern = \"reverse\"",
            "backend = \"stdio\"\nrun-as = \"process\"",
            "count = 4\nwork.blocks.offset-increment = \"256KiB\"\nwork.blocks.span = \"256KiB\"",
            "work.blocks.block = \"16KiB\"",
        ] {
            let block = if write.contains("16KiB") { "work.blocks.block = \"16KiB\"" } else { "" };
            for read in [
                "backend = \"psync\"",
                "depth = 16\nbackend.io-uring = { fixed-buffers = false, fixed-files = false }",
                "count = 3\nrun-as = \"process\"\nbackend = \"preadv2\"",
                "backend = \"mmap\"",
            ] {
                let read = format!("{read}\nwork.blocks.pattern = \"permutation\"\n{block}\n{verify}");
                let measurement = place.run(&text(&format!("{write}\n{verify}"), &read));
                for phase in &measurement.phases {
                    consistent(phase);
                    assert_eq!(phase.faults, [], "{write}, then {read}");
                    assert!(phase.count() > 0);
                }
            }
        }
    }
}

#[test]
fn readers_with_other_sizes_find_the_stamps_of_writers() {
    // The distance of stamps suits all writers and verifiers, over all phases.
    let place = Place::new();
    let verify = "verify.checksum = \"crc32c\"";
    let measurement = place.run(&text(
        &format!("work.blocks.block = \"64KiB\"\n{verify}"),
        &format!("work.blocks.block = \"4KiB\"\nwork.blocks.pattern = \"permutation\"\n{verify}"),
    ));
    assert_eq!(measurement.phases[1].faults, []);
    let measurement = place.run(&text(
        &format!("work.blocks.block = \"8KiB\"\n{verify}"),
        &format!("work.blocks.block = \"12KiB\"\n{verify}"),
    ));
    assert_eq!(measurement.phases[1].faults, []);
}

#[test]
fn laid_out_blocks_are_verified() {
    let place = Place::new();
    let phase = place.phase(
        r#"
        name = "layout"
        [target.data.files]
        path = "data"
        count = 2
        size = "9MiB"
        [[phase]]
        name = "read"
        [[phase.workers]]
        target = "data"
        count = 2
        depth = 4
        work.blocks = { pattern = "permutation", block = "64KiB" }
        verify.checksum = "xxh3"
        "#,
    );
    assert_eq!((phase.count(), phase.fault_count), (576, 0), "{:?}", phase.faults);
}

#[test]
fn a_reader_that_also_writes_verifies_its_own_writes() {
    let place = Place::new();
    for pattern in ["random", "permutation", "sequential"] {
        let measurement = place.run(&text(
            "verify.checksum = \"crc32c\"",
            &format!("work.blocks = {{ mix = {{ read = 1, write = 1 }}, pattern = \"{pattern}\" }}\nlimit.passes = 4\nverify.checksum = \"crc32c\""),
        ));
        assert_eq!(measurement.phases[1].faults, [], "{pattern}");
    }
}

fn in_file(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut content = std::fs::read(path).unwrap();
    change(&mut content);
    file.write_all_at(&content, 0).unwrap();
}

#[test]
fn damage_between_writing_and_reading_is_reported_with_its_address() {
    const AT: usize = 37 * 4096;
    type Damage = fn(&mut Vec<u8>);
    /// Block numbers, with the expected message for each.
    type Found = &'static [(u64, &'static str)];
    let damages: [(&str, Damage, Found); 4] = [
        ("a byte", |content| content[AT + 2000] ^= 1, &[(37, "torn or damaged: expected content with checksum")]),
        ("a byte of a header", |content| content[AT + 20] ^= 1, &[(37, "damaged header: expected checksum")]),
        ("zeros", |content| content[AT..AT + 4096].fill(0), &[(37, "expected a stamped block, found zeros")]),
        (
            "two blocks",
            |content| {
                let other = content[99 * 4096..100 * 4096].to_vec();
                content.copy_within(AT..AT + 4096, 99 * 4096);
                content[AT..AT + 4096].copy_from_slice(&other);
            },
            &[(37, "misplaced: found the block of offset 405504"), (99, "misplaced: found the block of offset 151552")],
        ),
    ];
    let place = Place::new();
    let verify = "verify.checksum = \"crc32c\"";
    for read in
        ["backend = \"psync\"", "depth = 8", "run-as = \"process\"", "backend = \"mmap\"", "backend = \"stdio\""]
    {
        for (what, damage, expected) in &damages {
            let mut path = None;
            let mut spy = Spy::at_begin(|phase, targets| {
                if phase == "read" {
                    path = Some(targets[0].path.to_owned());
                    in_file(targets[0].path, damage);
                }
            });
            let continued = format!("{read}\non-error = \"continue\"\n{verify}\nwork.blocks = {{}}");
            let measurement = place.watch(&text(verify, &continued), &mut spy);
            drop(spy);
            let phase = &measurement.phases[1];
            consistent(phase);
            assert_eq!(phase.fault_count, expected.len() as u64, "{what} {read}: {:?}", phase.faults);
            assert_eq!(count(phase, OpKind::Read), 256, "{what} {read}: the rest is read too");
            for (fault, (number, message)) in phase.faults.iter().zip(*expected) {
                assert_eq!(
                    (fault.op, fault.offset, fault.length, fault.errno),
                    (OpKind::Read, number * 4096, 4096, None)
                );
                assert_eq!(Some(&fault.path), path.as_ref(), "{what} {read}");
                assert!(fault.message.contains(message), "{what} {read}: {}", fault.message);
                assert!(fault.message.contains("found"), "expected and found: {}", fault.message);
            }
        }
    }
}

#[test]
fn the_first_damage_ends_the_phase_unless_configured_otherwise() {
    let place = Place::new();
    let verify = "verify.checksum = \"crc32c\"";
    for read in ["", "depth = 8", "run-as = \"process\""] {
        let mut spy = Spy::at_begin(|phase, targets| {
            if phase == "read" {
                in_file(targets[0].path, |content| content[64 * 4096..].fill(0xee));
            }
        });
        let measurement = place.watch(&text(verify, &format!("{read}\n{verify}\nwork.blocks = {{}}")), &mut spy);
        let phase = &measurement.phases[1];
        assert!(phase.fault_count >= 1);
        assert!(count(phase, OpKind::Read) < 256, "{read}: the phase continued");
        assert!(phase.faults[0].message.contains("found other data that begins with"), "{}", phase.faults[0].message);

        let mut spy = Spy::at_begin(|phase, targets| {
            if phase == "read" {
                in_file(targets[0].path, |content| content[64 * 4096..].fill(0xee));
            }
        });
        let text = text(verify, &format!("{read}\n{verify}\nwork.blocks = {{}}\non-error = \"continue\""));
        let measurement = place.watch(&text, &mut spy);
        let phase = &measurement.phases[1];
        assert_eq!((count(phase, OpKind::Read), phase.fault_count), (256, 192), "{read}: all of them are counted");
        assert_eq!(phase.faults.len(), plumb_result::measurement::Fault::KEPT, "{read}: the first of them are kept");
    }
}

#[test]
fn a_block_of_an_earlier_run_is_not_mistaken_for_this_runs() {
    let mut place = Place::new();
    let verify = "verify.checksum = \"crc32c\"";
    let mut old = Vec::new();
    let mut spy = Spy::at_end(|phase, targets| {
        if phase == "write" {
            old = std::fs::read(targets[0].path).unwrap();
        }
    });
    let text = text(verify, &format!("{verify}\nwork.blocks = {{}}\non-error = \"continue\""));
    place.watch(&text, &mut spy);
    drop(spy);
    place.content_seed = 4711;
    let mut spy = Spy::at_begin(|phase, targets| {
        if phase == "read" {
            in_file(targets[0].path, |content| content[..8192].copy_from_slice(&old[..8192]));
        }
    });
    let phase = place.watch(&text, &mut spy).phases.remove(1);
    assert_eq!(phase.fault_count, 2);
    assert!(phase.faults[0].message.contains("stale: expected seed"), "{}", phase.faults[0].message);
}

#[test]
fn reads_concurrent_with_writes_report_that_they_cannot_be_verified() {
    // A read concurrent with a write of the same block may see half of it, which is not an error of the storage.
    let place = Place::new();
    let verify = "verify.checksum = \"crc32c\"";
    let mixed = "work.blocks = { mix = { read = 1, write = 1 }, pattern = \"random\" }";
    for (workers, disjoint) in [
        (format!("{mixed}\ndepth = 8"), false),
        (format!("{mixed}\ncount = 2"), false),
        (format!("work.blocks = {{}}\n{verify}\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.mix = {{ read = 0, write = 1 }}"), false),
        ("work.blocks = { mix = { read = 1, write = 1 }, span = \"128KiB\", offset-increment = \"128KiB\" }\ncount = 8".to_owned(), true),
    ] {
        let outcome = place.try_run(&text(verify, &format!("{workers}\n{verify}")), &mut plumb_engine::Nobody);
        match (outcome, disjoint) {
            (Ok(measurement), true) => assert_eq!(measurement.phases[1].faults, []),
            (Err(error), false) => {
                assert!(error.is_plan() && error.to_string().contains("verif"), "{error}");
            }
            (outcome, _) => panic!("{workers}: {outcome:?}"),
        }
    }
}

/// Plumb's own blocks can have fio's stamps, which readers with fio's rules understand.
#[test]
fn blocks_have_fio_stamps_on_request() {
    let place = Place::new();
    for (method, layout) in [("md5", "versioned"), ("crc64", "unversioned"), ("sha256", "versioned")] {
        let verify =
            format!("work.blocks.block = \"4KiB\"\nverify = {{ method = \"{method}\", layout = \"{layout}\" }}");
        for write in
            ["backend = \"psync\"", "backend = \"io-uring\"\ndepth = 16\nwork.blocks.pattern = \"permutation\""]
        {
            let measurement = place.run(&text(&format!("{write}\n{verify}"), &verify));
            for phase in &measurement.phases {
                consistent(phase);
                assert_eq!(phase.faults, [], "{write}, {verify}");
                assert!(phase.count() > 0);
            }
        }
    }
    let other_method = place.run(&text("", "work.blocks = {}\nverify = { method = \"md5\" }\non-error = \"continue\""));
    assert!(other_method.phases[1].faults[0].message.contains("offset"), "{:?}", other_method.phases[1].faults[0]);
}

/// Headers overwrite the content that fills the buffers.
#[test]
fn repeating_and_compressible_buffers_are_verified() {
    let place = Place::new();
    for content in ["{ refill = true, dedupe-percent = 50 }", "{ compress-percent = 40 }", "{ zero = true }", "{}"] {
        let verify = "work.blocks.block = \"4KiB\"\nverify = { method = \"xx-hash\", layout = \"plumb\" }";
        let measurement = place.run(&text(&format!("content = {content}\n{verify}"), verify));
        assert_eq!(measurement.phases[1].faults, [], "{content}");
        assert!(measurement.phases[0].count() > 0);
    }
}
