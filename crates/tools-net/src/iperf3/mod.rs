//! iperf3: its command line, its control protocol, its text and its JSON. Based on observation of 3.12 and 3.21.
//! Nothing here touches the system.

mod auth;
pub(crate) mod format;
mod json;
mod lower;
pub(crate) mod options;
mod params;
mod print;
pub(crate) mod settings;
pub(crate) mod values;
mod wire;

pub use auth::{Claim, Denied, Gate, KeyWrong, Padding, PrivateKey, PublicKey, Users, answer_at};
pub use format::{Unit, bytes_text, general, rate_text};
pub use json::Json;
pub use lower::flow;
pub use options::{OPTIONS, help};
pub use params::{
    FlowParams, Limits, PaceParams, Params, PassingParams, Refused, ReportParams, SocketParams, TestEnd, Transport,
    TripParams,
};
pub use print::{Ending, Interval, Opened, Report, Row, Start, TcpRow, Whole, before_start_json};
pub use settings::{Client, End, Invocation, Iperf3Settings, Iperf3UsageError, Output, Server, read};
pub use wire::{
    AUTHORIZATION_FAILED, COOKIE_BYTES, COOKIE_LETTERS, PARAMS_BYTES_MAX, RESULTS_BYTES_MAX, Results, State,
    StreamResult, UDP_HELLO, UDP_REPLIES, VERSION, error_text, stream_id, udp_reply,
};

#[cfg(test)]
mod tests;
