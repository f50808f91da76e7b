//! The options, one row each: the parser and `--help` read them.

use crate::Support;
use Role::{Both, Client, Server};
use Support::{Ignored, NotYet, Works};

/// Who may be given an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Both ends.
    Both,
    /// The server.
    Server,
    /// The client.
    Client,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Its letter; 0 where it has none.
    pub letter: char,
    /// Its name.
    pub name: &'static str,
    /// What its value is called; empty where it takes none. In brackets where the value may be left out.
    pub value: &'static str,
    /// Who may be given it.
    pub role: Role,
    /// What it does.
    pub what: &'static str,
    /// Whether it is supported.
    pub support: Support,
}

pub(crate) const fn opt(letter: char, name: &'static str, value: &'static str, role: Role, what: &'static str) -> Opt {
    Opt { letter, name, value, role, what, support: Works }
}

pub(crate) const fn not_yet(
    letter: char,
    name: &'static str,
    value: &'static str,
    role: Role,
    why: &'static str,
) -> Opt {
    Opt { letter, name, value, role, what: "", support: NotYet(why) }
}

pub(crate) const fn ignored(
    letter: char,
    name: &'static str,
    value: &'static str,
    role: Role,
    why: &'static str,
) -> Opt {
    Opt { letter, name, value, role, what: "", support: Ignored(why) }
}

pub(crate) const NONE: char = '\0';

/// All of them. Source: iperf 3.21's help and manual.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    opt('s', "server", "", Both, "run as server"),
    opt('c', "client", "HOST", Both, "run as client of HOST"),
    opt('p', "port", "N", Both, "port of the server (default 5201)"),
    opt('f', "format", "kmgtKMGT", Both, "unit of rates"),
    opt('i', "interval", "S", Both, "seconds between reports (default 1; 0: none)"),
    opt('I', "pidfile", "FILE", Both, "write the process number to FILE"),
    opt('B', "bind", "ADDRESS", Both, "bind to ADDRESS (server default: loopback only)"),
    opt(NONE, "bind-dev", "DEV", Both, "bind to the network interface DEV"),
    opt('F', "file", "FILE", Both, "send FILE, or receive into it"),
    opt('A', "affinity", "N[,M]", Both, "run on processor N (M: of a stock server)"),
    opt('m', "mptcp", "", Both, "multipath TCP (the server always takes it)"),
    opt(NONE, "rcv-timeout", "MS", Both, "end a test that receives nothing for so long (default 120000)"),
    opt(NONE, "snd-timeout", "MS", Both, "end a TCP stream whose data nobody acknowledges for so long"),
    opt(NONE, "cntl-ka", "[=S/S/N]", Both, "keepalive of the control connection (default 5/5/3)"),
    opt('V', "verbose", "", Both, "print more"),
    opt('J', "json", "", Both, "print JSON"),
    opt(NONE, "json-stream", "", Both, "print a line of JSON for each event"),
    opt(NONE, "json-stream-full-output", "", Both, "and the whole document at the end"),
    opt(NONE, "timestamps", "[=FORMAT]", Both, "begin each line with the time (default \"%c \")"),
    opt(NONE, "logfile", "FILE", Both, "append the output to FILE"),
    opt('v', "version", "", Both, "print the version"),
    opt('h', "help", "", Both, "print this"),
    opt('4', "version4", "", Both, "IPv4 only"),
    opt('6', "version6", "", Both, "IPv6 only"),
    opt('D', "daemon", "", Server, "run in the background"),
    opt('1', "one-off", "", Server, "end after one test"),
    opt(NONE, "server-bitrate-limit", "R[/S]", Server, "end tests of more bits a second (mean of S seconds, default 5)"),
    opt(NONE, "idle-timeout", "S", Server, "with -1, end after S seconds without a client"),
    opt(NONE, "server-max-duration", "S", Server, "refuse tests of more seconds"),
    opt('u', "udp", "", Client, "UDP instead of TCP"),
    opt(NONE, "sctp", "", Client, "SCTP instead of TCP, where both kernels have it"),
    opt('b', "bitrate", "R[/N]", Client, "bits a second of a stream (UDP default 1M; 0: no limit), N blocks at once"),
    opt(NONE, "fq-rate", "R", Client, "bits a second at which the kernel lets data go"),
    opt('t', "time", "S", Client, "seconds (default 10)"),
    opt('n', "bytes", "N", Client, "end after N bytes"),
    opt('k', "blockcount", "N", Client, "end after N blocks"),
    opt('l', "length", "N", Client, "bytes of a block (TCP default 128K)"),
    opt('P', "parallel", "N", Client, "streams"),
    opt('R', "reverse", "", Client, "the server sends"),
    opt(NONE, "bidir", "", Client, "both send"),
    opt('w', "window", "N", Client, "bytes of socket buffers"),
    opt('C', "congestion", "NAME", Client, "algorithm of congestion control"),
    opt('M', "set-mss", "N", Client, "bytes of the largest segment"),
    opt('N', "no-delay", "", Client, "TCP_NODELAY"),
    opt('S', "tos", "N", Client, "type of service"),
    opt(NONE, "dscp", "N", Client, "code point of the service: 0 to 63, or a name such as af11, cs1, ef"),
    opt('L', "flowlabel", "N", Client, "label of the flow (IPv6)"),
    opt(NONE, "dont-fragment", "", Client, "datagrams of IPv4 stay whole"),
    opt('O', "omit", "S", Client, "leave the first S seconds out"),
    opt('T', "title", "TEXT", Client, "begin each line with TEXT"),
    opt('Z', "zerocopy", "", Client, "lend pages to the kernel instead of copying (vmsplice)"),
    opt(NONE, "repeating-payload", "", Client, "data is the digits 0 to 9 instead of random bytes"),
    opt(NONE, "skip-rx-copy", "", Client, "receivers drop data unread (MSG_TRUNC)"),
    opt(NONE, "gsro", "", Client, "datagrams in trains (UDP_SEGMENT, UDP_GRO)"),
    opt(NONE, "udp-counters-64bit", "", Client, "number datagrams by 64 bits"),
    opt(NONE, "cport", "N", Client, "port of the client's first stream"),
    opt(NONE, "connect-timeout", "MS", Client, "longest wait for the server"),
    opt(NONE, "extra-data", "TEXT", Client, "text to put into the JSON"),
    opt(NONE, "get-server-output", "", Client, "print the server's report, too"),
    ignored(NONE, "forceflush", "", Both, "output is always flushed"),
    ignored('d', "debug", "[=N]", Both, "-V prints all there is"),
    ignored(NONE, "pacing-timer", "N", Client, "each block has its own start"),
    not_yet(NONE, "nstreams", "N", Client, "one stream of SCTP is used"),
    not_yet('X', "xbind", "NAME", Client, "SCTP with several addresses; -B binds to one"),
    opt(NONE, "username", "NAME", Client, "name of the user; the password: $IPERF3_PASSWORD, or asked for"),
    opt(NONE, "rsa-public-key-path", "FILE", Client, "key of the server, to which name and password are encrypted"),
    opt(NONE, "rsa-private-key-path", "FILE", Server, "admit only users: the key of the server, PEM"),
    opt(NONE, "authorized-users-path", "FILE", Server, "the users: lines of NAME,SHA-256 of {NAME}PASSWORD"),
    opt(NONE, "time-skew-threshold", "S", Server, "how far a client's clock may be off (default 10)"),
    opt(NONE, "use-pkcs1-padding", "", Both, "pad as before 3.17 (a real server of those tells whoever measures)"),
];

/// What `--help` prints.
pub fn help() -> String {
    help_of("iperf3", OPTIONS)
        + "\n[KMG] are powers of 1000 in rates and of 1024 elsewhere. Measured by Plumb in the language of iperf 3.21.\n"
}

/// The same of another table.
pub(crate) fn help_of(tool: &str, table: &[Opt]) -> String {
    let mut text = format!("Usage: {tool} [-s|-c host] [options]\n       {tool} [-h|--help] [-v|--version]\n");
    for (role, title) in [(Both, "Server or Client:"), (Server, "Server specific:"), (Client, "Client specific:")] {
        text += &format!("\n{title}\n");
        for row in table.iter().filter(|row| row.role == role) {
            let letter = if row.letter == NONE { "   ".to_owned() } else { format!("-{},", row.letter) };
            let names = format!("  {letter} --{} {}", row.name, row.value);
            text += &match row.support {
                Ignored(why) => format!("{names:<33} no effect: {why}\n"),
                NotYet(why) | Support::Never(why) => format!("{names:<33} not yet: {why}\n"),
                Works => format!("{names:<33} {}\n", row.what),
            };
        }
    }
    text
}
