//! Rows that the reads of every database of results return.

use crate::series::{BlobError, SeriesColumn, decode_latencies, decode_times, decode_values, restore};
use plumb_result::{Interval, Lane, LaneMeasure, LatencyMap, Metric, RunVerdict};
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest number of runs listed for an ambiguous id.
pub const CANDIDATES_MAX: usize = 10;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RunStatus {
    /// Part of a study, and not started.
    Planned,
    /// In progress, or killed and not yet recovered.
    Running,
    /// Completed; its verdict states whether the numbers can be trusted.
    Ok,
    /// Ended by an error.
    Failed,
    /// Ended early by a signal or a kill.
    Aborted,
    /// Left out of a study, with a reason.
    Skipped,
}

impl RunStatus {
    /// Returns the name that is stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Name of the host that measured; `None` if unknown.
    pub host: Option<String>,
    pub workload: String,
    pub status: RunStatus,
    /// Reason why it failed, was aborted or skipped.
    pub reason: Option<String>,
    /// Whether its numbers can be trusted; `None` without a result.
    pub verdict: Option<RunVerdict>,
    /// Wall time of all phases, ns.
    pub wall_ns: Option<u64>,
    /// Paths of its targets, sorted.
    pub paths: Vec<String>,
    /// Tags of the run, sorted.
    pub tags: Vec<String>,
    /// The command as typed; empty if unknown.
    pub command: String,
    /// The tool whose command line was used, such as `fio`; `None` for Plumb's own.
    pub dialect: Option<String>,
    /// Marks that people put on the run, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

impl RunRow {
    /// Returns the retraction of the run, if one is in force.
    pub fn retraction(&self) -> Option<&Mark> {
        retraction(&self.marks)
    }
}

/// The intervals of one phase of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseIntervals {
    pub name: String,
    /// As measured; for a killed run, as far as its heartbeats were stored.
    pub intervals: Vec<Interval>,
    /// Activity of devices and the machine in these intervals.
    pub lanes: Vec<Lane>,
    pub latency_map: LatencyMap,
}

/// A mark on a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Id of the mark, a UUIDv7.
    pub id: String,
    pub kind: MarkKind,
    /// Reason for the retraction or reinstatement; of a note its text.
    pub reason: String,
    /// Time of the mark, Unix nanoseconds.
    pub at: i64,
    /// User and host of the command that made it.
    pub author: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MarkKind {
    /// The result is wrong: comparisons leave the run out.
    Retraction,
    /// An earlier retraction was wrong.
    Reinstatement,
    /// A remark that changes nothing.
    Note,
}

impl MarkKind {
    /// Returns the name that is stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Returns the retraction that is in force among marks in the order of their times.
pub fn retraction(marks: &[Mark]) -> Option<&Mark> {
    marks.iter().rfind(|mark| mark.kind != MarkKind::Note).filter(|mark| mark.kind == MarkKind::Retraction)
}

/// Series of a phase, encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseBlobs {
    /// Number of the phase, from 1.
    pub seq: i64,
    pub name: String,
    pub intervals: Option<Vec<u8>>,
    pub series: Vec<SeriesBlob>,
    pub lanes: Vec<LaneBlob>,
    pub latency_maps: Vec<LatencyMapBlob>,
}

/// A metric over the intervals of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesBlob {
    pub metric: String,
    pub data: Vec<u8>,
}

/// The activity of a device over the intervals of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneBlob {
    pub device: String,
    pub measure: String,
    pub data: Vec<u8>,
}

/// The latencies of one kind of op over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyMapBlob {
    pub op: String,
    pub data: Vec<u8>,
}

/// Latencies of one kind of op in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramBlob {
    /// Number of the phase, from 1.
    pub phase: i64,
    pub op: String,
    pub kind: String,
    /// HdrHistogram V2, uncompressed.
    pub hdr: Vec<u8>,
}

/// A run with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNumbers {
    pub id: String,
    /// Unix nanoseconds.
    pub started_ns: i64,
    pub workload: String,
    pub status: String,
    pub verdict: Option<String>,
    /// Sorted.
    pub tags: Vec<String>,
    /// Names of the phases by number, from 1.
    pub phases: BTreeMap<i64, String>,
    pub values: Vec<NumberRow>,
}

/// One number of a run; of the whole run if the phase is 0.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberRow {
    pub phase: i64,
    pub metric: String,
    pub value: Option<f64>,
    /// Name of the tier that answered.
    pub tier: Option<String>,
    pub device_share: Option<f64>,
}

/// A metric of the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricRow {
    pub name: String,
    pub unit: String,
    /// `higher`, `lower` or `none`.
    pub better: String,
}

/// A value of a metric in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPoint {
    pub run: String,
    /// Unix nanoseconds.
    pub started_ns: i64,
    /// Name of the phase; empty for the whole run.
    pub phase: String,
    pub value: f64,
    pub tier: Option<String>,
    pub verdict: Option<String>,
}

/// A noise floor of one number, with the conditions that it was measured under, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloorRow {
    /// Id of the noise floor that it is a part of.
    pub noise: String,
    /// Unix nanoseconds.
    pub measured_ns: i64,
    pub environment: String,
    /// The targets of each workload.
    pub targets: String,
    pub workload: String,
    pub body: String,
}

/// Decodes what a phase measured over time.
pub(crate) fn decode_phase(blobs: &PhaseBlobs) -> Result<PhaseIntervals, BlobError> {
    let unknown = |kind: &'static str, name: &str| BlobError::Unknown { kind, name: name.to_owned() };
    let mut intervals = match &blobs.intervals {
        Some(blob) => decode_times(blob)?,
        None => Vec::new(),
    };
    for SeriesBlob { metric, data } in &blobs.series {
        let metric: Metric = metric.parse().map_err(|_| unknown("metric", metric))?;
        let values = decode_values(data)?;
        restore(&mut intervals, &SeriesColumn { metric, values })?;
    }
    let mut lanes = Vec::new();
    for LaneBlob { device, measure, data } in &blobs.lanes {
        let measure: LaneMeasure = measure.parse().map_err(|_| unknown("measure", measure))?;
        let values = decode_values(data)?;
        lanes.push(Lane { of: device.clone(), measure, values });
    }
    let mut latency_map = LatencyMap::default();
    for LatencyMapBlob { op, data } in &blobs.latency_maps {
        let kind = OpKind::ALL.iter().find(|kind| kind.name() == op);
        let kind = kind.ok_or_else(|| unknown("kind of op", op))?;
        decode_latencies(data, *kind, &mut latency_map)?;
    }
    Ok(PhaseIntervals { name: blobs.name.clone(), intervals, lanes, latency_map })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the last word counts, and a note says nothing about a retraction.
    #[test]
    fn the_last_mark_decides() {
        let mark = |kind, at| Mark { id: String::new(), kind, reason: format!("{at}"), at, author: String::new() };
        let (wrong, right, note) = (MarkKind::Retraction, MarkKind::Reinstatement, MarkKind::Note);
        for (kinds, expected) in [
            (vec![], None),
            (vec![note], None),
            (vec![wrong, note], Some("0")),
            (vec![wrong, right], None),
            (vec![wrong, right, wrong, note], Some("2")),
        ] {
            let marks: Vec<Mark> = kinds.iter().zip(0..).map(|(kind, at)| mark(*kind, at)).collect();
            assert_eq!(retraction(&marks).map(|mark| mark.reason.as_str()), expected, "{kinds:?}");
        }
    }
}
