//! Rules of programs. What a program does is followed through its steps, with handles open, closed or unsure; one that
//! repeats, or a loop, is followed twice.

use super::targets::Shape;
use super::{Checker, DIRECT_ALIGN_BYTES, MAX_OFFSET_BYTES, MAX_OP_BYTES, MAX_SET_REQUEST_BYTES};
use crate::job::Names;
use crate::phase::{CachePolicy, WorkerGroup};
use crate::program::{
    Each, FileOrder, FileStep, FileWork, ListedRecord, Moves, Needs, OpenStep, Pick, Postmark, PostmarkStep, Program,
    ProgramContent, RecordOrder, ScratchTarget, Step, Transfer, Via, walk,
};
use crate::target::{Distribution, Target};
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// More handles than this would not fit a process's usual limit of open files.
const HANDLE_MAX: u16 = 1023;

/// Levels of [`Each`] inside of each other.
const DEPTH_MAX: usize = 8;

/// Levels of loops, mixes and [`Each`] inside of each other.
const NESTING_MAX: usize = 32;

/// Records of a shuffled order: their numbers are in memory.
const SHUFFLED_MAX: u64 = 1 << 32;

/// Whether some other program creates files in the same file set, in this phase or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherFiles {
    Created,
    None,
}

/// The names of a scratch directory.
pub(super) fn target(check: &mut Checker, target: &ScratchTarget) {
    super::names::names(check, &target.names);
    let outside = |path: &Path| {
        path.is_absolute() || path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let paths: Vec<&PathBuf> = match &target.names {
        Names::Said(paths) | Names::Made(paths) => paths.iter().collect(),
        Names::Numbered { path, .. } => vec![path],
        Names::Postmark(run) => run.locations.iter().map(|location| &location.path).collect(),
    };
    // With no directory, names are paths of their own.
    if !target.path.as_os_str().is_empty()
        && let Some(path) = paths.into_iter().find(|path| outside(path))
    {
        check.problem(
            ["names"],
            format!("`{}` leads out of the directory `{}`", path.display(), target.path.display()),
            "leave the target's `path` out, or use plain names",
        );
    }
}

/// A program of a group's workers, on its target.
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
        // Of a simulated device, files have no names: a program says by its steps what they are to it.
        Shape::Tree { files, .. } if matches!(target, Target::Sim(_)) && !program.is_over_file_set() => {
            Over::Names { files: files as usize }
        }
        Shape::Tree { .. } => Over::FileSet,
        Shape::Named { files } => Over::Names { files },
        // Said by `fits`.
        Shape::Range { .. } => return,
    };
    let is_set = over == Over::FileSet;
    if if is_set { program.steps.is_empty() } else { program.all_steps().next().is_none() } {
        let help = match is_set {
            true => "add some, such as `[\"create\", \"write-whole\", \"close\"]`",
            false => "add one, such as `{ open = { write = true, create = true } }`",
        };
        check.problem(["steps"], "the program has no steps", help);
    }
    let whole_is_aligned = match target {
        Target::Tree(tree) => aligned(&tree.size),
        _ => true,
    };
    let direct = is_set && cache == CachePolicy::Direct;
    let rules = Rules { over, workers: group.count, direct, whole_is_aligned };
    let mut walk = Walk { check, rules, rounds: Rounds::One, place: Place::default(), has_postmark: false };
    let mut state = State::default();
    if !is_set {
        memory(walk.check, program);
        for (key, steps) in ["before", "steps", "after"].into_iter().zip(program.parts()) {
            walk.has_postmark = false;
            walk.steps(key, steps, &mut state);
        }
        return;
    }
    for (key, steps) in [("before", &program.before), ("after", &program.after)] {
        if !steps.is_empty() {
            walk.check.problem([key], "over a file set, every step is in the clock", "put it among the `steps`");
        }
    }
    if program.steps.is_empty() {
        return;
    }
    file_set(walk.check, program, target, others);
    walk.rounds = Rounds::Two;
    walk.steps("steps", &program.steps, &mut state);
    // Once more, from the state that the first pass leaves: handles that stay open are found by opening them again.
    if group.limit.passes != Some(1) {
        walk.rounds = Rounds::One;
        walk.steps("steps", &program.steps, &mut state);
    }
}

/// Is there something to do over a file set, are there files to pick, and is there room for new ones?
fn file_set(check: &mut Checker, program: &Program, target: &Target, others: OtherFiles) {
    let any = |holds: fn(&Step) -> bool| walk(&program.steps).any(holds);
    let idle = |step: &Step| matches!(step, Step::Delay { .. } | Step::Loop { .. } | Step::Mix { .. });
    if walk(&program.steps).all(idle) {
        check.problem(["steps"], "the program does nothing but wait", "add a step that does something");
    }
    if any(|step| matches!(step, Step::Rmdir { .. })) && !any(|step| matches!(step, Step::Mkdir { .. })) {
        check.problem(["steps"], "`rmdir` removes what `mkdir` made, and nothing does", "add a `mkdir` before it");
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
            "the program picks existing files, and there never are any",
            "set the target's `preallocated-percent`, or create files first",
        );
    }
    if preallocated_percent == 100 && creates(program) && !any(|step| matches!(step, Step::Unlink { .. })) {
        check.problem(
            ["steps"],
            "the program creates files in a file set that is full from the start",
            "lower the target's `preallocated-percent`, or unlink files as well",
        );
    }
}

/// Does it create files of a set?
pub(super) fn creates(program: &Program) -> bool {
    walk(&program.steps).any(|step| matches!(step, Step::Create { .. }))
}

/// How a step chooses a file of a set.
fn picked(step: &Step) -> Option<Pick> {
    match step {
        Step::Mkdir { .. } | Step::Rmdir { .. } => None,
        step => step.file(),
    }
}

fn memory(check: &mut Checker, program: &Program) {
    let align = program.memory.align.0;
    if !align.is_power_of_two() || align > 1 << 30 {
        check.problem(["memory", "align"], format!("nothing is aligned to {align}"), "use a power of two up to 1 GiB");
    }
    for (key, size) in [("spread", program.memory.spread), ("purge-line", program.memory.purge_line)] {
        check.positive_if_some(["memory", key], "a size", size.map(|size| size.0));
        if size.is_some_and(|Bytes(bytes)| bytes > 1 << 32) {
            check.problem(["memory", key], "this is more than the memory of a worker", "use at most 4 GiB");
        }
    }
    if let ProgramContent::Words { every, .. } = &program.content
        && (every.0 < 8 || every.0 % 8 != 0)
    {
        check.problem(
            ["content", "words", "every"],
            format!("a word every {} bytes is none", every.0),
            "use a multiple of 8; 8 fills everything",
        );
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

/// What is known of something that may differ between ways through a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    No,
    Unsure,
    Yes,
}

impl Known {
    fn joined(self, other: Known) -> Known {
        if self == other { self } else { Known::Unsure }
    }
}

/// What a handle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Handle {
    open: Known,
    writable: Known,
    stream: bool,
    mapped_bytes: u64,
}

const CLOSED: Handle = Handle { open: Known::No, writable: Known::Unsure, stream: false, mapped_bytes: 0 };

/// The file that `same` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Same {
    /// No step has worked on a file yet.
    #[default]
    Nothing,
    /// The step before removed it.
    Removed,
    /// There is one, as far as can be told.
    Fine,
}

#[derive(Debug, Clone, Default)]
struct State {
    handles: BTreeMap<u16, Handle>,
    same: Same,
}

impl State {
    fn handle(&self, number: u16) -> Handle {
        self.handles.get(&number).copied().unwrap_or(CLOSED)
    }

    fn joined(self, other: &State) -> State {
        let numbers: Vec<u16> = self.handles.keys().chain(other.handles.keys()).copied().collect();
        let handles = numbers
            .into_iter()
            .map(|number| {
                let (a, b) = (self.handle(number), other.handle(number));
                (number, Handle { open: a.open.joined(b.open), writable: a.writable.joined(b.writable), ..a })
            })
            .collect();
        State { handles, same: if self.same == other.same { self.same } else { Same::Fine } }
    }

    fn change(&mut self, number: u16, change: impl FnOnce(&mut Handle)) {
        let mut handle = self.handle(number);
        change(&mut handle);
        self.handles.insert(number, handle);
    }
}

/// What a step wants of its handle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Any,
    Writing,
}

/// How often a walk goes through the body of a loop. The second time finds what the first leaves open; bodies within
/// a body that is walked again are walked once, so that the work stays small however deep loops nest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounds {
    Two,
    One,
}

/// What a program is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    FileSet,
    Names { files: usize },
}

/// What holds for all steps.
#[derive(Clone, Copy)]
struct Rules {
    over: Over,
    workers: u32,
    direct: bool,
    whole_is_aligned: bool,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    depth: usize,
    /// Lists of steps around the one at hand.
    nesting: usize,
    in_each: bool,
}

struct Walk<'a> {
    check: &'a mut Checker,
    rules: Rules,
    rounds: Rounds,
    place: Place,
    has_postmark: bool,
}

impl Walk<'_> {
    fn inside(&mut self, segment: impl Into<crate::keypath::Segment>, walk: impl FnOnce(&mut Walk<'_>)) {
        let Walk { rules, rounds, place, mut has_postmark, .. } = *self;
        self.check.inside(segment, |check| {
            let mut inner = Walk { check, rules, rounds, place, has_postmark };
            walk(&mut inner);
            has_postmark = inner.has_postmark;
        });
        self.has_postmark = has_postmark;
    }

    fn steps(&mut self, key: &str, steps: &[Step], state: &mut State) {
        self.inside(key, |walk| {
            if walk.place.nesting > NESTING_MAX {
                walk.check.problem(
                    [],
                    format!("loops and mixes are nested more than {NESTING_MAX} deep"),
                    "flatten them",
                );
                return;
            }
            walk.place.nesting += 1;
            for (index, step) in steps.iter().enumerate() {
                walk.inside(index, |walk| walk.inside(step.key(), |walk| walk.step(step, state)));
            }
        });
    }

    /// Whether a step means something on this target.
    fn fits(&mut self, step: &Step) -> bool {
        let (what, help) = match (step.needs(), self.rules.over) {
            (Needs::Names, Over::FileSet) => ("files under their own names", "use a `[target.NAME.scratch]`"),
            (Needs::FileSet, Over::Names { .. }) => ("a file set", "use a `[target.NAME.tree]`"),
            _ => return true,
        };
        self.check.problem([], format!("this step needs {what}"), help);
        false
    }

    /// Whether its files can be chosen in this way on this target.
    fn can_choose(&mut self, step: &Step) -> bool {
        let is_set = self.rules.over == Over::FileSet;
        let files = if is_set { [picked(step), None] } else { [step.file(), step.led_to()] };
        for (key, file) in ["file", "to"].into_iter().zip(files) {
            let (what, help) = match file {
                Some(Pick::Own | Pick::Nth(_)) if is_set => {
                    ("a file of a set has no number", "use `random`, or another choice among the files of the set")
                }
                Some(file) if !is_set && !matches!(file, Pick::Own | Pick::Usual | Pick::Nth(_)) => (
                    "files under their own names are not drawn from a set",
                    "name one, such as `{ nth = 0 }`, or use `own`",
                ),
                _ => continue,
            };
            self.check.problem([key], what, help);
            return false;
        }
        true
    }

    fn step(&mut self, step: &Step, state: &mut State) {
        if !self.fits(step) || !self.can_choose(step) {
            return;
        }
        match self.rules.over {
            Over::FileSet => {
                if let Some(pick) = picked(step) {
                    self.pick(pick, state);
                    state.same = if matches!(step, Step::Unlink { .. }) { Same::Removed } else { Same::Fine };
                }
            }
            Over::Names { files } => {
                for file in step.file().into_iter().chain(step.led_to()) {
                    self.named(file, files);
                }
            }
        }
        if let Some(handle) = step.handle().filter(|handle| *handle > HANDLE_MAX) {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is beyond what a process may have open"),
                format!("number handles from 0 to {HANDLE_MAX}"),
            );
            return;
        }
        match step {
            Step::Create { handle } => {
                self.opens(*handle, Handle { open: Known::Yes, writable: Known::Yes, ..CLOSED }, state);
                state.same = Same::Fine;
            }
            Step::Open(open) => {
                let writable = if open.write { Known::Yes } else { Known::No };
                let stream = open.stream.is_some();
                self.opens(open.handle, Handle { open: Known::Yes, writable, stream, mapped_bytes: 0 }, state);
                self.open(open);
            }
            Step::Close { handle } => {
                self.uses(*handle, Wants::Any, state);
                state.handles.insert(*handle, CLOSED);
            }
            Step::ReadWhole { handle, request } => {
                self.uses(*handle, Wants::Any, state);
                self.whole(*request);
            }
            Step::WriteWhole { handle, request } => {
                self.uses(*handle, Wants::Writing, state);
                self.whole(*request);
            }
            Step::ReadRandom { handle, size } => {
                self.uses(*handle, Wants::Any, state);
                self.sizes(size);
            }
            Step::ReadAt { handle, offset, size } => {
                self.uses(*handle, Wants::Any, state);
                self.offset(*offset);
                self.sizes(size);
            }
            Step::WriteRandom { handle, size } | Step::Append { handle, size } => {
                self.uses(*handle, Wants::Writing, state);
                self.sizes(size);
            }
            Step::WriteAt { handle, offset, size } => {
                self.uses(*handle, Wants::Writing, state);
                self.offset(*offset);
                self.sizes(size);
            }
            Step::Fsync { handle }
            | Step::Fdatasync { handle }
            | Step::Flush { handle }
            | Step::Seek { handle, .. }
            | Step::Lock { handle, .. } => self.uses(*handle, Wants::Any, state),
            Step::Truncate { handle, size } | Step::Fallocate { handle, size } => {
                self.uses(*handle, Wants::Writing, state);
                let empty_is_fine = matches!(step, Step::Truncate { .. });
                self.check.inside("size", |check| {
                    check.distribution(size, |check, keys, size| {
                        if size.0 > MAX_OFFSET_BYTES {
                            check.length(keys, size.0);
                        }
                    });
                    if !empty_is_fine && *size == Distribution::Fixed(Bytes(0)) {
                        check.problem(["fixed"], "there is nothing to allocate in 0 bytes", "use a size above 0");
                    }
                });
            }
            Step::Map(map) => {
                self.uses(map.handle, Wants::Any, state);
                self.check.length(["length"], map.length.0);
                state.change(map.handle, |handle| handle.mapped_bytes = map.length.0);
            }
            Step::Unmap { handle } => state.change(*handle, |handle| handle.mapped_bytes = 0),
            Step::Msync { handle } => {
                if state.handle(*handle).mapped_bytes == 0 {
                    let message = format!("nothing is mapped as handle {handle} here");
                    self.check.problem([], message, "put a `map` before it");
                }
            }
            Step::Transfer(transfer) => {
                self.uses(transfer.handle, Wants::Any, state);
                self::transfer(self.check, transfer, state.handle(transfer.handle));
            }
            Step::OfFile(step) => file(self.check, step),
            Step::HoldDirectories(held) => {
                self.check.positive(["count"], "the number of directories", held.count.into(), "use at least 1");
                let per_directory = held.per_directory.into();
                self.check.positive(["per-directory"], "the number of files", per_directory, "use at least 1");
            }
            Step::Postmark(step) => self.postmark(step, state),
            Step::Delay { time } => {
                if self.rules.over == Over::FileSet {
                    self.check.positive(["time"], "the delay", time.0, "leave the step out for no delay");
                }
            }
            Step::Each(each) => self.each(each, state),
            Step::Loop { times, steps } => {
                self.check.positive(["times"], "the number of times", *times, "use at least 1, or leave the loop out");
                self.not_empty(steps, "the loop");
                self.steps("steps", steps, state);
                if *times > 1 && self.rounds == Rounds::Two {
                    self.rounds = Rounds::One;
                    self.steps("steps", steps, state);
                    self.rounds = Rounds::Two;
                }
            }
            Step::Mix { choices } => {
                if choices.is_empty() {
                    self.check.problem(
                        ["choices"],
                        "the mix has nothing to choose from",
                        "add choices of `{ weight = 1.0, steps = [ … ] }`",
                    );
                }
                let before = state.clone();
                let mut after: Option<State> = None;
                self.inside("choices", |walk| {
                    walk.check.sum(choices.iter().map(|choice| choice.weight));
                    for (index, choice) in choices.iter().enumerate() {
                        walk.inside(index, |walk| {
                            walk.check.above_zero(
                                ["weight"],
                                "the weight",
                                choice.weight,
                                "leave out what should never be chosen",
                            );
                            walk.not_empty(&choice.steps, "the choice");
                            let mut way = before.clone();
                            walk.steps("steps", &choice.steps, &mut way);
                            after = Some(match after.take() {
                                None => way,
                                Some(other) => other.joined(&way),
                            });
                        });
                    }
                });
                if let Some(after) = after {
                    *state = after;
                }
            }
            Step::Stat { .. }
            | Step::Access { .. }
            | Step::Utimens { .. }
            | Step::Chmod { .. }
            | Step::Rename { .. }
            | Step::Link { .. }
            | Step::Symlink { .. }
            | Step::Readlink { .. }
            | Step::Unlink { .. }
            | Step::Mkdir { .. }
            | Step::Rmdir { .. }
            | Step::Readdir {}
            | Step::List { .. }
            | Step::EndList {}
            | Step::Sync {} => {}
        }
    }

    fn not_empty(&mut self, steps: &[Step], what: &str) {
        if steps.is_empty() {
            self.check.problem(["steps"], format!("{what} has no steps"), "add one, or leave it out");
        }
    }

    fn pick(&mut self, pick: Pick, state: &State) {
        match pick {
            Pick::New => self.check.problem(
                ["file"],
                "this step needs a file that exists, and `new` is one that does not",
                "use `create` to make one; `rename`, `link` and `symlink` find the new name themselves",
            ),
            Pick::Same if state.same == Same::Nothing => self.check.problem(
                ["file"],
                "`same` is the file of the step before, and no step before has one",
                "pick a file first, for example with `random`",
            ),
            Pick::Same if state.same == Same::Removed => self.check.problem(
                ["file"],
                "`same` is the file of the step before, which has removed it",
                "pick another file, for example with `random`",
            ),
            Pick::Zipf { theta } => {
                self.check.above_zero(["file", "zipf", "theta"], "theta", theta, "0.99 and 1.1 are usual");
            }
            _ => {}
        }
    }

    /// A name of a target that has so many.
    fn named(&mut self, file: Pick, files: usize) {
        let (number, what) = match file {
            Pick::Nth(number) => (u64::from(number), "the step names it"),
            _ if self.place.in_each => return,
            _ => (u64::from(self.rules.workers.saturating_sub(1)), "it is the last worker's own"),
        };
        if number >= files as u64 {
            self.check.problem(
                [],
                format!("the target has {files} names, and none of number {number}; {what}"),
                "give the target more names; they count from 0",
            );
        }
    }

    fn opens(&mut self, handle: u16, opened: Handle, state: &mut State) {
        if state.handle(handle).open == Known::Yes {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is opened while it is still open"),
                "close it before, at the end of the steps at the latest, or use another `handle`",
            );
        }
        state.handles.insert(handle, opened);
    }

    /// How a named file is opened.
    fn open(&mut self, open: &OpenStep) {
        if self.rules.over == Over::FileSet {
            return;
        }
        if !open.read && !open.write {
            self.check.problem([], "it is opened neither to be read nor to be written", "add `read` or `write`");
        }
        if open.exclusive && !open.create {
            self.check.problem(["exclusive"], "`exclusive` is about files that are made", "add `create`");
        }
        if open.mode > 0o7777 {
            self.check.problem(["mode"], format!("{:o} are no permissions", open.mode), "use at most 0o7777");
        }
    }

    fn uses(&mut self, handle: u16, wants: Wants, state: &mut State) {
        let now = state.handle(handle);
        if now.open == Known::No {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is used before it is open"),
                "put a `create` or an `open` before this step",
            );
            state.handles.insert(handle, Handle { open: Known::Unsure, ..CLOSED });
        } else if wants == Wants::Writing && now.writable == Known::No && self.rules.over == Over::FileSet {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is open for reading only"),
                "open it with `write = true`",
            );
        }
        state.same = Same::Fine;
    }

    fn whole(&mut self, request: Bytes) {
        self.check.request(["request"], request.0);
        self.fits_buffers(["request"], request);
        if self.rules.direct && !(self.rules.whole_is_aligned && request.0.is_multiple_of(DIRECT_ALIGN_BYTES)) {
            self.not_direct(["request"]);
        }
    }

    fn offset(&mut self, offset: Bytes) {
        if offset.0 > MAX_OFFSET_BYTES {
            self.check.length(["offset"], offset.0);
        }
        if self.rules.direct && !offset.0.is_multiple_of(DIRECT_ALIGN_BYTES) {
            self.not_direct(["offset"]);
        }
    }

    fn sizes(&mut self, sizes: &Distribution) {
        if self.rules.direct && !aligned(sizes) {
            self.not_direct(["size"]);
        }
        self.check.inside("size", |check| {
            check.distribution(sizes, |check, keys, size| check.request(keys, size.0));
        });
        self.fits_buffers(["size"], sizes.max());
    }

    fn fits_buffers(&mut self, keys: [&str; 1], largest: Bytes) {
        if largest.0 > MAX_SET_REQUEST_BYTES {
            let message = format!("requests of up to {largest} do not fit the buffers of a worker");
            self.check.problem(keys, message, format!("use at most {}", Bytes(MAX_SET_REQUEST_BYTES)));
        }
    }

    fn not_direct(&mut self, keys: [&str; 1]) {
        self.check.problem(
            keys,
            "direct I/O moves whole blocks only, and the sizes here are not",
            format!("use fixed multiples of {DIRECT_ALIGN_BYTES} for steps and files, or another `cache`"),
        );
    }

    fn postmark(&mut self, step: &PostmarkStep, state: &State) {
        self.check.inside("run", |check| postmark(check, &step.run));
        if self.place.in_each {
            self.check.problem([], "a run has its own order of files", "take it out of `each`");
        }
        // It has all of the memory and the first handle.
        if std::mem::replace(&mut self.has_postmark, true) {
            self.check.problem([], "there are two of PostMark's parts in one", "give each a phase of its own");
        }
        if state.handle(0).open != Known::No {
            self.check.problem([], "PostMark's files are opened as handle 0, which is open", "close it first");
        }
        let workers = self.rules.workers;
        if workers != step.run.threads {
            self.check.problem(
                ["run", "threads"],
                format!("{workers} workers cannot be {} threads", step.run.threads),
                "give the group a `count` of as many as `threads`",
            );
        }
    }

    fn each(&mut self, each: &Each, state: &mut State) {
        let last = match &each.order {
            FileOrder::Listed(files) => files.iter().copied().max().map(u64::from),
            FileOrder::Forward | FileOrder::Backward => {
                self.check.positive(["count"], "the number of files", each.count.into(), "use at least 1");
                (u64::from(each.first) + u64::from(each.count)).checked_sub(1)
            }
        };
        if let (Over::Names { files }, Some(last)) = (self.rules.over, last)
            && last >= files as u64
        {
            self.check.problem([], format!("the target has only {files} names"), "give it more, or use fewer");
        }
        if self.place.depth >= DEPTH_MAX {
            self.check.problem(["steps"], "this is too deep", format!("use at most {DEPTH_MAX} levels of `each`"));
            return;
        }
        let inner = Place { depth: self.place.depth + 1, in_each: true, ..self.place };
        let place = std::mem::replace(&mut self.place, inner);
        self.steps("steps", &each.steps, state);
        self.place = place;
    }
}

/// What PostMark's run can be set to.
pub(super) fn postmark(check: &mut Checker, run: &Postmark) {
    for problem in run.problems() {
        check.problem([problem.key], problem.message, problem.help);
    }
}

fn file(check: &mut Checker, step: &FileStep) {
    record(check, step.record, step.longest_bytes());
    if matches!(step.does, FileWork::Link | FileWork::Symlink) && step.to.is_none() {
        check.problem(["to"], "a link leads to a file", "give the number of one as `to`");
    }
    if step.listed && !matches!(step.does, FileWork::Look | FileWork::Remove) {
        check.problem(["listed"], "a directory names no new files", "leave `listed` out");
    }
}

fn transfer(check: &mut Checker, transfer: &Transfer, handle: Handle) {
    match &transfer.order {
        RecordOrder::Listed(records) => {
            for (index, ListedRecord { offset, length, .. }) in records.iter().enumerate() {
                check.within(&["order", "listed"], |check| {
                    check.inside(index, |check| record(check, *length, offset.0.saturating_add(length.0)));
                });
            }
        }
        order => {
            record(check, transfer.record, transfer.record.0.saturating_mul(transfer.count));
            check.positive(["count"], "the number of records", transfer.count, "use at least 1");
            if let RecordOrder::Strided { records } = order {
                check.positive(["order", "strided", "records"], "the stride", *records, "use at least 1");
            }
            if matches!(order, RecordOrder::Shuffled(_)) && transfer.count > SHUFFLED_MAX {
                check.problem(["count"], "so many records cannot be shuffled in memory", "use larger records");
            }
        }
    }
    let (fits, help) = match transfer.via {
        Via::Plain | Via::Positioned | Via::Bytes => (!handle.stream, "open it without `stream`"),
        Via::Stdio | Via::Characters | Via::UnlockedCharacters => (handle.stream, "open it with `stream = {}`"),
        Via::Mapped { .. } => (handle.mapped_bytes >= transfer.end(), "put a `map` of its whole length before it"),
        Via::PosixAio { depth, .. } => {
            check.positive(["via", "posix-aio", "depth"], "the depth", depth.into(), "use at least 1");
            if depth > super::QUEUE_DEPTH_MAX {
                check.problem(["via", "posix-aio", "depth"], format!("{depth} is too deep"), "use less");
            }
            (!handle.stream, "open it without `stream`")
        }
    };
    if transfer.pauses.is_some_and(|pauses| pauses.every == 0) {
        check.problem(["pauses", "every"], "there is no pause behind every 0 records", "use at least 1");
    }
    if let Some(detours) = &transfer.detours {
        check.positive(["detours", "every"], "the number of records between detours", detours.every, "use at least 1");
        if detours.to.is_empty() {
            check.problem(["detours", "to"], "detours lead nowhere", "name places such as `[0, \"4KiB\"]`");
        }
        if (transfer.does, transfer.via, &transfer.order) != (Moves::Read, Via::Plain, &RecordOrder::Forward) {
            check.problem(
                ["detours"],
                "only plain reads in sequence take detours",
                "leave `via` and `order` out, and use `does = \"read\"`",
            );
        }
    }
    if handle.open == Known::Yes && !fits {
        check.problem(["via"], "the handle is not open for these calls", help);
    }
    let goes_by_bytes = matches!(transfer.via, Via::Characters | Via::UnlockedCharacters | Via::Bytes);
    if goes_by_bytes && transfer.order != RecordOrder::Forward {
        check.problem(["order"], "characters go forward only", "use `via = \"stdio\"`, or leave `order` out");
    }
}

fn record(check: &mut Checker, length: Bytes, end: u64) {
    check.positive(["record"], "the length of a record", length.0, "use a size such as `4KiB`");
    if length.0 > MAX_OP_BYTES {
        check.problem(["record"], format!("{length} is more than one call can move"), "use less than 2 GiB");
    }
    if end > MAX_OFFSET_BYTES {
        check.problem([], "it reaches behind the end of any file", "use fewer or smaller records");
    }
}
