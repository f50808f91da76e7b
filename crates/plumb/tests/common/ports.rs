//! Ports that stay free from the moment they are found until a server listens.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that Linux assigns to clients (`ip_local_port_range`: from 32768). A test that connects thousands of
/// times takes those faster than a server starts.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// Returns a port that is free for TCP and UDP, and that no other test of this program gets.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Test programs that run at the same time begin at different ports.
    let begin = std::process::id() * 97;
    for _ in 0..COUNT {
        let number = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = (FIRST + number) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() && UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}
