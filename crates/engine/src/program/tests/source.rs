//! Tests of the source alone: the ops that it yields, and its assumptions about the file set. The tests with the
//! backend check that these assumptions are true.

use crate::program::compile::Compiled;
use crate::program::file_set::{MAX_SHARE, SetEntry};
use crate::program::op::CallOp;
use crate::program::rules::Over;
use crate::program::source::ProgramSource;
use crate::program::{SetState, TreeState};
use crate::rng::StreamId;
use crate::source::Source;
use crate::tree::{FileId, TreeShape};
use plumb_workload::program::{Choice, MissingFile, OpenStep};
use plumb_workload::{Bytes, Content, Distribution, Nanos, OpKind, Pick, Step, TreeTarget};
use std::sync::Arc;

const STREAM: StreamId = StreamId { seed: 42, phase: 1, worker: 2 };

fn shape(files: u64, preallocated_percent: u32) -> Arc<TreeShape> {
    let target = TreeTarget {
        path: "tree".into(),
        files,
        width: 4,
        depth: 1,
        size: Distribution::Fixed(Bytes(10_000)),
        preallocated_percent,
        directories: 0,
        content: Content::Zero,
    };
    Arc::new(TreeShape::new(&target, 42).unwrap())
}

fn program(steps: &[Step]) -> Arc<Compiled> {
    Arc::new(Compiled::new(steps, Over::FileSet, true).unwrap())
}

fn over(program: &Arc<Compiled>, state: SetState, stream: StreamId, passes: Option<u64>) -> ProgramSource {
    ProgramSource::new(program, 0, Some(state), stream, passes)
}

fn source(shape: &Arc<TreeShape>, steps: &[Step], passes: Option<u64>) -> ProgramSource {
    over(&program(steps), SetState::new(shape, 0, 1).unwrap(), STREAM, passes)
}

/// Returns all ops of a finite source, as text.
fn ops(source: &mut ProgramSource) -> Vec<String> {
    std::iter::from_fn(|| source.next()).map(|op| text(&op)).collect()
}

fn text(op: &CallOp) -> String {
    let CallOp { kind, handle, file, other, offset, length, .. } = op;
    match kind {
        OpKind::Read | OpKind::Write | OpKind::Truncate | OpKind::Fallocate => {
            format!("{} h{handle} f{} {offset}+{length}", kind.name(), file)
        }
        OpKind::Create | OpKind::Open | OpKind::Close | OpKind::Fsync | OpKind::Fdatasync => {
            format!("{} h{handle} f{}", kind.name(), file)
        }
        OpKind::Rename | OpKind::Link | OpKind::Symlink => format!("{} f{} f{}", kind.name(), file, other),
        OpKind::Delay => format!("delay {length}"),
        _ => format!("{} f{}", kind.name(), file),
    }
}

fn create() -> Step {
    Step::Create { handle: 0 }
}
fn close() -> Step {
    Step::Close { handle: 0 }
}
fn open(file: Pick) -> Step {
    Step::Open(OpenStep { file, write: true, ..OpenStep::default() })
}
fn stat(file: Pick) -> Step {
    Step::Stat { file }
}
fn unlink(file: Pick) -> Step {
    Step::Unlink { file, missing: MissingFile::Fails }
}
fn append(bytes: u64) -> Step {
    Step::Append { handle: 0, size: Distribution::Fixed(Bytes(bytes)) }
}
fn repeat(times: u64, steps: &[Step]) -> Step {
    Step::Loop { times, steps: steps.to_vec() }
}
fn mix(choices: &[(f64, &[Step])]) -> Step {
    Step::Mix {
        choices: choices.iter().map(|(weight, steps)| Choice { weight: *weight, steps: steps.to_vec() }).collect(),
    }
}

/// Filebench's varmail, as a native flow.
fn varmail() -> Vec<Step> {
    let whole = || Step::ReadWhole { handle: 0, request: Bytes(1 << 20) };
    let some = || Step::Append { handle: 0, size: Distribution::Uniform { min: Bytes(0), max: Bytes(16_383) } };
    vec![
        unlink(Pick::Random),
        create(),
        some(),
        Step::Fsync { handle: 0 },
        close(),
        open(Pick::Zipf { theta: 0.9 }),
        whole(),
        some(),
        Step::Fsync { handle: 0 },
        close(),
        open(Pick::Sequential),
        whole(),
        close(),
    ]
}

#[test]
fn the_first_ops_of_a_seed_never_change() {
    let mut source = source(&shape(1000, 80), &varmail(), Some(1));
    assert_eq!(
        ops(&mut source),
        [
            "unlink f984",
            "create h0 f0",
            "write h0 f0 0+14572",
            "fsync h0 f0",
            "close h0 f0",
            "open h0 f762",
            "read h0 f762 0+10000",
            "write h0 f762 10000+15687",
            "fsync h0 f762",
            "close h0 f762",
            "open h0 f0",
            "read h0 f0 0+14572",
            "close h0 f0"
        ]
    );
    assert_eq!(source.transactions(), Some(1));
}

#[test]
fn the_same_seed_gives_the_same_ops_and_another_gives_others() {
    let run = |stream| {
        let state = SetState::new(&shape(1000, 80), 1, 3).unwrap();
        let mut source = over(&program(&varmail()), state, stream, Some(500));
        std::iter::from_fn(|| source.next()).collect::<Vec<_>>()
    };
    assert_eq!(run(STREAM), run(STREAM));
    assert_ne!(run(STREAM), run(StreamId { seed: 43, ..STREAM }));
}

#[test]
fn ops_stay_within_the_workers_share() {
    let shape = shape(1000, 80);
    for worker in 0..3 {
        let state = SetState::new(&shape, worker, 3).unwrap();
        let share = state.share();
        let mut source = over(&program(&varmail()), state, STREAM, Some(200));
        assert!(std::iter::from_fn(|| source.next()).all(|op| share.contains(&op.file)));
    }
}

#[test]
fn files_are_created_queried_and_unlinked_over_three_phases() {
    let shape = shape(5, 0);
    let mut making = source(&shape, &[create(), close()], None);
    assert_eq!(ops(&mut making).len(), 10);
    let state = making.into_state().unwrap();
    assert_eq!(state.existing(), 5);

    let mut looking = over(&program(&[stat(Pick::Sequential)]), state, STREAM, Some(6));
    assert_eq!(ops(&mut looking), ["stat f0", "stat f1", "stat f2", "stat f3", "stat f4", "stat f0"]);

    let mut removing = over(&program(&[unlink(Pick::Random)]), looking.into_state().unwrap(), STREAM, None);
    let mut removed = ops(&mut removing);
    removed.sort();
    assert_eq!(removed, ["unlink f0", "unlink f1", "unlink f2", "unlink f3", "unlink f4"]);
    assert_eq!(removing.skipped(), 1);
    assert_eq!(removing.into_state().unwrap().existing(), 0);
}

#[test]
fn a_flow_that_can_do_nothing_ends() {
    let nothing = shape(3, 0);
    let none = shape(0, 0);
    for steps in [
        vec![stat(Pick::Random)],
        vec![stat(Pick::Sequential), Step::Delay { time: Nanos(5) }],
        vec![repeat(u64::MAX, &[repeat(u64::MAX, &[unlink(Pick::Random)])])],
        vec![repeat(0, &[create()])],
        vec![mix(&[(1.0, &[]), (1.0, &[stat(Pick::Same)])])],
        vec![repeat(u64::MAX, &[mix(&[(1.0, &[]), (1.0, &[stat(Pick::Zipf { theta: 1.0 })])])])],
        vec![Step::Rmdir { file: Pick::Usual }],
    ] {
        for shape in [&nothing, &none] {
            let mut source = source(shape, &steps, None);
            assert!(ops(&mut source).len() <= 1, "{steps:?}");
            assert_eq!(source.next(), None);
        }
    }
    assert_eq!(ops(&mut source(&none, &[create()], None)), [] as [&str; 0]);
}

#[test]
fn chance_may_skip_a_pass_without_ending_the_flow() {
    // The first passes may well choose `unlink`, which has nothing to remove.
    let steps = [mix(&[(99.0, &[unlink(Pick::Random)]), (1.0, &[create()])])];
    let mut source = source(&shape(10, 0), &steps, Some(10_000));
    assert!(ops(&mut source).len() > 100);
    assert!(source.skipped() > 1000);
    assert_eq!(source.transactions().unwrap() + source.skipped(), 10_000);
}

#[test]
fn a_futile_loop_ends_and_the_next_steps_run() {
    let steps = [repeat(1 << 60, &[unlink(Pick::Random)]), create(), close()];
    let found = ops(&mut source(&shape(2, 100), &steps, Some(2)));
    let rest = ["create h0 f1", "close h0 f1", "unlink f1", "create h0 f0", "close h0 f0"];
    assert_eq!(found[2..], rest.map(str::to_owned));
}

#[test]
fn a_program_that_only_waits_continues() {
    let mut source = source(&shape(1, 0), &[Step::Delay { time: Nanos(7) }], Some(3));
    assert_eq!(ops(&mut source), ["delay 7", "delay 7", "delay 7"]);
    assert_eq!(source.transactions(), Some(0));
}

#[test]
fn whole_files_are_moved_in_requests() {
    let steps = [
        create(),
        Step::WriteWhole { handle: 0, request: Bytes(4096) },
        Step::ReadWhole { handle: 0, request: Bytes(6000) },
        append(5),
        close(),
    ];
    assert_eq!(
        ops(&mut source(&shape(1, 0), &steps, Some(1))),
        [
            "create h0 f0",
            "write h0 f0 0+4096",
            "write h0 f0 4096+4096",
            "write h0 f0 8192+1808",
            "read h0 f0 0+6000",
            "read h0 f0 6000+4000",
            "write h0 f0 10000+5",
            "close h0 f0"
        ]
    );
}

#[test]
fn random_offsets_reach_every_block_and_stay_inside() {
    let read = Step::ReadRandom { handle: 0, size: Distribution::Fixed(Bytes(4096)) };
    let mut source = source(&shape(1, 100), &[open(Pick::Random), repeat(100, &[read])], Some(1));
    let mut blocks: Vec<String> = ops(&mut source).split_off(1);
    blocks.sort();
    blocks.dedup();
    assert_eq!(blocks, ["read h0 f0 0+4096", "read h0 f0 4096+4096", "read h0 f0 8192+1808"]);
}

#[test]
fn loops_nest() {
    let steps = [repeat(2, &[stat(Pick::Sequential), repeat(3, &[unlink(Pick::Sequential)])])];
    assert_eq!(
        ops(&mut source(&shape(6, 100), &steps, Some(1))),
        ["stat f0", "unlink f0", "unlink f1", "unlink f2", "stat f3", "unlink f3", "unlink f4", "unlink f5"]
    );
}

#[test]
fn round_robin_is_shared_and_sequential_is_not() {
    let both = |pick: Pick| ops(&mut source(&shape(4, 100), &[stat(pick), stat(pick)], Some(2)));
    assert_eq!(both(Pick::RoundRobin), ["stat f0", "stat f1", "stat f2", "stat f3"]);
    assert_eq!(both(Pick::Sequential), ["stat f0", "stat f0", "stat f1", "stat f1"]);
}

#[test]
fn mixes_keep_their_weights() {
    let steps = [mix(&[(3.0, &[stat(Pick::Random)]), (1.0, &[Step::Readdir {}])])];
    let found = ops(&mut source(&shape(4, 100), &steps, Some(10_000)));
    let stats = found.iter().filter(|op| op.starts_with("stat")).count();
    assert!((7300..7700).contains(&stats), "{stats}");
}

#[test]
fn same_is_the_file_of_the_previous_step() {
    let same = Pick::Same;
    let steps = [
        Step::Symlink { file: Pick::Sequential, to: None },
        Step::Readlink { file: same },
        unlink(same),
        Step::Rename { file: Pick::Sequential },
        stat(same),
        unlink(same),
        stat(same),
    ];
    let mut source = source(&shape(4, 50), &steps, Some(1));
    // Of four files, the second and the fourth are laid out.
    assert_eq!(ops(&mut source), ["symlink f1 f0", "readlink f0", "unlink f0", "rename f1 f2", "stat f2", "unlink f2"]);
    assert_eq!(source.skipped(), 1);
}

#[test]
fn readlink_picks_symbolic_links_and_open_picks_files() {
    let steps =
        [Step::Symlink { file: Pick::Sequential, to: None }, Step::Readlink { file: Pick::Random }, open(Pick::Random)];
    assert_eq!(ops(&mut source(&shape(2, 50), &steps, Some(1))), ["symlink f1 f0", "readlink f0", "open h0 f1"]);
    let none = ops(&mut source(&shape(2, 50), &[Step::Readlink { file: Pick::Random }], Some(1)));
    assert_eq!(none, [] as [&str; 0]);
}

#[test]
fn a_failed_op_has_no_effect() {
    let mut source = source(&shape(3, 0), &[create(), append(10), close()], None);
    let op = source.next().unwrap();
    assert_eq!(text(&op), "create h0 f0");
    source.failed(&op);
    // Nothing is open, so the rest of the pass is skipped; then another name is tried.
    let op = source.next().unwrap();
    assert_eq!(text(&op), "create h0 f1");
    let op = source.next().unwrap();
    assert_eq!(text(&op), "write h0 f1 0+10");
    source.failed(&op);
    let state = source.into_state().unwrap();
    assert_eq!(state.entry(FileId(0)), None);
    assert_eq!(state.entry(FileId(1)), Some(SetEntry::File { size: 0 }));
}

#[test]
fn hard_links_share_a_size_and_open_files_keep_theirs() {
    let steps = [
        create(),
        append(100),
        Step::Link { file: Pick::Same, to: None },
        append(50),
        unlink(Pick::Same),
        create(),
        append(1),
    ];
    let mut source = source(&shape(3, 0), &steps, Some(1));
    // `append` makes the handle's file the one that `same` refers to.
    let found = ops(&mut source);
    assert_eq!(found[2..5], ["link f0 f1", "write h0 f0 100+50", "unlink f0"].map(str::to_owned));
    assert_eq!(found[5..], ["create h0 f2", "write h0 f2 0+1"].map(str::to_owned));
    let state = source.into_state().unwrap();
    assert_eq!(state.entry(FileId(0)), None);
    assert_eq!(state.entry(FileId(1)), Some(SetEntry::File { size: 150 }));
    assert_eq!(state.entry(FileId(2)), Some(SetEntry::File { size: 1 }));
}

#[test]
fn an_unlinked_file_keeps_its_size_while_it_is_open() {
    let steps = [
        open(Pick::Sequential),
        unlink(Pick::Same),
        Step::Create { handle: 1 },
        append(7),
        Step::Append { handle: 1, size: Distribution::Fixed(Bytes(3)) },
    ];
    let found = ops(&mut source(&shape(1, 100), &steps, Some(1)));
    assert_eq!(found[2..], ["create h1 f0", "write h0 f0 10000+7", "write h1 f0 0+3"].map(str::to_owned));
}

#[test]
fn states_pass_to_another_number_of_workers() {
    let shape = shape(1000, 60);
    let steps = [
        mix(&[
            (2.0, &[unlink(Pick::Random)]),
            (2.0, &[create(), append(33), close()]),
            (1.0, &[Step::Symlink { file: Pick::Random, to: None }]),
            (1.0, &[Step::Link { file: Pick::Random, to: None }]),
            (1.0, &[open(Pick::Random), append(9), close()]),
        ]),
        Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false },
        Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false },
        Step::Rmdir { file: Pick::Usual },
    ];
    let program = program(&steps);
    let mut tree = TreeState::new(shape.clone());
    for (phase, workers) in [3, 3, 7, 1, 2].into_iter().enumerate() {
        let before: Vec<_> = (0..1000).map(|file| tree.entry(FileId(file))).collect();
        let states = tree.split(workers).unwrap();
        assert_eq!(states.len(), workers as usize);
        assert_eq!(states[0].share().start, 0);
        assert!(states.windows(2).all(|pair| pair[0].share().end == pair[1].share().start));
        assert_eq!(states[workers as usize - 1].share().end, 1000);
        let split = TreeState::join(shape.clone(), states.clone());
        assert_eq!(before, (0..1000).map(|file| split.entry(FileId(file))).collect::<Vec<_>>());
        let ended = states.into_iter().enumerate().map(|(worker, state)| {
            let stream = StreamId { seed: 1, phase: phase as u32, worker: worker as u32 };
            let mut source = over(&program, state, stream, Some(100));
            while source.next().is_some() {}
            source.into_state().unwrap()
        });
        tree = TreeState::join(shape.clone(), ended.collect());
        let decoded = TreeState::from_bytes(shape.clone(), &tree.to_bytes()).unwrap();
        let entries = |tree: &TreeState| (0..1000).map(|file| tree.entry(FileId(file))).collect::<Vec<_>>();
        assert_eq!(entries(&decoded), entries(&tree), "another process has the same state");
        let states = tree.clone().split(workers).unwrap();
        let mut extras: Vec<_> = states.iter().flat_map(SetState::extra_directories).collect();
        let all = extras.len();
        extras.sort();
        extras.dedup();
        assert_eq!(extras.len(), all, "no directory belongs to two workers");
        // Each pass creates two and removes one.
        assert_eq!(all, [300, 600, 1300, 1400, 1600][phase]);
    }
}

// Protects: data from another process is read without trust.
#[test]
fn a_malformed_tree_from_another_process_is_rejected() {
    let shape = shape(10, 50);
    let of = |bytes: &[u8]| TreeState::from_bytes(shape.clone(), bytes);
    let run = |kind: u8, names: u64| [&[kind], names.to_le_bytes().as_slice()].concat();
    assert!(of(&run(1, 10)).is_some() && of(&[]).is_some());
    for bytes in [run(1, 9), run(1, 11), run(0, u64::MAX), run(4, 10), run(3, 10), run(1, 10)[..5].to_vec()] {
        assert!(of(&bytes).is_none(), "{bytes:?}");
    }
}

#[test]
fn hard_links_stay_links_when_shares_are_merged() {
    let shape = shape(4, 50);
    let link = program(&[Step::Link { file: Pick::Random, to: None }]);
    let states = TreeState::new(shape.clone()).split(2).unwrap().into_iter().map(|state| {
        let mut source = over(&link, state, STREAM, Some(1));
        assert!(source.next().is_some());
        source.into_state().unwrap()
    });
    let tree = TreeState::join(shape, states.collect());
    let grow = program(&[open(Pick::Sequential), append(1), close()]);
    let state = tree.split(1).unwrap().remove(0);
    let mut source = over(&grow, state, STREAM, Some(3));
    while source.next().is_some() {}
    let state = source.into_state().unwrap();
    // Names 0 and 1 are one file, 2 and 3 another; 0, 1 and 2 were appended to.
    let sizes = (0..4).map(|file| state.entry(FileId(file)));
    assert_eq!(sizes.collect::<Vec<_>>(), [10_002, 10_002, 10_001, 10_001].map(|size| Some(SetEntry::File { size })));
}

#[test]
fn a_share_beyond_the_limit_is_refused() {
    let error = SetState::new(&shape(MAX_SHARE * 4, 0), 0, 1).unwrap_err();
    assert!(error.to_string().contains("use more workers"), "{error}");
}
