//! A connection: its handshake, the proof of the token, and bytes until a deadline.

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

/// A handshake and the proof of the token take this long at most.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The first byte of a client: a record of a handshake. Where other protocols share a port, it tells them apart.
pub const FIRST_BYTE: u8 = 0x16;

/// Bytes that a handshake may have: a certificate of ours is about 300.
const HANDSHAKE_BYTES_MAX: usize = 16 << 10;

/// Bytes of a nonce, and of a proof.
const PROOF_BYTES: usize = 32;

/// What is exported of a session. Source of the form: RFC 5705, 4.
const LABEL: &[u8] = b"EXPORTER-plumb-token";

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other end is not the one that is known.
    #[error("its certificate has the fingerprint {found}, and {expected} was expected: it has new keys, or is another")]
    Fingerprint {
        /// What is known.
        expected: Fingerprint,
        /// What is there.
        found: Fingerprint,
    },
    /// The other end does not know the token.
    #[error("the other end does not know the token")]
    Token,
    /// The other end ended the connection instead of its proof.
    #[error("the other end refused the token")]
    Refused,
    /// Too slow.
    #[error("the handshake took longer than {} s", PATIENCE.as_secs())]
    Slow,
    /// Too long.
    #[error("a handshake of more than {HANDSHAKE_BYTES_MAX} bytes")]
    Long,
    /// No TLS 1.3, or not with what both ends know.
    #[error("the other end does not speak TLS 1.3 as Plumb does")]
    NotTls,
    /// It ended the connection.
    #[error("the other end closed the connection during the handshake")]
    Closed,
    /// No proof can be made with this token.
    #[error("the token has a length that is not supported")]
    Key,
    /// The system's.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A connection that both ends have proven themselves on. Clones are the same connection: one may read while another writes.
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
    /// The client's end of a connection. Both ends name the same `purpose`, for which alone it is good.
    ///
    /// # Errors
    /// Another server than the one that is known, or one that does not know the token; whatever breaks a handshake.
    pub fn connect(socket: TcpStream, trust: &Trust, purpose: &str) -> Result<Channel, ChannelError> {
        Channel::greet(socket, trust)?.prove(&trust.token, purpose, Role::Client)
    }

    /// A session with the server that is known, without the proofs.
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
        // What a certificate is made for does not matter, and is not sent.
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

    /// The server's end of one.
    ///
    /// # Errors
    /// A client that does not know the token; whatever breaks a handshake.
    pub fn accept(socket: TcpStream, identity: &Identity, purpose: &str) -> Result<Channel, ChannelError> {
        Channel::accept_until(socket, identity, purpose, Instant::now() + PATIENCE)
    }

    /// As [`Channel::accept`], with a deadline that the caller sets.
    ///
    /// # Errors
    /// As [`Channel::accept`].
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

    /// The socket below, for its addresses and options.
    pub fn socket(&self) -> &TcpStream {
        &self.session.socket
    }

    /// From now on, reads and writes of this clone fail with [`ErrorKind::TimedOut`] at this time; without one, they wait.
    pub fn set_deadline(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Whether a read would return at once: there are bytes, or the end.
    ///
    /// # Errors
    /// What a read would say.
    pub fn is_ready(&mut self) -> io::Result<bool> {
        let mut tls = self.session.lock();
        let taken = self.session.take(&mut tls)?;
        let state = tls.process_new_packets().map_err(broken)?;
        Ok(state.plaintext_bytes_to_read() > 0 || state.peer_has_closed() || matches!(taken, Taken::End))
    }

    fn shake_hands(&mut self) -> Result<(), ChannelError> {
        let mut left = HANDSHAKE_BYTES_MAX;
        loop {
            let mut tls = self.session.lock();
            let wants_more = self.session.give(&mut tls).map_err(slow)?;
            if !tls.is_handshaking() && !wants_more {
                return Ok(());
            }
            let mut wanted = if wants_more { PollFlags::OUT } else { PollFlags::IN };
            if !wants_more {
                match self.session.take(&mut tls).map_err(slow)? {
                    Taken::End => return Err(ChannelError::Closed),
                    Taken::Nothing => {}
                    Taken::Bytes(count) => {
                        left = left.checked_sub(count).ok_or(ChannelError::Long)?;
                        if tls.process_new_packets().is_err() {
                            // Why, for the other end.
                            let _ = self.session.give(&mut tls);
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

    /// Both ends send a nonce, and then what only who knows the token can compute of both, of this session, and of which end it
    /// is. The client is first, so that a stranger gets nothing to guess tokens by.
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

    /// What an end sends that knows the token.
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

    /// Says that nothing more comes. What is not said, the other end takes for a failure.
    pub fn close(&mut self) {
        let mut tls = self.session.lock();
        tls.send_close_notify();
        // Whoever has gone already does not wait for it.
        let _ = self.session.give(&mut tls);
        let _ = self.session.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.session.socket.as_fd()
    }
}

/// Which end proves; the byte is a part of the proof.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Role {
    Client = b'c',
    Server = b's',
}

/// What came from the socket.
enum Taken {
    Nothing,
    Bytes(usize),
    End,
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the socket has.
    fn take(&self, tls: &mut Connection) -> io::Result<Taken> {
        if !tls.wants_read() {
            return Ok(Taken::Nothing);
        }
        match tls.read_tls(&mut &self.socket) {
            Ok(0) => Ok(Taken::End),
            Ok(count) => Ok(Taken::Bytes(count)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(Taken::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Gives the socket what is to be sent. Whether there is more than it takes now.
    fn give(&self, tls: &mut Connection) -> io::Result<bool> {
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
            let taken = self.session.take(&mut tls)?;
            if tls.process_new_packets().is_err() {
                let _ = self.session.give(&mut tls);
                return Err(broken(TlsError::DecryptError));
            }
            let _ = self.session.give(&mut tls)?;
            drop(tls);
            if matches!(taken, Taken::Nothing) {
                wait(&self.session.socket, PollFlags::IN, self.until)?;
            }
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.session.lock();
        let mut taken = tls.writer().write(bytes)?;
        while self.session.give(&mut tls)? || (taken == 0 && !bytes.is_empty()) {
            // Whoever reads may go on meanwhile.
            drop(tls);
            wait(&self.session.socket, PollFlags::OUT, self.until)?;
            tls = self.session.lock();
            if taken == 0 {
                taken = tls.writer().write(bytes)?;
            }
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for a socket until a time.
fn wait(socket: &TcpStream, flags: PollFlags, until: Option<Instant>) -> io::Result<()> {
    let longest = match until.map(|until| until.saturating_duration_since(Instant::now())) {
        Some(Duration::ZERO) => return Err(ErrorKind::TimedOut.into()),
        left => left.and_then(|left| Timespec::try_from(left).ok()),
    };
    match poll(&mut [PollFd::new(socket, flags)], longest.as_ref()) {
        // Who waits looks again, also at the time.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What a read or write of a handshake says.
fn slow(error: io::Error) -> ChannelError {
    match error.kind() {
        ErrorKind::TimedOut => ChannelError::Slow,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => ChannelError::Closed,
        ErrorKind::InvalidData => ChannelError::NotTls,
        _ => ChannelError::Io(error),
    }
}

/// A record that is not what the other end has sent.
fn broken(_: TlsError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the connection was tampered with, or the other end is broken")
}

/// The certificate that is known, and the one that came.
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
        let found = *self.found.get_or_init(|| Fingerprint::of(certificate));
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
