//! Programs: steps over a file set or over named files, each a call or a few.
//!
//! A [`Program`] is what each worker of a group does. Over a file set (a [tree](crate::TreeTarget)) a worker owns a fixed
//! share of the files, so that equal seeds give equal ops whatever the other workers do; the steps repeat until the phase
//! ends, and which file a step goes to is drawn. Over named files (a [`ScratchTarget`]) the steps are made once, exactly
//! these calls in this order, as the classic tools make them: what is before the clock starts, in it and behind it is said,
//! so that a rate means what the tool's rate means. Every step has its own time; delays are not timed.

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

/// What one worker does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Program {
    /// Ahead of the barrier: neither timed nor counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Step>,
    /// In the clock. Every call is an op.
    pub steps: Vec<Step>,
    /// Behind the clock: neither timed nor counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Step>,
    /// What the memory holds that is written; a file set has its own content.
    #[serde(default)]
    pub content: ProgramContent,
    /// Where that memory lies.
    #[serde(default)]
    pub memory: ProgramMemory,
    /// Hold what is read against the content, in the worker's time; in no op's but where it is a handful of words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks: bool,
    /// What is left of the steps when the worker is stopped.
    #[serde(default)]
    pub rest: Rest,
    /// Keep a record of every op.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_ops: bool,
    /// Count one `txn` each time the steps have run through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_transactions: bool,
    /// Over shared file sets: what its workers have in common with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
}

/// What is done of the steps that are left when a worker is stopped; none of it is timed or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// All but the transfers.
    #[default]
    Calls,
    /// All.
    All,
}

impl Program {
    /// These steps alone.
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

    /// Its three parts, in order.
    pub fn parts(&self) -> [&[Step]; 3] {
        [&self.before, &self.steps, &self.after]
    }

    /// All its steps, those inside of others too, each before what is inside of it.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.parts().into_iter().flat_map(walk)
    }

    /// The kinds of op that its clock sees.
    pub fn kinds(&self) -> BTreeSet<OpKind> {
        let shared = self.shared_steps().into_iter().filter_map(|step| step.does.kind());
        walk(&self.steps).flat_map(Step::kinds).copied().chain(shared).collect()
    }

    /// Its steps over shared file sets, each before those inside of it.
    pub fn shared_steps(&self) -> Vec<&SharedStep> {
        let mut found = Vec::new();
        for step in &self.steps {
            if let Step::Shared(step) = step {
                walk_shared(step, &mut |step| found.push(step));
            }
        }
        found
    }

    /// The same, each with its full name: `outer.inner` within another.
    pub fn shared_names(&self) -> Vec<(String, &SharedStep)> {
        let mut found = Vec::new();
        for step in &self.steps {
            if let Step::Shared(step) = step {
                shared::add_named(step, "", &mut found);
            }
        }
        found
    }

    /// Its steps that copy files into other file sets.
    pub fn copies(&self) -> impl Iterator<Item = &CopyStep> {
        walk(&self.steps).filter_map(|step| match step {
            Step::Copy(copy) => Some(copy),
            _ => None,
        })
    }

    /// Whether its steps are over shared file sets.
    pub fn is_over_shared_sets(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Shared(_)))
    }

    /// The targets that its steps over shared file sets name.
    pub fn shared_sets(&self) -> BTreeSet<&str> {
        BTreeSet::from_iter(self.shared_steps().into_iter().filter_map(|step| step.file.set.as_deref()))
    }

    /// Whether any of its steps, in the clock or out of it, changes a file or a directory.
    pub fn changes(&self) -> bool {
        self.all_steps().any(Step::changes)
    }

    /// Whether its clock sees a file or a directory changed.
    pub fn changes_in_clock(&self) -> bool {
        walk(&self.steps).any(Step::changes)
    }

    /// Whether what its clock sees written is flushed behind it, where nobody counts how long that takes.
    pub fn flushes_outside_clock(&self) -> bool {
        self.writes() && walk(&self.after).any(Step::flushes)
    }

    /// The transfers that its clock sees.
    pub fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        walk(&self.steps).filter_map(|step| match step {
            Step::Transfer(transfer) => Some(transfer),
            _ => None,
        })
    }

    /// The parts of PostMark's runs that its clock sees.
    pub fn postmarks(&self) -> impl Iterator<Item = &PostmarkStep> {
        walk(&self.steps).filter_map(|step| match step {
            Step::Postmark(step) => Some(&**step),
            _ => None,
        })
    }

    /// The load file that its workers are clients of, where they are.
    pub fn load_file(&self) -> Option<&LoadFileStep> {
        self.steps.iter().find_map(|step| match step {
            Step::LoadFile(step) => Some(&**step),
            _ => None,
        })
    }

    /// Whether its steps are over a file set rather than over named files, as far as they tell.
    pub fn is_over_file_set(&self) -> bool {
        let needs = |needs: Needs| self.all_steps().any(|step| step.needs() == needs);
        !self.is_over_shared_sets() && (needs(Needs::FileSet) || !needs(Needs::Names))
    }

    /// How many of a target's files `workers` workers may open to move records, counted from the first file.
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

    /// Length of the longest file that it makes by one step, bytes.
    pub fn longest_file_bytes(&self) -> u64 {
        let made = self.all_steps().filter_map(|step| match step {
            Step::OfFile(file) if file.does == FileWork::Make => Some(file.longest_bytes()),
            Step::Trees(step) => Some(step.made_bytes()),
            _ => None,
        });
        made.max().unwrap_or(0)
    }

    /// What all its parts do with trees and their items.
    pub fn trees(&self) -> impl Iterator<Item = &TreeStep> {
        self.all_steps().filter_map(|step| match step {
            Step::Trees(step) => Some(&**step),
            _ => None,
        })
    }

    /// Whether it compares what it reads with what was written.
    pub fn compares(&self) -> bool {
        self.checks || self.trees().any(|step| step.read_back_bytes() > 0)
    }

    /// How often it waits for all workers of its phase: at `meet` steps, and at walls behind which all go on.
    pub fn meetings(&self) -> usize {
        let waits = |step: &&Step| match step {
            Step::Meet {} | Step::EndIfWrong {} => true,
            step => matches!(step.wall(), Some(Wall::After(_))),
        };
        self.all_steps().filter(waits).count()
    }

    /// How the files are opened that it opens by MPI-IO.
    pub fn opened_by_mpi(&self) -> impl Iterator<Item = &MpiOpen> {
        self.all_steps().filter_map(|step| match step {
            Step::Open(open) => open.mpi.as_deref(),
            _ => None,
        })
    }

    /// Whether it moves records, or flushes each of them, only where all ranks that opened the file do.
    pub fn moves_together(&self) -> bool {
        let is_shared = self.opened_by_mpi().any(|open| open.ranks > 1);
        let together = |transfer: &Transfer| transfer.flushes || transfer.via.is_together();
        is_shared && self.transfers().any(together)
    }

    /// Whether it waits in its clock.
    pub fn waits(&self) -> bool {
        walk(&self.steps).any(|step| matches!(step, Step::Delay { .. }))
            || self.transfers().any(Transfer::waits)
            || self.trees().any(|step| step.waits_ppm > 0)
            || self.shared_steps().iter().any(|step| matches!(step.does, SharedWork::Delay { .. }))
    }

    /// Whether the clock sees records of named files written.
    pub fn writes(&self) -> bool {
        self.transfers().any(Transfer::writes)
            || self.postmarks().any(|step| step.part.writes(&step.run))
            || self.shared_steps().iter().any(|step| step.does.kind() == Some(OpKind::Write))
    }

    /// Whether each write of its clock is flushed in it: every handle that is written through is flushed behind.
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

    /// Whether any write of its clock is flushed in it, by a call or by how its file is open.
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

    /// Whether all that it moves goes around the page cache.
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

    /// Bytes from the beginning of a file to the end of what the clock's transfers reach of it.
    pub fn reach_bytes(&self) -> u64 {
        self.transfers().map(Transfer::end).max().unwrap_or(0)
    }
}

/// Steps and what is inside of them, each before what is inside of it.
pub fn walk(steps: &[Step]) -> impl Iterator<Item = &Step> {
    let mut waiting: Vec<&Step> = steps.iter().rev().collect();
    std::iter::from_fn(move || {
        let step = waiting.pop()?;
        waiting.extend(step.inside().into_iter().rev().flat_map(|steps| steps.iter().rev()));
        Some(step)
    })
}
