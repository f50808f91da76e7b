//! A certificate that signs itself: bytes around a key. It says nothing about whom it belongs to; its fingerprint does.

use crate::text::{Hex, bytes_of};
use ed25519_compact::KeyPair;
use sha2::{Digest, Sha256};

/// Bytes before the serial number, which is 8 bytes: a certificate of version 3.
const BEFORE_SERIAL: &[u8] = &[0x30, 0x81, 0xd5, 0x30, 0x81, 0x88, 0xa0, 0x03, 0x02, 0x01, 0x02, 0x02, 0x08];

/// Between serial number and key: Ed25519; issuer and subject `CN=plumb`; valid from 2000 for ever (RFC 5280, 4.1.2.5); the kind
/// of the key.
const BEFORE_KEY: &[u8] = b"\x30\x05\x06\x03\x2b\x65\x70\
    \x30\x10\x31\x0e\x30\x0c\x06\x03\x55\x04\x03\x0c\x05plumb\
    \x30\x20\x17\x0d000101000000Z\x18\x0f99991231235959Z\
    \x30\x10\x31\x0e\x30\x0c\x06\x03\x55\x04\x03\x0c\x05plumb\
    \x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Between what is signed and its signature.
const BEFORE_SIGNATURE: &[u8] = b"\x30\x05\x06\x03\x2b\x65\x70\x03\x41\x00";

/// Bytes of the outermost header: what is signed begins behind it.
const HEADER_BYTES: usize = 3;

/// The certificate of a key. The same key always has the same one.
pub fn certificate(keys: &KeyPair) -> Vec<u8> {
    let mut serial = [0; 8];
    serial.copy_from_slice(&Sha256::digest(*keys.pk)[..8]);
    // A number above zero that needs all 8 bytes.
    serial[0] = (serial[0] & 0x7f) | 0x40;
    let mut bytes = [BEFORE_SERIAL, &serial, BEFORE_KEY, &*keys.pk].concat();
    let signature = keys.sk.sign(&bytes[HEADER_BYTES..], None);
    bytes.extend_from_slice(BEFORE_SIGNATURE);
    bytes.extend_from_slice(&*signature);
    bytes
}

/// The key of a certificate as they are made here; `None` of any other.
pub fn key_of(certificate: &[u8]) -> Option<[u8; 32]> {
    let rest = certificate.strip_prefix(BEFORE_SERIAL)?.get(8..)?.strip_prefix(BEFORE_KEY)?;
    let (key, rest) = rest.split_first_chunk()?;
    (rest.strip_prefix(BEFORE_SIGNATURE)?.len() == 64).then_some(*key)
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
    use ed25519_compact::Seed;

    #[test]
    fn a_certificate_has_the_lengths_that_it_states_and_holds_its_key() {
        let keys = KeyPair::from_seed(Seed::new([5; 32]));
        let made = certificate(&keys);
        assert_eq!((made.len(), usize::from(made[2]), usize::from(made[5])), (216, 216 - 3, 216 - 3 - 3 - 74));
        assert_eq!(key_of(&made), Some(*keys.pk));
        for cut in 0..made.len() {
            assert_eq!(key_of(&made[..cut]), None, "{cut} bytes");
        }
    }

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
