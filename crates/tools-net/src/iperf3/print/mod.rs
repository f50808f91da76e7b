//! What is printed of a test: lines for people, and the same as JSON. Source: goldens of 3.12 and 3.21.

mod document;
mod text;

pub use document::before_start_json;

use super::format::Unit;
use super::json::Json;
use super::params::Params;

/// A connected stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// The number of its descriptor, which is what lines call it.
    pub socket: i32,
    /// Whether this end sends.
    pub sends: bool,
    /// This end: address and port.
    pub local: (String, u16),
    /// The other one.
    pub remote: (String, u16),
}

/// What the system knew of a sending TCP stream at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpRow {
    pub window: u64,
    pub receiver_window: u64,
    pub rtt_us: u64,
    pub rtt_variation_us: u64,
    pub path_mtu: u64,
    pub reordering: u64,
}

/// What a stream did in some time, or all of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Seconds, from the start.
    pub start: f64,
    /// See above.
    pub end: f64,
    /// Bytes.
    pub bytes: u64,
    /// Of a TCP sender that knows.
    pub retransmits: Option<i64>,
    /// Of a TCP sender.
    pub tcp: Option<TcpRow>,
    /// Datagrams: sent, or the highest number that came.
    pub packets: i64,
    /// Of those, missing ones.
    pub lost: i64,
    /// And those that came late.
    pub out_of_order: i64,
    /// Seconds.
    pub jitter_s: f64,
}

impl Row {
    fn bits_per_second(&self) -> f64 {
        let seconds = self.end - self.start;
        if seconds > 0.0 { self.bytes as f64 * 8.0 / seconds } else { 0.0 }
    }

    fn lost_percent(&self) -> f64 {
        if self.packets > 0 { self.lost as f64 * 100.0 / self.packets as f64 } else { 0.0 }
    }

    /// All of them together, over the time of the first; jitter is their mean.
    pub fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> Row {
        let mut sum = Row::default();
        let mut count = 0;
        for row in rows {
            if count == 0 {
                (sum.start, sum.end) = (row.start, row.end);
            }
            count += 1;
            sum.bytes += row.bytes;
            sum.retransmits = row.retransmits.map(|more| sum.retransmits.unwrap_or(0) + more).or(sum.retransmits);
            sum.packets += row.packets;
            sum.lost += row.lost;
            sum.out_of_order += row.out_of_order;
            sum.jitter_s += row.jitter_s;
        }
        sum.jitter_s /= f64::from(count.max(1));
        sum
    }
}

/// What all streams did in an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    /// By stream.
    pub rows: Vec<Row>,
    /// Before what counts.
    pub omitted: bool,
}

/// What a stream did in all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Whole {
    /// As its sender says; zero where only that knows.
    pub sent: Row,
    /// As its receiver says.
    pub received: Row,
    /// Largest windows, bytes, and round trips, µs: largest, smallest, mean.
    pub largest: TcpRow,
    /// See above.
    pub rtt_us: [u64; 3],
}

/// The end of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ending {
    /// By stream.
    pub streams: Vec<Whole>,
    /// Processor time of this end and of the other in per cent: all, user, system.
    pub cpu: [[f64; 3]; 2],
    /// Algorithms of congestion control: the sender's, the receiver's.
    pub congestion: [Option<String>; 2],
    /// The file of this end and its bytes, where it has one.
    pub file: Option<(String, u64)>,
    /// The server's report, where it was asked for.
    pub output: Option<Json>,
}

/// What is known when a test starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// `Linux host release version machine`.
    pub system: String,
    /// As mail has it, GMT.
    pub time: String,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The server, or the client: host and port.
    pub peer: (String, u16),
    /// 36 letters.
    pub cookie: String,
    /// Bytes of a segment of the control connection.
    pub segment: u32,
    /// Bytes of the buffers of the first stream: for sending, for receiving.
    pub buffers: [u64; 2],
}

/// Who prints, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The test.
    pub params: Params,
    /// Its streams.
    pub streams: Vec<Opened>,
    /// This end is the server.
    pub is_server: bool,
    /// Of rates.
    pub unit: Unit,
    /// More is printed.
    pub verbose: bool,
    /// Seconds between intervals.
    pub interval_s: f64,
}

impl Report {
    /// Of a file: bytes that a stream moved, and their share of it in per cent.
    fn of_file(moved: u64, length: u64) -> (u64, u64) {
        // An empty file is whole.
        (moved, (moved * 100).checked_div(length).unwrap_or(100))
    }

    fn has_both(&self) -> bool {
        self.params.flow.bidir
    }
}
