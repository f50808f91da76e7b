//! ext2, ext3 and ext4. Sources: Documentation/filesystems/ext4/super.rst, Documentation/ABI/testing/sysfs-fs-ext4.

use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use crate::uuid::uuid_text;
use plumb_result::Seen;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

const SUPERBLOCK_AT: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 1024;
const MAGIC: u16 = 0xEF53;

const COMPATIBLE: [(u32, &str); 9] = [
    (0x1, "dir_prealloc"),
    (0x4, "has_journal"),
    (0x8, "ext_attr"),
    (0x10, "resize_inode"),
    (0x20, "dir_index"),
    (0x200, "sparse_super2"),
    (0x400, "fast_commit"),
    (0x800, "stable_inodes"),
    (0x1000, "orphan_file"),
];
const INCOMPATIBLE: [(u32, &str); 16] = [
    (0x1, "compression"),
    (0x2, "filetype"),
    (0x4, "needs_recovery"),
    (0x8, "journal_dev"),
    (0x10, "meta_bg"),
    (0x40, "extent"),
    (0x80, "64bit"),
    (0x100, "mmp"),
    (0x200, "flex_bg"),
    (0x400, "ea_inode"),
    (0x1000, "dirdata"),
    (0x2000, "metadata_csum_seed"),
    (0x4000, "large_dir"),
    (0x8000, "inline_data"),
    (0x10000, "encrypt"),
    (0x20000, "casefold"),
];
const READ_ONLY: [(u32, &str); 14] = [
    (0x1, "sparse_super"),
    (0x2, "large_file"),
    (0x8, "huge_file"),
    (0x10, "uninit_bg"),
    (0x20, "dir_nlink"),
    (0x40, "extra_isize"),
    (0x100, "quota"),
    (0x200, "bigalloc"),
    (0x400, "metadata_csum"),
    (0x1000, "read-only"),
    (0x2000, "project"),
    (0x4000, "shared_blocks"),
    (0x8000, "verity"),
    (0x10000, "orphan_present"),
];

/// Adds features from `/proc`, `/sys` and, if the device is readable, the superblock.
pub(super) fn features(
    sys: &Sysroot,
    device: &str,
    features: &mut BTreeMap<String, String>,
    uuid: &mut Seen<String>,
    unseen: &mut Vec<String>,
) {
    let name = device.replace('/', "!");
    match sys.read(format!("/proc/fs/ext4/{name}/options")) {
        Ok(options) => of_options(&options, features),
        Err(reason) => unseen.push(format!("the options in force of ext4 on {device}: {reason}")),
    }
    for (file, label) in [
        ("lifetime_write_kbytes", "now.lifetime_write_kbytes"),
        ("errors_count", "errors_count"),
        ("warning_count", "warning_count"),
    ] {
        if let Some(value) = sys.line(format!("/sys/fs/ext4/{name}/{file}")) {
            features.insert(label.to_owned(), value);
        }
    }
    match read_superblock(sys, device) {
        Ok(superblock) => {
            if uuid.value().is_none() {
                *uuid = Seen::Yes(superblock.uuid.clone());
            }
            superblock.add_features(features);
        }
        Err(reason) => unseen.push(format!("the ext4 superblock on {device} (features, age, mounts): {reason}")),
    }
}

/// Adds effective options. The kernel lists all of them, including defaults; only those
/// that affect measurements are kept.
fn of_options(options: &str, features: &mut BTreeMap<String, String>) {
    const KEPT: [(&str, &str); 10] = [
        ("data", "journal_mode"),
        ("commit", "commit_s"),
        ("stripe", "stripe_blocks"),
        ("init_itable", "init_itable"),
        ("inode_readahead_blks", "inode_readahead_blocks"),
        ("barrier", "barrier"),
        ("nobarrier", "barrier"),
        ("delalloc", "delayed_allocation"),
        ("nodelalloc", "delayed_allocation"),
        ("journal_async_commit", "journal_async_commit"),
    ];
    // A file system with a journal always lists its data mode.
    let has_journal = options.lines().any(|line| line.starts_with("data="));
    features.insert("journal".to_owned(), if has_journal { "yes" } else { "no" }.to_owned());
    for line in options.lines() {
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, value),
            None => (line, if line.starts_with("no") { "no" } else { "yes" }),
        };
        if let Some((_, label)) = KEPT.iter().find(|(known, _)| *known == name) {
            features.insert((*label).to_owned(), value.to_owned());
        }
    }
}

fn read_superblock(sys: &Sysroot, device: &str) -> Result<Superblock, ProbeError> {
    let path = format!("/dev/{device}");
    let fail = |error| ProbeError::read::<std::io::Error>(&path)(error);
    let mut file = std::fs::File::open(sys.locate(&path)).map_err(fail)?;
    let mut bytes = [0u8; SUPERBLOCK_BYTES];
    file.seek(SeekFrom::Start(SUPERBLOCK_AT)).map_err(fail)?;
    file.read_exact(&mut bytes).map_err(fail)?;
    Superblock::parse(&bytes).ok_or_else(|| ProbeError::lacks(path.as_str(), "ext superblock"))
}

#[derive(Debug, PartialEq)]
struct Superblock {
    uuid: String,
    block_bytes: u64,
    inode_bytes: u16,
    created_unix_s: u64,
    mounts_since_check: u16,
    flex_groups: u32,
    stride_blocks: u16,
    stripe_width_blocks: u32,
    features: Vec<String>,
}

impl Superblock {
    fn parse(bytes: &[u8; SUPERBLOCK_BYTES]) -> Option<Superblock> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if u16_at(0x38) != MAGIC {
            return None;
        }
        let block_bytes = 1024u64.checked_shl(u32_at(0x18)).filter(|_| u32_at(0x18) <= 6)?;
        let mut uuid = [0u8; 16];
        uuid.copy_from_slice(&bytes[0x68..0x78]);
        let mut features = Vec::new();
        for (at, table) in [(0x5C, &COMPATIBLE[..]), (0x60, &INCOMPATIBLE[..]), (0x64, &READ_ONLY[..])] {
            let bits = u32_at(at);
            features.extend(table.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| (*name).to_owned()));
            let known = table.iter().fold(0, |known, (bit, _)| known | bit);
            if bits & !known != 0 {
                features.push(format!("unknown_{at:x}_{:#x}", bits & !known));
            }
        }
        Some(Superblock {
            uuid: uuid_text(&uuid),
            block_bytes,
            inode_bytes: u16_at(0x58),
            created_unix_s: u64::from(u32_at(0x108)) | (u64::from(bytes[0x276]) << 32),
            mounts_since_check: u16_at(0x34),
            flex_groups: 1u32.checked_shl(u32::from(bytes[0x174])).unwrap_or(0),
            stride_blocks: u16_at(0x164),
            stripe_width_blocks: u32_at(0x170),
            features,
        })
    }

    fn add_features(self, features: &mut BTreeMap<String, String>) {
        let has_journal = self.features.iter().any(|name| name == "has_journal");
        let mut say = |name: &str, value: String| features.insert(name.to_owned(), value);
        say("features", self.features.join(","));
        say("journal", if has_journal { "yes" } else { "no" }.to_owned());
        say("block_size", self.block_bytes.to_string());
        say("inode_size", self.inode_bytes.to_string());
        say("created_unix_s", self.created_unix_s.to_string());
        say("mount_count", self.mounts_since_check.to_string());
        say("flex_bg_size", self.flex_groups.to_string());
        if self.stride_blocks != 0 || self.stripe_width_blocks != 0 {
            say("stride_blocks", self.stride_blocks.to_string());
            say("stripe_width_blocks", self.stripe_width_blocks.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: offsets of the superblock, names of the feature bits, and unknown bits.
    #[test]
    fn a_superblock() {
        let mut bytes = [0u8; SUPERBLOCK_BYTES];
        assert_eq!(Superblock::parse(&bytes), None);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0x38, &MAGIC.to_le_bytes());
        put(0x18, &2u32.to_le_bytes());
        put(0x34, &7u16.to_le_bytes());
        put(0x58, &256u16.to_le_bytes());
        put(0x5C, &0x3Cu32.to_le_bytes());
        put(0x60, &0x2C2u32.to_le_bytes());
        put(0x64, &0x8000_046Bu32.to_le_bytes());
        put(0x68, &[0xAB; 16]);
        put(0x108, &1_700_000_000u32.to_le_bytes());
        put(0x174, &[4]);
        let seen = Superblock::parse(&bytes).unwrap();
        assert_eq!(seen.uuid, "abababab-abab-abab-abab-abababababab");
        assert_eq!((seen.block_bytes, seen.inode_bytes, seen.mounts_since_check), (4096, 256, 7));
        assert_eq!((seen.created_unix_s, seen.flex_groups), (1_700_000_000, 16));
        let names = seen.features.join(" ");
        assert_eq!(
            names,
            "has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg sparse_super large_file huge_file \
             dir_nlink extra_isize metadata_csum unknown_64_0x80000000"
        );
        bytes[0x18] = 99;
        assert_eq!(Superblock::parse(&bytes), None);
    }

    // Protects: the options that determine the meaning of a flush.
    #[test]
    fn options_in_force() {
        let mut features = BTreeMap::new();
        of_options("rw\nnobarrier\ndelalloc\ndata=ordered\ncommit=5\nnoquota\n", &mut features);
        let listed: Vec<String> = features.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            listed,
            ["barrier=no", "commit_s=5", "delayed_allocation=yes", "journal=yes", "journal_mode=ordered"]
        );
        of_options("rw\nbarrier\n", &mut features);
        assert_eq!(features["journal"], "no");
    }
}
