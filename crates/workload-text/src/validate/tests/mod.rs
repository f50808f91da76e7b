//! Tests that each rule fires on a workload that breaks it, with the right position and help, and
//! that a valid workload passes.

mod blocks;
mod companions;
mod mpi;
mod phases;
mod programs;
mod repeat;
mod shared;
mod targets;

use super::checker::PROBLEMS_MAX;
use super::*;
use plumb_workload::Workload;
use plumb_workload::backend::*;
use plumb_workload::blocks::{BlockSize, Blocks, Mix, Pattern, WeightedSize, Zone};
use plumb_workload::content::Content;
use plumb_workload::files::{JobFiles, Names};
use plumb_workload::pace::{Arrival, Pace};
use plumb_workload::phase::*;
use plumb_workload::program::{
    Choice, CopyStep, ItemName, ItemOrder, MissingFile, OpenStep, Pick, Program, Renewal, Step, TreeNames, TreeStep,
    TreeWork, Wall,
};
use plumb_workload::sim::{SimDevice, SimModel};
use plumb_workload::target::*;
use plumb_workload::units::{Bytes, Nanos, PerSecond, Size};
use plumb_workload::verify::{StampLayout, Verify, VerifyMethod};
use proptest::prelude::*;

/// Returns a valid workload with the targets `data` (file, 1 GiB), `set` (tree, half full), `dev` (device), `nil`
/// (null), `sim` and `simset` (simulated). Phase 0 has block I/O on `data`, phase 1 a program on `set`.
fn sound() -> Workload {
    let file =
        FileTarget { path: "data".into(), size: Some(gib(1)), prepare: Prepare::Write, content: Content::Random };
    let tree = TreeTarget {
        path: "set".into(),
        files: 100,
        width: 10,
        depth: 1,
        size: Distribution::Fixed(Bytes(4096)),
        preallocated_percent: 50,
        directories: 0,
        content: Content::Random,
    };
    let device = DeviceTarget { path: "/dev/sdx".into(), size: None, destroy_serial: None, content: Content::Random };
    let sim = |files| SimTarget {
        device: SimDevice::healthy(SimModel::Hdd),
        size: Bytes(1 << 30),
        files,
        preallocated_percent: 50,
        shares: None,
    };
    let targets = [
        ("data", Target::File(file)),
        ("set", Target::Tree(tree)),
        ("dev", Target::Device(device)),
        ("nil", Target::Null(NullTarget::with_size(Bytes(1 << 30)))),
        ("sim", Target::Sim(sim(None))),
        ("simset", Target::Sim(sim(Some(100)))),
    ];
    let phase = |name: &str, group| Phase {
        cache: CachePolicy::AsIs,
        stop: Stop { time: Some(Nanos(1_000_000_000)), ..Stop::default() },
        ..Phase::new(name, vec![group])
    };
    let steps = vec![
        Step::Open(OpenStep { file: Pick::Random, write: true, ..OpenStep::default() }),
        Step::Append { handle: 0, size: Distribution::Fixed(Bytes(512)) },
        Step::Close { handle: 0 },
        Step::Stat { file: Pick::Same },
    ];
    Workload {
        name: "sound".to_owned(),
        description: String::new(),
        seed: 1,
        target: targets.into_iter().map(|(name, target)| (name.to_owned(), target)).collect(),
        phase: vec![
            phase("blocks", WorkerGroup::new("data", Blocks::default())),
            phase("program", WorkerGroup::new("set", Work::Program(Box::new(Program::new(steps))))),
        ],
        repeat: None,
    }
}

fn gib(count: u64) -> Size {
    Size::Bytes(Bytes(count << 30))
}

/// Returns the group with block I/O.
fn group(workload: &mut Workload) -> &mut WorkerGroup {
    &mut workload.phase[0].workers[0]
}

fn blocks(workload: &mut Workload) -> &mut Blocks {
    group(workload).work.blocks_mut().expect("phase 0 has block I/O")
}

fn program(workload: &mut Workload) -> &mut Program {
    match &mut workload.phase[1].workers[0].work {
        Work::Program(program) => program,
        _ => unreachable!("phase 1 has a program"),
    }
}

fn file(workload: &mut Workload) -> &mut FileTarget {
    match workload.target.get_mut("data") {
        Some(Target::File(file)) => file,
        _ => unreachable!("`data` is a file"),
    }
}

fn tree(workload: &mut Workload) -> &mut TreeTarget {
    match workload.target.get_mut("set") {
        Some(Target::Tree(tree)) => tree,
        _ => unreachable!("`set` is a tree"),
    }
}

fn sim(workload: &mut Workload) -> &mut SimTarget {
    match workload.target.get_mut("sim") {
        Some(Target::Sim(sim)) => sim,
        _ => unreachable!("`sim` is simulated"),
    }
}

fn device(workload: &mut Workload) -> &mut DeviceTarget {
    match workload.target.get_mut("dev") {
        Some(Target::Device(device)) => device,
        _ => unreachable!("`dev` is a device"),
    }
}

fn steps(workload: &mut Workload, steps: Vec<Step>) {
    program(workload).steps = steps;
}

fn direct(workload: &mut Workload) {
    workload.phase[0].cache = CachePolicy::Direct;
}

/// A rule: a change that breaks it, the path of the problem, and parts of its message and help.
type Rule = (fn(&mut Workload), &'static str, &'static str, &'static str);

fn each_fires(rules: &[Rule]) {
    for (breaks, path, message, help) in rules {
        let mut workload = sound();
        breaks(&mut workload);
        let problems = validate(&workload);
        let found = problems.iter().any(|problem| {
            problem.path.to_string() == *path && problem.message.contains(message) && problem.help.contains(help)
        });
        assert!(found, "expected {path}: …{message}… (…{help}…), got {problems:#?}");
    }
}

/// Checks changes that keep a workload valid.
fn none_fires(changes: &[fn(&mut Workload)]) {
    for (index, change) in changes.iter().enumerate() {
        let mut workload = sound();
        change(&mut workload);
        assert_eq!(validate(&workload), [], "change {index}");
    }
}

#[test]
fn a_sound_workload_has_no_problem() {
    assert_eq!(validate(&sound()), []);
}

#[test]
fn names_and_top_level_rules() {
    each_fires(&[
        (|w| w.name.clear(), "name", "empty name", "give it"),
        (|w| w.name = "a b".into(), "name", "contains ' '", "letters, digits"),
        (|w| w.name = "a\nb".into(), "name", "contains '\\n'", "letters, digits"),
        (|w| w.name = "-a".into(), "name", "does not begin", "begin it"),
        (|w| w.name = "a".repeat(65), "name", "65 characters", "64"),
        (|w| w.seed = u64::MAX, "seed", "too large for the TOML form", "2^63"),
        (|w| w.target.clear(), "target", "has no target", "[target.data.file]"),
        (|w| w.phase.clear(), "phase", "has no phase", "[[phase]]"),
        (|w| w.phase[0].workers.clear(), "phase[0].workers", "no workers", "[[phase.workers]]"),
        (|w| w.phase[1].name = "blocks".into(), "phase[1].name", "two phases named `blocks`", "its own name"),
        (|w| w.phase[0].name = "a/b".into(), "phase[0].name", "contains '/'", "letters"),
        (|w| group(w).name = Some(String::new()), "phase[0].workers[0].name", "empty name", "give it"),
        (
            |w| {
                group(w).name = Some("x".into());
                let again = group(w).clone();
                w.phase[0].workers.push(again);
            },
            "phase[0].workers[1].name",
            "two groups",
            "its own name",
        ),
        (|w| group(w).target = "dta".into(), "phase[0].workers[0].target", "no target named `dta`", "mean `data`"),
        (|w| group(w).target = "zzzzzz".into(), "phase[0].workers[0].target", "`zzzzzz`", "the targets are `data`"),
    ]);
}

/// Wraps a step in opening for writing and closing.
fn with_handle(step: Step) -> Vec<Step> {
    vec![
        Step::Open(OpenStep { file: Pick::Random, write: true, ..OpenStep::default() }),
        step,
        Step::Close { handle: 0 },
    ]
}

#[test]
fn the_number_of_problems_is_limited() {
    let mut workload = sound();
    steps(&mut workload, (0..1000).map(|handle| Step::Fsync { handle }).collect());
    assert_eq!(validate(&workload).len(), PROBLEMS_MAX);
}

#[test]
fn a_problem_prints_its_path_and_the_fix() {
    let mut workload = sound();
    group(&mut workload).depth = 0;
    assert_eq!(validate(&workload)[0].to_string(), "phase[0].workers[0].depth: the queue depth is 0 (use at least 1)");
}

proptest! {
    /// Protects against overflow in arithmetic on users' numbers, in any combination.
    #[test]
    fn no_numbers_panic(
        (count, depth, seed, size) in any::<(u32, u32, u64, u64)>(),
        (offset, increment, span, align) in any::<(u64, u64, u64, u64)>(),
        (min, max, step, files) in any::<(u64, u64, u64, u64)>(),
        (a, b, c, round) in any::<(f64, f64, f64, u64)>(),
        (width, levels, window, percent) in any::<(u32, u32, u32, u32)>(),
    ) {
        let mut workload = sound();
        workload.seed = seed;
        file(&mut workload).size = Some(Size::Bytes(Bytes(size)));
        group(&mut workload).count = count;
        group(&mut workload).depth = depth;
        *blocks(&mut workload) = Blocks {
            pattern: Pattern::Zoned(vec![Zone { access_percent: a, span_percent: b }]),
            block: BlockSize::Range { min: Bytes(min), max: Bytes(max), step: Some(Bytes(step)) },
            offset: Bytes(offset),
            offset_increment: Bytes(increment),
            span: Some(Bytes(span)),
            align: Some(Bytes(align)),
            ..Blocks::default()
        };
        workload.phase[0].stop.steady =
            Some(Steady { round: Nanos(round), window, range: a, slope: c, max_rounds: width });
        *tree(&mut workload) = TreeTarget {
            path: "set".into(),
            files,
            width,
            depth: levels,
            size: Distribution::Gamma { mean: Bytes(min), shape: c },
            preallocated_percent: percent,
            directories: 0,
            content: Content::Zero,
        };
        for problem in validate(&workload) {
            prop_assert!(!problem.message.is_empty() && !problem.help.is_empty());
        }
    }
}
