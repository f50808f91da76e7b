//! Values with several parts.

/// One value each for reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerDirection<T> {
    pub read: T,
    pub write: T,
    pub trim: T,
}

impl<T> PerDirection<T> {
    pub fn all(value: T) -> PerDirection<T>
    where
        T: Clone,
    {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }

    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerDirection<U> {
        PerDirection { read: change(self.read), write: change(self.write), trim: change(self.trim) }
    }
}

impl<T> PerDirection<Option<T>> {
    /// Replaces each missing value by that of `others`.
    pub fn or(self, others: PerDirection<T>) -> PerDirection<T> {
        PerDirection {
            read: self.read.unwrap_or(others.read),
            write: self.write.unwrap_or(others.write),
            trim: self.trim.unwrap_or(others.trim),
        }
    }
}

/// One value each for reads and writes, for options that do not apply to trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadWrite<T> {
    pub read: T,
    pub write: T,
}

/// An inclusive range; both ends are equal if nothing is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between<T> {
    pub low: T,
    pub high: T,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRegion {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the file or device, 0 to 100.
    Percent(u8),
    /// A number of zones of a zoned device.
    Zones(u32),
}

impl Default for FileRegion {
    fn default() -> FileRegion {
        FileRegion::Bytes(0)
    }
}
