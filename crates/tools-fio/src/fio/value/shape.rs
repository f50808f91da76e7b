//! The number of values of an option, and their bounds.

/// Number of values in an option: for reads, writes and trims, or for the ends of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    One,
    /// Minimum and maximum, or reads and writes.
    Two,
    /// Reads, writes and trims.
    Three,
}

/// The unit of a bare number in an option that takes a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    Seconds,
    Micros,
}

/// Minimum and maximum, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub least: Option<i64>,
    pub most: Option<i64>,
}

pub const ANY: Bounds = Bounds { least: None, most: None };

pub const fn at_least(least: i64) -> Bounds {
    Bounds { least: Some(least), most: None }
}

pub const fn at_most(most: i64) -> Bounds {
    Bounds { least: None, most: Some(most) }
}

/// Returns bounds that include both ends.
pub const fn between(least: i64, most: i64) -> Bounds {
    Bounds { least: Some(least), most: Some(most) }
}
