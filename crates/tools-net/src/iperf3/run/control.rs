//! A control connection, plain or in TLS: bytes within deadlines and limits. `plumb_tools_net::iperf3` interprets
//! them.

use plumb_engine::net::KeepAlive;
use plumb_tls::{Channel, ChannelError};
use plumb_tools_net::iperf3::{Denied, Json, State, error_text};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Time within which the other end must answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Purpose that the proof of the token is limited to.
pub(super) const PURPOSE: &str = "net";

/// Error that ends a test.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The connection to the server failed.
    #[error(
        "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: {0}"
    )]
    Connect(String),
    /// The server has no capacity, or serves another client.
    #[error("the server is busy running a test. try again later")]
    Busy,
    #[error("{0}")]
    Server(String),
    /// The other end closed the connection.
    #[error("control socket has closed unexpectedly")]
    Closed,
    /// The other end was terminated by a signal.
    #[error("the {0} has terminated")]
    Terminated(&'static str),
    /// The other end did not answer in time.
    #[error("the other end did not answer in time: {0} expected")]
    Silent(&'static str),
    /// The other end violated the protocol.
    #[error("unexpected message from the other end: {0}")]
    Message(String),
    #[error("control socket: {0}")]
    Io(#[from] io::Error),
    /// A stream could not be created.
    #[error("unable to create a new stream: {0}")]
    Stream(String),
    #[error("data stream: {0}")]
    Flow(String),
    /// The other end sent nothing for too long.
    #[error("idle timeout for receiving data")]
    Idle,
    /// The file of `-F` could not be used.
    #[error("unable to open the file of the stream: {0}")]
    File(String),
    /// The kernel does not support SCTP.
    #[error("this kernel has no SCTP ({0}); `modprobe sctp` loads it if it is a module")]
    NoSctp(io::Error),
    /// The other end does not support a parameter.
    #[error("{0}")]
    Unable(&'static str),
    /// The client is not a known user.
    #[error("test authorization failed: {0}")]
    Denied(#[from] Denied),
    /// The other end failed to authenticate.
    #[error("{0}")]
    Channel(#[from] ChannelError),
    #[error("interrupt - the {0} has terminated")]
    Interrupted(&'static str),
}

#[derive(Debug)]
pub(super) enum Control {
    /// Plain TCP, as in iperf3.
    Plain(TcpStream),
    /// TLS between two ends of Plumb with a common token.
    Secure(Channel),
}

impl Control {
    /// Sets up a new connection.
    pub(super) fn new(socket: TcpStream, keep_alive: KeepAlive) -> io::Result<Control> {
        // Only TCP sockets have the option.
        let _ = socket.set_nodelay(true);
        socket.set_write_timeout(Some(PATIENCE))?;
        plumb_engine::net::watch(&socket, keep_alive);
        Ok(Control::Plain(socket))
    }

    /// Returns the socket. Its bytes must not be read or written directly.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Control::Plain(socket) => socket,
            Control::Secure(channel) => channel.socket(),
        }
    }

    /// Reads until the buffer is full or the deadline passes.
    pub(super) fn read(&mut self, into: &mut [u8], until: Instant, what: &'static str) -> Result<(), TestError> {
        let mut got = 0;
        while got < into.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TestError::Silent(what));
            }
            let read = match self {
                Control::Plain(socket) => {
                    socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
                    socket.read(&mut into[got..])
                }
                Control::Secure(channel) => {
                    channel.set_deadline(Some(until));
                    channel.read(&mut into[got..])
                }
            };
            match read {
                Ok(0) => return Err(TestError::Closed),
                Ok(count) => got += count,
                Err(error) if is_early(&error) => {}
                Err(error) => return Err(convert_error(error)),
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), TestError> {
        let sent = match self {
            Control::Plain(socket) => socket.write_all(bytes),
            Control::Secure(channel) => {
                channel.set_deadline(Some(Instant::now() + PATIENCE));
                channel.write_all(bytes)
            }
        };
        sent.map_err(convert_error)
    }

    pub(super) fn say(&mut self, state: State) -> Result<(), TestError> {
        self.send(&[state as i8 as u8])
    }

    /// Sends JSON, preceded by its length.
    pub(crate) fn send_json(&mut self, json: &Json) -> Result<(), TestError> {
        let text = json.line();
        let length = u32::try_from(text.len()).map_err(|_| TestError::Message("too much JSON".to_owned()))?;
        self.send(&[&length.to_be_bytes(), text.as_bytes()].concat())
    }

    /// Reads JSON of at most `most` bytes.
    pub(super) fn read_json(&mut self, most: usize, what: &'static str) -> Result<Vec<u8>, TestError> {
        let until = Instant::now() + PATIENCE;
        let mut length = [0; 4];
        self.read(&mut length, until, what)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > most {
            return Err(TestError::Message(format!("{what} of {length} bytes; the limit is {most}")));
        }
        // Memory grows only with received data.
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let from = bytes.len();
            bytes.resize(length.min(from + (64 << 10)), 0);
            self.read(&mut bytes[from..], until, what)?;
        }
        Ok(bytes)
    }

    /// Returns the next state before a deadline. States that end a test are errors.
    pub(super) fn state(&mut self, until: Instant, what: &'static str) -> Result<State, TestError> {
        let mut byte = [0];
        self.read(&mut byte, until, what)?;
        match State::from_byte(byte[0]) {
            Some(State::AccessDenied) => Err(TestError::Busy),
            Some(State::ServerTerminate) => Err(TestError::Terminated("server")),
            Some(State::ClientTerminate) => Err(TestError::Terminated("client")),
            Some(State::ServerError) => Err(self.server_error()),
            Some(state) => Ok(state),
            None => Err(TestError::Message(format!("state {}", byte[0] as i8))),
        }
    }

    /// Reads the error numbers that follow. Some servers send only one, or none.
    fn server_error(&mut self) -> TestError {
        let until = Instant::now() + Duration::from_secs(1);
        let mut number = [0; 4];
        if self.read(&mut number, until, "an error").is_err() {
            return TestError::Server("the server failed without a reason".to_owned());
        }
        let number = i32::from_be_bytes(number);
        TestError::Server(error_text(number).map_or_else(|| format!("error {number} of the server"), str::to_owned))
    }

    pub(super) fn expect(&mut self, wanted: State, what: &'static str) -> Result<(), TestError> {
        match self.state(Instant::now() + PATIENCE, what)? {
            state if state == wanted => Ok(()),
            state => Err(TestError::Message(format!("{state:?} where {what} was expected"))),
        }
    }

    /// Returns the next state if it has arrived.
    pub(crate) fn has_state(&mut self) -> Result<Option<State>, TestError> {
        let there = match self {
            Control::Plain(socket) => {
                socket.set_nonblocking(true)?;
                let there = socket.peek(&mut [0]);
                socket.set_nonblocking(false)?;
                there.map(|count| (count > 0).then_some(true))
            }
            Control::Secure(channel) => channel.is_ready().map(Some),
        };
        match there {
            Ok(None) => Err(TestError::Closed),
            Ok(Some(true)) => self.state(Instant::now() + PATIENCE, "a state").map(Some),
            Ok(Some(false)) => Ok(None),
            Err(error) if is_early(&error) => Ok(None),
            Err(error) => Err(convert_error(error)),
        }
    }
}

/// Returns `true` if the read has to be repeated.
fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut)
}

/// Converts an error of a connection.
fn convert_error(error: io::Error) -> TestError {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => TestError::Closed,
        _ => error.into(),
    }
}
