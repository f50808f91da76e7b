//! A worker's knowledge of its share of a tree, and how shares pass from one phase to the next.
//!
//! A share is a contiguous range of file numbers: worker `i` of `n` owns `files·i/n .. files·(i+1)/n`. After a phase
//! the workers' states are joined to a [`TreeState`]; the next phase splits it again. With the same number of workers,
//! every worker gets its own state back, unchanged. With another number, new shares are cut. Existing names, their
//! kinds and the files' sizes are kept. Free names are queued in order of their number again, and hard links of one
//! file that end up in different shares have separate sizes from then on.

use super::contents::Contents;
use super::names::{Bitmap, Name, NameKind, ShareNames};
use crate::others::number;
use crate::tree::{ExtraDirectory, FileId, TreeShape};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of files in one worker's share.
pub(crate) const MAX_SHARE: u64 = 1 << 31;

/// The worker's share has too many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share of {files} files is more than one worker can hold ({MAX_SHARE}); use more workers")]
pub(crate) struct ShareError {
    /// Number of files in the share.
    pub files: u64,
}

/// Kind of the entry under a file's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetEntry {
    /// A regular file.
    File {
        /// Size in bytes.
        size: u64,
    },
    /// A symbolic link.
    Symlink,
}

/// State of a name, as one process sends it to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryCode {
    Free,
    /// A file with the size that the shape gives it.
    AsMade,
    Symlink,
    /// A file with another size, bytes.
    Sized(u64),
}

impl EntryCode {
    fn to_byte(self) -> u8 {
        match self {
            EntryCode::Free => 0,
            EntryCode::AsMade => 1,
            EntryCode::Symlink => 2,
            EntryCode::Sized(_) => 3,
        }
    }
}

/// A whole tree between phases.
#[derive(Debug, Clone)]
pub(crate) struct TreeState {
    shape: Arc<TreeShape>,
    /// Shares in order, without gaps; empty for a tree that was just laid out.
    shares: Vec<SetState>,
}

impl TreeState {
    /// Creates the state of a tree that was just laid out.
    pub(crate) fn new(shape: Arc<TreeShape>) -> TreeState {
        TreeState { shape, shares: Vec::new() }
    }

    /// Joins the states of all workers after a phase, in order of the workers.
    pub(crate) fn join(shape: Arc<TreeShape>, states: Vec<SetState>) -> TreeState {
        debug_assert!(states.windows(2).all(|pair| pair[0].first + u64::from(pair[0].names.len()) == pair[1].first));
        TreeState { shape, shares: states }
    }

    /// Splits the tree into one state per worker (at least one), in order.
    pub(crate) fn split(self, workers: u32) -> Result<Vec<SetState>, ShareError> {
        let workers = workers.max(1);
        if self.shares.len() == workers as usize {
            return Ok(self.shares);
        }
        if self.shares.is_empty() {
            return (0..workers).map(|worker| SetState::new(&self.shape, worker, workers)).collect();
        }
        let mut states = Vec::with_capacity(workers as usize);
        for worker in 0..workers {
            states.push(self.cut(worker, workers)?);
        }
        for (number, extra) in
            (0..).zip(&self.shares).flat_map(|(number, share)| share.extras.iter().map(move |extra| (number, extra)))
        {
            if extra.owner == ExtraDirectory::BEFOREHAND {
                // Each share has a part of them.
                states[(number % workers) as usize].extras.push(extra.clone());
                continue;
            }
            let own = states[(extra.owner % workers) as usize].extras.iter_mut().find(|own| own.owner == extra.owner);
            match own {
                Some(own) => *own = extra.clone(),
                None => states[(extra.owner % workers) as usize].extras.push(extra.clone()),
            }
        }
        Ok(states)
    }

    /// Returns the entry under this number, if one exists.
    pub(crate) fn entry(&self, file: FileId) -> Option<SetEntry> {
        if self.shares.is_empty() {
            let exists = file.0 < self.shape.files() && self.shape.is_preallocated(file);
            return exists.then(|| SetEntry::File { size: self.shape.size_of(file) });
        }
        self.holder(file).and_then(|share| share.entry(file))
    }

    /// Encodes the state for another process as runs of equal names. Each run has a kind and a length, and a size
    /// for files whose size has changed.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        if self.shares.is_empty() {
            return bytes;
        }
        let mut run: Option<(EntryCode, u64)> = None;
        let mut end = |run: Option<(EntryCode, u64)>| {
            if let Some((code, names)) = run {
                bytes.push(code.to_byte());
                bytes.extend(names.to_le_bytes());
                if let EntryCode::Sized(size) = code {
                    bytes.extend(size.to_le_bytes());
                }
            }
        };
        for number in 0..self.shape.files() {
            let code = match self.entry(FileId(number)) {
                None => EntryCode::Free,
                Some(SetEntry::Symlink) => EntryCode::Symlink,
                Some(SetEntry::File { size }) if size == self.shape.size_of(FileId(number)) => EntryCode::AsMade,
                Some(SetEntry::File { size }) => EntryCode::Sized(size),
            };
            match &mut run {
                Some((same, names)) if *same == code => *names += 1,
                run => end(run.replace((code, 1))),
            }
        }
        end(run);
        bytes
    }

    /// Decodes another process's state of a tree, for reading. `None` if the data is malformed, or has
    /// too many files for one share.
    pub(crate) fn from_bytes(shape: Arc<TreeShape>, mut bytes: &[u8]) -> Option<TreeState> {
        if bytes.is_empty() {
            return Some(TreeState::new(shape));
        }
        let len = u32::try_from(shape.files()).ok().filter(|&len| u64::from(len) <= MAX_SHARE)?;
        let mut codes: Vec<EntryCode> = Vec::with_capacity(len as usize);
        while let Some((&kind, rest)) = bytes.split_first() {
            bytes = rest;
            let names = number(&mut bytes)?;
            let kind = match kind {
                0 => EntryCode::Free,
                1 => EntryCode::AsMade,
                2 => EntryCode::Symlink,
                3 => EntryCode::Sized(number(&mut bytes)?),
                _ => return None,
            };
            if names > u64::from(len) - codes.len() as u64 {
                return None;
            }
            codes.resize(codes.len() + names as usize, kind);
        }
        if codes.len() != len as usize {
            return None;
        }
        let names = ShareNames::new(len, |number| match codes[number as usize] {
            EntryCode::Free => None,
            EntryCode::Symlink => Some(Name::SYMLINK),
            // The file has the size that the shape gives it.
            EntryCode::AsMade => Some(Name::PREPARED_FILE),
            EntryCode::Sized(_) => Some(Name::NEW_FILE),
        });
        let mut state = SetState { names, ..SetState::empty(&shape, 0, 0) };
        if codes.iter().any(|code| matches!(code, EntryCode::Sized(_))) {
            state.follow_contents();
            let contents = state.contents.as_mut()?;
            for (number, code) in (0..).zip(&codes) {
                if let EntryCode::Sized(size) = code {
                    contents.set_size(contents.node_of(number), *size);
                }
            }
        }
        Some(TreeState { shape, shares: vec![state] })
    }

    fn holder(&self, file: FileId) -> Option<&SetState> {
        let after = self.shares.partition_point(|share| share.first + u64::from(share.names.len()) <= file.0);
        self.shares.get(after)
    }

    /// Cuts a new worker's share out of the old ones.
    fn cut(&self, worker: u32, workers: u32) -> Result<SetState, ShareError> {
        let range = share_of(self.shape.files(), worker, workers)?;
        let first = range.start;
        let len = (range.end - range.start) as u32;
        let held = |number: u32| {
            let file = FileId(first + u64::from(number));
            let share = self.holder(file).expect("the old shares cover the tree");
            (share, share.local(file).expect("the share contains the file"))
        };
        let names = ShareNames::new(len, |number| {
            let (share, local) = held(number);
            share.names.get(local)
        });
        let mut state = SetState::empty(&self.shape, worker, first);
        if self.shares.iter().any(|share| share.contents.is_some()) {
            // Names of one file share a node again, if one old share and one new share contain them.
            let mut seen: HashMap<(u64, u32), u32> = HashMap::new();
            let mut contents = Contents::new(len);
            for number in (0..len).filter(|n| names.get(*n).is_some_and(|name| name.kind == NameKind::File)) {
                let (share, local) = held(number);
                let old = share.contents.as_ref().filter(|old| old.names_of(old.node_of(local)) > 1);
                let key = old.map(|old| (share.first, old.node_of(local)));
                match key.and_then(|key| seen.get(&key)) {
                    Some(node) => contents.add_name(number, *node),
                    None => {
                        let node = contents.add_file(number, share.size(local));
                        key.map(|key| seen.insert(key, node));
                    }
                }
            }
            state.contents = Some(contents);
        }
        state.names = names;
        if self.shares.iter().any(|share| share.copied.is_some()) {
            for number in 0..len {
                let (share, local) = held(number);
                if share.is_copied(local) {
                    state.set_copied(number, true);
                }
            }
        }
        Ok(state)
    }
}

/// Returns the file numbers that a worker owns.
fn share_of(files: u64, worker: u32, workers: u32) -> Result<Range<u64>, ShareError> {
    let range = part_of(files, worker, workers);
    match range.end - range.start {
        files if files > MAX_SHARE => Err(ShareError { files }),
        _ => Ok(range),
    }
}

/// Returns one worker's part of a number of things.
fn part_of(all: u64, worker: u32, workers: u32) -> Range<u64> {
    let cut = |i: u128| (u128::from(all) * i / u128::from(workers)) as u64;
    cut(u128::from(worker))..cut(u128::from(worker) + 1)
}

/// One worker's knowledge of its share: the existing names, with their kinds and sizes.
///
/// Takes a little over 9 bytes per file, and 16 more from the first phase on that reads, writes, renames or links.
#[derive(Debug, Clone)]
pub(crate) struct SetState {
    pub(super) shape: Arc<TreeShape>,
    first: u64,
    pub(super) names: ShareNames,
    pub(super) contents: Option<Contents>,
    /// Names that have a copy in another set; `None` before the first copy.
    copied: Option<Bitmap>,
    /// The worker's own directories first, then those inherited from workers of earlier phases.
    extras: Vec<Extras>,
}

impl SetState {
    /// Creates the state of worker `worker` of `workers` for a tree that was just laid out.
    pub(crate) fn new(shape: &Arc<TreeShape>, worker: u32, workers: u32) -> Result<SetState, ShareError> {
        let range = share_of(shape.files(), worker, workers.max(worker.saturating_add(1)))?;
        let len = (range.end - range.start) as u32;
        let names = ShareNames::new(len, |number| {
            shape.is_preallocated(FileId(range.start + u64::from(number))).then_some(Name::PREPARED_FILE)
        });
        let mut state = SetState { names, ..SetState::empty(shape, worker, range.start) };
        let directories = part_of(shape.prepared_directories().into(), worker, workers.max(worker.saturating_add(1)));
        if !directories.is_empty() {
            let (first, next) = (directories.start as u32, directories.end as u32);
            state.extras.push(Extras { owner: ExtraDirectory::BEFOREHAND, first, next });
        }
        Ok(state)
    }

    fn empty(shape: &Arc<TreeShape>, worker: u32, first: u64) -> SetState {
        SetState {
            shape: shape.clone(),
            first,
            names: ShareNames::new(0, |_| None),
            contents: None,
            copied: None,
            extras: vec![Extras::new(worker)],
        }
    }

    /// Returns the file numbers that this worker owns.
    #[cfg(test)]
    pub(crate) fn share(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.names.len())
    }

    /// Returns how many of its names exist.
    #[cfg(test)]
    pub(crate) fn existing(&self) -> u64 {
        u64::from(self.names.count(super::names::Among::All))
    }

    /// Returns the entry under this number, if it is in this share and exists.
    pub(crate) fn entry(&self, file: FileId) -> Option<SetEntry> {
        let local = self.local(file)?;
        Some(match self.names.get(local)?.kind {
            NameKind::File => SetEntry::File { size: self.size(local) },
            NameKind::Symlink => SetEntry::Symlink,
        })
    }

    /// Returns `true` if the file with this number has a copy in another set.
    #[cfg(test)]
    pub(crate) fn has_copy(&self, file: FileId) -> bool {
        self.local(file).is_some_and(|local| self.is_copied(local))
    }

    /// Returns the extra directories that exist.
    #[cfg(test)]
    pub(crate) fn extra_directories(&self) -> impl Iterator<Item = ExtraDirectory> + '_ {
        let of = |extra: &Extras| {
            let owner = extra.owner;
            (extra.first..extra.next).map(move |number| ExtraDirectory { owner, number })
        };
        self.extras.iter().flat_map(of)
    }

    #[inline]
    pub(super) fn id(&self, local: u32) -> FileId {
        FileId(self.first + u64::from(local))
    }

    fn local(&self, file: FileId) -> Option<u32> {
        let local = file.0.checked_sub(self.first)?;
        (local < u64::from(self.names.len())).then_some(local as u32)
    }

    /// Returns the leaves that contain the share; all leaves for an empty share.
    pub(super) fn leaves(&self) -> Range<u64> {
        match self.names.len() {
            0 => 0..self.shape.leaves(),
            len => self.shape.leaf_of(self.id(0))..self.shape.leaf_of(self.id(len - 1)) + 1,
        }
    }

    /// Returns `true` if the file of this name has a copy in another set.
    pub(super) fn is_copied(&self, local: u32) -> bool {
        self.copied.as_ref().is_some_and(|copied| copied.has(local))
    }

    pub(super) fn set_copied(&mut self, local: u32, is_copied: bool) {
        let len = self.names.len();
        let copied = self.copied.get_or_insert_with(|| Bitmap::new(len));
        if is_copied { copied.set(local) } else { copied.clear(local) }
    }

    /// Returns the size of an existing file, bytes.
    pub(super) fn size(&self, local: u32) -> u64 {
        match (&self.contents, self.names.get(local)) {
            (Some(contents), Some(_)) => contents.size(contents.node_of(local)),
            (None, Some(name)) if name.prepared => self.shape.size_of(self.id(local)),
            _ => 0,
        }
    }

    /// Starts tracking sizes and links, which costs a pass over the share the first time.
    pub(super) fn follow_contents(&mut self) {
        if self.contents.is_some() {
            return;
        }
        let mut contents = Contents::new(self.names.len());
        for number in 0..self.names.len() {
            if self.names.get(number).is_some_and(|name| name.kind == NameKind::File) {
                contents.add_file(number, self.size(number));
            }
        }
        self.contents = Some(contents);
    }

    /// Returns the directory that the next `mkdir` creates, unless this worker's numbers are used up.
    pub(super) fn next_extra(&self) -> Option<ExtraDirectory> {
        let own = &self.extras[0];
        (own.next < u32::MAX).then_some(ExtraDirectory { owner: own.owner, number: own.next })
    }

    /// Returns the directory that the next `rmdir` removes: the oldest, inherited ones first.
    pub(super) fn oldest_extra(&self) -> Option<ExtraDirectory> {
        let extra = self.extras.iter().rev().find(|extra| extra.first < extra.next)?;
        Some(ExtraDirectory { owner: extra.owner, number: extra.first })
    }

    pub(super) fn extra_made(&mut self) {
        self.extras[0].next += 1;
    }

    pub(super) fn extra_removed(&mut self, removed: ExtraDirectory) {
        // A used-up range may end where the range of `removed` begins.
        let is_its = |extra: &&mut Extras| {
            extra.owner == removed.owner && extra.first == removed.number && extra.first < extra.next
        };
        if let Some(extra) = self.extras.iter_mut().find(is_its) {
            extra.first = removed.number + 1;
        }
    }
}

/// The extra directories `first..next` of one owner. An empty range is kept, so that no number is reused.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Extras {
    owner: u32,
    first: u32,
    next: u32,
}

impl Extras {
    fn new(owner: u32) -> Extras {
        Extras { owner, first: 0, next: 0 }
    }
}
