//! First lines of a session that builds systems on an agent's host. The requests after them are the lab's, which check
//! their own version.
//!
//! The client's line is `plumb-agent-build OLDEST-NEWEST VERSION`, with the protocols of these lines that it speaks. The answer
//! is `plumb-agent-build OLDEST-NEWEST VERSION ok`, or has a reason in place of `ok`.

use super::Link;
use super::wire::{self, Protocols, VERSION, read_line};
use crate::error::JoinError;

const MAGIC: &str = "plumb-agent-build";
/// Protocols of these two lines.
const PROTOCOLS: Protocols = Protocols { oldest: 1, newest: 1 };

/// Returns the line with which a client begins.
fn request() -> String {
    format!("{MAGIC} {PROTOCOLS} {VERSION}\n")
}

/// Returns `true` if a client's first line asks for a session that builds, in any version.
pub fn is_request(line: &str) -> bool {
    line.split(' ').next() == Some(MAGIC)
}

/// Checks a client's first line, without its line end.
///
/// # Errors
/// Returns an error if the client asks in another version, or for another kind of session.
pub fn read_request(line: &str) -> Result<(), JoinError> {
    rest_of(line).map(drop)
}

/// Formats the agent's answer: `ok`, or the reason for a refusal.
pub fn answer(refused: Option<&str>) -> String {
    format!("{MAGIC} {PROTOCOLS} {VERSION} {}\n", refused.unwrap_or("ok").replace('\n', " "))
}

fn read_answer(line: &str) -> Result<(), JoinError> {
    if !is_request(line) {
        // An agent without these sessions, or one with too many clients, answers as to any client.
        return wire::read_answer(line).and(Err(JoinError::NotPlumb));
    }
    match rest_of(line)? {
        "ok" => Ok(()),
        reason => Err(JoinError::Refused(reason.to_owned())),
    }
}

/// Checks the magic and the version of the lines, and returns the text after Plumb's version.
fn rest_of(line: &str) -> Result<&str, JoinError> {
    let mut words = line.splitn(4, ' ');
    if words.next() != Some(MAGIC) {
        return Err(JoinError::NotPlumb);
    }
    let protocols = words.next().and_then(Protocols::parse).ok_or(JoinError::NotPlumb)?;
    let version = words.next().unwrap_or_default();
    match PROTOCOLS.agree(protocols) {
        Some(_) => Ok(words.next().unwrap_or_default()),
        None => Err(JoinError::Version { version: version.to_owned(), protocols }),
    }
}

/// Asks an agent for a session that builds, and waits for its answer.
///
/// # Errors
/// Returns an error if the agent refuses, or is not one.
pub fn ask(link: &mut Link) -> Result<(), JoinError> {
    let sent = link.writer.write_all(request().as_bytes()).and_then(|()| link.writer.flush());
    match (sent, read_line(&mut *link.reader)) {
        (Ok(()), line) => read_answer(&line?),
        // An agent that refuses at once may close before it reads the request; its answer can still be read.
        (Err(_), Ok(line)) => read_answer(&line),
        (Err(error), Err(_)) => Err(JoinError::Io(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        read_line(&mut text.as_bytes()).unwrap()
    }

    // Protects: both kinds of sessions begin on one port, and neither end takes one kind for the other.
    #[test]
    fn sessions_are_told_apart_by_their_first_line() {
        assert_eq!(read_request(&line(&request())), Ok(()));
        assert!(is_request(&line(&request())) && !is_request("plumb-agent 1 0.1.0 1 2 10 host"));
        assert!(wire::Greeting::read(&line(&request())).is_err());
        assert_eq!(read_answer(&line(&answer(None))), Ok(()));
        assert_eq!(read_answer(&line(&answer(Some("no\nbuild")))), Err(JoinError::Refused("no build".to_owned())));
        assert_eq!(
            read_answer(&line(&wire::refusal("too many clients"))),
            Err(JoinError::Refused("too many clients".to_owned()))
        );
        assert_eq!(read_answer("plumb-agent 1 0.1.0 ok"), Err(JoinError::NotPlumb));
        let other = request().replace(" 1-1 ", " 2-3 ");
        assert!(matches!(read_request(&line(&other)), Err(JoinError::Version { .. })));
        for wrong in ["plumb-agent-build", "plumb-agent-build x y", "plumb-agent-builder 1 x", "plumb-agent 1 x", ""] {
            assert!(read_request(wrong).is_err(), "{wrong}");
        }
    }
}
