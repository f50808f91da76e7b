//! The wire format: a client's request at the start of its data, and a server's answer to the last datagram. Numbers
//! have 4 bytes in network byte order.

use super::settings::{Back, Test};
use plumb_workload::net::BLOCK_BYTES_MAX;

/// Flags: the header has an extended part; 64-bit numbers; one-way latencies; the length is given.
const EXTENDED: u32 = 0x4000_0000;
const WIDE_NUMBERS: u32 = 0x0800_0000;
const TRIPS: u32 = 0x2000_0000;
const HAS_LENGTH: u32 = 0x0001_0000;
/// Flag: the server sends, alone or at the same time.
const SERVER_SENDS: u32 = 0x0400_0000;
/// Flags: the server connects back to the given port, immediately or afterwards. Source: 2.1.8,
/// `HEADER_VERSION1`, `RUN_NOW`.
const BACK: u32 = 0x8000_0000;
const BACK_AT_ONCE: u32 = 0x0000_0001;
/// Flags of the extended part, with the same meaning.
const TRIPS_EXTENDED: u32 = 0x0010_0000;
const REVERSE_EXTENDED: u32 = 0x0400_0000;
const BOTH_EXTENDED: u32 = 0x0800_0000;
/// Flags of a server's report: its first part, and one-way latencies.
const REPORT: u32 = 0x8000_0000;
const REPORT_TRIPS: u32 = 0x4000_0000;

/// Encoded version 2.1.8.
const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];

/// Number of times that the last datagram is sent without an answer.
pub const LAST_TRIES: u32 = 10;

/// Size of a TCP stream's header, bytes; larger with one-way latencies.
const TCP_HEAD_BYTES: usize = 60;
const TCP_HEAD_BYTES_TRIPS: usize = 80;

/// Size of the server's answer to a client that requests one-way latencies, bytes.
const ANSWER_BYTES: usize = 52;

/// Limit of the header length that a client may state, bytes.
const HEAD_BYTES_MAX: u32 = 512;

/// Size of a server's report, bytes.
pub const REPORT_BYTES: usize = 128;

fn head(test: &Test, port: u16, flags: u32) -> [u32; 27] {
    // Bytes, or the negative time in hundredths of a second.
    let amount = match test.bytes {
        0 => -((test.time_s * 100.0) as i32),
        bytes => i32::try_from(bytes).unwrap_or(i32::MAX),
    };
    let asked = |is_asked, flag| if is_asked { flag } else { 0 };
    let extended = asked(test.trip_times, TRIPS_EXTENDED)
        | asked(test.reverse, REVERSE_EXTENDED)
        | asked(test.full_duplex, BOTH_EXTENDED);
    let rate = test.rate.unwrap_or(0.0) as u64;
    let mut words = [0; 27];
    words[..6].copy_from_slice(&[flags, test.streams, port.into(), 0, 0, amount as u32]);
    words[8..11].copy_from_slice(&[extended, VERSION[0], VERSION[1]]);
    words[11] = test.service.into();
    words[12] = rate as u32;
    words[13] = (rate >> 32) as u32;
    words
}

/// Returns the header of a client's datagrams, after number and time. The test starts at `start_us`,
/// in µs since the epoch.
pub fn udp_head(test: &Test, port: u16, start_us: u64) -> [u32; 27] {
    let length = if test.trip_times { 108 } else { 76 };
    let trips = if test.trip_times { TRIPS } else { 0 };
    let mut words = head(test, port, EXTENDED | WIDE_NUMBERS | HAS_LENGTH | trips | (length << 1));
    if test.trip_times {
        // A server accepts the client's clock only if it is close to its own.
        words[24..26].copy_from_slice(&time_words(start_us));
    }
    words
}

fn tcp_words(test: &Test, port: u16, start_us: u64) -> ([u32; 27], usize) {
    let length = if test.trip_times { TCP_HEAD_BYTES_TRIPS } else { TCP_HEAD_BYTES };
    let sends = if test.reverse || test.full_duplex { SERVER_SENDS } else { 0 };
    let back = test.back.map_or(0, |back| BACK | if back.at_once { BACK_AT_ONCE } else { 0 });
    let port = test.back.map_or(port, |back| back.port);
    let mut words = head(test, port, EXTENDED | HAS_LENGTH | sends | back | ((length as u32) << 1));
    if test.trip_times {
        words[16..18].copy_from_slice(&time_words(start_us));
    }
    (words, length)
}

/// Returns the header of a TCP client's stream, or of a server that sends bursts. The test starts at `start_us`,
/// in µs since the epoch.
pub fn tcp_head(test: &Test, port: u16, start_us: u64) -> Vec<u8> {
    let (words, length) = tcp_words(test, port, start_us);
    words.iter().flat_map(|word| word.to_be_bytes()).take(length).collect()
}

/// Returns the header of each burst. Its time, number and length are filled in when it is sent.
pub(super) fn burst_head(test: &Test, port: u16, start_us: u64) -> [u32; 27] {
    let (mut words, _) = tcp_words(test, port, start_us);
    words[3..5].copy_from_slice(&time_words(start_us));
    words[5..8].fill(0);
    words[11..14].fill(0);
    words
}

/// Encodes a time since the epoch as seconds and microseconds.
fn time_words(us: u64) -> [u32; 2] {
    [(us / 1_000_000) as u32, (us % 1_000_000) as u32]
}

/// Returns the server's answer to a request for one-way latencies: the start of the test, and the time
/// at which it was read.
pub fn answer(ask: &Ask, now_us: u64) -> Vec<u8> {
    let [start, now] = [ask.start_us, now_us].map(time_words);
    let words =
        [2, ANSWER_BYTES as u32, 0, VERSION[0], VERSION[1], 0, 0, start[0], start[1], now[0], now[1], now[0], now[1]];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Flag of a round trip's message, and the smallest size of one.
const BOUNCE: u32 = 0x0080_0000;
pub(super) const BOUNCE_BYTES_MIN: u32 = 64;

/// Returns the header of round-trip messages. Unknown times are -1.
pub(super) fn bounce_head(bytes: u32) -> [u32; 27] {
    let mut words = [0; 27];
    words[..4].copy_from_slice(&[BOUNCE, bytes, 1, 0x5a5a]);
    words[7..11].fill(u32::MAX);
    words
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?))
}

/// A client's request, as far as this server supports it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ask {
    pub reverse: bool,
    /// Whether both ends send over one connection.
    pub full_duplex: bool,
    /// Request that the server connects back, for `-d` and `-r`.
    pub back: Option<Back>,
    /// Whether one-way latencies are meaningful.
    pub trip_times: bool,
    pub version: Option<[u16; 3]>,
    /// Seconds for which the server sends, if given.
    pub time_s: f64,
    /// Bytes that the server sends, if given.
    pub bytes: u64,
    /// Start of a TCP test with one-way latencies, µs since the epoch.
    pub start_us: u64,
    /// Rate at which the server sends, bits per second.
    pub rate: Option<f64>,
    /// Size of round-trip messages, bytes, and the time for which the server holds each, µs.
    pub bounces: Option<[u32; 2]>,
}

impl Ask {
    /// Parses the start of a stream, or a datagram's bytes after number and time. Bytes that are
    /// not a header request nothing.
    pub fn read(bytes: &[u8]) -> Ask {
        let word = |at| word(bytes, at).unwrap_or(0);
        if word(0) == BOUNCE {
            return Ask { bounces: Some([word(1), word(11)]), ..Ask::default() };
        }
        let length = (word(0) & 0xfffe) >> 1;
        let amount = word(5) as i32;
        let time_s = if amount < 0 { f64::from(amount.unsigned_abs()) / 100.0 } else { 10.0 }.min(86400.0);
        let bytes_asked = amount.max(0) as u64;
        let port = u16::try_from(word(2)).ok().filter(|&port| port > 0 && word(0) & BACK != 0);
        let back = port.map(|port| Back { port, at_once: word(0) & BACK_AT_ONCE != 0 });
        if word(0) & (EXTENDED | HAS_LENGTH) != EXTENDED | HAS_LENGTH || length > HEAD_BYTES_MAX {
            // Version 2.0 sends only the first part.
            return match back {
                Some(_) => Ask { back, time_s, bytes: bytes_asked, ..Ask::default() },
                None => Ask::default(),
            };
        }
        let [upper, lower] = [word(9), word(10)];
        let trip_times = word(8) & TRIPS_EXTENDED != 0;
        Ask {
            reverse: word(8) & REVERSE_EXTENDED != 0,
            full_duplex: word(8) & BOTH_EXTENDED != 0,
            trip_times,
            version: (upper > 0).then_some([(upper >> 16) as u16, upper as u16, (lower >> 16) as u16]),
            back,
            time_s,
            bytes: bytes_asked,
            start_us: if trip_times { u64::from(word(16)) * 1_000_000 + u64::from(word(17)) } else { 0 },
            bounces: None,
            rate: Some((u64::from(word(13)) << 32 | u64::from(word(12))) as f64).filter(|&rate| rate > 0.0),
        }
    }

    /// Returns the size of round-trip messages if the server answers such messages.
    pub fn bounce_bytes(&self) -> Option<u32> {
        let is_answered =
            |&[bytes, hold]: &[u32; 2]| (BOUNCE_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&bytes) && hold == 0;
        self.bounces.filter(is_answered).map(|[bytes, _]| bytes)
    }
}

/// One-way latencies, µs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    pub mean_us: f64,
    pub least_us: f64,
    pub most_us: f64,
    pub deviation_us: f64,
}

impl Latency {
    /// Formats the latencies as `0.076/0.013/0.339/0.099`, in ms.
    pub(super) fn milliseconds(&self) -> String {
        let Latency { mean_us, least_us, most_us, deviation_us } = self;
        let [mean, least, most, deviation] = [mean_us, least_us, most_us, deviation_us].map(|us| us / 1e3);
        format!("{mean:.3}/{least:.3}/{most:.3}/{deviation:.3}")
    }
}

/// A server's report on a stream of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerReport {
    pub bytes: u64,
    pub seconds: f64,
    pub lost: u64,
    /// Number of datagrams that arrived after a later one.
    pub out_of_order: u64,
    pub datagrams: u64,
    /// Smoothed variation of one-way latencies, µs.
    pub jitter_us: f64,
    pub latency: Latency,
}

impl ServerReport {
    /// Encodes the report for a client. `trips` states whether it requested one-way latencies.
    pub fn bytes(&self, trips: bool) -> [u8; REPORT_BYTES] {
        let received = self.datagrams.saturating_sub(self.lost);
        let time = |us: f64| [(us / 1e6) as u32, (us.max(0.0) % 1e6) as u32];
        let Latency { mean_us, least_us, most_us, deviation_us } = self.latency;
        let mut words = [0u32; REPORT_BYTES / 4];
        words[4] = REPORT | WIDE_NUMBERS | if trips { REPORT_TRIPS } else { 0 };
        words[5..7].copy_from_slice(&[(self.bytes >> 32) as u32, self.bytes as u32]);
        words[7..9].copy_from_slice(&time(self.seconds * 1e6));
        words[9..12].copy_from_slice(&[self.lost as u32, self.out_of_order as u32, self.datagrams as u32]);
        for (at, us) in
            [(12, self.jitter_us), (14, least_us), (16, most_us), (18, mean_us * received as f64), (20, mean_us)]
        {
            words[at..at + 2].copy_from_slice(&time(us));
        }
        // Sum of squared differences from the mean.
        words[22] = (deviation_us * deviation_us * received.saturating_sub(1) as f64) as u32;
        words[26..29].copy_from_slice(&[received as u32, received as u32, self.seconds as u32]);
        let mut bytes = [0; REPORT_BYTES];
        for (into, word) in bytes.chunks_exact_mut(4).zip(words) {
            into.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Parses a server's answer; `None` if it is not a report.
    pub fn read(bytes: &[u8]) -> Option<ServerReport> {
        let number = |at| word(bytes, at).map(f64::from);
        let time = |at| Some(number(at)? * 1e6 + number(at + 1)?);
        let flags = word(bytes, 4)?;
        if flags & REPORT == 0 {
            return None;
        }
        let [lost, out_of_order, datagrams] = [word(bytes, 9)?, word(bytes, 10)?, word(bytes, 11)?].map(u64::from);
        let jitter_us = time(12)?;
        let count = number(26).unwrap_or(0.0);
        let deviation_us = (number(22).unwrap_or(0.0) / (count - 1.0).max(1.0)).sqrt();
        let latency =
            (|| Some(Latency { mean_us: time(20)?, least_us: time(14)?, most_us: time(16)?, deviation_us }))();
        Some(ServerReport {
            bytes: u64::from(word(bytes, 5)?) << 32 | u64::from(word(bytes, 6)?),
            seconds: time(7)? / 1e6,
            lost,
            out_of_order,
            datagrams,
            jitter_us,
            latency: latency.unwrap_or_default(),
        })
    }
}
