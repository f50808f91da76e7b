//! The options in one table, which the parser and `--help` use.

use plumb_tools::Support::{self, Ignored, NotYet, Works};
use plumb_tools::options::Role::{Both, Client, Server};
use plumb_tools::options::Takes::{AfterEquals, Nothing, Value};
use plumb_tools::options::{DoubleDash, Grammar, Opt, Table, both, long};

/// All options. Source: iperf 3.21's help and manual.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    both('s', "server", Nothing, "run as server"),
    both('c', "client", Value("HOST"), "run as client of HOST"),
    both('p', "port", Value("N"), "port of the server (default 5201)"),
    both('f', "format", Value("kmgtKMGT"), "unit of rates"),
    both('i', "interval", Value("S"), "seconds between reports (default 1; 0: none)"),
    both('I', "pidfile", Value("FILE"), "write the process number to FILE"),
    both('B', "bind", Value("ADDRESS"), "bind to ADDRESS (server default: loopback only)"),
    long("bind-dev", Value("DEV"), "bind to the network interface DEV"),
    both('F', "file", Value("FILE"), "send FILE, or receive into it"),
    both('A', "affinity", Value("N[,M]"), "run on processor N (M: for a stock server)"),
    both('m', "mptcp", Nothing, "multipath TCP (the server always accepts it)"),
    long("rcv-timeout", Value("MS"), "end a test that receives nothing for this long (default 120000)"),
    long("snd-timeout", Value("MS"), "end a TCP stream whose data is unacknowledged for this long"),
    long("cntl-ka", AfterEquals("[=S/S/N]"), "keepalive of the control connection (default 5/5/3)"),
    both('V', "verbose", Nothing, "print more"),
    both('J', "json", Nothing, "print JSON"),
    long("json-stream", Nothing, "print a line of JSON for each event"),
    long("json-stream-full-output", Nothing, "and the whole document at the end"),
    long("timestamps", AfterEquals("[=FORMAT]"), "begin each line with the time (default \"%c \")"),
    long("logfile", Value("FILE"), "append the output to FILE"),
    both('v', "version", Nothing, "print the version"),
    both('h', "help", Nothing, "print this"),
    both('4', "version4", Nothing, "IPv4 only"),
    both('6', "version6", Nothing, "IPv6 only"),
    both('D', "daemon", Nothing, "run in the background").for_role(Server),
    both('1', "one-off", Nothing, "end after one test").for_role(Server),
    long("server-bitrate-limit", Value("R[/S]"), "end tests above this rate (mean over S seconds, default 5)").for_role(Server),
    long("idle-timeout", Value("S"), "with -1, end after S seconds without a client").for_role(Server),
    long("server-max-duration", Value("S"), "refuse tests of more seconds").for_role(Server),
    both('u', "udp", Nothing, "UDP instead of TCP").for_role(Client),
    long("sctp", Nothing, "SCTP instead of TCP, if both kernels have it").for_role(Client),
    both('b', "bitrate", Value("R[/N]"), "bits per second of a stream (UDP default 1M; 0: no limit), N blocks at once").for_role(Client),
    long("fq-rate", Value("R"), "bits per second of the kernel's pacing").for_role(Client),
    both('t', "time", Value("S"), "seconds (default 10)").for_role(Client),
    both('n', "bytes", Value("N"), "end after N bytes").for_role(Client),
    both('k', "blockcount", Value("N"), "end after N blocks").for_role(Client),
    both('l', "length", Value("N"), "bytes of a block (TCP default 128K)").for_role(Client),
    both('P', "parallel", Value("N"), "streams").for_role(Client),
    both('R', "reverse", Nothing, "the server sends").for_role(Client),
    long("bidir", Nothing, "both send").for_role(Client),
    both('w', "window", Value("N"), "bytes of socket buffers").for_role(Client),
    both('C', "congestion", Value("NAME"), "congestion control algorithm").for_role(Client),
    both('M', "set-mss", Value("N"), "bytes of the largest segment").for_role(Client),
    both('N', "no-delay", Nothing, "TCP_NODELAY").for_role(Client),
    both('S', "tos", Value("N"), "type of service").for_role(Client),
    long("dscp", Value("N"), "code point of the service: 0 to 63, or a name such as af11, cs1, ef").for_role(Client),
    both('L', "flowlabel", Value("N"), "label of the flow (IPv6)").for_role(Client),
    long("dont-fragment", Nothing, "datagrams of IPv4 stay whole").for_role(Client),
    both('O', "omit", Value("S"), "leave the first S seconds out").for_role(Client),
    both('T', "title", Value("TEXT"), "begin each line with TEXT").for_role(Client),
    both('Z', "zerocopy", Nothing, "lend pages to the kernel instead of copying (vmsplice)").for_role(Client),
    long("repeating-payload", Nothing, "data is the digits 0 to 9 instead of random bytes").for_role(Client),
    long("skip-rx-copy", Nothing, "receivers drop data unread (MSG_TRUNC)").for_role(Client),
    long("gsro", Nothing, "datagrams in trains (UDP_SEGMENT, UDP_GRO)").for_role(Client),
    long("udp-counters-64bit", Nothing, "number datagrams by 64 bits").for_role(Client),
    long("cport", Value("N"), "port of the client's first stream").for_role(Client),
    long("connect-timeout", Value("MS"), "longest wait for the server").for_role(Client),
    long("extra-data", Value("TEXT"), "text to put into the JSON").for_role(Client),
    long("get-server-output", Nothing, "print the server's report, too").for_role(Client),
    long("forceflush", Nothing, "").but(Ignored("output is always flushed")),
    both('d', "debug", AfterEquals("[=N]"), "").but(Ignored("-V prints all there is")),
    long("pacing-timer", Value("N"), "").for_role(Client).but(Ignored("each block has its own start")),
    long("nstreams", Value("N"), "").for_role(Client).but(NotYet("one stream of SCTP is used")),
    both('X', "xbind", Value("NAME"), "").for_role(Client).but(NotYet("SCTP with several addresses; -B binds to one")),
    long("username", Value("NAME"), "name of the user; the password: $IPERF3_PASSWORD, or asked for").for_role(Client),
    long("rsa-public-key-path", Value("FILE"), "key of the server, to which name and password are encrypted").for_role(Client),
    long("rsa-private-key-path", Value("FILE"), "admit only users: the key of the server, PEM").for_role(Server),
    long("authorized-users-path", Value("FILE"), "the users: lines of NAME,SHA-256 of {NAME}PASSWORD").for_role(Server),
    long("time-skew-threshold", Value("S"), "how far a client's clock may be off (default 10)").for_role(Server),
    long("use-pkcs1-padding", Nothing, "pad as before 3.17 (the timing of real servers of those versions reveals secrets)"),
];

/// The parsing rules: those of getopt_long(3), except that operands are errors.
pub(crate) const GRAMMAR: Grammar = Grammar {
    aliases: &[("bandwidth", "bitrate")],
    abbreviates: true,
    double_dash: DoubleDash::Unknown,
    ..Grammar::getopt(Table(&[OPTIONS]))
};

/// Returns the page of `--help`.
pub fn help() -> String {
    help_of("iperf3", OPTIONS)
        + "\n[KMG] are powers of 1000 in rates and of 1024 elsewhere. Measured by Plumb in the language of iperf 3.21.\n"
}

/// Formats the page of `--help` for another table.
pub(crate) fn help_of(tool: &str, table: &[Opt]) -> String {
    let mut text = format!("Usage: {tool} [-s|-c host] [options]\n       {tool} [-h|--help] [-v|--version]\n");
    for (role, title) in [(Both, "Server or Client:"), (Server, "Server specific:"), (Client, "Client specific:")] {
        text += &format!("\n{title}\n");
        for row in table.iter().filter(|row| row.role == role) {
            let letter = row.letter.map_or_else(|| "   ".to_owned(), |letter| format!("-{letter},"));
            let names = format!("  {letter} --{} {}", row.name, row.takes.value());
            text += &match row.support {
                Ignored(why) => format!("{names:<33} no effect: {why}\n"),
                NotYet(why) | Support::Never(why) => format!("{names:<33} not yet: {why}\n"),
                Works => format!("{names:<33} {}\n", row.what),
            };
        }
    }
    text
}
