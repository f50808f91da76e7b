//! Tests of the rules for programs over file sets.

use super::*;

const CLOSE: Step = Step::Close { handle: 0 };
const CREATE: Step = Step::Create { handle: 0 };
const FSYNC: Step = Step::Fsync { handle: 0 };
const MKDIR: Step = Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false };
const RMDIR: Step = Step::Rmdir { file: Pick::Usual };

fn unlink(file: Pick) -> Step {
    Step::Unlink { file, missing: MissingFile::Fails }
}

fn mix(choices: Vec<Vec<Step>>) -> Step {
    Step::Mix { choices: choices.into_iter().map(|steps| Choice { weight: 1.0, steps }).collect() }
}

fn copy(to: &str, file: Pick, moves: bool) -> Step {
    Step::Copy(CopyStep { file, to: to.to_owned(), request: Bytes(4096), moves })
}

/// Adds `copies`, a target for copies of the files of `set`.
fn with_copies(workload: &mut Workload, program: Vec<Step>) {
    let empty = TreeTarget { path: "copies".into(), preallocated_percent: 0, ..tree(workload).clone() };
    workload.target.insert("copies".to_owned(), Target::Tree(empty));
    steps(workload, program);
}

// Copies go to one set of the same shape and for nothing else, so that its files are known.
#[test]
fn copies_go_to_a_set_of_their_own() {
    let at = "phase[1].workers[0].work.program.steps";
    each_fires(&[
        (|w| steps(w, vec![copy("set", Pick::Random, false)]), at, "workers already use", "for copies alone"),
        (
            |w| steps(w, vec![copy("nowhere", Pick::Random, false)]),
            at,
            "cannot take copies",
            "`files`, `width` and `depth`",
        ),
        (
            |w| steps(w, vec![copy("dev", Pick::Random, false)]),
            at,
            "cannot take copies",
            "`files`, `width` and `depth`",
        ),
        (
            |w| {
                with_copies(w, vec![copy("copies", Pick::Random, true)]);
                let Some(Target::Tree(copies)) = w.target.get_mut("copies") else { return };
                copies.preallocated_percent = 1;
            },
            at,
            "cannot take copies",
            "without `preallocated-percent`",
        ),
        (
            |w| {
                with_copies(w, vec![copy("copies", Pick::Random, false), copy("simset", Pick::Random, false)]);
            },
            at,
            "several targets",
            "other workers",
        ),
        (
            |w| with_copies(w, vec![copy("copies", Pick::Random, true), Step::Stat { file: Pick::Same }]),
            "phase[1].workers[0].work.program.steps[1].stat.file",
            "which removed it",
            "pick another",
        ),
        (|w| tree(w).path = "/mnt/..".into(), "target.set.tree.path", "does not end with", "/mnt/data/files"),
        (|w| tree(w).directories = u32::MAX, "target.set.tree.directories", "too many", "at most"),
    ]);
    // Two sets whose files would have the same names in the copy.
    let mut two = sound();
    with_copies(&mut two, vec![copy("copies", Pick::Random, false)]);
    let other = TreeTarget { path: "other".into(), ..tree(&mut two).clone() };
    two.target.insert("other".to_owned(), Target::Tree(other));
    let mut further = two.phase[1].workers[0].clone();
    further.target = "other".to_owned();
    two.phase[1].workers.push(further);
    let problems = validate(&two);
    assert!(
        problems.len() == 2 && problems.iter().all(|problem| problem.to_string().contains("several targets")),
        "{problems:?}"
    );
    none_fires(&[
        |w| with_copies(w, vec![copy("copies", Pick::Random, false), Step::Access { file: Pick::Same }]),
        |w| {
            tree(w).directories = 5;
            steps(w, vec![RMDIR]);
        },
    ]);
}

#[test]
fn programs_over_file_sets() {
    each_fires(&[
        (|w| steps(w, vec![]), "phase[1].workers[0].work.program.steps", "no steps", "create"),
        (
            |w| steps(w, vec![Step::Delay { time: Nanos(1) }]),
            "phase[1].workers[0].work.program.steps",
            "only waits",
            "add a step",
        ),
        (
            |w| steps(w, vec![Step::Delay { time: Nanos(0) }, Step::Readdir {}]),
            "phase[1].workers[0].work.program.steps[0].delay.time",
            "is 0",
            "leave",
        ),
        (|w| steps(w, vec![RMDIR]), "phase[1].workers[0].work.program.steps", "has no `mkdir`", "mkdir"),
        (|w| tree(w).preallocated_percent = 0, "phase[1].workers[0].work.program.steps", "none ever exist", "create"),
        (
            |w| {
                tree(w).preallocated_percent = 100;
                steps(w, vec![CREATE, CLOSE]);
            },
            "phase[1].workers[0].work.program.steps",
            "full from the start",
            "unlink",
        ),
        (
            |w| steps(w, vec![Step::Loop { times: 0, steps: vec![Step::Readdir {}] }]),
            "phase[1].workers[0].work.program.steps[0].loop.times",
            "is 0",
            "at least 1",
        ),
        (
            |w| steps(w, vec![Step::Loop { times: 1, steps: vec![Step::Loop { times: 1, steps: vec![] }] }]),
            "phase[1].workers[0].work.program.steps[0].loop.steps[0].loop.steps",
            "no steps",
            "leave it out",
        ),
        (
            |w| steps(w, vec![Step::Mix { choices: vec![] }]),
            "phase[1].workers[0].work.program.steps[0].mix.choices",
            "no choices",
            "weight",
        ),
        (
            |w| steps(w, vec![Step::Mix { choices: vec![Choice { weight: -1.0, steps: vec![Step::Readdir {}] }] }]),
            "phase[1].workers[0].work.program.steps[0].mix.choices[0].weight",
            "above 0",
            "never be chosen",
        ),
        (
            |w| steps(w, vec![Step::Mix { choices: vec![Choice { weight: 1.0, steps: vec![] }] }]),
            "phase[1].workers[0].work.program.steps[0].mix.choices[0].steps",
            "no steps",
            "leave it out",
        ),
        (
            |w| steps(w, vec![FSYNC]),
            "phase[1].workers[0].work.program.steps[0].fsync.handle",
            "before it is open",
            "open",
        ),
        (
            |w| steps(w, vec![CREATE, CLOSE, FSYNC]),
            "phase[1].workers[0].work.program.steps[2].fsync.handle",
            "before it is open",
            "open",
        ),
        (
            |w| steps(w, vec![CREATE, CREATE, CLOSE]),
            "phase[1].workers[0].work.program.steps[1].create.handle",
            "still open",
            "close",
        ),
        // Found only in the second pass.
        (|w| steps(w, vec![CREATE]), "phase[1].workers[0].work.program.steps[0].create.handle", "still open", "close"),
        (
            |w| steps(w, vec![Step::Loop { times: 2, steps: vec![CREATE] }, CLOSE]),
            "phase[1].workers[0].work.program.steps[0].loop.steps[0].create.handle",
            "still open",
            "close",
        ),
        (
            |w| steps(w, vec![mix(vec![vec![CREATE], vec![CREATE, FSYNC]]), CREATE, CLOSE]),
            "phase[1].workers[0].work.program.steps[1].create.handle",
            "still open",
            "close",
        ),
        (
            |w| steps(w, vec![Step::Create { handle: 5000 }]),
            "phase[1].workers[0].work.program.steps[0].create.handle",
            "exceeds",
            "1023",
        ),
        (
            |w| {
                let open = Step::Open(OpenStep { file: Pick::Random, ..OpenStep::default() });
                steps(w, vec![open, Step::WriteWhole { handle: 0, request: Bytes(4096) }, CLOSE]);
            },
            "phase[1].workers[0].work.program.steps[1].write-whole.handle",
            "reading only",
            "write = true",
        ),
        (
            |w| steps(w, vec![unlink(Pick::New)]),
            "phase[1].workers[0].work.program.steps[0].unlink.file",
            "`new` does not exist",
            "create",
        ),
        (
            |w| steps(w, vec![unlink(Pick::Same)]),
            "phase[1].workers[0].work.program.steps[0].unlink.file",
            "no previous step",
            "random",
        ),
        (
            |w| steps(w, vec![unlink(Pick::Random), Step::Stat { file: Pick::Same }]),
            "phase[1].workers[0].work.program.steps[1].stat.file",
            "removed it",
            "random",
        ),
        (
            |w| steps(w, vec![Step::Stat { file: Pick::Zipf { theta: f64::NAN } }]),
            "phase[1].workers[0].work.program.steps[0].stat.file.zipf.theta",
            "NaN",
            "1.1",
        ),
        (
            |w| steps(w, with_handle(Step::ReadWhole { handle: 0, request: Bytes(0) })),
            "phase[1].workers[0].work.program.steps[1].read-whole.request",
            "0 bytes",
            "4KiB",
        ),
        (
            |w| {
                let size = Distribution::Uniform { min: Bytes(0), max: Bytes(9) };
                steps(w, with_handle(Step::WriteRandom { handle: 0, size }));
            },
            "phase[1].workers[0].work.program.steps[1].write-random.size.uniform.min",
            "0 bytes",
            "4KiB",
        ),
        (
            |w| {
                let size = Distribution::Fixed(Bytes(1));
                steps(w, with_handle(Step::ReadAt { handle: 0, offset: Bytes(u64::MAX), size }));
            },
            "phase[1].workers[0].work.program.steps[1].read-at.offset",
            "exceed the largest file size",
            "largest offset",
        ),
        (
            |w| steps(w, with_handle(Step::Fallocate { handle: 0, size: Distribution::Fixed(Bytes(0)) })),
            "phase[1].workers[0].work.program.steps[1].fallocate.size.fixed",
            "to allocate is 0",
            "above 0",
        ),
    ]);
    none_fires(&[
        |w| steps(w, with_handle(Step::Truncate { handle: 0, size: Distribution::Fixed(Bytes(0)) })),
        |w| steps(w, vec![MKDIR, Step::Readdir {}, RMDIR]),
        // With a single pass, the handle is never opened again.
        |w| {
            steps(w, vec![CREATE, FSYNC]);
            w.phase[1].workers[0].limit.passes = Some(1);
        },
        // Open on one branch and closed on the other: unknown.
        |w| steps(w, vec![CREATE, mix(vec![vec![CLOSE], vec![FSYNC]]), FSYNC]),
        |w| {
            tree(w).preallocated_percent = 0;
            steps(w, vec![CREATE, CLOSE, unlink(Pick::Random)]);
        },
        // An earlier phase creates the files.
        |w| {
            tree(w).preallocated_percent = 0;
            let mut makes = w.phase[1].clone();
            makes.name = "makes".into();
            makes.workers[0].work = Work::Program(Box::new(Program::new(vec![CREATE, CLOSE])));
            w.phase.insert(1, makes);
        },
    ]);
}

/// Protects the time for checking: if bodies walked twice were walked twice again inside,
/// thirty levels would take forever.
#[test]
fn deeply_nested_loops_are_checked_quickly() {
    let nested = |depth: usize| {
        let inner = (0..depth).fold(vec![CREATE, CLOSE], |inner, _| vec![Step::Loop { times: 2, steps: inner }]);
        let mut workload = sound();
        steps(&mut workload, inner);
        validate(&workload)
    };
    assert_eq!(nested(32), []);
    let [problem] = nested(64).try_into().unwrap();
    assert!(problem.message.contains("nested more than 32 deep"), "{problem}");
    assert_eq!(
        problem.path.to_string(),
        format!("phase[1].workers[0].work.program{}", ".steps[0].loop".repeat(33) + ".steps")
    );
}

/// Protects error positions: impossible steps are refused where they are written, not when the program is compiled.
#[test]
fn steps_that_cannot_be_compiled_are_refused_with_their_path() {
    fn read(size: Distribution) -> Vec<Step> {
        let open = Step::Open(OpenStep { file: Pick::Random, ..OpenStep::default() });
        vec![open, Step::ReadRandom { handle: 0, size }, CLOSE]
    }
    each_fires(&[
        (
            |w| steps(w, vec![Step::Utimens { file: Pick::Nth(1) }]),
            "phase[1].workers[0].work.program.steps[0].utimens.file",
            "have no numbers",
            "random",
        ),
        (
            |w| named(w, vec![Step::List { file: Pick::Random }]),
            "phase[1].workers[0].work.program.steps[0].list.file",
            "cannot pick from a set",
            "own",
        ),
        (
            |w| steps(w, read(Distribution::Gamma { mean: Bytes(1 << 29), shape: 1.0 })),
            "phase[1].workers[0].work.program.steps[1].read-random.size",
            "do not fit the buffers",
            "1GiB",
        ),
        (
            |w| {
                let open = Step::Open(OpenStep { file: Pick::Random, ..OpenStep::default() });
                steps(w, vec![open, Step::ReadWhole { handle: 0, request: Bytes((1 << 30) + 1) }, CLOSE]);
            },
            "phase[1].workers[0].work.program.steps[1].read-whole.request",
            "do not fit the buffers",
            "1GiB",
        ),
        (
            |w| {
                let choice = || Choice { weight: f64::MAX, steps: vec![Step::Readdir {}] };
                steps(w, vec![Step::Mix { choices: vec![choice(), choice()] }]);
            },
            "phase[1].workers[0].work.program.steps[0].mix.choices",
            "sum of the weights",
            "1.0",
        ),
    ]);
}

/// Adds a target with one name, and runs the steps on it with one worker of phase 1.
fn named(workload: &mut Workload, steps: Vec<Step>) {
    let names = plumb_workload::files::Names::Given(vec!["f".into()]);
    workload.target.insert(
        "named".into(),
        Target::Scratch(plumb_workload::ScratchTarget { path: "".into(), names, typed: Vec::new() }),
    );
    workload.phase[1].workers[0] = WorkerGroup::new("named", Work::Program(Box::new(Program::new(steps))));
}

fn opened(more: Step) -> Vec<Step> {
    vec![Step::Open(OpenStep { read: true, ..OpenStep::default() }), more]
}

#[test]
fn programs_over_named_files() {
    each_fires(&[
        (
            |w| {
                named(w, opened(CLOSE));
                w.phase[1].workers[0].pace = Pace { reads_count_as_writes: true, ..Pace::default() };
            },
            "phase[1].workers[0].pace",
            "cannot be paced",
            "`delay` steps",
        ),
        (|w| named(w, vec![]), "phase[1].workers[0].work.program.steps", "no steps", "add one"),
        (
            |w| named(w, vec![FSYNC]),
            "phase[1].workers[0].work.program.steps[0].fsync.handle",
            "before it is open",
            "open",
        ),
        (
            |w| named(w, vec![Step::Open(OpenStep::default())]),
            "phase[1].workers[0].work.program.steps[0].open",
            "neither for reading",
            "read",
        ),
        (|w| named(w, vec![CREATE]), "phase[1].workers[0].work.program.steps[0].create", "needs a file set", "tree"),
        (
            |w| named(w, vec![Step::Stat { file: Pick::Random }]),
            "phase[1].workers[0].work.program.steps[0].stat",
            "needs a file set",
            "tree",
        ),
        (
            |w| named(w, vec![Step::Stat { file: Pick::Nth(1) }]),
            "phase[1].workers[0].work.program.steps[0].stat",
            "no number 1",
            "more names",
        ),
        (
            |w| named(w, opened(Step::Msync { handle: 0 })),
            "phase[1].workers[0].work.program.steps[1].msync",
            "has no mapping",
            "map",
        ),
        (|w| steps(w, vec![Step::Sync {}]), "phase[1].workers[0].work.program.steps[0].sync", "named files", "scratch"),
        (
            |w| program(w).before = vec![Step::Readdir {}],
            "phase[1].workers[0].work.program.before",
            "no unmeasured steps",
            "steps",
        ),
    ]);
    none_fires(&[
        |w| named(w, vec![Step::Stat { file: Pick::Usual }]),
        |w| named(w, opened(Step::Truncate { handle: 0, size: Distribution::Fixed(Bytes(1)) })),
        |w| named(w, vec![Step::Loop { times: 3, steps: vec![Step::Stat { file: Pick::Own }] }]),
    ]);
}

/// Protects error positions: a program that cannot run is refused on parsing, with its line.
#[test]
fn a_bad_step_of_a_file_is_reported_with_its_line() {
    let text = |step: &str| {
        format!(
            "name = \"a\"\n[target.set.tree]\npath = \"s\"\nfiles = 10\nsize.fixed = \"4KiB\"\n[[phase]]\nname = \"p\"\nstop.ops = 1\n\
             [[phase.workers]]\ntarget = \"set\"\nwork.program.steps = [\n  \"readdir\",\n  {step},\n]\n"
        )
    };
    for (step, message) in [
        ("{ stat = { file = \"new\" } }", "`new` does not exist"),
        ("{ stat = { file = { nth = 3 } } }", "this step needs named files"),
        ("{ stat = { file = { zipf = { theta = -1.0 } } } }", "theta is -1"),
        ("\"sync\"", "this step needs named files"),
        ("{ loop = { times = 2, steps = [] } }", "the loop has no steps"),
        ("{ mix = { choices = [] } }", "no choices"),
        ("{ read-whole = { request = \"2GiB\" } }", "is more than one request can move"),
    ] {
        let error = crate::native::parse("bad.toml", &text(step)).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("bad.toml:13:"), "{step}: {error}");
    }
}

/// Runs steps over trees of one owner with this many items.
fn over_trees(workload: &mut Workload, items: u64, steps: Vec<Step>) {
    named(workload, steps);
    let names = TreeNames {
        places: vec!["out".into()],
        root: "r".to_owned(),
        roots: 1,
        directory: "t".to_owned(),
        own_trees: false,
        branch: 1,
        depth: 0,
        owners: 1,
        items: vec![ItemName { prefix: "i.".to_owned(), suffix: String::new(), shared: false }],
        tree_shift: 0,
        per_directory: items,
        leaves_only: false,
        flat: false,
    };
    let names = Names::Trees(Box::new(names));
    workload.target.insert(
        "named".into(),
        Target::Scratch(plumb_workload::ScratchTarget { path: "".into(), names, typed: Vec::new() }),
    );
}

fn stat(order: ItemOrder, wall: Option<Wall>) -> Step {
    Step::Trees(Box::new(TreeStep { order, wall, ..TreeStep::new(TreeWork::Stat) }))
}

/// Returns a renewal of roots with this many items.
fn renew(items: u64, shift: u32) -> Step {
    let renewal = Renewal { bytes: Bytes(1), items, stride: 1, reads_only: false };
    Step::Trees(Box::new(TreeStep { shift, ..TreeStep::new(TreeWork::Renew(renewal)) }))
}

const AFTER: Option<Wall> = Some(Wall::After(Nanos(1)));

/// Protects against workers that pass a wall without waiting, and against orders that do not fit into memory.
#[test]
fn programs_over_trees() {
    const SHUFFLED: ItemOrder = ItemOrder::Shuffled { seed: 1 };
    each_fires(&[
        (
            |w| over_trees(w, (1 << 32) + 1, vec![stat(SHUFFLED, None)]),
            "phase[1].workers[0].work.program.steps[0].trees.order",
            "cannot be shuffled",
            "count",
        ),
        (
            |w| over_trees(w, 9, vec![stat(ItemOrder::Numbered, AFTER), stat(ItemOrder::Numbered, AFTER)]),
            "phase[1].workers[0].work.program.steps",
            "one stonewall",
            "another phase",
        ),
        (
            |w| over_trees(w, 9, vec![Step::Loop { times: 2, steps: vec![stat(ItemOrder::Numbered, AFTER)] }]),
            "phase[1].workers[0].work.program.steps",
            "inside a loop",
            "move it out",
        ),
        (
            |w| {
                over_trees(w, 9, vec![stat(ItemOrder::Numbered, AFTER)]);
                w.phase[1].workers[0].limit.passes = Some(2);
            },
            "phase[1].workers[0].work.program.steps",
            "not in each pass",
            "limit.passes",
        ),
        (
            |w| {
                over_trees(w, 9, vec![stat(ItemOrder::Numbered, Some(Wall::AsFar))]);
                w.phase[1].workers[0].run_as = RunAs::Process;
            },
            "phase[1].workers[0].work.program.steps",
            "processes cannot report",
            "thread",
        ),
    ]);
    each_fires(&[
        (
            |w| over_trees(w, 9, vec![renew(9, 0)]),
            "phase[1].workers[0].work.program.steps[0].trees.does.renew.items",
            "too few to renew",
            "fewer than `per-directory`",
        ),
        (
            |w| over_trees(w, 9, vec![renew(3, 1)]),
            "phase[1].workers[0].work.program.steps[0].trees.does",
            "by its `stride`",
            "leave `shift`",
        ),
    ]);
    none_fires(&[|w| over_trees(w, 9, vec![renew(8, 0)])]);
    let mut workload = sound();
    over_trees(&mut workload, 1 << 33, vec![stat(SHUFFLED, Some(Wall::AsFar)), stat(ItemOrder::Numbered, AFTER)]);
    assert_eq!(validate(&workload), []);
}

/// Like [`named`], with a target that consists of names alone.
fn named_null(workload: &mut Workload, names: plumb_workload::files::Names, program: Program) {
    let files = Some(Box::new(plumb_workload::NullFiles { names, delays: plumb_workload::NullDelays::default() }));
    workload.target.insert(
        "named".into(),
        Target::Null(plumb_workload::NullTarget { files, ..plumb_workload::NullTarget::with_size(Bytes(1)) }),
    );
    workload.phase[1].workers[0] = WorkerGroup::new("named", Work::Program(Box::new(program)));
}

/// Protects null files: a program is valid over them if it is valid over real files, but cannot compare data.
#[test]
fn programs_over_null_files() {
    let names = || plumb_workload::files::Names::Given(vec!["f".into()]);
    none_fires(&[|w| {
        named_null(w, plumb_workload::files::Names::Given(vec!["f".into()]), Program::new(opened(CLOSE)))
    }]);
    each_fires(&[
        (
            |w| {
                let names = plumb_workload::files::Names::Given(vec!["f".into()]);
                named_null(w, names, Program { checks: true, ..Program::new(opened(CLOSE)) });
            },
            "phase[1].workers[0].work.program.checks",
            "does not store data",
            "a real target",
        ),
        (
            |w| named_null(w, plumb_workload::files::Names::Given(Vec::new()), Program::new(opened(CLOSE))),
            "target.named.null.files.names.said",
            "the list of files is empty",
            "name at least one",
        ),
    ]);
    assert_eq!(Target::Null(plumb_workload::NullTarget::with_size(Bytes(1))).names(), None);
    let files =
        Some(Box::new(plumb_workload::NullFiles { names: names(), delays: plumb_workload::NullDelays::default() }));
    assert_eq!(Target::Null(plumb_workload::NullTarget { size: Bytes(1), files }).names(), Some(&names()));
}
