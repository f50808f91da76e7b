//! What travels between the rank that leads and another one: a line each way, then frames.
//!
//! The line of a leader is `plumb-agent 1 VERSION RANK SIZE PATIENCE NAME`, and the answer `plumb-agent 1 VERSION ok`, or a reason
//! in the place of `ok`. A frame is its kind (1 byte), a rank (4), a length (4), both with the least byte first, and as many bytes.

use crate::error::JoinError;
use plumb_text::http::{HEAD_BYTES_MAX, RequestHead};
use std::io::{self, Read};
use std::time::Duration;

/// Longest line, with its end.
pub(super) const LINE_BYTES_MAX: usize = 512;
/// Longest payload of a frame. The longest that are sent are reports, of some hundred kilobytes, and orders, which hold a workload.
pub const FRAME_BYTES_MAX: usize = 64 << 20;
/// Longest news: a second of a phase.
pub const NEWS_BYTES_MAX: usize = 64 << 10;
/// Most ranks: each has two threads on the host that leads.
pub const RANKS_MAX: u32 = 1025;

const MAGIC: &str = "plumb-agent";
/// Counted up where lines or frames change.
const PROTOCOL: &str = "1";
/// Orders and reports hold types of the program, so that both ends are of one version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the leader says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Which rank the other end is to be.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// Who is silent for so long is taken for dead.
    pub patience: Duration,
    /// What the leader calls the host.
    pub name: String,
}

impl Greeting {
    /// As a line.
    pub fn line(&self) -> String {
        let Greeting { rank, size, patience, name } = self;
        format!("{MAGIC} {PROTOCOL} {VERSION} {rank} {size} {} {name}\n", patience.as_secs())
    }

    /// From a line, without its end.
    ///
    /// # Errors
    /// The other end is of another version, or no Plumb.
    pub fn read(line: &str) -> Result<Greeting, JoinError> {
        let mut words = words_of(line)?;
        let mut number = || words.next()?.parse::<u32>().ok();
        let numbers = [number(), number(), number()];
        let name = words.next().filter(|name| !name.is_empty());
        let greeting = match (numbers, name) {
            ([Some(rank), Some(size), Some(seconds)], Some(name)) => {
                let is_sound = 0 < rank && rank < size && size <= RANKS_MAX && seconds > 0;
                let patience = Duration::from_secs(seconds.into());
                is_sound.then(|| Greeting { rank, size, patience, name: name.to_owned() })
            }
            _ => None,
        };
        greeting.ok_or(JoinError::NotPlumb)
    }
}

/// The answer that lets the leader go on, or that says why not.
pub fn answer(refused: Option<&str>) -> String {
    format!("{MAGIC} {PROTOCOL} {VERSION} {}\n", refused.unwrap_or("ok").replace('\n', " "))
}

/// Returns the same for a client that speaks HTTP, whose first bytes were read already. A real elbencho waits until a service's status
/// is 200, and then shows why it is refused.
pub fn http_answer(refused: &str, start: &[u8], rest: &mut dyn Read) -> String {
    let mut head = start.to_vec();
    let mut byte = [0];
    // To its end: a client that is cut off while it speaks reads no answer.
    let is_whole = |head: &[u8]| head.ends_with(b"\n") && RequestHead::parse(head) != Ok(None);
    while head.len() <= HEAD_BYTES_MAX && !is_whole(&head) && rest.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    let is_status = matches!(RequestHead::parse(&head), Ok(Some(head)) if head.path.starts_with("/status"));
    let status = if is_status { "200 OK" } else { "501 Not Implemented" };
    let length = refused.len() + 1;
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n");
    format!("{head}Content-Length: {length}\r\n\r\n{refused}\n")
}

/// What an answer says, without the end of its line.
///
/// # Errors
/// The other end refuses, is of another version, or no Plumb.
pub fn read_answer(line: &str) -> Result<(), JoinError> {
    let rest: Vec<&str> = words_of(line)?.collect();
    match rest.join(" ").as_str() {
        "ok" => Ok(()),
        why => Err(JoinError::Refused(why.to_owned())),
    }
}

/// The words behind the version.
fn words_of(line: &str) -> Result<std::str::SplitN<'_, char>, JoinError> {
    let mut words = line.splitn(7, ' ');
    if words.next() != Some(MAGIC) {
        return Err(JoinError::NotPlumb);
    }
    let protocol = words.next().unwrap_or_default();
    let version = words.next().unwrap_or_default();
    if (protocol, version) != (PROTOCOL, VERSION) {
        return Err(JoinError::Version { found: format!("{version}, protocol {protocol}") });
    }
    Ok(words)
}

/// Reads a line, a byte at a time, so that what follows stays where it is.
///
/// # Errors
/// Its end does not come in [`LINE_BYTES_MAX`] bytes, or the connection fails.
pub fn read_line(from: &mut dyn Read) -> Result<String, JoinError> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) if line.is_empty() => return Err(JoinError::Closed),
            Ok(0) => return Err(foreign(from, line)),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(JoinError::Silent),
            Err(error) => return Err(JoinError::Io(error.to_string())),
        }
        // A stranger is known by its first bytes, and need not send a whole line.
        if line.len() >= LINE_BYTES_MAX || !MAGIC.as_bytes().starts_with(&line[..line.len().min(MAGIC.len())]) {
            return Err(foreign(from, line));
        }
    }
    String::from_utf8(line).map_err(|_| JoinError::NotPlumb)
}

/// What sends such bytes. fio begins with its version and a command, of two bytes each; elbencho with the words of HTTP.
fn foreign(from: &mut dyn Read, mut start: Vec<u8>) -> JoinError {
    let mut more = [0; 3];
    let missing = 4_usize.saturating_sub(start.len());
    if from.read_exact(&mut more[..missing]).is_ok() {
        start.extend_from_slice(&more[..missing]);
    }
    match start.first_chunk::<4>() {
        Some([version @ 60..=250, 0, 1..=30, 0]) => JoinError::Fio { protocol: (*version).into() },
        Some(start @ (b"GET " | b"POST" | b"HTTP")) => JoinError::Http { start: *start },
        _ => JoinError::NotPlumb,
    }
}

/// What a frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub enum Kind {
    /// Its sender lives.
    Alive,
    /// A message; the rank is that of whoever sent it, or, on the way to the leader, of whoever is to have it.
    Message,
    /// What all do is to end.
    Ends,
    /// Its sender leaves, and sends no more.
    Leaves,
    /// The rank does not answer.
    Gone,
    /// What the leader may use or not.
    News,
}

impl Kind {
    /// Longest payload.
    const fn bytes_max(self) -> usize {
        match self {
            Kind::Message => FRAME_BYTES_MAX,
            Kind::News => NEWS_BYTES_MAX,
            Kind::Alive | Kind::Ends | Kind::Leaves | Kind::Gone => 0,
        }
    }
}

/// A piece of what travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is about.
    pub kind: Kind,
    /// Whom it is about.
    pub rank: u32,
    /// The bytes of a message.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame without bytes.
    pub fn sign(kind: Kind, rank: u32) -> Frame {
        Frame { kind, rank, payload: Vec::new() }
    }

    /// As it travels.
    pub fn bytes(&self) -> Vec<u8> {
        let length = self.payload.len() as u32;
        let mut bytes = Vec::with_capacity(9 + self.payload.len());
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&self.rank.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// Bytes that are no frame, or too long a one; what the connection says.
    pub fn read(from: &mut dyn Read) -> io::Result<Option<Frame>> {
        let mut head = [0; 9];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let [kind, r0, r1, r2, r3, l0, l1, l2, l3] = head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let kind = Kind::from_repr(kind);
        let kind = kind.filter(|&kind| length <= kind.bytes_max());
        let kind = kind.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a frame of Plumb's"))?;
        // Memory is taken as bytes come, not as they are promised.
        let mut payload = Vec::new();
        from.take(length as u64).read_to_end(&mut payload)?;
        let is_whole = payload.len() == length;
        Ok(is_whole.then_some(Frame { kind, rank: u32::from_le_bytes([r0, r1, r2, r3]), payload }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting() -> Greeting {
        Greeting { rank: 3, size: 5, patience: Duration::from_secs(10), name: "10.0.0.2,8765".to_owned() }
    }

    fn read(bytes: &[u8]) -> Result<Greeting, JoinError> {
        read_line(&mut &*bytes).and_then(|line| Greeting::read(&line))
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        assert_eq!(read(greeting().line().as_bytes()), Ok(greeting()));
        let said = |why: Option<&str>| read_line(&mut answer(why).as_bytes()).and_then(|line| read_answer(&line));
        assert_eq!(said(None), Ok(()));
        assert_eq!(said(Some("too many\nsessions")), Err(JoinError::Refused("too many sessions".to_owned())));
    }

    // Protects: other programs and other versions are named, and a malformed greeting makes no rank.
    #[test]
    fn strangers_are_known() {
        let other = greeting().line().replace(VERSION, "0.0.9");
        assert_eq!(read(other.as_bytes()), Err(JoinError::Version { found: "0.0.9, protocol 1".to_owned() }));
        // The header of fio 3.33's first command.
        assert_eq!(read(&[98, 0, 10, 0, 0, 0, 0, 0]), Err(JoinError::Fio { protocol: 98 }));
        for http in [&b"GET /status HTTP/1.1\r\n"[..], b"POST /preparephase", b"HTTP/1.1 400 Bad Request\r\n"] {
            let start = *http.first_chunk().unwrap();
            assert_eq!(read(http), Err(JoinError::Http { start }));
        }
        assert_eq!(read(b"GEN"), Err(JoinError::NotPlumb));
        assert_eq!(read(b""), Err(JoinError::Closed));
        assert_eq!(read(&[b'p'; 2000]), Err(JoinError::NotPlumb));
        for (from, to) in [(" 3 5 ", " 0 5 "), (" 3 5 ", " 5 5 "), (" 3 5 ", " 3 99999999 "), (" 10 ", " 0 ")] {
            assert_eq!(read(greeting().line().replace(from, to).as_bytes()), Err(JoinError::NotPlumb), "{to}");
        }
    }

    // Protects users of a real elbencho: it reads the reason of a refusal after any request, of any length.
    #[test]
    fn clients_that_speak_http_are_answered() {
        let status = |request: &[u8]| {
            let mut rest = &request[4..];
            let said = http_answer("no", &request[..4], &mut rest);
            assert!(said.ends_with("Content-Length: 3\r\n\r\nno\n"), "{said}");
            let code = said.split(' ').nth(1).unwrap().to_owned();
            (code, rest.len())
        };
        let answered = |code: &str, left: usize| (code.to_owned(), left);
        assert_eq!(status(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n"), answered("200", 0));
        assert_eq!(status(b"GET /status?x HTTP/1.1\r\n\r\nmore"), answered("200", 4));
        assert_eq!(status(b"POST /preparephase HTTP/1.1\r\n\r\n"), answered("501", 0));
        assert_eq!(status(b"GET /status HTTP/1.1\r\nHost: x").0, "501", "it is not whole");
        assert_eq!(status(b"HTTP/1.1 400 Bad Request\r\n\r\n").0, "501");
        assert_eq!(status(&[&b"GET /"[..], &[b'a'; 100_000]].concat()).0, "501");
    }

    // Protects memory: a length that is not followed by bytes takes none, and one that is too long is refused.
    #[test]
    fn frames_are_read_as_they_are_written() {
        let frame = Frame { kind: Kind::Message, rank: 7, payload: vec![1, 2, 3] };
        let bytes = frame.bytes();
        assert_eq!(Frame::read(&mut bytes.as_slice()).unwrap(), Some(frame));
        for cut in 0..bytes.len() {
            assert_eq!(Frame::read(&mut &bytes[..cut]).unwrap(), None, "{cut}");
        }
        let mut long = bytes.clone();
        long[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Frame::read(&mut long.as_slice()).is_err());
        let mut unknown = bytes;
        unknown[0] = 9;
        assert!(Frame::read(&mut unknown.as_slice()).is_err());
        let sign = Frame::sign(Kind::Gone, 2).bytes();
        let with_bytes = [&sign[..5], &[1, 0, 0, 0, 9]].concat();
        assert!(Frame::read(&mut with_bytes.as_slice()).is_err(), "only messages and news have bytes");
        let news = |bytes: usize| Frame { kind: Kind::News, rank: 1, payload: vec![0; bytes] }.bytes();
        assert!(Frame::read(&mut news(NEWS_BYTES_MAX).as_slice()).unwrap().is_some());
        assert!(Frame::read(&mut news(NEWS_BYTES_MAX + 1).as_slice()).is_err());
    }
}
