//! Message of the control connection: 656 bytes, with words in network byte order and plain text. Source: the
//! specification in this project's notes, checked with netperf 2.7.0 and 2.7.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Size of a message, bytes.
pub const MESSAGE_BYTES: usize = 656;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    DebugOn,
    DebugOff,
    /// Reply to [`Kind::DebugOn`] and [`Kind::DebugOff`].
    DebugOk,
    /// A passphrase, in plain text.
    Passphrase,
    /// Request for a `TCP_SENDFILE` test.
    Stream,
    /// Reply to [`Kind::Stream`].
    StreamResponse,
    /// Request for a `TCP_CC` test, which has its own messages.
    Connects,
    /// Reply to [`Kind::Connects`].
    ConnectsResponse,
    /// Request for any other test.
    Omni,
    /// Reply to [`Kind::Omni`].
    OmniResponse,
}

const KINDS: [(Kind, u32); 10] = [
    (Kind::DebugOn, 1),
    (Kind::DebugOff, 2),
    (Kind::DebugOk, 3),
    (Kind::Passphrase, 6),
    (Kind::Stream, 10),
    (Kind::StreamResponse, 11),
    (Kind::Omni, 97),
    (Kind::OmniResponse, 98),
    (Kind::Connects, 300),
    (Kind::ConnectsResponse, 301),
];

/// A message in its wire format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(pub [u8; MESSAGE_BYTES]);

impl Message {
    /// Creates a message. In a response, the second word is the error number.
    pub fn new(kind: Kind, second: i32) -> Message {
        let mut message = Message([0; MESSAGE_BYTES]);
        let number = KINDS.iter().find(|row| row.0 == kind).map_or(0, |row| row.1);
        message.set(0, number);
        message.set_int(4, second);
        message
    }

    /// Returns the kind, if it is known.
    pub fn kind(&self) -> Option<Kind> {
        KINDS.iter().find(|row| row.1 == self.word(0)).map(|row| row.0)
    }

    /// Returns the kind of the reply, if the message requests a test.
    pub fn reply(&self) -> Option<Kind> {
        match self.kind()? {
            Kind::Omni => Some(Kind::OmniResponse),
            Kind::Stream => Some(Kind::StreamResponse),
            Kind::Connects => Some(Kind::ConnectsResponse),
            _ => None,
        }
    }

    /// Returns the number of the kind.
    pub fn number(&self) -> u32 {
        self.word(0)
    }

    /// Returns the error number of a response.
    pub fn error(&self) -> i32 {
        self.int(4)
    }

    /// Returns the CPU of a request, in the word of a response's error number. Source: netperf 2.7.0, `send_request`.
    pub(super) fn processor(&self) -> Option<u32> {
        u32::try_from(self.int(4)).ok()
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    pub(super) fn int(&self, at: usize) -> i32 {
        self.word(at) as i32
    }

    pub(super) fn float(&self, at: usize) -> f64 {
        let value = f32::from_bits(self.word(at));
        // Values that were never measured may be anything, including NaN.
        if value.is_finite() { f64::from(value) } else { 0.0 }
    }

    pub(super) fn set(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    pub(super) fn set_int(&mut self, at: usize, word: i32) {
        self.set(at, word as u32);
    }

    pub(super) fn set_float(&mut self, at: usize, value: f64) {
        self.set(at, (value as f32).to_bits());
    }

    /// Reads a 64-bit number, high half first.
    pub(super) fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) << 32 | u64::from(self.word(at + 4))
    }

    pub(super) fn set_long(&mut self, at: usize, value: u64) {
        self.set(at, (value >> 32) as u32);
        self.set(at + 4, value as u32);
    }

    /// Reads printable text up to its NUL.
    pub(super) fn text(&self, at: usize, length: usize) -> String {
        let bytes = self.0[at..at + length - 1].split(|&byte| byte == 0).next().unwrap_or_default();
        bytes.iter().filter(|byte| byte.is_ascii_graphic()).map(|&byte| char::from(byte)).collect()
    }

    pub(super) fn set_text(&mut self, at: usize, length: usize, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(length - 1)];
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Returns the passphrase of a message that has one.
    pub fn passphrase(&self) -> &[u8] {
        self.0[8..].split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Creates a message with a passphrase, truncated to the space.
    pub fn of_passphrase(phrase: &str) -> Message {
        let mut message = Message::new(Kind::Passphrase, 0);
        message.set_text(8, MESSAGE_BYTES - 8, phrase);
        message
    }

    /// Reads an address of four words. For IPv6, each word has the byte order of a little-endian host.
    pub(super) fn address(&self, at: usize, is_v6: bool) -> Option<IpAddr> {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.0[at..at + 16]);
        if !is_v6 {
            // The bytes after an IPv4 address may be anything.
            bytes[4..].fill(0);
        }
        if bytes == [0; 16] {
            return None;
        }
        if !is_v6 {
            return Some(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into());
        }
        bytes.chunks_mut(4).for_each(<[u8]>::reverse);
        Some(Ipv6Addr::from(bytes).into())
    }

    pub(super) fn set_address(&mut self, at: usize, address: Option<IpAddr>) {
        match address {
            Some(IpAddr::V4(four)) => self.0[at..at + 4].copy_from_slice(&four.octets()),
            Some(IpAddr::V6(six)) => {
                let mut bytes = six.octets();
                bytes.chunks_mut(4).for_each(<[u8]>::reverse);
                self.0[at..at + 16].copy_from_slice(&bytes);
            }
            None => {}
        }
    }
}
