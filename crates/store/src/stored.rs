//! Runs as they are stored: the result's text, and the blobs of histograms and series.

use crate::rows::{LaneBlob, LatencyMapBlob, PhaseBlobs, SeriesBlob, decode_phase};
use crate::series::BlobError;
use crate::{PhaseIntervals, ResultStore, Store, StoreError};
use rusqlite::Row;

/// A run with all its stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// The result (`plumb.result/1`), exactly as it is stored.
    pub result: String,
    /// Histograms and series, sorted by phase.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
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

/// Selects the blobs of each kind: phase, subject, measure, data.
const BLOBS: [(BlobKind, &str); 5] = [
    (
        BlobKind::Intervals,
        "SELECT seq, '', '', intervals FROM phase WHERE run_id = ?1 AND intervals IS NOT NULL ORDER BY seq",
    ),
    (
        BlobKind::Histogram,
        "SELECT phase, op, kind, hdr FROM histogram WHERE run_id = ?1 AND scope = 'all' ORDER BY phase, op, kind",
    ),
    (
        BlobKind::Series,
        "SELECT phase, metric, '', data FROM series WHERE run_id = ?1 AND scope = 'all' ORDER BY phase, metric",
    ),
    (BlobKind::Lane, "SELECT phase, device, measure, data FROM lane WHERE run_id = ?1 ORDER BY phase, device, measure"),
    (BlobKind::LatencyMap, "SELECT phase, op, '', data FROM latency_map WHERE run_id = ?1 ORDER BY phase, op"),
];

impl Store {
    /// Returns a run as it is stored. `run` is as in [`ResultStore::find`].
    ///
    /// # Errors
    /// Returns [`StoreError::NoResult`] for a run without a result.
    pub fn stored_run(&self, run: &str) -> Result<StoredRun, StoreError> {
        let id = self.find(run)?;
        let result = self.stored_text(&id)?;
        let blobs = self.blobs(&id)?;
        Ok(StoredRun { id, result, blobs })
    }

    /// Returns the histograms and series of a run, sorted by phase. `run` is a whole id.
    fn blobs(&self, run: &str) -> Result<Vec<StoredBlob>, StoreError> {
        let failed = self.failed("reading series");
        let mut blobs = Vec::new();
        for (kind, sql) in BLOBS {
            let blob = |row: &Row<'_>| {
                Ok(StoredBlob { kind, phase: row.get(0)?, of: row.get(1)?, what: row.get(2)?, data: row.get(3)? })
            };
            let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
            for blob in statement.query_map([run], blob).map_err(&failed)? {
                blobs.push(blob.map_err(&failed)?);
            }
        }
        blobs.sort_by_key(|blob| blob.phase);
        Ok(blobs)
    }
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
