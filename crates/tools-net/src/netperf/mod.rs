//! netperf and netserver: their command lines, the protocol of their control connection, and their text. Based on
//! observation of 2.7. Nothing here touches the system.

mod connects;
mod exchange;
mod lower;
mod message;
mod options;
mod print;
mod selectors;
mod sendfile;
mod settings;
mod values;
mod wire;
mod words;

pub use exchange::{BYTES_MAX, Cpu, Direction, Length, Refused, Request, Response, Results};
pub use lower::{flow, length_ops, trip_bytes};
pub use message::{Kind, MESSAGE_BYTES, Message};
pub use options::{CLIENT, SERVER, TEST, help};
pub use print::{Confidence, End, Interim, Report, demand, half_width, not_confident, title};
pub use selectors::{SELECTORS, list};
pub use settings::{
    Direct, Form, Invocation, NetperfSettings, NetperfUsageError, PROCESSOR_MAX, Pair, Server, Unit, read, read_server,
};
pub use wire::PORT;

#[cfg(test)]
mod tests;
