//! Definitions for raw I/O: the storage (SD), and workloads on it (WD).

/// A storage definition (SD).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Storage {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) path: String,
    pub(super) bytes: Option<u64>,
    pub(super) threads: u64,
    pub(super) offset: u64,
    /// Alignment of random offsets, bytes; `None` means the transfer size.
    pub(super) align: Option<u64>,
    /// Size of the area for hits, at the beginning of the used part, bytes.
    pub(super) hit_area: u64,
    /// The part that is used, from and to, in percent.
    pub(super) range: (u64, u64),
    pub(super) opened: Opened,
    /// `count=(START,COUNT)`: the definition stands for COUNT numbered ones.
    pub(super) counted: Option<(u64, u64)>,
}

/// Flags with which a file or device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Opened {
    pub(super) direct: bool,
    pub(super) sync: bool,
}

/// Transfer sizes, bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transfers {
    /// All transfers have this size.
    Fixed(u64),
    /// Sizes, each with its percentage.
    Mix(Vec<(u64, u8)>),
}

/// A workload definition (WD).
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
    /// The used part of the storage, in percent; `None` means the storage's own range.
    pub(super) range: Option<(u64, u64)>,
    /// Gap between the end of a transfer and the next one, bytes.
    pub(super) stride: Option<u64>,
    /// Percentages of reads and of writes that go to the hit area.
    pub(super) hits: (u8, u8),
    /// Rate of this workload alone, I/Os per second.
    pub(super) rate: Option<u64>,
    /// Number of threads; `None` means that of the storage.
    pub(super) threads: Option<u64>,
    /// Open flags; `None` means those of the storage.
    pub(super) opened: Option<Opened>,
}
