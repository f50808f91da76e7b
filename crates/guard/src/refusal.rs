//! Reasons for refusing to write, and how to proceed.

use crate::not_blank::NotBlank;
use crate::provenance::Provenance;
use crate::quoted::shell_quoted;
use crate::signature::Signature;
use crate::space::{FLOOR_PERCENT, FillHint, Space, TooFull};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Way in which a path leaves the directory that it must stay below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotBelow {
    /// The path contains `..`.
    #[error("it contains `..`")]
    Parent,
    /// The path is absolute.
    #[error("it is absolute")]
    Absolute,
    /// The path has no components.
    #[error("it names nothing")]
    Nothing,
    /// The path is the marker file of a test directory.
    #[error("it is Plumb's own marker")]
    Mark,
    /// A component is a symbolic link.
    #[error("a symbolic link is in the path")]
    Symlink,
    /// A component is on another file system.
    #[error("something else is mounted in the path")]
    Mount,
}

/// The reason why a path was not opened for writing. Each message names the path, what was found, and how to proceed.
#[derive(Debug, Error)]
pub enum Refusal {
    /// A file that may hold a user's data.
    #[error(
        "{path} exists, and {provenance} ({why}); to allow overwriting it: {setting} (or --plumb-allow)",
        path = path.display()
    )]
    ExistingFile {
        path: PathBuf,
        provenance: Provenance,
        /// Reason why it may hold data.
        why: NotBlank,
        /// Setting that would allow it, `PLUMB_ALLOW=…`.
        setting: String,
    },

    /// A file that would lose its content to an empty input, no matter which user created it.
    #[error(
        "{input} is empty, and {path} holds {lost} that would be lost: are input and output swapped? To allow \
         overwriting {path}: {setting} (or --plumb-allow)",
        path = path.display(), input = input.display(), lost = size_in_mib(*bytes)
    )]
    Exchanged {
        path: PathBuf,
        /// Bytes that would be lost.
        bytes: u64,
        input: PathBuf,
        /// Setting that would allow it.
        setting: String,
    },

    /// A file that the system is using as a device: the image of a loop device, a swap file.
    #[error("{path} is in use: {holder}; writing to it is never allowed; {way_out}", path = path.display())]
    FileInUse {
        path: PathBuf,
        /// Description of the user, such as `the image of /dev/loop0`.
        holder: String,
        /// How to release it, such as `losetup -d /dev/loop0`.
        way_out: String,
    },

    /// A symbolic link where a file was expected.
    #[error("{path} is a symbolic link; Plumb does not write through links; name the file that it points to", path = path.display())]
    Symlink { path: PathBuf },

    /// The opened file is not the checked one: it was replaced in between.
    #[error("{path} was replaced while it was being opened: {found}; keep other programs out of this directory, then try again", path = path.display())]
    Swapped {
        path: PathBuf,
        /// Description of what was found instead.
        found: String,
    },

    /// A path that leaves the test directory: absolute, `..`, a symbolic link, or another mount below it.
    #[error("{path} is outside the test directory {dir}: {found}; use a path inside it", path = path.display(), dir = dir.display())]
    Outside {
        path: PathBuf,
        dir: PathBuf,
        /// Way in which the path leaves the directory.
        found: NotBelow,
    },

    /// A directory, a pipe, a socket, a character device, or a block device named as a file (or the other way round).
    #[error("{path} is {found}, not {expected}", path = path.display())]
    WrongKind {
        path: PathBuf,
        /// Kind of file that was found.
        found: &'static str,
        /// Kind that was expected, and how to proceed.
        expected: &'static str,
    },

    /// A device that is mounted, or has a mounted part.
    #[error(
        "{path} is mounted: {device} at {mount_point}; writing to it is never allowed; `umount {mount_point}` first",
        path = path.display(), device = device, mount_point = mount_point.display()
    )]
    Mounted {
        /// Device that was to be opened.
        path: PathBuf,
        /// Mounted device: the device itself, a partition of it, or a layer above it.
        device: String,
        mount_point: PathBuf,
    },

    /// A device in use by swap, RAID, LVM, another loop device or another program.
    #[error("{path} is held: {holder}; writing to it is never allowed; {way_out}", path = path.display())]
    Held {
        path: PathBuf,
        /// Description of the holder.
        holder: String,
        /// How to release it.
        way_out: String,
    },

    /// A device with the signature of a file system, a volume manager or a partition table.
    #[error(
        "{path} has the signature of {signature}; if its contents may be destroyed, type its serial: --destroy {typed} (or {setting})",
        path = path.display(), typed = shell_quoted(serial)
    )]
    Signed {
        path: PathBuf,
        signature: Signature,
        serial: String,
        /// Setting that would allow it.
        setting: String,
    },

    /// A device whose serial the user did not name.
    #[error(
        "the serial of {path} ({serial}) was not given; if its contents may be destroyed, type it: --destroy {typed} (or {setting})",
        path = path.display(), typed = shell_quoted(serial)
    )]
    Unnamed {
        path: PathBuf,
        serial: String,
        /// Setting that would allow it.
        setting: String,
    },

    /// A device with a different serial than the workload names.
    #[error(
        "{path} has the serial {serial}, but `destroy-serial` names {named}; correct the path or the serial, or type --destroy {typed} (or {setting})",
        path = path.display(), typed = shell_quoted(serial)
    )]
    WrongSerial {
        path: PathBuf,
        /// Serial of the device.
        serial: String,
        /// Serial that was named.
        named: String,
        /// Setting that would allow it.
        setting: String,
    },

    /// A device that a study does not list as expendable.
    #[error(
        "{path} (serial {serial}) is not among the devices that the study may destroy; if its contents may be destroyed, list it: \
         [safety] expendable = [{{ path = \"{path}\", serial = \"{serial}\" }}]",
        path = path.display()
    )]
    NotExpendable { path: PathBuf, serial: String },

    /// A device that a study lists as expendable with a different serial.
    #[error(
        "{path} has the serial {serial}, but the study's `expendable` names {named}: it is another device than the one that \
         may be destroyed; correct the path or the serial under [safety]",
        path = path.display()
    )]
    OtherExpendable {
        path: PathBuf,
        /// Serial of the device.
        serial: String,
        /// Serial that the study names.
        named: String,
    },

    /// A directory to be emptied that contains something no tool created.
    #[error(
        "{path} holds {found}, which is not test data; use another path, or allow removing everything in it: {setting} (or \
         --plumb-allow)",
        path = path.display()
    )]
    NotTestData {
        path: PathBuf,
        /// Description of what was found in it.
        found: String,
        /// Setting that would allow it.
        setting: String,
    },

    /// A file whose directory does not exist.
    #[error("{path} cannot be created: the directory {directory} does not exist; create it: mkdir -p {directory}", path = path.display(), directory = directory.display())]
    NoDirectory { path: PathBuf, directory: PathBuf },

    /// A write that would leave too little free space.
    #[error("{}", space_words(path, full, fill))]
    Space {
        /// Path of the file or directory.
        path: PathBuf,
        /// Resulting state of the file system.
        full: TooFull,
        /// Setting that allows it nevertheless.
        fill: FillHint,
    },

    /// A file system that must not be filled, because the system or Plumb needs it.
    #[error(
        "{path}: its file system holds /, /var or Plumb's results, and is never filled; use another one, or a size instead",
        path = path.display()
    )]
    NeverFilled {
        /// Path of the file or directory.
        path: PathBuf,
    },

    /// The run was stopped while a file was being searched for data.
    #[error("stopped while {path} was being checked for data", path = path.display())]
    Stopped { path: PathBuf },

    /// A file system mounted read-only, or a read-only device.
    #[error("{path} cannot be written: {found}; {way_out}", path = path.display())]
    ReadOnly {
        path: PathBuf,
        /// Whether the file system or the device is read-only.
        found: String,
        /// How to change it.
        way_out: String,
    },

    /// A file system or device without `O_DIRECT`.
    #[error("{path}: this file system does not support O_DIRECT; use the cache policy `cold` instead of `direct`", path = path.display())]
    NoDirect { path: PathBuf },

    /// A system error, or too little information to be safe.
    #[error("{path}: could not {action}: {source}", path = path.display())]
    Io {
        path: PathBuf,
        /// Failed action, such as `open it for writing`.
        action: &'static str,
        source: io::Error,
    },
}

impl Refusal {
    /// Returns the exit code: 5 for a refusal, 4 for a system error, 130 for a stop.
    pub fn exit_code(&self) -> u8 {
        match self {
            Refusal::Io { .. } | Refusal::NoDirect { .. } | Refusal::NoDirectory { .. } => 4,
            Refusal::Stopped { .. } => 130,
            _ => 5,
        }
    }

    /// Returns the path that was refused.
    pub fn path(&self) -> &Path {
        match self {
            Refusal::ExistingFile { path, .. }
            | Refusal::Exchanged { path, .. }
            | Refusal::FileInUse { path, .. }
            | Refusal::Symlink { path }
            | Refusal::Swapped { path, .. }
            | Refusal::Outside { path, .. }
            | Refusal::WrongKind { path, .. }
            | Refusal::Mounted { path, .. }
            | Refusal::Held { path, .. }
            | Refusal::Signed { path, .. }
            | Refusal::Unnamed { path, .. }
            | Refusal::WrongSerial { path, .. }
            | Refusal::NotExpendable { path, .. }
            | Refusal::OtherExpendable { path, .. }
            | Refusal::NotTestData { path, .. }
            | Refusal::NoDirectory { path, .. }
            | Refusal::Space { path, .. }
            | Refusal::NeverFilled { path }
            | Refusal::Stopped { path }
            | Refusal::ReadOnly { path, .. }
            | Refusal::NoDirect { path }
            | Refusal::Io { path, .. } => path,
        }
    }

    /// Returns the closest errno, for callers that only report numbers. Source: errno(3).
    pub fn errno(&self) -> i32 {
        match self {
            Refusal::ExistingFile { .. } | Refusal::Exchanged { .. } | Refusal::NotTestData { .. } => libc::EEXIST,
            Refusal::FileInUse { .. } | Refusal::Mounted { .. } | Refusal::Held { .. } => libc::EBUSY,
            Refusal::Symlink { .. } => libc::ELOOP,
            Refusal::Swapped { .. } => libc::ESTALE,
            Refusal::WrongKind { .. } | Refusal::NoDirect { .. } => libc::EINVAL,
            Refusal::NoDirectory { .. } => libc::ENOENT,
            Refusal::Space { .. } | Refusal::NeverFilled { .. } => libc::ENOSPC,
            Refusal::Stopped { .. } => libc::EINTR,
            Refusal::ReadOnly { .. } => libc::EROFS,
            Refusal::Outside { .. }
            | Refusal::Signed { .. }
            | Refusal::Unnamed { .. }
            | Refusal::WrongSerial { .. }
            | Refusal::NotExpendable { .. }
            | Refusal::OtherExpendable { .. } => libc::EPERM,
            Refusal::Io { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    /// Returns the exact setting that would allow it, if there is one.
    pub fn setting(&self) -> Option<&str> {
        match self {
            Refusal::ExistingFile { setting, .. }
            | Refusal::Exchanged { setting, .. }
            | Refusal::NotTestData { setting, .. }
            | Refusal::Signed { setting, .. }
            | Refusal::Unnamed { setting, .. }
            | Refusal::WrongSerial { setting, .. }
            | Refusal::Space { fill: FillHint::Setting(setting), .. } => Some(setting),
            _ => None,
        }
    }

    /// Creates a converter of system errors for `map_err`.
    pub fn io<E: Into<io::Error>>(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(E) -> Refusal {
        let path = path.into();
        move |source| Refusal::Io { path, action, source: source.into() }
    }
}

fn space_words(path: &Path, full: &TooFull, fill: &FillHint) -> String {
    let TooFull { needed_bytes, space } = full;
    let Space { free_bytes, size_bytes } = space;
    let path = path.display();
    let way_out = match space.headroom_bytes() {
        0 => "free some space, or use another file system".to_owned(),
        bytes => format!("write at most {}, free some space, or use another file system", size_in_mib(bytes)),
    };
    let fill = match fill {
        FillHint::None => String::new(),
        FillHint::Setting(setting) => format!("; {setting} writes on until it is full"),
        FillHint::Never => "; it holds /, /var or Plumb's results, and is never filled".to_owned(),
    };
    format!(
        "writing {} to {path} would leave less than {FLOOR_PERCENT} % of its file system free ({} of {} are free); \
         {way_out}{fill}",
        size_in_mib(*needed_bytes),
        size_in_mib(*free_bytes),
        size_in_mib(*size_bytes)
    )
}

/// Formats a size in MiB, rounded down so that an offered size fits; in bytes below one MiB.
pub fn size_in_mib(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes / MIB {
        0 => format!("{bytes} bytes"),
        few @ 1..100 => format!("{few}.{} MiB", bytes % MIB * 10 / MIB),
        many => format!("{many} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the sizes in refusals: users can compare them with those of `df`.
    #[test]
    fn sizes_are_in_mib() {
        let sizes = [(102_400, "102400 bytes"), (1 << 20, "1.0 MiB"), (99 << 19, "49.5 MiB"), (1 << 40, "1048576 MiB")];
        for (bytes, text) in sizes {
            assert_eq!(size_in_mib(bytes), text);
        }
        let space = Space { free_bytes: 5 << 30, size_bytes: 50 << 30 };
        let words = space_words(Path::new("/data"), &TooFull { needed_bytes: 1 << 33, space }, &FillHint::None);
        assert!(
            words.contains("writing 8192 MiB to /data") && words.contains("(5120 MiB of 51200 MiB are free)"),
            "{words}"
        );
        assert!(words.contains("write at most 2560 MiB"), "{words}");
    }
}
