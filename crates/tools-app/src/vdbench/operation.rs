//! What a file workload does with a file.

/// What is done to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Opened, read and closed.
    Read,
    /// Opened, written and closed.
    Write,
    /// A directory is made.
    Mkdir,
    /// A file is made, without contents, and closed.
    Create,
    /// Opened and closed.
    Open,
    /// The same; the closes are what is counted.
    Close,
    /// Removed.
    Delete,
    /// `stat`.
    Getattr,
    /// Its times are set.
    Setattr,
    /// Asked for permission to read it.
    Access,
    /// A directory is removed.
    Rmdir,
    /// Copied into another file system.
    Copy,
    /// The same, and removed then.
    Move,
    /// Made, written and closed: what `format=only` does.
    Format,
}

/// The words for operations.
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
