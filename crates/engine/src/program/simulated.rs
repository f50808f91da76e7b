//! Calls of a program over files on a simulated device, laid out one after another by number.

use super::op::{Call, CallOp, FileInDirectory};
use super::rules::StepRules;
use crate::backend::{Completion, Errno, SyncBackend};
use crate::sim::run::SimDevice;
use plumb_workload::OpKind;
use plumb_workload::program::{FileStep, FileWork};
use std::path::PathBuf;
use std::sync::Arc;

/// A worker's open files.
pub(super) struct SimulatedCalls {
    device: SimDevice,
    rules: Arc<Vec<StepRules>>,
    /// Numbers of the files, by handle.
    opened: Vec<u64>,
}

impl SimulatedCalls {
    /// Allocates `handles` handles.
    pub(super) fn new(device: SimDevice, handles: usize) -> SimulatedCalls {
        SimulatedCalls { device, rules: Arc::default(), opened: vec![0; handles] }
    }

    /// Sets the rules of the following steps.
    pub(super) fn use_rules(&mut self, rules: &Arc<Vec<StepRules>>) {
        self.rules = Arc::clone(rules);
    }

    /// Returns the file of an op. The device has no directories.
    fn file(&mut self, op: &CallOp) -> u64 {
        let file = u64::from(FileInDirectory::from(op.file).place);
        match (self.opened.get_mut(usize::from(op.handle)), op.call) {
            (Some(opened), Call::Open) => {
                *opened = file;
                file
            }
            (Some(opened), _) if op.kind.moves_bytes() || op.kind == OpKind::Close => *opened,
            _ => file,
        }
    }

    /// Makes a call on a file that moves its first `length` bytes.
    fn call(&self, kind: OpKind, file: u64, length: u64) -> Completion {
        self.device.serve(&CallOp { kind, offset: 0, length, ..CallOp::new(kind, Call::OfFile) }, file)
    }

    /// Makes all calls of an op on one file.
    #[cold]
    fn of_file(&self, step: &FileStep, op: &CallOp) -> Completion {
        let file = op.file;
        self.call(op.kind, file, 0)?;
        let moved = match step.does {
            FileWork::Make => {
                let length = step.lengths.get(op.offset as usize).or(step.lengths.last()).map_or(0, |length| length.0);
                let moved = if length > 0 { self.call(OpKind::Write, file, length)? } else { 0 };
                self.device.set_length(file, moved);
                moved
            }
            FileWork::Stat => match self.device.length(file) {
                0 => return Ok(0),
                length => {
                    self.call(OpKind::Open, file, 0)?;
                    self.call(OpKind::Read, file, length)?
                }
            },
            FileWork::Remove => {
                self.device.set_length(file, 0);
                0
            }
            FileWork::Link | FileWork::Symlink => 0,
        };
        if step.flush {
            self.call(OpKind::Fsync, file, 0)?;
        }
        if matches!(step.does, FileWork::Make | FileWork::Stat) {
            self.call(OpKind::Close, file, 0)?;
        }
        Ok(moved)
    }

    /// Moves a whole existing file, or the bytes appended to it.
    fn move_whole(&mut self, op: &CallOp) -> Completion {
        let file = self.file(op);
        if op.kind == OpKind::Read {
            return self.device.serve(op, file);
        }
        let offset = self.device.length(file);
        let moved = self.device.serve(&CallOp { offset, ..*op }, file)?;
        self.device.set_length(file, offset + moved);
        Ok(moved)
    }
}

impl SyncBackend for SimulatedCalls {
    type Op = CallOp;

    #[inline]
    fn execute(&mut self, op: &CallOp) -> Completion {
        match op.call {
            Call::OfFile => match self.rules.get(usize::from(op.rules)) {
                Some(StepRules::OfFile(step)) => self.of_file(step, op),
                _ => Err(Errno(libc::EINVAL)),
            },
            Call::ReadWhole | Call::WriteWhole => self.move_whole(op),
            _ => {
                let file = self.file(op);
                if op.kind == OpKind::Create {
                    self.device.set_length(file, 0);
                }
                self.device.serve(op, file)
            }
        }
    }

    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, _op: &CallOp) -> PathBuf {
        self.device.path()
    }
}

/// Calls of a program over a file set on a simulated device, and on the device that the files are copied to.
pub(super) struct SimulatedSet {
    device: SimDevice,
    copies: Option<SimDevice>,
}

impl SimulatedSet {
    pub(super) fn new(device: SimDevice, copies: Option<SimDevice>) -> SimulatedSet {
        SimulatedSet { device, copies }
    }

    fn device_of(&self, op: &CallOp) -> &SimDevice {
        self.copies.as_ref().filter(|_| op.is_on_copy()).unwrap_or(&self.device)
    }
}

impl SyncBackend for SimulatedSet {
    type Op = CallOp;

    fn execute(&mut self, op: &CallOp) -> Completion {
        self.device_of(op).serve(op, op.file)
    }

    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, op: &CallOp) -> PathBuf {
        self.device_of(op).path()
    }
}
