//! Inode tables that mkfs.ext4 left to the kernel. Sources: mke2fs(8),
//! "lazy_itable_init"; the kernel's
//! Documentation/filesystems/ext4/{super,group_descr}.rst; `EXT4_BG_INODE_ZEROED`
//! of fs/ext4/ext4.h.

use super::processes::Processes;
use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::{Ext4Tables, GroupCount, LazyInit};
use plumb_result::observe::TargetFacts;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

const SUPERBLOCK_AT: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 1024;
/// Maximum bytes of group descriptors to read: 16 MiB cover some 32 TB of file system.
const DESCRIPTORS_BYTES_MAX: u64 = 16 << 20;
/// Flag of a group whose inode table was zeroed.
const INODE_ZEROED: u16 = 0x4;

/// Returns the devices under the targets with an ext4: the target's own, that under an overlay, and that of
/// a loop device's backing file.
pub(super) fn devices(targets: &[TargetFacts]) -> BTreeSet<String> {
    let mut devices = BTreeSet::new();
    let is_ext4 = |words: &String| words.split(' ').next() == Some("ext4");
    for facts in targets {
        if let Some(fs) = facts.filesystem.value()
            && (fs.kind == "ext4" || fs.features.get("stands_on").is_some_and(is_ext4))
            && let Some(layer) = facts.stack.first()
        {
            devices.insert(layer.name.clone());
        }
        for layer in facts.stack.iter().filter(|layer| layer.settings.get("stands_on").is_some_and(is_ext4)) {
            devices.extend(layer.below.first().cloned());
        }
    }
    devices
}

/// Checks the kernel's thread and each file system.
pub(super) fn read(
    sys: &Sysroot,
    devices: &BTreeSet<String>,
    processes: &Result<Processes, ProbeError>,
) -> Seen<LazyInit> {
    if devices.is_empty() {
        return Seen::no("no ext4 is below the targets");
    }
    match processes {
        Ok(processes) => {
            let elsewhere = if processes.ext4_lazy_init { elsewhere(sys, devices) } else { Vec::new() };
            Seen::Yes(LazyInit {
                thread_alive: processes.ext4_lazy_init,
                filesystems: devices.iter().map(|device| tables(sys, device)).collect(),
                elsewhere: elsewhere.iter().map(|device| tables(sys, device)).collect(),
                turns: processes.ext4_lazy_init_turns,
            })
        }
        Err(error) => Seen::no(error.to_string()),
    }
}

/// Returns every ext4 mounted in any namespace, by device, except the targets'.
/// Source: Documentation/ABI/testing/sysfs-fs-ext4.
fn elsewhere(sys: &Sysroot, devices: &BTreeSet<String>) -> Vec<String> {
    let named = sys.names("/sys/fs/ext4").into_iter().map(|name| name.replace('!', "/"));
    named.filter(|name| name != "features" && !devices.contains(name)).collect()
}

fn tables(sys: &Sysroot, device: &str) -> Ext4Tables {
    let path = format!("/dev/{device}");
    let fail = |error| ProbeError::read::<std::io::Error>(&path)(error);
    let mut created_unix_s = None;
    let mut count = || -> Result<GroupCount, ProbeError> {
        let mut file = File::open(sys.locate(&path)).map_err(fail)?;
        let mut superblock = [0u8; SUPERBLOCK_BYTES];
        file.seek(SeekFrom::Start(SUPERBLOCK_AT)).map_err(fail)?;
        file.read_exact(&mut superblock).map_err(fail)?;
        let layout = Layout::parse(&superblock).ok_or_else(|| ProbeError::lacks(path.as_str(), "ext4 superblock"))?;
        created_unix_s = Some(layout.created_unix_s);
        if !layout.marks_groups {
            // Without group checksums, mkfs zeroes every table itself.
            return Ok(GroupCount { total: layout.groups, uninitialised: 0 });
        }
        if layout.scattered {
            return Err(ProbeError::unavailable(path.as_str(), "has scattered group descriptors (meta_bg)"));
        }
        let bytes = layout.groups.saturating_mul(layout.descriptor_bytes);
        if bytes > DESCRIPTORS_BYTES_MAX {
            let why = format!("has {} block groups, too many to scan", layout.groups);
            return Err(ProbeError::unavailable(path.as_str(), why));
        }
        let mut descriptors = vec![0u8; bytes as usize];
        file.seek(SeekFrom::Start(layout.descriptors_at)).map_err(fail)?;
        file.read_exact(&mut descriptors).map_err(fail)?;
        let flags = descriptors
            .chunks_exact(layout.descriptor_bytes as usize)
            .map(|descriptor| u16::from_le_bytes([descriptor[0x12], descriptor[0x13]]));
        let uninitialised = flags.filter(|flags| flags & INODE_ZEROED == 0).count() as u64;
        Ok(GroupCount { total: layout.groups, uninitialised })
    };
    let groups = count().into();
    Ext4Tables { device: device.to_owned(), groups, created_unix_s }
}

struct Layout {
    groups: u64,
    descriptor_bytes: u64,
    descriptors_at: u64,
    marks_groups: bool,
    scattered: bool,
    created_unix_s: u64,
}

impl Layout {
    fn parse(bytes: &[u8; SUPERBLOCK_BYTES]) -> Option<Layout> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        const MAGIC: u16 = 0xEF53;
        const META_BG: u32 = 0x10;
        const WIDE: u32 = 0x80;
        const GROUP_CHECKSUMS: u32 = 0x10 | 0x400;
        if u16_at(0x38) != MAGIC || u32_at(0x18) > 6 {
            return None;
        }
        let block_bytes = 1024u64 << u32_at(0x18);
        let incompatible = u32_at(0x60);
        let wide = incompatible & WIDE != 0;
        let blocks = u64::from(u32_at(0x4)) | if wide { u64::from(u32_at(0x150)) << 32 } else { 0 };
        let first_data_block = u64::from(u32_at(0x14));
        let blocks_per_group = u64::from(u32_at(0x20));
        let descriptor_bytes = if wide { u64::from(u16_at(0xFE)).max(32) } else { 32 };
        if blocks_per_group == 0 || descriptor_bytes > 1024 {
            return None;
        }
        Some(Layout {
            groups: blocks.saturating_sub(first_data_block).div_ceil(blocks_per_group),
            descriptor_bytes,
            // The block after the one with the superblock.
            descriptors_at: (first_data_block + 1) * block_bytes,
            marks_groups: u32_at(0x64) & GROUP_CHECKSUMS != 0,
            scattered: incompatible & META_BG != 0,
            created_unix_s: u64::from(u32_at(0x108)) | (u64::from(bytes[0x276]) << 32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;
    use plumb_result::observe::{BlockLayer, FileSystem, LayerKind};
    use std::process::Command;

    fn missing(why: &str) {
        assert!(std::env::var_os("CI").is_none(), "{why}");
        eprintln!("SKIPPED: {why}");
    }

    fn made(tree: &Tree, options: &[&str]) -> bool {
        tree.directory("/dev");
        let image = tree.sys().locate("/dev/vdz");
        std::fs::File::create(&image).unwrap().set_len(600 << 20).unwrap();
        let output = Command::new("mkfs.ext4").args(["-q", "-F"]).args(options).arg(&image).output();
        output.is_ok_and(|output| output.status.success())
    }

    // Protects against a real mkfs: it leaves all tables but the first groups' to the kernel, unless told otherwise.
    #[test]
    fn tables_that_mkfs_left_to_the_kernel_are_counted() {
        let tree = Tree::new();
        // If a discard returns zeros, mkfs assumes that the tables are zeroed.
        if !made(&tree, &["-E", "nodiscard,lazy_itable_init=1"]) {
            return missing("mkfs.ext4 is missing or fails");
        }
        let lazy = tables(&tree.sys(), "vdz");
        let groups = *lazy.groups.as_result().unwrap();
        assert!(groups.total == 5 && groups.uninitialised >= 4, "{groups:?}");
        assert!(lazy.created_unix_s.is_some_and(|made| made > 1_500_000_000));
        for options in [["-E", "nodiscard,lazy_itable_init=0"], ["-O", "^metadata_csum,^uninit_bg"]] {
            assert!(made(&tree, &options));
            let eager = tables(&tree.sys(), "vdz");
            assert_eq!(eager.groups, Seen::Yes(GroupCount { total: 5, uninitialised: 0 }), "{options:?}");
        }
        assert!(made(&tree, &["-O", "^64bit,^resize_inode,meta_bg"]));
        assert!(tables(&tree.sys(), "vdz").groups.as_result().unwrap_err().contains("meta_bg"));
    }

    // Protects: a user who cannot open the device gets the reason, and garbage does not panic.
    #[test]
    fn unreadable_devices_are_reported() {
        let tree = Tree::new();
        assert!(tables(&tree.sys(), "vdz").groups.as_result().unwrap_err().contains("cannot read /dev/vdz"));
        tree.file("/dev/vdz", &"x".repeat(4096));
        assert!(tables(&tree.sys(), "vdz").groups.as_result().unwrap_err().contains("no ext4 superblock"));
    }

    // Protects: the machine's other file systems are read only if they may explain the running thread.
    #[test]
    fn other_file_systems_are_read_while_the_thread_works() {
        let tree = Tree::new();
        tree.directory("/sys/fs/ext4/vdz").directory("/sys/fs/ext4/loop3").directory("/sys/fs/ext4/features");
        let ours = BTreeSet::from(["vdz".to_owned()]);
        let seen = |alive| {
            let processes = Ok(Processes { ext4_lazy_init: alive, ..Processes::default() });
            read(&tree.sys(), &ours, &processes).value().cloned().unwrap()
        };
        assert!(seen(false).elsewhere.is_empty());
        let others: Vec<String> = seen(true).elsewhere.into_iter().map(|tables| tables.device).collect();
        assert_eq!(others, ["loop3"]);
    }

    #[test]
    fn an_ext4_below_an_overlay_or_a_loop_device_counts() {
        let layer = |name: &str, kind, stands_on: Option<&str>, below: &[&str]| BlockLayer {
            name: name.to_owned(),
            kind,
            below: below.iter().map(|name| (*name).to_owned()).collect(),
            settings: stands_on.iter().map(|words| ("stands_on".to_owned(), (*words).to_owned())).collect(),
            ..BlockLayer::default()
        };
        let fs = |kind: &str| Seen::Yes(FileSystem { kind: kind.to_owned(), ..FileSystem::default() });
        let plain = TargetFacts {
            filesystem: fs("ext4"),
            stack: vec![layer("vda1", LayerKind::Partition, None, &["vda"])],
            ..TargetFacts::default()
        };
        let image = TargetFacts {
            filesystem: fs("xfs"),
            stack: vec![
                layer("loop0", LayerKind::Loop, Some("ext4 at /"), &["vdb"]),
                layer("vdb", LayerKind::Disk, None, &[]),
            ],
            ..TargetFacts::default()
        };
        let found = devices(&[plain, image]);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["vda1", "vdb"]);
    }
}
