//! How much may still be written: 5 % of a file system stays free, unless the user has said that this one may be filled.

use super::beneath::mount_id;
use super::device::SystemDevices;
use super::permissions::{escaped, split_names};
use super::quoted::shell_quoted;
use super::{Guard, occupied_bytes};
use crate::Refusal;
use rustix::fs::{FileType, Mode, OFlags, StatFs, StatVfs};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Share of a file system that Plumb leaves free, percent.
pub const FLOOR_PERCENT: u32 = 5;

/// What happens where less than that would stay free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It is refused.
    #[default]
    Refused,
    /// It is refused but for the file systems that the user named, which are written to until nothing is left, as by the
    /// tools whose languages Plumb speaks.
    FilledAt(FillPlaces),
}

/// File systems that may be filled, `PLUMB_FILL=directory[,…]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FillPlaces {
    /// Those on which these paths lie.
    pub at: Vec<PathBuf>,
    /// But never those on which these lie.
    pub never: Vec<PathBuf>,
}

impl FillPlaces {
    /// What the system itself needs room on.
    pub const SYSTEM: [&'static str; 2] = ["/", "/var"];

    /// Reads the value of `PLUMB_FILL`, a list as that of [`Permissions::parse`](super::Permissions::parse).
    pub fn parse(text: &str) -> Vec<PathBuf> {
        split_names(text).into_iter().map(PathBuf::from).collect()
    }
}

/// Whether a file system may be filled.
enum Fill {
    Allowed,
    /// It may be if this setting says so.
    Offered(String),
    /// It holds what the system or Plumb needs.
    Never,
    /// Nothing was ever said of filling.
    Unspoken,
}

impl WhenFull {
    fn of(&self, file_system: BorrowedFd<'_>) -> Fill {
        let WhenFull::FilledAt(FillPlaces { at, never }) = self else { return Fill::Unspoken };
        let machine = SystemDevices::this();
        let number_of = |path: &Path| {
            let fd = crate::raw_open::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
            Some(machine.mount_of(mount_id(fd.as_fd())?)?.number)
        };
        let Some(mount) = mount_id(file_system).and_then(|id| machine.mount_of(id)) else { return Fill::Never };
        let is_on = |path: &PathBuf| number_of(path) == Some(mount.number);
        if never.iter().any(is_on) {
            Fill::Never
        } else if at.iter().any(is_on) {
            Fill::Allowed
        } else {
            let names = at.iter().chain([&mount.point]).map(|path| escaped(&path.to_string_lossy()));
            Fill::Offered(format!("PLUMB_FILL={}", shell_quoted(&names.collect::<Vec<_>>().join(","))))
        }
    }
}

impl Guard {
    /// Refuses where this many bytes more on the file system of an open directory would leave too little of it.
    ///
    /// # Errors
    /// [`Refusal::Space`]; [`Refusal::Io`].
    pub(super) fn admit(&self, directory: BorrowedFd<'_>, path: &Path, needed_bytes: u64) -> Result<(), Refusal> {
        let space = Space::of(directory).map_err(Refusal::io(path, "read how much space is free"))?;
        Space::admit(space, path, needed_bytes).or_else(|refusal| self.filled(directory, refusal))
    }

    /// Whether the user has said that the file system of an open directory may be written to until nothing is left.
    pub(super) fn may_fill(&self, directory: BorrowedFd<'_>) -> bool {
        matches!(self.permissions.when_full.of(directory), Fill::Allowed)
    }

    fn filled(&self, directory: BorrowedFd<'_>, refusal: Refusal) -> Result<(), Refusal> {
        match (self.permissions.when_full.of(directory), refusal) {
            (Fill::Allowed, _) => Ok(()),
            (Fill::Offered(setting), Refusal::Space { path, full, .. }) => {
                Err(Refusal::Space { path, full, fill: FillHint::Setting(setting) })
            }
            (Fill::Never, Refusal::Space { path, full, .. }) => {
                Err(Refusal::Space { path, full, fill: FillHint::Never })
            }
            (_, refusal) => Err(refusal),
        }
    }

    /// Whether files may grow to this many bytes together, asked before anything is opened. What they already occupy is not
    /// counted again.
    ///
    /// # Errors
    /// [`Refusal::Space`], [`Refusal::NoDirectory`], [`Refusal::Io`].
    pub fn admit_files(&self, paths: &[PathBuf], needed_bytes: u64) -> Result<(), Refusal> {
        let Some(first) = paths.first() else { return Ok(()) };
        let occupied: u64 = paths.iter().filter_map(|path| Some(occupied_bytes(&rustix::fs::stat(path).ok()?))).sum();
        let mut door = self.door(super::Naming::Said);
        door.admit(first, needed_bytes.saturating_sub(occupied))
    }

    /// Refuses to fill a file system up that holds what the system or Plumb needs, for whoever was told by the tool's own
    /// words to write until nothing is left.
    ///
    /// # Errors
    /// [`Refusal::NeverFilled`].
    pub(super) fn admit_filling(&self, directory: BorrowedFd<'_>, path: &Path) -> Result<(), Refusal> {
        match self.permissions.when_full.of(directory) {
            Fill::Never => Err(Refusal::NeverFilled { path: path.to_owned() }),
            Fill::Allowed | Fill::Offered(_) | Fill::Unspoken => Ok(()),
        }
    }
}

/// A file system that would become too full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFull {
    /// Bytes that were to be written.
    pub needed_bytes: u64,
    /// How much there is.
    pub space: Space,
}

/// What may be said of filling a file system all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FillHint {
    /// Nothing.
    None,
    /// This setting allows it.
    Setting(String),
    /// Nothing allows it here.
    Never,
}

const TMPFS_MAGIC: i64 = 0x0102_1994;
const RAMFS_MAGIC: i64 = 0x8584_58f6;
const HUGETLBFS_MAGIC: i64 = 0x9584_58f6;

/// The kind of a file system whose files live in memory alone. Source: include/uapi/linux/magic.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum InMemory {
    /// tmpfs, `/dev/shm`.
    Tmpfs,
    /// ramfs.
    Ramfs,
    /// hugetlbfs.
    Hugetlbfs,
}

impl InMemory {
    /// The kind, if the file behind `fd` lives in memory alone. A device's node may, its content does not.
    pub fn of(fd: impl AsFd) -> rustix::io::Result<Option<InMemory>> {
        let fd = fd.as_fd();
        if FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::BlockDevice {
            return Ok(None);
        }
        let stat: StatFs = rustix::fs::fstatfs(fd)?;
        // The type of the field differs between architectures; the magic numbers are 32 bits wide.
        Ok(match stat.f_type as i64 & 0xffff_ffff {
            TMPFS_MAGIC => Some(InMemory::Tmpfs),
            RAMFS_MAGIC => Some(InMemory::Ramfs),
            HUGETLBFS_MAGIC => Some(InMemory::Hugetlbfs),
            _ => None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Space of a file system as an ordinary user sees it, even for root: the reserve for root is not Plumb's to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size, bytes.
    pub size_bytes: u64,
    /// Free, bytes. Of a file system in memory: no more than the memory that is available.
    pub free_bytes: u64,
}

impl Space {
    /// Of the file system on which `fd` lies. `None` for one that has no size of its own (some network and pseudo file
    /// systems): there is no floor to keep.
    pub fn of(fd: impl AsFd) -> rustix::io::Result<Option<Space>> {
        let fd = fd.as_fd();
        let stat: StatVfs = rustix::fs::fstatvfs(fd)?;
        let space = Space {
            size_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        };
        let memory = if InMemory::of(fd)?.is_some() { MachineMemory::now() } else { None };
        Ok(space.within(memory))
    }

    fn within(self, memory: Option<MachineMemory>) -> Option<Space> {
        match (self.size_bytes, memory) {
            (0, None) => None,
            (0, Some(memory)) => Some(Space { size_bytes: memory.total_bytes, free_bytes: memory.available_bytes }),
            (_, None) => Some(self),
            (_, Some(memory)) => Some(Space { free_bytes: self.free_bytes.min(memory.available_bytes), ..self }),
        }
    }

    /// Bytes that stay free.
    pub fn floor_bytes(&self) -> u64 {
        (u128::from(self.size_bytes) * u128::from(FLOOR_PERCENT)).div_ceil(100) as u64
    }

    /// Bytes that may still be written.
    pub fn headroom_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.floor_bytes())
    }

    /// Refuses where `needed_bytes` more would go below the floor. Nothing to write is always allowed.
    ///
    /// # Errors
    /// [`Refusal::Space`].
    pub fn admit(space: Option<Space>, path: &Path, needed_bytes: u64) -> Result<(), Refusal> {
        match space {
            Some(space) if needed_bytes > space.headroom_bytes() => Err(Refusal::Space {
                path: path.to_owned(),
                full: TooFull { needed_bytes, space },
                fill: FillHint::None,
            }),
            _ => Ok(()),
        }
    }
}

/// Memory of the machine. Source: proc_meminfo(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    /// `MemTotal`, bytes.
    pub total_bytes: u64,
    /// `MemAvailable`, bytes.
    pub available_bytes: u64,
}

impl MachineMemory {
    /// As it is now; `None` without /proc.
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
    fn five_percent_stay_free_to_the_byte() {
        let space = Some(Space { size_bytes: 1000, free_bytes: 100 });
        assert!(Space::admit(space, Path::new("/x"), 50).is_ok());
        let refusal = Space::admit(space, Path::new("/x"), 51).unwrap_err();
        assert!(matches!(&refusal, Refusal::Space { full, .. } if full.space.headroom_bytes() == 50), "{refusal:?}");
        assert!(refusal.to_string().contains("at most 50 bytes"), "{refusal}");
        assert_eq!(refusal.exit_code(), 5);
    }

    #[test]
    fn a_file_system_already_below_the_floor_takes_nothing_but_reading() {
        let space = Some(Space { size_bytes: 1000, free_bytes: 10 });
        assert!(Space::admit(space, Path::new("/x"), 0).is_ok());
        assert!(Space::admit(space, Path::new("/x"), 1).is_err());
        assert!(Space::admit(None, Path::new("/x"), u64::MAX).is_ok());
    }

    #[test]
    fn memory_bounds_what_lives_in_memory() {
        let memory = Some(MachineMemory { total_bytes: 800, available_bytes: 300 });
        let tmpfs = Space { size_bytes: 500, free_bytes: 400 };
        assert_eq!(tmpfs.within(memory), Some(Space { size_bytes: 500, free_bytes: 300 }));
        let ramfs = Space { size_bytes: 0, free_bytes: 0 };
        assert_eq!(ramfs.within(memory), Some(Space { size_bytes: 800, free_bytes: 300 }));
        assert_eq!(ramfs.within(None), None);
    }

    #[test]
    fn meminfo_is_read_in_bytes() {
        let text = "MemTotal:       16 kB\nMemFree:  3 kB\nMemAvailable:    8 kB\n";
        assert_eq!(MachineMemory::parse(text), Some(MachineMemory { total_bytes: 16_384, available_bytes: 8_192 }));
        assert_eq!(MachineMemory::parse("MemTotal: 1 kB\n"), None);
    }
}
