//! RSA keys in OpenSSL's formats. All cryptography is that of the crate `rsa`.

use super::Padding;
use rsa::pkcs1::{DecodeRsaPrivateKey as _, DecodeRsaPublicKey as _};
use rsa::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use rsa::traits::PublicKeyParts as _;
use sha1::Sha1;
use zeroize::Zeroizing;

/// Error from reading a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyWrong {
    /// The file has no PEM block of this kind.
    #[error("no PEM block of {0}")]
    NotPem(&'static str),
    /// The key is encrypted with a passphrase.
    #[error("it is encrypted; `openssl pkey -in FILE -out NEW` removes the passphrase")]
    Encrypted,
    /// The PEM block is not an RSA key, or is malformed.
    #[error("not an RSA key, or a malformed one")]
    Malformed,
    /// The size is out of range.
    #[error("RSA keys have 1024 to 8192 bits")]
    Bits,
}

/// A server's public key, for clients.
#[derive(Debug, Clone)]
pub struct PublicKey(rsa::PublicKey);

/// A server's private key. The crate zeroes it on drop.
pub struct PrivateKey {
    key: rsa::PrivateKey,
    /// The public modulus, without leading zeros. Every encrypted block has its length and is smaller.
    modulus: Vec<u8>,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey")
    }
}

/// Allowed key sizes, bits. Source: `rsa::PublicKey::{MIN_SIZE, MAX_SIZE}`.
const BITS: std::ops::RangeInclusive<u32> = 1024..=8192;

impl PublicKey {
    /// Parses `-----BEGIN PUBLIC KEY-----` or `RSA PUBLIC KEY`.
    ///
    /// # Errors
    /// The text contains no such key.
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
    /// Parses `-----BEGIN PRIVATE KEY-----` or `RSA PRIVATE KEY`.
    ///
    /// # Errors
    /// The text contains no such key.
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

    /// Decrypts a block. For bytes that cannot be a block of this key, decrypts another block, so that the time is
    /// the same, and returns `None`.
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

/// Finds a PEM block with its first and last line. Files may contain other text around it.
fn block<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let start = text.find(&format!("-----BEGIN {label}-----"))?;
    let last = format!("-----END {label}-----");
    let end = text[start..].find(&last)? + last.len();
    Some(&text[start..][..end])
}
