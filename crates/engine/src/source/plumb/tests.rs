//! Tests of plans through the interface that the rest of the engine uses.

use super::*;
use crate::rng::StreamId;
use plumb_workload::blocks::{WeightedSize, Zone};
use plumb_workload::{BlockSize, Blocks, Bytes, Mix, OpKind, Pattern};
use proptest::prelude::*;

const STREAM: StreamId = StreamId { seed: 42, phase: 0, worker: 0 };

fn request<'a>(blocks: &'a Blocks, file_lengths: &'a [u64]) -> PlanRequest<'a> {
    PlanRequest { blocks, file_lengths, worker_in_group: 0, stream: STREAM, passes: Some(1), io_alignment_bytes: 1 }
}

fn plan(blocks: &Blocks, file_lengths: &[u64]) -> PlumbPlan {
    PlumbPlan::new(&request(blocks, file_lengths)).unwrap()
}

fn ops(plan: &PlumbPlan, count: usize) -> Vec<BlockOp> {
    let mut source = PlumbSource::new(plan);
    let source = source.table();
    std::iter::from_fn(|| source.next()).take(count).collect()
}

fn all_patterns() -> Vec<(&'static str, Pattern)> {
    let zone = |access_percent, span_percent| Zone { access_percent, span_percent };
    vec![
        ("sequential", Pattern::Sequential),
        ("reverse", Pattern::Reverse),
        ("stride", Pattern::Stride { stride: Bytes(64 << 10) }),
        ("random", Pattern::Random),
        ("permutation", Pattern::Permutation),
        ("zipf", Pattern::Zipf { theta: 0.99 }),
        ("zipf-1", Pattern::Zipf { theta: 1.0 }),
        ("pareto", Pattern::Pareto { h: 0.8 }),
        ("normal", Pattern::Normal { center: 0.5, deviation: 0.1 }),
        ("zoned", Pattern::Zoned(vec![zone(60.0, 10.0), zone(30.0, 20.0), zone(10.0, 70.0)])),
        ("list", Pattern::List(vec![Bytes(8192), Bytes(0), Bytes(1 << 20)])),
    ]
}

fn with_pattern(pattern: Pattern) -> Blocks {
    Blocks { pattern, ..Blocks::default() }
}

/// The promise "the same seed gives the same ops, on any machine, in every version": none
/// of these numbers may ever change.
#[test]
fn the_first_ops_of_each_pattern_never_change() {
    let mut found = String::new();
    for (name, pattern) in all_patterns() {
        let blocks = with_pattern(pattern);
        let request = PlanRequest { passes: None, ..request(&blocks, &[1 << 30]) };
        let ops = ops(&PlumbPlan::new(&request).unwrap(), 16);
        let offsets: Vec<String> = ops.iter().map(|op| (op.offset / 4096).to_string()).collect();
        found += &format!("{name}: {}\n", offsets.join(" "));
    }
    let range = BlockSize::Range { min: Bytes(4096), max: Bytes(65_536), step: None };
    let table =
        [(4096, 0.5), (65_536, 0.3), (8192, 0.2)].map(|(size, weight)| WeightedSize { size: Bytes(size), weight });
    let mixed = Blocks {
        pattern: Pattern::Random,
        block: range,
        write_block: Some(BlockSize::Weighted(table.to_vec())),
        mix: Mix { read: 60, write: 30, trim: 10 },
        fdatasync_every: 2,
        fsync_every: 4,
        ..Blocks::default()
    };
    let request = PlanRequest { passes: None, ..request(&mixed, &[1 << 30; 3]) };
    for op in ops(&PlumbPlan::new(&request).unwrap(), 16) {
        found += &format!("{} {}+{}x{}\n", op.kind.name(), op.file, op.offset / 4096, op.length / 4096);
    }
    assert_eq!(found, GOLDEN);
}

const GOLDEN: &str = "\
sequential: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
reverse: 262143 262142 262141 262140 262139 262138 262137 262136 262135 262134 262133 262132 262131 262130 262129 262128
stride: 0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240
random: 141076 137121 145270 119677 251358 244091 163959 31641 59217 252253 226204 216677 1389 93205 100489 25131
permutation: 30711 41814 68606 76543 124876 33719 130534 87191 41783 6466 134905 152086 61696 29999 8508 188504
zipf: 71901 219439 195905 224930 220129 220129 152 112694 114088 220129 20341 254628 157460 121852 236332 45497
zipf-1: 195905 86335 227502 210222 220129 220129 5863 62801 76239 220129 75136 256488 239418 122587 241731 118030
pareto: 209865 177247 171645 48269 220129 220129 219643 80298 86077 220129 220129 220129 161855 6019 29151 173311
normal: 200820 188522 138870 137094 125026 138265 147100 132098 141831 122267 174366 117464 127670 122525 97581 154823
zoned: 13711 11967 249507 32542 25224 69549 9320 2513 16163 8399 25853 173274 18345 49111 4390 1863
list: 2 0 256 2 0 256 2 0 256 2 0 256 2 0 256 2
read 1+161084x4
read 1+149219x15
read 1+173668x6
read 1+96888x2
read 2+229786x9
read 2+207985x16
read 1+229734x13
read 0+94925x7
write 0+177652x1
write 2+232473x1
fdatasync 2+0x0
trim 2+154326x8
write 2+125745x1
read 0+4169x10
read 1+17473x12
read 1+39325x2
";

#[test]
fn the_fast_path_and_the_general_path_yield_the_same_ops() {
    for (name, pattern) in all_patterns() {
        for align in [None, Some(Bytes(512)), Some(Bytes(16_384))] {
            for length in [1 << 20, (1 << 20) + 1000] {
                let list = matches!(pattern, Pattern::List(_));
                let length = if list { 2 << 20 } else { length };
                let blocks = Blocks { align, ..with_pattern(pattern.clone()) };
                let mixed = Blocks { mix: Mix { read: 70, write: 25, trim: 5 }, ..blocks.clone() };
                for (passes, blocks) in [None, Some(0), Some(1), Some(3)]
                    .into_iter()
                    .flat_map(|passes| [(passes, &blocks), (passes, &mixed)])
                {
                    let plan = PlumbPlan::new(&PlanRequest { passes, ..request(blocks, &[length]) }).unwrap();
                    let mut long = General::new(&plan);
                    let long: Vec<BlockOp> = std::iter::from_fn(|| long.next()).take(10_000).collect();
                    assert_eq!(ops(&plan, 10_000), long, "{name}, align {align:?}, {passes:?} passes of {length}");
                }
            }
        }
    }
}

#[test]
fn a_pass_of_a_covering_pattern_visits_each_block_once() {
    let covering =
        [Pattern::Sequential, Pattern::Reverse, Pattern::Stride { stride: Bytes(16_384) }, Pattern::Permutation];
    for pattern in covering {
        let plan = plan(&with_pattern(pattern.clone()), &[40_960, 8192]);
        let mut places: Vec<(u32, u64)> = ops(&plan, 100).iter().map(|op| (op.file, op.offset / 4096)).collect();
        places.sort_unstable();
        let each: Vec<(u32, u64)> = (0..10).map(|block| (0, block)).chain((0..2).map(|block| (1, block))).collect();
        assert_eq!(places, each, "{pattern:?}");
    }
}

#[test]
fn a_pass_of_a_random_pattern_is_as_many_blocks_as_the_range_has() {
    for pattern in [Pattern::Random, Pattern::Zipf { theta: 1.1 }, Pattern::Pareto { h: 0.7 }] {
        let blocks = with_pattern(pattern);
        let request = PlanRequest { passes: Some(2), ..request(&blocks, &[40_960 + 100]) };
        assert_eq!(ops(&PlumbPlan::new(&request).unwrap(), 100).len(), 20);
    }
}

#[test]
fn a_huge_sparse_file_costs_nothing() {
    for (name, pattern) in all_patterns() {
        let plan =
            PlumbPlan::new(&PlanRequest { passes: None, ..request(&with_pattern(pattern), &[64 << 40]) }).unwrap();
        let ops = ops(&plan, 1000);
        assert_eq!(ops.len(), 1000);
        assert!(ops.iter().all(|op| op.offset + 4096 <= 64 << 40), "{name}");
        assert!(std::mem::size_of::<General>() < 1024, "memory does not depend on the size");
    }
}

#[test]
fn workers_start_with_their_own_file() {
    let blocks = Blocks { span: Some(Bytes(8192)), ..Blocks::default() };
    for worker in 0..5 {
        let request = PlanRequest { worker_in_group: worker, ..request(&blocks, &[8192; 3]) };
        assert!(ops(&PlumbPlan::new(&request).unwrap(), 10).iter().all(|op| op.file == worker % 3));
    }
    let blocks = Blocks::default();
    let request = PlanRequest { worker_in_group: 1, ..request(&blocks, &[4096; 3]) };
    let files: Vec<u32> = ops(&PlumbPlan::new(&request).unwrap(), 10).iter().map(|op| op.file).collect();
    assert_eq!(files, [1, 2, 0]);
}

#[test]
fn offset_and_increment_move_the_range() {
    let blocks = Blocks {
        offset: Bytes(4096),
        offset_increment: Bytes(16_384),
        span: Some(Bytes(16_384)),
        ..with_pattern(Pattern::Permutation)
    };
    let request = PlanRequest { worker_in_group: 2, ..request(&blocks, &[1 << 20]) };
    let mut offsets: Vec<u64> = ops(&PlumbPlan::new(&request).unwrap(), 10).iter().map(|op| op.offset).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, [36_864, 40_960, 45_056, 49_152]);
}

#[test]
fn the_mix_and_the_sizes_have_their_shares() {
    let table = [(4096, 3.0), (65_536, 1.0)].map(|(size, weight)| WeightedSize { size: Bytes(size), weight });
    let blocks = Blocks {
        mix: Mix { read: 70, write: 20, trim: 10 },
        block: BlockSize::Weighted(table.to_vec()),
        write_block: Some(BlockSize::Range { min: Bytes(512), max: Bytes(2048), step: Some(Bytes(512)) }),
        trim_block: Some(BlockSize::Fixed(Bytes(1 << 20))),
        ..with_pattern(Pattern::Random)
    };
    let request = PlanRequest { passes: None, ..request(&blocks, &[1 << 30]) };
    let ops = ops(&PlumbPlan::new(&request).unwrap(), 100_000);
    let share = |which: &dyn Fn(&&BlockOp) -> bool| ops.iter().filter(which).count() as f64 / 1e5;
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    near(share(&|op| op.kind == OpKind::Read), 0.7);
    near(share(&|op| op.kind == OpKind::Write), 0.2);
    near(share(&|op| op.kind == OpKind::Trim && op.length == 1 << 20), 0.1);
    near(share(&|op| op.kind == OpKind::Read && op.length == 4096), 0.7 * 0.75);
    for size in [512, 1024, 1536, 2048] {
        near(share(&|op| op.kind == OpKind::Write && op.length == size), 0.05);
    }
}

#[test]
fn zones_have_their_shares_of_accesses() {
    let (_, pattern) = all_patterns().swap_remove(9);
    let blocks = with_pattern(pattern);
    let request = PlanRequest { passes: None, ..request(&blocks, &[4096 * 1000]) };
    let ops = ops(&PlumbPlan::new(&request).unwrap(), 100_000);
    let share =
        |from: u64, to: u64| ops.iter().filter(|op| (from * 4096..to * 4096).contains(&op.offset)).count() as f64 / 1e5;
    for (from, to, expected) in [(0, 100, 0.6), (100, 300, 0.3), (300, 1000, 0.1)] {
        assert!((share(from, to) - expected).abs() < 0.01);
    }
}

#[test]
fn flushes_follow_their_writes() {
    let blocks = Blocks { mix: Mix::WRITE, fsync_every: 4, fdatasync_every: 2, ..Blocks::default() };
    let kinds: Vec<&str> = ops(&plan(&blocks, &[8 * 4096]), 100).iter().map(|op| op.kind.name()).collect();
    let round = ["write", "write", "fdatasync", "write", "write", "fsync"];
    assert_eq!(kinds, [round, round].concat());
}

#[test]
fn another_size_or_mix_does_not_change_the_positions() {
    let position = |blocks: &Blocks| -> Vec<u64> {
        let request = PlanRequest { passes: None, ..request(blocks, &[1 << 30]) };
        ops(&PlumbPlan::new(&request).unwrap(), 100).iter().map(|op| op.offset).collect()
    };
    let base = with_pattern(Pattern::Random);
    let mixed = Blocks { mix: Mix { read: 1, write: 1, trim: 0 }, ..base.clone() };
    assert_eq!(position(&base), position(&mixed));
}

#[test]
fn direct_io_sees_whole_logical_blocks_only() {
    for pattern in [Pattern::Sequential, Pattern::Reverse, Pattern::Permutation, Pattern::Random] {
        let blocks = Blocks { block: BlockSize::Fixed(Bytes(8192)), ..with_pattern(pattern) };
        let request = PlanRequest { io_alignment_bytes: 4096, passes: Some(2), ..request(&blocks, &[8192 * 3 + 5000]) };
        for op in ops(&PlumbPlan::new(&request).unwrap(), 100) {
            assert!(op.offset.is_multiple_of(4096) && op.length.is_multiple_of(4096) && op.length > 0);
        }
    }
}

#[test]
fn the_working_set_is_what_can_be_touched() {
    let set = |blocks: &Blocks, lengths: &[u64]| plan(blocks, lengths).working_set_bytes();
    assert_eq!(set(&Blocks::default(), &[10_000]), 10_000);
    assert_eq!(set(&with_pattern(Pattern::Random), &[10_000]), 8192);
    assert_eq!(set(&Blocks { align: Some(Bytes(8192)), ..with_pattern(Pattern::Random) }, &[1 << 20]), 1 << 19);
    assert_eq!(set(&Blocks { span: Some(Bytes(8192)), ..Blocks::default() }, &[1 << 20]), 8192);
    let list = Pattern::List([0, 1024, 65_536, 0].map(Bytes).to_vec());
    assert_eq!(set(&with_pattern(list), &[1 << 20]), 1024 + 4096 + 4096);
    let zones =
        vec![Zone { access_percent: 100.0, span_percent: 10.0 }, Zone { access_percent: 0.0, span_percent: 90.0 }];
    assert_eq!(set(&with_pattern(Pattern::Zoned(zones)), &[4096 * 100]), 4096 * 10);
}

#[test]
fn impossible_plans_explain_why() {
    let default = Blocks::default();
    let fixed = |size| BlockSize::Fixed(Bytes(size));
    let cases: Vec<(Blocks, u64, &str)> = vec![
        (default.clone(), 0, "has no bytes"),
        (Blocks { mix: Mix { read: 0, write: 0, trim: 0 }, ..default.clone() }, 8192, "`mix` has no reads"),
        (Blocks { span: Some(Bytes(8193)), ..default.clone() }, 8192, "ends beyond the target's 8192 bytes"),
        (Blocks { offset: Bytes(8192), ..default.clone() }, 8192, "ends beyond"),
        (Blocks { offset: Bytes(u64::MAX), span: Some(Bytes(u64::MAX)), ..default.clone() }, 8192, "ends beyond"),
        (Blocks { span: Some(Bytes(0)), ..default.clone() }, 8192, "`span`: a range of 0 bytes"),
        (Blocks { block: fixed(16_384), ..default.clone() }, 8192, "`block` of 16384 bytes is larger"),
        (Blocks { block: fixed(0), ..default.clone() }, 8192, "has 0 bytes"),
        (Blocks { block: fixed(1 << 32), ..default.clone() }, 1 << 40, "less than 4 GiB"),
        (Blocks { block: BlockSize::Weighted(vec![]), ..default.clone() }, 8192, "the weights must be"),
        (
            Blocks { block: BlockSize::Range { min: Bytes(8192), max: Bytes(4096), step: None }, ..default.clone() },
            1 << 20,
            "no multiple of 8192 between",
        ),
        (Blocks { align: Some(Bytes(0)), ..default.clone() }, 8192, "0 is not an alignment"),
        (with_pattern(Pattern::Stride { stride: Bytes(0) }), 8192, "never moves"),
        (with_pattern(Pattern::Zipf { theta: 0.0 }), 8192, "zipf's `theta` is 0"),
        (with_pattern(Pattern::Zipf { theta: f64::NAN }), 8192, "zipf's `theta` is NaN"),
        (with_pattern(Pattern::Pareto { h: 0.5 }), 8192, "pareto's `h` is 0.5"),
        (with_pattern(Pattern::Normal { center: 1.5, deviation: 0.1 }), 8192, "`center` is 1.5"),
        (with_pattern(Pattern::Normal { center: 0.5, deviation: 0.0 }), 8192, "`deviation` is 0"),
        (with_pattern(Pattern::Zoned(vec![])), 8192, "there are no zones"),
        (with_pattern(Pattern::List(vec![])), 8192, "the list has no offsets"),
        (with_pattern(Pattern::List(vec![Bytes(8192)])), 8192, "offset 8192 is outside the range of 8192 bytes"),
        (default.clone(), u64::MAX, "less than 8 EiB"),
    ];
    for (blocks, length, expected) in cases {
        let message = PlumbPlan::new(&request(&blocks, &[length])).unwrap_err().to_string();
        assert!(message.contains(expected), "{message:?} does not contain {expected:?}");
    }
    let odd = Blocks { block: fixed(1000), ..default };
    let request = PlanRequest { io_alignment_bytes: 512, ..request(&odd, &[8192]) };
    let message = PlumbPlan::new(&request).unwrap_err().to_string();
    assert!(message.contains("`block` is 1000 bytes, not a multiple of 512"), "{message}");
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Reverse),
        (1u64..100).prop_map(|blocks| Pattern::Stride { stride: Bytes(blocks * 512) }),
        Just(Pattern::Random),
        Just(Pattern::Permutation),
        (0.01f64..5.0).prop_map(|theta| Pattern::Zipf { theta }),
        (0.51f64..0.99).prop_map(|h| Pattern::Pareto { h }),
        (0.0f64..=1.0, 0.01f64..2.0).prop_map(|(center, deviation)| Pattern::Normal { center, deviation }),
    ]
}

fn any_block() -> impl Strategy<Value = BlockSize> {
    let size = || (1u64..64).prop_map(|blocks| Bytes(blocks * 512));
    prop_oneof![
        size().prop_map(BlockSize::Fixed),
        (size(), size()).prop_map(|(a, b)| BlockSize::Range { min: a.min(b), max: a.max(b), step: Some(Bytes(512)) }),
        prop::collection::vec((size(), 0.1f64..10.0), 1..4).prop_map(|table| BlockSize::Weighted(
            table.into_iter().map(|(size, weight)| WeightedSize { size, weight }).collect()
        )),
    ]
}

proptest! {
    #[test]
    fn ops_stay_in_their_range_aligned_and_repeatable(
        pattern in any_pattern(),
        block in any_block(),
        write_block in prop::option::of(any_block()),
        align in prop::option::of((1u64..16).prop_map(|blocks| Bytes(blocks * 512))),
        lengths in prop::collection::vec(1u64..2_000_000, 1..5),
        offset in (0u64..100).prop_map(|blocks| Bytes(blocks * 512)),
        span in prop::option::of((1u64..1_000_000).prop_map(Bytes)),
        (read, write, trim) in (0u32..3, 0u32..3, 0u32..3),
        worker_in_group in 0u32..7,
        direct: bool,
    ) {
        let blocks = Blocks {
            pattern, block, write_block, align, offset, span, mix: Mix { read, write, trim }, fsync_every: 7,
            ..Blocks::default()
        };
        let io_alignment_bytes = if direct { 512 } else { 1 };
        let request = PlanRequest { worker_in_group, io_alignment_bytes, passes: Some(2), ..request(&blocks, &lengths) };
        let Ok(plan) = PlumbPlan::new(&request) else { return Ok(()) };
        let first = ops(&plan, 3000);
        prop_assert_eq!(&first, &ops(&plan, 3000));
        prop_assert!(!first.is_empty());
        for op in first {
            let file = op.file as usize;
            let pieces: Vec<_> = plan.pieces.iter().filter(|piece| piece.file == op.file).collect();
            prop_assert_eq!(pieces.len(), 1);
            if op.kind == OpKind::Fsync {
                continue;
            }
            prop_assert!(op.length > 0);
            prop_assert!(op.offset >= pieces[0].start);
            prop_assert!(op.offset + u64::from(op.length) <= pieces[0].start + pieces[0].length);
            prop_assert!(op.offset + u64::from(op.length) <= lengths[file]);
            prop_assert!(op.length <= plan.largest_block_bytes());
            if matches!(plan.order, BlockOrder::Draw(_)) {
                prop_assert_eq!((op.offset - pieces[0].start) % plan.step, 0);
            }
            let interval = plan.verify_interval_bytes();
            prop_assert_eq!(op.offset % interval, 0);
            let end = op.offset + u64::from(op.length);
            prop_assert!(end.is_multiple_of(interval) || end == pieces[0].start + pieces[0].length);
            if direct {
                prop_assert_eq!((op.offset % 512, op.length % 512), (0, 0));
            }
        }
    }
}
