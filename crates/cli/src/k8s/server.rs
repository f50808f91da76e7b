//! One question to the API server, over HTTPS.

use super::account::Account;
use crate::hosts::patience;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plumb_cluster::k8s::PodsError;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use std::io::{Error as IoError, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

/// Longest answer, in bytes.
const BODY_BYTES_MAX: usize = 8 << 20;

/// Returns the text of one page of the pods with these labels.
///
/// # Errors
/// The server cannot be reached, is not the expected one, refuses, or its answer is too long.
pub(super) fn pods(
    account: &Account,
    namespace: &str,
    selector: &str,
    limit: usize,
    next: Option<&str>,
) -> Result<Bytes, PodsError> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let mut path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={}&limit={limit}", encoded(selector));
    if let Some(next) = next {
        path.push_str(&format!("&continue={}", encoded(next)));
    }
    let server = format!("https://{}", account.authority());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| PodsError::Unreachable { server: server.clone(), reason: error.to_string() })?;
    let question = Question::new(account, path, server.clone())?;
    let patience = patience();
    let slow = |_| PodsError::Slow { server, seconds: patience.as_secs() };
    let (status, body) =
        runtime.block_on(async { tokio::time::timeout(patience, question.ask()).await.map_err(slow) })??;
    match status {
        StatusCode::OK => Ok(body),
        status => Err(PodsError::of_status(status.as_u16(), &body, namespace)),
    }
}

/// A question that has not been sent.
struct Question {
    server: String,
    addresses: Vec<SocketAddr>,
    name: ServerName<'static>,
    tls: ClientConfig,
    request: Request<Empty<Bytes>>,
}

impl Question {
    fn new(account: &Account, path: String, server: String) -> Result<Question, PodsError> {
        let unreachable = |reason: String| PodsError::Unreachable { server: server.clone(), reason };
        let addresses = (account.host.as_str(), account.port).to_socket_addrs();
        let addresses = addresses.map_err(|error| unreachable(error.to_string()))?.collect();
        let name = ServerName::try_from(account.host.clone()).map_err(|error| unreachable(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unreachable(error.to_string()))?
            .with_root_certificates(account.authorities()?)
            .with_no_client_auth();
        let bearer = Zeroizing::new(format!("Bearer {}", account.token()?.as_str()));
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|error| unreachable(error.to_string()))?;
        bearer.set_sensitive(true);
        let request = Request::get(path)
            .header(HOST, account.authority())
            .header(USER_AGENT, concat!("plumb/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, bearer)
            .body(Empty::new())
            .map_err(|error| unreachable(error.to_string()))?;
        Ok(Question { server, addresses, name, tls, request })
    }

    /// Connects, sends the request, and reads the answer. Follows no redirection, because it would carry the token elsewhere.
    async fn ask(self) -> Result<(StatusCode, Bytes), PodsError> {
        let server = self.server;
        let unreachable = |reason: String| PodsError::Unreachable { server: server.clone(), reason };
        let stream =
            TcpStream::connect(self.addresses.as_slice()).await.map_err(|error| unreachable(error.to_string()))?;
        let stream = TlsConnector::from(Arc::new(self.tls))
            .connect(self.name, stream)
            .await
            .map_err(|error| of_handshake(&server, &error))?;
        let broken = |error: hyper::Error| unreachable(words_of(&error));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Ends with the connection; its errors also reach the sender.
        tokio::spawn(connection);
        let answer = sender.send_request(self.request).await.map_err(broken)?;
        let status = answer.status();
        let body =
            Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await.map_err(|error| match error
                .is::<LengthLimitError>(
            ) {
                true => PodsError::Malformed { reason: format!("it is longer than {} MiB", BODY_BYTES_MAX >> 20) },
                false => unreachable(error.to_string()),
            })?;
        Ok((status, body.to_bytes()))
    }
}

/// Tells a server that cannot be verified from a connection that ended.
fn of_handshake(server: &str, error: &IoError) -> PodsError {
    let (server, reason) = (server.to_owned(), error.to_string());
    match error.kind() {
        ErrorKind::InvalidData => PodsError::Untrusted { server, reason },
        _ => PodsError::Unreachable { server, reason },
    }
}

/// Returns the cause of hyper's error, whose own words only name the step.
fn words_of(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
