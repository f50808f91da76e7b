//! Memory does not grow with the size of a target, with the number of ops, or with kinds of ops that a worker could
//! record but does not. This is a separate program, because peak memory is a property of the process.

#[path = "door/common.rs"]
#[allow(dead_code)]
mod common;

use common::{Mounted, Place};

const MIB: u64 = 1 << 20;

/// Returns the peak resident memory so far, bytes. Source: proc_pid_status(5), `VmHWM`.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn grows_by_less_than(limit_bytes: u64, what: &str, work: impl FnOnce()) {
    let before = peak_bytes();
    work();
    let grown = peak_bytes() - before;
    assert!(grown < limit_bytes, "{what}: the peak grew by {grown} bytes");
}

fn null(size: &str, phase: &str, workers: &str) -> String {
    format!(
        "name = \"memory\"\n[target.nothing.null]\nsize = \"{size}\"\n[[phase]]\nname = \"only\"\n{phase}\n[[phase.workers]]\ntarget = \"nothing\"\n{workers}"
    )
}

#[test]
fn memory_is_constant_in_file_size_op_count_and_workers() {
    let place = Place::new();
    // Exclude the memory that any first run needs.
    place.run(&null("1GiB", "stop.ops = 1000", "work.blocks.pattern = \"random\""));

    // Every block once, of 64 TiB: a bitmap would need 2 GiB, and a list of offsets 128 GiB.
    for pattern in ["\"permutation\"", "{ zipf = { theta = 0.9 } }"] {
        grows_by_less_than(16 * MIB, pattern, || {
            let text = null("64TiB", "stop.ops = 300000", &format!("count = 2\nwork.blocks.pattern = {pattern}"));
            assert_eq!(place.run(&text).phases[0].count(), 300_000);
        });
    }

    // The same on a file, as large as the file system allows. Reads hit holes.
    let xfs = Mounted::on_loop("xfs", 400 * MIB);
    let (place, size) = match &xfs {
        Some(xfs) => (Place::on(xfs.path()), "64TiB"),
        None => (place, "1TiB"),
    };
    grows_by_less_than(48 * MIB, "a sparse file", || {
        let text = format!(
            r#"
            name = "sparse"
            [target.data.file]
            path = "data"
            size = "{size}"
            prepare = "sparse"
            [[phase]]
            name = "read"
            cache = "direct"
            stop.ops = 20000
            [[phase.workers]]
            target = "data"
            depth = 16
            work.blocks.pattern = "permutation"
            "#
        );
        let phase = &place.run(&text).phases[0];
        assert_eq!((phase.count(), phase.fault_count, phase.short_count), (20_000, 0, 0));
    });

    grows_by_less_than(16 * MIB, "ten million ops", || {
        let text = null("1GiB", "stop.ops = 10000000", "work.blocks.pattern = \"random\"");
        assert_eq!(place.run(&text).phases[0].count(), 10_000_000);
    });

    // A worker has cells for every kind of op, and uses one.
    grows_by_less_than(300 * MIB / 4, "300 workers", || {
        let text = null("1GiB", "stop.time = \"1500ms\"", "count = 300\npace.open.rate = \"10/s\"\nwork.blocks = {}");
        assert_eq!(place.run(&text).phases[0].workers.len(), 300);
    });
}
