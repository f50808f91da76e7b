//! What is known of a program's handles at a step: open, closed, or unsure, where ways through the steps differ.

use plumb_workload::program::MpiView;
use std::collections::BTreeMap;

/// What is known of something that may differ between ways through a flow.
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

/// What a handle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) open: Known,
    pub(super) writable: Known,
    pub(super) stream: bool,
    pub(super) mapped_bytes: u64,
    /// Of a file that MPI-IO opened.
    pub(super) mpi: Option<MpiHandle>,
}

/// What is known of a file that MPI-IO opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MpiHandle {
    /// Ranks that opened it.
    pub(super) ranks: u32,
    pub(super) view: Option<MpiView>,
}

pub(super) const CLOSED: Handle =
    Handle { open: Known::No, writable: Known::Unsure, stream: false, mapped_bytes: 0, mpi: None };

/// The file that `same` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Same {
    /// No step has worked on a file yet.
    #[default]
    Nothing,
    /// The step before removed it.
    Removed,
    /// There is one, as far as validation can see.
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

/// What a step wants of its handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Any,
    Writing,
}
