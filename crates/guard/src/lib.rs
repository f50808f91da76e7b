//! The write guard: the one door through which every path goes that Plumb opens for writing; and the test directories that Plumb makes,
//! marks and removes ([`testdir`]).
//!
//! What may pass: a new file, a file in a test directory that Plumb made and marked ([`testdir`]), a file that
//! Plumb made earlier and marked, a file or a device that the user named ([`Permissions`]), a file or a loop device that
//! provably holds nothing ([`blank`], [`lent`]). What never may: a mounted or held device, a file in use as a device, a path
//! through a symbolic link, the last 5 % of a file system unless the user gave it away ([`space`]). Nothing is truncated
//! unless it is test data, holds nothing or was named, *and* the caller's [`Intent`] says so.
//!
//! Every answer is about the opened file, not about its name: a path is checked, opened without following links, and
//! what was opened is compared with what was checked. From then on only the descriptor counts; workers that need a
//! descriptor of their own get it by [`GuardedFile::again`].

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod blank;
mod device;
mod door;
mod expendable;
mod foresee;
mod generated;
mod lent;
mod listing;
mod made;
mod maker;
mod mark;
mod not_blank;
mod opened;
mod os;
mod output;
mod outputs;
mod ownership;
mod page_cache;
mod pass;
mod path_resolution;
mod permissions;
mod program;
mod provenance;
mod quoted;
mod raw_open;
mod refusal;
mod remover;
mod roots;
mod same;
pub mod signature;
pub mod space;
mod taken;
mod test_data;
pub mod testdir;
pub mod trusted_path;
mod users;

pub use blank::READ_MAX_BYTES;
pub use door::{Create, Door, FoundName, Naming, PassedFile};
pub use expendable::{Expendable, NamedDevice, Right, disks, serials};
pub use generated::GeneratedDir;
pub use listing::{DirectoryEntry, MANY_NAMES, share_directory};
pub use made::MadeFiles;
pub use not_blank::NotBlank;
pub use opened::{Access, GuardedDir, GuardedFile, IoMode, PassReason, open_again, open_again_as, set_mode};
pub use output::OutputOpening;
pub use outputs::{
    DATABASE_SIDE_FILES, Database, OutputError, OutputFile, make_private, open_channel, private_directory,
    write_setting,
};
pub use page_cache::drop_page_cache;
pub(crate) use path_resolution::Identity;
pub use path_resolution::{Mounts, make_parents_below, open_beneath};
pub use permissions::{Allow, Permissions};
pub use program::Program;
pub use provenance::Provenance;
pub use refusal::{NotBelow, Refusal, size_in_mib};
pub use remover::Remover;
pub use roots::{Pinning, Roots};
pub use same::CopySource;
pub use taken::WrittenContent;
pub use test_data::{Recognise, TestBlock};

#[cfg(test)]
mod disasters;
#[cfg(test)]
mod races;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::disallowed_methods)]
pub mod testing;
#[cfg(test)]
mod tests;

use pass::{
    FILE_MODE, FileLocation, is_sink, kind_name, occupied_bytes, read_only_device, read_only_file_system, signature_of,
    wrong_kind,
};
pub use pass::{FileOpening, Guard, Intent, MountedDevice};
