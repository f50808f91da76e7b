//! What travels: what a client says at the start of its data, and what a server answers to the last datagram. Numbers are of 4
//! bytes in the order of the network.

use super::settings::{Back, Test};
use plumb_workload::net::BLOCK_BYTES_MAX;

/// There is more than the first part; numbers of 64 bits; times on the way; the length is there.
const EXTENDED: u32 = 0x4000_0000;
const WIDE_NUMBERS: u32 = 0x0800_0000;
const TRIPS: u32 = 0x2000_0000;
const HAS_LENGTH: u32 = 0x0001_0000;
/// The server sends: alone, or at the same time.
const SERVER_SENDS: u32 = 0x0400_0000;
/// The server connects back to the port that is said: at once, or afterwards. Source: 2.1.8, `HEADER_VERSION1`, `RUN_NOW`.
const BACK: u32 = 0x8000_0000;
const BACK_AT_ONCE: u32 = 0x0000_0001;
/// The same, of the second part.
const TRIPS_EXTENDED: u32 = 0x0010_0000;
const REVERSE_EXTENDED: u32 = 0x0400_0000;
const BOTH_EXTENDED: u32 = 0x0800_0000;
/// A server's report: its first part, and times on the way.
const REPORT: u32 = 0x8000_0000;
const REPORT_TRIPS: u32 = 0x4000_0000;

/// Version 2.1.8, as it travels.
const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];

/// So often the last datagram is sent until it is answered.
pub const LAST_TRIES: u32 = 10;

/// Bytes at the start of a TCP stream that say what is wanted; with times on the way, there are more.
const TCP_HEAD_BYTES: usize = 60;
const TCP_HEAD_BYTES_TRIPS: usize = 80;

/// Bytes that are sent to a client that asks for times on the way of what it sends.
const ANSWER_BYTES: usize = 52;

/// What a client may say that its header has, bytes.
const HEAD_BYTES_MAX: u32 = 512;

/// Bytes of a server's report.
pub const REPORT_BYTES: usize = 128;

fn head(test: &Test, port: u16, flags: u32) -> [u32; 27] {
    // Hundredths of seconds below zero, or bytes.
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

/// What each datagram of a client has behind its number and time. The test starts at this time of the epoch, microseconds.
pub fn udp_head(test: &Test, port: u16, start_us: u64) -> [u32; 27] {
    let length = if test.trip_times { 108 } else { 76 };
    let trips = if test.trip_times { TRIPS } else { 0 };
    let mut words = head(test, port, EXTENDED | WIDE_NUMBERS | HAS_LENGTH | trips | (length << 1));
    if test.trip_times {
        // Servers believe no other clocks than one that is near theirs.
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

/// What a TCP stream of a client begins with, and one of a server that sends bursts. The test starts at this time of the epoch,
/// microseconds.
pub fn tcp_head(test: &Test, port: u16, start_us: u64) -> Vec<u8> {
    let (words, length) = tcp_words(test, port, start_us);
    words.iter().flat_map(|word| word.to_be_bytes()).take(length).collect()
}

/// What each of its bursts begins with; its time, number and length are written as it is sent.
pub(super) fn burst_head(test: &Test, port: u16, start_us: u64) -> [u32; 27] {
    let (mut words, _) = tcp_words(test, port, start_us);
    words[3..5].copy_from_slice(&time_words(start_us));
    words[5..8].fill(0);
    words[11..14].fill(0);
    words
}

/// A time of the epoch: seconds and microseconds.
fn time_words(us: u64) -> [u32; 2] {
    [(us / 1_000_000) as u32, (us % 1_000_000) as u32]
}

/// What a client is sent that asks for times on the way: when its test began, and when the server has read that.
pub fn answer(ask: &Ask, now_us: u64) -> Vec<u8> {
    let [start, now] = [ask.start_us, now_us].map(time_words);
    let words =
        [2, ANSWER_BYTES as u32, 0, VERSION[0], VERSION[1], 0, 0, start[0], start[1], now[0], now[1], now[0], now[1]];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A message of round trips, and the fewest bytes that one has.
const BOUNCE: u32 = 0x0080_0000;
pub(super) const BOUNCE_BYTES_MIN: u32 = 64;

/// What each message of round trips begins with. Its times are -1 where they are not known yet.
pub(super) fn bounce_head(bytes: u32) -> [u32; 27] {
    let mut words = [0; 27];
    words[..4].copy_from_slice(&[BOUNCE, bytes, 1, 0x5a5a]);
    words[7..11].fill(u32::MAX);
    words
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?))
}

/// What a client wants, as far as a server does it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ask {
    /// The server sends.
    pub reverse: bool,
    /// Both ends send, over one connection.
    pub full_duplex: bool,
    /// The request that the server connects back, of `-d` and `-r`.
    pub back: Option<Back>,
    /// Times on the way are worth something.
    pub trip_times: bool,
    /// The version of the client.
    pub version: Option<[u16; 3]>,
    /// Seconds for which the server sends, or bytes, where there are any.
    pub time_s: f64,
    /// See above.
    pub bytes: u64,
    /// When a TCP test with times on the way began, microseconds of the epoch.
    pub start_us: u64,
    /// Bits a second at which it does.
    pub rate: Option<f64>,
    /// Bytes of the messages of round trips, and how long the server holds each, µs.
    pub bounces: Option<[u32; 2]>,
}

impl Ask {
    /// Of what a stream begins with, or of what datagrams have behind their number and time. Whatever is no header asks for
    /// nothing.
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
            // Version 2.0 has the first part alone.
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

    /// Bytes of the messages of round trips, where they are what a server answers.
    pub fn bounce_bytes(&self) -> Option<u32> {
        let is_answered =
            |&[bytes, hold]: &[u32; 2]| (BOUNCE_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&bytes) && hold == 0;
        self.bounces.filter(is_answered).map(|[bytes, _]| bytes)
    }
}

/// Times that datagrams were on the way, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    /// In the mean.
    pub mean_us: f64,
    /// The shortest.
    pub least_us: f64,
    /// The longest.
    pub most_us: f64,
    /// Standard deviation.
    pub deviation_us: f64,
}

impl Latency {
    /// `0.076/0.013/0.339/0.099`, in ms.
    pub(super) fn milliseconds(&self) -> String {
        let Latency { mean_us, least_us, most_us, deviation_us } = self;
        let [mean, least, most, deviation] = [mean_us, least_us, most_us, deviation_us].map(|us| us / 1e3);
        format!("{mean:.3}/{least:.3}/{most:.3}/{deviation:.3}")
    }
}

/// What a server has received of a stream of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerReport {
    /// Bytes.
    pub bytes: u64,
    /// In this time.
    pub seconds: f64,
    /// Datagrams that did not come.
    pub lost: u64,
    /// Those that came behind a later one.
    pub out_of_order: u64,
    /// Those that were sent.
    pub datagrams: u64,
    /// Smoothed variation of the times on the way.
    pub jitter_us: f64,
    /// The times themselves.
    pub latency: Latency,
}

impl ServerReport {
    /// As it is sent to a client that has asked for times on the way, or has not.
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
        // The sum of squares of the differences from the mean.
        words[22] = (deviation_us * deviation_us * received.saturating_sub(1) as f64) as u32;
        words[26..29].copy_from_slice(&[received as u32, received as u32, self.seconds as u32]);
        let mut bytes = [0; REPORT_BYTES];
        for (into, word) in bytes.chunks_exact_mut(4).zip(words) {
            into.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Of a server's answer; `None` where it is none.
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
