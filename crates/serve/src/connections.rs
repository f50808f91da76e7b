//! Accepts connections, with limits on their number, their age and the time of their heads.

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// Limits of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Number of connections at once; further ones are closed.
    pub all: usize,
    /// Number of connections of one address at once.
    pub of_address: usize,
    /// Longest time until a request's head is complete, also between two requests of a connection.
    pub head: Duration,
    /// Time after which a connection ends once its current answer is complete.
    pub age: Duration,
    /// Further time after which a connection is cut even within an answer, so that a client that does not read ends too.
    pub grace: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        let seconds = Duration::from_secs;
        ConnectionLimits { all: 512, of_address: 128, head: seconds(15), age: seconds(300), grace: seconds(60) }
    }
}

/// Largest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// Largest number of headers of a request.
const HEADERS_MAX: usize = 64;

/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Longest time that open requests may take after `stop`.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves connections until `stop` is ready, and then finishes open requests.
pub async fn serve_connections(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    tls: Option<TlsAcceptor>,
    stop: impl Future<Output = ()>,
) {
    let counts = Arc::new(Counts { all: Arc::new(Semaphore::new(limits.all)), of_address: Mutex::default() });
    let (stopping, stopped) = watch::channel(false);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Beyond the limits the connection is closed at once.
        let Some(place) = Place::take(&counts, peer.ip(), limits.of_address) else { continue };
        let connection = connection(stream, peer, router.clone(), limits, tls.clone(), stopped.clone());
        tokio::spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = stopping.send(true);
    drop(stopped);
    let _ = tokio::time::timeout(FAREWELL, stopping.closed()).await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: ConnectionLimits,
    tls: Option<TlsAcceptor>,
    stopped: watch::Receiver<bool>,
) {
    // Answers are complete when they are written.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        return serve_stream(stream, peer, router, limits, stopped).await;
    };
    // A handshake that fails or takes too long ends this connection alone.
    if let Ok(Ok(stream)) = tokio::time::timeout(limits.head, tls.accept(stream)).await {
        serve_stream(stream, peer, router, limits, stopped).await;
    }
}

async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    router: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<bool>,
) {
    let router = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.map(Body::new)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // An error ends this connection alone.
        _ = connection.as_mut() => return,
        () = tokio::time::sleep(limits.age) => {}
        _ = stopped.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(limits.grace, connection).await;
}

/// Connections that are open.
struct Counts {
    all: Arc<Semaphore>,
    of_address: Mutex<BTreeMap<IpAddr, usize>>,
}

/// The place of one open connection; dropping it frees the place.
struct Place {
    counts: Arc<Counts>,
    address: IpAddr,
    _one_of_all: tokio::sync::OwnedSemaphorePermit,
}

impl Place {
    fn take(counts: &Arc<Counts>, address: IpAddr, most: usize) -> Option<Place> {
        let one_of_all = Arc::clone(&counts.all).try_acquire_owned().ok()?;
        let mut of_address = counts.of_address.lock().unwrap_or_else(PoisonError::into_inner);
        let open = of_address.entry(address).or_insert(0);
        if *open >= most {
            return None;
        }
        *open += 1;
        drop(of_address);
        Some(Place { counts: Arc::clone(counts), address, _one_of_all: one_of_all })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of_address = self.counts.of_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = of_address.get_mut(&self.address) {
            *open -= 1;
            if *open == 0 {
                of_address.remove(&self.address);
            }
        }
    }
}
