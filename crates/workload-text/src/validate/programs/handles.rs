//! State of a program's handles at a step: open, closed, or unknown if branches of the program differ.

use plumb_workload::program::MpiView;
use std::collections::BTreeMap;

/// Knowledge of a property that may differ between branches of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    No,
    Unsure,
    Yes,
}

impl Known {
    pub(super) fn joined(self, other: Known) -> Known {
        if self == other { self } else { Known::Unsure }
    }
}

/// State of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) open: Known,
    pub(super) writable: Known,
    pub(super) stream: bool,
    pub(super) mapped_bytes: u64,
    /// Set for a file opened with MPI-IO.
    pub(super) mpi: Option<MpiHandle>,
}

/// State of a file opened with MPI-IO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MpiHandle {
    /// Number of ranks that opened it.
    pub(super) ranks: u32,
    pub(super) view: Option<MpiView>,
}

pub(super) const CLOSED: Handle =
    Handle { open: Known::No, writable: Known::Unsure, stream: false, mapped_bytes: 0, mpi: None };

/// File that `same` refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Same {
    /// No earlier step has worked on a file.
    #[default]
    Nothing,
    /// The previous step removed it.
    Removed,
    /// The file exists, as far as validation can tell.
    Fine,
}

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) handles: BTreeMap<u16, Handle>,
    pub(super) same: Same,
}

impl State {
    pub(super) fn handle(&self, number: u16) -> Handle {
        self.handles.get(&number).copied().unwrap_or(CLOSED)
    }

    pub(super) fn joined(self, other: &State) -> State {
        let numbers: Vec<u16> = self.handles.keys().chain(other.handles.keys()).copied().collect();
        let handles = numbers
            .into_iter()
            .map(|number| {
                let (a, b) = (self.handle(number), other.handle(number));
                (number, Handle { open: a.open.joined(b.open), writable: a.writable.joined(b.writable), ..a })
            })
            .collect();
        State { handles, same: if self.same == other.same { self.same } else { Same::Fine } }
    }

    pub(super) fn change(&mut self, number: u16, change: impl FnOnce(&mut Handle)) {
        let mut handle = self.handle(number);
        change(&mut handle);
        self.handles.insert(number, handle);
    }
}

/// Access that a step needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Any,
    Writing,
}
