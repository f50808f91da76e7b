//! Rules of flows. What a flow does is followed once or twice through its steps, with handles open, closed or unsure.

use super::{Checker, DIRECT_ALIGN_BYTES, MAX_OFFSET_BYTES};
use crate::flow::{Flow, Pick, Step};
use crate::phase::{CachePolicy, WorkerGroup};
use crate::target::{Distribution, Target};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// More handles than this would not fit a process's usual limit of open files.
const HANDLE_MAX: u16 = 1023;

/// Whether some other flow creates files in the same file set, in this phase or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherFiles {
    Created,
    None,
}

pub(super) fn check(
    check: &mut Checker,
    cache: CachePolicy,
    group: &WorkerGroup,
    flow: &Flow,
    target: &Target,
    others: OtherFiles,
) {
    if flow.steps.is_empty() {
        check.problem(
            ["steps"],
            "the flow has no steps",
            "add some, such as `[\"create\", \"write-whole\", \"close\"]`",
        );
        return;
    }
    if !any(&flow.steps, &|step| !matches!(step, Step::Delay { .. } | Step::Loop { .. } | Step::Mix { .. })) {
        check.problem(["steps"], "the flow does nothing but wait", "add a step that does something");
    }
    if any(&flow.steps, &|step| matches!(step, Step::Rmdir {}))
        && !any(&flow.steps, &|step| matches!(step, Step::Mkdir {}))
    {
        check.problem(["steps"], "`rmdir` removes what `mkdir` made, and nothing does", "add a `mkdir` before it");
    }
    population(check, flow, target, others);
    let whole_is_aligned = match target {
        Target::Tree(tree) => aligned(&tree.size),
        _ => true,
    };
    let mut walk = Walk { check, rounds: Rounds::Two, direct: cache == CachePolicy::Direct, whole_is_aligned };
    let mut state = State::default();
    walk.steps("steps", &flow.steps, &mut state);
    // Once more, from the state that the first pass leaves: handles that stay open are found by opening them again.
    if group.limit.passes != Some(1) {
        walk.rounds = Rounds::One;
        walk.steps("steps", &flow.steps, &mut state);
    }
}

/// Are there files to pick, and is there room for new ones?
fn population(check: &mut Checker, flow: &Flow, target: &Target, others: OtherFiles) {
    let preallocated_percent = match target {
        Target::Tree(tree) => tree.preallocated_percent,
        Target::Sim(sim) => sim.preallocated_percent,
        _ => return,
    };
    let picks = |step: &Step| picked(step).is_some_and(|pick| !matches!(pick, Pick::New | Pick::Same));
    if preallocated_percent == 0 && others == OtherFiles::None && any(&flow.steps, &picks) {
        check.problem(
            ["steps"],
            "the flow picks existing files, and there never are any",
            "set the target's `preallocated-percent`, or create files first",
        );
    }
    let removes = any(&flow.steps, &|step| matches!(step, Step::Unlink { .. }));
    if preallocated_percent == 100 && creates(&flow.steps) && !removes {
        check.problem(
            ["steps"],
            "the flow creates files in a file set that is full from the start",
            "lower the target's `preallocated-percent`, or unlink files as well",
        );
    }
}

/// Does any step of these, at any depth, hold?
fn any(steps: &[Step], holds: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| {
        holds(step)
            || match step {
                Step::Loop { steps, .. } => any(steps, holds),
                Step::Mix { choices } => choices.iter().any(|choice| any(&choice.steps, holds)),
                _ => false,
            }
    })
}

/// Do the steps create files?
pub(super) fn creates(steps: &[Step]) -> bool {
    any(steps, &|step| matches!(step, Step::Create { .. }))
}

/// Do the steps move bytes, so that a limit in bytes can end them?
pub(super) fn moves_bytes(steps: &[Step]) -> bool {
    any(steps, &|step| {
        matches!(
            step,
            Step::ReadWhole { .. }
                | Step::ReadRandom { .. }
                | Step::ReadAt { .. }
                | Step::WriteWhole { .. }
                | Step::WriteRandom { .. }
                | Step::WriteAt { .. }
                | Step::Append { .. }
        )
    })
}

/// How a step chooses its file.
fn picked(step: &Step) -> Option<Pick> {
    match step {
        Step::Open { file, .. }
        | Step::Stat { file }
        | Step::Utimens { file }
        | Step::Chmod { file }
        | Step::Rename { file }
        | Step::Link { file }
        | Step::Symlink { file }
        | Step::Readlink { file }
        | Step::Unlink { file } => Some(*file),
        _ => None,
    }
}

/// The key that chooses the step.
fn key_of(step: &Step) -> &'static str {
    match step {
        Step::Create { .. } => "create",
        Step::Open { .. } => "open",
        Step::Close { .. } => "close",
        Step::ReadWhole { .. } => "read-whole",
        Step::ReadRandom { .. } => "read-random",
        Step::ReadAt { .. } => "read-at",
        Step::WriteWhole { .. } => "write-whole",
        Step::WriteRandom { .. } => "write-random",
        Step::WriteAt { .. } => "write-at",
        Step::Append { .. } => "append",
        Step::Fsync { .. } => "fsync",
        Step::Fdatasync { .. } => "fdatasync",
        Step::Stat { .. } => "stat",
        Step::Utimens { .. } => "utimens",
        Step::Chmod { .. } => "chmod",
        Step::Rename { .. } => "rename",
        Step::Link { .. } => "link",
        Step::Symlink { .. } => "symlink",
        Step::Readlink { .. } => "readlink",
        Step::Unlink { .. } => "unlink",
        Step::Mkdir {} => "mkdir",
        Step::Rmdir {} => "rmdir",
        Step::Readdir {} => "readdir",
        Step::Truncate { .. } => "truncate",
        Step::Fallocate { .. } => "fallocate",
        Step::Delay { .. } => "delay",
        Step::Loop { .. } => "loop",
        Step::Mix { .. } => "mix",
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Handle {
    open: Known,
    writable: Known,
}

const CLOSED: Handle = Handle { open: Known::No, writable: Known::Unsure };

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
                (number, Handle { open: a.open.joined(b.open), writable: a.writable.joined(b.writable) })
            })
            .collect();
        State { handles, same: if self.same == other.same { self.same } else { Same::Fine } }
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

struct Walk<'a> {
    check: &'a mut Checker,
    rounds: Rounds,
    direct: bool,
    whole_is_aligned: bool,
}

impl Walk<'_> {
    fn inside(&mut self, segment: impl Into<crate::keypath::Segment>, walk: impl FnOnce(&mut Walk<'_>)) {
        let (rounds, direct, whole_is_aligned) = (self.rounds, self.direct, self.whole_is_aligned);
        self.check.inside(segment, |check| walk(&mut Walk { check, rounds, direct, whole_is_aligned }));
    }

    fn steps(&mut self, key: &str, steps: &[Step], state: &mut State) {
        self.inside(key, |walk| {
            for (index, step) in steps.iter().enumerate() {
                walk.inside(index, |walk| walk.inside(key_of(step), |walk| walk.step(step, state)));
            }
        });
    }

    fn step(&mut self, step: &Step, state: &mut State) {
        if let Some(pick) = picked(step) {
            self.pick(pick, state);
            state.same = if matches!(step, Step::Unlink { .. }) { Same::Removed } else { Same::Fine };
        }
        match step {
            Step::Create { handle } => {
                self.opens(*handle, Known::Yes, state);
                state.same = Same::Fine;
            }
            Step::Open { handle, write, .. } => {
                self.opens(*handle, if *write { Known::Yes } else { Known::No }, state);
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
            Step::Fsync { handle } | Step::Fdatasync { handle } => self.uses(*handle, Wants::Any, state),
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
            Step::Delay { time } => {
                self.check.positive(["time"], "the delay", time.0, "leave the step out for no delay");
            }
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
            | Step::Utimens { .. }
            | Step::Chmod { .. }
            | Step::Rename { .. }
            | Step::Link { .. }
            | Step::Symlink { .. }
            | Step::Readlink { .. }
            | Step::Unlink { .. }
            | Step::Mkdir {}
            | Step::Rmdir {}
            | Step::Readdir {} => {}
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
            Pick::Random | Pick::Sequential | Pick::RoundRobin | Pick::Same => {}
        }
    }

    fn number(&mut self, handle: u16) {
        if handle > HANDLE_MAX {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is beyond what a process may have open"),
                format!("number handles from 0 to {HANDLE_MAX}"),
            );
        }
    }

    fn opens(&mut self, handle: u16, writable: Known, state: &mut State) {
        self.number(handle);
        if state.handle(handle).open == Known::Yes {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is opened while it is still open"),
                "close it before, at the end of the steps at the latest, or use another `handle`",
            );
        }
        state.handles.insert(handle, Handle { open: Known::Yes, writable });
    }

    fn uses(&mut self, handle: u16, wants: Wants, state: &mut State) {
        self.number(handle);
        let now = state.handle(handle);
        if now.open == Known::No {
            self.check.problem(
                ["handle"],
                format!("handle {handle} is used before it is open"),
                "put a `create` or an `open` before this step",
            );
            state.handles.insert(handle, Handle { open: Known::Unsure, writable: Known::Unsure });
        } else if wants == Wants::Writing && now.writable == Known::No {
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
        if self.direct && !(self.whole_is_aligned && request.0.is_multiple_of(DIRECT_ALIGN_BYTES)) {
            self.not_direct(["request"]);
        }
    }

    fn offset(&mut self, offset: Bytes) {
        if offset.0 > MAX_OFFSET_BYTES {
            self.check.length(["offset"], offset.0);
        }
        if self.direct && !offset.0.is_multiple_of(DIRECT_ALIGN_BYTES) {
            self.not_direct(["offset"]);
        }
    }

    fn sizes(&mut self, sizes: &Distribution) {
        if self.direct && !aligned(sizes) {
            self.not_direct(["size"]);
        }
        self.check.inside("size", |check| {
            check.distribution(sizes, |check, keys, size| check.request(keys, size.0));
        });
    }

    fn not_direct(&mut self, keys: [&str; 1]) {
        self.check.problem(
            keys,
            "direct I/O moves whole blocks only, and the sizes here are not",
            format!("use fixed multiples of {DIRECT_ALIGN_BYTES} for steps and files, or another `cache`"),
        );
    }
}
