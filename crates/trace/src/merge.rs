//! Merges several recordings in time order.

use crate::error::TraceError;
use crate::own::has_other_file;
use crate::record::Record;

/// One recording of a merge.
pub struct MergeInput<I> {
    pub records: I,
    /// Percentage to multiply its times by.
    pub percent: f64,
    /// Added to the numbers of its files.
    pub first_file: u32,
}

/// Merges recordings. Each must be in time order.
///
/// # Errors
/// Returns [`TraceError::Merge`] if a time scale is not a number above 0.
pub fn merge<I>(sources: Vec<MergeInput<I>>) -> Result<Merged<I>, TraceError>
where
    I: Iterator<Item = Result<Record, TraceError>>,
{
    for source in &sources {
        if !(source.percent.is_finite() && source.percent > 0.0) {
            return Err(TraceError::Merge(format!(
                "{} % is not a valid time scale; use a number above 0",
                source.percent
            )));
        }
    }
    let streams = sources.into_iter().map(|source| MergeStream { source, next: None, ended: false }).collect();
    Ok(Merged { streams })
}

struct MergeStream<I> {
    source: MergeInput<I>,
    next: Option<Record>,
    ended: bool,
}

/// The records of all streams of [`merge`].
pub struct Merged<I> {
    streams: Vec<MergeStream<I>>,
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Iterator for Merged<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        for stream in self.streams.iter_mut().filter(|stream| stream.next.is_none() && !stream.ended) {
            match stream.source.records.next() {
                None => stream.ended = true,
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(record)) => {
                    let at_ns = (record.at_ns as f64 * stream.source.percent / 100.0) as u64;
                    let file = record.file + stream.source.first_file;
                    let other = if has_other_file(record.act) { stream.source.first_file } else { 0 };
                    let aux = record.aux.saturating_add(other.into());
                    stream.next = Some(Record { at_ns, file, aux, ..record });
                }
            }
        }
        // At equal times, the earlier recording comes first.
        let waiting = self.streams.iter_mut().filter(|stream| stream.next.is_some());
        let first = waiting.min_by_key(|stream| stream.next.map_or(u64::MAX, |record| record.at_ns))?;
        first.next.take().map(Ok)
    }
}
