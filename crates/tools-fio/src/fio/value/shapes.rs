//! Values of more than one part.

/// One value for each of reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// The same for all.
    pub fn all(value: T) -> PerDirection<T>
    where
        T: Clone,
    {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }

    /// Each value changed alike.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerDirection<U> {
        PerDirection { read: change(self.read), write: change(self.write), trim: change(self.trim) }
    }
}

impl<T> PerDirection<Option<T>> {
    /// Each value, or the one of `others` if there is none.
    pub fn or(self, others: PerDirection<T>) -> PerDirection<T> {
        PerDirection {
            read: self.read.unwrap_or(others.read),
            write: self.write.unwrap_or(others.write),
            trim: self.trim.unwrap_or(others.trim),
        }
    }
}

/// A value for reads and one for writes, where an option knows no trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadWrite<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
}

/// From one value to another, both included; the same twice where nothing is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between<T> {
    /// The lower end.
    pub low: T,
    /// The upper end.
    pub high: T,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRegion {
    /// This many bytes.
    Bytes(u64),
    /// This percentage of the file or device, 0 to 100.
    Percent(u8),
    /// This many zones of a zoned device.
    Zones(u32),
}

impl Default for FileRegion {
    fn default() -> FileRegion {
        FileRegion::Bytes(0)
    }
}
