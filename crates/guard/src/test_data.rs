//! Interface for recognising test data, implemented by the code that writes it.

/// Result of examining the bytes at an offset of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestBlock {
    /// A block of test data of this many bytes.
    Whole(usize),
    /// Possibly a block of test data of this many bytes, which is longer than the given bytes.
    Longer(u64),
    None,
}

/// Examines the bytes at an offset of a file. Whatever it reports as test data may be overwritten,
/// so it must be certain.
pub type Recognise = fn(&[u8], u64) -> TestBlock;
