//! iperf2: a small part of its command line, its wire format, and its text. Based on observation of 2.1.8. Nothing
//! here touches the system.

mod lower;
mod options;
mod print;
mod settings;
mod wire;

pub use lower::{blocks, bounces, flow, form};
pub use options::{OPTIONS, help};
pub use print::{DASHES, Met, OutputStyle, Row, Stream};
pub use settings::{Back, Bins, Invocation, Iperf2Settings, Test, read};
pub use wire::{Ask, LAST_TRIES, Latency, REPORT_BYTES, ServerReport, answer, tcp_head, udp_head};

/// The emulated version of iperf2.
pub const VERSION: &str = "2.1.8";

#[cfg(test)]
mod tests;
