//! Settings of a step's calls beyond their ops, resolved before the barrier.

use plumb_workload::program::{FileStep, Held, LockKind, MapStep, OpenPromise, OpenStep, Transfer, TreeStep};
use rustix::fs::{Mode, OFlags, RawMode};

/// Kind of target that a program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    FileSet,
    Names,
}

/// Settings of a call beyond its op.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepRules {
    Nothing,
    Open(OpenRules),
    Map(MapStep),
    Lock(LockKind),
    Transfer(Transfer),
    Whole(WholeBlocks),
    OfFile(FileStep),
    Hold(Held),
    Tree(Box<TreeStep>),
    Command(String),
}

/// Settings for opening a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenRules {
    pub(super) flags: OFlags,
    pub(super) mode: Mode,
    pub(super) step: OpenStep,
}

impl OpenRules {
    pub(super) fn for_step(step: OpenStep, over: Over) -> OpenRules {
        let access = match (step.read, step.write) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
        let promise = match step.promise {
            OpenPromise::Plain => OFlags::empty(),
            OpenPromise::Sync => OFlags::SYNC,
            OpenPromise::Dsync => crate::os::DSYNC,
            OpenPromise::Rsync => crate::os::RSYNC,
        };
        let wanted = [
            (step.create, OFlags::CREATE),
            (step.exclusive, OFlags::EXCL),
            (step.truncate, OFlags::TRUNC),
            (step.append, OFlags::APPEND),
            (step.direct, OFlags::DIRECT),
            // If a link was put in place of a file, it is not followed to data that must not change.
            (step.changes() || over == Over::FileSet, OFlags::NOFOLLOW),
        ];
        let wanted = wanted.into_iter().filter(|(wanted, _)| *wanted);
        let flags = wanted.fold(access | promise | OFlags::CLOEXEC, |flags, (_, flag)| flags | flag);
        OpenRules { flags, mode: Mode::from_raw_mode(step.mode as RawMode), step }
    }
}

/// Sizes of the blocks that move a whole file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WholeBlocks {
    pub(super) read_bytes: usize,
    pub(super) write_bytes: usize,
}
