//! A message of the control connection: 656 bytes, words in the order of the network, text as it is. Source: the specification
//! in this project's notes, checked with netperf 2.7.0 and 2.7.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 656;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Asks for debugging output, or for no more of it.
    DebugOn,
    /// See above.
    DebugOff,
    /// The reply to it.
    DebugOk,
    /// A pass phrase, in clear text.
    Passphrase,
    /// A test of `TCP_SENDFILE`.
    Stream,
    /// The reply to it.
    StreamResponse,
    /// Request for a `TCP_CC` test, which has messages of its own.
    Connects,
    /// Reply to [`Kind::Connects`].
    ConnectsResponse,
    /// Any other test.
    Omni,
    /// The reply to it.
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

/// A message as it travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(pub [u8; MESSAGE_BYTES]);

impl Message {
    /// Of a kind, and with this second word: an error number of a response.
    pub fn new(kind: Kind, second: i32) -> Message {
        let mut message = Message([0; MESSAGE_BYTES]);
        let number = KINDS.iter().find(|row| row.0 == kind).map_or(0, |row| row.1);
        message.set(0, number);
        message.set_int(4, second);
        message
    }

    /// What it is, where that is known.
    pub fn kind(&self) -> Option<Kind> {
        KINDS.iter().find(|row| row.1 == self.word(0)).map(|row| row.0)
    }

    /// Returns the kind of the reply to a test, where this is one.
    pub fn reply(&self) -> Option<Kind> {
        match self.kind()? {
            Kind::Omni => Some(Kind::OmniResponse),
            Kind::Stream => Some(Kind::StreamResponse),
            Kind::Connects => Some(Kind::ConnectsResponse),
            _ => None,
        }
    }

    /// The number of its kind.
    pub fn number(&self) -> u32 {
        self.word(0)
    }

    /// The error number of a response.
    pub fn error(&self) -> i32 {
        self.int(4)
    }

    /// The processor of a request, in the word that has the error number of a response. Source: netperf 2.7.0, `send_request`.
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
        // What was never measured is any number, or none.
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

    /// A number of 64 bits, the high half first.
    pub(super) fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) << 32 | u64::from(self.word(at + 4))
    }

    pub(super) fn set_long(&mut self, at: usize, value: u64) {
        self.set(at, (value >> 32) as u32);
        self.set(at + 4, value as u32);
    }

    /// Printable text up to its NUL.
    pub(super) fn text(&self, at: usize, length: usize) -> String {
        let bytes = self.0[at..at + length - 1].split(|&byte| byte == 0).next().unwrap_or_default();
        bytes.iter().filter(|byte| byte.is_ascii_graphic()).map(|&byte| char::from(byte)).collect()
    }

    pub(super) fn set_text(&mut self, at: usize, length: usize, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(length - 1)];
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The pass phrase of a message that has one.
    pub fn passphrase(&self) -> &[u8] {
        self.0[8..].split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// A message with a pass phrase, cut where there is no more room.
    pub fn of_passphrase(phrase: &str) -> Message {
        let mut message = Message::new(Kind::Passphrase, 0);
        message.set_text(8, MESSAGE_BYTES - 8, phrase);
        message
    }

    /// An address of four words: of IPv6, each word in the order of a little-endian host.
    pub(super) fn address(&self, at: usize, is_v6: bool) -> Option<IpAddr> {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.0[at..at + 16]);
        if !is_v6 {
            // What follows the four bytes means nothing, and need not be zero.
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
