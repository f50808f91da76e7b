//! Definitions of raw I/O: the storage, and the work on it.

/// A storage definition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Storage {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) path: String,
    pub(super) bytes: Option<u64>,
    pub(super) threads: u64,
    pub(super) offset: u64,
    /// Of what random offsets are multiples; of the transfer where absent.
    pub(super) align: Option<u64>,
    /// Where hits go: from the beginning of what is used.
    pub(super) hit_area: u64,
    /// The part that is used, in per cent.
    pub(super) range: (u64, u64),
    pub(super) opened: Opened,
    /// `count=(START,COUNT)`: so many, numbered from the first.
    pub(super) counted: Option<(u64, u64)>,
}

/// How a file or device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Opened {
    pub(super) direct: bool,
    pub(super) sync: bool,
}

/// How large transfers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transfers {
    /// Always so.
    Fixed(u64),
    /// Sizes, each with its per cent.
    Mix(Vec<(u64, u8)>),
}

/// A workload definition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) storage: Vec<String>,
    pub(super) read_percent: u8,
    pub(super) transfers: Transfers,
    pub(super) random_percent: u8,
    pub(super) ends_at_end: bool,
    pub(super) skew: Option<f64>,
    /// The part of the storage, in per cent; that of the storage where absent.
    pub(super) range: Option<(u64, u64)>,
    /// Bytes between the end of a transfer and the next.
    pub(super) stride: Option<u64>,
    /// Per cent of reads and of writes that go to the hit area.
    pub(super) hits: (u8, u8),
    /// A rate of its own, I/Os a second.
    pub(super) rate: Option<u64>,
    /// Threads, where not those of the storage.
    pub(super) threads: Option<u64>,
    /// How it opens the storage, where not as that says.
    pub(super) opened: Option<Opened>,
}
