//! The order in which one worker goes through the items of a step. Only a shuffled order is stored as a
//! list, when the walk is created.

use super::across::Round;
use super::paths::TreeFiles;
use super::wall::{self, AtWall, WallMark, WallMeeting};
use crate::program::op::{Call, CallOp};
use crate::worker_error::WorkerError;
use plumb_workload::OpKind;
use plumb_workload::program::{ItemOrder, TreeEntry, TreeName, TreeNames, TreeStep, TreeWork, Wall};
use std::io::ErrorKind;
use std::sync::Arc;

/// A worker's walk through the items of one step.
pub(in crate::program) struct TreeWalk {
    files: Arc<TreeFiles>,
    step: TreeStep,
    /// Template of its ops.
    op: CallOp,
    /// Number of the worker in its group.
    worker: u32,
    root: u32,
    /// Number of the root's owners that are done, if the walk visits those of all owners.
    owners_done: u32,
    /// Number of the current entries' first name (index 0).
    base: u64,
    /// Like `base`, for the temporary names of renames.
    aside: u64,
    /// Number of ops yielded for the current owner.
    done: u64,
    /// Number of ops for each owner: all entries, unless a wall lowers it.
    all: u64,
    /// `all` at the start of a pass.
    all_at_start: u64,
    /// Number of the first item within each root.
    start: u64,
    /// Position of a step that goes from root to root with each item. `done` then counts its rounds.
    round: Option<Round>,
    directories: DirectoryWalk,
    /// Index in the current directory.
    in_directory: u64,
    shuffled: Vec<u64>,
    /// The wall, until it is passed. A wall of an earlier phase is applied when the walk is created.
    wall: Option<Wall>,
}

impl TreeWalk {
    /// Creates the walk at its start. `mark` holds the result of earlier phases' walls.
    ///
    /// # Errors
    /// A shuffled order does not fit into memory.
    pub(in crate::program) fn new(
        files: &Arc<TreeFiles>,
        step: &TreeStep,
        rules: u16,
        worker: u32,
        mark: &WallMark,
    ) -> Result<TreeWalk, WorkerError> {
        let names = &files.names;
        let kind = step.kinds().first().copied().unwrap_or(OpKind::Stat);
        let start = step.first.saturating_add(mark.renewed(worker));
        let ahead = match step.does {
            TreeWork::Renew(renewal) if !renewal.reads_only => renewal.items,
            _ => 0,
        };
        let existing = names.items_each().saturating_sub(start.saturating_add(ahead));
        let all = match step.does {
            TreeWork::MakePlaces | TreeWork::RemovePlaces => dealt(names.places.len() as u64, worker, names.owners),
            // Owners that share a place leave it to the first of them.
            TreeWork::MakeRoots | TreeWork::RemoveRoots => u64::from((worker as usize) < names.places.len()),
            TreeWork::MakeDirectories | TreeWork::RemoveDirectories => names.directories(),
            _ => step.count.map_or(existing, |count| count.min(existing)),
        };
        // Items beyond the wall do not exist, so they are not part of the order.
        let all = if step.wall == Some(Wall::AsFar) { all.min(mark.get()) } else { all };
        let shuffled = match step.order {
            ItemOrder::Shuffled { seed } => {
                ItemOrder::shuffled(all, seed.wrapping_add(worker)).ok_or_else(|| WorkerError::Memory {
                    bytes: usize::try_from(all.saturating_mul(8)).unwrap_or(usize::MAX),
                    source: ErrorKind::OutOfMemory.into(),
                })?
            }
            _ => Vec::new(),
        };
        let op = CallOp { rules, ..CallOp::new(kind, Call::Tree) };
        let mut walk = TreeWalk {
            files: Arc::clone(files),
            step: step.clone(),
            op,
            worker,
            root: 0,
            owners_done: 0,
            base: 0,
            aside: 0,
            done: 0,
            all,
            all_at_start: all,
            start,
            round: Round::for_step(step),
            directories: DirectoryWalk::default(),
            in_directory: 0,
            shuffled,
            wall: None,
        };
        walk.start_over();
        Ok(walk)
    }

    /// Returns to the beginning for the next pass.
    pub(in crate::program) fn start_over(&mut self) {
        if self.renews() {
            // The renewed items no longer exist.
            self.start += self.done;
        }
        self.round = Round::for_step(&self.step);
        (self.root, self.owners_done) = (0, 0);
        self.all = self.all_at_start;
        self.wall = self.step.wall.filter(|wall| *wall != Wall::AsFar);
        self.begin();
    }

    /// Moves to the first entry of the current owner and root.
    fn begin(&mut self) {
        let names = &self.files.names;
        let owner = match self.step.all_owners {
            true => self.owners_done,
            false => {
                (u64::from(self.worker) + u64::from(self.step.shift)).rem_euclid(names.owners.max(1).into()) as u32
            }
        };
        let first = |entry| names.number(TreeName { root: self.root, owner, entry });
        let item = |kind| first(TreeEntry::Item(kind, 0));
        (self.base, self.aside) = match self.step.does {
            TreeWork::MakePlaces | TreeWork::RemovePlaces => (first(TreeEntry::Place(0)), 0),
            TreeWork::MakeRoots | TreeWork::RemoveRoots => (first(TreeEntry::Root), 0),
            TreeWork::MakeDirectories | TreeWork::RemoveDirectories => (first(TreeEntry::Directory(0)), 0),
            TreeWork::Rename { aside } => (item(self.step.items), item(aside)),
            _ => (item(self.step.items), 0),
        };
        self.done = 0;
        self.in_directory = 0;
        self.directories = match self.step.does {
            TreeWork::RemoveDirectories => DirectoryWalk::last_first(names),
            _ => DirectoryWalk::default(),
        };
        if names.leaves_only && !matches!(self.step.does, TreeWork::MakeDirectories | TreeWork::RemoveDirectories) {
            while self.directories.level < names.depth && self.directories.forward(names) {}
        }
    }

    /// Moves to the next owner or root; returns `false` if there is none.
    fn next_root(&mut self) -> bool {
        let names = &self.files.names;
        self.owners_done += 1;
        if !self.step.all_owners || self.owners_done >= names.owners {
            self.owners_done = 0;
            self.root += 1;
        }
        let has_roots = !matches!(self.step.does, TreeWork::MakePlaces | TreeWork::RemovePlaces);
        if self.root >= if has_roots { names.roots } else { 1 } {
            return false;
        }
        self.begin();
        true
    }

    /// Returns the next op; `None` after the last. Sets `at_wall` to the number of items done when the wall was met.
    #[inline]
    pub(in crate::program) fn next(
        &mut self,
        meeting: Option<&WallMeeting>,
        mark: &WallMark,
        at_wall: &mut Option<u64>,
    ) -> Option<CallOp> {
        loop {
            if let Some(wall) = self.wall
                && self.round.is_none_or(|round| round.is_at_start())
            {
                match wall::check_wall(wall, meeting, mark, self.done, self.all) {
                    AtWall::GoOn => {}
                    AtWall::Until(all) => (self.all, self.wall) = (all, None),
                    AtWall::Met(all) => {
                        *at_wall = Some(self.done);
                        (self.all, self.wall) = (all, None);
                    }
                }
            }
            if self.done < self.all {
                let Some(round) = &mut self.round else {
                    let op = self.entry();
                    self.done += 1;
                    return Some(op);
                };
                let names = &self.files.names;
                let op = round.op(names, &self.step, self.worker, names.first_item() + self.start + self.done, self.op);
                self.done += u64::from(round.go_on(names.roots));
                return Some(op);
            }
            if self.round.is_some() {
                if self.renews() {
                    mark.renew(self.worker, self.done);
                }
                return None;
            }
            if !self.next_root() {
                return None;
            }
        }
    }

    /// Returns `true` if the step replaces items by new ones.
    fn renews(&self) -> bool {
        matches!(self.step.does, TreeWork::Renew(renewal) if !renewal.reads_only)
    }

    /// Handles a failed op: skips the remaining ops on an item that does not exist.
    pub(in crate::program) fn failed(&mut self, op: &CallOp) {
        if let Some(round) = &mut self.round
            && op.kind == OpKind::Stat
            && round.is_within_item()
        {
            self.done += u64::from(round.leave_item(self.files.names.roots));
        }
    }

    #[inline]
    fn entry(&mut self) -> CallOp {
        let names = &self.files.names;
        let (first, done) = (names.first_item() + self.start, self.done);
        let file = match self.step.does {
            TreeWork::MakePlaces | TreeWork::RemovePlaces => {
                self.base + u64::from(self.worker) + done * u64::from(names.owners)
            }
            TreeWork::MakeRoots | TreeWork::RemoveRoots => self.base,
            TreeWork::MakeDirectories => {
                let number = self.directories.number;
                self.directories.forward(names);
                self.base + number
            }
            TreeWork::RemoveDirectories => {
                let number = self.directories.number;
                self.directories.upward(names);
                self.base + number
            }
            TreeWork::Rename { .. } => return self.rename(first),
            _ => match self.step.order {
                ItemOrder::Numbered | ItemOrder::AcrossRoots => self.base + first + done,
                ItemOrder::DepthFirst if self.start > 0 => self.base + first + done,
                ItemOrder::Shuffled { .. } => {
                    self.base + first + self.shuffled.get(done as usize).copied().unwrap_or(done)
                }
                ItemOrder::DepthFirst => {
                    let each = names.per_directory;
                    let number = self.directories.number * each + self.in_directory;
                    self.in_directory += 1;
                    if self.in_directory == each {
                        self.in_directory = 0;
                        while self.directories.forward(names)
                            && names.leaves_only
                            && self.directories.level < names.depth
                        {}
                    }
                    self.base + number
                }
            },
        };
        CallOp { file, ..self.op }
    }

    /// Renames the first item to a temporary name, shifts each further one down by one, and finally renames the
    /// temporary name to the last free one.
    fn rename(&self, first: u64) -> CallOp {
        let item = |number: u64| self.base + first + number;
        let aside = self.aside + first;
        let (from, to) = match self.done {
            0 => (item(0), aside),
            1 if self.all == 2 => (aside, item(0)),
            done if done + 1 == self.all => (aside, item(done - 1)),
            done => (item(done), item(done - 1)),
        };
        CallOp { file: from, other: to, ..self.op }
    }
}

/// Returns a worker's share of `count` things that are dealt one by one.
fn dealt(count: u64, worker: u32, workers: u32) -> u64 {
    count.saturating_sub(worker.into()).div_ceil(workers.max(1).into())
}

/// A walk through the directories of a tree, by their numbers alone.
#[derive(Debug, Clone, Copy, Default)]
struct DirectoryWalk {
    number: u64,
    level: u32,
}

impl DirectoryWalk {
    /// Returns the first directory to remove: the first one of the last level.
    fn last_first(names: &TreeNames) -> DirectoryWalk {
        let mut walk = DirectoryWalk::default();
        walk.descend(names);
        walk
    }

    fn descend(&mut self, names: &TreeNames) {
        while self.level < names.depth {
            self.number = self.number * u64::from(names.branch) + 1;
            self.level += 1;
        }
    }

    /// Moves to the next directory, parents first. Returns `false` after the last.
    fn forward(&mut self, names: &TreeNames) -> bool {
        let branch = u64::from(names.branch.max(1));
        if self.level < names.depth {
            self.number = self.number * branch + 1;
            self.level += 1;
            return true;
        }
        while self.number > 0 && self.number.is_multiple_of(branch) {
            self.number = (self.number - 1) / branch;
            self.level -= 1;
        }
        let more = self.number > 0;
        self.number += u64::from(more);
        more
    }

    /// Moves to the next directory, children first.
    fn upward(&mut self, names: &TreeNames) {
        let branch = u64::from(names.branch.max(1));
        if self.number == 0 {
            return;
        }
        if self.number.is_multiple_of(branch) {
            self.number = (self.number - 1) / branch;
            self.level -= 1;
        } else {
            self.number += 1;
            self.descend(names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Nanos;
    use plumb_workload::program::ItemName;

    fn names(branch: u32, depth: u32, leaves_only: bool) -> TreeNames {
        let item = |suffix: &str| ItemName { prefix: "i.".to_owned(), suffix: suffix.to_owned(), shared: false };
        TreeNames {
            places: vec!["out".into()],
            root: "r".to_owned(),
            roots: 1,
            directory: "t".to_owned(),
            own_trees: false,
            branch,
            depth,
            owners: 2,
            items: vec![item(""), item("-XX")],
            tree_shift: 0,
            per_directory: 2,
            leaves_only,
            flat: false,
        }
    }

    fn entries(names: &TreeNames, step: &TreeStep, worker: u32) -> Vec<TreeName> {
        let files = Arc::new(TreeFiles::new(names.clone(), std::path::Path::new("")));
        let mark = WallMark::default();
        let mut walk = TreeWalk::new(&files, step, 0, worker, &mark).unwrap();
        std::iter::from_fn(|| walk.next(None, &mark, &mut None)).map(|op| names.name(op.file)).collect()
    }

    fn numbers(names: &TreeNames, step: &TreeStep, worker: u32) -> Vec<u64> {
        let number = |name: TreeName| match name.entry {
            TreeEntry::Directory(number) | TreeEntry::Item(_, number) => number,
            _ => 0,
        };
        entries(names, step, worker).into_iter().map(number).collect()
    }

    // Protects the order in which a tree is created and removed: no directory exists without its parent.
    #[test]
    fn directories_are_created_downwards_and_removed_upwards() {
        let tree = names(2, 2, false);
        assert_eq!(numbers(&tree, &TreeStep::new(TreeWork::MakeDirectories), 0), [0, 1, 3, 4, 2, 5, 6]);
        assert_eq!(numbers(&tree, &TreeStep::new(TreeWork::RemoveDirectories), 0), [3, 4, 1, 5, 6, 2, 0]);
        let chain = names(1, 3, false);
        assert_eq!(numbers(&chain, &TreeStep::new(TreeWork::MakeDirectories), 0), [0, 1, 2, 3]);
        assert_eq!(numbers(&chain, &TreeStep::new(TreeWork::RemoveDirectories), 0), [3, 2, 1, 0]);
    }

    // Protects mdtest's orders: files are created depth first, and queried by number.
    #[test]
    fn items_come_in_the_order_of_their_step() {
        let make = TreeStep::new(TreeWork::Mkdir);
        let stat = TreeStep { order: ItemOrder::Numbered, ..TreeStep::new(TreeWork::Stat) };
        assert_eq!(numbers(&names(2, 1, false), &make, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(numbers(&names(2, 2, false), &make, 0)[..8], [0, 1, 2, 3, 6, 7, 8, 9]);
        assert_eq!(numbers(&names(2, 2, true), &make, 0), [6, 7, 8, 9, 10, 11, 12, 13]);
        assert_eq!(numbers(&names(2, 2, true), &stat, 1), [6, 7, 8, 9, 10, 11, 12, 13]);
        assert_eq!(numbers(&names(1, 0, false), &TreeStep { count: Some(1), ..stat.clone() }, 0), [0]);
        let owners = |step: &TreeStep, worker| {
            entries(&names(1, 0, false), step, worker).iter().map(|name| name.owner).collect::<Vec<_>>()
        };
        assert_eq!(owners(&TreeStep { shift: 1, ..stat.clone() }, 1), [0, 0]);
        assert_eq!(owners(&TreeStep { all_owners: true, ..stat }, 0), [0, 0, 1, 1]);
    }

    // Protects the items after a rename step: all names exist again, except the temporary one.
    #[test]
    fn renaming_leaves_every_name_taken() {
        for per_directory in [2, 3, 5] {
            let tree = TreeNames { per_directory, ..names(1, 0, false) };
            let files = Arc::new(TreeFiles::new(tree.clone(), std::path::Path::new("")));
            let step = TreeStep::new(TreeWork::Rename { aside: 1 });
            let mut walk = TreeWalk::new(&files, &step, 0, 1, &WallMark::default()).unwrap();
            let mut existing: std::collections::BTreeSet<u64> = (0..per_directory)
                .map(|number| tree.number(TreeName { root: 0, owner: 1, entry: TreeEntry::Item(0, number) }))
                .collect();
            let before = existing.clone();
            while let Some(op) = walk.next(None, &WallMark::default(), &mut None) {
                assert!(
                    existing.remove(&op.file),
                    "{} of {per_directory} does not exist",
                    tree.path(tree.name(op.file)).display()
                );
                assert!(existing.insert(op.other));
            }
            assert_eq!(existing, before);
        }
    }

    // Protects later phases: they go as far as the last wall allowed, in every root.
    #[test]
    fn later_steps_go_as_far_as_the_wall() {
        let tree = TreeNames { per_directory: 10, ..names(1, 0, false) };
        let files = Arc::new(TreeFiles::new(tree, std::path::Path::new("")));
        let step = TreeStep { wall: Some(Wall::AsFar), ..TreeStep::new(TreeWork::Stat) };
        let mark = WallMark::default();
        let count = |step: &TreeStep| {
            let mut walk = TreeWalk::new(&files, step, 0, 0, &mark).unwrap();
            std::iter::from_fn(|| walk.next(None, &mark, &mut None)).count()
        };
        assert_eq!(count(&step), 10);
        mark.set(4);
        assert_eq!(count(&step), 4);
        let alone = TreeStep { wall: Some(Wall::After(Nanos(0))), ..step };
        assert_eq!(count(&alone), 10, "no other workers to meet");
    }

    // Protects -R after -W: the items queried in random order are those before the wall, in every pass.
    #[test]
    fn shuffled_steps_stay_within_the_wall() {
        let tree = TreeNames { per_directory: 100, ..names(1, 0, false) };
        let files = Arc::new(TreeFiles::new(tree, std::path::Path::new("")));
        let order = ItemOrder::Shuffled { seed: 5 };
        let step = TreeStep { order, wall: Some(Wall::AsFar), ..TreeStep::new(TreeWork::Stat) };
        let mark = WallMark::default();
        mark.set(20);
        let mut walk = TreeWalk::new(&files, &step, 0, 0, &mark).unwrap();
        for _ in 0..2 {
            let mut found: Vec<u64> = std::iter::from_fn(|| walk.next(None, &mark, &mut None))
                .map(|op| op.file - walk_base(&files))
                .collect();
            assert_ne!(found, (0..20).collect::<Vec<_>>());
            found.sort_unstable();
            assert_eq!(found, (0..20).collect::<Vec<_>>());
            walk.start_over();
        }
    }

    /// Returns the number of the first item of worker 0.
    fn walk_base(files: &TreeFiles) -> u64 {
        files.names.number(TreeName { root: 0, owner: 0, entry: TreeEntry::Item(0, 0) })
    }
}
