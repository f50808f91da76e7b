//! Bundles: stored runs in one signed file, which can be checked offline.
//!
//! A bundle is a tar archive. Its first file is the [`Manifest`], which has the SHA-256 of every other file; the second is the
//! manifest's signature in the format of minisign, so that other programs can check both. [`Contents::read`] opens a bundle
//! without trusting it, and [`verify`] checks it: hashes, signature, and what Plumb can recompute of the results.
//! `docs/bundle.md` describes the format.

mod archive;
mod contents;
mod error;
mod hdr;
mod key;
mod make;
mod manifest;
mod recompute;
mod signature;
mod verify;

pub use contents::Contents;
pub use error::{BundleError, KeyError};
pub use key::{Fingerprint, NamedKey, PublicKey, SigningKey, trusted_keys};
pub use make::{Origin, make};
pub use manifest::{BUNDLE_SCHEMA, Manifest, Part, PartKind, Program};
pub use verify::{Check, Outcome, Question, Signer, VERIFY_SCHEMA, Verification, VerifiedRun, verify};

use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// Largest bundle that is made or read, in bytes. A run of an hour takes less than 1 MiB.
pub const BUNDLE_BYTES_MAX: u64 = 256 << 20;

/// Returns the SHA-256 of a stream, in hexadecimal digits.
///
/// # Errors
/// The stream's.
pub fn sha256_of(mut stream: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
