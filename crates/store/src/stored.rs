//! Runs as they are stored: the result's text, and the blobs of histograms and series.

use crate::PhaseIntervals;
use crate::rows::{HistogramBlob, LaneBlob, LatencyMapBlob, PhaseBlobs, SeriesBlob, decode_phase};
use crate::series::BlobError;

/// A run with all its stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// The result (`plumb.result/1`), exactly as it is stored.
    pub result: String,
    /// Histograms and series, sorted by phase and kind.
    pub blobs: Vec<StoredBlob>,
}

/// A blob of one phase, in a format of `docs/store.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    pub kind: BlobKind,
    /// Number of the phase, from 1.
    pub phase: u32,
    /// Kind of op, metric or device; empty if the blob is about all.
    pub of: String,
    /// Kind of a histogram, or measure of a lane; empty for others.
    pub what: String,
    pub data: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum BlobKind {
    /// Times of the phase's points.
    Intervals,
    /// HdrHistogram V2.
    Histogram,
    /// Amounts or latencies, one for each interval.
    Series,
    /// Activity of a device or of the machine, one value for each interval.
    Lane,
    /// Latencies of a kind of op over time.
    LatencyMap,
}

impl BlobKind {
    /// Returns the name, such as `latency-map`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl StoredRun {
    pub(crate) fn new(
        id: String,
        result: String,
        phases: Vec<PhaseBlobs>,
        histograms: Vec<HistogramBlob>,
    ) -> StoredRun {
        let mut blobs: Vec<StoredBlob> = phases.into_iter().flat_map(stored_blobs).collect();
        blobs.extend(histograms.into_iter().map(|histogram| {
            let HistogramBlob { phase, op, kind, hdr } = histogram;
            blob(BlobKind::Histogram, phase, op, kind, hdr)
        }));
        let order = |blob: &StoredBlob| (blob.phase, blob.kind, blob.of.clone(), blob.what.clone());
        blobs.sort_by_cached_key(order);
        StoredRun { id, result, blobs }
    }
}

fn stored_blobs(phase: PhaseBlobs) -> Vec<StoredBlob> {
    let PhaseBlobs { seq, intervals, series, lanes, latency_maps, .. } = phase;
    let mut blobs = Vec::new();
    blobs.extend(intervals.map(|data| blob(BlobKind::Intervals, seq, String::new(), String::new(), data)));
    blobs.extend(series.into_iter().map(|one| blob(BlobKind::Series, seq, one.metric, String::new(), one.data)));
    blobs.extend(lanes.into_iter().map(|lane| blob(BlobKind::Lane, seq, lane.device, lane.measure, lane.data)));
    blobs.extend(latency_maps.into_iter().map(|map| blob(BlobKind::LatencyMap, seq, map.op, String::new(), map.data)));
    blobs
}

fn blob(kind: BlobKind, phase: i64, of: String, what: String, data: Vec<u8>) -> StoredBlob {
    StoredBlob { kind, phase: u32::try_from(phase).unwrap_or(u32::MAX), of, what, data }
}

impl PhaseBlobs {
    /// Adds a blob; ignores histograms.
    pub fn add(&mut self, blob: StoredBlob) {
        let StoredBlob { kind, of, what, data, .. } = blob;
        match kind {
            BlobKind::Histogram => {}
            BlobKind::Intervals => self.intervals = Some(data),
            BlobKind::Series => self.series.push(SeriesBlob { metric: of, data }),
            BlobKind::Lane => self.lanes.push(LaneBlob { device: of, measure: what, data }),
            BlobKind::LatencyMap => self.latency_maps.push(LatencyMapBlob { op: of, data }),
        }
    }

    /// Decodes what a phase measured over time.
    ///
    /// # Errors
    /// Returns the reason for the first blob that is damaged, or that does not belong to the others.
    pub fn decode(&self) -> Result<PhaseIntervals, BlobError> {
        decode_phase(self)
    }
}
