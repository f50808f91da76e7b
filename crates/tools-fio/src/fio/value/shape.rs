//! How many values an option takes, and within which bounds.

/// How many values one option takes, for reads, writes and trims, or for the ends of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// One.
    One,
    /// Two: a lower and an upper end, or reads and writes.
    Two,
    /// Three: reads, writes and trims.
    Three,
}

/// What a bare number means where a time is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    /// Seconds.
    Seconds,
    /// Microseconds.
    Micros,
}

/// The smallest and the largest value allowed, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest.
    pub least: Option<i64>,
    /// The largest.
    pub most: Option<i64>,
}

/// No bounds.
pub const ANY: Bounds = Bounds { least: None, most: None };

/// At least this.
pub const fn at_least(least: i64) -> Bounds {
    Bounds { least: Some(least), most: None }
}

/// At most this.
pub const fn at_most(most: i64) -> Bounds {
    Bounds { least: None, most: Some(most) }
}

/// From the first to the second, both included.
pub const fn between(least: i64, most: i64) -> Bounds {
    Bounds { least: Some(least), most: Some(most) }
}
