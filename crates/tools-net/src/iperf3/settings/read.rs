//! Parses the command line.

use super::take::Given;
use super::{Client, End, Invocation, Iperf3Settings, Iperf3UsageError, Output, Server};
use crate::iperf3::options::GRAMMAR;
use plumb_tools::Support;
use plumb_tools::options::{Grammar, Opt, Role, Word, Words};

/// Length of an interface name with its final NUL. Source: `IFNAMSIZ` of linux/if.h.
const DEVICE_BYTES_MAX: usize = 16;

/// Splits arguments into options of the table with their values.
pub(crate) fn split_words(words: &[String], grammar: Grammar) -> Result<Vec<(&'static Opt, String)>, Iperf3UsageError> {
    let mut found = Vec::new();
    for word in Words::new(grammar, words) {
        let (row, value) = match word {
            Ok(Word::Option(row, value)) => (row, value),
            Ok(Word::Operand(given)) => return Err(Iperf3UsageError::Unknown { given, nearest: None }),
            Err(unknown) => {
                let nearest = unknown.name.and_then(|name| grammar.table.nearest(&name));
                return Err(Iperf3UsageError::Unknown { given: unknown.word, nearest });
            }
        };
        if value.is_none() && row.takes.needs_value() {
            return Err(Iperf3UsageError::Value { name: row.name, given: String::new(), expected: "give a value" });
        }
        found.push((row, value.unwrap_or_default()));
    }
    Ok(found)
}

/// Parses a command line, without the name of the program.
///
/// # Errors
/// The first error.
pub fn read(words: &[String]) -> Result<Invocation, Iperf3UsageError> {
    let options = split_words(words, GRAMMAR)?;
    for asked in [("help", Invocation::Help), ("version", Invocation::Version)] {
        if options.iter().any(|(row, _)| row.name == asked.0) {
            return Ok(asked.1);
        }
    }
    let has = |name: &str| options.iter().any(|(row, _)| row.name == name);
    if has("server") && has("client") {
        return Err(Iperf3UsageError::Parameter("cannot be both server and client"));
    }
    if !has("server") && !has("client") {
        return Err(Iperf3UsageError::Parameter("must either be a client (-c) or server (-s)"));
    }
    let is_server = has("server");
    let mut settings = Iperf3Settings {
        verbose: has("verbose"),
        output: match (has("json-stream-full-output"), has("json-stream"), has("json")) {
            (true, ..) => Output::JsonStreamFull,
            (_, true, _) => Output::JsonStream,
            (.., true) => Output::Json,
            _ => Output::Text,
        },
        ..Iperf3Settings::new(End::Server(Server::default()))
    };
    let mut server = Server { one_off: has("one-off"), daemon: has("daemon"), ..Server::default() };
    let mut client = Client::new();
    (client.params.transport.udp, client.params.transport.sctp) = (has("udp"), has("sctp"));
    for (row, value) in &options {
        check_row(row, is_server)?;
        if let Support::Ignored(why) = row.support {
            settings.ignored.push((row.name, why));
        }
        take(&Given { name: row.name, value, is_server }, &mut settings, &mut server, &mut client)?;
    }
    check_pairs(&settings, &server, &client)?;
    if is_server {
        settings.end = End::Server(server);
        return Ok(Invocation::Run(Box::new(settings)));
    }
    client.conclude(&settings, has("rcv-timeout"))?;
    settings.end = End::Client(Box::new(client));
    Ok(Invocation::Run(Box::new(settings)))
}

/// Checks that an option is supported, and that this end accepts it.
fn check_row(row: &'static Opt, is_server: bool) -> Result<(), Iperf3UsageError> {
    if let Support::NotYet(why) | Support::Never(why) = row.support {
        return Err(Iperf3UsageError::NotYet { name: row.name, why });
    }
    match row.role {
        Role::Client if is_server => {
            Err(Iperf3UsageError::Parameter("some option you are trying to set is client only"))
        }
        Role::Server if !is_server => {
            Err(Iperf3UsageError::Parameter("some option you are trying to set is server only"))
        }
        _ => Ok(()),
    }
}

/// Passes an option to its group of settings.
fn take(
    given: &Given<'_>,
    settings: &mut Iperf3Settings,
    server: &mut Server,
    client: &mut Client,
) -> Result<(), Iperf3UsageError> {
    match given.name {
        "affinity" => given.processors(&mut settings.processor, &mut client.params.server_processor)?,
        "client" => client.host = given.host(&mut settings.device),
        _ => {
            settings.take(given)?;
            server.take(given)?;
            client.take(given)?;
        }
    }
    Ok(())
}

/// Checks options of both ends that need each other.
fn check_pairs(settings: &Iperf3Settings, server: &Server, client: &Client) -> Result<(), Iperf3UsageError> {
    if server.key.is_some() != server.users.is_some() {
        return Err(Iperf3UsageError::Parameter(
            "give both --rsa-private-key-path and --authorized-users-path, or none",
        ));
    }
    if client.user.is_some() != client.key.is_some() {
        return Err(Iperf3UsageError::Parameter("give both --username and --rsa-public-key-path, or none"));
    }
    // Source: iperf3 3.21, `iperf_parse_arguments`: an omitted part counts as 0.
    let [idle, interval, count] = settings.keep_alive.map(|part| u64::from(part.unwrap_or(0)));
    if idle > 0 && idle <= interval * count {
        return Err(Iperf3UsageError::Parameter(
            "control connection Keepalive period should be larger than the full retry period (interval * count)",
        ));
    }
    Ok(())
}

impl Client {
    /// Checks combinations of options and derives defaults. `has_timeout` states whether `--rcv-timeout` is given.
    fn conclude(&mut self, settings: &Iperf3Settings, has_timeout: bool) -> Result<(), Iperf3UsageError> {
        let params = &mut self.params;
        if has_timeout && !(params.flow.reverse || params.flow.bidir) {
            return Err(Iperf3UsageError::Parameter(
                "client receive timeout is valid only in receiving mode: add -R or --bidir",
            ));
        }
        if params.flow.reverse && params.flow.bidir {
            return Err(Iperf3UsageError::Parameter("cannot be both reverse and bidirectional"));
        }
        let ends = [params.end.time_s.is_some(), params.end.bytes > 0, params.end.blocks > 0];
        if ends.into_iter().filter(|&end| end).count() > 1 {
            return Err(Iperf3UsageError::Parameter("only one test end condition (-t, -n, -k) may be specified"));
        }
        let has_file = settings.file.is_some();
        // A file to send limits the test by its length.
        if !ends.contains(&true) && (params.flow.reverse || !has_file) {
            params.end.time_s = Some(10);
        }
        if params.transport.sctp
            && (params.transport.udp || params.transport.multipath || params.socket.congestion.is_some())
        {
            return Err(Iperf3UsageError::Parameter("--sctp cannot be combined with -u, -m or -C"));
        }
        if has_file && (params.transport.udp || params.flow.bidir) {
            return Err(Iperf3UsageError::Parameter("a file is transferred by TCP, in one direction"));
        }
        if settings.device.as_ref().is_some_and(|device| device.len() >= DEVICE_BYTES_MAX) {
            return Err(Iperf3UsageError::Parameter("the name of a network interface has at most 15 letters"));
        }
        if params.transport.udp && params.pace.rate.is_none() {
            // 2^20, as in iperf3.
            params.pace.rate = Some(1 << 20);
        }
        Ok(())
    }
}
