//! Parses the arguments of netperf and of netserver.

use super::take::CONNECT_CLOSE;
use super::{Direct, Form, Invocation, NetperfSettings, NetperfUsageError, Server};
use crate::netperf::exchange::Direction;
use crate::netperf::options::{CLIENT_WORDS, SERVER_WORDS, TEST_WORDS};
use crate::netperf::selectors::usual;
use crate::netperf::wire::PORT;
use crate::netperf::words::{Value, getopt};

/// Plumb's own option of both ends, before all others: `--plumb-busy-poll=US`.
pub(super) const POLL: &str = "--plumb-busy-poll";

/// Limit of that option, µs.
pub(super) const POLL_US_MAX: u32 = 10_000;

/// Returns the value of that option, and the arguments after it.
fn busy_poll(words: &[String]) -> Result<(u32, &[String]), NetperfUsageError> {
    let first = words.first().and_then(|word| word.strip_prefix(POLL)?.strip_prefix('='));
    let Some(text) = first else { return Ok((0, words)) };
    let us = text
        .parse()
        .ok()
        .filter(|us| (1..=POLL_US_MAX).contains(us))
        .ok_or_else(|| NetperfUsageError::Poll(text.to_owned()))?;
    Ok((us, &words[1..]))
}

/// Parses netperf's arguments. `program` is the name by which it was called.
///
/// # Errors
/// The first error.
pub fn read(program: &str, words: &[String]) -> Result<Invocation<NetperfSettings>, NetperfUsageError> {
    let whole = std::iter::once(program).chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let (poll_us, words) = busy_poll(words)?;
    let global = getopt(CLIENT_WORDS, words)?;
    let mut all = NetperfSettings::new(whole, poll_us, global.ignored);
    for (letter, text) in &global.options {
        match letter {
            'h' => return Ok(Invocation::Help),
            'V' => return Ok(Invocation::Version),
            _ => all.take_global(&Value(*letter, text))?,
        }
    }
    all.socket.routed = !(all.test.udp && all.test.direction == Direction::ToServer);
    read_test_options(all, global.rest)
}

/// Parses the arguments after `--`.
fn read_test_options(
    mut all: NetperfSettings,
    words: &[String],
) -> Result<Invocation<NetperfSettings>, NetperfUsageError> {
    let part = getopt(TEST_WORDS, words)?;
    if let Some(word) = part.rest.first() {
        return Err(NetperfUsageError::Word(word.clone()));
    }
    all.ignored.extend(part.ignored);
    for (letter, text) in &part.options {
        match letter {
            'h' => return Ok(Invocation::Help),
            'k' | 'o' | 'O' if text == "?" => return Ok(Invocation::Names),
            _ => all.take_of_test(&Value(*letter, text))?,
        }
    }
    if all.test.connects && all.test.udp {
        return Err(NetperfUsageError::Value { letter: 'c', given: String::new(), expected: "a test of TCP" });
    }
    if all.test.udp && all.test.direction == Direction::ToClient {
        return Err(NetperfUsageError::NotYet { letter: 'd', why: "datagrams from the server; use a test of TCP" });
    }
    all.go_direct()?;
    if let Form::Columns(names) | Form::Keys(names) | Form::Csv(names) = &mut all.output.form
        && names.is_empty()
    {
        *names = usual(all.test.direction, all.output.cpu.local || all.output.cpu.remote);
    }
    Ok(Invocation::Run(Box::new(all)))
}

impl NetperfSettings {
    /// Sets the port of a test without a control connection, and turns off what needs a netserver.
    fn go_direct(&mut self) -> Result<(), NetperfUsageError> {
        if self.control.direct.is_none() {
            return Ok(());
        }
        if self.data.ports.remote == 0 {
            let (name, port) = match self.test.direction {
                _ if self.test.only_connects => return Err(NetperfUsageError::NoUsualPort(CONNECT_CLOSE)),
                Direction::ToServer => ("discard", 9),
                Direction::ToClient => ("chargen", 19),
                Direction::RoundTrips => ("echo", 7),
            };
            self.data.ports.remote = port;
            self.control.direct = Some(Direct::Usual(name));
            // An echo has the size of its request.
            self.data.trip[1] = self.data.trip[0];
        }
        self.output.cpu.remote = false;
        self.socket.no_delay.remote = false;
        self.socket.service.remote = None;
        self.socket.congestion.remote = None;
        self.socket.buffers.remote = [None; 2];
        Ok(())
    }
}

/// Parses netserver's arguments.
///
/// # Errors
/// The first error.
pub fn read_server(words: &[String]) -> Result<Invocation<Server>, NetperfUsageError> {
    let (poll_us, words) = busy_poll(words)?;
    let part = getopt(SERVER_WORDS, words)?;
    if let Some(word) = part.rest.first() {
        return Err(NetperfUsageError::Word(word.clone()));
    }
    let mut all = Server { port: PORT, poll_us, ignored: part.ignored, ..Server::default() };
    for (letter, text) in &part.options {
        let value = Value(*letter, text);
        match letter {
            '4' | '6' => all.is_v6 = Some(*letter == '6'),
            'D' => all.foreground = true,
            'h' => return Ok(Invocation::Help),
            'L' => all.listen = value.host(&mut all.is_v6)?,
            'p' => all.port = value.small(text, "a port")?,
            'V' => return Ok(Invocation::Version),
            'Z' => all.passphrase = Some(text.clone()),
            _ => {}
        }
    }
    Ok(Invocation::Run(Box::new(all)))
}
