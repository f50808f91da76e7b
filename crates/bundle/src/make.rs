//! Bundles of stored runs.

use crate::archive::{self, ArchivedFile};
use crate::manifest::{BUNDLE_SCHEMA, MANIFEST_FILE, Manifest, Part, PartKind, Program, SIGNATURE_FILE};
use crate::signature::Signature;
use crate::{BundleError, SigningKey, sha256};
use plumb_store::StoredRun;

/// Comment that the signature covers. It has no time, so that the same runs give the same bytes.
const COMMENT: &str = "manifest of a bundle of Plumb (plumb.bundle/1)";

/// Facts about a bundle that its runs do not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The program that makes the bundle.
    pub program: Program,
    /// Whether names in the runs were replaced.
    pub anonymised: bool,
}

/// Makes a signed bundle. The same runs, program and key give the same bytes.
///
/// # Errors
/// [`BundleError::TooLarge`] or [`BundleError::Write`].
pub fn make(runs: &[StoredRun], origin: &Origin, key: &SigningKey) -> Result<Vec<u8>, BundleError> {
    let mut parts = Vec::new();
    let mut contents: Vec<&[u8]> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let directory = format!("runs/{}", index + 1);
        let mut add = |file: String, kind, phase, [of, what]: [&str; 2], bytes| {
            parts.push(Part {
                file: format!("{directory}/{file}"),
                bytes: <[u8]>::len(bytes) as u64,
                sha256: sha256(bytes),
                run: run.id.clone(),
                kind,
                phase,
                of: of.to_owned(),
                what: what.to_owned(),
            });
            contents.push(bytes);
        };
        add("result.json".to_owned(), PartKind::Result, None, ["", ""], run.result.as_bytes());
        for (number, blob) in run.blobs.iter().enumerate() {
            // The number keeps names apart that differ in other characters only, such as those of devices.
            let words = [blob.kind.name(), &blob.of, &blob.what].map(plain);
            let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            let ending = if PartKind::from_blob(blob.kind) == PartKind::Histogram { "hdr" } else { "bin" };
            let file = format!("phase-{}/{:03}-{}.{ending}", blob.phase, number + 1, words.join("-"));
            add(file, PartKind::from_blob(blob.kind), Some(blob.phase), [&blob.of, &blob.what], &blob.data);
        }
    }
    let manifest = Manifest {
        schema: BUNDLE_SCHEMA.to_owned(),
        program: origin.program.clone(),
        signer: key.public().to_string(),
        anonymised: origin.anonymised,
        parts,
    };
    let text =
        plumb_document::json::to_string_pretty(&manifest).map_err(|error| BundleError::Write(error.to_string()))?;
    let signature = Signature::sign(text.as_bytes(), COMMENT, key).text();
    let first = [(MANIFEST_FILE, text.as_bytes()), (SIGNATURE_FILE, signature.as_bytes())];
    let parts = manifest.parts.iter().map(|part| part.file.as_str()).zip(contents);
    archive::write(first.into_iter().chain(parts).map(|(name, bytes)| ArchivedFile { name, bytes }))
}

/// Returns a word as a part of a file's name, at most 24 characters of it.
fn plain(word: &str) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '.' => c,
        _ => '-',
    };
    word.chars().take(24).map(letter).collect()
}
