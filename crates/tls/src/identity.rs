//! Keys and tokens, and the files that store them.

use crate::certificate::{self, Fingerprint, Made};
use crate::random;
use crate::text::{Hex, all_bytes_of, bytes_of};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, crypto::ring, version::TLS13};
use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Maximum size of a key file, in bytes.
const FILE_BYTES_MAX: u64 = 4096;

/// A server's key and certificate, and the token that its clients know.
pub struct Identity {
    /// Private key in PKCS #8, DER-encoded.
    key: Zeroizing<Vec<u8>>,
    certificate: CertificateDer<'static>,
    fingerprint: Fingerprint,
    pub(crate) token: Zeroizing<[u8; 32]>,
    pub(crate) config: Arc<ServerConfig>,
}

/// A client's knowledge of a server: fingerprint and token.
#[derive(Clone, PartialEq, Eq)]
pub struct Trust {
    /// Fingerprint of the server's certificate.
    pub fingerprint: Fingerprint,
    pub(crate) token: Zeroizing<[u8; 32]>,
}

/// Error from creating, saving or loading keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// The file exists already and is not overwritten.
    #[error("{} exists already; remove it to make new keys, which invalidates the old ones", path.display())]
    Exists { path: PathBuf },
    /// Other users may read the file.
    #[error("{} may be read by others; run `chmod 600 {}`", path.display(), path.display())]
    Open { path: PathBuf },
    /// An entry of the file is missing or malformed.
    #[error("{}: `{key} = …` is missing or malformed: {expected}", path.display())]
    Malformed {
        path: PathBuf,
        /// Name of the missing or malformed entry.
        key: &'static str,
        /// Description of a valid value.
        expected: &'static str,
    },
    /// The system has no random numbers, or rustls rejects the new key.
    #[error("cannot make keys: {0}")]
    Make(String),
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trust({})", self.fingerprint)
    }
}

impl Identity {
    /// Generates a new key and a new token.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub fn make() -> Result<Identity, KeyError> {
        let mut token = Zeroizing::new([0; 32]);
        random(&mut *token).map_err(|error| KeyError::Make(error.to_string()))?;
        let made = certificate::make().map_err(|error| KeyError::Make(error.to_string()))?;
        Identity::new(made, token).map_err(|error| KeyError::Make(error.to_string()))
    }

    fn new(made: Made, token: Zeroizing<[u8; 32]>) -> Result<Identity, rustls::Error> {
        let Made { key, certificate } = made;
        let fingerprint = Fingerprint::from_certificate(&certificate);
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
        // Borrowing the key leaves no second copy of the file's bytes in freed memory. ring keeps its own copy of the
        // key and does not overwrite it.
        let signs = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(key.as_slice()))?;
        let certified = CertifiedKey::new(vec![certificate.clone()], signs);
        certified.keys_match()?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        // Disable session resumption: each connection does a full handshake.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Identity { key, certificate, fingerprint, token, config: Arc::new(config) })
    }

    /// Returns the fingerprint and the token that clients need.
    pub fn trust(&self) -> Trust {
        Trust { fingerprint: self.fingerprint, token: self.token.clone() }
    }

    /// Writes the identity to a new file that only this user can read.
    ///
    /// # Errors
    /// Returns an error if the file exists or cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        let (key, certificate, token) = (Hex(&self.key), Hex(&self.certificate), Hex(&*self.token));
        let about = "# Private: the key (PKCS #8), the certificate (X.509) and the token of a server of Plumb.";
        write_secret(path, format_args!("{about}\nkey = {key}\ncertificate = {certificate}\ntoken = {token}\n"))
    }

    /// Reads a file that [`Identity::save`] wrote.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is readable by other users, or is malformed.
    pub fn load(path: &Path) -> Result<Identity, KeyError> {
        const OLD: &str =
            "hexadecimal digits of a certificate. Earlier versions wrote none: remove the file and make new keys";
        const PAIR: &str = "hexadecimal digits of a private key (PKCS #8) that belongs to the certificate";
        let secret = Secret::read(path)?;
        let certificate = secret.value("certificate").and_then(all_bytes_of);
        let certificate = certificate.ok_or_else(|| secret.malformed("certificate", OLD))?;
        let key = secret.value("key").and_then(all_bytes_of).ok_or_else(|| secret.malformed("key", PAIR))?;
        let made = Made { key, certificate: CertificateDer::from(certificate.to_vec()) };
        let token = secret.bytes("token")?;
        Identity::new(made, token).map_err(|_| secret.malformed("key", PAIR))
    }
}

impl Trust {
    /// Writes the fingerprint and the token to a new file that only this user can read.
    ///
    /// # Errors
    /// Returns an error if the file exists or cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        let (fingerprint, token) = (self.fingerprint, Hex(&*self.token));
        let about = "# Private: what a client of Plumb knows its server by, and the token.";
        write_secret(path, format_args!("{about}\nfingerprint = {fingerprint}\ntoken = {token}\n"))
    }

    /// Reads a file that [`Trust::save`] wrote.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is readable by other users, or is malformed.
    pub fn load(path: &Path) -> Result<Trust, KeyError> {
        let secret = Secret::read(path)?;
        let expected = "the SHA-256 of a certificate, such as sha256:41ab…, 64 digits";
        let fingerprint = secret.value("fingerprint").and_then(Fingerprint::read);
        let fingerprint = fingerprint.ok_or_else(|| secret.malformed("fingerprint", expected))?;
        Ok(Trust { fingerprint, token: secret.bytes("token")? })
    }
}

#[expect(clippy::disallowed_methods, reason = "makes a new file (O_EXCL); this crate depends on no other")]
pub(crate) fn write_secret(path: &Path, words: fmt::Arguments<'_>) -> Result<(), KeyError> {
    // Allocated at full size: a reallocation would leave a part of the key in freed memory.
    let mut text = Zeroizing::new(String::with_capacity(FILE_BYTES_MAX as usize));
    let _ = text.write_fmt(words);
    let of = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_owned() },
        _ => KeyError::File { path: path.to_owned(), error },
    };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(of)?;
    file.write_all(text.as_bytes()).map_err(of)
}

/// The contents of a key file.
pub(crate) struct Secret<'a> {
    path: &'a Path,
    text: Zeroizing<String>,
}

impl Secret<'_> {
    pub(crate) fn read(path: &Path) -> Result<Secret<'_>, KeyError> {
        let of = |error| KeyError::File { path: path.to_owned(), error };
        let file = File::open(path).map_err(of)?;
        if file.metadata().map_err(of)?.permissions().mode() & 0o077 != 0 {
            return Err(KeyError::Open { path: path.to_owned() });
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize + 1));
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(of)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| of(io::ErrorKind::InvalidData.into()))?;
        Ok(Secret { path, text: Zeroizing::new(text.to_owned()) })
    }

    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        let mut lines = self.text.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    }

    fn bytes(&self, key: &'static str) -> Result<Zeroizing<[u8; 32]>, KeyError> {
        self.value(key).and_then(bytes_of).ok_or_else(|| self.malformed(key, "64 hexadecimal digits"))
    }

    pub(crate) fn malformed(&self, key: &'static str, expected: &'static str) -> KeyError {
        KeyError::Malformed { path: self.path.to_owned(), key, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_files_load_again_and_only_their_owner_may_read_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let [server, client] = ["server", "client"].map(|name| dir.path().join(name));
        let identity = Identity::make().expect("keys");
        identity.save(&server).expect("saved");
        identity.trust().save(&client).expect("saved");
        for path in [&server, &client] {
            let mode = path.metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        let read = Identity::load(&server).expect("read");
        let trust = Trust::load(&client).expect("read");
        assert!(read.trust() == identity.trust() && trust == identity.trust());
        assert!(matches!(identity.save(&server), Err(KeyError::Exists { .. })));
        std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o640)).expect("changed");
        assert!(matches!(Trust::load(&client), Err(KeyError::Open { .. })));
    }

    // Protects keys in freed memory: every holder overwrites its key when it is dropped. Earlier, none did.
    #[test]
    fn keys_are_overwritten_when_they_are_dropped() {
        fn key(_: &impl zeroize::ZeroizeOnDrop) {}
        let Identity { key: private, token, .. } = &Identity::make().expect("keys");
        key(private);
        key(token);
        key(&bytes_of(&"ab".repeat(32)).expect("digits"));
        let made = Identity::make().expect("keys");
        key(&made.trust().token);
        assert!(*private != made.key, "they are random");
    }

    // Protects users of key files from before certificates were stored: the error explains how to fix them.
    #[test]
    fn a_file_without_a_certificate_or_with_another_key_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("keys");
        let [one, other] = [Identity::make(), Identity::make()].map(|made| made.expect("keys"));
        let digits = "ab".repeat(32);
        let [key, certificate] = [Hex(&other.key).to_string(), Hex(&one.certificate).to_string()];
        for (text, wrong) in [
            (format!("key = {digits}\ntoken = {digits}\n"), "certificate"),
            (format!("key = {key}\ncertificate = {certificate}\ntoken = {digits}\n"), "key"),
            (format!("key = {digits}\ncertificate = {certificate}\ntoken = {digits}\n"), "key"),
            (format!("key = {key}\ncertificate = {}\ntoken = {digits}\n", &certificate[3..]), "certificate"),
            (format!("key = {key}\ncertificate = {digits}\ntoken = {digits}\n"), "key"),
        ] {
            let _ = std::fs::remove_file(&path);
            write_secret(&path, format_args!("{text}")).expect("written");
            let error = Identity::load(&path).expect_err("refused");
            assert!(matches!(error, KeyError::Malformed { key, .. } if key == wrong), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_error_names_a_malformed_file_and_its_entry() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("keys");
        let digits = "ab".repeat(32);
        let cases = [
            (String::new(), "fingerprint"),
            (format!("fingerprint = sha256:{digits}\n"), "token"),
            (format!("fingerprint = {digits}\ntoken = {}\n", &digits[2..]), "token"),
            (format!("fingerprint = {digits}\ntoken = +{}\n", &digits[1..]), "token"),
            (format!("fingerprint = sha1:{digits}\ntoken = {digits}\n"), "fingerprint"),
        ];
        for (text, wrong) in cases {
            let _ = std::fs::remove_file(&path);
            write_secret(&path, format_args!("{text}")).expect("written");
            let error = Trust::load(&path).expect_err("malformed");
            assert!(matches!(error, KeyError::Malformed { key, .. } if key == wrong), "{text:?}: {error}");
        }
    }
}
