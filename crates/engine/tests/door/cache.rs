//! The page cache at the start of a phase is in the state that the phase asks for.

use super::common::*;
use plumb_engine::{Nobody, TargetView};
use plumb_probe::residency;
use plumb_result::observe::Residency;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

const SIZE_BYTES: u64 = 8 << 20;

fn text(cache: &str, workers: &str) -> String {
    format!(
        r#"
        name = "cache"
        [target.data.files]
        path = "data"
        count = 2
        size = "4MiB"
        [[phase]]
        name = "first"
        cache = "as-is"
        [[phase.workers]]
        target = "data"
        work.blocks.block = "64KiB"
        [[phase]]
        name = "second"
        cache = "{cache}"
        [[phase.workers]]
        target = "data"
        work.blocks.block = "64KiB"
        {workers}
        "#
    )
}

fn resident(targets: &[TargetView<'_>]) -> Residency {
    let seen = residency::sum(targets[0].files.iter().map(|file| residency::of_fd(*file)));
    *seen.value().unwrap_or_else(|| panic!("the residency is visible to root and owners: {seen:?}"))
}

/// Returns the residency before and after the second phase.
fn around(place: &Place, cache: &str, workers: &str) -> (Residency, Residency) {
    let (mut before, mut after) = (Residency::default(), Residency::default());
    let mut spy = Spy {
        at_begin: Some(Box::new(|_, targets| before = resident(targets))),
        at_end: Some(Box::new(|_, targets| after = resident(targets))),
        ..Spy::default()
    };
    let measurement = place.watch(&text(cache, workers), &mut spy);
    drop(spy);
    let phase = &measurement.phases[1];
    assert_eq!((phase.fallbacks.as_slice(), phase.fault_count), (&[][..], 0));
    (before, after)
}

#[test]
fn cold_is_empty_warm_is_full_and_direct_bypasses_the_cache() {
    let place = Place::new();
    let (before, after) = around(&place, "cold", "");
    assert!(before.resident_bytes * 100 <= SIZE_BYTES, "cold: {before:?}");
    assert!(after.resident_bytes >= SIZE_BYTES * 9 / 10, "reading fills the cache: {after:?}");

    let (before, _) = around(&place, "warm", "");
    assert!(before.resident_bytes >= SIZE_BYTES * 99 / 100, "warm: {before:?}");

    for workers in ["", "depth = 8", "work.blocks.mix = { read = 0, write = 1 }"] {
        let (before, after) = around(&place, "direct", workers);
        assert!(after.resident_bytes <= before.resident_bytes, "direct {workers}: {before:?}, then {after:?}");
        assert_eq!(before.dirty_bytes, 0, "direct {workers}: nothing remains to be written back during the phase");
    }
}

#[test]
fn a_cold_phase_after_a_direct_one_goes_through_the_cache_again() {
    let place = Place::new();
    let mut after = Vec::new();
    let mut spy = Spy::at_end(|_, targets| after.push(resident(targets).resident_bytes));
    let direct_first = text("cold", "").replace("\"as-is\"", "\"direct\"");
    place.watch(&direct_first, &mut spy);
    drop(spy);
    assert!(after[1] >= SIZE_BYTES * 9 / 10, "{after:?}");
}

#[test]
fn a_cold_file_set_is_cold() {
    let place = Place::new();
    let mut found: Vec<(String, u64)> = Vec::new();
    let mut spy = Spy::at_begin(|phase, targets| {
        let resident_bytes = |path: &PathBuf| {
            let file = File::open(path).unwrap();
            residency::of_fd(file.as_fd()).value().unwrap().resident_bytes
        };
        found.push((phase.to_owned(), tree_files(targets[0].path).iter().map(resident_bytes).sum()));
    });
    let phases: String = ["cold", "warm"]
        .iter()
        .map(|cache| {
            format!(
                "[[phase]]\nname = \"{cache}\"\ncache = \"{cache}\"\n[[phase.workers]]\ntarget = \"set\"\nlimit.passes = 5\nwork.flow.steps = [\"stat\"]\n"
            )
        })
        .collect();
    place.watch(
        &format!(
            "name = \"set\"\n[target.set.tree]\npath = \"set\"\nfiles = 600\nwidth = 4\ndepth = 1\nsize = \"8KiB\"\npreallocated-percent = 50\n{phases}"
        ),
        &mut spy,
    );
    drop(spy);
    let whole = 300 * 8192;
    assert!(found[0].1 * 100 <= whole, "{found:?}");
    assert!(found[1].1 * 100 >= whole * 99, "{found:?}");
}

#[test]
fn root_memory_is_never_cold_and_reports_that() {
    let Some(memory) = Mounted::tmpfs(64 << 20) else { return };
    let place = Place::on(memory.path());
    let error = place.try_run(&text("cold", ""), &mut Nobody).unwrap_err();
    assert!(error.is_plan());
    let message = error.to_string();
    assert!(["second", "cold", "tmpfs", "never cold", "as-is"].iter().all(|word| message.contains(word)), "{message}");
    let (before, _) = around(&place, "warm", "");
    assert!(before.resident_bytes >= SIZE_BYTES * 99 / 100, "memory is always warm");
}

#[test]
fn root_a_target_without_direct_io_is_cold_instead_and_the_result_reports_it() {
    // Few file systems lack direct I/O.
    let Some(file_system) =
        Mounted::try_on_loop_in(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")), "minix", 60 << 20)
    else {
        return eprintln!("SKIPPED: no file system without direct I/O can be mounted here");
    };
    let place = Place::on(file_system.path());
    let measurement = place.run(&text("direct", ""));
    let message = measurement.phases[1].fallbacks.join("\n");
    assert!(message.contains("direct:") && message.contains("cold page cache used instead"), "{message}");
}

#[test]
fn root_a_block_device_is_read_like_a_file() {
    let Some(file_system) = Mounted::on_loop("ext4", 64 << 20) else { return };
    let place = Place::new();
    for (cache, workers) in [("cold", ""), ("direct", "depth = 8"), ("direct", ""), ("warm", "backend = \"mmap\"")] {
        let mut resident_bytes = u64::MAX;
        let mut spy = Spy::at_begin(|_, targets| resident_bytes = resident(targets).resident_bytes);
        let phase = place
            .watch(
                &format!(
                    r#"
                    name = "device"
                    [target.disk.device]
                    path = "{}"
                    size = "32MiB"
                    [[phase]]
                    name = "read"
                    cache = "{cache}"
                    [[phase.workers]]
                    target = "disk"
                    work.blocks = {{ block = "64KiB", pattern = "permutation" }}
                    {workers}
                    "#,
                    file_system.device()
                ),
                &mut spy,
            )
            .phases
            .remove(0);
        drop(spy);
        consistent(&phase);
        assert_eq!((phase.count(), phase.bytes(), phase.fault_count), (512, 32 << 20, 0), "{cache} {workers}");
        if cache == "cold" {
            assert!(resident_bytes <= (64 << 20) / 100, "{resident_bytes}");
        }
    }
}

#[test]
fn root_an_image_below_is_as_cold_as_the_file_in_it() {
    let Some(file_system) = Mounted::on_loop("ext4", 128 << 20) else { return };
    let place = Place::on(file_system.path());
    let image = file_system.image().to_owned();
    let mut resident_bytes = 0;
    let mut spy = Spy::at_begin(|_, _| {
        let file = File::open(&image).unwrap();
        resident_bytes = residency::of_fd(file.as_fd()).value().unwrap().resident_bytes;
    });
    place.watch(&text("cold", ""), &mut spy);
    drop(spy);
    assert!(resident_bytes * 100 <= 128 << 20, "{resident_bytes} bytes of the image");
}
