//! Rules for every stream, tested without fio.

use super::super::FioSource;
use super::super::script::{Kind, Opening};
use super::*;
use crate::op::Role;
use plumb_workload::OpKind;
use plumb_workload::blocks::fio::{Curve, FileChoice, TrimAmid, Zone};
use plumb_workload::files::{FileRules, Syncs};
use proptest::prelude::*;

/// Returns `count` ops of a plan's source, on either path.
fn taken(plan: &FioPlan, count: usize) -> Vec<BlockOp> {
    let mut source = FioSource::new(plan, None);
    let source = source.table();
    std::iter::from_fn(|| source.next()).take(count).collect()
}

/// Returns the ops of a source whose limits restart after `at` ops. With `waits`, the last of these has not started.
fn taken_after_restart(plan: &FioPlan, at: usize, waits: bool) -> Vec<BlockOp> {
    restarted(FioSource::new(plan, None).table(), at, waits)
}

/// Like [`taken_after_restart`], for any source.
fn restarted(source: &mut dyn Source<Op = BlockOp>, at: usize, waits: bool) -> Vec<BlockOp> {
    let mut ops: Vec<BlockOp> = std::iter::from_fn(|| source.next()).take(at).collect();
    if ops.len() == at {
        source.restarts(ops.last().filter(|_| waits));
        ops.extend(std::iter::from_fn(|| source.next()).take(2000));
    }
    ops
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        Just(Does::Read),
        Just(Does::Write),
        (1..100u8).prop_map(Does::Mix),
        Just(Does::Trim),
        Just(Does::TrimWrite)
    ]
}

fn order() -> impl Strategy<Value = AccessOrder> {
    prop_oneof![
        4 => Just(sequential()),
        1 => (-20_000..20_000i64).prop_map(|skip_bytes| AccessOrder::Sequential { skip_bytes }),
        4 => Just(random()),
        1 => (2..9u32).prop_map(|ops_per_draw| AccessOrder::Random { ops_per_draw }),
    ]
}

fn handing() -> impl Strategy<Value = Handing> {
    prop_oneof![Just(Handing::Inline), Just(Handing::Queued)]
}

prop_compose! {
    /// One size, one file, any limits.
    fn simple()(
        kind in prop_oneof![Just(Does::Read), Just(Does::Write), Just(Does::Trim)],
        is_random in any::<bool>(),
        again in any::<bool>(),
        size in 1..20u64,
        length in 20..700u64,
        start in 0..50u64,
        io_bytes in proptest::option::of(1..3000u64),
        max_ops in proptest::option::of(1..200u64),
        loops in 1..4u64,
        repeat_until_time in prop::bool::weighted(0.2),
        reseed_each_loop in any::<bool>(),
    ) -> Stream {
        Stream {
            sizes: ByKind::all(JobSize::Fixed(Bytes(size))),
            coverage: if again { Coverage::Again } else { Coverage::Once },
            ranges: vec![FileRange { start: Bytes(start), length: Bytes(length) }],
            io_bytes: io_bytes.map(Bytes),
            max_ops,
            loops,
            repeat_until_time,
            reseed_each_loop,
            ..stream(kind, if is_random { random() } else { sequential() })
        }
    }
}

prop_compose! {
    fn any_stream()(
        does in does(),
        order in order(),
        coverage in prop_oneof![Just(Coverage::Once), Just(Coverage::Again), Just(Coverage::OnceByRegister)],
        low in 1..16u64,
        more in 0..16u64,
        files in 1..4usize,
        choice in prop_oneof![
            (1..4u32).prop_map(|ops| FileChoice::RoundRobin { ops }),
            Just(FileChoice::Sequential),
            (1..4u32).prop_map(|ops| FileChoice::Random { ops }),
        ],
        open_files in proptest::option::of(1..4u32),
        length in 40..900u64,
        start in 0..100u64,
        percent in 0..=100u8,
        loops in 1..3u64,
        wide in any::<bool>(),
        worker_number in 1..100u32,
        seed in any::<u64>(),
    ) -> Stream {
        Stream {
            sizes: ByKind::all(JobSize::Range { low: Bytes(low), high: Bytes(low + more) }),
            coverage,
            ranges: vec![FileRange { start: Bytes(start), length: Bytes(length) }; files],
            file_choice: choice,
            open_files,
            random_percent: ByKind::all(percent),
            loops,
            generator: if wide { RandomGenerator::Taus258 } else { RandomGenerator::Taus88 },
            worker_number,
            seed,
            ..stream(does, order)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Protects: the fast path yields the ops of the general path, with the same waits.
    #[test]
    fn the_fast_path_matches_the_general_path(stream in simple(), handing in handing(), beyond in 0..40u64) {
        let file = stream.ranges[0].start.0 + stream.ranges[0].length.0 + beyond;
        let plan = plan(&job(stream), &[file], handing);
        let plan = plan.expect("a plan");
        prop_assert_eq!(taken(&plan, 3000), ops(&plan, 3000));
    }

    /// Protects: a log contains where files are opened and closed, and changes no op.
    #[test]
    fn notes_do_not_change_the_ops(stream in any_stream(), handing in handing(), verified in any::<bool>()) {
        let lengths: Vec<u64> =
            stream.ranges.iter().map(|range| range.start.0 + range.length.0).collect();
        let mut tried = job(stream);
        tried.verify = verified.then(fio::verify);
        let (Ok(plain), Ok(with_notes)) = (plan(&tried, &lengths, handing), noted(&tried, &lengths, handing)) else {
            return Ok(());
        };
        let mut open = vec![false; lengths.len()];
        let mut all = ops(&with_notes, 6000);
        for op in all.iter().filter(|op| op.role == Role::Note) {
            prop_assert!(open[op.file as usize] == (op.kind == OpKind::Close) && !op.after_all);
            open[op.file as usize] = op.kind == OpKind::Open;
        }
        all.retain(|op| op.role != Role::Note);
        all.truncate(2000);
        prop_assert_eq!(all.as_slice(), &ops(&plain, 6000)[..all.len()]);
    }

    /// Protects: a ramp is part of its job. At its end only the limit of ops restarts, no draw changes, and the fast
    /// path still equals the general one. Source: `reset_all_stats` in fio's `libfio.c`.
    #[test]
    fn limits_restart_after_the_ramp(stream in simple(), handing in handing(), at in 1..400usize, waits in any::<bool>()) {
        let file = stream.ranges[0].start.0 + stream.ranges[0].length.0;
        let (size, is_trim) = (stream.sizes.read.max().0, stream.trims);
        let bytes = stream.io_bytes;
        let plan = plan(&job(stream.clone()), &[file], handing).expect("a plan");
        let whole = taken(&plan, 3000);
        let restarted_ops = taken_after_restart(&plan, at, waits);
        prop_assert_eq!(&restarted_ops, &restarted(&mut General::new(&plan.script, None), at, waits));
        let before = at.min(whole.len());
        prop_assert_eq!(&restarted_ops[..before], &whole[..before]);
        let counted = restarted_ops.len() - before + usize::from(waits && before == at);
        if stream.max_ops.is_none() {
            let both = restarted_ops.len().min(whole.len());
            prop_assert_eq!(&restarted_ops[..both], &whole[..both]);
            prop_assert!(restarted_ops.len() >= whole.len() || restarted_ops.len() == at + 2000);
        }
        if let (Some(bytes), false, false) = (bytes, stream.repeat_until_time, is_trim) {
            let most = (bytes.0 * stream.loops).div_ceil(size);
            prop_assert!(restarted_ops.len() as u64 <= most, "{} ops of {size} for {bytes:?}", restarted_ops.len());
        }
        if let (Some(ops), false) = (stream.max_ops, stream.repeat_until_time) {
            prop_assert!(before < at || counted as u64 <= ops * stream.loops);
        }
    }

    /// Protects: no op is outside its file or before its part, and the same plan yields the same ops.
    #[test]
    fn ops_stay_in_their_files(stream in any_stream(), handing in handing(), verified in any::<bool>()) {
        let (start, length) = (stream.ranges[0].start.0, stream.ranges[0].length.0);
        let lengths = vec![start + length; stream.ranges.len()];
        let mut job = job(stream);
        job.verify = verified.then(fio::verify);
        if let Ok(plan) = plan(&job, &lengths, handing) {
            let found = ops(&plan, 5000);
            for op in found.iter().filter(|op| op.kind.moves_bytes()) {
                prop_assert!(op.offset >= start, "{:?} is before {}", op, start);
                prop_assert!(op.length > 0 && op.offset + u64::from(op.length) <= start + length, "{:?}", op);
            }
            prop_assert_eq!(&found, &ops(&plan, 5000));
        }
    }

    /// Protects: with coverage once, a loop over one file touches each whole block once, by map and by register.
    #[test]
    fn once_is_once(blocks in 1..2000u64, register in any::<bool>(), loops in 1..3u64) {
        let coverage = if register { Coverage::OnceByRegister } else { Coverage::Once };
        let stream = Stream {
            coverage,
            loops,
            ranges: vec![FileRange { start: Bytes(0), length: Bytes(blocks * 4096) }],
            ..stream(Does::Write, random())
        };
        let plan = plan(&job(stream), &[blocks * 4096], Handing::Inline);
        // Some seeds are the one state that a register cannot leave.
        if let Ok(plan) = plan {
            let found = taken(&plan, usize::MAX);
            prop_assert_eq!(found.len() as u64, blocks * loops);
            for pass in found.chunks(blocks as usize) {
                let mut seen = vec![false; blocks as usize];
                pass.iter().for_each(|op| seen[(op.offset / 4096) as usize] = true);
                prop_assert!(seen.iter().all(|&seen| seen));
            }
        }
    }

    /// Protects: a read-back carries the number of the last write to its place.
    #[test]
    fn read_back_knows_the_last_write(stream in any_stream(), handing in handing(), backlog in proptest::option::of(1..40u64)) {
        let stream = Stream { loops: 1, ..stream };
        if stream.trims {
            return Ok(());
        }
        let lengths = vec![1000; stream.ranges.len()];
        let mut job = job(stream);
        job.verify = Some(Verify { backlog, ..fio::verify() });
        let Ok(plan) = plan(&job, &lengths, handing) else { return Ok(()) };
        let mut written = std::collections::HashMap::new();
        for op in ops(&plan, 20_000) {
            let bytes = (op.offset..op.offset + u64::from(op.length)).map(|byte| (op.file, byte));
            match (op.kind, op.role) {
                (OpKind::Write, _) => written.extend(bytes.map(|byte| (byte, op.number))),
                (OpKind::Read, Role::ReadBack) if plan.script.mix.has(Kind::Write) => {
                    for byte in bytes {
                        prop_assert_eq!(written.get(&byte), Some(&op.number));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Protects: more than 2^32 blocks are drawn with 64 bits, unless 32 bits were requested.
#[test]
fn a_requested_narrow_generator_is_kept() {
    let width = |generator| {
        let ranges = vec![FileRange { start: Bytes(0), length: Bytes(1 << 40) }];
        let sizes = ByKind::all(JobSize::Fixed(Bytes(1)));
        let wide = Stream { generator, sizes, ranges, coverage: Coverage::Again, ..stream(Does::Read, random()) };
        plan(&job(wide), &[1 << 40], Handing::Inline).expect("a plan").script.seeding.width
    };
    use crate::rng::fio::Width;
    assert_eq!(width(RandomGenerator::Taus88), Width::Wide);
    assert_eq!(width(RandomGenerator::Taus88Only), Width::Narrow);
    assert_eq!(width(RandomGenerator::Taus258), Width::Wide);
}

#[test]
fn curves_reach_every_block() {
    for (curve, center) in [
        (Curve::Zipf { theta: 0.6 }, None),
        (Curve::Zipf { theta: 0.6 }, Some(0.5)),
        (Curve::Pareto { h: 0.3 }, None),
        (Curve::Normal { deviation: 20.0 }, None),
    ] {
        let stream = Stream {
            distribution: OffsetDistribution::Curved { curve, center, as_fio: None },
            ..stream(Does::Read, random())
        };
        let stream = Stream { io_bytes: Some(Bytes(400 * MIB)), ..stream };
        let plan = plan(&job(stream), &[MIB], Handing::Inline).expect("a plan");
        let mut counts = [0u32; 256];
        ops(&plan, usize::MAX).iter().for_each(|op| counts[(op.offset / 4096) as usize] += 1);
        assert!(counts.iter().all(|&count| count > 0), "{curve:?} leaves blocks out");
        if let Some(center) = center {
            let most = (0..256).max_by_key(|&block| counts[block]);
            assert_eq!(most, Some((256.0 * center) as usize), "the peak is at the center");
        }
    }
}

#[test]
fn a_list_of_blocks_repeats() {
    let listed = Stream {
        distribution: OffsetDistribution::Sequence(vec![3, 0, 200]),
        max_ops: Some(5),
        ..stream(Does::Read, random())
    };
    let plan = plan(&job(listed), &[MIB], Handing::Inline).expect("a plan");
    let blocks: Vec<u64> = ops(&plan, 100).iter().map(|op| op.offset / 4096).collect();
    assert_eq!(blocks, [3, 0, 200, 3, 0]);
}

#[test]
fn a_list_of_blocks_steps_forward_and_ends_with_the_range() {
    let listed =
        Stream { distribution: OffsetDistribution::SequenceOnward(vec![2, 0, 1]), ..stream(Does::Read, random()) };
    let plan = plan(&job(listed), &[8 * 4096], Handing::Inline).expect("a plan");
    let blocks: Vec<u64> = ops(&plan, 100).iter().map(|op| op.offset / 4096).collect();
    assert_eq!(blocks, [2, 0, 1, 5, 3, 4], "block 8 does not exist");
}

#[test]
fn trimmed_blocks_are_forgotten_or_read_as_zeros() {
    for expects_zeros in [false, true] {
        let amid = TrimAmid { percent: 40, backlog: Some(8), batch: Some(3), expects_zeros };
        let mut trimming = job(Stream { trim_amid: Some(amid), ..stream(Does::Write, random()) });
        trimming.verify = Some(fio::verify());
        let plan = plan(&trimming, &[MIB], Handing::Inline).expect("a plan");
        let found = ops(&plan, 10_000);
        let trimmed: Vec<u64> = found.iter().filter(|op| op.kind == OpKind::Trim).map(|op| op.offset).collect();
        assert!(trimmed.len() > 50, "{} trims", trimmed.len());
        let read: Vec<&BlockOp> = found.iter().filter(|op| op.kind == OpKind::Read).collect();
        assert_eq!(read.len(), if expects_zeros { 256 } else { 256 - trimmed.len() });
        for op in read {
            let expected = if trimmed.contains(&op.offset) { Role::ReadTrimmed } else { Role::ReadBack };
            assert_eq!(op.role, expected, "of {op:?}");
        }
    }
}

/// Expects what fio 3.42 logs for `--rw=write --size=256k --bs=4k --verify=crc32c --trim_percentage=30`. The installed
/// fio is not used: older versions begin their batches elsewhere, and 3.33 ends at the first batch by an assertion.
#[test]
fn trims_between_writes_match_fio() {
    // Number of writes before each trim, and its block.
    let by_backlog = [
        (8, 0),
        (24, 16),
        (24, 20),
        (24, 21),
        (32, 24),
        (32, 25),
        (32, 28),
        (32, 31),
        (40, 36),
        (40, 39),
        (48, 41),
        (48, 42),
        (56, 48),
        (56, 52),
        (64, 58),
        (64, 59),
        (64, 60),
        (64, 61),
    ];
    let by_batch = [
        (8, 0),
        (24, 16),
        (24, 20),
        (24, 21),
        (32, 24),
        (32, 25),
        (32, 28),
        (40, 31),
        (40, 36),
        (40, 39),
        (48, 41),
        (48, 42),
        (56, 48),
        (56, 52),
        (64, 58),
        (64, 59),
        (64, 60),
    ];
    for (batch, expected) in [(None, &by_backlog[..]), (Some(3), &by_batch[..])] {
        let amid = TrimAmid { percent: 30, backlog: Some(8), batch, expects_zeros: true };
        let ranges = vec![FileRange { start: Bytes(0), length: Bytes(256 * KIB) }];
        let mut trimming = job(Stream { trim_amid: Some(amid), ranges, ..stream(Does::Write, sequential()) });
        trimming.verify = Some(fio::verify());
        let plan = plan(&trimming, &[256 * KIB], Handing::Inline).expect("a plan");
        let mut writes = 0;
        let mut found = Vec::new();
        for op in ops(&plan, 10_000) {
            match op.kind {
                OpKind::Write => writes += 1,
                OpKind::Trim => found.push((writes, op.offset / 4096)),
                _ => {}
            }
        }
        assert_eq!(found, expected, "{batch:?}");
    }
}

#[test]
fn a_failed_write_is_not_read_back() {
    for coverage in [Coverage::Once, Coverage::Again] {
        let mut verified = job(Stream { coverage, ..stream(Does::Write, random()) });
        verified.verify = Some(fio::verify());
        let plan = plan(&verified, &[MIB], Handing::Inline).expect("a plan");
        let mut source = General::new(&plan.script, None);
        let lost = source.next().expect("a write");
        source.failed(&lost);
        let rest: Vec<BlockOp> = std::iter::from_fn(|| source.next()).collect();
        let reads = rest.iter().filter(|op| op.role == Role::ReadBack);
        assert!(reads.clone().count() > 100 && reads.clone().all(|op| op.number != lost.number), "{coverage:?}");
    }
}

#[test]
fn ops_wait_at_the_seams() {
    let mut flushed = job(Stream { loops: 2, ..stream(Does::Write, random()) });
    flushed.verify = Some(fio::verify());
    flushed.syncs = Syncs { at_end: true, ..Syncs::default() };
    let plan = plan(&flushed, &[MIB], Handing::Queued).expect("a plan");
    let waits: Vec<usize> =
        ops(&plan, 10_000).iter().enumerate().filter(|(_, op)| op.after_all).map(|(at, _)| at).collect();
    // The flush, the first read-back, the next loop, and the same in that loop.
    assert_eq!(waits, [256, 257, 513, 769, 770]);
}

// Protects: each pass reads the device instead of memory, on the fast path and on the general one.
#[test]
fn each_pass_drops_the_cached_file() {
    const BLOCKS: usize = 256;
    for order in [sequential(), random()] {
        for (loops, until_time) in [(3, false), (1, true)] {
            let mut again = job(Stream { loops, repeat_until_time: until_time, ..stream(Does::Read, order) });
            again.files.drop_cached = true;
            let plan = plan(&again, &[MIB], Handing::Inline).expect("a plan");
            let most = 3 * BLOCKS + 2;
            for ops in [ops(&plan, most), taken(&plan, most)] {
                let evictions: Vec<usize> =
                    ops.iter().enumerate().filter(|(_, op)| op.kind == OpKind::Evict).map(|(at, _)| at).collect();
                assert_eq!(evictions, [BLOCKS, 2 * BLOCKS + 1], "{order:?}, {loops} loops, until time: {until_time}");
            }
        }
    }
}

#[test]
fn files_are_removed_between_loops_but_not_after_the_last() {
    let mut thrice = job(Stream { loops: 3, ranges: vec![range(512 * KIB)], ..stream(Does::Write, sequential()) });
    thrice.files.unlink_each_loop = true;
    let ops = ops(&plan(&thrice, &[512 * KIB; 2], Handing::Inline).expect("a plan"), 10_000);
    let of = |kind| ops.iter().filter(|op| op.kind == kind).count();
    assert_eq!([OpKind::Open, OpKind::Close, OpKind::Unlink, OpKind::Write].map(of), [6, 6, 4, 3 * 256]);
    let mut open = [false; 2];
    for op in &ops {
        let is_open = &mut open[op.file as usize];
        match op.kind {
            OpKind::Open => *is_open = true,
            OpKind::Close => *is_open = false,
            OpKind::Unlink => assert!(!*is_open && op.after_all, "open files are not removed"),
            _ => assert!(*is_open),
        }
    }
}

fn range(length: u64) -> FileRange {
    FileRange { start: Bytes(0), length: Bytes(length) }
}

#[test]
fn files_are_opened_before_use_and_closed_at_the_end() {
    for order in [sequential(), random()] {
        for verified in [false, true] {
            let ranges = vec![FileRange { start: Bytes(0), length: Bytes(256 * KIB) }];
            let few = Stream { open_files: Some(2), loops: 2, ranges, ..stream(Does::Write, order) };
            let mut few = job(few);
            few.verify = verified.then(fio::verify);
            let plan = plan(&few, &[256 * KIB; 5], Handing::Queued).expect("a plan");
            assert!(plan.script.files.opening == Opening::Yielded);
            let mut open = [false; 5];
            for op in ops(&plan, 100_000) {
                let open = &mut open[op.file as usize];
                match op.kind {
                    OpKind::Open => assert!(!std::mem::replace(open, true), "file {} is open", op.file),
                    OpKind::Close => assert!(std::mem::replace(open, false), "file {} is not open", op.file),
                    _ => assert!(*open, "{op:?} on a file that is not open"),
                }
            }
            assert_eq!(open, [false; 5], "all files are closed at the end");
        }
    }
}

/// Checks the log of a job with `loops=2`, of a verified one and of files that end one after another: `open` and
/// `close` lines are in the same places as with fio 3.42.
#[test]
fn a_log_shows_where_files_are_opened_and_closed() {
    let shown = |tried: &Tried, lengths: &[u64]| -> String {
        let plan = noted(tried, lengths, Handing::Inline).expect("a plan");
        assert!(plan.script.files.opening == Opening::Noted);
        let word = |op: &BlockOp| match (op.role, op.kind) {
            (Role::Note, OpKind::Open) => format!("open{}", op.file),
            (Role::Note, OpKind::Close) => format!("close{}", op.file),
            (_, kind) => format!("{}{}", kind.name(), op.file),
        };
        taken(&plan, 100).iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let blocks = |count: u64| vec![FileRange { start: Bytes(0), length: Bytes(count * 4096) }];
    let writes = |count: u64| Stream { ranges: blocks(count), ..stream(Does::Write, sequential()) };
    let looped = job(Stream { loops: 2, ..writes(2) });
    assert_eq!(shown(&looped, &[8192]), "open0 write0 write0 close0 open0 write0 write0 close0");
    let mut verified = job(writes(2));
    verified.verify = Some(fio::verify());
    assert_eq!(shown(&verified, &[8192]), "open0 write0 write0 close0 open0 read0 read0 close0");
    let mut flushed = job(writes(1));
    flushed.syncs.at_close = true;
    assert_eq!(shown(&flushed, &[4096; 2]), "open0 write0 open1 write1 end-fsync0 end-fsync1 close0 close1");
    let few = Stream { file_choice: FileChoice::Sequential, ..writes(1) };
    assert_eq!(shown(&job(few), &[4096; 2]), "open0 write0 close0 open1 write1 close1");
}

/// fio 3.42 flushes at the end of each loop that ends after a read, even if nothing more was written in it.
#[test]
fn a_loop_that_ends_with_read_back_flushes() {
    let mut verified = job(Stream { loops: 2, max_ops: Some(2), ..stream(Does::Write, sequential()) });
    verified.verify = Some(fio::verify());
    verified.syncs.at_end = true;
    let plan = plan(&verified, &[MIB], Handing::Inline).expect("a plan");
    let kinds: Vec<&str> = ops(&plan, 100).iter().map(|op| op.kind.name()).collect();
    let expected = [&["write"; 4][..], &["end-fsync"], &["read"; 4], &["end-fsync"]].concat();
    assert_eq!(kinds, expected);
}

/// A job that only verifies counts all drawn ops as done.
#[test]
fn ops_that_are_only_verified_are_counted() {
    let mut dry = job(stream(Does::Write, random()));
    dry.verify = Some(Verify { only: true, ..fio::verify() });
    let plan = plan(&dry, &[MIB], Handing::Inline).expect("a plan");
    let mut source = FioSource::new(&plan, None);
    let source = source.table();
    let reads = std::iter::from_fn(|| source.next()).filter(|op| op.kind == OpKind::Read).count();
    let counted: Vec<_> = source.dry().iter().map(|(kind, moved)| (*kind, moved.count, moved.bytes)).collect();
    assert_eq!((reads, counted), (256, vec![(OpKind::Write, 256, MIB)]));
}

#[test]
fn impossible_draws_are_refused_by_name() {
    let refused = |stream: Stream| plan(&job(stream), &[MIB], Handing::Inline).expect_err("no plan");
    let base = || stream(Does::Read, random());
    assert_eq!(refused(Stream { ranges_per_trim: 2, ..base() }), FioPlanError::RangesPerTrim { ranges: 2 });
    let beyond = OffsetDistribution::Sequence(vec![256]);
    assert_eq!(
        refused(Stream { distribution: beyond, ..base() }),
        FioPlanError::SequenceBeyond { block: 256, blocks: 256 }
    );
    let zones = vec![Zone { access_percent: 90, size: 50 }];
    assert_eq!(
        refused(Stream { distribution: OffsetDistribution::Zoned(ByKind::all(zones)), ..base() }),
        FioPlanError::ZoneShares { percent: 90 }
    );
    let curve = OffsetDistribution::Curved { curve: Curve::Pareto { h: 1.0 }, center: None, as_fio: None };
    assert!(matches!(refused(Stream { distribution: curve, ..base() }), FioPlanError::Curve { .. }));
    let endless = Stream {
        sizes: ByKind::all(JobSize::Fixed(Bytes(1))),
        ranges: vec![FileRange { start: Bytes(0), length: Bytes(1 << 60) }],
        ..stream(Does::Write, random())
    };
    let found = plan(&job(endless), &[1 << 60], Handing::Inline).expect_err("no machine has enough memory");
    assert!(matches!(found, FioPlanError::MapMemory { blocks, .. } if blocks == 1 << 60), "{found}");
    let wide = Stream { sizes: ByKind::all(JobSize::Fixed(Bytes(2 * MIB))), ..base() };
    assert_eq!(refused(wide), FioPlanError::NoRoom { smallest: 2 * MIB });
    let direct = job(Stream { sizes: ByKind::all(JobSize::Fixed(Bytes(1000))), ..base() });
    let request = FioPlanRequest {
        stream: &direct.stream,
        files: &direct.files,
        syncs: &direct.syncs,
        verify: None,
        file_lengths: &Lengths::Each(vec![MIB]),
        io_alignment_bytes: 512,
        handing: Handing::Inline,
        cached: true,
        noted: false,
    };
    let unaligned = FioPlan::new(&request).expect_err("no plan");
    assert_eq!(unaligned, FioPlanError::Unaligned { what: "a size", bytes: 1000, alignment: 512 });
}

#[test]
fn a_plan_reports_its_needs() {
    let sizes = ByKind {
        read: JobSize::Fixed(Bytes(8192)),
        write: JobSize::Range { low: Bytes(4096), high: Bytes(16384) },
        trim: JobSize::Fixed(Bytes(MIB)),
    };
    let ranges = vec![FileRange { start: Bytes(0), length: Bytes(MIB) }];
    let mixed = Stream { sizes, ranges, fill_device: false, ..stream(Does::Mix(50), random()) };
    let plan = plan(&job(mixed), &[MIB, MIB], Handing::Inline).expect("a plan");
    assert_eq!((plan.smallest_block_bytes(), plan.largest_block_bytes()), (4096, 16384));
    assert_eq!(plan.working_set_bytes(), 2 * MIB);
    assert!(plan.script.files.opening == Opening::Before);
}

#[test]
fn redrawn_blocks_were_written_with_any_distribution() {
    let curves = [Curve::Zipf { theta: 1.2 }, Curve::Pareto { h: 0.3 }, Curve::Normal { deviation: 20.0 }];
    let curved = curves.map(|curve| Stream {
        distribution: OffsetDistribution::Curved { curve, center: None, as_fio: None },
        coverage: Coverage::Again,
        ..stream(Does::Write, random())
    });
    let register = Stream { coverage: Coverage::OnceByRegister, ..stream(Does::Write, random()) };
    for stream in curved.into_iter().chain([register]) {
        for loops in [1, 2] {
            let mut verified = job(Stream { loops, reseed_each_loop: false, ..stream.clone() });
            verified.verify = Some(Verify { redraw: true, ..fio::verify() });
            let plan = plan(&verified, &[MIB], Handing::Inline).expect("a plan");
            let mut written = std::collections::HashSet::new();
            for op in ops(&plan, 10_000) {
                match op.role {
                    Role::Load => drop(written.insert(op.offset)),
                    _ => assert!(
                        written.contains(&op.offset),
                        "{} was never written ({:?})",
                        op.offset,
                        stream.distribution
                    ),
                }
            }
        }
    }
}

/// Cached data is dropped before the same bytes are read again, including read-back, so that the device is read. fio
/// closes its files after each loop and drops cached data when it opens them; here they stay open.
#[test]
fn cached_data_is_dropped_before_it_is_read_again() {
    let evictions = |job: &Tried, lengths: &[u64], most: usize| -> Vec<(usize, u32, Role, bool)> {
        let ops = taken(&plan(job, lengths, Handing::Inline).expect("a plan"), most);
        let evicts = ops.iter().enumerate().filter(|(_, op)| op.kind == OpKind::Evict);
        evicts.map(|(at, op)| (at, op.file, op.role, op.after_all)).collect()
    };
    let ranges = || vec![FileRange { start: Bytes(0), length: Bytes(MIB) }; 2];
    let dropping = |stream: Stream| {
        let mut job = job(stream);
        job.files.drop_cached = true;
        job
    };
    let mut verified = dropping(Stream { ranges: ranges(), ..stream(Does::Write, random()) });
    verified.verify = Some(fio::verify());
    let of_both = [(512, 0, Role::ReadBack, true), (513, 1, Role::ReadBack, false)];
    assert_eq!(evictions(&verified, &[MIB, MIB], 9999), of_both, "after the last write");
    let backlog = Some(Verify { backlog: Some(8), ..fio::verify() });
    let on_the_way = Tried { verify: backlog, ..verified.clone() };
    assert_eq!(evictions(&on_the_way, &[MIB, MIB], 9999).len(), 2, "not during the load");
    let only = Some(Verify { only: true, ..fio::verify() });
    assert_eq!(evictions(&Tried { verify: only, ..verified.clone() }, &[MIB, MIB], 9999), [], "nothing was written");
    for keeps in [|files: &mut FileRules| files.direct = true, |files: &mut FileRules| files.drop_cached = false] {
        let mut kept = verified.clone();
        keeps(&mut kept.files);
        assert_eq!(evictions(&kept, &[MIB, MIB], 9999), []);
    }
    let loops = dropping(Stream { loops: 3, ..stream(Does::Read, random()) });
    let between = [(256, 0, Role::Load, true), (513, 0, Role::Load, true)];
    assert_eq!(evictions(&loops, &[MIB], 9999), between);
    for order in [sequential(), random()] {
        let until_time = dropping(Stream { repeat_until_time: true, ..stream(Does::Read, order) });
        let again = [(256, 0, Role::Load, false), (513, 0, Role::Load, false)];
        assert_eq!(evictions(&until_time, &[MIB], 700), again, "a file that starts again");
    }
}

/// Expected ops are those that fio 3.42 logs for sequential writes with `verify`, over several files, and with
/// `io_size` larger than `size`. fio 3.33 has other orders.
#[test]
fn sequential_writes_are_read_back_in_order_at_the_end() {
    let two = vec![FileRange { start: Bytes(0), length: Bytes(16 * KIB) }; 2];
    let handed = |stream: Stream, lengths: &[u64], handing: Handing| -> Vec<(OpKind, u32, u64)> {
        let mut job = job(stream);
        job.verify = Some(fio::verify());
        let plan = plan(&job, lengths, handing).expect("a plan");
        ops(&plan, 1000).iter().map(|op| (op.kind, op.file, op.offset / 4096)).collect()
    };
    let verified = |stream: Stream, lengths: &[u64]| {
        let ops = handed(stream.clone(), lengths, Handing::Inline);
        assert_eq!(handed(stream, lengths, Handing::Queued), ops, "the engine makes no difference");
        ops
    };
    let found = verified(Stream { ranges: two, ..stream(Does::Write, sequential()) }, &[16 * KIB; 2]);
    let places = |kind: OpKind| (0..8).map(move |at| (kind, at as u32 % 2, at / 2));
    let expected: Vec<_> = places(OpKind::Write).chain(places(OpKind::Read)).collect();
    assert_eq!(found, expected);
    let one = vec![FileRange { start: Bytes(0), length: Bytes(16 * KIB) }];
    let more = Stream { ranges: one, io_bytes: Some(Bytes(40 * KIB)), ..stream(Does::Write, sequential()) };
    let writes = (0..10).map(|at| (OpKind::Write, 0, at % 4));
    let expected: Vec<_> = writes.chain((0..4).map(|at| (OpKind::Read, 0, at))).collect();
    assert_eq!(verified(more, &[16 * KIB]), expected);
}
