//! Rules for programs over shared file sets.

use super::super::Checker;
use plumb_workload::Workload;
use plumb_workload::limits::MAX_SET_REQUEST_BYTES;
use plumb_workload::phase::{RunAs, WorkerGroup};
use plumb_workload::program::{Amount, Draw, Program, SharedPick, SharedStep, SharedTree, SharedWork, Step};
use plumb_workload::target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of files, and of leaf directories, in a shared set. Their numbers are kept in 32 bits.
const FILES_MAX: u64 = 1 << 31;

/// Maximum handle number; one worker cannot use more.
const HANDLE_MAX: u16 = 1023;

/// Maximum nesting of steps.
const NESTING_MAX: usize = 32;

/// Maximum number of threads that lay out a set.
const LAYOUT_THREADS_MAX: u32 = 256;

/// Checks a file set that all workers share.
pub(in crate::validate) fn tree(check: &mut Checker, tree: &SharedTree) {
    for (key, count) in [("files", tree.files), ("leaf-directories", tree.leaf_directories)] {
        if count > FILES_MAX {
            check.problem([key], format!("{count} are too many"), format!("use at most {FILES_MAX}"));
        }
    }
    if tree.preallocated_percent > 100 {
        check.problem(
            ["preallocated-percent"],
            format!("{} % of the files cannot exist", tree.preallocated_percent),
            "use a number from 0 to 100",
        );
    }
    if !(tree.spread.is_finite() && tree.spread >= 0.0) {
        check.problem(["spread"], format!("{} is not a valid shape of a distribution", tree.spread), "use 0 or more");
    }
    if !(1..=LAYOUT_THREADS_MAX).contains(&tree.layout_threads) {
        check.problem(
            ["layout-threads"],
            format!("{} threads cannot create the files", tree.layout_threads),
            format!("use 1 to {LAYOUT_THREADS_MAX}"),
        );
    }
    let amounts = [("size", Some(&tree.size)), ("width", Some(&tree.width)), ("depth", tree.depth.as_ref())];
    for (key, amount) in amounts.into_iter().filter_map(|(key, amount)| Some((key, amount?))) {
        drawn(check, key, amount);
    }
}

/// Checks that a number can be drawn.
fn drawn(check: &mut Checker, key: &'static str, amount: &Amount) {
    let Amount::Drawn(variable) = amount else { return };
    let finite = [variable.times, variable.plus, variable.min, variable.max.unwrap_or(0.0)];
    let shape = |shape: f64| shape.is_finite() && shape > 0.0;
    let fits = match &variable.draw {
        Draw::Uniform | Draw::Normal => true,
        Draw::Gamma { shape: gamma } | Draw::Weibull { shape: gamma } => shape(*gamma),
        Draw::LogNormal { mean, deviation } => mean.is_finite() && deviation.is_finite(),
        Draw::Triangular { mode } => (0.0..=1.0).contains(mode),
        Draw::Table(rows) => {
            let total: f64 = rows.iter().map(|row| row.weight).sum();
            let whole = |row: &plumb_workload::program::TableRow| {
                row.weight >= 0.0 && row.low.is_finite() && row.high.is_finite() && row.low <= row.high
            };
            total.is_finite() && total > 0.0 && rows.iter().all(whole)
        }
    };
    let limits = variable.max.is_none_or(|max| max >= variable.min);
    if !fits || !limits || finite.iter().any(|number| !number.is_finite()) || variable.round == Some(0) {
        check.problem(
            [key],
            "the distribution cannot be drawn from",
            "shapes are above 0, a mode is between 0 and 1, the smallest number is not above the largest, and the \
             weights of a table are not all 0",
        );
    }
}

/// Checks a group's program over shared file sets.
pub(in crate::validate) fn check(check: &mut Checker, workload: &Workload, group: &WorkerGroup, program: &Program) {
    if program.steps.is_empty() {
        check.problem(["steps"], "the program has no steps", "add one, such as `{ name = \"a\", does = \"open\" }`");
    }
    if group.run_as == RunAs::Process {
        check.problem(["steps"], "workers that share file sets are threads", "remove `run-as`");
    }
    for (key, steps) in [("before", &program.before), ("after", &program.after)] {
        if !steps.is_empty() {
            check.problem([key], "a program over shared file sets has no unmeasured steps", "move it to `steps`");
        }
    }
    if program.together.is_some_and(|together| together.members == 0) {
        check.problem(["together", "members"], "a party needs workers", "use at least 1");
    }
    check.inside("steps", |check| {
        for (number, step) in program.steps.iter().enumerate() {
            check.inside(number, |check| match step {
                Step::Shared(shared) => check.inside("shared", |check| one(check, workload, shared, 0)),
                _ => check.problem([], "this step is not for file sets that all workers share", "use `shared` steps"),
            });
        }
    });
    let sets = program.shared_sets();
    let trees = sets.iter().filter_map(|set| match workload.target.get(*set) {
        Some(Target::SharedTree(tree)) => Some((*set, tree)),
        _ => None,
    });
    let mut first: Option<(&str, &SharedTree)> = None;
    for (name, tree) in trees {
        let (other, known) = *first.get_or_insert((name, tree));
        if known.content != tree.content {
            let message = format!(
                "the program's file sets `{other}` and `{name}` have different content, but a worker writes one kind"
            );
            check.problem(["steps"], message, "give them the same `content`");
        }
    }
    meetings(check, workload, group, program);
}

/// Checks steps that refer to others by full names, which are unique in a program.
fn meetings(check: &mut Checker, workload: &Workload, group: &WorkerGroup, program: &Program) {
    let mut own = BTreeMap::new();
    for (name, step) in program.shared_names() {
        if own.insert(name.clone(), step).is_some() {
            let message = format!("two steps are named `{name}`");
            check.problem(["steps"], message, "give each a different name, because statistics are listed by name");
        }
    }
    // Workers meet within their phase.
    let phase = workload.phase.iter().find(|phase| phase.workers.iter().any(|other| std::ptr::eq(other, group)));
    let programs = phase.iter().flat_map(|phase| &phase.workers).filter_map(|group| group.work.program());
    let (mut sleeping, mut taking) = (BTreeSet::new(), BTreeSet::new());
    for (name, step) in programs.flat_map(|program| program.shared_names()) {
        match &step.does {
            SharedWork::Sleep => _ = sleeping.insert(name),
            SharedWork::Take { .. } => _ = taking.insert(name),
            _ => {}
        }
    }
    for (name, step) in &own {
        let (meant, is_there, way_out) = match &step.does {
            SharedWork::Wake { step: meant } => (
                meant,
                sleeping.contains(meant),
                "use the full name of a `sleep` step of this phase, such as `outer.inner`",
            ),
            SharedWork::Give { step: meant, .. } => (
                meant,
                taking.contains(meant),
                "use the full name of a `take` step of this phase, such as `outer.inner`",
            ),
            SharedWork::TakeEvents { step: Some(meant), .. } | SharedWork::Finish { step: Some(meant), .. } => (
                meant,
                own.get(meant).is_some_and(|step| !matches!(step.does, SharedWork::Steps(_))),
                "use the full name of a step of this program, such as `outer.inner`",
            ),
            _ => continue,
        };
        if !is_there {
            check.problem(["steps"], format!("`{name}` refers to the step `{meant}`, which does not exist"), way_out);
        }
    }
}

fn one(check: &mut Checker, workload: &Workload, step: &SharedStep, nesting: usize) {
    if nesting > NESTING_MAX {
        return check.problem([], "steps are nested too deeply", format!("use at most {NESTING_MAX} levels"));
    }
    if step.name.is_empty() {
        check.problem(["name"], "the step has no name", "give it one, because statistics are listed by name");
    }
    if step.file.handle > HANDLE_MAX {
        let message = format!("the handle {} is too high", step.file.handle);
        check.problem(["file", "handle"], message, format!("use at most {HANDLE_MAX}"));
    }
    if let SharedWork::WriteWhole { like, .. } = &step.does
        && *like > HANDLE_MAX
    {
        check.problem(["does"], format!("the handle {like} is too high"), format!("use at most {HANDLE_MAX}"));
    }
    if let Some(set) = &step.file.set
        && !matches!(workload.target.get(set), Some(Target::SharedTree(_)))
    {
        let message = format!("there is no shared file set named `{set}`");
        check.problem(["file", "set"], message, "name a `[target.NAME.shared-tree]`");
    }
    drawn(check, "times", &step.times);
    if let SharedPick::Indexed(index) = &step.file.pick {
        drawn(check, "file", index);
    }
    if let Some(request) = step.does.request() {
        drawn(check, "does", request);
        let largest = request.largest_request();
        if largest > MAX_SET_REQUEST_BYTES {
            let message = format!("{largest} bytes are too many for one call");
            check.problem(["does"], message, format!("use at most {MAX_SET_REQUEST_BYTES}, or a `max`"));
        }
    }
    if step.does.needs_set() && step.file.set.is_none() {
        check.problem(["file"], "the step names no file set", "add `file = { set = \"NAME\" }`");
    }
    match &step.does {
        SharedWork::Steps(steps) => {
            if steps.is_empty() {
                check.problem(["does"], "the step contains no steps", "add one");
            }
            for inner in steps {
                one(check, workload, inner, nesting + 1);
            }
        }
        SharedWork::Take { credit, .. } | SharedWork::Give { credit, .. } => drawn(check, "does", credit),
        SharedWork::Spin { times } => drawn(check, "does", times),
        SharedWork::Delay { seconds } => drawn(check, "does", seconds),
        SharedWork::Finish { after, .. } => drawn(check, "does", after),
        SharedWork::Sample { value } => drawn(check, "does", value),
        _ => {}
    }
}
