//! Detects whether storage is still working off earlier I/O: requests in flight,
//! writeback, discards and garbage collection.
//!
//! This only reads counters. It never issues a flush, a discard or a sync, which
//! would change the state for the next run. Sources: the kernel's
//! Documentation/block/stat.rst; proc_meminfo(5);
//! Documentation/ABI/testing/sysfs-fs-f2fs (`moved_blocks_background`,
//! `moved_blocks_foreground`); fs/btrfs/sysfs.c (`discard/discardable_bytes`).

use crate::counters::{device, kib};
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::observe::{BlockLayer, TargetFacts};
use std::collections::BTreeSet;

/// Dirty bytes above the level before the first run that count as pending. Other programs always dirty a few pages.
const DIRTY_BYTES: u64 = 8 << 20;

/// Writeback bytes that count as pending: single pages of other programs come and go.
const WRITEBACK_BYTES: u64 = 1 << 20;

/// Bytes of held-back discards that count as pending.
const DISCARD_BYTES: u64 = 1 << 20;

/// Counters to read, determined once for all runs of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleWatch {
    sys: Sysroot,
    /// Block devices from the file system down to the leaves, by the kernel's names.
    devices: BTreeSet<String>,
    /// Files with the bytes that btrfs still has to discard.
    btrfs: BTreeSet<String>,
    /// Directories of f2fs file systems.
    f2fs: BTreeSet<String>,
    /// Dirty bytes before the first run.
    dirty_bytes: u64,
}

/// Counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdleReading {
    in_flight: u64,
    /// Requests that devices have completed: reads, writes, discards and flushes.
    completed: u64,
    dirty_bytes: u64,
    writeback_bytes: u64,
    discardable_bytes: u64,
    /// Blocks that garbage collection has moved.
    moved_blocks: u64,
}

impl Default for IdleWatch {
    fn default() -> IdleWatch {
        IdleWatch::new()
    }
}

impl IdleWatch {
    /// Starts with dirty pages only, and records their current number.
    pub fn new() -> IdleWatch {
        IdleWatch::new_in(&Sysroot::real())
    }

    /// Like [`IdleWatch::new`], for the machine described by a tree of files.
    pub fn new_in(sys: &Sysroot) -> IdleWatch {
        let (devices, btrfs, f2fs) = Default::default();
        let mut watch = IdleWatch { sys: sys.clone(), devices, btrfs, f2fs, dirty_bytes: 0 };
        watch.dirty_bytes = watch.read().dirty_bytes;
        watch
    }

    /// Adds all devices and file systems under this target.
    pub fn include(&mut self, target: &TargetFacts) {
        let name = |layer: &BlockLayer| layer.name.replace('/', "!");
        self.devices.extend(target.stack.iter().map(name));
        let Seen::Yes(filesystem) = &target.filesystem else { return };
        match (filesystem.kind.as_str(), filesystem.uuid.value(), target.stack.first()) {
            ("btrfs", Some(uuid), _) => {
                self.btrfs.insert(format!("/sys/fs/btrfs/{uuid}/discard/discardable_bytes"));
            }
            ("f2fs", _, Some(layer)) => {
                self.f2fs.insert(format!("/sys/fs/f2fs/{}", name(layer)));
            }
            _ => {}
        }
    }

    /// Reads the counters once. Unreadable counters do not count as pending.
    pub fn read(&self) -> IdleReading {
        let sys = &self.sys;
        let mut look = IdleReading::default();
        for name in &self.devices {
            if let Seen::Yes(counters) = device(sys, name, &Seen::Yes(())) {
                look.in_flight += u64::from(counters.in_flight);
                look.completed += counters.reads + counters.writes + counters.discards + counters.flushes.unwrap_or(0);
            }
        }
        if let Ok(meminfo) = sys.read("/proc/meminfo") {
            look.dirty_bytes = kib(&meminfo, "Dirty").unwrap_or(0);
            look.writeback_bytes = kib(&meminfo, "Writeback").unwrap_or(0);
        }
        look.discardable_bytes = self.btrfs.iter().filter_map(|path| sys.number::<u64>(path)).sum();
        let moved = |directory: &String| {
            ["moved_blocks_background", "moved_blocks_foreground"]
                .iter()
                .filter_map(|name| sys.number::<u64>(format!("{directory}/{name}")))
                .sum::<u64>()
        };
        look.moved_blocks = self.f2fs.iter().map(moved).sum();
        look
    }

    /// Describes the work pending between two readings; `None` if the storage is idle.
    pub fn pending(&self, before: &IdleReading, now: &IdleReading) -> Option<&'static str> {
        if now.in_flight > 0 {
            Some("requests in flight")
        } else if now.completed != before.completed {
            Some("requests that the devices still complete")
        } else if now.writeback_bytes > WRITEBACK_BYTES {
            Some("writeback")
        } else if now.dirty_bytes > self.dirty_bytes.saturating_add(DIRTY_BYTES) {
            Some("dirty pages")
        } else if now.discardable_bytes > DISCARD_BYTES {
            Some("discards that the file system holds back")
        } else if now.moved_blocks != before.moved_blocks {
            Some("garbage collection")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;
    use plumb_result::observe::FileSystem;

    const IDLE_STAT: &str = "1 0 2 0 3 0 4 0 0 0 0 5 0 6 0 7 0";

    fn on(kind: &str, device: &str) -> TargetFacts {
        TargetFacts {
            filesystem: Seen::Yes(FileSystem {
                kind: kind.to_owned(),
                uuid: Seen::Yes("u-1".to_owned()),
                ..FileSystem::default()
            }),
            stack: vec![BlockLayer { name: device.to_owned(), ..BlockLayer::default() }],
            ..TargetFacts::default()
        }
    }

    fn meminfo(dirty: u64, writeback: u64) -> String {
        format!("MemAvailable: 10 kB\nDirty: {dirty} kB\nWriteback: {writeback} kB\nWritebackTmp: 99999 kB\n")
    }

    /// Returns the pending work after an idle machine has changed to these files.
    fn after(kind: &str, changes: &[(&str, &str)]) -> Option<&'static str> {
        let tree = Tree::new();
        tree.file("/sys/class/block/vda/stat", IDLE_STAT)
            .file("/proc/meminfo", &meminfo(20_000, 0))
            .file("/sys/fs/btrfs/u-1/discard/discardable_bytes", "0\n")
            .file("/sys/fs/f2fs/vda/moved_blocks_background", "10\n");
        let mut watch = IdleWatch::new_in(&tree.sys());
        watch.include(&on(kind, "vda"));
        let before = watch.read();
        assert_eq!(watch.pending(&before, &watch.read()), None);
        for (path, text) in changes {
            tree.file(path, text);
        }
        watch.pending(&before, &watch.read())
    }

    #[test]
    fn all_pending_work_is_named() {
        let stat = "/sys/class/block/vda/stat";
        assert_eq!(after("ext4", &[]), None);
        assert_eq!(after("ext4", &[(stat, "1 0 2 0 3 0 4 0 2 0 0 5 0 6 0 7 0")]), Some("requests in flight"));
        for changed in
            ["1 0 2 0 3 0 4 0 0 0 0 9 0 6 0 7 0", "1 0 2 0 3 0 4 0 0 0 0 5 0 6 0 8 0", "1 0 2 0 8 0 4 0 0 0 0"]
        {
            assert_eq!(
                after("ext4", &[(stat, changed)]),
                Some("requests that the devices still complete"),
                "{changed}"
            );
        }
        assert_eq!(after("ext4", &[("/proc/meminfo", &meminfo(20_000, 4096))]), Some("writeback"));
        assert_eq!(after("ext4", &[("/proc/meminfo", &meminfo(40_000, 0))]), Some("dirty pages"));
        let discard = ("/sys/fs/btrfs/u-1/discard/discardable_bytes", "104857600\n");
        assert_eq!(after("btrfs", &[discard]), Some("discards that the file system holds back"));
        assert_eq!(after("ext4", &[discard]), None, "not its file system");
        let moved = ("/sys/fs/f2fs/vda/moved_blocks_background", "11\n");
        assert_eq!(after("f2fs", &[moved]), Some("garbage collection"));
    }

    /// A logger that constantly dirties a few pages must not delay every run.
    #[test]
    fn constant_background_work_counts_as_idle() {
        assert_eq!(after("ext4", &[("/proc/meminfo", &meminfo(24_000, 100))]), None);
    }

    #[test]
    fn a_machine_without_readable_counters_is_idle() {
        let tree = Tree::new();
        let mut watch = IdleWatch::new_in(&tree.sys());
        watch.include(&on("tmpfs", "none"));
        assert_eq!(watch.pending(&watch.read(), &watch.read()), None);
    }
}
