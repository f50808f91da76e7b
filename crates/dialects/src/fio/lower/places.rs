//! What lowering asks of the system.

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A regular file.
    Regular {
        /// Its length.
        bytes: u64,
    },
    /// A block device.
    Block {
        /// Its size.
        bytes: u64,
    },
    /// A character device, a pipe or a socket.
    Character,
    /// A directory.
    Directory,
    /// Something whose size cannot be asked for.
    Unreadable,
}

/// Looks at paths and at the machine, and changes nothing.
pub trait Places {
    /// What a path leads to, links followed.
    fn look(&mut self, path: &str) -> Found;

    /// Bytes that are free where a path lies or would lie; nothing where that is not known.
    fn free_bytes(&mut self, path: &str) -> Option<u64>;

    /// The paths of all regular files below a directory, in the order in which the system lists them.
    fn files_below(&mut self, directory: &str) -> Vec<String>;

    /// The CPUs of a memory node; nothing where there is no such node.
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>>;
}
