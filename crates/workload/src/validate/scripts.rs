//! Rules of scripts.

use super::{Checker, MAX_OFFSET_BYTES, MAX_OP_BYTES};
use crate::job::Names;
use crate::script::{
    Each, FileOrder, FileStep, FileWork, ListedRecord, Moves, OpenStep, Postmark, PostmarkStep, RecordOrder,
    ScratchTarget, Script, ScriptContent, ScriptStep, Transfer, Via, Which,
};
use crate::units::Bytes;
use std::path::{Component, Path, PathBuf};

/// Handles that a script may have at once.
const HANDLES_MAX: usize = 64;

/// Levels of [`Each`] inside of each other.
const DEPTH_MAX: usize = 8;

/// Records of a shuffled order: their numbers are in memory.
const SHUFFLED_MAX: u64 = 1 << 32;

/// The names of a scratch directory.
pub(super) fn target(check: &mut Checker, target: &ScratchTarget) {
    super::jobs::names(check, &target.names);
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

/// What a handle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Handle {
    open: bool,
    stream: bool,
    mapped_bytes: u64,
}

/// A script of workers that count so many, on so many files.
pub(super) fn check(check: &mut Checker, script: &Script, workers: u32, files: usize) {
    if script.all_steps().next().is_none() {
        check.problem(
            ["steps"],
            "the script has no steps",
            "add one, such as `{ open = { write = true, create = true } }`",
        );
    }
    memory(check, script);
    let mut rules = Rules { files, workers, handles: [Handle::default(); HANDLES_MAX], has_postmark: false };
    for (key, steps) in ["before", "steps", "after"].into_iter().zip(script.parts()) {
        rules.has_postmark = false;
        check.inside(key, |check| rules.steps(check, steps, Place { depth: 0, in_each: false }));
    }
}

fn memory(check: &mut Checker, script: &Script) {
    let align = script.memory.align.0;
    if !align.is_power_of_two() || align > 1 << 30 {
        check.problem(["memory", "align"], format!("nothing is aligned to {align}"), "use a power of two up to 1 GiB");
    }
    for (key, size) in [("spread", script.memory.spread), ("purge-line", script.memory.purge_line)] {
        check.positive_if_some(["memory", key], "a size", size.map(|size| size.0));
        if size.is_some_and(|Bytes(bytes)| bytes > 1 << 32) {
            check.problem(["memory", key], "this is more than the memory of a worker", "use at most 4 GiB");
        }
    }
    if let ScriptContent::Words { every, .. } = &script.content
        && (every.0 < 8 || every.0 % 8 != 0)
    {
        check.problem(
            ["content", "words", "every"],
            format!("a word every {} bytes is none", every.0),
            "use a multiple of 8; 8 fills everything",
        );
    }
}

/// Where a step stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    depth: usize,
    in_each: bool,
}

struct Rules {
    files: usize,
    workers: u32,
    handles: [Handle; HANDLES_MAX],
    has_postmark: bool,
}

impl Rules {
    fn steps(&mut self, check: &mut Checker, steps: &[ScriptStep], place: Place) {
        for (index, step) in steps.iter().enumerate() {
            check.inside(index, |check| self.step(check, step, place));
        }
    }

    fn step(&mut self, check: &mut Checker, step: &ScriptStep, place: Place) {
        for file in step.files() {
            self.file(check, file, place);
        }
        if let Some(handle) = step.handle()
            && usize::from(handle) >= HANDLES_MAX
        {
            check.problem([], format!("there is no handle {handle}"), format!("use 0 to {}", HANDLES_MAX - 1));
            return;
        }
        match step {
            ScriptStep::Open(open) => self.open(check, open),
            ScriptStep::Close { handle } => {
                self.is_open(check, *handle);
                self.handles[usize::from(*handle)] = Handle::default();
            }
            ScriptStep::Map(map) => {
                self.is_open(check, map.handle);
                check.length(["map", "length"], map.length.0);
                self.handles[usize::from(map.handle)].mapped_bytes = map.length.0;
            }
            ScriptStep::Msync { handle } => {
                if self.handles[usize::from(*handle)].mapped_bytes == 0 {
                    check.problem([], format!("nothing is mapped as handle {handle} here"), "put a `map` before it");
                }
            }
            ScriptStep::Unmap { handle } => self.handles[usize::from(*handle)].mapped_bytes = 0,
            ScriptStep::Fsync { handle }
            | ScriptStep::Fdatasync { handle }
            | ScriptStep::Flush { handle }
            | ScriptStep::Seek { handle, .. }
            | ScriptStep::Truncate { handle, .. }
            | ScriptStep::Lock { handle, .. } => self.is_open(check, *handle),
            ScriptStep::Transfer(transfer) => {
                self.is_open(check, transfer.handle);
                check.inside("transfer", |check| {
                    self::transfer(check, transfer, self.handles[usize::from(transfer.handle)]);
                });
            }
            ScriptStep::Each(each) => self.each(check, each, place),
            ScriptStep::Postmark(step) => check.inside("postmark", |check| self.postmark(check, step, place)),
            ScriptStep::OfFile(file) => self::file(check, file),
            ScriptStep::HoldDirectories(held) => {
                check.positive(
                    ["hold-directories", "count"],
                    "the number of directories",
                    held.count.into(),
                    "use at least 1",
                );
                check.positive(
                    ["hold-directories", "per-directory"],
                    "the number of files",
                    held.per_directory.into(),
                    "use at least 1",
                );
            }
            ScriptStep::List { .. }
            | ScriptStep::EndList {}
            | ScriptStep::Sync {}
            | ScriptStep::Unlink { .. }
            | ScriptStep::Stat { .. }
            | ScriptStep::Access { .. }
            | ScriptStep::Link { .. }
            | ScriptStep::Symlink { .. }
            | ScriptStep::Mkdir { .. }
            | ScriptStep::Rmdir { .. }
            | ScriptStep::Pause { .. } => {}
        }
    }

    fn file(&self, check: &mut Checker, file: Which, place: Place) {
        let (number, what) = match file {
            Which::Nth(number) => (u64::from(number), "the step names it"),
            Which::Own if place.in_each => return,
            Which::Own => (u64::from(self.workers.saturating_sub(1)), "it is the last worker's own"),
        };
        if number >= self.files as u64 {
            check.problem(
                [],
                format!("the target has {} names, and none of number {number}; {what}", self.files),
                "give the target more names; they count from 0",
            );
        }
    }

    fn open(&mut self, check: &mut Checker, open: &OpenStep) {
        let handle = &mut self.handles[usize::from(open.handle)];
        if handle.open {
            check.problem(
                ["open", "handle"],
                format!("the handle {} is open already", open.handle),
                "close it first, or use another number",
            );
        }
        *handle = Handle { open: true, stream: open.stream.is_some(), mapped_bytes: 0 };
        if !open.read && !open.write {
            check.problem(["open"], "it is opened neither to be read nor to be written", "add `read` or `write`");
        }
        if open.exclusive && !open.create {
            check.problem(["open", "exclusive"], "`exclusive` is about files that are made", "add `create`");
        }
        if open.mode > 0o7777 {
            check.problem(["open", "mode"], format!("{:o} are no permissions", open.mode), "use at most 0o7777");
        }
    }

    fn is_open(&self, check: &mut Checker, handle: u8) {
        if !self.handles[usize::from(handle)].open {
            check.problem([], format!("nothing is open as handle {handle} here"), "put an `open` before it");
        }
    }

    fn postmark(&mut self, check: &mut Checker, step: &PostmarkStep, place: Place) {
        check.inside("run", |check| postmark(check, &step.run));
        if place.in_each {
            check.problem([], "a run has its own order of files", "take it out of `each`");
        }
        // It has all of the memory and the first handle.
        self.has_postmark = match self.has_postmark {
            true => {
                check.problem([], "there are two of PostMark's parts in one", "give each a phase of its own");
                true
            }
            false => true,
        };
        if self.handles[0].open {
            check.problem([], "PostMark's files are opened as handle 0, which is open", "close it first");
        }
        if self.workers != step.run.threads {
            check.problem(
                ["run", "threads"],
                format!("{} workers cannot be {} threads", self.workers, step.run.threads),
                "give the group a `count` of as many as `threads`",
            );
        }
    }

    fn each(&mut self, check: &mut Checker, each: &Each, place: Place) {
        check.inside("each", |check| {
            let last = match &each.order {
                FileOrder::Listed(files) => files.iter().copied().max().map(u64::from),
                FileOrder::Forward | FileOrder::Backward => {
                    check.positive(["count"], "the number of files", each.count.into(), "use at least 1");
                    (u64::from(each.first) + u64::from(each.count)).checked_sub(1)
                }
            };
            if last.is_some_and(|last| last >= self.files as u64) {
                check.problem([], format!("the target has only {} names", self.files), "give it more, or use fewer");
            }
            if place.depth >= DEPTH_MAX {
                check.problem(["steps"], "this is too deep", format!("use at most {DEPTH_MAX} levels of `each`"));
                return;
            }
            let inner = Place { depth: place.depth + 1, in_each: true };
            check.inside("steps", |check| self.steps(check, &each.steps, inner));
        });
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
        check.problem(["of-file", "to"], "a link leads to a file", "give the number of one as `to`");
    }
    if step.listed && !matches!(step.does, FileWork::Look | FileWork::Remove) {
        check.problem(["of-file", "listed"], "a directory names no new files", "leave `listed` out");
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
            if depth > super::phases::DEPTH_MAX {
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
    if handle.open && !fits {
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
