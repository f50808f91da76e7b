//! Ed25519 keys in minisign's formats. ring does the arithmetic. Source: <https://jedisct1.github.io/minisign/#format>.

use crate::{KeyError, hex};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::Sha256;
use std::fmt;
use zeroize::Zeroizing;

/// Mark of Ed25519 in keys.
const ALGORITHM: [u8; 2] = *b"Ed";
/// Mark of BLAKE2b, the checksum of private keys.
const CHECKSUM: [u8; 2] = *b"B2";
/// Mark of a private key without a password.
const NO_PASSWORD: [u8; 2] = [0, 0];
/// Salt and limits of the password's hash; all zero without a password.
const PASSWORD_BYTES: usize = 32 + 8 + 8;
/// Bytes of a private key: marks, password, id, seed, public key, checksum.
const PRIVATE_BYTES: usize = 2 + 2 + 2 + PASSWORD_BYTES + 8 + 64 + 32;

/// Number that connects a signature with its key. It is random and proves nothing.
pub(crate) type KeyId = [u8; 8];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    pub(crate) id: KeyId,
    pub(crate) bytes: [u8; 32],
}

/// SHA-256 of a public key without its id. Two keys with one fingerprint are the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// A private key with its public key.
pub struct SigningKey {
    public: PublicKey,
    seed: Zeroizing<[u8; 32]>,
    pair: Ed25519KeyPair,
}

/// A public key and the name of its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedKey {
    pub key: PublicKey,
    /// Name of the owner; empty if unknown.
    pub name: String,
}

impl PublicKey {
    /// Parses a public key as minisign and `plumb key --show` print it, without its comment.
    ///
    /// # Errors
    /// [`KeyError::Public`].
    pub fn parse(text: &str) -> Result<PublicKey, KeyError> {
        let bytes: [u8; 42] = decoded(text).ok_or(KeyError::Public)?;
        if bytes[..2] != ALGORITHM {
            return Err(KeyError::Public);
        }
        let (mut id, mut key) = (KeyId::default(), [0; 32]);
        id.copy_from_slice(&bytes[2..10]);
        key.copy_from_slice(&bytes[10..]);
        Ok(PublicKey { id, bytes: key })
    }

    /// Returns what identifies the key.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(Sha256::digest(self.bytes).into())
    }

    /// Returns the key as a file that minisign reads.
    pub fn file(&self) -> String {
        format!("untrusted comment: public key of Plumb, {}\n{self}\n", self.fingerprint())
    }

    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.bytes).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode([&ALGORITHM[..], &self.id, &self.bytes].concat()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl SigningKey {
    /// Makes a new key from the kernel's random numbers.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn generate() -> Result<SigningKey, KeyError> {
        let random = |into: &mut [u8]| getrandom::fill(into).map_err(|error| KeyError::Random(error.to_string()));
        let mut seed = Zeroizing::new([0; 32]);
        let mut id = KeyId::default();
        random(&mut *seed)?;
        random(&mut id)?;
        SigningKey::from_seed(id, seed)
    }

    fn from_seed(id: KeyId, seed: Zeroizing<[u8; 32]>) -> Result<SigningKey, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(|_| KeyError::Private)?;
        let bytes = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Private)?;
        Ok(SigningKey { public: PublicKey { id, bytes }, seed, pair })
    }

    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Returns the key as a private file without a password, which minisign reads, too.
    pub fn file(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(PRIVATE_BYTES));
        bytes.extend_from_slice(&ALGORITHM);
        bytes.extend_from_slice(&NO_PASSWORD);
        bytes.extend_from_slice(&CHECKSUM);
        bytes.extend_from_slice(&[0; PASSWORD_BYTES]);
        bytes.extend_from_slice(&self.public.id);
        bytes.extend_from_slice(&*self.seed);
        bytes.extend_from_slice(&self.public.bytes);
        let sum = checksum(&bytes[6 + PASSWORD_BYTES..]);
        bytes.extend_from_slice(&sum);
        let encoded = Zeroizing::new(BASE64.encode(&*bytes));
        Zeroizing::new(format!("untrusted comment: private key of Plumb: keep it secret\n{}\n", *encoded))
    }

    /// Parses a private file of Plumb's or minisign's.
    ///
    /// # Errors
    /// [`KeyError::Password`] or [`KeyError::Private`].
    pub fn parse(text: &str) -> Result<SigningKey, KeyError> {
        let line = text.lines().nth(1).ok_or(KeyError::Private)?;
        let bytes: Zeroizing<[u8; PRIVATE_BYTES]> = Zeroizing::new(decoded(line).ok_or(KeyError::Private)?);
        let (marks, rest) = bytes.split_at(6);
        if marks[..2] != ALGORITHM || marks[4..] != CHECKSUM {
            return Err(KeyError::Private);
        }
        if marks[2..4] != NO_PASSWORD {
            return Err(KeyError::Password);
        }
        let (key, sum) = rest[PASSWORD_BYTES..].split_at(8 + 64);
        if checksum(key) != *sum {
            return Err(KeyError::Private);
        }
        let (mut id, mut seed) = (KeyId::default(), Zeroizing::new([0; 32]));
        id.copy_from_slice(&key[..8]);
        seed.copy_from_slice(&key[8..40]);
        let signing = SigningKey::from_seed(id, seed)?;
        if signing.public.bytes == key[40..] { Ok(signing) } else { Err(KeyError::Private) }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(message).as_ref());
        signature
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public.fingerprint())
    }
}

/// Returns the checksum of a private key: id, seed and public key.
fn checksum(key: &[u8]) -> [u8; 32] {
    Blake2b::<U32>::new().chain_update(ALGORITHM).chain_update(key).finalize().into()
}

/// Decodes a line of base64 that holds exactly `N` bytes.
pub(crate) fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    // The text may be a private key.
    let bytes = Zeroizing::new(BASE64.decode(text.trim_end()).ok()?);
    bytes.as_slice().try_into().ok()
}

/// Parses keys with the names of their owners, one a line: `RWQ… Alice`. Also reads minisign's files of one key. Empty lines and
/// those that begin with `#` are comments.
///
/// # Errors
/// [`KeyError::Line`].
pub fn trusted_keys(text: &str) -> Result<Vec<NamedKey>, KeyError> {
    let mut keys = Vec::new();
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') || line.starts_with("untrusted comment:") {
            continue;
        }
        let (key, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let key = PublicKey::parse(key).map_err(|_| KeyError::Line { line: index + 1 })?;
        keys.push(NamedKey { key, name: name.trim().to_owned() });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_files() {
        let key = SigningKey::generate().unwrap();
        let again = SigningKey::parse(&key.file()).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(again.sign(b"x"), key.sign(b"x"));
        let public = key.public();
        assert_eq!(PublicKey::parse(&public.to_string()), Ok(public));
        assert!(public.to_string().starts_with("RW") && public.to_string().len() == 56);
        let named = trusted_keys(&format!("# mine\n\n{public}  Alice B.\n")).unwrap();
        assert_eq!((named[0].key, named[0].name.as_str()), (public, "Alice B."));
        assert_eq!(trusted_keys(&public.file()).unwrap()[0].key, public);
    }

    // Protects the meaning of "known": the fingerprint is of the key alone, so that copying a key id gains nothing.
    #[test]
    fn the_fingerprint_does_not_depend_on_the_key_id() {
        let public = SigningKey::generate().unwrap().public();
        let renamed = PublicKey { id: [7; 8], ..public };
        assert_ne!(renamed, public);
        assert_eq!(renamed.fingerprint(), public.fingerprint());
    }

    #[test]
    fn malformed_keys_are_refused() {
        let key = SigningKey::generate().unwrap();
        let public = key.public().to_string();
        for text in ["", "RW", &public[1..], &format!("{public}AAAA"), &format!("XX{}", &public[2..]), "RWé"] {
            assert_eq!(PublicKey::parse(text), Err(KeyError::Public), "{text}");
        }
        assert_eq!(trusted_keys(&format!("{public}\nnot a key\n")), Err(KeyError::Line { line: 2 }));
        let file = key.file();
        let line = file.lines().nth(1).unwrap();
        let changed = |at: usize, to: u8| {
            let mut bytes = BASE64.decode(line).unwrap();
            bytes[at] = to;
            format!("comment\n{}\n", BASE64.encode(bytes))
        };
        let refused = |text: &str| SigningKey::parse(text).unwrap_err();
        assert_eq!(refused(&changed(2, b'S')), KeyError::Password);
        for text in
            [String::new(), "comment".to_owned(), changed(0, b'X'), changed(60, 1), changed(157, 1), line.to_owned()]
        {
            assert_eq!(refused(&text), KeyError::Private, "{text}");
        }
    }
}
