//! The combinations of file sizes and record sizes.

/// One file size with one record size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizePoint {
    /// Size of the file in kB.
    pub file_kb: u64,
    /// Size of a record in bytes.
    pub record_bytes: u64,
}

/// An entry of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportEntry {
    pub point: SizePoint,
    /// Whether it is measured; otherwise the report contains zeros.
    pub is_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SizeSweep {
    /// In the order of the report, in which the measured ones also run.
    pub entries: Vec<ReportEntry>,
    /// Record sizes in the header of the report, in bytes.
    pub records: Vec<u64>,
}

/// The ranges of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepRange {
    /// File sizes in kB, ascending.
    pub files_kb: Vec<u64>,
    /// Record sizes in bytes, ascending.
    pub records: Vec<u64>,
    /// Files above this size in kB have no records below [`LARGE_RECORD_BYTES`].
    pub crossover_kb: Option<u64>,
}

/// Minimum record size of large files.
pub(crate) const LARGE_RECORD_BYTES: u64 = 64 << 10;

/// Files above this size in kB are large.
pub(crate) const CROSSOVER_KB: u64 = 16 << 10;

/// Returns sizes from one to another, each `times` the previous one.
pub fn steps(from: u64, to: u64, times: u64) -> Vec<u64> {
    std::iter::successors(Some(from.max(1)), |size| size.checked_mul(times.max(2)))
        .take_while(|size| *size <= to)
        .collect()
}

impl SizeSweep {
    /// Combines each file size with all records that fit.
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

    pub fn points(&self) -> impl Iterator<Item = SizePoint> + '_ {
        self.entries.iter().filter(|entry| entry.is_run).map(|entry| entry.point)
    }
}
