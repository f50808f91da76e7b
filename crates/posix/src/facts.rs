//! The facts that are probed before the first case, and the flags of files.

use crate::sys::{self, V, nr};
use strum::VariantArray;

/// A type of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    /// Regular file.
    Regular,
    /// Directory.
    Dir,
    /// FIFO.
    Fifo,
    /// Block device.
    Block,
    /// Character device.
    Char,
    /// Socket.
    Socket,
    /// Symbolic link.
    Symlink,
}

impl Kind {
    /// All.
    pub const ALL: &[Kind] = Kind::VARIANTS;

    /// As in ids.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The case that says whether it can be made.
    pub(crate) fn made_by(self) -> &'static str {
        ["make.regular", "make.dir", "make.fifo", "make.block", "make.char", "make.socket", "make.symlink"]
            [self as usize]
    }
}

/// What the directory, its file system and this process can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// User of this process.
    pub uid: u32,
    /// Group of this process.
    pub gid: u32,
    /// Whether it can become other users.
    pub can_switch: bool,
    /// Errno of making each type; 0 where it can.
    pub kind_errno: [i32; 7],
    /// Longest name, bytes: the longest that can be made.
    pub name_max: u32,
    /// Longest target of a symbolic link, bytes.
    pub symlink_max: u32,
    /// Smallest step between two times of change, ns.
    pub step_ns: u64,
    /// Features of the file system.
    pub features: Features,
    /// Alignment of offset and memory for `O_DIRECT`, bytes; 0 where the file system does not say.
    pub dio_align: (u32, u32),
    /// Whether a private mount namespace can be made, and a tmpfs mounted in it.
    pub mounts: bool,
    /// Flags of the mount: `ST_*` of statfs(2).
    pub mount_flags: u64,
    /// Whether a directory's link count counts its subdirectories.
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
    /// Whether there are extended attributes of users.
    pub xattr: bool,
    /// Whether there are access control lists.
    pub acl: bool,
    /// Whether hard links can be made.
    pub links: bool,
    /// Whether `O_TMPFILE` works.
    pub tmpfile: bool,
    /// Whether `RENAME_EXCHANGE` works.
    pub exchange: bool,
    /// Whether `RENAME_NOREPLACE` works.
    pub noreplace: bool,
    /// Whether `RENAME_WHITEOUT` works.
    pub whiteout: bool,
    /// Whether `FICLONE` works.
    pub clone: bool,
    /// Modes of fallocate that work, by their bits: `1 << index` of [`FALLOCATE`].
    pub fallocate: u8,
    /// Whether `O_DIRECT` can be opened.
    pub direct: bool,
    /// Whether time of birth is known.
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
/// See [`GETFLAGS`].
pub(crate) const SETFLAGS: i64 = 0x4008_6602;
/// See [`GETFLAGS`].
pub(crate) const IMMUTABLE: u32 = 0x10;
/// See [`GETFLAGS`].
pub(crate) const APPEND: u32 = 0x20;
/// `FICLONE`. Source: linux/fs.h.
pub(crate) const FICLONE: i64 = 0x4004_9409;
/// Options of a mount, in `f_flags` of statfs(2). Source: linux/statfs.h.
pub(crate) const ST_NOSUID: u64 = 2;
/// See [`ST_NOSUID`].
pub(crate) const ST_NOEXEC: u64 = 8;
/// See [`ST_NOSUID`].
pub(crate) const ST_NOATIME: u64 = 1024;

impl Facts {
    /// Whether files of a type can be made.
    pub fn can_make(&self, kind: Kind) -> bool {
        self.kind_errno[kind as usize] == 0
    }

    /// The kind of file system, such as `ext4` or `fuse.bindfs`. It decides how a second one of it is made, and which expected failures
    /// apply; never what is tested.
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

/// Sets one of [`IMMUTABLE`] and [`APPEND`], or takes both away where `flags` is 0; other flags of the file stay.
///
/// # Errors
/// Errno of the ioctl.
pub(crate) fn set_flags(fd: i32, flags: u32) -> sys::R {
    let others = get_flags(fd)? & !(IMMUTABLE | APPEND);
    let bytes = u64::from(others | flags).to_ne_bytes();
    sys::call(nr!(ioctl), &[V::Fd(fd), V::C("FS_IOC_SETFLAGS", SETFLAGS), V::B(&bytes)])
}

/// Reads them.
///
/// # Errors
/// Errno of the ioctl.
pub(crate) fn get_flags(fd: i32) -> Result<u32, i32> {
    let mut bytes = [0u8; 8];
    sys::call(nr!(ioctl), &[V::Fd(fd), V::C("FS_IOC_GETFLAGS", GETFLAGS), V::W(sys::cells(&mut bytes))])?;
    Ok(u32::from_ne_bytes(bytes[..4].try_into().unwrap_or_default()))
}
