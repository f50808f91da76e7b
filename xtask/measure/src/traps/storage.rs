//! Traps of storage: caches, unwritten blocks, flushes, layers, and misleading loads.

use super::site::Site;
use super::{Load, Sign, Trap, fail, note, warn};

pub(crate) fn traps() -> Vec<Trap> {
    [caches(), blank(), unflushed(), layers(), loads(), changes()].concat()
}

/// Reads that no device served.
fn caches() -> Vec<Trap> {
    const STREAM: Load = Load::STREAM;
    vec![
        Trap::new(
            "reads from a warm page cache",
            Site::Ext4,
            Load { cache: "warm", ..STREAM },
            [note("A1", "came from")],
        ),
        Trap::new(
            "reads of what was just written",
            Site::Ext4,
            Load { cache: "as-is", ..STREAM },
            [note("A1", "came from")],
        ),
        Trap::new(
            "a cold read that goes round four times",
            Site::Ext4,
            Load { cache: "cold", phase: "", workers: "limit.passes = 4", ..STREAM },
            [fail("A1", "cold")],
        ),
        Trap::new(
            "another program warms the cache of a cold read",
            Site::Ext4,
            Load { cache: "cold", pattern: "permutation", block: "64KiB", ..STREAM },
            [fail("A1", "cold")],
        )
        .during("while sleep 0.1; do cat $AT/plumb-test-*/data; done"),
        Trap::new(
            "mapped reads from memory",
            Site::Ext4,
            Load { cache: "as-is", workers: "backend = \"mmap\"", ..Load::RANDOM },
            [note("A1", "came from"), Sign::Tier("cache")],
        ),
        Trap::new(
            "a cold read of tmpfs",
            Site::Tmpfs,
            Load { cache: "cold", ..STREAM },
            [warn("A1", "is memory"), Sign::Error("never cold")],
        ),
        Trap::new(
            "a read of tmpfs as it is",
            Site::Tmpfs,
            Load { cache: "as-is", ..STREAM },
            [note("A1", "is memory")],
        ),
        Trap::new("a loop device over memory", Site::InMemory, STREAM, [warn("A1", "memory"), warn("A7", "")]),
        Trap::new("a cached loop device", Site::Cached, STREAM, [warn("A7", "")]),
        Trap::new("compressed memory as a disk", Site::Zram, STREAM, [warn("A1", "memory"), warn("A7", "memory")]),
        Trap::new(
            "a working set of half the memory allowed",
            Site::Ext4,
            Load { cache: "as-is", size: "128MiB", ..Load::RANDOM },
            [warn("B6", ""), warn("C12", "")],
        )
        .around(
            "d=/sys/fs/cgroup/memory/plumb-trap; mkdir -p $d && echo 120M >$d/memory.limit_in_bytes && \
             echo $$ >$d/cgroup.procs; exec \"$@\"",
        )
        .afterwards("rmdir /sys/fs/cgroup/memory/plumb-trap"),
        Trap::new(
            "reads through FUSE",
            Site::Fuse,
            Load { cache: "cold", ..STREAM },
            [Sign::Verdict("unknown"), Sign::Tier("unknown")],
        ),
    ]
}

/// Reads of blocks that were never written.
fn blank() -> Vec<Trap> {
    let blank = |prepare, cache| Load { prepare, cache, ..Load::STREAM };
    vec![
        Trap::new("direct reads of holes", Site::Ext4, blank("sparse", "direct"), [fail("A4", "holes")]).never(&["A1"]),
        Trap::new("cold reads of holes", Site::Ext4, blank("sparse", "cold"), [fail("A4", "holes")]).never(&["A1"]),
        Trap::new(
            "direct reads of fallocated blocks",
            Site::Ext4,
            blank("allocate", "direct"),
            [fail("A4", "never written")],
        )
        .never(&["A1"]),
        Trap::new(
            "cold reads of fallocated blocks",
            Site::Ext4,
            blank("allocate", "cold"),
            [fail("A4", "never written")],
        )
        .never(&["A1"]),
        Trap::new("direct reads of holes on xfs", Site::Xfs, blank("sparse", "direct"), [fail("A4", "holes")])
            .never(&["A1"]),
        Trap::new("direct reads of holes on btrfs", Site::PlainBtrfs, blank("sparse", "direct"), [fail("A4", "holes")])
            .never(&["A1"]),
        Trap::new(
            "all blocks are punched out mid-run",
            Site::Ext4,
            Load { seconds: 5, ..Load::RANDOM },
            [fail("A4", "while the clock ran")],
        )
        .during("sleep 2; fallocate -p -o 0 -l 64M $AT/plumb-test-*/data")
        .never(&["A1"]),
        Trap::new(
            "half the blocks are punched out mid-run",
            Site::Xfs,
            Load { seconds: 5, ..Load::RANDOM },
            [fail("A4", "while the clock ran")],
        )
        .during("sleep 2; fallocate -p -o 0 -l 32M $AT/plumb-test-*/data")
        .never(&["A1"]),
    ]
}

/// Writes that did not reach a device.
fn unflushed() -> Vec<Trap> {
    const WRITE: Load = Load::WRITE;
    vec![
        Trap::new(
            "writes without a flush, declared",
            Site::Ext4,
            Load { phase: "stop.bytes = \"64MiB\"\nend.flush = \"none\"", ..WRITE },
            [note("A3", "by design")],
        ),
        Trap::new(
            "writes that end with close",
            Site::Ext4,
            Load { phase: "stop.bytes = \"64MiB\"\nend.flush = \"close\"", ..WRITE },
            [note("A3", "by design")],
        ),
        Trap::new(
            "a flush outside the clock",
            Site::Ext4,
            Load { phase: "stop.bytes = \"64MiB\"\nend = { flush = \"fsync\", clock = \"outside\" }", ..WRITE },
            [fail("A3", "")],
        ),
        Trap::new(
            "a flush outside the clock on xfs",
            Site::Xfs,
            Load { phase: "stop.bytes = \"64MiB\"\nend = { flush = \"fsync\", clock = \"outside\" }", ..WRITE },
            [fail("A3", "")],
        ),
        Trap::new(
            "blocks that are overwritten in memory",
            Site::Ext4,
            Load {
                block: "64KiB",
                pattern: "random",
                size: "16MiB",
                phase: "stop.time = \"3s\"\nend = { flush = \"fsync\", clock = \"inside\" }",
                ..WRITE
            },
            [fail("A3", "overwritten"), warn("A3", "overwritten")],
        ),
        Trap::new("durable writes on tmpfs", Site::Tmpfs, Load::LOG, [note("A3", "is memory")]),
        Trap::new("flushes on a file system without barriers", Site::NoBarrier, Load::LOG, [warn("A5", "")]),
        Trap::new(
            "buffered writes, cut off early",
            Site::Ext4,
            Load { prepare: "allocate", size: "256MiB", phase: "stop.time = \"2s\"\nend.flush = \"none\"", ..WRITE },
            [note("A3", "by design"), note("E7", "memory")],
        ),
    ]
}

/// Layers that add to the work, or reduce it.
fn layers() -> Vec<Trap> {
    let zeros = Load { content: "zero", ..Load::WRITE };
    let small = Load { op: "write", block: "4KiB", ..Load::RANDOM };
    vec![
        Trap::new("zeros on a compressing file system", Site::Btrfs, zeros.clone(), [warn("A9", "")]),
        Trap::new(
            "reads of zeros that are stored compressed",
            Site::Btrfs,
            Load { content: "zero", cache: "cold", ..Load::STREAM },
            [warn("A9", "")],
        ),
        Trap::new("a loop device at an odd sector", Site::Misaligned, small.clone(), [warn("B8", "")]),
        Trap::new("writes of half a kilobyte", Site::Ext4, Load { block: "512", ..small.clone() }, [warn("B8", "")]),
        Trap::new(
            "first writes over a sparse loop file",
            Site::Sparse,
            Load {
                prepare: "allocate",
                cache: "direct",
                size: "256MiB",
                phase: "stop.bytes = \"256MiB\"",
                ..Load::WRITE
            },
            [warn("A10", "backing file")],
        ),
        Trap::new("inode tables that are still zeroed", Site::Lazy, Load::DIRECT_WRITE, [fail("C3", "")]),
        Trap::new(
            "a file system that is nearly full",
            Site::Full,
            Load { size: "16MiB", ..Load::DIRECT_WRITE },
            [warn("D1", "")],
        ),
    ]
}

/// Loads that differ from the request.
fn loads() -> Vec<Trap> {
    let random = |workers| Load { workers, ..Load::RANDOM };
    vec![
        Trap::new(
            "depth 32 of a backend that has 1",
            Site::Ext4,
            random("backend = \"psync\"\ndepth = 32"),
            [Sign::Error("is synchronous")],
        ),
        Trap::new(
            "a rate that the device cannot have",
            Site::Ext4,
            random("pace = { open = { rate = \"2000000/s\" } }"),
            [warn("B4", ""), warn("B3", "")],
        ),
        Trap::new(
            "two streams over the same blocks",
            Site::Ext4,
            Load { workers: "count = 2", ..Load::STREAM },
            [warn("B7", "")],
        ),
        Trap::new("a phase of one second", Site::Ext4, Load { seconds: 1, ..Load::RANDOM }, [note("E7", "only")]),
        Trap::new(
            "percentiles of few ops",
            Site::Ext4,
            Load { workers: "limit.ops = 300", ..Load::RANDOM },
            [note("E6", "")],
        ),
        Trap::new("a generator that needs all of a processor", Site::Ext4, Load::MEMORY, [note("B2", "")]),
    ]
}

/// Changes of the file or its file system during the run.
fn changes() -> Vec<Trap> {
    let long = Load { seconds: 5, ..Load::RANDOM };
    vec![
        Trap::new("the file is truncated mid-run", Site::Ext4, long.clone(), [fail("A8", ""), warn("A8", "")])
            .during("sleep 2; truncate -s 1M $AT/plumb-test-*/data"),
        Trap::new(
            "the device is full mid-run",
            Site::Full,
            Load { prepare: "nothing", size: "400MiB", phase: "stop.bytes = \"400MiB\"", ..Load::WRITE },
            [fail("B9", ""), Sign::Error("space")],
        ),
        Trap::new(
            "the device turns read-only mid-run",
            Site::Doomed,
            Load { seconds: 5, ..Load::LOG },
            [fail("B9", ""), Sign::Error("ead-only"), Sign::Error("nput/output")],
        )
        .during("sleep 2; blockdev --setro $(findmnt -no SOURCE $AT)")
        .afterwards("blockdev --setrw $(findmnt -no SOURCE $AT)"),
        Trap::new(
            "the rate falls to a limit mid-run",
            Site::Ext4,
            Load { seconds: 14, ..Load::STREAM },
            [warn("E3", "changed after"), warn("C13", "")],
        )
        .during(
            "sleep 7; n=$(cat /sys/class/block/$(basename $(findmnt -no SOURCE $AT))/dev); \
             echo $n 20971520 >/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device; sleep 60",
        )
        .afterwards(
            "n=$(cat /sys/class/block/$(basename $(findmnt -no SOURCE $AT))/dev); \
             echo $n 0 >/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device",
        ),
    ]
}
