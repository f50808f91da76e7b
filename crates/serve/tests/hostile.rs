//! Clients that mean harm, over a real connection: slow, huge, malformed, and too many at once.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use common::Site;
use plumb_serve::{App, AppOptions, ConnectionLimits, ServedDatabase, router, serve_connections};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longest time that a test waits for an answer or an end, for loaded machines.
const PATIENCE: Duration = Duration::from_secs(60);

const LIMITS: ConnectionLimits = ConnectionLimits {
    all: 16,
    of_address: 8,
    head: Duration::from_millis(300),
    age: Duration::from_secs(30),
    grace: Duration::from_secs(1),
};

/// Starts a server on a free port. It ends with the test's runtime.
async fn start(site: &Site, limits: ConnectionLimits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Arc::new(App::new(ServedDatabase::Local(site.database.clone()), AppOptions::loopback(address.port())));
    tokio::spawn(serve_connections(listener, router(app), limits, None, std::future::pending()));
    address
}

/// Sends bytes, and returns all that comes back until the server closes the connection.
async fn talk(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close the connection before it has all.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "the server keeps the connection open");
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr) -> String {
    format!("GET /runs HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
}

async fn is_served(address: SocketAddr) -> bool {
    talk(address, get(address).as_bytes()).await.starts_with("HTTP/1.1 200")
}

// Protects the server from clients that send a head byte by byte, or nothing at all (slow loris).
#[tokio::test]
async fn slow_heads_are_cut_and_others_are_served() {
    let site = Site::new();
    let address = start(&site, LIMITS).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
        slow.push(stream);
    }
    assert!(is_served(address).await);
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "a slow client keeps its connection");
    }
    let silent = talk(address, b"").await;
    assert_eq!(silent, "");
}

#[tokio::test]
async fn malformed_and_huge_requests_get_an_error_or_an_end() {
    let site = Site::new();
    let address = start(&site, LIMITS).await;
    let huge_header = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let many_headers = format!("GET / HTTP/1.1\r\nHost: {address}\r\n{}\r\n", "X: y\r\n".repeat(500));
    let huge_body =
        format!("POST /runs HTTP/1.1\r\nHost: {address}\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\nx");
    let two_lengths =
        format!("POST /runs HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx");
    let long_address =
        format!("GET /runs?q={} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n", "x".repeat(9000));
    let requests: &[&[u8]] = &[
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        huge_header.as_bytes(),
        many_headers.as_bytes(),
        huge_body.as_bytes(),
        two_lengths.as_bytes(),
        long_address.as_bytes(),
        b"GET http://[::bad/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ];
    for request in requests {
        let answer = talk(address, request).await;
        assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    }
    assert!(is_served(address).await, "the server goes on");
}

// Protects memory and file descriptors from a client that opens connections without end.
#[tokio::test]
async fn a_flood_of_connections_is_bounded_and_passes() {
    let site = Site::new();
    let address = start(&site, LIMITS).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(TcpStream::connect(address).await.unwrap());
    }
    drop(open);
    let mut served = false;
    for _ in 0..100 {
        served = is_served(address).await;
        if served {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(served, "the server serves again after a flood");
}

// Protects the database from a client that asks faster than it reads.
#[tokio::test]
async fn a_flood_of_requests_is_answered_with_429() {
    let site = Site::new();
    let address = start(&site, ConnectionLimits { head: PATIENCE, ..LIMITS }).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /assets/none HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let (mut reading, mut writing) = stream.split();
    let sending = async {
        for _ in 0..2000 {
            if writing.write_all(request.as_bytes()).await.is_err() {
                break;
            }
        }
    };
    let receiving = async {
        let mut seen = String::new();
        let mut buffer = vec![0; 1 << 16];
        while !seen.contains("HTTP/1.1 429") {
            let read = tokio::time::timeout(PATIENCE, reading.read(&mut buffer)).await.expect("an answer").unwrap();
            assert_ne!(read, 0, "no request was refused");
            seen = seen.chars().rev().take(32).collect::<Vec<_>>().into_iter().rev().collect();
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    };
    tokio::select! {
        () = receiving => {}
        () = async { sending.await; std::future::pending().await } => {}
    }
}
