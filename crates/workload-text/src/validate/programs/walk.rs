//! Walks through the steps of a program, with handles open, closed or unknown. Loops and
//! repeating programs are walked twice.

use super::handles::{CLOSED, Handle, Known, MpiHandle, Same, State, Wants};
use super::{aligned, mpi, picked, postmark, records};
use crate::validate::Checker;
use plumb_workload::limits::{DIRECT_ALIGN_BYTES, MAX_OFFSET_BYTES, MAX_SET_REQUEST_BYTES};
use plumb_workload::program::{Choice, Each, FileOrder, Held, MapStep, Needs, OpenStep, Pick, PostmarkStep, Step};
use plumb_workload::target::Distribution;
use plumb_workload::units::{Bytes, Nanos};

/// Maximum handle number; more files exceed a process's usual limit of open files.
const HANDLE_MAX: u16 = 1023;

/// Maximum nesting of [`Each`] steps.
const DEPTH_MAX: usize = 8;

/// Maximum nesting of loops, mixes and [`Each`] steps.
const NESTING_MAX: usize = 32;

/// Number of walks through the body of a loop. The second finds handles that the first leaves open. Bodies nested in
/// a repeated body are walked once per repetition, so that the work stays small for any nesting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounds {
    Two,
    One,
}

/// Files that a program works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    FileSet,
    Names { files: usize },
}

/// Facts that hold for all steps.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) over: Over,
    pub(super) workers: u32,
    pub(super) direct: bool,
    pub(super) whole_is_aligned: bool,
    /// Number of items per owner and root, for targets with trees.
    pub(super) items_each: u64,
}

/// Position of the current step.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    depth: usize,
    /// Number of step lists around the current step.
    nesting: usize,
    in_each: bool,
}

pub(super) struct Walk<'a> {
    pub(super) check: &'a mut Checker,
    rules: Rules,
    rounds: Rounds,
    place: Place,
    has_postmark: bool,
}

impl Walk<'_> {
    /// Creates a walk through steps that run once.
    pub(super) fn new(check: &mut Checker, rules: Rules) -> Walk<'_> {
        Walk { check, rules, rounds: Rounds::One, place: Place::default(), has_postmark: false }
    }

    /// Walks one part of a program over named files.
    pub(super) fn part(&mut self, key: &str, steps: &[Step], state: &mut State) {
        self.has_postmark = false;
        self.steps(key, steps, state);
    }

    /// Walks steps that repeat, unless `passes` is 1.
    pub(super) fn twice(&mut self, key: &str, steps: &[Step], state: &mut State, passes: Option<u64>) {
        self.rounds = Rounds::Two;
        self.steps(key, steps, state);
        // Walks again from the state after the first pass. Opening a handle that is still open shows
        // that it was never closed.
        if passes != Some(1) {
            self.rounds = Rounds::One;
            self.steps(key, steps, state);
        }
    }

    fn inside(&mut self, segment: impl Into<plumb_workload::keypath::Segment>, walk: impl FnOnce(&mut Walk<'_>)) {
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

    /// Checks that a step is valid on this target.
    fn fits(&mut self, step: &Step) -> bool {
        let (needed, help) = match (step.needs(), self.rules.over) {
            (Needs::Names, Over::FileSet) => ("named files", "use a `[target.NAME.scratch]`"),
            (Needs::SharedSets, _) => ("file sets that all workers share", "use a `[target.NAME.shared-tree]`"),
            (Needs::FileSet, Over::Names { .. }) => ("a file set", "use a `[target.NAME.tree]`"),
            _ => return true,
        };
        self.check.problem([], format!("this step needs {needed}"), help);
        false
    }

    /// Checks that the step's way of selecting files works on this target.
    fn can_choose(&mut self, step: &Step) -> bool {
        let is_set = self.rules.over == Over::FileSet;
        let files = if is_set { [picked(step), None] } else { [step.file(), step.link_target()] };
        for (key, file) in ["file", "to"].into_iter().zip(files) {
            let (what, help) = match file {
                Some(Pick::Own | Pick::Nth(_)) if is_set => {
                    ("files of a set have no numbers", "use `random`, or another choice among the files of the set")
                }
                Some(file) if !is_set && !matches!(file, Pick::Own | Pick::Usual | Pick::Nth(_)) => (
                    "a program over named files cannot pick from a set",
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
        self.files(step, state);
        if let Some(handle) = step.handle().filter(|handle| *handle > HANDLE_MAX) {
            self.check.problem(
                ["handle"],
                format!("handle {handle} exceeds the number of files a process can open"),
                format!("number handles from 0 to {HANDLE_MAX}"),
            );
            return;
        }
        match step {
            Step::Create { handle } => {
                self.opens(*handle, Handle { open: Known::Yes, writable: Known::Yes, ..CLOSED }, state);
                state.same = Same::Fine;
            }
            Step::Open(open) => self.open(open, state),
            Step::Close { handle } => {
                self.uses(*handle, Wants::Any, state);
                state.handles.insert(*handle, CLOSED);
            }
            Step::ReadWhole { handle, request } => self.whole_file(*handle, Wants::Any, *request, state),
            Step::WriteWhole { handle, request } => self.whole_file(*handle, Wants::Writing, *request, state),
            Step::Copy(copy) => self.whole(copy.request),
            Step::ReadRandom { handle, size } => self.request(*handle, Wants::Any, None, size, state),
            Step::ReadAt { handle, offset, size } => self.request(*handle, Wants::Any, Some(*offset), size, state),
            Step::WriteRandom { handle, size } | Step::Append { handle, size } => {
                self.request(*handle, Wants::Writing, None, size, state);
            }
            Step::WriteAt { handle, offset, size } => {
                self.request(*handle, Wants::Writing, Some(*offset), size, state);
            }
            Step::Fsync { handle } => self.uses(*handle, Wants::Any, state),
            Step::Fdatasync { handle }
            | Step::Flush { handle }
            | Step::Seek { handle, .. }
            | Step::Lock { handle, .. } => {
                self.uses(*handle, Wants::Any, state);
                self.has_descriptor(*handle, state);
            }
            Step::Truncate { handle, size } => self.length(*handle, size, state),
            Step::Fallocate { handle, size } => {
                self.length(*handle, size, state);
                if *size == Distribution::Fixed(Bytes(0)) {
                    self.check.problem(["size", "fixed"], "the size to allocate is 0", "use a size above 0");
                }
            }
            Step::Map(map) => self.map(map, state),
            Step::Unmap { handle } => state.change(*handle, |handle| handle.mapped_bytes = 0),
            Step::Msync { handle } => self.msync(*handle, state),
            Step::Transfer(transfer) => {
                self.uses(transfer.handle, Wants::Any, state);
                records::transfer(self.check, transfer, state.handle(transfer.handle));
            }
            Step::OfFile(step) => records::file(self.check, step),
            Step::HoldDirectories(held) => self.hold_directories(held),
            Step::Postmark(step) => self.postmark(step, state),
            Step::Trees(step) => records::trees(self.check, step, self.rules.items_each),
            Step::Each(each) => self.each(each, state),
            Step::Loop { times, steps } => self.repeat(*times, steps, state),
            Step::Mix { choices } => self.mix(choices, state),
            Step::Delay { time } => self.delay(*time),
            Step::Command { line } => self.command(line),
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
            | Step::Meet {}
            | Step::EndIfWrong {}
            | Step::Sync {}
            | Step::LoadFile(_)
            // A step for another kind of target, which is already reported.
            | Step::Shared(_) => {}
        }
    }

    /// Checks the files that a step selects.
    fn files(&mut self, step: &Step, state: &mut State) {
        match self.rules.over {
            Over::FileSet => {
                if let Some(pick) = picked(step) {
                    self.pick(pick, state);
                    let removes = matches!(step, Step::Unlink { .. }) || matches!(step, Step::Copy(copy) if copy.moves);
                    state.same = if removes { Same::Removed } else { Same::Fine };
                }
            }
            Over::Names { files } => {
                for file in step.file().into_iter().chain(step.link_target()) {
                    self.named(file, files);
                }
            }
        }
    }

    fn delay(&mut self, time: Nanos) {
        if self.rules.over == Over::FileSet {
            self.check.positive(["time"], "the delay", time.0, "leave the step out for no delay");
        }
    }

    fn command(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.check.problem(["line"], "there is no command", "name one, or leave the step out");
        }
    }

    fn hold_directories(&mut self, held: &Held) {
        self.check.positive(["count"], "the number of directories", held.count.into(), "use at least 1");
        let per_directory = held.per_directory.into();
        self.check.positive(["per-directory"], "the number of files", per_directory, "use at least 1");
    }

    fn map(&mut self, map: &MapStep, state: &mut State) {
        self.uses(map.handle, Wants::Any, state);
        self.has_descriptor(map.handle, state);
        self.check.length(["length"], map.length.0);
        state.change(map.handle, |handle| handle.mapped_bytes = map.length.0);
    }

    fn whole_file(&mut self, handle: u16, wants: Wants, request: Bytes, state: &mut State) {
        self.uses(handle, wants, state);
        self.whole(request);
    }

    fn request(&mut self, handle: u16, wants: Wants, offset: Option<Bytes>, size: &Distribution, state: &mut State) {
        self.uses(handle, wants, state);
        if let Some(offset) = offset {
            self.offset(offset);
        }
        self.sizes(size);
    }

    /// Checks a step that sets or reserves the length of a file.
    fn length(&mut self, handle: u16, size: &Distribution, state: &mut State) {
        self.uses(handle, Wants::Writing, state);
        self.has_descriptor(handle, state);
        self.check.inside("size", |check| {
            check.distribution(size, |check, keys, size| {
                if size.0 > MAX_OFFSET_BYTES {
                    check.length(keys, size.0);
                }
            });
        });
    }

    fn msync(&mut self, handle: u16, state: &State) {
        if state.handle(handle).mapped_bytes == 0 {
            let message = format!("handle {handle} has no mapping at this step");
            self.check.problem([], message, "put a `map` before it");
        }
    }

    fn repeat(&mut self, times: u64, steps: &[Step], state: &mut State) {
        self.check.positive(["times"], "the number of times", times, "use at least 1, or leave the loop out");
        self.not_empty(steps, "the loop");
        self.steps("steps", steps, state);
        if times > 1 && self.rounds == Rounds::Two {
            self.rounds = Rounds::One;
            self.steps("steps", steps, state);
            self.rounds = Rounds::Two;
        }
    }

    /// Walks every choice from the state before the mix, and joins the states after them.
    fn mix(&mut self, choices: &[Choice], state: &mut State) {
        if choices.is_empty() {
            self.check.problem(
                ["choices"],
                "the mix has no choices",
                "add choices of `{ weight = 1.0, steps = [ … ] }`",
            );
        }
        let before = state.clone();
        let mut after: Option<State> = None;
        self.inside("choices", |walk| {
            walk.check.sum(choices.iter().map(|choice| choice.weight));
            for (index, choice) in choices.iter().enumerate() {
                walk.inside(index, |walk| {
                    let help = "leave out what should never be chosen";
                    walk.check.above_zero(["weight"], "the weight", choice.weight, help);
                    walk.not_empty(&choice.steps, "the choice");
                    let mut chosen = before.clone();
                    walk.steps("steps", &choice.steps, &mut chosen);
                    after = Some(match after.take() {
                        None => chosen,
                        Some(other) => other.joined(&chosen),
                    });
                });
            }
        });
        if let Some(after) = after {
            *state = after;
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
                "this step needs an existing file, and `new` does not exist yet",
                "use `create` to create one; `rename`, `link` and `symlink` find the new name themselves",
            ),
            Pick::Same if state.same == Same::Nothing => self.check.problem(
                ["file"],
                "`same` is the file of the previous step, and no previous step has one",
                "pick a file first, for example with `random`",
            ),
            Pick::Same if state.same == Same::Removed => self.check.problem(
                ["file"],
                "`same` is the file of the previous step, which removed it",
                "pick another file, for example with `random`",
            ),
            Pick::Zipf { theta } => {
                self.check.above_zero(["file", "zipf", "theta"], "theta", theta, "0.99 and 1.1 are usual");
            }
            _ => {}
        }
    }

    /// Checks a name in a target with this many names.
    fn named(&mut self, file: Pick, files: usize) {
        let (number, what) = match file {
            Pick::Nth(number) => (u64::from(number), "the step names it"),
            _ if self.place.in_each => return,
            _ => (u64::from(self.rules.workers.saturating_sub(1)), "the last worker needs it"),
        };
        if number >= files as u64 {
            self.check.problem(
                [],
                format!("the target has {files} names and no number {number}; {what}"),
                "give the target more names; they count from 0",
            );
        }
    }

    fn opens(&mut self, handle: u16, opened: Handle, state: &mut State) {
        if state.handle(handle).open == Known::Yes {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is opened while it is still open"),
                "close it first (at the latest at the end of the steps), or use another `handle`",
            );
        }
        state.handles.insert(handle, opened);
    }

    fn open(&mut self, open: &OpenStep, state: &mut State) {
        let opened = Handle {
            open: Known::Yes,
            writable: if open.write { Known::Yes } else { Known::No },
            stream: open.stream.is_some(),
            mapped_bytes: 0,
            mpi: open.mpi.as_ref().map(|mpi| MpiHandle { ranks: mpi.ranks, view: mpi.view }),
        };
        self.opens(open.handle, opened, state);
        self.open_options(open);
    }

    /// Checks the options for opening a named file.
    fn open_options(&mut self, open: &OpenStep) {
        if self.rules.over == Over::FileSet {
            return;
        }
        if !open.read && !open.write {
            self.check.problem([], "the file is opened neither for reading nor for writing", "add `read` or `write`");
        }
        if open.exclusive && !open.create {
            self.check.problem(["exclusive"], "`exclusive` applies only to files that are created", "add `create`");
        }
        if open.mode > 0o7777 {
            self.check.problem(["mode"], format!("{:o} is not a valid file mode", open.mode), "use at most 0o7777");
        }
        if let Some(mpi) = &open.mpi {
            mpi::opened(self.check, open, mpi);
        }
    }

    /// Reports steps that need the descriptor of a file opened with MPI-IO, which the library keeps to itself.
    fn has_descriptor(&mut self, handle: u16, state: &State) {
        if state.handle(handle).mpi.is_some() {
            let message = format!("handle {handle} was opened by MPI-IO, which has no such call");
            self.check.problem([], message, "leave the step out, or open the file without `mpi`");
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
            "direct I/O needs whole blocks, and these sizes are not",
            format!("use fixed multiples of {DIRECT_ALIGN_BYTES} for steps and files, or another `cache`"),
        );
    }

    fn postmark(&mut self, step: &PostmarkStep, state: &State) {
        self.check.inside("run", |check| postmark(check, &step.run));
        if self.place.in_each {
            self.check.problem([], "a PostMark run has its own order of files", "move it out of `each`");
        }
        // A PostMark run uses all of the memory and handle 0.
        if std::mem::replace(&mut self.has_postmark, true) {
            self.check.problem([], "two PostMark steps are in one phase", "give each a phase of its own");
        }
        if state.handle(0).open != Known::No {
            self.check.problem([], "PostMark opens its files as handle 0, which is already open", "close it first");
        }
        let workers = self.rules.workers;
        if workers != step.run.threads {
            self.check.problem(
                ["run", "threads"],
                format!("the group has {workers} workers, but PostMark's `threads` is {}", step.run.threads),
                "set the group's `count` to the number of `threads`",
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
            self.check.problem(
                ["steps"],
                "`each` is nested too deeply",
                format!("use at most {DEPTH_MAX} levels of `each`"),
            );
            return;
        }
        let inner = Place { depth: self.place.depth + 1, in_each: true, ..self.place };
        let place = std::mem::replace(&mut self.place, inner);
        self.steps("steps", &each.steps, state);
        self.place = place;
    }
}
