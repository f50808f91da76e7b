//! Programs: steps over a file set or over named files. Each step makes one or a few calls.
//!
//! A [`Program`] describes the work of each worker of a group.
//!
//! Over a file set (a [tree](crate::TreeTarget)), a worker owns a fixed share of the files. Equal seeds therefore give equal
//! ops, whatever the other workers do. The steps repeat until the phase ends, and each step draws its file.
//!
//! Over named files (a [`ScratchTarget`]), the steps run once, making exactly the calls of the classic tools in their order.
//! The program states what happens before, during and after the timed part, so that a rate means what the tool's rate
//! means. Each step is timed separately, except for delays.

mod amount;
mod content;
mod facts;
mod files;
mod load_file;
mod mpi;
pub mod postmark;
mod shared;
mod step;
mod transfer;
mod trees;

pub use amount::{Amount, Draw, TableRow, Variable};
pub use content::{PacketKind, Packets, ProgramContent, ProgramMemory};
pub use facts::Needs;
pub use files::{FileStep, FileWork, Held, Pick, ScratchTarget};
pub use load_file::{LoadAct, LoadFile, LoadFileError, LoadFileStep, LoadOp};
pub use mpi::{MpiOpen, MpiView};
pub use postmark::{Postmark, PostmarkLocation, PostmarkPart, PostmarkStep};
pub use shared::{
    EventUnit, ExistingTree, FinishUnit, SharedFile, SharedPick, SharedStep, SharedTransfer, SharedTree, SharedWork,
    TURN_HANDLES, Together, TreeAccess, shared_name, walk_shared,
};
pub use step::{
    Advice, Choice, CopyStep, Each, FileOrder, LockKind, MapStep, MissingFile, OpenPromise, OpenStep, StdioBuffer,
    Step, StreamLocks,
};
pub use transfer::{Detours, ListedRecord, Moves, Pauses, RecordOrder, SegmentOrder, Segments, Shuffle, Transfer, Via};
pub use trees::{
    ItemName, ItemOrder, MakeItem, Renewal, TreeEntry, TreeName, TreeNames, TreeStep, TreeWork, Wall, put_number,
};

use crate::op::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Work of one worker, as lists of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Program {
    /// Steps before the barrier, neither timed nor counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Step>,
    /// Timed steps. Every call is an op.
    pub steps: Vec<Step>,
    /// Steps after the clock has stopped, neither timed nor counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Step>,
    /// Contents of the memory to write from. A file set has its own content.
    #[serde(default)]
    pub content: ProgramContent,
    /// Placement of the memory for reads and writes.
    #[serde(default)]
    pub memory: ProgramMemory,
    /// Compare read data with the content. The comparison counts in the worker's time, but in an op's time only
    /// for a handful of words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks: bool,
    /// Treatment of the steps that remain when the worker is stopped.
    #[serde(default)]
    pub rest: Rest,
    /// Record every op, for logs of single ops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_ops: bool,
    /// Count one `txn` op per pass through the steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_transactions: bool,
    /// State shared with other workers, for steps over shared file sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
}

/// Treatment of the steps that remain when a worker is stopped. They are neither timed nor counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Run all of them except the transfers.
    #[default]
    Calls,
    /// Run all of them, transfers too.
    All,
}

impl Program {
    /// Returns a program of only these steps.
    pub fn new(steps: Vec<Step>) -> Program {
        Program {
            before: Vec::new(),
            steps,
            after: Vec::new(),
            content: ProgramContent::default(),
            memory: ProgramMemory::default(),
            checks: false,
            rest: Rest::default(),
            log_ops: false,
            count_transactions: false,
            together: None,
        }
    }

    /// Returns its three parts in order.
    pub fn parts(&self) -> [&[Step]; 3] {
        [&self.before, &self.steps, &self.after]
    }

    /// Returns all steps, including nested ones. Each step comes before the steps nested in it.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.parts().into_iter().flat_map(walk)
    }

    /// Returns the kinds of op in the timed part.
    pub fn kinds(&self) -> BTreeSet<OpKind> {
        let shared = self.shared_steps().into_iter().filter_map(|step| step.does.kind());
        walk(&self.steps).flat_map(Step::kinds).copied().chain(shared).collect()
    }

    /// Returns the steps over shared file sets. Each step comes before the steps nested in it.
    pub fn shared_steps(&self) -> Vec<&SharedStep> {
        let mut found = Vec::new();
        for step in &self.steps {
            if let Step::Shared(step) = step {
                walk_shared(step, &mut |step| found.push(step));
            }
        }
        found
    }

    /// Returns the steps over shared file sets with their full names, such as `outer.inner`.
    pub fn shared_names(&self) -> Vec<(String, &SharedStep)> {
        let mut found = Vec::new();
        for step in &self.steps {
            if let Step::Shared(step) = step {
                shared::add_named(step, "", &mut found);
            }
        }
        found
    }

    /// Returns the steps that copy files into other file sets.
    pub fn copies(&self) -> impl Iterator<Item = &CopyStep> {
        walk(&self.steps).filter_map(|step| match step {
            Step::Copy(copy) => Some(copy),
            _ => None,
        })
    }

    /// Returns `true` if the steps are over shared file sets.
    pub fn is_over_shared_sets(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Shared(_)))
    }

    /// Returns the names of all targets in the steps over shared file sets.
    pub fn shared_sets(&self) -> BTreeSet<&str> {
        BTreeSet::from_iter(self.shared_steps().into_iter().filter_map(|step| step.file.set.as_deref()))
    }

    /// Returns `true` if any step, timed or not, changes a file or a directory.
    pub fn changes(&self) -> bool {
        self.all_steps().any(Step::changes)
    }

    /// Returns `true` if a timed step changes a file or a directory.
    pub fn changes_in_clock(&self) -> bool {
        walk(&self.steps).any(Step::changes)
    }

    /// Returns `true` if timed writes are flushed after the clock has stopped, so that the flush is not measured.
    pub fn flushes_outside_clock(&self) -> bool {
        self.writes() && walk(&self.after).any(Step::flushes)
    }

    pub fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        walk(&self.steps).filter_map(|step| match step {
            Step::Transfer(transfer) => Some(transfer),
            _ => None,
        })
    }

    /// Returns the timed parts of PostMark runs.
    pub fn postmarks(&self) -> impl Iterator<Item = &PostmarkStep> {
        walk(&self.steps).filter_map(|step| match step {
            Step::Postmark(step) => Some(&**step),
            _ => None,
        })
    }

    /// Returns the step that runs a load file, if any.
    pub fn load_file(&self) -> Option<&LoadFileStep> {
        self.steps.iter().find_map(|step| match step {
            Step::LoadFile(step) => Some(&**step),
            _ => None,
        })
    }

    /// Returns `true` if the steps are over a file set instead of named files, as far as the steps show.
    pub fn is_over_file_set(&self) -> bool {
        let needs = |needs: Needs| self.all_steps().any(|step| step.needs() == needs);
        !self.is_over_shared_sets() && (needs(Needs::FileSet) || !needs(Needs::Names))
    }

    /// Returns how many of a target's files, counted from the first, these workers may open to move records.
    pub fn opened_files(&self, workers: u32, files: u64) -> u64 {
        let goes_over_files = self.all_steps().any(|step| matches!(step, Step::Each(_)));
        let opened = self.all_steps().filter_map(|step| match step {
            Step::Open(OpenStep { file: Pick::Nth(number), .. }) => Some(u64::from(*number) + 1),
            Step::Open(_) if goes_over_files => Some(files),
            Step::Open(_) => Some(workers.into()),
            _ => None,
        });
        opened.max().unwrap_or(0).min(files)
    }

    /// Returns the length in bytes of the longest file that one step makes.
    pub fn longest_file_bytes(&self) -> u64 {
        let made = self.all_steps().filter_map(|step| match step {
            Step::OfFile(file) if file.does == FileWork::Make => Some(file.longest_bytes()),
            Step::Trees(step) => Some(step.made_bytes()),
            _ => None,
        });
        made.max().unwrap_or(0)
    }

    /// Returns the steps over trees and their items, timed or not.
    pub fn trees(&self) -> impl Iterator<Item = &TreeStep> {
        self.all_steps().filter_map(|step| match step {
            Step::Trees(step) => Some(&**step),
            _ => None,
        })
    }

    /// Returns `true` if the program compares read data with what was written.
    pub fn compares(&self) -> bool {
        self.checks || self.trees().any(|step| step.read_back_bytes() > 0)
    }

    /// Returns how often the program waits for all workers of its phase, at `meet` steps and at stonewalls.
    pub fn meetings(&self) -> usize {
        let waits = |step: &&Step| match step {
            Step::Meet {} | Step::EndIfWrong {} => true,
            step => matches!(step.wall(), Some(Wall::After(_))),
        };
        self.all_steps().filter(waits).count()
    }

    /// Returns the options of all files opened with MPI-IO.
    pub fn opened_by_mpi(&self) -> impl Iterator<Item = &MpiOpen> {
        self.all_steps().filter_map(|step| match step {
            Step::Open(open) => open.mpi.as_deref(),
            _ => None,
        })
    }

    /// Returns `true` if records are moved or flushed collectively, by all ranks that opened the file.
    pub fn moves_together(&self) -> bool {
        let is_shared = self.opened_by_mpi().any(|open| open.ranks > 1);
        let together = |transfer: &Transfer| transfer.flushes || transfer.via.is_together();
        is_shared && self.transfers().any(together)
    }

    /// Returns `true` if the timed part contains delays, or pauses between its records.
    pub fn waits(&self) -> bool {
        walk(&self.steps).any(|step| matches!(step, Step::Delay { .. }))
            || self.transfers().any(Transfer::waits)
            || self.trees().any(|step| step.waits_ppm > 0)
            || self.shared_steps().iter().any(|step| matches!(step.does, SharedWork::Delay { .. }))
    }

    /// Returns `true` if the timed part writes data with transfers, PostMark or shared steps. Other steps do not count.
    pub fn writes(&self) -> bool {
        self.transfers().any(Transfer::writes)
            || self.postmarks().any(|step| step.part.writes(&step.run))
            || self.shared_steps().iter().any(|step| step.does.kind() == Some(OpKind::Write))
    }

    /// Returns `true` if a flush follows the last write of the timed part. A flush of any handle counts for all handles.
    pub fn flushes(&self) -> bool {
        if self.is_over_shared_sets() {
            return shared::flushes_all(&self.shared_steps());
        }
        let mut dirty = false;
        let mut flushed = false;
        for step in walk(&self.steps) {
            match step {
                Step::Transfer(transfer) if transfer.writes() => (dirty, flushed) = (true, false),
                Step::Postmark(step) if step.part.writes(&step.run) => (dirty, flushed) = (true, false),
                step if step.flushes() => flushed = dirty,
                Step::OfFile(file) if file.does == FileWork::Make && file.longest_bytes() > 0 => {
                    (dirty, flushed) = (true, file.flush);
                }
                Step::Trees(step) if step.made_bytes() > 0 => (dirty, flushed) = (true, step.flushes()),
                _ => {}
            }
        }
        flushed
    }

    /// Returns `true` if any timed write is flushed within the timed part, by a call or by the file's open flags.
    pub(crate) fn flushes_some(&self) -> bool {
        let promises = |step: &Step| matches!(step, Step::Open(open) if open.promise != OpenPromise::Plain);
        let makes = |step: &Step| match step {
            Step::OfFile(file) => file.flush,
            Step::Trees(step) => step.flushes(),
            _ => false,
        };
        walk(&self.steps).any(|step| step.flushes() || makes(step))
            || self.transfers().any(|transfer| transfer.flushes)
            || self.all_steps().any(promises)
            || self.shared_steps().iter().any(|step| step.flushes())
    }

    /// Returns `true` if all data bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        if self.is_over_shared_sets() {
            let steps = self.shared_steps();
            let mut openers = steps.iter().filter(|step| step.file.set.is_some() && step.may_open()).peekable();
            return openers.peek().is_some() && openers.all(|step| step.file.direct);
        }
        let mut direct = BTreeSet::new();
        let mut moves = false;
        for step in self.all_steps() {
            match step {
                Step::Open(open) if open.direct => {
                    direct.insert(open.handle);
                }
                Step::Open(open) => {
                    direct.remove(&open.handle);
                }
                Step::Postmark(_) => return false,
                Step::Trees(step) if step.item_bytes() > 0 && !step.direct => return false,
                Step::Trees(step) => moves |= step.item_bytes() > 0,
                Step::Transfer(transfer) if !direct.contains(&transfer.handle) => return false,
                Step::Transfer(_) => moves = true,
                _ => {}
            }
        }
        moves
    }

    /// Returns the offset at which the furthest timed transfer ends, in bytes; 0 without transfers.
    pub fn reach_bytes(&self) -> u64 {
        self.transfers().map(Transfer::end).max().unwrap_or(0)
    }
}

/// Walks steps and their nested steps, each step before those nested in it.
pub fn walk(steps: &[Step]) -> impl Iterator<Item = &Step> {
    let mut waiting: Vec<&Step> = steps.iter().rev().collect();
    std::iter::from_fn(move || {
        let step = waiting.pop()?;
        waiting.extend(step.inside().into_iter().rev().flat_map(|steps| steps.iter().rev()));
        Some(step)
    })
}
