//! Self-signed certificates. A certificate does not identify its owner; its fingerprint does.

use crate::text::{Hex, bytes_of};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// A new private key and its self-signed certificate.
pub(crate) struct Made {
    /// Private key in PKCS #8, DER-encoded.
    pub key: Zeroizing<Vec<u8>>,
    /// Certificate in X.509, DER-encoded.
    pub certificate: CertificateDer<'static>,
}

/// Generates an Ed25519 key and its certificate, which does not expire.
///
/// # Errors
/// Returns an error if the system has no random numbers.
pub(crate) fn make() -> Result<Made, rcgen::Error> {
    let mut keys = KeyPair::generate_for(&PKCS_ED25519)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "plumb");
    let certificate = params.self_signed(&keys)?.der().clone();
    let key = Zeroizing::new(keys.serialize_der());
    keys.zeroize();
    Ok(Made { key, certificate })
}

/// SHA-256 of a certificate. Identifies the peer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a DER-encoded certificate.
    pub fn from_certificate(certificate: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate).into())
    }

    /// Parses the form that this type's `Display` prints, or the one that `openssl x509 -fingerprint -sha256` prints.
    pub fn read(text: &str) -> Option<Fingerprint> {
        let digits: String = text.strip_prefix("sha256:").unwrap_or(text).chars().filter(|&c| c != ':').collect();
        bytes_of(&digits).map(|bytes| Fingerprint(*bytes))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", Hex(&self.0))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_fingerprint_parse() {
        let print = Fingerprint::from_certificate(b"");
        let plain = print.to_string();
        let upper = plain.trim_start_matches("sha256:").to_uppercase();
        let pairs: Vec<&str> = (0..32).map(|at| &upper[2 * at..2 * at + 2]).collect();
        for text in [plain, pairs.join(":")] {
            assert_eq!(Fingerprint::read(&text), Some(print), "{text}");
        }
        assert_eq!(Fingerprint::read("sha256:41"), None);
    }
}
