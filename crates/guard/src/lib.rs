//! The write guard, through which Plumb opens every path for writing, and the test directories that Plumb
//! creates, marks and removes ([`testdir`]).
//!
//! These may pass: a new file; a file in a test directory that Plumb created and marked ([`testdir`]); a file that
//! Plumb created earlier and marked; a file or device that the user named ([`Permissions`]); a file or loop device
//! that is provably blank ([`blank`], [`lent`]).
//!
//! These may never pass: a mounted or held device, a file in use as a device, a path through a symbolic link, and the last
//! 5 % of a file system, unless the user allows filling it ([`space`]).
//!
//! A file is truncated only if it is test data, is blank or was named, *and* the caller's [`Intent`] requests it.
//!
//! Every decision is about the opened file, not its name. A path is checked and then opened without following links,
//! and the opened file is compared with the checked one. From then on only the descriptor counts. Workers that need
//! their own descriptor get it from [`GuardedFile::again`].

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod allowed;
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

pub use allowed::is_below_any;
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
