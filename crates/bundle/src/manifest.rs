//! The list of a bundle's files, and what each is (`plumb.bundle/1`).

use crate::{BundleError, archive};
use plumb_store::BlobKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name and version of the manifest's form.
pub const BUNDLE_SCHEMA: &str = "plumb.bundle/1";

/// Name of the manifest in the archive.
pub(crate) const MANIFEST_FILE: &str = "manifest.json";
/// Name of the manifest's signature.
pub(crate) const SIGNATURE_FILE: &str = "manifest.json.minisig";

/// The list of a bundle's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name and version of this form: `plumb.bundle/1`.
    pub schema: String,
    /// The program that made the bundle. Each result names the one that measured it.
    pub program: Program,
    /// Public key of the signer, as minisign writes it.
    pub signer: String,
    /// Whether names of hosts, users, paths and serials were replaced before signing.
    pub anonymised: bool,
    /// The files in the order of the archive.
    pub parts: Vec<Part>,
}

/// A program, and the hash of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub version: String,
    /// SHA-256 of the executable; absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub file: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal digits.
    pub sha256: String,
    /// Id of the run that it belongs to.
    pub run: String,
    pub kind: PartKind,
    /// Number of the phase, from 1; absent for a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// Kind of op, metric or device that it is about; empty if it is about all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Of a histogram: `service`, `response` or `start-lag`. Of a lane: what was measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

/// Kind of a file in a bundle. `docs/store.md` describes the binary ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// The result as JSON (`plumb.result/1`), with the findings of the checks and the facts about machine and storage.
    Result,
    /// When the points of a phase's series are.
    Intervals,
    /// Latencies of a phase, in HdrHistogram V2.
    Histogram,
    /// Amounts or latencies by interval.
    Series,
    /// Activity of a device or of the machine by interval.
    Lane,
    /// Latencies over time.
    LatencyMap,
}

impl PartKind {
    /// Returns the kind of stored data in the file; `None` for a result.
    pub(crate) fn blob(self) -> Option<BlobKind> {
        match self {
            PartKind::Result => None,
            PartKind::Intervals => Some(BlobKind::Intervals),
            PartKind::Histogram => Some(BlobKind::Histogram),
            PartKind::Series => Some(BlobKind::Series),
            PartKind::Lane => Some(BlobKind::Lane),
            PartKind::LatencyMap => Some(BlobKind::LatencyMap),
        }
    }

    /// Returns the kind of file for stored data.
    pub(crate) fn from_blob(blob: BlobKind) -> PartKind {
        match blob {
            BlobKind::Intervals => PartKind::Intervals,
            BlobKind::Histogram => PartKind::Histogram,
            BlobKind::Series => PartKind::Series,
            BlobKind::Lane => PartKind::Lane,
            BlobKind::LatencyMap => PartKind::LatencyMap,
        }
    }
}

impl Manifest {
    /// Parses a manifest that anybody may have written.
    pub(crate) fn read(bytes: &[u8]) -> Result<Manifest, BundleError> {
        let unreadable = |error: &dyn std::fmt::Display| BundleError::Manifest(error.to_string());
        let manifest: Manifest = plumb_document::json::from_slice(bytes).map_err(|error| unreadable(&error))?;
        if manifest.schema != BUNDLE_SCHEMA {
            let found: String = manifest.schema.chars().take(40).collect();
            return Err(unreadable(&format!("its schema is {found:?}, and this Plumb reads {BUNDLE_SCHEMA}")));
        }
        let mut names = BTreeSet::from([MANIFEST_FILE, SIGNATURE_FILE]);
        let mut runs = BTreeSet::new();
        let mut run = None;
        for part in &manifest.parts {
            if !archive::is_allowed(&part.file) {
                return Err(BundleError::Name(part.file.chars().take(80).collect()));
            }
            if !names.insert(&part.file) {
                return Err(BundleError::Twice(part.file.clone()));
            }
            // The files of a run follow its result, so that none is left unchecked.
            match part.kind {
                PartKind::Result if !runs.insert(&part.run) => return Err(BundleError::Twice(part.run.clone())),
                PartKind::Result => run = Some(&part.run),
                _ if run == Some(&part.run) && part.phase.is_some() => {}
                _ => return Err(unreadable(&format!("{} belongs to no result and phase before it", part.file))),
            }
        }
        match runs.is_empty() {
            true => Err(unreadable(&"it lists no result")),
            false => Ok(manifest),
        }
    }

    /// Returns the ids of the runs, in the order of their results.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter(|part| part.kind == PartKind::Result).map(|part| part.run.as_str())
    }
}
