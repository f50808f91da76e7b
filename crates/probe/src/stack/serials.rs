//! Handling of serial numbers.

/// Form in which serial numbers are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serials {
    /// The first 16 hex digits of their blake3: a device can be recognised without revealing its serial.
    #[default]
    Hashed,
    /// The plain serial number.
    Plain,
}
