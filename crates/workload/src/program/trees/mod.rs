//! Regular trees of directories with numbered items, and the phases of work on them.

mod names;

pub use names::{ItemName, TreeEntry, TreeName, TreeNames, put_number};

use crate::library_random::LibraryRandom;
use crate::op::OpKind;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Work on the trees and items of one owner or of all, root by root. The target's names must be [`TreeNames`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreeStep {
    /// Action on the tree or on each item.
    pub does: TreeWork,
    /// Added to the worker's number in its group, modulo the number of owners, to get the owner.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift: u32,
    /// Work on the trees of all owners, one owner after another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_owners: bool,
    /// Index of the kind of items.
    #[serde(default, skip_serializing_if = "is_first")]
    pub items: u16,
    /// Order in which items are visited.
    #[serde(default)]
    pub order: ItemOrder,
    /// Number of items per root, in this order; all when absent. For a renewal, the number of renewals per root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Number of the first item in each root, in addition to those that the worker's earlier renewals removed. From
    /// there on, `depth-first` means the order of item numbers.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub first: u64,
    /// Stonewall: a time or count at which the step ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Wall>,
    /// Open files with `O_DIRECT`, bypassing the page cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Wait after each op for this many millionths of the op's own time.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub waits_ppm: u64,
}

fn is_none_left_out(number: &u64) -> bool {
    *number == 0
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_first(number: &u16) -> bool {
    *number == 0
}

/// Action on a tree or on each of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum TreeWork {
    /// `mkdir` of the places, of which each worker makes a share. Existing ones are kept.
    MakePlaces,
    /// `rmdir` of the places.
    RemovePlaces,
    /// `mkdir` of the roots in the worker's places. Existing ones are kept.
    MakeRoots,
    /// `rmdir` of the roots in the worker's places.
    RemoveRoots,
    /// `mkdir` of a tree's directories, parents first.
    MakeDirectories,
    /// `rmdir` of a tree's directories, children first.
    RemoveDirectories,
    /// `mkdir` of each item, as one op.
    Mkdir,
    /// `rmdir` of each item, as one op.
    Rmdir,
    /// `stat` of each item, as one op.
    Stat,
    /// Renames items in a circle. Every item except the last gets the name of the one before it, and the first gets
    /// that of the second-to-last. The first is moved away beforehand, to its name in another kind of items.
    Rename {
        /// Index of that kind.
        aside: u16,
    },
    /// `open` with `O_CREAT|O_RDWR`, one `write` and `close` of each item, as one op.
    Make(MakeItem),
    /// `mknod` of a regular file for each item.
    Mknod,
    /// `open` with `O_RDWR`, one `read` and `close` of each item, as one op.
    Read {
        /// Bytes to read; 0 skips the `read`.
        bytes: Bytes,
    },
    /// `unlink` of each item, as one op.
    Unlink,
    /// Root by root, in turns: `stat`, read and `unlink` of the oldest item, then creation of a new one. Each is an
    /// op. Items are read with `O_RDONLY`.
    Renew(Renewal),
}

/// Renewal of the items in each root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Renewal {
    /// Bytes read and written per item.
    pub bytes: Bytes,
    /// Number of items per root. A new item's number exceeds the oldest item's by this much.
    pub items: u64,
    /// Distance between owners, to be multiplied by `d + 1` in an owner's root `d`. The oldest item belongs to the
    /// owner that far before, and the new item to the owner that far after.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stride: u32,
    /// Only `stat` and read. Remove and create nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_only: bool,
}

/// Options for creating an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MakeItem {
    /// Bytes to write; 0 skips the `write`.
    pub bytes: Bytes,
    /// Call `fsync` after the write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
    /// Open an existing item, without `O_CREAT`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exists: bool,
    /// Read the data back and compare it, within the time of the op.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_back: bool,
}

/// Order in which items are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ItemOrder {
    /// The items of a directory, then those of each of its subdirectories, recursively.
    #[default]
    DepthFirst,
    /// In order of their numbers.
    Numbered,
    /// In order of their numbers, and each number in all roots before the next.
    AcrossRoots,
    /// Numbers shuffled with glibc's `rand`. Each worker adds its number to the seed.
    Shuffled {
        /// Seed of the first worker.
        seed: u32,
    },
}

impl ItemOrder {
    /// Shuffles `count` numbers as mdtest does: from the last down, each is swapped with one drawn in floating point.
    /// Returns `None` if they do not fit into memory.
    pub fn shuffled(count: u64, seed: u32) -> Option<Vec<u64>> {
        let mut order = Vec::new();
        order.try_reserve_exact(usize::try_from(count).ok()?).ok()?;
        order.extend(0..count);
        let mut numbers = LibraryRandom::seeded(seed);
        for last in (1..order.len()).rev() {
            let drawn = f64::from(numbers.draw()) / f64::from(LibraryRandom::MAX) * last as f64;
            order.swap(drawn as usize, last);
        }
        Some(order)
    }
}

/// A stonewall: workers go on for a time, and optionally then until all have done as much as the fastest. It counts
/// items of trees and records of transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// Each worker stops after this time, waits for the others, and goes on to the count of the fastest.
    After(Nanos),
    /// Each worker stops after this time, wherever it is.
    Ends(Nanos),
    /// The count that every worker reached at the last wall of an earlier phase; all items if there was none.
    AsFar,
}

impl TreeStep {
    /// Returns this action on all of the worker's own items, depth first.
    pub fn new(does: TreeWork) -> TreeStep {
        TreeStep {
            does,
            shift: 0,
            all_owners: false,
            items: 0,
            order: ItemOrder::default(),
            count: None,
            first: 0,
            wall: None,
            direct: false,
            waits_ppm: 0,
        }
    }

    /// Returns the action of an op of this kind; a renewal consists of several.
    pub fn does_in(&self, kind: OpKind) -> TreeWork {
        match (self.does, kind) {
            (TreeWork::Renew(_), OpKind::Stat) => TreeWork::Stat,
            (TreeWork::Renew(_), OpKind::Unlink) => TreeWork::Unlink,
            (TreeWork::Renew(Renewal { bytes, .. }), OpKind::Read | OpKind::Open) => TreeWork::Read { bytes },
            (TreeWork::Renew(Renewal { bytes, .. }), _) => {
                TreeWork::Make(MakeItem { bytes, flush: false, exists: false, reads_back: false })
            }
            (does, _) => does,
        }
    }

    /// Returns `true` if each item is done in all roots before the next item.
    pub fn is_across_roots(&self) -> bool {
        self.order == ItemOrder::AcrossRoots || matches!(self.does, TreeWork::Renew(_))
    }

    /// Returns the kinds of op made on each entry, in order.
    pub fn kinds(&self) -> &'static [OpKind] {
        match self.does {
            TreeWork::MakePlaces | TreeWork::MakeRoots | TreeWork::MakeDirectories | TreeWork::Mkdir => {
                &[OpKind::Mkdir]
            }
            TreeWork::RemovePlaces | TreeWork::RemoveRoots | TreeWork::RemoveDirectories | TreeWork::Rmdir => {
                &[OpKind::Rmdir]
            }
            TreeWork::Stat => &[OpKind::Stat],
            TreeWork::Rename { .. } => &[OpKind::Rename],
            TreeWork::Make(_) | TreeWork::Mknod => &[OpKind::Create],
            TreeWork::Read { bytes: Bytes(0) } => &[OpKind::Open],
            TreeWork::Read { .. } => &[OpKind::Read],
            TreeWork::Unlink => &[OpKind::Unlink],
            TreeWork::Renew(renewal) => match (renewal.bytes.0, renewal.reads_only) {
                (0, true) => &[OpKind::Stat, OpKind::Open],
                (0, false) => &[OpKind::Stat, OpKind::Open, OpKind::Unlink, OpKind::Create],
                (_, true) => &[OpKind::Stat, OpKind::Read],
                (_, false) => &[OpKind::Stat, OpKind::Read, OpKind::Unlink, OpKind::Create],
            },
        }
    }

    /// Returns `true` if the step changes a file or a directory.
    pub fn changes(&self) -> bool {
        !matches!(self.does, TreeWork::Stat | TreeWork::Read { .. } | TreeWork::Renew(Renewal { reads_only: true, .. }))
    }

    /// Returns `true` if the step reads items, so that it may compare them.
    pub fn reads(&self) -> bool {
        matches!(self.does, TreeWork::Read { .. } | TreeWork::Renew(_))
    }

    /// Returns the number of bytes written or read per item.
    pub fn item_bytes(&self) -> u64 {
        match self.does {
            TreeWork::Make(MakeItem { bytes, .. })
            | TreeWork::Read { bytes }
            | TreeWork::Renew(Renewal { bytes, .. }) => bytes.0,
            _ => 0,
        }
    }

    /// Returns the number of bytes written per item.
    pub fn made_bytes(&self) -> u64 {
        if self.changes() { self.item_bytes() } else { 0 }
    }

    /// Returns the number of bytes read back per item.
    pub fn read_back_bytes(&self) -> u64 {
        match self.does {
            TreeWork::Make(MakeItem { bytes, reads_back: true, .. }) => bytes.0,
            _ => 0,
        }
    }

    /// Returns `true` if the step flushes what it writes.
    pub fn flushes(&self) -> bool {
        matches!(self.does, TreeWork::Make(MakeItem { flush: true, .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects mdtest's `-R`: `mdtest -n 100 -F -R --random-seed=5` calls `stat` on these
    // files first, as strace shows.
    #[test]
    fn shuffled_orders_go_to_every_item_once() {
        let mut order = ItemOrder::shuffled(100, 5).unwrap();
        assert_eq!(order[..8], [40, 83, 61, 12, 64, 94, 88, 68]);
        assert_ne!(order, ItemOrder::shuffled(100, 6).unwrap());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert!(ItemOrder::shuffled(1 << 62, 5).is_none(), "more than any memory");
    }
}
