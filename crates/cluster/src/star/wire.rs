//! Wire format between the coordinator and another rank: one line each way, then frames.
//!
//! The coordinator's line is `plumb-agent OLDEST-NEWEST VERSION RANK SIZE PATIENCE NAME`, with the protocols that it
//! speaks and the patience in seconds. The answer is `plumb-agent PROTOCOL VERSION ok`, with the newest protocol that both
//! speak, or `plumb-agent OLDEST-NEWEST VERSION REASON`. A frame is a kind (1 byte), a rank and a length (4 bytes each,
//! little-endian), and the payload.

use crate::error::JoinError;
use plumb_text::http::{HEAD_BYTES_MAX, RequestHead};
use std::io::{self, Read};
use std::time::Duration;

/// Maximum length of a line, including its end.
pub(super) const LINE_BYTES_MAX: usize = 512;
/// Maximum length of a frame's payload. The longest in practice are reports, some hundred kilobytes, and
/// orders, which hold a workload.
pub const FRAME_BYTES_MAX: usize = 64 << 20;
/// Maximum payload length of news, which describes one interval of a phase.
pub const NEWS_BYTES_MAX: usize = 64 << 10;
/// Maximum number of ranks, because each has two threads on the coordinator's host.
pub const RANKS_MAX: u32 = 1025;

const MAGIC: &str = "plumb-agent";
/// Version of the program, for messages. Ends of different versions work together if they have a protocol in common.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The protocols that one end speaks. A protocol fixes the frames, and the orders and reports in them. It gets a new number
/// when an older program would misunderstand a message, or could not read one that it needs. A field that may be missing,
/// and is sent only if it says something, needs no new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocols {
    /// Oldest protocol.
    pub oldest: u32,
    /// Newest protocol.
    pub newest: u32,
}

impl Protocols {
    /// The protocols of this program. Conversations in each of them are recorded, and tests replay both ends of them.
    pub const OWN: Protocols = Protocols { oldest: 1, newest: 1 };

    /// Returns the newest protocol that both ends speak.
    pub fn agree(self, other: Protocols) -> Option<u32> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }

    /// Parses `OLDEST-NEWEST`, or a single number.
    pub(super) fn parse(text: &str) -> Option<Protocols> {
        let (oldest, newest) = text.split_once('-').unwrap_or((text, text));
        let protocols = Protocols { oldest: oldest.parse().ok()?, newest: newest.parse().ok()? };
        (0 < protocols.oldest && protocols.oldest <= protocols.newest).then_some(protocols)
    }
}

impl std::fmt::Display for Protocols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.oldest, self.newest)
    }
}

/// The coordinator's first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Protocols that the coordinator speaks.
    pub protocols: Protocols,
    /// Rank that the other end becomes.
    pub rank: u32,
    /// Number of ranks, including the coordinator.
    pub size: u32,
    /// Silence after which a rank is presumed dead.
    pub patience: Duration,
    /// The coordinator's name for the host.
    pub name: String,
}

impl Greeting {
    /// Formats the greeting as a line.
    pub fn line(&self) -> String {
        let Greeting { protocols, rank, size, patience, name } = self;
        format!("{MAGIC} {protocols} {VERSION} {rank} {size} {} {name}\n", patience.as_secs())
    }

    /// Parses a line without its line end.
    ///
    /// # Errors
    /// Returns an error if the other end speaks no protocol of ours, or is not Plumb.
    pub fn read(line: &str) -> Result<Greeting, JoinError> {
        let (protocols, mut words) = words_of(line)?;
        let mut number = || words.next()?.parse::<u32>().ok();
        let numbers = [number(), number(), number()];
        let name = words.next().filter(|name| !name.is_empty());
        let greeting = match (numbers, name) {
            ([Some(rank), Some(size), Some(seconds)], Some(name)) => {
                let is_sound = 0 < rank && rank < size && size <= RANKS_MAX && seconds > 0;
                let patience = Duration::from_secs(seconds.into());
                is_sound.then(|| Greeting { protocols, rank, size, patience, name: name.to_owned() })
            }
            _ => None,
        };
        greeting.ok_or(JoinError::NotPlumb)
    }

    /// Formats the answer that accepts the rank, with the newest protocol that both ends speak.
    pub fn accept(&self) -> String {
        let protocol = Protocols::OWN.agree(self.protocols).unwrap_or(Protocols::OWN.newest);
        format!("{MAGIC} {protocol} {VERSION} ok\n")
    }
}

/// Formats the answer that refuses a coordinator, with the reason.
pub fn refusal(reason: &str) -> String {
    format!("{MAGIC} {} {VERSION} {}\n", Protocols::OWN, reason.replace('\n', " "))
}

/// Formats a refusal as an HTTP response. `start` is the part of the request that was read already, `rest` its remainder.
/// A real elbencho polls `/status` until it gets 200, then shows the body.
pub fn http_answer(refused: &str, start: &[u8], rest: &mut dyn Read) -> String {
    let mut head = start.to_vec();
    let mut byte = [0];
    // Read the whole request, because a client whose connection closes while it is sending may not read the answer.
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

/// Parses an answer without its line end.
///
/// # Errors
/// Returns an error if the other end refuses, speaks no protocol of ours, or is not Plumb.
pub fn read_answer(line: &str) -> Result<(), JoinError> {
    let (_, rest) = words_of(line)?;
    match rest.collect::<Vec<&str>>().join(" ").as_str() {
        "ok" => Ok(()),
        why => Err(JoinError::Refused(why.to_owned())),
    }
}

/// Checks the magic and the protocols, and returns the peer's protocols and the fields after its version.
fn words_of(line: &str) -> Result<(Protocols, std::str::SplitN<'_, char>), JoinError> {
    let mut words = line.splitn(7, ' ');
    if words.next() != Some(MAGIC) {
        return Err(JoinError::NotPlumb);
    }
    let protocols = words.next().and_then(Protocols::parse).ok_or(JoinError::NotPlumb)?;
    let version = words.next().unwrap_or_default();
    match Protocols::OWN.agree(protocols) {
        Some(_) => Ok((protocols, words)),
        None => Err(JoinError::Version { version: version.to_owned(), protocols }),
    }
}

/// Reads a line byte by byte, so that the bytes after it stay unread.
///
/// # Errors
/// Returns an error if another program sent the bytes, the line exceeds [`LINE_BYTES_MAX`] bytes or is not UTF-8, or the
/// connection is closed, silent or broken.
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
        // Do not wait for a whole line, because the first bytes identify another program.
        if line.len() >= LINE_BYTES_MAX || !MAGIC.as_bytes().starts_with(&line[..line.len().min(MAGIC.len())]) {
            return Err(foreign(from, line));
        }
    }
    String::from_utf8(line).map_err(|_| JoinError::NotPlumb)
}

/// Identifies the program that sent these bytes. fio begins with its version and a command, of two bytes each, and
/// elbencho with HTTP.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub enum Kind {
    /// Heartbeat of the sender.
    Alive,
    /// A message. Its rank is the recipient on the way to the coordinator, and the sender on the way from it.
    Message,
    /// The shared run must end.
    Ends,
    /// The sender leaves and sends nothing more.
    Leaves,
    /// The rank does not answer.
    Gone,
    /// Optional information for the coordinator.
    News,
}

impl Kind {
    /// Maximum payload length of this kind.
    const fn bytes_max(self) -> usize {
        match self {
            Kind::Message => FRAME_BYTES_MAX,
            Kind::News => NEWS_BYTES_MAX,
            Kind::Alive | Kind::Ends | Kind::Leaves | Kind::Gone => 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    /// Rank that the frame concerns.
    pub rank: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Creates a frame without a payload.
    pub fn empty(kind: Kind, rank: u32) -> Frame {
        Frame { kind, rank, payload: Vec::new() }
    }

    /// Encodes the frame for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let length = self.payload.len() as u32;
        let mut bytes = Vec::with_capacity(9 + self.payload.len());
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&self.rank.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// Reads the next frame; `None` at the end of the connection.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a frame, the frame is too long, or the connection fails.
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
        let kind = kind.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a Plumb frame"))?;
        // Allocate as bytes arrive, not as the length promises.
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
        Greeting {
            protocols: Protocols::OWN,
            rank: 3,
            size: 5,
            patience: Duration::from_secs(10),
            name: "10.0.0.2,8765".to_owned(),
        }
    }

    fn read(bytes: &[u8]) -> Result<Greeting, JoinError> {
        read_line(&mut &*bytes).and_then(|line| Greeting::read(&line))
    }

    #[test]
    fn formatted_lines_parse_back() {
        assert_eq!(read(greeting().line().as_bytes()), Ok(greeting()));
        let result = |answer: &str| read_line(&mut answer.as_bytes()).and_then(|line| read_answer(&line));
        assert_eq!(result(&greeting().accept()), Ok(()));
        assert_eq!(result(&refusal("too many\nsessions")), Err(JoinError::Refused("too many sessions".to_owned())));
    }

    // Protects: ends of different releases work together in the newest protocol that both speak, whichever is older,
    // and the error names both ends' protocols if there is none.
    #[test]
    fn the_newest_common_protocol_is_spoken() {
        let of = |text: &str| Protocols::parse(text).unwrap();
        for (own, other, agreed) in [
            ("1-1", "1-1", Some(1)),
            ("1-3", "2-5", Some(3)),
            ("2-5", "1-3", Some(3)),
            ("3-9", "4", Some(4)),
            ("1-2", "3-4", None),
            ("3-4", "1-2", None),
        ] {
            assert_eq!(of(own).agree(of(other)), agreed, "{own} and {other}");
        }
        for malformed in ["", "0", "0-1", "2-1", "1-", "-1", "1-2-3", "x", "99999999999"] {
            assert_eq!(Protocols::parse(malformed), None, "{malformed}");
        }
        let of_future = Protocols { oldest: 1, newest: 99 };
        let greeted = read(Greeting { protocols: of_future, ..greeting() }.line().as_bytes()).unwrap();
        assert_eq!(greeted.accept(), format!("plumb-agent {} {VERSION} ok\n", Protocols::OWN.newest));
        let too_new = Protocols { oldest: 98, newest: 99 };
        let line = Greeting { protocols: too_new, ..greeting() }.line().replace(VERSION, "9.0.0");
        let refused = read(line.as_bytes()).unwrap_err();
        assert_eq!(refused, JoinError::Version { version: "9.0.0".to_owned(), protocols: too_new });
        let said = refused.to_string();
        assert!(
            said.contains("9.0.0") && said.contains("98-99") && said.contains(&Protocols::OWN.to_string()),
            "{said}"
        );
    }

    // Protects: other programs are identified, and a malformed greeting is rejected.
    #[test]
    fn other_programs_are_identified() {
        let other = greeting().line().replace(VERSION, "0.0.9");
        assert_eq!(read(other.as_bytes()), Ok(greeting()), "the protocol decides, not the version");
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

    // Protects users of a real elbencho: it gets the reason for a refusal after any request, of any length.
    #[test]
    fn http_clients_get_an_answer() {
        let status = |request: &[u8]| {
            let mut rest = &request[4..];
            let reply = http_answer("no", &request[..4], &mut rest);
            assert!(reply.ends_with("Content-Length: 3\r\n\r\nno\n"), "{reply}");
            let code = reply.split(' ').nth(1).unwrap().to_owned();
            (code, rest.len())
        };
        let answered = |code: &str, left: usize| (code.to_owned(), left);
        assert_eq!(status(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n"), answered("200", 0));
        assert_eq!(status(b"GET /status?x HTTP/1.1\r\n\r\nmore"), answered("200", 4));
        assert_eq!(status(b"POST /preparephase HTTP/1.1\r\n\r\n"), answered("501", 0));
        assert_eq!(status(b"GET /status HTTP/1.1\r\nHost: x").0, "501", "the request is incomplete");
        assert_eq!(status(b"HTTP/1.1 400 Bad Request\r\n\r\n").0, "501");
        assert_eq!(status(&[&b"GET /"[..], &[b'a'; 100_000]].concat()).0, "501");
    }

    // Protects memory: a length without bytes allocates nothing, and an excessive one is refused.
    #[test]
    fn encoded_frames_read_back() {
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
        let empty = Frame::empty(Kind::Gone, 2).bytes();
        let with_bytes = [&empty[..5], &[1, 0, 0, 0, 9]].concat();
        assert!(Frame::read(&mut with_bytes.as_slice()).is_err(), "only messages and news have bytes");
        let news = |bytes: usize| Frame { kind: Kind::News, rank: 1, payload: vec![0; bytes] }.bytes();
        assert!(Frame::read(&mut news(NEWS_BYTES_MAX).as_slice()).unwrap().is_some());
        assert!(Frame::read(&mut news(NEWS_BYTES_MAX + 1).as_slice()).is_err());
    }
}
