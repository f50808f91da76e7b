//! A connection: the handshake, the proof of the token, and reads and writes with a deadline.

use crate::certificate::Fingerprint;
use crate::identity::{Identity, Trust};
use crate::{random, same};
use hmac::{Hmac, KeyInit, Mac};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, IpAddr, Ipv4Addr, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error as TlsError,
    ServerConnection, SignatureScheme,
};
use sha2::Sha256;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Time limit for the handshake and the proof of the token.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// First byte that a client sends: the type of a handshake record. Distinguishes TLS from other
/// protocols on the same port.
pub const FIRST_BYTE: u8 = 0x16;

/// Maximum size of a handshake, in bytes. Plumb's certificates have about 300.
const HANDSHAKE_BYTES_MAX: usize = 16 << 10;

/// Length of a nonce and of a proof, in bytes.
const PROOF_BYTES: usize = 32;

/// Label of the exported keying material. Source of the form: RFC 5705, section 4.
const LABEL: &[u8] = b"EXPORTER-plumb-token";

/// Error from establishing a connection.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The server's certificate is not the expected one.
    #[error("its certificate has the fingerprint {found}, not {expected}: its keys changed, or it is another server")]
    Fingerprint {
        /// Fingerprint that the client trusts.
        expected: Fingerprint,
        /// Fingerprint that the server presented.
        found: Fingerprint,
    },
    /// The peer does not know the token.
    #[error("the other end does not know the token")]
    Token,
    /// The peer closed the connection instead of sending its proof.
    #[error("the other end refused the token")]
    Refused,
    /// The handshake exceeded its time limit.
    #[error("the handshake took longer than {} s", PATIENCE.as_secs())]
    Slow,
    /// The handshake exceeded its size limit.
    #[error("the handshake exceeds {HANDSHAKE_BYTES_MAX} bytes")]
    Long,
    /// The peer does not speak TLS 1.3, or the two share no cipher suite.
    #[error("the other end does not speak TLS 1.3 as Plumb does")]
    NotTls,
    /// The peer closed the connection.
    #[error("the other end closed the connection during the handshake")]
    Closed,
    /// The token has an unsupported length.
    #[error("the token's length is not supported")]
    Key,
    /// The system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A connection whose two ends have authenticated each other. Clones share the connection: one
/// can read while another writes.
#[derive(Clone)]
pub struct Channel {
    session: Arc<Session>,
    until: Option<Instant>,
}

struct Session {
    socket: TcpStream,
    tls: Mutex<Connection>,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Channel({:?})", self.session.socket)
    }
}

impl Channel {
    /// Opens the client's end of a connection. Both ends pass the same `purpose`; a proof is valid for no other.
    ///
    /// # Errors
    /// Returns an error if the server is not the trusted one, does not know the token, or the handshake fails.
    pub fn connect(socket: TcpStream, trust: &Trust, purpose: &str) -> Result<Channel, ChannelError> {
        Channel::greet(socket, trust)?.prove(&trust.token, purpose, Role::Client)
    }

    /// Runs the TLS handshake with the trusted server, without the proofs.
    fn greet(socket: TcpStream, trust: &Trust) -> Result<Channel, ChannelError> {
        let provider = Arc::new(ring::default_provider());
        let found = OnceLock::new();
        let pinned = Arc::new(Pinned { expected: trust.fingerprint, found, provider: Arc::clone(&provider) });
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
        let builder = builder.map_err(|_| ChannelError::NotTls)?.dangerous();
        let verifier = Arc::clone(&pinned) as Arc<dyn ServerCertVerifier>;
        let mut config = builder.with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        // The certificate's name does not matter, and SNI is off.
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([127, 0, 0, 1])));
        let tls = ClientConnection::new(Arc::new(config), name).map_err(|_| ChannelError::NotTls)?;
        let mut channel = Channel::new(socket, Connection::Client(tls), Instant::now() + PATIENCE)?;
        channel.shake_hands().map_err(|error| match pinned.found.get() {
            Some(&found) if found != trust.fingerprint => {
                ChannelError::Fingerprint { expected: trust.fingerprint, found }
            }
            _ => error,
        })?;
        Ok(channel)
    }

    /// Opens the server's end of a connection.
    ///
    /// # Errors
    /// Returns an error if the client does not know the token, or the handshake fails.
    pub fn accept(socket: TcpStream, identity: &Identity, purpose: &str) -> Result<Channel, ChannelError> {
        Channel::accept_until(socket, identity, purpose, Instant::now() + PATIENCE)
    }

    /// Like [`Channel::accept`], with a deadline that the caller sets.
    ///
    /// # Errors
    /// Returns the same errors as [`Channel::accept`].
    pub fn accept_until(
        socket: TcpStream,
        identity: &Identity,
        purpose: &str,
        until: Instant,
    ) -> Result<Channel, ChannelError> {
        let tls = ServerConnection::new(Arc::clone(&identity.config)).map_err(|_| ChannelError::NotTls)?;
        let mut channel = Channel::new(socket, Connection::Server(tls), until)?;
        channel.shake_hands()?;
        channel.prove(&identity.token, purpose, Role::Server)
    }

    fn new(socket: TcpStream, tls: Connection, until: Instant) -> io::Result<Channel> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let session = Arc::new(Session { socket, tls: Mutex::new(tls) });
        Ok(Channel { session, until: Some(until) })
    }

    /// Returns the underlying socket, for its addresses and options.
    pub fn socket(&self) -> &TcpStream {
        &self.session.socket
    }

    /// Makes reads and writes of this clone fail with [`ErrorKind::TimedOut`] after `until`. With
    /// `None` they block without limit.
    pub fn set_deadline(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Returns `true` if a read would not block: there is data, or the stream has ended.
    ///
    /// # Errors
    /// Returns the error that a read would return.
    pub fn is_ready(&mut self) -> io::Result<bool> {
        let mut tls = self.session.lock();
        let received = self.session.receive(&mut tls)?;
        let state = tls.process_new_packets().map_err(broken)?;
        Ok(state.plaintext_bytes_to_read() > 0 || state.peer_has_closed() || matches!(received, Received::End))
    }

    fn shake_hands(&mut self) -> Result<(), ChannelError> {
        let mut left = HANDSHAKE_BYTES_MAX;
        loop {
            let mut tls = self.session.lock();
            let wants_more = self.session.flush_pending(&mut tls).map_err(slow)?;
            if !tls.is_handshaking() && !wants_more {
                return Ok(());
            }
            let mut wanted = if wants_more { PollFlags::OUT } else { PollFlags::IN };
            if !wants_more {
                match self.session.receive(&mut tls).map_err(slow)? {
                    Received::End => return Err(ChannelError::Closed),
                    Received::Nothing => {}
                    Received::Bytes(count) => {
                        left = left.checked_sub(count).ok_or(ChannelError::Long)?;
                        if tls.process_new_packets().is_err() {
                            // Send the alert, so that the peer learns the reason.
                            let _ = self.session.flush_pending(&mut tls);
                            return Err(ChannelError::NotTls);
                        }
                        wanted = PollFlags::empty();
                    }
                }
            }
            drop(tls);
            if !wanted.is_empty() {
                wait(&self.session.socket, wanted, self.until).map_err(slow)?;
            }
        }
    }

    /// Exchanges nonces and proofs. A proof covers both nonces, the session and the role, and requires the token. The
    /// client sends its proof first, so that a stranger gets nothing to guess tokens with.
    fn prove(mut self, token: &[u8; 32], purpose: &str, role: Role) -> Result<Channel, ChannelError> {
        let (mut own, mut other) = ([0; PROOF_BYTES], [0; PROOF_BYTES]);
        random(&mut own)?;
        self.write_all(&own).map_err(slow)?;
        self.read_exact(&mut other).map_err(slow)?;
        let (client, server) = if role == Role::Client { (own, other) } else { (other, own) };
        let proof = |role| self.proof(token, purpose, role, [&client, &server]);
        let [clients, servers] = [proof(Role::Client)?, proof(Role::Server)?];
        let mut theirs = [0; PROOF_BYTES];
        match role {
            Role::Client => {
                self.write_all(&clients).map_err(slow)?;
                self.read_exact(&mut theirs).map_err(|error| match slow(error) {
                    ChannelError::Closed => ChannelError::Refused,
                    error => error,
                })?;
                if !same(&theirs, &servers) {
                    return Err(ChannelError::Token);
                }
            }
            Role::Server => {
                self.read_exact(&mut theirs).map_err(slow)?;
                if !same(&theirs, &clients) {
                    self.close();
                    return Err(ChannelError::Token);
                }
                self.write_all(&servers).map_err(slow)?;
            }
        }
        self.until = None;
        Ok(self)
    }

    /// Computes the proof for a role: an HMAC keyed with the token.
    fn proof(
        &self,
        token: &[u8; 32],
        purpose: &str,
        role: Role,
        nonces: [&[u8; PROOF_BYTES]; 2],
    ) -> Result<[u8; PROOF_BYTES], ChannelError> {
        let mut exported = Zeroizing::new([0; PROOF_BYTES]);
        let made = self.session.lock().export_keying_material(&mut *exported, LABEL, Some(purpose.as_bytes()));
        made.map_err(|_| ChannelError::NotTls)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(token).map_err(|_| ChannelError::Key)?;
        mac.update(&[role as u8]);
        mac.update(&*exported);
        for nonce in nonces {
            mac.update(nonce);
        }
        Ok(mac.finalize().into_bytes().into())
    }

    /// Announces the end of this side's data. Without this, the peer treats the end as a failure.
    pub fn close(&mut self) {
        let mut tls = self.session.lock();
        tls.send_close_notify();
        // Ignore errors: the peer may have left already.
        let _ = self.session.flush_pending(&mut tls);
        let _ = self.session.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.session.socket.as_fd()
    }
}

/// The side that proves itself. The byte is part of the proof.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Role {
    Client = b'c',
    Server = b's',
}

/// Result of reading from the socket.
enum Received {
    Nothing,
    Bytes(usize),
    End,
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the bytes that the socket has.
    fn receive(&self, tls: &mut Connection) -> io::Result<Received> {
        if !tls.wants_read() {
            return Ok(Received::Nothing);
        }
        match tls.read_tls(&mut &self.socket) {
            Ok(0) => Ok(Received::End),
            Ok(count) => Ok(Received::Bytes(count)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Received::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes pending bytes to the socket. Returns `true` if the socket takes no more for now.
    fn flush_pending(&self, tls: &mut Connection) -> io::Result<bool> {
        while tls.wants_write() {
            match tls.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut tls = self.session.lock();
            match tls.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            let received = self.session.receive(&mut tls)?;
            if tls.process_new_packets().is_err() {
                let _ = self.session.flush_pending(&mut tls);
                return Err(broken(TlsError::DecryptError));
            }
            let _ = self.session.flush_pending(&mut tls)?;
            drop(tls);
            if matches!(received, Received::Nothing) {
                wait(&self.session.socket, PollFlags::IN, self.until)?;
            }
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.session.lock();
        let mut written = tls.writer().write(bytes)?;
        while self.session.flush_pending(&mut tls)? || (written == 0 && !bytes.is_empty()) {
            // Unlock, so that a reader on another thread can continue.
            drop(tls);
            wait(&self.session.socket, PollFlags::OUT, self.until)?;
            tls = self.session.lock();
            if written == 0 {
                written = tls.writer().write(bytes)?;
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until the socket is ready or the deadline passes.
fn wait(socket: &TcpStream, flags: PollFlags, until: Option<Instant>) -> io::Result<()> {
    let longest = match until.map(|until| until.saturating_duration_since(Instant::now())) {
        Some(Duration::ZERO) => return Err(ErrorKind::TimedOut.into()),
        left => left.and_then(|left| Timespec::try_from(left).ok()),
    };
    match poll(&mut [PollFd::new(socket, flags)], longest.as_ref()) {
        // Callers retry, and check the deadline themselves.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Maps an error during the handshake.
fn slow(error: io::Error) -> ChannelError {
    match error.kind() {
        ErrorKind::TimedOut => ChannelError::Slow,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => ChannelError::Closed,
        ErrorKind::InvalidData => ChannelError::NotTls,
        _ => ChannelError::Io(error),
    }
}

/// Returns the error for a record that the peer did not send.
fn broken(_: TlsError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the connection was tampered with, or the other end is broken")
}

/// The trusted fingerprint, and the one of the presented certificate.
#[derive(Debug)]
struct Pinned {
    expected: Fingerprint,
    found: OnceLock<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let found = *self.found.get_or_init(|| Fingerprint::from_certificate(certificate));
        match found == self.expected && others.is_empty() {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(TlsError::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::InvalidCertificate(CertificateError::BadSignature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

#[cfg(test)]
mod tests;
