//! Signatures in minisign's format, of a BLAKE2b hash. Source: <https://jedisct1.github.io/minisign/#format>.

use crate::key::{KeyId, PublicKey, SigningKey, decoded};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use blake2::{Blake2b512, Digest};

/// Mark of a signature of the message's BLAKE2b hash.
const HASHED: [u8; 2] = *b"ED";
const TRUSTED: &str = "trusted comment: ";

/// A signature with the comment that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    key: KeyId,
    signature: [u8; 64],
    comment: String,
    /// Signature of the signature and the comment.
    global: [u8; 64],
}

impl Signature {
    /// Signs a message. `comment` is one line.
    pub(crate) fn sign(message: &[u8], comment: &str, key: &SigningKey) -> Signature {
        let signature = key.sign(&Blake2b512::digest(message));
        let global = key.sign(&[&signature, comment.as_bytes()].concat());
        Signature { key: key.public().id, signature, comment: comment.to_owned(), global }
    }

    /// Returns the text of a signature file.
    pub(crate) fn text(&self) -> String {
        let signature = BASE64.encode([&HASHED[..], &self.key, &self.signature].concat());
        let global = BASE64.encode(self.global);
        format!("untrusted comment: signature by Plumb\n{signature}\n{TRUSTED}{}\n{global}\n", self.comment)
    }

    /// Parses a signature file; `None` if it is malformed.
    pub(crate) fn parse(text: &str) -> Option<Signature> {
        let mut lines = text.lines();
        lines.next()?;
        let bytes: [u8; 74] = decoded(lines.next()?)?;
        let comment = lines.next()?.strip_prefix(TRUSTED)?.to_owned();
        let global = decoded(lines.next()?)?;
        if bytes[..2] != HASHED || lines.next().is_some() {
            return None;
        }
        Some(Signature { key: bytes[2..10].try_into().ok()?, signature: bytes[10..].try_into().ok()?, comment, global })
    }

    /// Returns `true` if this key signed this message and the comment.
    pub(crate) fn is_of(&self, message: &[u8], key: &PublicKey) -> bool {
        self.key == key.id
            && key.has_signed(&Blake2b512::digest(message), &self.signature)
            && key.has_signed(&[&self.signature, self.comment.as_bytes()].concat(), &self.global)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the promise that others can check a bundle without Plumb: an independent reader accepts the signature.
    #[test]
    fn another_implementation_accepts_it_and_only_it() {
        let key = SigningKey::generate().unwrap();
        let text = Signature::sign(b"message", "about it", &key).text();
        let theirs = minisign_verify::Signature::decode(&text).unwrap();
        assert_eq!(theirs.trusted_comment(), "about it");
        let public = minisign_verify::PublicKey::from_base64(&key.public().to_string()).unwrap();
        assert!(public.verify(b"message", &theirs, false).is_ok());
        assert!(public.verify(b"massage", &theirs, false).is_err());
    }

    #[test]
    fn any_change_breaks_it() {
        let key = SigningKey::generate().unwrap();
        let signature = Signature::sign(b"message", "about it", &key);
        assert_eq!(Signature::parse(&signature.text()), Some(signature.clone()));
        assert!(signature.is_of(b"message", &key.public()));
        assert!(!signature.is_of(b"massage", &key.public()));
        assert!(!signature.is_of(b"message", &SigningKey::generate().unwrap().public()));
        assert!(!Signature { comment: "about them".to_owned(), ..signature.clone() }.is_of(b"message", &key.public()));
        assert!(!Signature { key: [0; 8], ..signature.clone() }.is_of(b"message", &key.public()));
        let text = signature.text();
        for malformed in
            ["", "a\nb\nc\nd\n", &text[..text.len() / 2], &text.replace(TRUSTED, ""), &format!("{text}\nmore")]
        {
            assert_eq!(Signature::parse(malformed), None, "{malformed}");
        }
    }
}
