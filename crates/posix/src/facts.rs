//! Facts that are probed before the first case, and the flags of files.

use crate::sys::{self, V, nr};
use strum::VariantArray;

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    Regular,
    Dir,
    /// A FIFO (named pipe).
    Fifo,
    Block,
    Char,
    Socket,
    Symlink,
}

impl Kind {
    /// All types, in the order of the enum.
    pub const ALL: &[Kind] = Kind::VARIANTS;

    /// Returns the name used in ids.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the case that tests whether it can be made.
    pub(crate) fn made_by(self) -> &'static str {
        ["make.regular", "make.dir", "make.fifo", "make.block", "make.char", "make.socket", "make.symlink"]
            [self as usize]
    }
}

/// Abilities of the directory, its file system and this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// User ID of this process.
    pub uid: u32,
    /// Group ID of this process.
    pub gid: u32,
    /// Whether it can become other users.
    pub can_switch: bool,
    /// Errno of making each type; 0 for success.
    pub kind_errno: [i32; 7],
    /// Length of the longest name that can be made, in bytes.
    pub name_max: u32,
    /// Length of the longest target of a symbolic link, in bytes.
    pub symlink_max: u32,
    /// Smallest step between two change times, ns.
    pub step_ns: u64,
    /// Features of the file system.
    pub features: Features,
    /// Alignment of offset and memory for `O_DIRECT`, in bytes; 0 if the file system does not report it.
    pub dio_align: (u32, u32),
    /// Whether a tmpfs can be mounted in a private mount namespace.
    pub mounts: bool,
    /// Flags of the mount: `ST_*` of statfs(2).
    pub mount_flags: u64,
    /// Whether a directory's link count includes its subdirectories.
    pub counts_subdirectories: bool,
    /// `f_type` of statfs(2).
    pub magic: u64,
    /// The kind of file system, as in /proc/self/mountinfo; see [`Facts::kind`].
    pub kind: [u8; 24],
}

/// Features of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// Whether the flag "immutable" can be set.
    pub immutable: bool,
    /// Whether the flag "append-only" can be set.
    pub append_only: bool,
    /// Whether user extended attributes are supported.
    pub xattr: bool,
    /// Whether access control lists are supported.
    pub acl: bool,
    /// Whether hard links can be made.
    pub links: bool,
    /// Whether `O_TMPFILE` is supported.
    pub tmpfile: bool,
    /// Whether `RENAME_EXCHANGE` is supported.
    pub exchange: bool,
    /// Whether `RENAME_NOREPLACE` is supported.
    pub noreplace: bool,
    /// Whether `RENAME_WHITEOUT` is supported.
    pub whiteout: bool,
    /// Whether `FICLONE` is supported.
    pub clone: bool,
    /// Supported modes of fallocate, as bits: `1 << index` of [`FALLOCATE`].
    pub fallocate: u8,
    /// Whether files can be opened with `O_DIRECT`.
    pub direct: bool,
    /// Whether the birth time is reported.
    pub btime: bool,
}

/// Modes of fallocate, with their names. Source: linux/falloc.h.
pub const FALLOCATE: [(&str, i64); 7] = [
    ("0", 0),
    ("FALLOC_FL_KEEP_SIZE", 1),
    ("FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE", 3),
    ("FALLOC_FL_COLLAPSE_RANGE", 8),
    ("FALLOC_FL_ZERO_RANGE", 16),
    ("FALLOC_FL_INSERT_RANGE", 32),
    ("FALLOC_FL_UNSHARE_RANGE", 64),
];

/// `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS` and two flags. Source: linux/fs.h.
pub(crate) const GETFLAGS: i64 = 0x8008_6601;
pub(crate) const SETFLAGS: i64 = 0x4008_6602;
pub(crate) const IMMUTABLE: u32 = 0x10;
pub(crate) const APPEND: u32 = 0x20;
/// `FICLONE`. Source: linux/fs.h.
pub(crate) const FICLONE: i64 = 0x4004_9409;
/// Options of a mount, in `f_flags` of statfs(2). Source: linux/statfs.h.
pub(crate) const ST_NOSUID: u64 = 2;
pub(crate) const ST_NOEXEC: u64 = 8;
pub(crate) const ST_NOATIME: u64 = 1024;

impl Facts {
    /// Whether files of a type can be made.
    pub fn can_make(&self, kind: Kind) -> bool {
        self.kind_errno[kind as usize] == 0
    }

    /// Returns the kind of file system, such as `ext4` or `fuse.bindfs`. It selects how to make a second one and
    /// which failures are expected, never which cases are tested.
    pub fn kind(&self) -> &str {
        let length = self.kind.iter().position(|byte| *byte == 0).unwrap_or(self.kind.len());
        std::str::from_utf8(&self.kind[..length]).unwrap_or_default()
    }

    pub(crate) fn set_kind(&mut self, kind: &str) {
        let length = kind.len().min(self.kind.len() - 1);
        self.kind[..length].copy_from_slice(&kind.as_bytes()[..length]);
    }

    /// Whether the mount has an option.
    pub(crate) fn mounted_with(&self, flag: u64) -> bool {
        self.mount_flags & flag != 0
    }
}

/// Sets one of [`IMMUTABLE`] and [`APPEND`], or clears both if `flags` is 0. Other flags of the file stay.
///
/// # Errors
/// Returns the errno of the ioctl.
pub(crate) fn set_flags(fd: i32, flags: u32) -> sys::R {
    let others = get_flags(fd)? & !(IMMUTABLE | APPEND);
    let bytes = u64::from(others | flags).to_ne_bytes();
    sys::call(nr!(ioctl), &[V::Fd(fd), V::C("FS_IOC_SETFLAGS", SETFLAGS), V::B(&bytes)])
}

/// Reads the flags of a file.
///
/// # Errors
/// Returns the errno of the ioctl.
pub(crate) fn get_flags(fd: i32) -> Result<u32, i32> {
    let mut bytes = [0u8; 8];
    sys::call(nr!(ioctl), &[V::Fd(fd), V::C("FS_IOC_GETFLAGS", GETFLAGS), V::W(sys::cells(&mut bytes))])?;
    Ok(u32::from_ne_bytes(bytes[..4].try_into().unwrap_or_default()))
}
