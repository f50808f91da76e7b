//! Tests of the rules for phases and workers.

use super::*;
use plumb_workload::blocks::fio::Stream;
use plumb_workload::process::BufferMemory;

#[test]
fn phases_end_and_measure() {
    fn endless(w: &mut Workload) {
        w.phase[1].stop = Stop::default();
    }
    fn steady(change: fn(&mut Steady)) -> Option<Steady> {
        let mut steady = Steady::default();
        change(&mut steady);
        Some(steady)
    }
    each_fires(&[
        (|w| w.phase[0].stop.time = Some(Nanos(0)), "phase[0].stop.time", "is 0", "leave it out"),
        (|w| w.phase[0].stop.bytes = Some(Bytes(0)), "phase[0].stop.bytes", "is 0", "leave it out"),
        (|w| w.phase[0].stop.ops = Some(0), "phase[0].stop.ops", "is 0", "leave it out"),
        (endless, "phase[1].workers[0].limit", "never ends", "stop.time"),
        (
            |w| {
                w.phase[1].stop = Stop { bytes: Some(Bytes(1)), ..Stop::default() };
                steps(w, vec![Step::Stat { file: Pick::Random }]);
            },
            "phase[1].workers[0].limit",
            "never ends",
            "limit.passes",
        ),
        (
            |w| {
                w.phase[0].ramp = Nanos(1);
                w.phase[0].stop = Stop { bytes: Some(Bytes(1 << 30)), ..Stop::default() };
            },
            "phase[0].ramp",
            "before its ramp",
            "stop.time",
        ),
        (
            |w| w.phase[0].memory_pressure = Some(Size::Free(0.5)),
            "phase[0].memory-pressure",
            "share of free disk space",
            "ram*50%",
        ),
        (|w| w.phase[0].memory_pressure = Some(Size::Ram(2.0)), "phase[0].memory-pressure", "no memory", "ram*80%"),
        (|w| w.phase[0].memory_pressure = Some(gib(0)), "phase[0].memory-pressure", "size is 0", "large"),
        (|w| w.phase[0].stop.steady = steady(|s| s.round = Nanos(0)), "phase[0].stop.steady.round", "is 0", "1s"),
        (|w| w.phase[0].stop.steady = steady(|s| s.window = 2), "phase[0].stop.steady.window", "2 rounds", "SNIA"),
        (
            |w| w.phase[0].stop.steady = steady(|s| s.max_rounds = 4),
            "phase[0].stop.steady.max-rounds",
            "window of 5",
            "25",
        ),
        (|w| w.phase[0].stop.steady = steady(|s| s.range = 0.0), "phase[0].stop.steady.range", "above 0", "0.2"),
        (|w| w.phase[0].stop.steady = steady(|s| s.slope = f64::NAN), "phase[0].stop.steady.slope", "NaN", "0.1"),
        (
            |w| w.phase[0].stop.steady = steady(|_| {}),
            "phase[0].stop.steady",
            "before 5 rounds have passed",
            "at least 5s",
        ),
    ]);
    none_fires(&[
        |w| w.phase[0].stop = Stop::default(),
        |w| {
            endless(w);
            w.phase[1].workers[0].limit.passes = Some(3);
        },
        |w| w.phase[1].stop = Stop { bytes: Some(Bytes(1)), ..Stop::default() },
        |w| w.phase[0].stop = Stop { steady: Some(Steady::default()), ..Stop::default() },
        |w| w.phase[0].ramp = Nanos(5),
        // The first worker to finish ends the others.
        |w| {
            endless(w);
            w.phase[1].stop.when = When::FirstDone;
            let mut other = w.phase[0].workers[0].clone();
            other.limit.passes = Some(1);
            w.phase[1].workers.push(other);
        },
    ]);
}

#[test]
fn workers_and_their_backends() {
    each_fires(&[
        (|w| group(w).count = 0, "phase[0].workers[0].count", "is 0", "at least 1"),
        (|w| group(w).count = 1 << 20, "phase[0].workers[0].count", "too many", "65536"),
        (
            |w| {
                group(w).count = 40_000;
                let other = group(w).clone();
                w.phase[0].workers.push(other);
            },
            "phase[0].workers",
            "80000 workers of all groups together",
            "65536",
        ),
        (|w| group(w).depth = 0, "phase[0].workers[0].depth", "is 0", "at least 1"),
        (|w| group(w).depth = 40_000, "phase[0].workers[0].depth", "40000", "32768"),
        (
            |w| {
                group(w).depth = 32;
                group(w).backend = Backend::Psync;
            },
            "phase[0].workers[0].depth",
            "`psync` is synchronous and cannot keep 32 requests in flight",
            "io-uring",
        ),
        (
            |w| {
                group(w).depth = 2;
                group(w).backend = Backend::Preadv2 { flags: vec![], hipri_percent: 100 };
            },
            "phase[0].workers[0].depth",
            "`preadv2` is synchronous",
            "depth = 1",
        ),
        (
            |w| {
                group(w).depth = 2;
                group(w).backend = Backend::Mmap;
            },
            "phase[0].workers[0].depth",
            "`mmap` is synchronous",
            "count",
        ),
        (
            |w| {
                group(w).depth = 2;
                group(w).backend = Backend::Stdio;
            },
            "phase[0].workers[0].depth",
            "`stdio` is synchronous",
            "count",
        ),
        (|w| w.phase[1].workers[0].depth = 2, "phase[1].workers[0].depth", "one step at a time", "`count`"),
        (|w| group(w).batch.complete = 2, "phase[0].workers[0].batch.complete", "never fill up", "depth"),
        (|w| group(w).batch.submit = 2, "phase[0].workers[0].batch.submit", "never fill up", "depth"),
        (|w| group(w).cpus = vec![0, 5000], "phase[0].workers[0].cpus[1]", "no CPU 5000", "1023"),
        (|w| group(w).limit.bytes = Some(Bytes(0)), "phase[0].workers[0].limit.bytes", "is 0", "leave"),
        (|w| group(w).limit.ops = Some(0), "phase[0].workers[0].limit.ops", "is 0", "leave"),
        (|w| group(w).limit.passes = Some(0), "phase[0].workers[0].limit.passes", "is 0", "leave"),
        (
            |w| group(w).pace = Pace::think(1, Nanos(0)),
            "phase[0].workers[0].pace.think.pause",
            "is 0",
            "leave `think` out",
        ),
        (|w| group(w).pace = Pace::think(0, Nanos(1)), "phase[0].workers[0].pace.think.every", "is 0", "at least 1"),
        (
            |w| group(w).pace = Pace::open(PerSecond(-1.0), Arrival::Fixed, false),
            "phase[0].workers[0].pace.open.rate",
            "above 0",
            "1000/s",
        ),
        (
            |w| group(w).pace = Pace::open(PerSecond(f64::INFINITY), Arrival::Fixed, false),
            "phase[0].workers[0].pace.open.rate",
            "inf",
            "1000/s",
        ),
        (
            |w| group(w).pace = Pace::open(PerSecond(1e10), Arrival::Fixed, true),
            "phase[0].workers[0].pace.open.rate",
            "one op per nanosecond",
            "leave `pace` out",
        ),
        (
            |w| {
                group(w).pace = Pace::open(PerSecond(1e3), Arrival::Fixed, false);
                group(w).pace.ops_per_second.read = Some(PerSecond(10.0));
            },
            "phase[0].workers[0].pace.open",
            "cannot be combined",
            "one of them",
        ),
        (
            |w| group(w).pace.bytes_per_second.write = Some(PerSecond(0.0)),
            "phase[0].workers[0].pace.bytes-per-second.write",
            "above 0",
            "1000/s",
        ),
        (
            |w| group(w).backend = Backend::Preadv2 { flags: vec![RwFlag::Dsync, RwFlag::Hipri], hipri_percent: 100 },
            "phase[0].workers[0].backend.preadv2.flags[1]",
            "direct I/O",
            "direct",
        ),
        (
            |w| group(w).backend = polled(),
            "phase[0].workers[0].backend.io-uring.poll-completions",
            "direct I/O",
            "direct",
        ),
        (
            |w| {
                direct(w);
                group(w).backend = polled();
                blocks(w).mix = Mix::WRITE;
                blocks(w).fsync_every = 1;
            },
            "phase[0].workers[0].backend.io-uring.poll-completions",
            "not flushes",
            "leave",
        ),
        (
            |w| {
                direct(w);
                group(w).backend = Backend::Mmap;
            },
            "phase[0].workers[0].backend",
            "through the page cache",
            "psync",
        ),
        (
            |w| {
                direct(w);
                group(w).backend = Backend::Stdio;
            },
            "phase[0].workers[0].backend",
            "through the page cache",
            "psync",
        ),
    ]);
    none_fires(&[
        |w| group(w).depth = 32,
        |w| {
            group(w).depth = 32;
            group(w).backend = Backend::IO_URING;
            group(w).batch = Batch { submit: 16, complete: 16, ..Batch::default() };
        },
        |w| group(w).run_as = RunAs::Process,
        |w| {
            direct(w);
            group(w).backend = polled();
        },
    ]);
}

/// Protects against silently ignored settings: what a group cannot get is reported.
#[test]
fn settings_for_files_memory_and_processes() {
    each_fires(&[
        (|w| group(w).files.direct = true, "phase[0].workers[0].files", "only streams of `fio`", "`cache`"),
        (
            |w| {
                group(w).work = Work::from(Stream::sequential(Bytes(4096), Bytes(1 << 20)));
                group(w).files.new.opened = 0o10_000;
            },
            "phase[0].workers[0].files.new.opened",
            "10000 is not a valid file mode",
            "at most 0o7777",
        ),
        (|w| group(w).syncs.at_end = true, "phase[0].workers[0].syncs", "only streams of `fio`", "`end.flush`"),
        (
            |w| {
                group(w).target = "sim".into();
                group(w).backend = Backend::Auto;
                group(w).buffers.memory = BufferMemory::SystemV;
            },
            "phase[0].workers[0].buffers",
            "needs no memory",
            "real target",
        ),
        (
            |w| {
                group(w).count = 2;
                group(w).buffers.memory = BufferMemory::File("memory".into());
            },
            "phase[0].workers[0].buffers.memory",
            "same file",
            "`private`",
        ),
        (
            |w| {
                group(w).count = 2;
                group(w).process.run_before = Some("true".into());
            },
            "phase[0].workers[0].process.run-before",
            "each of the 2 workers",
            "one worker",
        ),
        (|w| w.phase[1].workers[0].log_ops = true, "phase[1].workers[0].log-ops", "only block I/O", "program.log-ops"),
        (|w| w.phase[1].workers[0].process.nice = Some(1), "phase[1].workers[0].process", "only block I/O", "leave it"),
    ]);
    none_fires(&[|w| {
        let group = group(w);
        (group.log_ops, group.time_submission, group.process.nice) = (true, true, Some(3));
        group.buffers.memory = BufferMemory::Shared(None);
    }]);
}

fn polled() -> Backend {
    let mut polled = Backend::IO_URING;
    if let Backend::IoUring { poll_completions, .. } = &mut polled {
        *poll_completions = true;
    }
    polled
}

#[test]
fn workers_and_their_targets() {
    each_fires(&[
        (|w| group(w).target = "set".into(), "phase[0].workers[0].work.blocks", "is a file set", "work.program"),
        (|w| group(w).target = "simset".into(), "phase[0].workers[0].work.blocks", "is a file set", "work.program"),
        (
            |w| w.phase[1].workers[0].target = "data".into(),
            "phase[1].workers[0].work.program",
            "needs a file set",
            "tree",
        ),
        (
            |w| w.phase[1].workers[0].target = "sim".into(),
            "phase[1].workers[0].work.program",
            "needs a file set",
            "files =",
        ),
        (
            |w| w.phase[1].workers[0].target = "nil".into(),
            "phase[1].workers[0].work.program",
            "needs a file set",
            "tree",
        ),
        (|w| w.phase[1].workers[0].count = 101, "phase[1].workers[0].count", "there are 100", "more files"),
        (|w| group(w).backend = Backend::Null, "phase[0].workers[0].backend", "does no I/O", "target.NAME.null"),
        (|w| group(w).backend = Backend::Sim, "phase[0].workers[0].backend", "does no I/O", "target.NAME.sim"),
        (|w| group(w).backend = Backend::PageFault, "phase[0].workers[0].backend", "does no I/O", "target.NAME.null"),
        (
            |w| {
                group(w).target = "nil".into();
                group(w).backend = Backend::IO_URING;
            },
            "phase[0].workers[0].backend",
            "is null",
            "auto",
        ),
        (
            |w| {
                group(w).target = "sim".into();
                group(w).backend = Backend::Null;
            },
            "phase[0].workers[0].backend",
            "is simulated",
            "auto",
        ),
        (
            |w| {
                group(w).target = "sim".into();
                group(w).run_as = RunAs::Process;
            },
            "phase[0].workers[0].run-as",
            "virtual clock",
            "thread",
        ),
        (
            |w| w.phase[1].workers[0].backend = Backend::IO_URING,
            "phase[1].workers[0].backend",
            "plain system calls",
            "auto",
        ),
    ]);
    none_fires(&[
        |w| group(w).target = "dev".into(),
        |w| {
            // The write guard decides whether the device may be written.
            group(w).target = "dev".into();
            blocks(w).mix = Mix { read: 1, write: 1, trim: 1 };
        },
        |w| {
            group(w).target = "nil".into();
            group(w).backend = Backend::Null;
        },
        |w| {
            group(w).target = "sim".into();
            group(w).depth = 32;
        },
        |w| w.phase[1].workers[0].target = "simset".into(),
    ]);
}

#[test]
fn verification() {
    fn verified(w: &mut Workload) {
        group(w).verify = Some(Verify { layout: StampLayout::Plumb, ..Verify::new(VerifyMethod::Crc32c) });
    }
    each_fires(&[
        (
            |w| {
                verified(w);
                blocks(w).block = BlockSize::Fixed(Bytes(32));
            },
            "phase[0].workers[0].work.blocks.block",
            "a stamp of 64 bytes",
            "at least 64",
        ),
        (
            |w| {
                verified(w);
                blocks(w).write_block = Some(BlockSize::Fixed(Bytes(8192)));
            },
            "phase[0].workers[0].work.blocks.write-block",
            "written with",
            "one fixed",
        ),
        (
            |w| {
                verified(w);
                blocks(w).mix.trim = 1;
            },
            "phase[0].workers[0].work.blocks.mix.trim",
            "trimmed",
            "leave",
        ),
        (
            |w| {
                verified(w);
                let threads = 1 << 20;
                group(w).verify = group(w).verify.clone().map(|verify| Verify { threads, ..verify });
            },
            "phase[0].workers[0].verify.threads",
            "too many",
            "4096",
        ),
        (
            |w| {
                verified(w);
                group(w).target = "sim".into();
            },
            "phase[0].workers[0].verify",
            "does not store data",
            "real target",
        ),
        (
            |w| {
                w.phase[1].workers[0].verify =
                    Some(Verify { layout: StampLayout::Plumb, ..Verify::new(VerifyMethod::XxHash) })
            },
            "phase[1].workers[0].verify",
            "only block I/O",
            "leave",
        ),
    ]);
    none_fires(&[verified, |w| {
        verified(w);
        group(w).backend = Backend::Mmap;
    }]);
    each_fires(&[
        (
            |w| group(w).verify = Some(Verify { layout: StampLayout::Plumb, ..Verify::new(VerifyMethod::Md5) }),
            "phase[0].workers[0].verify.method",
            "CRC-32C and xxHash",
            "versioned",
        ),
        (
            |w| group(w).verify = Some(Verify { backlog: Some(8), ..Verify::new(VerifyMethod::Md5) }),
            "phase[0].workers[0].verify.backlog",
            "read back what they wrote",
            "leave it out",
        ),
    ]);
}
