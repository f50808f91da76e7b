//! An HTTP server for scrapers, in one thread that no client can block.

use super::http::{self, Token};
use plumb_report::stream::openmetrics::{CONTENT_TYPE, Exposition};
use plumb_result::stream::Streamed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most connections at a time. One more closes the oldest.
const CLIENTS_MAX: usize = 32;

/// Time within which a client must send its request and read the response.
const PATIENCE: Duration = Duration::from_secs(5);

/// The page is rendered at most once in this time, for any number of requests.
const PAGE_AGE: Duration = Duration::from_millis(100);

/// The exposed metrics, with the thread that serves them until this is dropped.
pub(crate) struct MetricsServer {
    exposition: Arc<Mutex<Exposition>>,
    /// Bound address. For port 0, it has the port that the kernel chose.
    pub address: SocketAddr,
    /// Closing it ends the thread.
    _running: UnixStream,
}

impl MetricsServer {
    /// Listens, and starts to serve.
    ///
    /// # Errors
    /// The address cannot be bound, or the thread cannot be started.
    pub(super) fn start(address: SocketAddr, token: Option<Token>) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let exposition = Arc::new(Mutex::new(Exposition::new(env!("CARGO_PKG_VERSION"))));
        let (owner, ended) = UnixStream::pair()?;
        let shared = Arc::clone(&exposition);
        let mut service =
            Service { listener, token, page: Page { exposition: shared, written: None }, clients: Vec::new() };
        std::thread::Builder::new().name("plumb-metrics".to_owned()).spawn(move || service.run(&ended))?;
        Ok(MetricsServer { exposition, address, _running: owner })
    }

    /// Adds an event to the metrics.
    pub(super) fn add(&self, line: &Streamed) {
        self.exposition.lock().unwrap_or_else(PoisonError::into_inner).add(line);
    }
}

/// Text of `/metrics`, cached for [`PAGE_AGE`].
struct Page {
    exposition: Arc<Mutex<Exposition>>,
    written: Option<(Instant, String)>,
}

impl Page {
    fn text(&mut self) -> String {
        let is_fresh = |(at, _): &(Instant, String)| at.elapsed() < PAGE_AGE;
        match &self.written {
            Some(written) if is_fresh(written) => written.1.clone(),
            _ => {
                let text = self.exposition.lock().unwrap_or_else(PoisonError::into_inner).text();
                self.written.insert((Instant::now(), text)).1.clone()
            }
        }
    }
}

struct Service {
    listener: TcpListener,
    token: Option<Token>,
    page: Page,
    clients: Vec<Client>,
}

/// A connection, which serves one request.
struct Client {
    socket: TcpStream,
    until: Instant,
    stage: Stage,
}

enum Stage {
    /// Received part of the request's head.
    Request(Vec<u8>),
    /// The response, and the number of bytes sent.
    Response(Vec<u8>, usize),
    /// All is sent. Reads and drops further input, since closing with unread input would reset
    /// the connection and lose the response.
    Closing,
}

/// Whether to keep a connection.
#[derive(PartialEq, Eq)]
enum Connection {
    Keep,
    Close,
}

impl Service {
    /// Serves until the owner closes its end.
    fn run(&mut self, owner: &UnixStream) {
        loop {
            let now = Instant::now();
            self.clients.retain(|client| client.until > now);
            let wait = self.clients.iter().map(|client| client.until - now).min();
            let ready = {
                let mut watched = vec![PollFd::new(owner, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
                watched.extend(self.clients.iter().map(|client| PollFd::new(&client.socket, client.interest())));
                let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
                match poll(&mut watched, wait.as_ref()) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    // Cannot serve without poll.
                    Err(_) => return,
                }
                watched.iter().map(|one| !one.revents().is_empty()).collect::<Vec<bool>>()
            };
            if ready[0] {
                return;
            }
            let mut of_clients = ready[2..].iter();
            let Service { clients, token, page, .. } = self;
            clients.retain_mut(|client| {
                let is_ready = of_clients.next().copied().unwrap_or(false);
                !is_ready || client.advance(token.as_ref(), page) == Connection::Keep
            });
            if ready[1] {
                self.accept_one();
            }
        }
    }

    fn accept_one(&mut self) {
        let Ok((socket, _)) = self.listener.accept() else {
            // Most likely out of file descriptors: try again later.
            std::thread::sleep(Duration::from_millis(10));
            return;
        };
        if socket.set_nonblocking(true).is_err() {
            return;
        }
        if self.clients.len() == CLIENTS_MAX {
            self.clients.remove(0);
        }
        let until = Instant::now() + PATIENCE;
        self.clients.push(Client { socket, until, stage: Stage::Request(Vec::new()) });
    }
}

impl Client {
    fn interest(&self) -> PollFlags {
        match self.stage {
            Stage::Request(_) | Stage::Closing => PollFlags::IN,
            Stage::Response(..) => PollFlags::OUT,
        }
    }

    /// Does one non-blocking read or write.
    fn advance(&mut self, token: Option<&Token>, page: &mut Page) -> Connection {
        let mut bytes = [0u8; 4096];
        match &mut self.stage {
            Stage::Request(head) => {
                match self.socket.read(&mut bytes) {
                    Ok(0) => return Connection::Close,
                    Ok(count) => head.extend_from_slice(&bytes[..count]),
                    Err(error) => return after_error(&error),
                }
                if let Some(response) = http::answer(head, token, CONTENT_TYPE, || page.text()) {
                    self.stage = Stage::Response(response, 0);
                }
                Connection::Keep
            }
            Stage::Response(response, sent) => match self.socket.write(&response[*sent..]) {
                Ok(count) => {
                    *sent += count;
                    if *sent == response.len() {
                        if self.socket.shutdown(Shutdown::Write).is_err() {
                            return Connection::Close;
                        }
                        self.stage = Stage::Closing;
                    }
                    Connection::Keep
                }
                Err(error) => after_error(&error),
            },
            Stage::Closing => match self.socket.read(&mut bytes) {
                Ok(0) => Connection::Close,
                Ok(_) => Connection::Keep,
                Err(error) => after_error(&error),
            },
        }
    }
}

fn after_error(error: &io::Error) -> Connection {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Connection::Keep,
        _ => Connection::Close,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_text::http::HEAD_BYTES_MAX;
    use std::net::{IpAddr, Ipv4Addr};

    fn server(token: Option<&str>) -> MetricsServer {
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        MetricsServer::start(any_port, token.map(|text| Token::new(text).unwrap())).unwrap()
    }

    fn send_request(server: &MetricsServer, request: &[u8]) -> String {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.write_all(request).unwrap();
        let mut all = Vec::new();
        let _ = socket.read_to_end(&mut all);
        String::from_utf8(all).unwrap()
    }

    const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

    // Protects: a scrape over a real connection, with the request in pieces as a network may deliver it.
    #[test]
    fn a_scrape() {
        let server = server(None);
        let page = send_request(&server, GET);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("# EOF\n"), "{page}");
        assert!(
            page.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
            "{page}"
        );
        let mut socket = TcpStream::connect(server.address).unwrap();
        for piece in GET.chunks(7) {
            socket.write_all(piece).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut all = String::new();
        socket.read_to_string(&mut all).unwrap();
        assert!(all.ends_with("# EOF\n"), "{all}");
    }

    // Protects: a client that sends nothing, sends without end, or never reads does not block other clients.
    #[test]
    fn slow_and_greedy_clients_block_no_other() {
        let server = server(Some("0123456789abcdef"));
        let silent: Vec<TcpStream> =
            (0..CLIENTS_MAX + 8).map(|_| TcpStream::connect(server.address).unwrap()).collect();
        let mut unread = TcpStream::connect(server.address).unwrap();
        unread.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
        let long = send_request(&server, &vec![b'a'; HEAD_BYTES_MAX + 4096]);
        assert!(long.is_empty() || long.starts_with("HTTP/1.1 431"), "{long}");
        assert!(send_request(&server, GET).starts_with("HTTP/1.1 401"), "the request has no token");
        let request = b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n";
        assert!(send_request(&server, request).starts_with("HTTP/1.1 200"));
        drop((silent, unread));
        assert!(send_request(&server, request).starts_with("HTTP/1.1 200"));
    }

    // Protects: the port is free again once the run is over.
    #[test]
    fn the_thread_ends_with_the_server() {
        let server = server(None);
        let address = server.address;
        drop(server);
        let gone = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            TcpStream::connect(address).is_err()
        });
        assert!(gone, "the port is still in use");
    }
}
