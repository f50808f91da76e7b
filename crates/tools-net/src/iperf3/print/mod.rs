//! Output of a test: text lines and JSON. Source: goldens of 3.12 and 3.21.

mod document;
mod text;

pub use document::before_start_json;

use super::format::Unit;
use super::json::Json;
use super::params::Params;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// File descriptor, which is the stream's number in the output.
    pub socket: i32,
    /// Whether this end sends.
    pub sends: bool,
    /// Local address and port.
    pub local: (String, u16),
    /// Remote address and port.
    pub remote: (String, u16),
}

/// TCP state of a sending stream at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpRow {
    pub window: u64,
    pub receiver_window: u64,
    pub rtt_us: u64,
    pub rtt_variation_us: u64,
    pub path_mtu: u64,
    pub reordering: u64,
}

/// Values of a stream in an interval, or of all streams in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Start, seconds since the start of the test.
    pub start: f64,
    /// End, seconds since the start of the test.
    pub end: f64,
    pub bytes: u64,
    /// Retransmitted segments, on a TCP sender that knows them.
    pub retransmits: Option<i64>,
    /// TCP state, on a TCP sender.
    pub tcp: Option<TcpRow>,
    /// Datagrams: number sent, or the highest number received.
    pub packets: i64,
    pub lost: i64,
    /// Number of datagrams that arrived late.
    pub out_of_order: i64,
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

    /// Sums up rows, over the time of the first one. Jitter is the mean.
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

/// Values of all streams in an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    pub rows: Vec<Row>,
    /// Whether the interval is omitted from the results.
    pub omitted: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Whole {
    /// Values of the sender; 0 if only the sender knows them.
    pub sent: Row,
    /// Values of the receiver.
    pub received: Row,
    /// Largest TCP windows, bytes.
    pub largest: TcpRow,
    /// Round trips, µs: largest, smallest, mean.
    pub rtt_us: [u64; 3],
}

/// The end of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ending {
    pub streams: Vec<Whole>,
    /// CPU time of this end and of the other one, percent: total, user, system.
    pub cpu: [[f64; 3]; 2],
    /// Congestion control algorithms: of the sender, of the receiver.
    pub congestion: [Option<String>; 2],
    /// Name and size of this end's file, if it has one.
    pub file: Option<(String, u64)>,
    /// The server's report, if requested.
    pub output: Option<Json>,
}

/// Facts known at the start of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// `Linux host release version machine`.
    pub system: String,
    /// Start time in GMT, in the format of mail headers.
    pub time: String,
    /// Start time, ms since 1970.
    pub time_ms: i64,
    /// Host and port of the other end.
    pub peer: (String, u16),
    pub cookie: String,
    /// Segment size of the control connection, bytes.
    pub segment: u32,
    /// Buffer sizes of the first stream, bytes: send, receive.
    pub buffers: [u64; 2],
}

/// A test, with the options of its output.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub params: Params,
    pub streams: Vec<Opened>,
    /// Whether this end is the server.
    pub is_server: bool,
    /// Unit of rates.
    pub unit: Unit,
    pub verbose: bool,
    pub interval_s: f64,
}

impl Report {
    /// Returns the bytes that a stream moved of a file, and their percentage.
    fn of_file(moved: u64, length: u64) -> (u64, u64) {
        // An empty file is complete.
        (moved, (moved * 100).checked_div(length).unwrap_or(100))
    }

    fn has_both(&self) -> bool {
        self.params.flow.bidir
    }
}
