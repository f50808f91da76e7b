//! The connection to one real elbencho service.

use plumb_text::visible::visible_line;
use plumb_tools_app::elbencho::protocol::{self, AnswerError};
use std::time::Duration;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Timeout for the answer that says what a host is. A service answers at once, unless it prepares for another client.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// Longest prefix of an unexpected answer that is searched and shown, bytes.
const SHOWN_BYTES_MAX: usize = 400;

/// Error from a service. Display has no host name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    /// The request or its answer failed.
    #[error("is lost: {0}")]
    Lost(Box<ureq::Error>),
    /// The service refused the request, in its own words.
    #[error("refuses: {0}")]
    Refused(String),
    #[error("answers what its protocol does not have: {0}")]
    Answer(#[from] AnswerError),
    /// The service runs a phase of another client.
    #[error("works for another client by now, which replaced this benchmark")]
    Replaced,
    /// Threads of the service failed, in its own words.
    #[error("reports: {0}")]
    Failed(String),
}

impl From<ureq::Error> for ServiceError {
    fn from(error: ureq::Error) -> ServiceError {
        ServiceError::Lost(Box::new(error))
    }
}

/// A client of one real elbencho service.
pub(crate) struct ServiceClient {
    pub(super) name: String,
    agent: ureq::Agent,
}

/// The kind of program that answers at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceKind {
    /// A service of Plumb, or nothing that speaks HTTP.
    Plumb,
    /// A real elbencho service of the protocol that is spoken here.
    Real,
}

impl ServiceClient {
    /// Creates a client. It connects with its first request.
    pub(super) fn new(name: &str) -> ServiceClient {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A proxy of the environment is for web pages.
            .proxy(None)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .build();
        ServiceClient { name: name.to_owned(), agent: config.into() }
    }

    /// Sends a request, and returns the body of the answer.
    ///
    /// # Errors
    /// The service cannot be reached, answers too late, too much, or with a refusal.
    pub(super) fn get(&self, target: &str, within: Duration) -> Result<Vec<u8>, ServiceError> {
        let request = self.agent.get(self.url(target)).config().timeout_global(Some(within)).build();
        body(request.call()?)
    }

    /// Sends a request with a body, and returns the body of the answer.
    ///
    /// # Errors
    /// As [`ServiceClient::get`].
    pub(super) fn post(&self, target: &str, text: &str, within: Duration) -> Result<Vec<u8>, ServiceError> {
        let request = self.agent.post(self.url(target)).config().timeout_global(Some(within)).build();
        body(request.send(text)?)
    }

    fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.name)
    }
}

/// Reads the body of a successful answer.
fn body(mut answer: ureq::http::Response<ureq::Body>) -> Result<Vec<u8>, ServiceError> {
    let status = answer.status();
    let body = answer.body_mut().with_config().limit(protocol::ANSWER_BYTES_MAX).read_to_vec()?;
    match status.is_success() {
        true => Ok(body),
        false if body.is_empty() => Err(ServiceError::Refused(format!("HTTP status {status}"))),
        false => Err(ServiceError::Refused(words(&String::from_utf8_lossy(&body)))),
    }
}

/// Makes a service's words safe to print: on one line, without control characters.
pub(super) fn words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    visible_line(&lines.join(" / ")).into_owned()
}

/// Reason why the hosts that are named are not led.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KindError {
    #[error(
        "host {host}: a real elbencho service with protocol {version}; `plumb as elbencho` speaks {}, that of elbencho {}: \
         run that version there",
        protocol::VERSION,
        plumb_tools_app::elbencho::VERSION
    )]
    Protocol { host: String, version: String },
    #[error(
        "host {host}: speaks HTTP, and answers {} with `{answer}`, which is not a version: no elbencho service listens there",
        protocol::PROTOCOL_VERSION
    )]
    Foreign { host: String, answer: String },
    #[error(
        "{real} is a real elbencho service and {plumb} is not; one command leads services of one kind: name them in two \
         commands, or start the same program on all hosts"
    )]
    Mixed { real: String, plumb: String },
    #[error("host {host}: the thread that asks it panicked")]
    Panicked { host: String },
}

/// Asks all hosts at the same time, so that silent ones cost the timeout only once.
pub(crate) fn kinds(names: &[String]) -> Vec<Result<ServiceKind, KindError>> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = names.iter().map(|name| (name, scope.spawn(|| kind(name)))).collect();
        let panicked = |host: &String| Err(KindError::Panicked { host: host.clone() });
        asked.into_iter().map(|(name, thread)| thread.join().unwrap_or_else(|_| panicked(name))).collect()
    })
}

/// Asks a host for its protocol. A Plumb service answers HTTP too, and says that it is one.
///
/// # Errors
/// The host speaks HTTP and is neither service, or is a real one of another protocol.
fn kind(host: &str) -> Result<ServiceKind, KindError> {
    // `ssh:HOST` needs no service, and other texts are not hosts of a URL.
    let is_of_host = |character: char| character.is_ascii_alphanumeric() || "._-:[]%".contains(character);
    if !host.chars().all(is_of_host) || host.starts_with("ssh:") || host.starts_with("unix:") {
        return Ok(ServiceKind::Plumb);
    }
    let client = ServiceClient::new(host);
    let answer = match client.get(protocol::PROTOCOL_VERSION, PROBE_PATIENCE) {
        Ok(body) => String::from_utf8_lossy(&body).into_owned(),
        Err(ServiceError::Refused(words)) => words,
        // The error of Plumb's own protocol says more.
        Err(_) => return Ok(ServiceKind::Plumb),
    };
    let host = host.to_owned();
    match protocol::version(&answer) {
        Some(protocol::VERSION) => Ok(ServiceKind::Real),
        Some(version) => Err(KindError::Protocol { host, version: version.to_owned() }),
        None if answer.contains("plumb as elbencho") => Ok(ServiceKind::Plumb),
        None => {
            let shown: String = answer.chars().take(SHOWN_BYTES_MAX).collect();
            Err(KindError::Foreign { host, answer: words(&shown) })
        }
    }
}
