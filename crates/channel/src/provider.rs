//! What rustls needs of cryptography: one suite (TLS_CHACHA20_POLY1305_SHA256), one group (X25519), one signature (Ed25519).
//! The primitives are other people's; here they only get the names that rustls knows them by.

use crate::random;
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use ed25519_compact::{KeyPair, PublicKey, Signature, x25519};
use hmac::digest::InvalidLength;
use hmac::{Hmac, Mac};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter, Nonce,
    OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm, UnsupportedOperationError,
    make_tls13_aad,
};
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{
    ActiveKeyExchange, CipherSuiteCommon, CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, SharedSecret,
    SupportedKxGroup, WebPkiSupportedAlgorithms, hash, hmac as rustls_hmac,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{
    CipherSuite, ConnectionTrafficSecrets, ContentType, Error, NamedGroup, PeerMisbehaved, ProtocolVersion,
    SignatureAlgorithm, SignatureScheme, SupportedCipherSuite, Tls13CipherSuite,
};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Bytes of a tag behind each record.
const TAG_BYTES: usize = 16;

/// All of it.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![SupportedCipherSuite::Tls13(&SUITE)],
        kx_groups: vec![&X25519],
        // A certificate is compared with the pinned fingerprint; no authority signs it.
        signature_verification_algorithms: WebPkiSupportedAlgorithms { all: &[], mapping: &[] },
        secure_random: &Random,
        key_provider: &NoKeys,
    }
}

static SUITE: Tls13CipherSuite = Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        hash_provider: &Sha,
        // There is no limit below what a sequence number counts. Source: draft-irtf-cfrg-aead-limits-08, 5.2.1.
        confidentiality_limit: u64::MAX,
    },
    hkdf_provider: &HkdfUsingHmac(&Sha),
    aead_alg: &ChaCha,
    quic: None,
};

#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, into: &mut [u8]) -> Result<(), GetRandomFailed> {
        random(into).map_err(|_| GetRandomFailed)
    }
}

/// Keys come from [`crate::Identity`], never from a file of rustls's formats.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("keys of files are not read here".to_owned()))
    }
}

/// SHA-256, and HMAC with it.
struct Sha;

impl hash::Hash for Sha {
    fn start(&self) -> Box<dyn hash::Context> {
        Box::new(Hashing(Sha256::new()))
    }

    fn hash(&self, data: &[u8]) -> hash::Output {
        hash::Output::new(&Sha256::digest(data))
    }

    fn output_len(&self) -> usize {
        32
    }

    fn algorithm(&self) -> hash::HashAlgorithm {
        hash::HashAlgorithm::SHA256
    }
}

struct Hashing(Sha256);

impl hash::Context for Hashing {
    fn fork_finish(&self) -> hash::Output {
        hash::Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn hash::Context> {
        Box::new(Hashing(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> hash::Output {
        hash::Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

/// Returns HMAC-SHA-256 with a key.
///
/// # Errors
/// The crate refuses the key's length. Today it accepts every length, because it hashes long keys.
pub fn keyed(key: &[u8]) -> Result<Hmac<Sha256>, InvalidLength> {
    Hmac::new_from_slice(key)
}

impl rustls_hmac::Hmac for Sha {
    fn with_key(&self, key: &[u8]) -> Box<dyn rustls_hmac::Key> {
        Box::new(Keyed(keyed(key).ok()))
    }

    fn hash_output_len(&self) -> usize {
        32
    }
}

/// `None` for a refused key: rustls takes no error here.
struct Keyed(Option<Hmac<Sha256>>);

impl Keyed {
    /// Returns a random tag, so that the handshake fails.
    fn no_tag() -> rustls_hmac::Tag {
        let mut tag = [0; 32];
        if random(&mut tag).is_err() {
            // Never send a tag that could be guessed.
            std::process::abort();
        }
        rustls_hmac::Tag::new(&tag)
    }
}

impl rustls_hmac::Key for Keyed {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> rustls_hmac::Tag {
        let Some(mut mac) = self.0.clone() else { return Keyed::no_tag() };
        mac.update(first);
        for part in middle {
            mac.update(part);
        }
        mac.update(last);
        rustls_hmac::Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        32
    }
}

struct ChaCha;

impl ChaCha {
    fn state(key: &AeadKey, iv: Iv) -> Box<Sealed> {
        // rustls gives as many bytes as `key_len` says.
        let mut bytes = Zeroizing::new([0; 32]);
        bytes.copy_from_slice(key.as_ref());
        Box::new(Sealed { cipher: ChaCha20Poly1305::new((&*bytes).into()), iv })
    }
}

impl Tls13AeadAlgorithm for ChaCha {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        ChaCha::state(&key, iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        ChaCha::state(&key, iv)
    }

    fn key_len(&self) -> usize {
        32
    }

    fn extract_keys(&self, key: AeadKey, iv: Iv) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv })
    }
}

struct Sealed {
    cipher: ChaCha20Poly1305,
    iv: Iv,
}

impl MessageEncrypter for Sealed {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, number: u64) -> Result<OutboundOpaqueMessage, Error> {
        let whole = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(whole);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        let nonce = Nonce::new(&self.iv, number).0;
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce.into(), &make_tls13_aad(whole), payload.as_mut().into())
            .map_err(|_| Error::EncryptError)?;
        payload.extend_from_slice(&tag);
        // The version that records of TLS 1.3 state. Source: RFC 8446, 5.1.
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + 1 + TAG_BYTES
    }
}

impl MessageDecrypter for Sealed {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let payload = &mut message.payload;
        let length = payload.len().checked_sub(TAG_BYTES).ok_or(Error::DecryptError)?;
        let additional = make_tls13_aad(payload.len());
        let (text, tag) = payload.split_at_mut(length);
        let tag: [u8; TAG_BYTES] = (&*tag).try_into().map_err(|_| Error::DecryptError)?;
        let nonce = Nonce::new(&self.iv, number).0;
        self.cipher
            .decrypt_inout_detached(&nonce.into(), &additional, text.into(), &tag.into())
            .map_err(|_| Error::DecryptError)?;
        payload.truncate(length);
        message.into_tls13_unpadded_message()
    }
}

#[derive(Debug)]
struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        random(&mut *bytes).map_err(|_| Error::FailedToGetRandomBytes)?;
        let secret = x25519::SecretKey::new(*bytes);
        let public = secret.recover_public_key().map_err(|_| Error::FailedToGetRandomBytes)?;
        Ok(Box::new(Exchange { secret, public: *public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    secret: x25519::SecretKey,
    public: [u8; 32],
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let bad = || Error::from(PeerMisbehaved::InvalidKeyShare);
        let peer = x25519::PublicKey::from_slice(peer).map_err(|_| bad())?;
        // Points of small order, whose secret is no secret, are refused.
        let shared = peer.dh(&self.secret).map_err(|_| bad())?;
        Ok(SharedSecret::from(&shared[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// The key of a certificate. Its crate overwrites secret keys when they are dropped.
pub struct Ed25519(pub KeyPair);

impl std::fmt::Debug for Ed25519 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ed25519")
    }
}

impl SigningKey for Ed25519 {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is = offered.contains(&SignatureScheme::ED25519);
        is.then(|| Box::new(Ed25519(self.0.clone())) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Ed25519 {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.0.sk.sign(message, None).to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

/// Whether a key has signed a message.
pub fn has_signed(key: &[u8; 32], message: &[u8], signature: &[u8]) -> Result<HandshakeSignatureValid, Error> {
    let bad = |_| Error::InvalidCertificate(rustls::CertificateError::BadSignature);
    let signature = Signature::from_slice(signature).map_err(bad)?;
    PublicKey::new(*key).verify(message, &signature).map_err(bad)?;
    Ok(HandshakeSignatureValid::assertion())
}
