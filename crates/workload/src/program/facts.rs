//! Properties of steps: what they need, the ops they make, and the file and handle they use.

use super::files::{FileWork, Pick};
use super::step::{MissingFile, Step};
use super::transfer::Moves;
use super::trees::Wall;
use crate::op::OpKind;

/// Kind of files that a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Either a file set or named files.
    Files,
    FileSet,
    /// Named files, as in a scratch directory.
    Names,
    /// File sets that all workers share.
    SharedSets,
}

/// Kinds of op that nearly every load file contains. A load file that lacks one owes no metric for it.
const LOADED: &[OpKind] = &[OpKind::Open, OpKind::Close];

/// Kinds of op of a file copy. Whether an old copy is removed first is unknown beforehand.
const COPIED: &[OpKind] = &[OpKind::Open, OpKind::Create, OpKind::Read, OpKind::Write, OpKind::Close];
const MOVED: &[OpKind] = &[OpKind::Open, OpKind::Create, OpKind::Read, OpKind::Write, OpKind::Close, OpKind::Unlink];

impl Step {
    /// Returns the stonewall that ends the step, if any.
    pub fn wall(&self) -> Option<Wall> {
        match self {
            Step::Trees(step) => step.wall,
            Step::Transfer(transfer) => transfer.wall,
            _ => None,
        }
    }

    /// Returns the lists of steps nested in this one, except choices of a mix that are never chosen.
    pub fn inside(&self) -> Vec<&[Step]> {
        match self {
            Step::Each(each) => vec![&each.steps],
            Step::Loop { steps, .. } => vec![steps],
            Step::Mix { choices } => {
                choices.iter().filter(|choice| choice.weight > 0.0).map(|choice| choice.steps.as_slice()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the key that selects the step in a workload file.
    pub fn key(&self) -> &'static str {
        match self {
            Step::Create { .. } => "create",
            Step::Open(_) => "open",
            Step::Close { .. } => "close",
            Step::Transfer(_) => "transfer",
            Step::ReadWhole { .. } => "read-whole",
            Step::ReadRandom { .. } => "read-random",
            Step::ReadAt { .. } => "read-at",
            Step::WriteWhole { .. } => "write-whole",
            Step::WriteRandom { .. } => "write-random",
            Step::WriteAt { .. } => "write-at",
            Step::Append { .. } => "append",
            Step::Fsync { .. } => "fsync",
            Step::Fdatasync { .. } => "fdatasync",
            Step::Msync { .. } => "msync",
            Step::Flush { .. } => "flush",
            Step::Sync {} => "sync",
            Step::Command { .. } => "command",
            Step::Seek { .. } => "seek",
            Step::Truncate { .. } => "truncate",
            Step::Fallocate { .. } => "fallocate",
            Step::Map(_) => "map",
            Step::Unmap { .. } => "unmap",
            Step::Lock { .. } => "lock",
            Step::Stat { .. } => "stat",
            Step::Access { .. } => "access",
            Step::Utimens { .. } => "utimens",
            Step::Chmod { .. } => "chmod",
            Step::Rename { .. } => "rename",
            Step::Copy(_) => "copy",
            Step::Link { .. } => "link",
            Step::Symlink { .. } => "symlink",
            Step::Readlink { .. } => "readlink",
            Step::Unlink { .. } => "unlink",
            Step::Mkdir { .. } => "mkdir",
            Step::Rmdir { .. } => "rmdir",
            Step::Readdir {} => "readdir",
            Step::List { .. } => "list",
            Step::EndList {} => "end-list",
            Step::HoldDirectories(_) => "hold-directories",
            Step::OfFile(_) => "of-file",
            Step::Postmark(_) => "postmark",
            Step::Trees(_) => "trees",
            Step::LoadFile(_) => "load-file",
            Step::Meet {} => "meet",
            Step::EndIfWrong {} => "end-if-wrong",
            Step::Delay { .. } => "delay",
            Step::Each(_) => "each",
            Step::Loop { .. } => "loop",
            Step::Shared(_) => "shared",
            Step::Mix { .. } => "mix",
        }
    }

    /// Returns the kind of files that the step needs.
    pub fn needs(&self) -> Needs {
        match self {
            Step::Create { .. }
            | Step::ReadWhole { .. }
            | Step::ReadRandom { .. }
            | Step::ReadAt { .. }
            | Step::WriteWhole { .. }
            | Step::WriteRandom { .. }
            | Step::WriteAt { .. }
            | Step::Append { .. }
            | Step::Fallocate { .. }
            | Step::Utimens { .. }
            | Step::Chmod { .. }
            | Step::Rename { .. }
            | Step::Copy(_)
            | Step::Readlink { .. }
            | Step::Readdir {} => Needs::FileSet,
            Step::Transfer(_)
            | Step::Msync { .. }
            | Step::Flush { .. }
            | Step::Sync {}
            | Step::Command { .. }
            | Step::Seek { .. }
            | Step::Map(_)
            | Step::Unmap { .. }
            | Step::Lock { .. }
            | Step::List { .. }
            | Step::EndList {}
            | Step::HoldDirectories(_)
            | Step::OfFile(_)
            | Step::Postmark(_)
            | Step::Trees(_)
            | Step::LoadFile(_)
            | Step::Meet {}
            | Step::EndIfWrong {}
            | Step::Each(_)
            | Step::Link { to: Some(_), .. }
            | Step::Symlink { to: Some(_), .. }
            | Step::Mkdir { mode: Some(_), .. }
            | Step::Mkdir { may_exist: true, .. }
            | Step::Unlink { missing: MissingFile::Passes, .. } => Needs::Names,
            Step::Shared(_) => Needs::SharedSets,
            Step::Link { to: None, .. } | Step::Symlink { to: None, .. } => Needs::FileSet,
            Step::Open(open) if !open.is_simple() => Needs::Names,
            Step::Open(_)
            | Step::Close { .. }
            | Step::Fsync { .. }
            | Step::Fdatasync { .. }
            | Step::Truncate { .. }
            | Step::Stat { .. }
            | Step::Access { .. }
            | Step::Unlink { .. }
            | Step::Mkdir { .. }
            | Step::Rmdir { .. }
            | Step::Delay { .. }
            | Step::Loop { .. }
            | Step::Mix { .. } => match self.file() {
                Some(Pick::Own | Pick::Nth(_)) => Needs::Names,
                Some(Pick::Usual) | None => Needs::Files,
                Some(_) => Needs::FileSet,
            },
        }
    }

    /// Returns the kinds of op that the step itself makes.
    pub fn kinds(&self) -> &'static [OpKind] {
        match self {
            Step::Create { .. } => &[OpKind::Create],
            Step::Open(open) if open.create => &[OpKind::Create],
            Step::Open(_) | Step::HoldDirectories(_) => &[OpKind::Open],
            Step::Close { .. } => &[OpKind::Close],
            Step::ReadWhole { .. } | Step::ReadRandom { .. } | Step::ReadAt { .. } => &[OpKind::Read],
            Step::WriteWhole { .. } | Step::WriteRandom { .. } | Step::WriteAt { .. } | Step::Append { .. } => {
                &[OpKind::Write]
            }
            Step::Fsync { .. } | Step::Msync { .. } => &[OpKind::Fsync],
            Step::Fdatasync { .. } => &[OpKind::Fdatasync],
            Step::Flush { .. } => &[OpKind::Flush],
            Step::Sync {} => &[OpKind::Sync],
            Step::Command { .. } => &[OpKind::Command],
            Step::Seek { .. } => &[OpKind::Seek],
            Step::Truncate { .. } => &[OpKind::Truncate],
            Step::Fallocate { .. } => &[OpKind::Fallocate],
            Step::Map(_) => &[OpKind::Map],
            Step::Unmap { .. } => &[OpKind::Unmap],
            Step::Lock { .. } => &[OpKind::Lock],
            Step::Unlink { .. } => &[OpKind::Unlink],
            Step::Stat { .. } => &[OpKind::Stat],
            Step::Access { .. } => &[OpKind::Access],
            Step::Utimens { .. } => &[OpKind::Utimens],
            Step::Chmod { .. } => &[OpKind::Chmod],
            Step::Rename { .. } => &[OpKind::Rename],
            Step::Copy(copy) if copy.moves => MOVED,
            Step::Copy(_) => COPIED,
            Step::Link { .. } => &[OpKind::Link],
            Step::Symlink { .. } => &[OpKind::Symlink],
            Step::Readlink { .. } => &[OpKind::Readlink],
            Step::Mkdir { .. } => &[OpKind::Mkdir],
            Step::Rmdir { .. } => &[OpKind::Rmdir],
            Step::Readdir {} | Step::List { .. } | Step::EndList {} => &[OpKind::Readdir],
            Step::Transfer(transfer) => match transfer.does {
                _ if transfer.detours.is_some() => &[OpKind::Read, OpKind::Seek],
                _ if transfer.reads() && transfer.writes() => &[OpKind::Read, OpKind::Write],
                Moves::Read | Moves::Rewrite => &[OpKind::Read],
                Moves::Write => &[OpKind::Write],
            },
            Step::Postmark(step) => step.part.kinds(&step.run),
            Step::Trees(step) => step.kinds(),
            Step::LoadFile(_) => LOADED,
            Step::OfFile(file) => match file.does {
                FileWork::Make => &[OpKind::Create],
                FileWork::Link => &[OpKind::Link],
                FileWork::Symlink => &[OpKind::Symlink],
                FileWork::Stat => &[OpKind::Stat],
                FileWork::Remove => &[OpKind::Unlink],
            },
            // Shared steps nest in their own way; `Program::shared_steps` lists them.
            Step::Each(_)
            | Step::Loop { .. }
            | Step::Mix { .. }
            | Step::Delay { .. }
            | Step::Meet {}
            | Step::EndIfWrong {}
            | Step::Shared(_) => &[],
        }
    }

    /// Returns `true` if the step itself changes a file or a directory.
    pub fn changes(&self) -> bool {
        match self {
            Step::Open(open) => open.changes(),
            Step::Map(map) => map.write,
            Step::Transfer(transfer) => transfer.writes(),
            Step::OfFile(file) => file.does != FileWork::Stat,
            Step::Postmark(_) | Step::Shared(_) | Step::LoadFile(_) => true,
            Step::Trees(step) => step.changes(),
            Step::HoldDirectories(_) => false,
            step => step.kinds().iter().any(|kind| {
                matches!(
                    kind,
                    OpKind::Create
                        | OpKind::Write
                        | OpKind::Truncate
                        | OpKind::Fallocate
                        | OpKind::Utimens
                        | OpKind::Chmod
                        | OpKind::Rename
                        | OpKind::Link
                        | OpKind::Symlink
                        | OpKind::Unlink
                        | OpKind::Mkdir
                        | OpKind::Rmdir
                )
            }),
        }
    }

    /// Returns `true` if the step makes earlier writes durable.
    pub fn flushes(&self) -> bool {
        matches!(self, Step::Fsync { .. } | Step::Msync { .. } | Step::Fdatasync { .. } | Step::Sync {})
    }

    /// Returns `true` if the step moves data of a file set.
    pub fn moves_bytes_of_set(&self) -> bool {
        self.needs() == Needs::FileSet && self.kinds().iter().any(|kind| kind.moves_bytes())
    }

    /// Returns the file that the step uses or creates a name for.
    pub fn file(&self) -> Option<Pick> {
        match self {
            Step::Open(open) => Some(open.file),
            Step::Copy(copy) => Some(copy.file),
            Step::OfFile(step) => (!step.listed).then_some(step.file),
            Step::HoldDirectories(held) => Some(Pick::Nth(held.first + held.count.saturating_sub(1))),
            Step::Stat { file }
            | Step::Access { file }
            | Step::Utimens { file }
            | Step::Chmod { file }
            | Step::Rename { file }
            | Step::Link { file, .. }
            | Step::Symlink { file, .. }
            | Step::Readlink { file }
            | Step::Unlink { file, .. }
            | Step::Mkdir { file, .. }
            | Step::Rmdir { file }
            | Step::List { file } => Some(*file),
            _ => None,
        }
    }

    /// Returns the file that a link points to.
    pub fn link_target(&self) -> Option<Pick> {
        match self {
            Step::OfFile(step) if !step.listed => step.to.map(Pick::Nth),
            Step::Link { to, .. } | Step::Symlink { to, .. } => *to,
            _ => None,
        }
    }

    /// Returns the handle that the step uses.
    pub fn handle(&self) -> Option<u16> {
        match self {
            Step::Open(open) => Some(open.handle),
            Step::Map(map) => Some(map.handle),
            Step::Transfer(transfer) => Some(transfer.handle),
            Step::Create { handle }
            | Step::Close { handle }
            | Step::ReadWhole { handle, .. }
            | Step::ReadRandom { handle, .. }
            | Step::ReadAt { handle, .. }
            | Step::WriteWhole { handle, .. }
            | Step::WriteRandom { handle, .. }
            | Step::WriteAt { handle, .. }
            | Step::Append { handle, .. }
            | Step::Fsync { handle }
            | Step::Fdatasync { handle }
            | Step::Msync { handle }
            | Step::Flush { handle }
            | Step::Seek { handle, .. }
            | Step::Truncate { handle, .. }
            | Step::Fallocate { handle, .. }
            | Step::Unmap { handle }
            | Step::Lock { handle, .. } => Some(*handle),
            _ => None,
        }
    }
}
