//! Operations of file workloads.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Open, read and close a file.
    Read,
    /// Open, write and close a file.
    Write,
    Mkdir,
    /// Create an empty file and close it.
    Create,
    /// Open and close a file.
    Open,
    /// Open and close a file; only the closes count.
    Close,
    Delete,
    /// Call `stat` on a file.
    Getattr,
    /// Set the times of a file.
    Setattr,
    /// Check the read permission of a file.
    Access,
    Rmdir,
    /// Copy a file to another file system.
    Copy,
    /// Copy a file to another file system, then remove it.
    Move,
    /// Create, write and close a file, for `format=only`.
    Format,
}

pub(super) const OPERATIONS: [(&str, Operation); 13] = [
    ("read", Operation::Read),
    ("write", Operation::Write),
    ("mkdir", Operation::Mkdir),
    ("create", Operation::Create),
    ("open", Operation::Open),
    ("close", Operation::Close),
    ("delete", Operation::Delete),
    ("getattr", Operation::Getattr),
    ("setattr", Operation::Setattr),
    ("access", Operation::Access),
    ("rmdir", Operation::Rmdir),
    ("copy", Operation::Copy),
    ("move", Operation::Move),
];
