//! Whether serial numbers are told.

/// How serial numbers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serials {
    /// The first 16 hex digits of their blake3: the same device is known again, and nobody learns its serial.
    #[default]
    Hashed,
    /// As they are.
    Plain,
}
