//! RSA keys as OpenSSL writes them. All of it is the crate `rsa`'s.

use super::Padding;
use rsa::pkcs1::{DecodeRsaPrivateKey as _, DecodeRsaPublicKey as _};
use rsa::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use rsa::traits::PublicKeyParts as _;
use sha1::Sha1;
use zeroize::Zeroizing;

/// Why a file holds no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyWrong {
    /// No PEM of this kind.
    #[error("no PEM block of {0}")]
    NotPem(&'static str),
    /// With a passphrase.
    #[error("it is encrypted; `openssl pkey -in FILE -out NEW` removes the passphrase")]
    Encrypted,
    /// Something else than an RSA key in it.
    #[error("no RSA key, or a malformed one")]
    Malformed,
    /// Out of range.
    #[error("RSA keys have 1024 to 8192 bits")]
    Bits,
}

/// The key of a server, as clients have it.
#[derive(Debug, Clone)]
pub struct PublicKey(rsa::PublicKey);

/// The key of a server. The crate overwrites it when it is dropped.
pub struct PrivateKey {
    key: rsa::PrivateKey,
    /// The public modulus, without leading zeros: as long as every encrypted block, and larger.
    modulus: Vec<u8>,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey")
    }
}

/// Bits of a key. Source: `rsa::PublicKey::{MIN_SIZE, MAX_SIZE}`.
const BITS: std::ops::RangeInclusive<u32> = 1024..=8192;

impl PublicKey {
    /// `-----BEGIN PUBLIC KEY-----`, or `RSA PUBLIC KEY`.
    ///
    /// # Errors
    /// What is no such key.
    pub fn read(text: &str) -> Result<PublicKey, KeyWrong> {
        let key = match (block(text, "RSA PUBLIC KEY"), block(text, "PUBLIC KEY")) {
            (Some(plain), _) => rsa::PublicKey::from_pkcs1_pem(plain).map_err(|_| KeyWrong::Malformed)?,
            (None, Some(wrapped)) => rsa::PublicKey::from_public_key_pem(wrapped).map_err(|_| KeyWrong::Malformed)?,
            (None, None) => return Err(KeyWrong::NotPem("PUBLIC KEY")),
        };
        if BITS.contains(&key.n().bit_width()) { Ok(PublicKey(key)) } else { Err(KeyWrong::Bits) }
    }

    pub(super) fn encrypt(&self, text: &[u8], padding: Padding) -> Option<Vec<u8>> {
        match padding {
            Padding::Oaep => self.0.oaep_encrypt::<Sha1>(text),
            Padding::Pkcs1 => self.0.pkcs1v15_encrypt(text),
        }
        .ok()
    }
}

impl PrivateKey {
    /// `-----BEGIN PRIVATE KEY-----`, or `RSA PRIVATE KEY`.
    ///
    /// # Errors
    /// What is no such key.
    pub fn read(text: &str) -> Result<PrivateKey, KeyWrong> {
        if text.contains("ENCRYPTED") {
            return Err(KeyWrong::Encrypted);
        }
        let key = match (block(text, "RSA PRIVATE KEY"), block(text, "PRIVATE KEY")) {
            (Some(plain), _) => rsa::PrivateKey::from_pkcs1_pem(plain).map_err(|_| KeyWrong::Malformed)?,
            (None, Some(wrapped)) => rsa::PrivateKey::from_pkcs8_pem(wrapped).map_err(|_| KeyWrong::Malformed)?,
            (None, None) => return Err(KeyWrong::NotPem("PRIVATE KEY")),
        };
        if !BITS.contains(&key.n().bit_width()) {
            return Err(KeyWrong::Bits);
        }
        let modulus = key.n_bytes().into_vec();
        Ok(PrivateKey { key, modulus })
    }

    /// Decrypts a block. Bytes that cannot be a block of this key cost the same time, because another block is
    /// decrypted in their place; the result is then `None`.
    pub(super) fn decrypt(&self, bytes: &[u8], padding: Padding) -> Option<Zeroizing<Vec<u8>>> {
        let is_block = bytes.len() == self.modulus.len() && bytes < self.modulus.as_slice();
        let mut other = vec![0; self.modulus.len()];
        if let Some(last) = other.last_mut() {
            *last = 2;
        }
        super::step("decrypt");
        let block = if is_block { bytes } else { &other };
        let text = match padding {
            Padding::Oaep => self.key.oaep_decrypt::<Sha1>(block),
            Padding::Pkcs1 => self.key.pkcs1v15_decrypt(block),
        };
        text.ok().map(Zeroizing::new).filter(|_| is_block)
    }
}

/// Finds a block of PEM with its first and last line: files may hold other text around it.
fn block<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let start = text.find(&format!("-----BEGIN {label}-----"))?;
    let last = format!("-----END {label}-----");
    let end = text[start..].find(&last)? + last.len();
    Some(&text[start..][..end])
}
