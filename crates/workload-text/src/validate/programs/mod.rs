//! Rules for programs as a whole. A [`walk`] checks their steps.

mod handles;
mod mpi;
mod records;
mod shared;
mod walk;

use super::Checker;
use super::targets::Shape;
use handles::State;
use plumb_workload::Workload;
use plumb_workload::files::Names;
use plumb_workload::limits::DIRECT_ALIGN_BYTES;
use plumb_workload::phase::{CachePolicy, WorkerGroup};
use plumb_workload::program::{Pick, Postmark, Program, ProgramContent, ScratchTarget, Step, walk};
use plumb_workload::target::{Distribution, Target};
use plumb_workload::units::Bytes;
pub(super) use shared::{check as shared_sets, tree as shared_tree};
use std::path::{Component, Path, PathBuf};
use walk::{Over, Rules, Walk};

/// Whether another program creates files in the same file set, in this phase or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherFiles {
    Created,
    None,
}

/// Checks the names of a scratch directory.
pub(super) fn target(check: &mut Checker, target: &ScratchTarget) {
    super::names::names(check, &target.names);
    let outside = |path: &Path| {
        path.is_absolute() || path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let paths: Vec<&PathBuf> = match &target.names {
        Names::Given(paths) | Names::Made(paths) => paths.iter().collect(),
        Names::Numbered { path, .. } => vec![path],
        Names::Postmark(run) => run.locations.iter().map(|location| &location.path).collect(),
        Names::Trees(names) => names.places.iter().collect(),
    };
    // Without a directory, names are paths of their own.
    if !target.path.as_os_str().is_empty()
        && let Some(path) = paths.into_iter().find(|path| outside(path))
    {
        check.problem(
            ["names"],
            format!("`{}` is outside the directory `{}`", path.display(), target.path.display()),
            "leave the target's `path` out, or use plain names",
        );
    }
}

/// Checks the program of a group on its target.
pub(super) fn check(
    check: &mut Checker,
    cache: CachePolicy,
    group: &WorkerGroup,
    program: &Program,
    target: &Target,
    others: OtherFiles,
) {
    let shape = super::targets::facts(target).shape;
    let over = match shape {
        // Files of a simulated device have no names; the program's steps determine how they are used.
        Shape::Tree { files, .. } if matches!(target, Target::Sim(_)) && !program.is_over_file_set() => {
            Over::Names { files: files as usize }
        }
        Shape::Tree { .. } => Over::FileSet,
        Shape::Named { files } => Over::Names { files },
        // `fits` and `shared_sets` report these.
        Shape::Range { .. } | Shape::Shared | Shape::Recorded | Shape::Host => return,
    };
    let is_set = over == Over::FileSet;
    if if is_set { program.steps.is_empty() } else { program.all_steps().next().is_none() } {
        let help = match is_set {
            true => "add some, such as `[\"create\", \"write-whole\", \"close\"]`",
            false => "add one, such as `{ open = { write = true, create = true } }`",
        };
        check.problem(["steps"], "the program has no steps", help);
    }
    let loads = |step: &Step| matches!(step, Step::LoadFile(_));
    if program.all_steps().any(loads) && (program.all_steps().count() > 1 || !program.steps.first().is_some_and(loads))
    {
        check.problem(["steps"], "a load file is not the only step of its program", "remove the others");
    }
    let whole_is_aligned = match target {
        Target::Tree(tree) => aligned(&tree.size),
        _ => true,
    };
    let direct = is_set && cache == CachePolicy::Direct;
    let items_each = match target.names() {
        Some(Names::Trees(names)) => names.items_each(),
        _ => 0,
    };
    if matches!(target, Target::Null(_)) && program.compares() {
        check.problem(
            ["checks"],
            format!("the target `{}` does not store data, so nothing can be verified", group.target),
            "leave `checks` and `reads-back` out, or use a real target",
        );
    }
    let rules = Rules { over, workers: group.count, direct, whole_is_aligned, items_each };
    let mut walk = Walk::new(check, rules);
    let mut state = State::default();
    if !is_set {
        memory(walk.check, program);
        for (key, steps) in ["before", "steps", "after"].into_iter().zip(program.parts()) {
            walk.part(key, steps, &mut state);
        }
        return;
    }
    for (key, steps) in [("before", &program.before), ("after", &program.after)] {
        if !steps.is_empty() {
            walk.check.problem([key], "a program over a file set has no unmeasured steps", "move it to `steps`");
        }
    }
    if program.steps.is_empty() {
        return;
    }
    file_set(walk.check, program, target, others);
    walk.twice("steps", &program.steps, &mut state, group.limit.passes);
}

/// Checks that a file set has something to do, files to pick, and room for new files.
fn file_set(check: &mut Checker, program: &Program, target: &Target, others: OtherFiles) {
    let any = |holds: fn(&Step) -> bool| walk(&program.steps).any(holds);
    let idle = |step: &Step| matches!(step, Step::Delay { .. } | Step::Loop { .. } | Step::Mix { .. });
    if walk(&program.steps).all(idle) {
        check.problem(["steps"], "the program only waits", "add a step that does something");
    }
    let has_directories = matches!(target, Target::Tree(tree) if tree.directories > 0);
    let makes_directories = has_directories || any(|step| matches!(step, Step::Mkdir { .. }));
    if any(|step| matches!(step, Step::Rmdir { .. })) && !makes_directories {
        check.problem(
            ["steps"],
            "`rmdir` removes directories made by `mkdir`, and the program has no `mkdir`",
            "add a `mkdir` before it, or set the target's `directories`",
        );
    }
    let preallocated_percent = match target {
        Target::Tree(tree) => tree.preallocated_percent,
        Target::Sim(sim) => sim.preallocated_percent,
        _ => return,
    };
    let picks = |step: &Step| picked(step).is_some_and(|pick| !matches!(pick, Pick::New | Pick::Same));
    if preallocated_percent == 0 && others == OtherFiles::None && walk(&program.steps).any(picks) {
        check.problem(
            ["steps"],
            "the program picks existing files, but none ever exist",
            "set the target's `preallocated-percent`, or create files first",
        );
    }
    if preallocated_percent == 100 && creates(program) && !any(|step| matches!(step, Step::Unlink { .. })) {
        check.problem(
            ["steps"],
            "the program creates files, but the file set is full from the start",
            "lower the target's `preallocated-percent`, or unlink files as well",
        );
    }
}

/// Checks the target that files are copied to.
pub(super) fn copied(check: &mut Checker, workload: &Workload, group: &WorkerGroup, program: &Program) {
    let mut ends = program.copies().map(|copy| copy.to.as_str());
    let Some(to) = ends.next() else { return };
    let groups = || workload.phase.iter().flat_map(|phase| &phase.workers);
    let copies_to =
        |group: &WorkerGroup| group.work.program().is_some_and(|other| other.copies().any(|copy| copy.to == to));
    let is_like = match (workload.target.get(&group.target), workload.target.get(to)) {
        (Some(Target::Tree(from)), Some(Target::Tree(to))) => {
            (from.files, from.width, from.depth) == (to.files, to.width, to.depth) && to.preallocated_percent == 0
        }
        (Some(Target::Sim(from)), Some(Target::Sim(to))) => from.files == to.files && to.preallocated_percent == 0,
        _ => false,
    };
    let (message, help) = match () {
        () if ends.any(|end| end != to) => (
            "the program's files are copied to several targets".to_owned(),
            "copy them to one, and use other workers for the others",
        ),
        () if to == group.target || groups().any(|other| other.target == to) => (
            format!("workers already use `{to}`, and nothing else may change its files"),
            "name a target for copies alone",
        ),
        () if !is_like => (
            format!("`{to}` cannot take copies of the files of `{}`", group.target),
            "name a file set with the same `files`, `width` and `depth`, and without `preallocated-percent`",
        ),
        () if groups().any(|other| other.target != group.target && copies_to(other)) => (
            format!("files of several targets are copied to `{to}`, under the same names"),
            "give each a target for its copies",
        ),
        () => return,
    };
    check.problem(["steps"], message, help);
}

/// Returns `true` if the program creates files of a set.
pub(super) fn creates(program: &Program) -> bool {
    walk(&program.steps).any(|step| matches!(step, Step::Create { .. }))
}

fn memory(check: &mut Checker, program: &Program) {
    let align = program.memory.align.0;
    if !align.is_power_of_two() || align > 1 << 30 {
        check.problem(
            ["memory", "align"],
            format!("`align` is {align}, which is not a power of two up to 1 GiB"),
            "use a power of two up to 1 GiB",
        );
    }
    for (key, size) in [("spread", program.memory.spread), ("purge-line", program.memory.purge_line)] {
        check.positive_if_some(["memory", key], &format!("`memory.{key}`"), size.map(|size| size.0));
        if size.is_some_and(|Bytes(bytes)| bytes > 1 << 32) {
            check.problem(["memory", key], "the size exceeds the memory of a worker", "use at most 4 GiB");
        }
    }
    if let ProgramContent::Words { every, .. } = &program.content
        && (every.0 < 8 || every.0 % 8 != 0)
    {
        check.problem(
            ["content", "words", "every"],
            format!("a word every {} bytes is not possible", every.0),
            "use a multiple of 8; 8 fills everything",
        );
    }
}

/// Returns how a step selects a file of a set.
fn picked(step: &Step) -> Option<Pick> {
    match step {
        Step::Mkdir { .. } | Step::Rmdir { .. } => None,
        step => step.file(),
    }
}

fn aligned(sizes: &Distribution) -> bool {
    let is_multiple = |size: &Bytes| size.0.is_multiple_of(DIRECT_ALIGN_BYTES);
    match sizes {
        Distribution::Fixed(size) => is_multiple(size),
        Distribution::Weighted(table) => table.iter().all(|entry| is_multiple(&entry.size)),
        Distribution::Uniform { min, max } => min == max && is_multiple(min),
        Distribution::Gamma { .. } => false,
    }
}

/// Checks the settings of a PostMark run.
pub(super) fn postmark(check: &mut Checker, run: &Postmark) {
    for problem in run.problems() {
        check.problem([problem.key], problem.message, problem.help);
    }
}
