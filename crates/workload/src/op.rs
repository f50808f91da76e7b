//! The closed set of operations, shared by sources, backends, recorders and metric names.

use serde::{Deserialize, Serialize};

macro_rules! op_kinds {
    ($($variant:ident $name:literal,)*) => {
        /// Kind of an operation. Its [name](OpKind::name) is the first part of a metric's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        #[repr(u8)]
        pub enum OpKind {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl OpKind {
            /// All kinds, in the order of their discriminants.
            pub const ALL: &'static [OpKind] = &[$(OpKind::$variant,)*];

            /// Returns the stable lower-case name.
            pub const fn name(self) -> &'static str {
                match self { $(OpKind::$variant => $name,)* }
            }
        }
    };
}

op_kinds! {
    Read "read",
    Write "write",
    Trim "trim",
    Fsync "fsync",
    Fdatasync "fdatasync",
    Create "create",
    Open "open",
    Close "close",
    Stat "stat",
    Utimens "utimens",
    Chmod "chmod",
    Rename "rename",
    Link "link",
    Symlink "symlink",
    Readlink "readlink",
    Unlink "unlink",
    Mkdir "mkdir",
    Rmdir "rmdir",
    Readdir "readdir",
    Truncate "truncate",
    Fallocate "fallocate",
    Delay "delay",
    SyncRange "sync-range",
    Syncfs "syncfs",
    EndFsync "end-fsync",
    Evict "evict",
    Seek "seek",
    Access "access",
    Lock "lock",
    Flush "flush",
    Sync "sync",
    Map "map",
    Unmap "unmap",
    Command "command",
    Send "send",
    Receive "receive",
    Rr "rr",
    Crr "crr",
    Fstat "fstat",
    Statfs "statfs",
    Unlock "unlock",
    RemoveTree "remove-tree",
}

impl OpKind {
    /// Number of kinds; recorders are arrays of this length.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns `true` if the op moves user data, so that a byte rate makes sense.
    #[inline]
    pub const fn moves_bytes(self) -> bool {
        matches!(
            self,
            OpKind::Read | OpKind::Write | OpKind::Trim | OpKind::Send | OpKind::Receive | OpKind::Rr | OpKind::Crr
        )
    }

    /// Returns `true` if a network peer answers the op instead of storage.
    pub const fn is_network(self) -> bool {
        matches!(self, OpKind::Send | OpKind::Receive | OpKind::Rr | OpKind::Crr)
    }

    /// Returns the kind with this [name](OpKind::name).
    pub fn from_name(name: &str) -> Option<OpKind> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
