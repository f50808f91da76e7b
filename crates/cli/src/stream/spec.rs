//! Parses streams: `ndjson:FILE`, `influx:FILE`, `openmetrics:ADDRESS`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// A format and its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamSpec {
    /// JSON, one object per line.
    Ndjson(Destination),
    Influx(Destination),
    /// Text of the metrics in OpenMetrics, for Prometheus.
    OpenMetrics(SocketAddr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// `-`
    StandardOutput,
    /// A file to append to.
    File(PathBuf),
}

/// Error from parsing a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The text starts with no known format.
    #[error("`{0}` is not a stream; use ndjson:FILE, influx:FILE (`-` for standard output) or openmetrics:ADDRESS")]
    Form(String),
    /// Nothing follows the colon of the form.
    #[error("`{0}:` lacks {1}")]
    Nowhere(&'static str, &'static str),
    /// The text after the form is not an address.
    #[error("`{text}` is not an address ({reason}); use openmetrics:9750 or openmetrics:127.0.0.1:9750")]
    Address { text: String, reason: String },
}

impl StreamSpec {
    /// Returns `true` if it goes to standard output.
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

/// Parses an address. A port alone, with or without a colon, is on loopback.
fn address(text: &str) -> Result<SocketAddr, SpecError> {
    if text.is_empty() {
        return Err(SpecError::Nowhere("openmetrics", "an address"));
    }
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let invalid = |reason: String| SpecError::Address { text: text.to_owned(), reason };
    let mut found = text.to_socket_addrs().map_err(|error| invalid(error.to_string()))?;
    found.next().ok_or_else(|| invalid("the name has none".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: all forms parse, and the default address is loopback.
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
