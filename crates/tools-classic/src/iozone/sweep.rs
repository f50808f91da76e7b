//! The combinations of file sizes and record sizes.

/// One file size with one record size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizePoint {
    /// Of the file, kB.
    pub file_kb: u64,
    /// Of a record, bytes.
    pub record_bytes: u64,
}

/// An entry of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportEntry {
    /// What it is for.
    pub point: SizePoint,
    /// Whether it is measured; the report has zeros otherwise.
    pub is_run: bool,
}

/// A sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SizeSweep {
    /// In the order of the report; those that are run, in the order of running.
    pub entries: Vec<ReportEntry>,
    /// The head of the report, bytes.
    pub records: Vec<u64>,
}

/// What a sweep is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepRange {
    /// kB, ascending.
    pub files_kb: Vec<u64>,
    /// Bytes, ascending.
    pub records: Vec<u64>,
    /// Files above this, kB, have no records below [`LARGE_RECORD_BYTES`].
    pub crossover_kb: Option<u64>,
}

/// Smallest record of large files.
pub(crate) const LARGE_RECORD_BYTES: u64 = 64 << 10;

/// Files above this are large, kB.
pub(crate) const CROSSOVER_KB: u64 = 16 << 10;

/// Sizes from one to another, each this many times the one before.
pub fn steps(from: u64, to: u64, times: u64) -> Vec<u64> {
    std::iter::successors(Some(from.max(1)), |size| size.checked_mul(times.max(2)))
        .take_while(|size| *size <= to)
        .collect()
}

impl SizeSweep {
    /// All records that fit into each file.
    pub fn new(range: &SweepRange) -> SizeSweep {
        let mut entries = Vec::new();
        for &file_kb in &range.files_kb {
            let crossed = range.crossover_kb.is_some_and(|crossover| file_kb > crossover);
            for &record_bytes in &range.records {
                if record_bytes > file_kb.saturating_mul(1024) {
                    break;
                }
                let is_run = !crossed || record_bytes >= LARGE_RECORD_BYTES;
                entries.push(ReportEntry { point: SizePoint { file_kb, record_bytes }, is_run });
            }
        }
        SizeSweep { entries, records: range.records.clone() }
    }

    /// Those that are run.
    pub fn points(&self) -> impl Iterator<Item = SizePoint> + '_ {
        self.entries.iter().filter(|entry| entry.is_run).map(|entry| entry.point)
    }
}
