//! Certificates that sign themselves. They say nothing about whom they belong to; their fingerprints do.

use crate::text::{Hex, bytes_of};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// A new private key, and the certificate that it signed for itself.
pub(crate) struct Made {
    /// PKCS #8, DER.
    pub key: Zeroizing<Vec<u8>>,
    /// X.509, DER.
    pub certificate: CertificateDer<'static>,
}

/// Makes a key (Ed25519) and its certificate, which never ends.
///
/// # Errors
/// The system has no random numbers.
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

/// SHA-256 of a certificate: what the other end is known by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a certificate.
    pub fn of(certificate: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate).into())
    }

    /// As it is printed here, or as `openssl x509 -fingerprint -sha256` prints it.
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
    fn a_fingerprint_is_read_in_both_spellings() {
        let print = Fingerprint::of(b"");
        let plain = print.to_string();
        let upper = plain.trim_start_matches("sha256:").to_uppercase();
        let pairs: Vec<&str> = (0..32).map(|at| &upper[2 * at..2 * at + 2]).collect();
        for text in [plain, pairs.join(":")] {
            assert_eq!(Fingerprint::read(&text), Some(print), "{text}");
        }
        assert_eq!(Fingerprint::read("sha256:41"), None);
    }
}
