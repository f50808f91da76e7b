//! iperf2: a small part of its command line, what travels, and its text. Written from observation of 2.1.8: nothing here touches
//! the system.

mod lower;
mod options;
mod print;
mod settings;
mod wire;

pub use lower::{blocks, bounces, flow, form};
pub use options::{OPTIONS, help};
pub use print::{DASHES, Look, Met, Row, Stream};
pub use settings::{Asked, Back, Bins, Iperf2Settings, Test, read};
pub use wire::{Ask, LAST_TRIES, Latency, REPORT_BYTES, ServerReport, answer, tcp_head, udp_head};

/// The version whose language is spoken.
pub const VERSION: &str = "2.1.8";

#[cfg(test)]
mod tests;
