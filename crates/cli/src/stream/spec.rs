//! Where a stream goes, as typed: `ndjson:FILE`, `influx:FILE`, `openmetrics:ADDRESS`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// A stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamSpec {
    /// JSON, one object a line.
    Ndjson(Destination),
    /// InfluxDB's line protocol.
    Influx(Destination),
    /// A page for Prometheus.
    OpenMetrics(SocketAddr),
}

/// A file, or standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// `-`.
    StandardOutput,
    /// A file, to which is added.
    File(PathBuf),
}

/// A text is no stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// It begins with none of the forms.
    #[error("`{0}` is not a stream; use ndjson:FILE, influx:FILE (`-` for standard output) or openmetrics:ADDRESS")]
    Form(String),
    /// Nothing follows the form.
    #[error("`{0}:` lacks {1}")]
    Nowhere(&'static str, &'static str),
    /// The address is none.
    #[error("`{text}` is not an address ({reason}); use openmetrics:9750 or openmetrics:127.0.0.1:9750")]
    Address {
        /// What was typed.
        text: String,
        /// Why not.
        reason: String,
    },
}

impl StreamSpec {
    /// Whether it goes to standard output.
    pub(crate) fn takes_standard_output(&self) -> bool {
        matches!(
            self,
            StreamSpec::Ndjson(Destination::StandardOutput) | StreamSpec::Influx(Destination::StandardOutput)
        )
    }
}

impl FromStr for StreamSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<StreamSpec, SpecError> {
        let (form, rest) = text.split_once(':').ok_or_else(|| SpecError::Form(text.to_owned()))?;
        match form {
            "ndjson" => Ok(StreamSpec::Ndjson(destination("ndjson", rest)?)),
            "influx" => Ok(StreamSpec::Influx(destination("influx", rest)?)),
            "openmetrics" => address(rest).map(StreamSpec::OpenMetrics),
            _ => Err(SpecError::Form(text.to_owned())),
        }
    }
}

impl std::fmt::Display for StreamSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StreamSpec::Ndjson(to) => write!(f, "ndjson:{to}"),
            StreamSpec::Influx(to) => write!(f, "influx:{to}"),
            StreamSpec::OpenMetrics(address) => write!(f, "openmetrics:{address}"),
        }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::StandardOutput => f.write_str("-"),
            Destination::File(path) => write!(f, "{}", path.display()),
        }
    }
}

fn destination(form: &'static str, text: &str) -> Result<Destination, SpecError> {
    match text {
        "" => Err(SpecError::Nowhere(form, "a file")),
        "-" => Ok(Destination::StandardOutput),
        path => Ok(Destination::File(path.into())),
    }
}

/// A port alone, with or without a colon, is one of this machine's own.
fn address(text: &str) -> Result<SocketAddr, SpecError> {
    if text.is_empty() {
        return Err(SpecError::Nowhere("openmetrics", "an address"));
    }
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let wrong = |reason: String| SpecError::Address { text: text.to_owned(), reason };
    let mut found = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("the name has none".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: what is typed, and that an address is this machine's own where none is named.
    #[test]
    fn forms_and_addresses() {
        let read = |text: &str| text.parse::<StreamSpec>().map(|spec| spec.to_string());
        assert_eq!(read("ndjson:a:b.json"), Ok("ndjson:a:b.json".to_owned()));
        assert_eq!(read("influx:-"), Ok("influx:-".to_owned()));
        for text in ["openmetrics:9750", "openmetrics::9750", "openmetrics:127.0.0.1:9750"] {
            assert_eq!(read(text), Ok("openmetrics:127.0.0.1:9750".to_owned()), "{text}");
        }
        assert_eq!(read("openmetrics:[::1]:1"), Ok("openmetrics:[::1]:1".to_owned()));
        for text in ["", "file.json", "json:f", "ndjson:", "openmetrics:", "openmetrics:1.2.3.4", "openmetrics:70000"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
