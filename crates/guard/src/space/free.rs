//! Free space of a file system, and the share of it that Plumb leaves free.

use rustix::fs::{FileType, StatFs, StatVfs};
use std::os::fd::AsFd;

/// Percentage of a file system that Plumb leaves free.
pub const FLOOR_PERCENT: u32 = 5;

/// A file system that would become too full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFull {
    /// Bytes that were to be written.
    pub needed_bytes: u64,
    /// Current size and free space.
    pub space: Space,
}

/// Hint about filling a file system nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FillHint {
    /// No hint.
    None,
    /// This setting allows it.
    Setting(String),
    /// It is never allowed here.
    Never,
}

const TMPFS_MAGIC: i64 = 0x0102_1994;

const RAMFS_MAGIC: i64 = 0x8584_58f6;

const HUGETLBFS_MAGIC: i64 = 0x9584_58f6;

/// Kind of a file system whose files are only in memory. Source: include/uapi/linux/magic.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum InMemory {
    /// tmpfs, such as `/dev/shm`.
    Tmpfs,
    Ramfs,
    Hugetlbfs,
}

impl InMemory {
    /// Returns the kind if the file behind `fd` is only in memory. A device node may be in memory,
    /// but its content is not.
    pub fn detect(fd: impl AsFd) -> rustix::io::Result<Option<InMemory>> {
        let fd = fd.as_fd();
        if FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::BlockDevice {
            return Ok(None);
        }
        let stat: StatFs = rustix::fs::fstatfs(fd)?;
        // The type of the field differs between architectures; magic numbers have 32 bits.
        Ok(match stat.f_type as i64 & 0xffff_ffff {
            TMPFS_MAGIC => Some(InMemory::Tmpfs),
            RAMFS_MAGIC => Some(InMemory::Ramfs),
            HUGETLBFS_MAGIC => Some(InMemory::Hugetlbfs),
            _ => None,
        })
    }

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Space of a file system as an ordinary user sees it, even for root: Plumb does not use root's reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size of the file system, bytes.
    pub size_bytes: u64,
    /// Free space, bytes. On a file system in memory, at most the available memory.
    pub free_bytes: u64,
}

impl Space {
    /// Returns the space of the file system of `fd`. `None` if it has no size of its own (some network and pseudo
    /// file systems), and therefore no floor.
    pub fn read(fd: impl AsFd) -> rustix::io::Result<Option<Space>> {
        let fd = fd.as_fd();
        let stat: StatVfs = rustix::fs::fstatvfs(fd)?;
        let space = Space {
            size_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        };
        let memory = if InMemory::detect(fd)?.is_some() { MachineMemory::now() } else { None };
        Ok(space.limit_to_memory(memory))
    }

    fn limit_to_memory(self, memory: Option<MachineMemory>) -> Option<Space> {
        match (self.size_bytes, memory) {
            (0, None) => None,
            (0, Some(memory)) => Some(Space { size_bytes: memory.total_bytes, free_bytes: memory.available_bytes }),
            (_, None) => Some(self),
            (_, Some(memory)) => Some(Space { free_bytes: self.free_bytes.min(memory.available_bytes), ..self }),
        }
    }

    /// Returns the number of bytes that stay free.
    pub fn floor_bytes(&self) -> u64 {
        (u128::from(self.size_bytes) * u128::from(FLOOR_PERCENT)).div_ceil(100) as u64
    }

    /// Returns the number of bytes that may still be written.
    pub fn headroom_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.floor_bytes())
    }
}

/// Memory of the machine. Source: proc_meminfo(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    /// Total memory (`MemTotal`), bytes.
    pub total_bytes: u64,
    /// Available memory (`MemAvailable`), bytes.
    pub available_bytes: u64,
}

impl MachineMemory {
    /// Reads the current values; `None` without /proc.
    pub fn now() -> Option<MachineMemory> {
        MachineMemory::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn parse(text: &str) -> Option<MachineMemory> {
        let line = |name: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kibibytes.checked_mul(1024)
        };
        Some(MachineMemory { total_bytes: line("MemTotal:")?, available_bytes: line("MemAvailable:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limits_file_systems_in_memory() {
        let memory = Some(MachineMemory { total_bytes: 800, available_bytes: 300 });
        let tmpfs = Space { size_bytes: 500, free_bytes: 400 };
        assert_eq!(tmpfs.limit_to_memory(memory), Some(Space { size_bytes: 500, free_bytes: 300 }));
        let ramfs = Space { size_bytes: 0, free_bytes: 0 };
        assert_eq!(ramfs.limit_to_memory(memory), Some(Space { size_bytes: 800, free_bytes: 300 }));
        assert_eq!(ramfs.limit_to_memory(None), None);
    }

    #[test]
    fn meminfo_is_read_in_bytes() {
        let text = "MemTotal:       16 kB\nMemFree:  3 kB\nMemAvailable:    8 kB\n";
        assert_eq!(MachineMemory::parse(text), Some(MachineMemory { total_bytes: 16_384, available_bytes: 8_192 }));
        assert_eq!(MachineMemory::parse("MemTotal: 1 kB\n"), None);
    }
}
