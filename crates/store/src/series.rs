//! Series as compact blobs. `docs/store.md` describes the format to the byte, and only that format is guaranteed.

use plumb_result::metric::{Metric, Quantity, Stat, Subject};
use plumb_result::{BucketCount, Interval, LatencyColumn, LatencyMap, OpCounts};
use plumb_workload::OpKind;
use std::collections::{BTreeMap, BTreeSet};

/// First byte of each blob.
const VERSION: u8 = 1;

/// Error from decoding a blob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    #[error("it has format {0}, and this Plumb knows {VERSION}")]
    Version(u8),
    #[error("it ends early or is damaged")]
    Damaged,
    /// It belongs to a metric, measure or kind of op of a newer version.
    #[error("unknown {kind} `{name}`")]
    Unknown { kind: &'static str, name: String },
}

/// Encodes the times of a phase's points.
pub(crate) fn encode_times(intervals: &[Interval]) -> Vec<u8> {
    let mut blob = header(intervals.len());
    deltas(intervals.iter().map(|interval| interval.start_ns), &mut blob);
    deltas(intervals.iter().map(|interval| interval.length_ns), &mut blob);
    blob
}

/// Decodes the output of [`encode_times`] to intervals without ops.
pub(crate) fn decode_times(blob: &[u8]) -> Result<Vec<Interval>, BlobError> {
    let mut reader = Reader::new(blob)?;
    let n = reader.count()?;
    let starts = reader.deltas(n)?;
    let lengths = reader.deltas(n)?;
    reader.end()?;
    Ok(starts
        .into_iter()
        .zip(lengths)
        .map(|(start_ns, length_ns)| Interval { start_ns, length_ns, ops: BTreeMap::new() })
        .collect())
}

/// Encodes the values of one metric, one for each point; `None` means not measured.
pub(crate) fn encode_values(values: &[Option<u64>]) -> Vec<u8> {
    let mut blob = header(values.len());
    let mut bits = vec![0u8; values.len().div_ceil(8)];
    for (i, _) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
        bits[i / 8] |= 1 << (i % 8);
    }
    blob.extend(bits);
    deltas(values.iter().copied().flatten(), &mut blob);
    blob
}

/// Decodes the output of [`encode_values`].
pub(crate) fn decode_values(blob: &[u8]) -> Result<Vec<Option<u64>>, BlobError> {
    let mut reader = Reader::new(blob)?;
    let n = reader.count()?;
    let bits = reader.take(n.div_ceil(8))?;
    let there: Vec<bool> = (0..n).map(|i| bits[i / 8] >> (i % 8) & 1 == 1).collect();
    let mut values = reader.deltas(there.iter().filter(|there| **there).count())?.into_iter();
    reader.end()?;
    Ok(there.into_iter().map(|there| if there { values.next() } else { None }).collect())
}

/// Encodes the latencies of one kind of op: the times of the columns, then the counts in each.
pub(crate) fn encode_latencies(map: &LatencyMap, kind: OpKind) -> Vec<u8> {
    let mut blob = header(map.columns.len());
    deltas(map.columns.iter().map(|column| column.start_ns), &mut blob);
    deltas(map.columns.iter().map(|column| column.length_ns), &mut blob);
    for column in &map.columns {
        let counts = column.ops.get(&kind).map_or(&[] as &[BucketCount], Vec::as_slice);
        varint(counts.len() as u64, &mut blob);
        let mut before = 0;
        for of in counts {
            varint(u64::from(of.bucket - before), &mut blob);
            varint(of.count, &mut blob);
            before = of.bucket;
        }
    }
    blob
}

/// Decodes the output of [`encode_latencies`] and adds the kind to the map's columns. Reports a kind
/// with other columns as damaged.
pub(crate) fn decode_latencies(blob: &[u8], kind: OpKind, map: &mut LatencyMap) -> Result<(), BlobError> {
    let mut reader = Reader::new(blob)?;
    let n = reader.count()?;
    let (starts, lengths) = (reader.deltas(n)?, reader.deltas(n)?);
    if map.columns.is_empty() {
        let column = |(start_ns, length_ns)| LatencyColumn { start_ns, length_ns, ops: BTreeMap::new() };
        *map = LatencyMap::of_columns(starts.iter().copied().zip(lengths).map(column).collect());
    } else if !map.columns.iter().map(|column| column.start_ns).eq(starts) {
        return Err(BlobError::Damaged);
    }
    for column in &mut map.columns {
        let mut bucket: u16 = 0;
        let counts = (0..reader.count()?)
            .map(|_| {
                let step = u16::try_from(reader.varint()?).map_err(|_| BlobError::Damaged)?;
                bucket = bucket.checked_add(step).ok_or(BlobError::Damaged)?;
                Ok(BucketCount { bucket, count: reader.varint()? })
            })
            .collect::<Result<Vec<_>, BlobError>>()?;
        if !counts.is_empty() {
            column.ops.insert(kind, counts);
        }
    }
    reader.end()
}

/// The values of one metric, with one value for each interval.
pub(crate) struct SeriesColumn {
    pub(crate) metric: Metric,
    pub(crate) values: Vec<Option<u64>>,
}

/// Returns one column for each metric of each op that occurs.
pub(crate) fn columns(intervals: &[Interval]) -> Vec<SeriesColumn> {
    let kinds = BTreeSet::from_iter(intervals.iter().flat_map(|interval| interval.ops.keys()));
    let mut columns = Vec::new();
    for &kind in kinds {
        let mut metrics = vec![Metric::rate(kind)];
        if kind.moves_bytes() {
            metrics.push(Metric::bandwidth(kind));
        }
        metrics.extend([Stat::P50, Stat::P99, Stat::Max].map(|stat| Metric::latency(kind, stat)));
        for metric in metrics {
            let values = intervals
                .iter()
                .map(|interval| interval.ops.get(&kind).and_then(|counts| get(counts, metric.quantity)))
                .collect();
            columns.push(SeriesColumn { metric, values });
        }
    }
    columns
}

/// Writes a column back into intervals. Reports a column of another length as damaged.
pub(crate) fn restore(intervals: &mut [Interval], column: &SeriesColumn) -> Result<(), BlobError> {
    let Subject::Op(kind) = column.metric.subject else { return Err(BlobError::Damaged) };
    if intervals.len() != column.values.len() {
        return Err(BlobError::Damaged);
    }
    for (interval, value) in intervals.iter_mut().zip(&column.values) {
        let Some(value) = *value else { continue };
        let counts = interval.ops.entry(kind).or_default();
        match column.metric.quantity {
            Quantity::Rate => counts.count = value,
            Quantity::Bandwidth => counts.bytes = value,
            Quantity::Latency(Stat::P50) => counts.p50_ns = Some(value),
            Quantity::Latency(Stat::P99) => counts.p99_ns = Some(value),
            Quantity::Latency(Stat::Max) => counts.max_ns = Some(value),
            _ => return Err(BlobError::Damaged),
        }
    }
    Ok(())
}

fn get(counts: &OpCounts, quantity: Quantity) -> Option<u64> {
    match quantity {
        Quantity::Rate => Some(counts.count),
        Quantity::Bandwidth => Some(counts.bytes),
        Quantity::Latency(Stat::P50) => counts.p50_ns,
        Quantity::Latency(Stat::P99) => counts.p99_ns,
        Quantity::Latency(Stat::Max) => counts.max_ns,
        _ => None,
    }
}

fn header(count: usize) -> Vec<u8> {
    let mut blob = vec![VERSION];
    varint(count as u64, &mut blob);
    blob
}

/// Appends differences to the previous value (0 before the first), modulo 2^64, as zigzag LEB128.
fn deltas(values: impl Iterator<Item = u64>, blob: &mut Vec<u8>) {
    let mut before = 0u64;
    for value in values {
        let delta = value.wrapping_sub(before) as i64;
        varint(((delta << 1) ^ (delta >> 63)) as u64, blob);
        before = value;
    }
}

/// Appends a LEB128 number: seven bits per byte, lowest first, the top bit set in all but the last byte.
fn varint(mut value: u64, blob: &mut Vec<u8>) {
    while value >= 0x80 {
        blob.push(value as u8 | 0x80);
        value >>= 7;
    }
    blob.push(value as u8);
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn new(blob: &'a [u8]) -> Result<Reader<'a>, BlobError> {
        match blob.split_first() {
            Some((&VERSION, rest)) => Ok(Reader { rest }),
            Some((&version, _)) => Err(BlobError::Version(version)),
            None => Err(BlobError::Damaged),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BlobError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(BlobError::Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, BlobError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(BlobError::Damaged);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(BlobError::Damaged)
    }

    /// Reads a number of points. Each takes at least a bit, which bounds the memory that a damaged count can request.
    fn count(&mut self) -> Result<usize, BlobError> {
        let count = self.varint()?;
        if count > self.rest.len() as u64 * 8 { Err(BlobError::Damaged) } else { Ok(count as usize) }
    }

    fn deltas(&mut self, count: usize) -> Result<Vec<u64>, BlobError> {
        let mut before = 0u64;
        (0..count)
            .map(|_| {
                let coded = self.varint()?;
                let delta = (coded >> 1) as i64 ^ -((coded & 1) as i64);
                before = before.wrapping_add(delta as u64);
                Ok(before)
            })
            .collect()
    }

    fn end(&self) -> Result<(), BlobError> {
        if self.rest.is_empty() { Ok(()) } else { Err(BlobError::Damaged) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::Histogram;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_match_the_documentation() {
        assert_eq!(encode_values(&[Some(300), None, Some(299)]), [1, 3, 0b101, 0xd8, 0x04, 0x01]);
        let second = |start_ns| Interval { start_ns, length_ns: 1, ops: BTreeMap::new() };
        assert_eq!(encode_times(&[second(0), second(64)]), [1, 2, 0, 0x80, 0x01, 2, 0]);
        let of = |bucket, count| BucketCount { bucket, count };
        let column = |start_ns, counts| LatencyColumn { start_ns, length_ns: 64, ops: [(OpKind::Read, counts)].into() };
        let map = LatencyMap::of_columns(vec![column(0, vec![of(3, 300), of(5, 1)]), column(64, Vec::new())]);
        assert_eq!(
            encode_latencies(&map, OpKind::Read),
            [1, 2, 0, 0x80, 0x01, 0x80, 0x01, 0, 2, 3, 0xac, 0x02, 2, 1, 0]
        );
    }

    #[test]
    fn damaged_blobs_are_refused() {
        for blob in [&[][..], &[1], &[1, 200, 1], &[1, 1, 1], &[1, 1, 1, 0x80], &[1, 0, 0]] {
            assert_eq!(decode_values(blob), Err(BlobError::Damaged), "{blob:?}");
        }
        assert_eq!(decode_times(&[9, 0]), Err(BlobError::Version(9)));
        let mut huge = vec![1];
        varint(u64::MAX, &mut huge);
        assert_eq!(decode_values(&huge), Err(BlobError::Damaged));
    }

    #[test]
    fn an_hour_of_steady_seconds_takes_a_few_bytes_each() {
        let counts =
            OpCounts { count: 250_000, bytes: 250_000 * 4096, p50_ns: Some(90_000), p99_ns: None, max_ns: None };
        let intervals: Vec<Interval> = (0..3600)
            .map(|i| Interval {
                start_ns: i * 1_000_000_000,
                length_ns: 1_000_000_000,
                ops: [(plumb_workload::OpKind::Read, OpCounts { count: 250_000 + i % 7, ..counts })].into(),
            })
            .collect();
        let size: usize = columns(&intervals).iter().map(|column| encode_values(&column.values).len()).sum();
        assert!(size + encode_times(&intervals).len() < 3600 * 10, "{size}");
    }

    proptest! {
        #[test]
        fn values_come_back(values in prop::collection::vec(any::<Option<u64>>(), 0..50)) {
            prop_assert_eq!(decode_values(&encode_values(&values)), Ok(values));
        }

        #[test]
        fn latencies_come_back(seconds in prop::collection::vec(prop::collection::vec((any::<u64>(), 1..1000u64), 0..9), 1..300)) {
            let mut map = LatencyMap::default();
            for (second, times) in seconds.iter().enumerate() {
                let mut histogram = Histogram::new();
                times.iter().for_each(|(ns, count)| histogram.record_n(*ns, *count));
                let of = if second % 3 == 0 { OpKind::Write } else { OpKind::Read };
                map.push(second as u64 * 10, 10, [(of, &histogram)].into_iter());
            }
            let mut again = LatencyMap::default();
            for kind in [OpKind::Read, OpKind::Write] {
                prop_assert_eq!(decode_latencies(&encode_latencies(&map, kind), kind, &mut again), Ok(()));
            }
            prop_assert_eq!(again.columns, map.columns);
        }

        #[test]
        fn no_bytes_cause_a_panic(blob in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode_values(&blob);
            let _ = decode_times(&blob);
            let _ = decode_latencies(&blob, OpKind::Read, &mut LatencyMap::default());
        }
    }
}
