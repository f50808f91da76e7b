//! A control connection: bytes within deadlines and limits. What they mean is in `plumb_dialects::iperf3`.

use plumb_dialects::iperf3::{Json, State, error_text};
use plumb_engine::net::KeepAlive;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// So long the other end may take for what is its turn.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Why a test cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// No server.
    #[error(
        "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: {0}"
    )]
    Connect(String),
    /// The server has no room, or this is not its client.
    #[error("the server is busy running a test. try again later")]
    Busy,
    /// What the server says.
    #[error("{0}")]
    Server(String),
    /// The other end has gone.
    #[error("control socket has closed unexpectedly")]
    Closed,
    /// The other end has ended by a signal.
    #[error("the {0} has terminated")]
    Terminated(&'static str),
    /// The other end says nothing.
    #[error("the other end did not answer in time: {0} expected")]
    Silent(&'static str),
    /// The other end speaks another language.
    #[error("unexpected message of the other end: {0}")]
    Message(String),
    /// The system's own.
    #[error("control socket: {0}")]
    Io(#[from] io::Error),
    /// A stream cannot be made.
    #[error("unable to create a new stream: {0}")]
    Stream(String),
    /// A stream failed.
    #[error("data stream: {0}")]
    Flow(String),
    /// Nothing came for too long.
    #[error("idle timeout for receiving data")]
    Idle,
    /// The file of `-F`.
    #[error("unable to open the file of the stream: {0}")]
    File(String),
    /// A parameter that the other end lacks support for.
    #[error("{0}")]
    Unable(&'static str),
    /// A signal came.
    #[error("interrupt - the {0} has terminated")]
    Interrupted(&'static str),
}

/// A control connection.
#[derive(Debug)]
pub struct Control {
    /// The socket.
    pub socket: TcpStream,
}

impl Control {
    /// Over a connection that was just made.
    pub fn new(socket: TcpStream, keep_alive: KeepAlive) -> io::Result<Control> {
        // Sockets that are not of TCP never wait for more.
        let _ = socket.set_nodelay(true);
        socket.set_write_timeout(Some(PATIENCE))?;
        plumb_engine::net::watch(&socket, keep_alive);
        Ok(Control { socket })
    }

    /// Reads until the buffer is full or the time is over.
    pub fn read(&mut self, into: &mut [u8], until: Instant, what: &'static str) -> Result<(), TestError> {
        let mut got = 0;
        while got < into.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TestError::Silent(what));
            }
            self.socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.socket.read(&mut into[got..]) {
                Ok(0) => return Err(TestError::Closed),
                Ok(count) => got += count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(TestError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), TestError> {
        self.socket.write_all(bytes).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => TestError::Closed,
            _ => error.into(),
        })
    }

    /// Sends a state.
    pub fn say(&mut self, state: State) -> Result<(), TestError> {
        self.send(&[state as i8 as u8])
    }

    /// Sends JSON behind its length.
    pub fn send_json(&mut self, json: &Json) -> Result<(), TestError> {
        let text = json.line();
        let length = u32::try_from(text.len()).map_err(|_| TestError::Message("too much JSON".to_owned()))?;
        self.send(&[&length.to_be_bytes(), text.as_bytes()].concat())
    }

    /// Reads JSON of this many bytes at most.
    pub fn read_json(&mut self, most: usize, what: &'static str) -> Result<Vec<u8>, TestError> {
        let until = Instant::now() + PATIENCE;
        let mut length = [0; 4];
        self.read(&mut length, until, what)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > most {
            return Err(TestError::Message(format!("{what} of {length} bytes; {most} are the most")));
        }
        // Memory grows with what really comes.
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let from = bytes.len();
            bytes.resize(length.min(from + (64 << 10)), 0);
            self.read(&mut bytes[from..], until, what)?;
        }
        Ok(bytes)
    }

    /// The next state, waiting until then. States that end a test are errors.
    pub fn state(&mut self, until: Instant, what: &'static str) -> Result<State, TestError> {
        let mut byte = [0];
        self.read(&mut byte, until, what)?;
        match State::of(byte[0]) {
            Some(State::AccessDenied) => Err(TestError::Busy),
            Some(State::ServerTerminate) => Err(TestError::Terminated("server")),
            Some(State::ClientTerminate) => Err(TestError::Terminated("client")),
            Some(State::ServerError) => Err(self.server_error()),
            Some(state) => Ok(state),
            None => Err(TestError::Message(format!("state {}", byte[0] as i8))),
        }
    }

    /// The numbers that follow. Some servers send only one, or none.
    fn server_error(&mut self) -> TestError {
        let until = Instant::now() + Duration::from_secs(1);
        let mut number = [0; 4];
        if self.read(&mut number, until, "an error").is_err() {
            return TestError::Server("the server failed without a reason".to_owned());
        }
        let number = i32::from_be_bytes(number);
        TestError::Server(error_text(number).map_or_else(|| format!("error {number} of the server"), str::to_owned))
    }

    /// Waits for one state.
    pub fn expect(&mut self, wanted: State, what: &'static str) -> Result<(), TestError> {
        match self.state(Instant::now() + PATIENCE, what)? {
            state if state == wanted => Ok(()),
            state => Err(TestError::Message(format!("{state:?} where {what} was expected"))),
        }
    }

    /// The next state where there is one now.
    pub fn has_state(&mut self) -> Result<Option<State>, TestError> {
        self.socket.set_nonblocking(true)?;
        let there = self.socket.peek(&mut [0]);
        self.socket.set_nonblocking(false)?;
        match there {
            Ok(0) => Err(TestError::Closed),
            Ok(_) => self.state(Instant::now() + PATIENCE, "a state").map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(TestError::Closed),
            Err(error) => Err(error.into()),
        }
    }
}
