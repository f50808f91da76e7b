//! Both ends in one process, and peers that misbehave.

use super::*;
use std::net::{SocketAddr, TcpListener};
use std::thread;

const PURPOSE: &str = "test";
const SHORT: Duration = Duration::from_millis(300);

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address");
    (listener, at)
}

/// Serves one client, and returns the server's result.
fn serve(identity: &Identity, patience: Duration, client: impl FnOnce(TcpStream)) -> Result<Channel, ChannelError> {
    let (listener, at) = listener();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (socket, _) = listener.accept().expect("a client");
            Channel::accept_until(socket, identity, PURPOSE, Instant::now() + patience)
        });
        client(TcpStream::connect(at).expect("the server"));
        server.join().expect("no panic")
    })
}

/// Connects a client to a server, and returns both results.
fn connect_both(identity: &Identity, trust: &Trust, purpose: &str) -> [Result<Channel, ChannelError>; 2] {
    let mut client = None;
    let server = serve(identity, PATIENCE, |socket| client = Some(Channel::connect(socket, trust, purpose)));
    [client.expect("it was run"), server]
}

fn identity() -> Identity {
    Identity::make().expect("keys")
}

#[test]
fn both_ends_exchange_bytes_at_the_same_time() {
    let identity = identity();
    let [client, server] = connect_both(&identity, &identity.trust(), PURPOSE).map(|end| end.expect("a connection"));
    // More than the sockets and buffers hold: an end that only writes must not block the other's reads.
    let sent: Vec<u8> = (0..8_000_000u32).map(|number| (number * 7) as u8).collect();
    let deadline = Some(Instant::now() + Duration::from_secs(60));
    let ends = [client, server].map(|mut end| {
        end.set_deadline(deadline);
        end
    });
    thread::scope(|scope| {
        for end in &ends {
            let (mut writes, mut reads) = (end.clone(), end.clone());
            let sent = &sent;
            scope.spawn(move || {
                writes.write_all(sent).expect("sent");
                writes.close();
            });
            scope.spawn(move || {
                let mut came = Vec::new();
                reads.read_to_end(&mut came).expect("received");
                assert!(came == *sent, "{} bytes came, or others", came.len());
            });
        }
    });
}

#[test]
fn a_read_ends_at_its_deadline() {
    let identity = identity();
    let [mut client, mut server] =
        connect_both(&identity, &identity.trust(), PURPOSE).map(|end| end.expect("a connection"));
    client.set_deadline(Some(Instant::now() + SHORT));
    let error = client.read(&mut [0]).expect_err("nothing was sent");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(!client.is_ready().expect("a sound connection"));
    server.write_all(b"late").expect("sent");
    client.set_deadline(Some(Instant::now() + PATIENCE));
    let mut came = [0; 4];
    client.read_exact(&mut came).expect("it is there now");
    assert_eq!(&came, b"late");
}

#[test]
fn a_dead_peer_is_an_error_and_not_the_end_of_data() {
    let identity = identity();
    let [mut client, server] =
        connect_both(&identity, &identity.trust(), PURPOSE).map(|end| end.expect("a connection"));
    server.socket().shutdown(std::net::Shutdown::Both).expect("shut down");
    let error = client.read(&mut [0]).expect_err("cut off");
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_server_with_another_key_gets_no_proof() {
    let (known, other) = (identity(), identity());
    let trust = Trust { token: other.token.clone(), ..known.trust() };
    let [client, server] = connect_both(&other, &trust, PURPOSE);
    let error = client.expect_err("another certificate");
    let ChannelError::Fingerprint { expected, found } = error else { panic!("{error}") };
    assert_eq!((expected, found), (known.trust().fingerprint, other.trust().fingerprint));
    assert!(matches!(server, Err(ChannelError::NotTls | ChannelError::Closed)), "{server:?}");
}

#[test]
fn a_client_with_another_token_is_refused_by_both() {
    let identity = identity();
    let trust = Trust { token: [7; 32].into(), ..identity.trust() };
    let [client, server] = connect_both(&identity, &trust, PURPOSE);
    assert!(matches!(client, Err(ChannelError::Refused)), "{client:?}");
    assert!(matches!(server, Err(ChannelError::Token)), "{server:?}");
}

#[test]
fn a_proof_for_one_purpose_is_invalid_for_another() {
    let identity = identity();
    let [client, server] = connect_both(&identity, &identity.trust(), "other");
    assert!(matches!(client, Err(ChannelError::Refused)), "{client:?}");
    assert!(matches!(server, Err(ChannelError::Token)), "{server:?}");
}

/// Sends a nonce as a client, and returns the server's nonce.
fn exchange_nonces(channel: &mut Channel, nonce: &[u8; 32]) -> [u8; 32] {
    channel.write_all(nonce).expect("sent");
    let mut other = [0; 32];
    channel.read_exact(&mut other).expect("the nonce of the server");
    other
}

#[test]
fn a_replayed_proof_is_refused() {
    let identity = identity();
    let trust = identity.trust();
    let nonce = [3; 32];
    let mut seen = [0; 32];
    let first = serve(&identity, PATIENCE, |socket| {
        let mut channel = Channel::greet(socket, &trust).expect("a session");
        let other = exchange_nonces(&mut channel, &nonce);
        seen = channel.proof(&trust.token, PURPOSE, Role::Client, [&nonce, &other]).expect("a proof");
        channel.write_all(&seen).expect("sent");
    });
    assert!(first.is_ok(), "{first:?}");
    let again = serve(&identity, PATIENCE, |socket| {
        let mut channel = Channel::greet(socket, &trust).expect("a session");
        exchange_nonces(&mut channel, &nonce);
        channel.write_all(&seen).expect("sent");
    });
    assert!(matches!(again, Err(ChannelError::Token)), "{again:?}");
}

#[test]
fn the_proof_of_the_server_is_not_that_of_a_client() {
    let identity = identity();
    let trust = identity.trust();
    let server = serve(&identity, PATIENCE, |socket| {
        let mut channel = Channel::greet(socket, &trust).expect("a session");
        let other = exchange_nonces(&mut channel, &[3; 32]);
        let reflected = channel.proof(&trust.token, PURPOSE, Role::Server, [&[3; 32], &other]).expect("a proof");
        channel.write_all(&reflected).expect("sent");
    });
    assert!(matches!(server, Err(ChannelError::Token)), "{server:?}");
}

#[test]
fn bytes_other_than_tls_are_refused() {
    let identity = identity();
    let mut record = vec![0x16, 3, 1, 0x40, 0];
    record.extend_from_slice(&[0xff; 0x4000]);
    let mut endless = vec![0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff];
    for _ in 0..64 {
        endless.extend_from_slice(&[0x16, 3, 1, 0x10, 0]);
        endless.extend_from_slice(&[0; 0x1000]);
    }
    let all: [&[u8]; 6] = [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", &[0; 100], &[0x16, 3, 1], &record, &endless];
    for bytes in all {
        let server = serve(&identity, SHORT, |mut socket| {
            // The server may close before the last byte.
            let _ = socket.write_all(bytes);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let sound = matches!(server, Err(ChannelError::NotTls | ChannelError::Closed | ChannelError::Long));
        assert!(sound, "{:?}…: {server:?}", &bytes[..bytes.len().min(16)]);
    }
}

#[test]
fn a_handshake_that_comes_byte_by_byte_ends_at_its_deadline() {
    let identity = identity();
    let began = Instant::now();
    let server = serve(&identity, SHORT, |mut socket| {
        for byte in [0x16, 3, 1, 2, 0].into_iter().chain(std::iter::repeat_n(0, 400)) {
            if socket.write_all(&[byte]).is_err() || began.elapsed() > PATIENCE {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(matches!(server, Err(ChannelError::Slow)), "{server:?}");
}

#[test]
fn a_client_without_a_proof_ends_at_its_deadline() {
    let identity = identity();
    let mut kept = None;
    let server = serve(&identity, SHORT, |socket| kept = Channel::greet(socket, &identity.trust()).ok());
    assert!(matches!(server, Err(ChannelError::Slow)), "{server:?}");
    assert!(kept.is_some());
}

#[test]
fn a_forged_record_is_detected() {
    let identity = identity();
    let [mut client, mut server] =
        connect_both(&identity, &identity.trust(), PURPOSE).map(|end| end.expect("a connection"));
    // A record that the client never sent.
    let mut record = vec![0x17, 3, 3, 0, 40];
    record.extend_from_slice(&[9; 40]);
    client.socket().set_nonblocking(false).expect("blocking");
    client.socket().write_all(&record).expect("sent");
    server.set_deadline(Some(Instant::now() + PATIENCE));
    assert_eq!(server.read(&mut [0]).expect_err("forged").kind(), ErrorKind::InvalidData);
    let _ = client.is_ready();
}
