//! Copies a file into another set, call by call: removes an old copy, opens both files, reads and writes the data,
//! closes both, and removes the original if the file is moved.

use crate::program::compile::Choose;
use crate::program::op::{Call, CallOp};
use plumb_workload::OpKind;

/// Settings for copying a file into another set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::program) struct CopyPlan {
    pub(in crate::program) file: Choose,
    pub(in crate::program) request: u64,
    pub(in crate::program) moves: bool,
    /// Rules for opening the file and for creating its copy.
    pub(in crate::program) open: u16,
    pub(in crate::program) create: u16,
}

/// The next call of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyStage {
    RemoveOld,
    Open,
    Create,
    Read,
    Write,
    CloseFile,
    CloseCopy,
    RemoveFile,
}

/// Progress of copying a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copying {
    pub(super) name: u32,
    pub(super) stage: CopyStage,
    offset: u64,
    end: u64,
}

impl Copying {
    /// Starts copying a file of `end` bytes.
    pub(super) fn new(name: u32, end: u64, is_copied: bool) -> Copying {
        let stage = if is_copied { CopyStage::RemoveOld } else { CopyStage::Open };
        Copying { name, stage, offset: 0, end }
    }

    fn length(&self, plan: &CopyPlan) -> u64 {
        plan.request.min(self.end - self.offset)
    }

    /// Returns the current call. The file has the handle `first`, and its copy the next one.
    pub(super) fn op(&self, plan: &CopyPlan, first: u16) -> CallOp {
        let there =
            |kind: OpKind, call: Call| CallOp { handle: first + 1, other: CallOp::ON_COPY, ..CallOp::new(kind, call) };
        let here = |kind: OpKind, call: Call| CallOp { handle: first, ..CallOp::new(kind, call) };
        let op = match self.stage {
            CopyStage::RemoveOld => there(OpKind::Unlink, Call::Unlink),
            CopyStage::Open => CallOp { rules: plan.open, ..here(OpKind::Open, Call::Open) },
            CopyStage::Create => CallOp { rules: plan.create, ..there(OpKind::Create, Call::Open) },
            CopyStage::Read => {
                CallOp { offset: self.offset, length: self.length(plan), ..here(OpKind::Read, Call::CopyRead) }
            }
            CopyStage::Write => {
                CallOp { offset: self.offset, length: self.length(plan), ..there(OpKind::Write, Call::CopyWrite) }
            }
            CopyStage::CloseFile => here(OpKind::Close, Call::Close),
            CopyStage::CloseCopy => there(OpKind::Close, Call::Close),
            CopyStage::RemoveFile => here(OpKind::Unlink, Call::Unlink),
        };
        CallOp { counts: true, ..op }
    }

    /// Moves on to the next call; returns `false` if there is none.
    pub(super) fn advance(&mut self, plan: &CopyPlan) -> bool {
        self.stage = match self.stage {
            CopyStage::RemoveOld => CopyStage::Open,
            CopyStage::Open => CopyStage::Create,
            CopyStage::Create if self.end > 0 => CopyStage::Read,
            CopyStage::Read => CopyStage::Write,
            CopyStage::Write => {
                self.offset += self.length(plan);
                if self.offset < self.end { CopyStage::Read } else { CopyStage::CloseFile }
            }
            CopyStage::Create => CopyStage::CloseFile,
            CopyStage::CloseFile => CopyStage::CloseCopy,
            CopyStage::CloseCopy if plan.moves => CopyStage::RemoveFile,
            CopyStage::CloseCopy | CopyStage::RemoveFile => return false,
        };
        true
    }
}
