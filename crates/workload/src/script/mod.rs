//! Scripts: exactly these calls, in this order, as the classic tools make them.
//!
//! A [`Script`] is what one worker does in one phase. Its steps go to files of a [`ScratchTarget`], by their number there.
//! What is before the clock starts, in it and behind it is said, so that a rate means what the tool's rate means.

mod content;
mod files;
pub mod postmark;
mod step;
mod transfer;

pub use content::{ScriptContent, ScriptMemory};
pub use files::{FileStep, FileWork, Held, ScratchTarget, Which};
pub use postmark::{Postmark, PostmarkLocation, PostmarkPart, PostmarkStep};
pub use step::{
    Advice, Each, FileOrder, LockKind, MapStep, MissingFile, OpenPromise, OpenStep, ScriptStep, StdioBuffer,
    StreamLocks,
};
pub use transfer::{Detours, ListedRecord, Moves, Pauses, RecordOrder, Shuffle, Transfer, Via};

use crate::op::OpKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What one worker does: calls in order, before, in and behind the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Script {
    /// Ahead of the gate: neither timed nor counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<ScriptStep>,
    /// In the clock. Every call is an op.
    pub steps: Vec<ScriptStep>,
    /// Behind the clock: neither timed nor counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ScriptStep>,
    /// What the memory holds that is written.
    #[serde(default)]
    pub content: ScriptContent,
    /// Where that memory lies.
    #[serde(default)]
    pub memory: ScriptMemory,
    /// Hold what is read against the content, in the worker's time; in no op's but where it is a handful of words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks: bool,
    /// What is left of the steps when the worker is stopped.
    #[serde(default)]
    pub rest: Rest,
    /// Keep a record of every op.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_ops: bool,
}

/// What is done of the steps that are left when a worker is stopped; none of it is timed or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// All but the transfers.
    #[default]
    Calls,
    /// All.
    All,
}

impl Script {
    /// A script of these steps alone.
    pub fn new(steps: Vec<ScriptStep>) -> Script {
        Script {
            before: Vec::new(),
            steps,
            after: Vec::new(),
            content: ScriptContent::default(),
            memory: ScriptMemory::default(),
            checks: false,
            rest: Rest::default(),
            log_ops: false,
        }
    }

    /// Its three parts, in order.
    pub fn parts(&self) -> [&[ScriptStep]; 3] {
        [&self.before, &self.steps, &self.after]
    }

    /// All its steps, those inside of others too, each before what is inside of it.
    pub fn all_steps(&self) -> impl Iterator<Item = &ScriptStep> {
        self.parts().into_iter().flat_map(walk)
    }

    /// The kinds of op that its clock sees.
    pub fn kinds(&self) -> BTreeSet<OpKind> {
        walk(&self.steps).flat_map(ScriptStep::kinds).copied().collect()
    }

    /// Whether any of its steps, in the clock or out of it, changes a file or a directory.
    pub fn changes(&self) -> bool {
        self.all_steps().any(ScriptStep::changes)
    }

    /// The transfers that its clock sees.
    pub fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        walk(&self.steps).filter_map(|step| match step {
            ScriptStep::Transfer(transfer) => Some(transfer),
            _ => None,
        })
    }

    /// The parts of PostMark's runs that its clock sees.
    pub fn postmarks(&self) -> impl Iterator<Item = &PostmarkStep> {
        walk(&self.steps).filter_map(|step| match step {
            ScriptStep::Postmark(step) => Some(&**step),
            _ => None,
        })
    }

    /// Whether its clock sees writes.
    pub fn writes(&self) -> bool {
        self.transfers().any(|transfer| transfer.does.writes())
            || self.postmarks().any(|step| step.part.writes(&step.run))
    }

    /// Whether each write of its clock is flushed in it: every handle that is written through is flushed behind.
    pub fn flushes(&self) -> bool {
        let mut dirty = false;
        let mut flushed = false;
        for step in walk(&self.steps) {
            match step {
                ScriptStep::Transfer(transfer) if transfer.writes() => (dirty, flushed) = (true, false),
                ScriptStep::Postmark(step) if step.part.writes(&step.run) => (dirty, flushed) = (true, false),
                ScriptStep::Fsync { .. }
                | ScriptStep::Msync { .. }
                | ScriptStep::Fdatasync { .. }
                | ScriptStep::Sync {} => flushed = dirty,
                ScriptStep::OfFile(file) if file.does == FileWork::Make && file.longest_bytes() > 0 => {
                    (dirty, flushed) = (true, file.flush);
                }
                _ => {}
            }
        }
        flushed
    }

    /// Whether all that it moves goes around the page cache.
    pub fn is_direct(&self) -> bool {
        let mut direct = BTreeSet::new();
        let mut moves = false;
        for step in self.all_steps() {
            match step {
                ScriptStep::Open(open) if open.direct => {
                    direct.insert(open.handle);
                }
                ScriptStep::Open(open) => {
                    direct.remove(&open.handle);
                }
                ScriptStep::Postmark(_) => return false,
                ScriptStep::Transfer(transfer) if !direct.contains(&transfer.handle) => return false,
                ScriptStep::Transfer(_) => moves = true,
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
pub fn walk(steps: &[ScriptStep]) -> impl Iterator<Item = &ScriptStep> {
    let mut waiting: Vec<&ScriptStep> = steps.iter().rev().collect();
    std::iter::from_fn(move || {
        let step = waiting.pop()?;
        waiting.extend(step.inside().iter().rev());
        Some(step)
    })
}
