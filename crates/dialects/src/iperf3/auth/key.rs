//! RSA keys as OpenSSL writes them. The arithmetic is the crate `rsa`'s; here are only the envelopes.

use super::Padding;
use base64::prelude::{BASE64_STANDARD, Engine};
use rsa::BoxedUint;
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
        let plain = pem(text, "RSA PUBLIC KEY");
        let wrapped = pem(text, "PUBLIC KEY");
        let parts = match (&plain, &wrapped) {
            (Some(der), _) => Der(der).sequence(),
            // The kind of key, and a string of bits around it, none of which is left over.
            (None, Some(der)) => Der(der).sequence().and_then(|mut outer| {
                outer.rsa()?;
                Der(outer.take(0x03)?.0.strip_prefix(&[0])?).sequence()
            }),
            (None, None) => return Err(KeyWrong::NotPem("PUBLIC KEY")),
        };
        let mut parts = parts.ok_or(KeyWrong::Malformed)?;
        let [modulus, exponent] = parts.numbers().ok_or(KeyWrong::Malformed)?;
        public(modulus, exponent).map(PublicKey)
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
        let plain = pem(text, "RSA PRIVATE KEY");
        let wrapped = pem(text, "PRIVATE KEY");
        let parts = match (&plain, &wrapped) {
            (Some(der), _) => Der(der).sequence(),
            (None, Some(der)) => Der(der).sequence().and_then(|mut outer| {
                let [_version] = outer.numbers()?;
                outer.rsa()?;
                Der(outer.take(0x04)?.0).sequence()
            }),
            (None, None) => return Err(KeyWrong::NotPem("PRIVATE KEY")),
        };
        let mut parts = parts.ok_or(KeyWrong::Malformed)?;
        let [_version, modulus, exponent, private, first, second] = parts.numbers().ok_or(KeyWrong::Malformed)?;
        public(modulus, exponent)?;
        let bits = modulus.len() as u32 * 8;
        // Computing with secrets must not reveal their length.
        let secret = |bytes| BoxedUint::from_be_slice(bytes, bits).map_err(|_| KeyWrong::Malformed);
        let primes = vec![secret(first)?, secret(second)?];
        let exponent = BoxedUint::from_be_slice_vartime(exponent);
        let key = rsa::PrivateKey::from_components(secret(modulus)?, exponent, secret(private)?, primes);
        let key = key.map_err(|_| KeyWrong::Malformed)?;
        Ok(PrivateKey { key, modulus: modulus.to_vec() })
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

fn public(modulus: &[u8], exponent: &[u8]) -> Result<rsa::PublicKey, KeyWrong> {
    if !BITS.contains(&(modulus.len() as u32 * 8)) {
        return Err(KeyWrong::Bits);
    }
    let [modulus, exponent] = [modulus, exponent].map(BoxedUint::from_be_slice_vartime);
    rsa::PublicKey::new(modulus, exponent).map_err(|_| KeyWrong::Malformed)
}

/// Decodes a block of PEM, which may be a secret key.
fn pem(text: &str, label: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    // Never reallocated: a freed smaller buffer would still contain a part of the key.
    let mut digits = Zeroizing::new(String::with_capacity(body.len()));
    digits.extend(body.split_whitespace());
    BASE64_STANDARD.decode(digits.as_bytes()).ok().map(Zeroizing::new)
}

/// Values of DER, one behind the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The contents of the next value, which must be of this kind.
    fn take(&mut self, tag: u8) -> Option<Der<'a>> {
        let rest = self.0.strip_prefix(&[tag])?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Der(value))
    }

    fn sequence(&mut self) -> Option<Der<'a>> {
        self.take(0x30)
    }

    /// The kind of a key: RSA. Source: RFC 8017, A.1.
    fn rsa(&mut self) -> Option<()> {
        let kind = self.sequence()?.take(0x06)?;
        (kind.0 == [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]).then_some(())
    }

    /// Whole numbers, without the zero that says that they are not negative.
    fn numbers<const N: usize>(&mut self) -> Option<[&'a [u8]; N]> {
        let mut all = [&[][..]; N];
        for number in &mut all {
            let bytes = self.take(0x02)?.0;
            *number = bytes.strip_prefix(&[0]).unwrap_or(bytes);
        }
        Some(all)
    }
}
