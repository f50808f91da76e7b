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

const fn opt(letter: char, name: &'static str, value: &'static str, role: Role, what: &'static str) -> Opt {
    Opt { letter, name, value, role, what, support: Works }
}

const fn not_yet(letter: char, name: &'static str, value: &'static str, role: Role, why: &'static str) -> Opt {
    Opt { letter, name, value, role, what: "", support: NotYet(why) }
}

const fn ignored(letter: char, name: &'static str, value: &'static str, role: Role, why: &'static str) -> Opt {
    Opt { letter, name, value, role, what: "", support: Ignored(why) }
}

const NONE: char = '\0';
const AUTH: &str = "authentication";

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
    opt('V', "verbose", "", Both, "print more"),
    opt('J', "json", "", Both, "print JSON"),
    opt(NONE, "json-stream", "", Both, "print a line of JSON for each event"),
    opt(NONE, "logfile", "FILE", Both, "append the output to FILE"),
    opt('v', "version", "", Both, "print the version"),
    opt('h', "help", "", Both, "print this"),
    opt('4', "version4", "", Both, "IPv4 only"),
    opt('6', "version6", "", Both, "IPv6 only"),
    opt('D', "daemon", "", Server, "run in the background"),
    opt('1', "one-off", "", Server, "end after one test"),
    opt(NONE, "server-bitrate-limit", "R", Server, "refuse tests of more bits a second"),
    opt(NONE, "server-max-duration", "S", Server, "refuse tests of more seconds"),
    opt('u', "udp", "", Client, "UDP instead of TCP"),
    opt('b', "bitrate", "R[/N]", Client, "bits a second of a stream (UDP default 1M; 0: no limit), N blocks at once"),
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
    opt('O', "omit", "S", Client, "leave the first S seconds out"),
    opt('T', "title", "TEXT", Client, "begin each line with TEXT"),
    opt('Z', "zerocopy", "", Client, "lend pages to the kernel instead of copying (vmsplice)"),
    opt(NONE, "skip-rx-copy", "", Client, "receivers drop data unread (MSG_TRUNC)"),
    opt(NONE, "gsro", "", Client, "datagrams in trains (UDP_SEGMENT, UDP_GRO)"),
    opt(NONE, "udp-counters-64bit", "", Client, "number datagrams by 64 bits"),
    opt(NONE, "cport", "N", Client, "port of the client's first stream"),
    opt(NONE, "connect-timeout", "MS", Client, "longest wait for the server"),
    opt(NONE, "extra-data", "TEXT", Client, "text to put into the JSON"),
    opt(NONE, "get-server-output", "", Client, "print the server's report, too"),
    ignored(NONE, "forceflush", "", Both, "output is always flushed"),
    ignored(NONE, "pacing-timer", "N", Client, "each block has its own start"),
    ignored(NONE, "cntl-ka", "[=N]", Both, "a connection that is dead ends its test by deadlines"),
    not_yet('F', "file", "FILE", Both, "transfer of files"),
    not_yet('A', "affinity", "N", Both, "processor affinity; use taskset"),
    not_yet(NONE, "bind-dev", "DEV", Both, "binding to a device; use -B ADDRESS"),
    not_yet(NONE, "json-stream-full-output", "", Both, "use -J or --json-stream"),
    not_yet(NONE, "timestamps", "[=F]", Both, "time stamps of lines; use ts(1)"),
    not_yet(NONE, "rcv-timeout", "MS", Both, "other deadlines"),
    not_yet(NONE, "snd-timeout", "MS", Both, "other deadlines"),
    not_yet(NONE, "idle-timeout", "S", Server, "other deadlines"),
    not_yet('m', "mptcp", "", Both, "MPTCP"),
    not_yet('d', "debug", "[=N]", Both, "debug output; use -V"),
    not_yet(NONE, "sctp", "", Client, "SCTP"),
    not_yet(NONE, "nstreams", "N", Client, "SCTP"),
    not_yet('X', "xbind", "NAME", Client, "SCTP"),
    not_yet(NONE, "fq-rate", "R", Client, "pacing by the kernel; use -b"),
    not_yet(NONE, "dscp", "N", Client, "names of services; use -S"),
    not_yet('L', "flowlabel", "N", Client, "flow labels"),
    not_yet(NONE, "repeating-payload", "", Client, "data is always random"),
    not_yet(NONE, "dont-fragment", "", Client, "the flag of IPv4"),
    not_yet(NONE, "username", "NAME", Client, AUTH),
    not_yet(NONE, "rsa-public-key-path", "FILE", Client, AUTH),
    not_yet(NONE, "rsa-private-key-path", "FILE", Server, AUTH),
    not_yet(NONE, "authorized-users-path", "FILE", Server, AUTH),
    not_yet(NONE, "time-skew-threshold", "S", Server, AUTH),
    not_yet(NONE, "use-pkcs1-padding", "", Both, AUTH),
];

/// What `--help` prints.
pub fn help() -> String {
    let mut text = "Usage: iperf3 [-s|-c host] [options]\n       iperf3 [-h|--help] [-v|--version]\n".to_owned();
    for (role, title) in [(Both, "Server or Client:"), (Server, "Server specific:"), (Client, "Client specific:")] {
        text += &format!("\n{title}\n");
        for row in OPTIONS.iter().filter(|row| row.role == role) {
            let letter = if row.letter == NONE { "   ".to_owned() } else { format!("-{},", row.letter) };
            let names = format!("  {letter} --{} {}", row.name, row.value);
            text += &match row.support {
                Ignored(why) => format!("{names:<33} no effect: {why}\n"),
                NotYet(why) | Support::Never(why) => format!("{names:<33} not yet: {why}\n"),
                Works => format!("{names:<33} {}\n", row.what),
            };
        }
    }
    text + "\n[KMG] are powers of 1000 in rates and of 1024 elsewhere. Measured by Plumb in the language of iperf 3.21.\n"
}
