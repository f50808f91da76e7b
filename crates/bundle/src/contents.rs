//! A bundle that was opened and not yet checked.

use crate::archive;
use crate::manifest::{MANIFEST_FILE, Manifest, Part, SIGNATURE_FILE};
use crate::{BundleError, PartKind};

/// The files of a bundle. Nothing of it is known to be true: [`crate::verify`] checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents<'a> {
    pub manifest: Manifest,
    pub(crate) manifest_bytes: &'a [u8],
    pub(crate) signature: &'a [u8],
    /// Content of each file, in the order of the manifest.
    pub(crate) files: Vec<&'a [u8]>,
}

/// The files of one run.
pub(crate) struct RunFiles<'a> {
    pub id: &'a str,
    pub result: &'a [u8],
    pub blobs: Vec<(&'a Part, &'a [u8])>,
}

impl<'a> Contents<'a> {
    /// Opens a bundle. Each file must be the next one that the manifest lists.
    ///
    /// # Errors
    /// [`BundleError`], if the bytes are not a bundle. Wrong hashes and signatures are left to [`crate::verify`].
    pub fn read(bytes: &'a [u8]) -> Result<Contents<'a>, BundleError> {
        if bytes.len() as u64 > crate::BUNDLE_BYTES_MAX {
            return Err(BundleError::TooLarge { bytes: bytes.len() as u64 });
        }
        let mut files = archive::read(bytes)?.into_iter();
        let mut next = |expected: &str| match files.next() {
            Some(file) if file.name == expected => Ok(file.bytes),
            Some(file) => Err(BundleError::Unexpected { found: file.name.to_owned(), expected: expected.to_owned() }),
            None => Err(BundleError::Unexpected { found: String::new(), expected: expected.to_owned() }),
        };
        let manifest_bytes = next(MANIFEST_FILE)?;
        let signature = next(SIGNATURE_FILE)?;
        let manifest = Manifest::read(manifest_bytes)?;
        let contents = manifest.parts.iter().map(|part| next(&part.file)).collect::<Result<Vec<_>, _>>()?;
        if let Some(file) = files.next() {
            return Err(BundleError::Unexpected { found: file.name.to_owned(), expected: String::new() });
        }
        Ok(Contents { manifest, manifest_bytes, signature, files: contents })
    }

    /// Returns the files with their entries in the manifest.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, &'a [u8])> {
        self.manifest.parts.iter().zip(self.files.iter().copied())
    }

    /// Returns the files of each run.
    pub(crate) fn runs(&self) -> Vec<RunFiles<'_>> {
        let mut runs: Vec<RunFiles<'_>> = Vec::new();
        for (part, bytes) in self.parts() {
            match (part.kind, runs.last_mut()) {
                (PartKind::Result, _) => runs.push(RunFiles { id: &part.run, result: bytes, blobs: Vec::new() }),
                (_, Some(run)) => run.blobs.push((part, bytes)),
                (_, None) => {}
            }
        }
        runs
    }

    /// Returns the results as JSON, in the order of the manifest.
    pub fn results(&self) -> impl Iterator<Item = &'a [u8]> {
        self.parts().filter(|(part, _)| part.kind == PartKind::Result).map(|(_, bytes)| bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ArchivedFile;

    const PART: &str = r#"{"file":"runs/1/result.json","bytes":1,"sha256":"","run":"a","kind":"result"}"#;

    /// Returns a bundle with these parts in its manifest, and these files after the signature.
    fn bundle(parts: &[&str], files: &[&str]) -> Vec<u8> {
        let head = r#"{"schema":"plumb.bundle/1","program":{"version":"0"},"signer":"","anonymised":false"#;
        let manifest = format!("{head},\"parts\":[{}]}}", parts.join(","));
        let first = [(MANIFEST_FILE, manifest.as_bytes()), (SIGNATURE_FILE, &b"x"[..])];
        let files = first.into_iter().chain(files.iter().map(|name| (*name, &b"x"[..])));
        archive::write(files.map(|(name, bytes)| ArchivedFile { name, bytes })).unwrap()
    }

    fn refusal(parts: &[&str], files: &[&str]) -> BundleError {
        Contents::read(&bundle(parts, files)).unwrap_err()
    }

    // Protects readers from files that the manifest does not list, or lists twice: a tool that unpacks the bundle would see other
    // content than was checked.
    #[test]
    fn the_archive_has_exactly_the_files_of_the_manifest() {
        const RESULT: &str = "runs/1/result.json";
        assert!(Contents::read(&bundle(&[PART], &[RESULT])).is_ok());
        let unexpected = |found: &str, expected: &str| BundleError::Unexpected {
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        assert_eq!(refusal(&[PART], &[]), unexpected("", RESULT));
        assert_eq!(refusal(&[PART], &[RESULT, RESULT]), unexpected(RESULT, ""));
        assert_eq!(refusal(&[PART], &["more", RESULT]), unexpected("more", RESULT));
        assert_eq!(refusal(&[PART], &[RESULT, "manifest.json"]), unexpected("manifest.json", ""));
        let other = PART.replace("\"a\"", "\"b\"");
        assert_eq!(refusal(&[PART, &other], &[RESULT, RESULT]), BundleError::Twice(RESULT.to_owned()));
        let named = |name: &str| PART.replace(RESULT, name);
        assert_eq!(refusal(&[&named("../x")], &[RESULT]), BundleError::Name("../x".to_owned()));
        assert_eq!(refusal(&[&named("manifest.json")], &[]), BundleError::Twice("manifest.json".to_owned()));
        let again = named("runs/2/result.json");
        assert_eq!(refusal(&[PART, &again], &[RESULT, "runs/2/result.json"]), BundleError::Twice("a".to_owned()));
    }

    #[test]
    fn malformed_manifests_are_refused() {
        let series = |run: &str, phase: &str| {
            format!(r#"{{"file":"s","bytes":1,"sha256":"","run":"{run}","kind":"series"{phase}}}"#)
        };
        let valid = series("a", r#","phase":1"#);
        assert!(Contents::read(&bundle(&[PART, &valid], &["runs/1/result.json", "s"])).is_ok());
        let (foreign, without_phase) = (series("b", r#","phase":1"#), series("a", ""));
        let malformed: [&[&str]; 5] = [&[], &[&valid], &[PART, &foreign], &[PART, &without_phase], &["NaN"]];
        for parts in malformed {
            let error = refusal(parts, &["s"]);
            assert!(matches!(error, BundleError::Manifest(_)), "{parts:?}: {error}");
        }
    }
}
