//! Regular trees of directories with numbered items, and what programs do with them in phases.

mod names;

pub use names::{ItemName, TreeEntry, TreeName, TreeNames, put_number};

use crate::library_random::LibraryRandom;
use crate::op::OpKind;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What a worker does with the trees and items of one owner, or of all, root by root. The target's names are
/// [`TreeNames`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreeStep {
    /// What is done.
    pub does: TreeWork,
    /// Whose: the worker's own number in its group plus this, modulo the owners.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift: u32,
    /// Those of all owners instead, one owner after another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_owners: bool,
    /// Which kind of items.
    #[serde(default, skip_serializing_if = "is_first")]
    pub items: u16,
    /// In which order items are gone through.
    #[serde(default)]
    pub order: ItemOrder,
    /// The first so many items of that order in each root; all when absent. Of a renewal, how often each root is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Number of the first item in each root; behind those that the worker's earlier renewals removed. From there on, items come by
    /// their numbers where they would come depth first.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub first: u64,
    /// Stonewall: a time or count at which the step ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Wall>,
    /// Files are opened with `O_DIRECT`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// After each op, a wait of this many millionths of the op's own time.
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

/// What is done with a tree, or with each of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum TreeWork {
    /// `mkdir` of the places, of which each worker makes its share; one that exists stays as it is.
    MakePlaces,
    /// `rmdir` of the places.
    RemovePlaces,
    /// `mkdir` of the roots in the worker's places; one that exists stays as it is.
    MakeRoots,
    /// `rmdir` of the roots.
    RemoveRoots,
    /// `mkdir` of a tree's directories, each before those in it.
    MakeDirectories,
    /// `rmdir` of a tree's directories, each behind those in it.
    RemoveDirectories,
    /// `mkdir` of each item.
    Mkdir,
    /// `rmdir` of each item.
    Rmdir,
    /// `stat` of each item.
    Stat,
    /// Every item but the last gets the name of the one before it, and the first the last but one's: it is put aside
    /// first, under its name of another kind of items.
    Rename {
        /// That kind.
        aside: u16,
    },
    /// Each item as one op: `open` with `O_CREAT|O_RDWR`, one `write`, `close`.
    Make(MakeItem),
    /// `mknod` of a regular file.
    Mknod,
    /// Each item as one op: `open` with `O_RDWR`, one `read`, `close`.
    Read {
        /// Bytes; no `read` at all for 0.
        bytes: Bytes,
    },
    /// `unlink` of each item.
    Unlink,
    /// Root by root, in turns: `stat`, read and `unlink` of the oldest item, and a new one is made. Each is an op; items are read
    /// with `O_RDONLY`.
    Renew(Renewal),
}

/// How roots of items are renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Renewal {
    /// Bytes of an item.
    pub bytes: Bytes,
    /// Items of each root: a new one has a number that is so much higher than that of the oldest.
    pub items: u64,
    /// In an owner's root `d`, the oldest item is that of the owner `(d + 1)` times this before, and the new one of the owner as far
    /// behind.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stride: u32,
    /// `stat` and read alone: nothing is removed, and nothing made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_only: bool,
}

/// How an item is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MakeItem {
    /// Bytes; no `write` at all for 0.
    pub bytes: Bytes,
    /// `fsync` behind the write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
    /// It was made before: without `O_CREAT`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exists: bool,
    /// What was written is read back and compared, in the time of the op.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_back: bool,
}

/// In which order items are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ItemOrder {
    /// Those of a directory, then those of each directory in it with all that is below.
    #[default]
    DepthFirst,
    /// By their numbers.
    Numbered,
    /// By their numbers, and each of all roots before the next.
    AcrossRoots,
    /// As glibc's `rand` shuffles their numbers, for each worker with a seed that is higher by the worker's number.
    Shuffled {
        /// The first worker's.
        seed: u32,
    },
}

impl ItemOrder {
    /// `count` numbers as mdtest shuffles them: from the last one down, each changes places with one that is drawn in
    /// floating point. `None` where they do not fit into memory.
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

/// A stonewall: workers that go on for a time, and perhaps then until all have done as much as the one that came furthest.
/// Items of trees, and records of a transfer, are what is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// Each worker stops after so long, waits for the others, and goes on to the count of the one that came furthest.
    After(Nanos),
    /// Each worker stops after so long, wherever it is.
    Ends(Nanos),
    /// As many as every worker had done behind the last wall of an earlier phase; all, where there was none.
    AsFar,
}

impl TreeStep {
    /// This work for the worker's own items, all of them, depth first.
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

    /// What an op of this kind does: a renewal has several.
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

    /// Whether it goes from root to root with each item, rather than with all of them.
    pub fn is_across_roots(&self) -> bool {
        self.order == ItemOrder::AcrossRoots || matches!(self.does, TreeWork::Renew(_))
    }

    /// The kinds of op that it makes of each entry, in their order.
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

    /// Whether it changes a file or a directory.
    pub fn changes(&self) -> bool {
        !matches!(self.does, TreeWork::Stat | TreeWork::Read { .. } | TreeWork::Renew(Renewal { reads_only: true, .. }))
    }

    /// Whether it reads items, and so may compare them.
    pub fn reads(&self) -> bool {
        matches!(self.does, TreeWork::Read { .. } | TreeWork::Renew(_))
    }

    /// Bytes that each of its items is written or read with.
    pub fn item_bytes(&self) -> u64 {
        match self.does {
            TreeWork::Make(MakeItem { bytes, .. })
            | TreeWork::Read { bytes }
            | TreeWork::Renew(Renewal { bytes, .. }) => bytes.0,
            _ => 0,
        }
    }

    /// Bytes that each of its items is written with.
    pub fn made_bytes(&self) -> u64 {
        if self.changes() { self.item_bytes() } else { 0 }
    }

    /// Bytes that are read back of each of its items.
    pub fn read_back_bytes(&self) -> u64 {
        match self.does {
            TreeWork::Make(MakeItem { bytes, reads_back: true, .. }) => bytes.0,
            _ => 0,
        }
    }

    /// Whether it flushes what it writes.
    pub fn flushes(&self) -> bool {
        matches!(self.does, TreeWork::Make(MakeItem { flush: true, .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects -R: `mdtest -n 100 -F -R --random-seed=5` asks about these files first, as strace shows.
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
