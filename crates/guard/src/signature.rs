//! Signatures on devices: file systems, volume managers, RAID members and partition
//! tables, recognised by magic numbers.
//!
//! Uses its own table instead of libblkid, because the guard must work in a static binary. A false alarm costs the
//! user only one typed serial. Offsets and magic numbers come from each format's headers (for Linux:
//! include/uapi/linux/magic.h and the `fs/*` headers; md: Documentation of the superblock formats 0.90, 1.0, 1.1,
//! 1.2; ZFS on-disk specification; UEFI specification for GPT; ECMA-119 for ISO 9660).

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A signature found on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Description such as `an ext4 file system`.
    pub what: &'static str,
    /// Offset in bytes from the start of the device.
    pub offset_bytes: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.what, self.offset_bytes)
    }
}

/// Position of a magic number.
#[derive(Clone, Copy)]
enum MagicPlace {
    /// Bytes from the start of the device.
    Start(u64),
    /// Bytes before the end of the device.
    End(u64),
}

struct Magic {
    what: &'static str,
    at: MagicPlace,
    bytes: &'static [u8],
}

const fn start(what: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { what, at: MagicPlace::Start(offset), bytes }
}

const fn end(what: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { what, at: MagicPlace::End(offset), bytes }
}

const LUKS: &str = "LUKS encryption";
const LVM: &str = "an LVM physical volume";
const MD: &str = "a Linux RAID member";
const SWAP: &str = "swap space";
const HIBERNATION: &str = "a hibernation image";
const GPT: &str = "a GPT partition table";
const FAT: &str = "a FAT file system";
const REISER: &str = "a ReiserFS file system";
const DRBD: &str = "a DRBD volume";
const MD_MAGIC: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];

/// Magic numbers at fixed positions, most specific first: a FAT boot sector also ends like an MBR.
const MAGICS: &[Magic] = &[
    start("an XFS file system", 0, b"XFSB"),
    start("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    start(LUKS, 0, b"LUKS\xba\xbe"),
    start(LUKS, 0x4000, b"SKUL\xba\xbe"),
    start(LVM, 0, b"LABELONE"),
    start(LVM, 512, b"LABELONE"),
    start(LVM, 1024, b"LABELONE"),
    start(LVM, 1536, b"LABELONE"),
    start(MD, 0, MD_MAGIC),
    start(MD, 4096, MD_MAGIC),
    start(SWAP, 4096 - 10, b"SWAPSPACE2"),
    start(SWAP, 4096 - 10, b"SWAP-SPACE"),
    start(SWAP, 8192 - 10, b"SWAPSPACE2"),
    start(SWAP, 16_384 - 10, b"SWAPSPACE2"),
    start(SWAP, 32_768 - 10, b"SWAPSPACE2"),
    start(SWAP, 65_536 - 10, b"SWAPSPACE2"),
    start(HIBERNATION, 4096 - 10, b"S1SUSPEND"),
    start(HIBERNATION, 4096 - 10, b"S2SUSPEND"),
    start(HIBERNATION, 4096 - 10, b"ULSUSPEND"),
    start("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    start("a bcache device", 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    start("a bcachefs file system", 4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    start("an NTFS file system", 3, b"NTFS    "),
    start("an exFAT file system", 3, b"EXFAT   "),
    start("BitLocker encryption", 3, b"-FVE-FS-"),
    start(FAT, 82, b"FAT32   "),
    start(FAT, 54, b"FAT16   "),
    start(FAT, 54, b"FAT12   "),
    start(FAT, 54, b"FAT     "),
    start(FAT, 82, b"MSDOS"),
    start(FAT, 54, b"MSDOS"),
    start("an ISO 9660 file system", 0x8001, b"CD001"),
    start("a UDF file system", 0x8001, b"BEA01"),
    start("a SquashFS file system", 0, b"hsqs"),
    start("an EROFS file system", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    start(REISER, 0x1_0034, b"ReIsEr"),
    start(REISER, 0x1_0000, b"ReIsEr4"),
    start(REISER, 0x2034, b"ReIsErFs"),
    start("a JFS file system", 0x8000, b"JFS1"),
    start("an APFS container", 32, b"NXSB"),
    start("an HFS+ file system", 1024, b"H+\x00\x04"),
    start("an HFS+ file system", 1024, b"HX\x00\x05"),
    start("a UFS file system", 65_536 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    start("a UFS file system", 8192 + 1372, &[0x54, 0x19, 0x01, 0x00]),
    start("a GFS2 file system", 65_536, &[0x01, 0x16, 0x19, 0x70]),
    start("an OCFS2 file system", 1024, b"OCFSV2"),
    start("an OCFS2 file system", 2048, b"OCFSV2"),
    start("an OCFS2 file system", 4096, b"OCFSV2"),
    start("a VMFS volume", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    start("a Ceph BlueStore device", 0, b"bluestore block device"),
    start("an Oracle ASM disk", 32, b"ORCLDISK"),
    start("a Stratis device", 512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    start("a VDO volume", 0, b"dmvdo001"),
    start("a dm-verity hash tree", 0, b"verity\0\0"),
    start("a dm-integrity device", 0, b"integrt\0"),
    start("a dm snapshot", 0, b"SnAp"),
    end("an Intel RAID member", 1024, b"Intel Raid ISM Cfg Sig. "),
    end("a DDF RAID member", 512, &[0xde, 0x11, 0xde, 0x11]),
    end(DRBD, 4096 - 60, &[0x83, 0x74, 0x02, 0x6b]),
    end(DRBD, 4096 - 60, &[0x83, 0x74, 0x02, 0x6c]),
    end(DRBD, 4096 - 60, &[0x83, 0x74, 0x02, 0x6d]),
    start(GPT, 512, b"EFI PART"),
    start(GPT, 4096, b"EFI PART"),
    end(GPT, 512, b"EFI PART"),
    end(GPT, 4096, b"EFI PART"),
];

/// Searches for known signatures and returns the most specific one. Reads at most a few hundred small pieces, and
/// skips positions beyond the end of a small device.
pub(crate) fn find(device: &File, size_bytes: u64) -> io::Result<Option<Signature>> {
    let device = SignatureReader { device, size_bytes };
    if let Some(found) = ext(&device)? {
        return Ok(Some(found));
    }
    for magic in MAGICS {
        let offset = match magic.at {
            MagicPlace::Start(offset) => Some(offset),
            MagicPlace::End(before) => size_bytes.checked_sub(before),
        };
        let Some(offset_bytes) = offset else { continue };
        if device.has(offset_bytes, magic.bytes)? {
            return Ok(Some(Signature { what: magic.what, offset_bytes }));
        }
    }
    for rule in [raid_at_the_end, zfs, mbr] {
        if let Some(found) = rule(&device)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

struct SignatureReader<'a> {
    device: &'a File,
    size_bytes: u64,
}

impl SignatureReader<'_> {
    /// Reads the bytes at an offset; `None` if the device ends before.
    fn bytes<const N: usize>(&self, offset: u64) -> io::Result<Option<[u8; N]>> {
        if offset.checked_add(N as u64).is_none_or(|end| end > self.size_bytes) {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.device.read_exact_at(&mut bytes, offset)?;
        Ok(Some(bytes))
    }

    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        let mut bytes = [0; 32];
        let bytes = &mut bytes[..magic.len()];
        if offset.checked_add(magic.len() as u64).is_none_or(|end| end > self.size_bytes) {
            return Ok(false);
        }
        self.device.read_exact_at(bytes, offset)?;
        Ok(bytes == magic)
    }
}

/// Recognises ext2, ext3 and ext4, which share a magic number; the journal and extents
/// distinguish them. Source: fs/ext4/ext4.h.
fn ext(device: &SignatureReader<'_>) -> io::Result<Option<Signature>> {
    const SUPERBLOCK: u64 = 1024;
    const HAS_JOURNAL: u8 = 0x04;
    // extents, 64bit, flex_bg: features that only ext4 can mount.
    const EXT4_ONLY: u16 = 0x0040 | 0x0080 | 0x0200;
    let Some(head) = device.bytes::<0x68>(SUPERBLOCK)? else { return Ok(None) };
    if head[0x38..0x3a] != [0x53, 0xef] {
        return Ok(None);
    }
    let incompatible = u16::from_le_bytes([head[0x60], head[0x61]]);
    let what = match (incompatible & EXT4_ONLY != 0, head[0x5c] & HAS_JOURNAL != 0) {
        (true, _) => "an ext4 file system",
        (false, true) => "an ext3 file system",
        (false, false) => "an ext2 file system",
    };
    Ok(Some(Signature { what, offset_bytes: SUPERBLOCK + 0x38 }))
}

/// Finds md superblocks 1.0 and 0.90, which are near the end at offsets that depend on the size.
fn raid_at_the_end(device: &SignatureReader<'_>) -> io::Result<Option<Signature>> {
    const SECTOR: u64 = 512;
    const RESERVED: u64 = 64 * 1024;
    let version_1_0 = (device.size_bytes / SECTOR).checked_sub(16).map(|sector| (sector & !7) * SECTOR);
    let version_0_90 = (device.size_bytes & !(RESERVED - 1)).checked_sub(RESERVED);
    for offset_bytes in [version_1_0, version_0_90].into_iter().flatten() {
        if device.has(offset_bytes, MD_MAGIC)? {
            return Ok(Some(Signature { what: MD, offset_bytes }));
        }
    }
    Ok(None)
}

/// Finds ZFS labels: four of 256 KiB, two at each end. From 128 KiB on, each contains uberblocks of 1 KiB or more.
fn zfs(device: &SignatureReader<'_>) -> io::Result<Option<Signature>> {
    const LABEL: u64 = 256 * 1024;
    const MAGIC: u64 = 0x00ba_b10c;
    let whole = device.size_bytes & !(LABEL - 1);
    let labels = [Some(0), Some(LABEL), whole.checked_sub(2 * LABEL), whole.checked_sub(LABEL)];
    for label in labels.into_iter().flatten() {
        for block in 0..128 {
            let offset_bytes = label + LABEL / 2 + block * 1024;
            let Some(bytes) = device.bytes::<8>(offset_bytes)? else { break };
            if u64::from_le_bytes(bytes) == MAGIC || u64::from_be_bytes(bytes) == MAGIC {
                return Ok(Some(Signature { what: "a ZFS pool member", offset_bytes }));
            }
        }
    }
    Ok(None)
}

/// Finds an MBR partition table: a boot sector with four valid entries, at least one of them used.
fn mbr(device: &SignatureReader<'_>) -> io::Result<Option<Signature>> {
    let Some(sector) = device.bytes::<512>(0)? else { return Ok(None) };
    if sector[510..] != [0x55, 0xaa] {
        return Ok(None);
    }
    let mut entries = sector[446..510].chunks_exact(16);
    let well_formed = entries.clone().all(|entry| matches!(entry[0], 0x00 | 0x80));
    let used = entries.any(|entry| entry[4] != 0 && entry[12..16] != [0; 4]);
    let found = Signature { what: "an MBR partition table", offset_bytes: 510 };
    Ok((well_formed && used).then_some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SIZE: u64 = 4 << 20;

    fn blank(size_bytes: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size_bytes).unwrap();
        file
    }

    #[test]
    fn every_magic_of_the_table_is_found_where_it_belongs() {
        for magic in MAGICS {
            let file = blank(SIZE);
            let offset = match magic.at {
                MagicPlace::Start(offset) => offset,
                MagicPlace::End(before) => SIZE - before,
            };
            file.write_all_at(magic.bytes, offset).unwrap();
            let found = find(&file, SIZE).unwrap().unwrap_or_else(|| panic!("{} was missed", magic.what));
            assert_eq!(found, Signature { what: magic.what, offset_bytes: offset });
        }
    }

    #[test]
    fn blank_random_and_tiny_devices_bear_none() {
        assert_eq!(find(&blank(SIZE), SIZE).unwrap(), None);
        for size in [0, 1, 511, 512, 4096, 70_000] {
            assert_eq!(find(&blank(size), size).unwrap(), None, "{size}");
        }
        let random = blank(SIZE);
        let bytes = crate::testing::random_bytes(SIZE as usize);
        random.write_all_at(&bytes, 0).unwrap();
        assert_eq!(find(&random, SIZE).unwrap(), None);
    }

    #[test]
    fn raid_superblocks_near_the_end_and_zfs_uberblocks_are_found() {
        // A size that is not a multiple of anything, so that the rounding matters.
        let size = SIZE + 5 * 512;
        let version_1_0 = (size / 512 - 16) / 8 * 8 * 512;
        let version_0_90 = size / 65_536 * 65_536 - 65_536;
        for offset in [version_1_0, version_0_90] {
            let file = blank(size);
            file.write_all_at(MD_MAGIC, offset).unwrap();
            assert_eq!(find(&file, size).unwrap(), Some(Signature { what: MD, offset_bytes: offset }));
        }
        let file = blank(size);
        file.write_all_at(&0x00ba_b10c_u64.to_be_bytes(), 256 * 1024 + 128 * 1024 + 5 * 1024).unwrap();
        assert_eq!(find(&file, size).unwrap().unwrap().what, "a ZFS pool member");
    }

    #[test]
    fn a_boot_sector_is_a_partition_table_only_with_partitions() {
        let file = blank(SIZE);
        file.write_all_at(&[0x55, 0xaa], 510).unwrap();
        assert_eq!(find(&file, SIZE).unwrap(), None);
        let mut entry = [0; 16];
        entry[4] = 0x83;
        entry[12..].copy_from_slice(&2048u32.to_le_bytes());
        file.write_all_at(&entry, 446).unwrap();
        assert_eq!(find(&file, SIZE).unwrap().unwrap().what, "an MBR partition table");
    }

    #[test]
    fn signatures_of_the_systems_own_tools_are_recognised() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("mkfs.ext4", &["-q", "-F"], "an ext4 file system"),
            ("mkfs.ext3", &["-q", "-F"], "an ext3 file system"),
            ("mkfs.ext2", &["-q", "-F"], "an ext2 file system"),
            ("mkfs.xfs", &["-q"], "an XFS file system"),
            ("mkfs.btrfs", &["-q"], "a btrfs file system"),
            ("mkswap", &[], "swap space"),
        ];
        for (tool, options, what) in cases {
            let size = 320 << 20;
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(size).unwrap();
            let output = Command::new(tool).args(*options).arg(file.path()).output();
            if !output.is_ok_and(|output| output.status.success()) {
                assert!(std::env::var_os("CI").is_none(), "{tool} is missing or fails");
                eprintln!("SKIPPED: {tool} is missing or fails");
                continue;
            }
            assert_eq!(find(file.as_file(), size).unwrap().expect(tool).what, *what);
        }
    }
}
