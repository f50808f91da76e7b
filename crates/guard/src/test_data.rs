//! How the guard is told what test data looks like: whoever writes it knows.

/// What lies at a place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestBlock {
    /// A block of test data of this many bytes.
    Whole(usize),
    /// Perhaps a block of test data of this many bytes, more than were given.
    Longer(u64),
    /// Something else.
    None,
}

/// Says what lies at an offset of a file; the bytes begin there. What it calls test data may be written over: it must be test data
/// beyond doubt.
pub type Recognise = fn(&[u8], u64) -> TestBlock;
