//! Keywords, and keywords with a part after a colon.

use super::number::{self, Amount, time, wide};
use super::reading::{Compat, ValueError, ValueReading};
use super::shape::Bare;
use plumb_workload::Nanos;

/// Keywords of `mem`.
pub const MEMORY: &[&str] = &["malloc", "shm", "shmhuge", "mmap", "mmaphuge", "mmapshared", "cudamalloc"];

/// Parses one of the keywords. fio ignores text after a comma or a colon.
pub fn one(
    text: &str,
    words: &'static [&'static str],
    reading: &mut ValueReading<'_>,
) -> Result<&'static str, ValueError> {
    let end = text.find([',', ':']).unwrap_or(text.len());
    let word = text[..end].trim_end();
    let found = words.iter().find(|known| **known == word);
    match found {
        Some(found) => {
            if end < text.len() && reading.compat == Compat::Meant {
                reading.doubt(text, (*found).to_owned(), "also ignores the rest".to_owned());
            }
            Ok(found)
        }
        None => Err(ValueError::not_a_choice(word, words)),
    }
}

/// Parses a comma-separated list of keywords.
pub fn some(text: &str, words: &'static [&'static str]) -> Result<Vec<&'static str>, ValueError> {
    text.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| {
            let found = words.iter().find(|known| **known == word).copied();
            found.ok_or_else(|| ValueError::not_a_choice(word, words))
        })
        .collect()
}

/// Frequency and flags of `sync_file_range` calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncRange {
    /// Wait for writeback in progress (SYNC_FILE_RANGE_WAIT_BEFORE).
    pub wait_before: bool,
    /// Start writeback (SYNC_FILE_RANGE_WRITE).
    pub write: bool,
    /// Wait for writeback to end (SYNC_FILE_RANGE_WAIT_AFTER).
    pub wait_after: bool,
    pub every: u32,
}

/// Parses `wait_before,write:8`.
pub fn sync_range(text: &str) -> Result<SyncRange, ValueError> {
    const WORDS: &[&str] = &["wait_before", "write", "wait_after"];
    let (flags, every) = text.split_once(':').unwrap_or((text, "1"));
    let every = match every.trim().parse::<u32>() {
        Ok(every @ 1..) => every,
        _ => return Err(ValueError::NotANumber { text: every.to_owned() }),
    };
    let flags = some(flags, WORDS)?;
    let has = |flag| flags.contains(&flag);
    Ok(SyncRange { wait_before: has("wait_before"), write: has("write"), wait_after: has("wait_after"), every })
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MemoryKind {
    /// The heap.
    #[default]
    Malloc,
    /// System V shared memory.
    Shm,
    /// System V shared memory in huge pages.
    ShmHuge,
    /// A private mapping, of this file if given.
    Mmap(Option<String>),
    /// A mapping in huge pages, of this file in hugetlbfs if given.
    MmapHuge(Option<String>),
    /// A shared mapping, of this file if given.
    MmapShared(Option<String>),
    Cuda,
}

pub fn memory(text: &str) -> Result<MemoryKind, ValueError> {
    let (word, file) = match text.split_once(':') {
        Some((word, file)) => (word, Some(file.to_owned()).filter(|file| !file.is_empty())),
        None => (text, None),
    };
    match word {
        "malloc" => Ok(MemoryKind::Malloc),
        "shm" => Ok(MemoryKind::Shm),
        "shmhuge" => Ok(MemoryKind::ShmHuge),
        "mmap" => Ok(MemoryKind::Mmap(file)),
        "mmaphuge" => Ok(MemoryKind::MmapHuge(file)),
        "mmapshared" => Ok(MemoryKind::MmapShared(file)),
        "cudamalloc" => Ok(MemoryKind::Cuda),
        word => Err(ValueError::not_a_choice(word, MEMORY)),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogName {
    /// In files named after the job.
    OfJob,
    /// In files with this prefix.
    Named(String),
}

pub(crate) fn log_name(text: Option<&str>) -> LogName {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => LogName::Named(text.to_owned()),
        None => LogName::OfJob,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorNumber {
    /// An error name, such as `EIO`.
    Name(String),
    Number(u32),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErrorsIgnored {
    pub read: Vec<ErrorNumber>,
    pub write: Vec<ErrorNumber>,
    pub verify: Vec<ErrorNumber>,
}

pub(crate) fn errors_ignored(text: &str) -> Result<ErrorsIgnored, ValueError> {
    let list = |text: &str| {
        text.split(':')
            .map(str::trim)
            .filter(|error| !error.is_empty())
            .map(|error| {
                if error.starts_with('E') && error.len() > 1 && error.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return Ok(ErrorNumber::Name(error.to_owned()));
                }
                let digits = error.strip_prefix('-').unwrap_or(error);
                let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                match number {
                    Ok(number @ 1..) => Ok(ErrorNumber::Number(number)),
                    _ => Err(ValueError::grammar(format!("`{error}` is not an error code such as EIO or 5"))),
                }
            })
            .collect::<Result<Vec<_>, _>>()
    };
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(ValueError::TooMany { most: 3 });
    }
    let at = |index: usize| parts.get(index).copied().unwrap_or("");
    Ok(ErrorsIgnored { read: list(at(0))?, write: list(at(1))?, verify: list(at(2))? })
}

/// The quantity that must become steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyFigure {
    /// Ops per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    Latency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyTest {
    /// Largest deviation from the mean.
    Deviation,
    /// Slope of a straight line fitted to the window.
    Slope,
}

/// The limit of a deviation or slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SteadyLimit {
    /// Percentage of the mean.
    Percent(f64),
    /// Ops per second.
    Iops(f64),
    BytesPerSecond(u64),
    Time(Nanos),
}

/// A steady-state criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyCriterion {
    pub figure: SteadyFigure,
    pub test: SteadyTest,
    pub limit: SteadyLimit,
}

pub fn steady(text: &str, reading: &mut ValueReading<'_>) -> Result<SteadyCriterion, ValueError> {
    const WORDS: &[&str] = &["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"];
    let (word, limit) = text.split_once(':').unwrap_or((text, ""));
    let (figure, test) = match word.trim() {
        "iops" => (SteadyFigure::Iops, SteadyTest::Deviation),
        "iops_slope" => (SteadyFigure::Iops, SteadyTest::Slope),
        "bw" => (SteadyFigure::Bandwidth, SteadyTest::Deviation),
        "bw_slope" => (SteadyFigure::Bandwidth, SteadyTest::Slope),
        "lat" => (SteadyFigure::Latency, SteadyTest::Deviation),
        "lat_slope" => (SteadyFigure::Latency, SteadyTest::Slope),
        word => return Err(ValueError::not_a_choice(word, WORDS)),
    };
    let limit = limit.trim();
    if limit.is_empty() {
        return Err(ValueError::grammar(format!("a limit is required, such as {word}:0.3%")));
    }
    let float = |text: &str| match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(ValueError::NotANumber { text: text.to_owned() }),
    };
    let limit = match (limit.strip_suffix('%'), figure) {
        (Some(percent), _) => SteadyLimit::Percent(float(percent)?),
        (None, SteadyFigure::Iops) => SteadyLimit::Iops(float(limit)?),
        (None, SteadyFigure::Latency) => SteadyLimit::Time(time(limit, Bare::Micros, reading)?),
        (None, SteadyFigure::Bandwidth) => match number::amount(limit, reading)? {
            Amount::Plain(bytes) => SteadyLimit::BytesPerSecond(wide(bytes, reading.compat)?),
            Amount::Percent(percent) => SteadyLimit::Percent(percent as f64),
        },
    };
    Ok(SteadyCriterion { figure, test, limit })
}
