//! The options in one table, which the parser and `--help` use.

use crate::iperf3::options::{GRAMMAR, help_of};
use plumb_tools::Support::{Ignored, NotYet};
use plumb_tools::options::Role::{Client, Server};
use plumb_tools::options::Takes::{AfterEquals, Nothing, Value};
use plumb_tools::options::{Grammar, Opt, Table, both, long};

/// All options. Source: iperf 2.1.8's help.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    both('s', "server", Nothing, "run as server"),
    both('c', "client", Value("HOST"), "run as client of HOST"),
    both('p', "port", Value("N"), "port of the server (default 5001)"),
    both('u', "udp", Nothing, "UDP instead of TCP"),
    both('i', "interval", Value("S"), "seconds between reports (default: none)"),
    both('e', "enhanced", Nothing, "print more"),
    both('f', "format", Value("kmgtKMGT"), "unit of rates"),
    both('l', "len", Value("N"), "bytes of a block (TCP 128K, UDP 1470; of IPv6 1450)"),
    both('w', "window", Value("N"), "bytes of socket buffers"),
    both('B', "bind", Value("ADDRESS"), "bind to ADDRESS (server default: loopback only)"),
    both('M', "mss", Value("N"), "bytes of the largest segment"),
    both('N', "nodelay", Nothing, "TCP_NODELAY"),
    both('S', "tos", Value("N"), "type of service, 0 to 255"),
    both('Z', "tcp-congestion", Value("NAME"), "congestion control algorithm"),
    both('V', "ipv6_domain", Nothing, "IPv6"),
    both('y', "reportstyle", Value("C"), "comma-separated values"),
    both('t', "time", Value("S"), "seconds (client default 10; a server ends then)"),
    both('h', "help", Nothing, "print this"),
    both('v', "version", Nothing, "print the version"),
    both('D', "daemon", Nothing, "serve in the background, without a terminal and without output").for_role(Server),
    both('1', "singleclient", Nothing, "end after one client").for_role(Server),
    both('b', "bandwidth", Value("R|Npps"), "bits or packets per second of a stream (UDP default 1M)").for_role(Client),
    both('n', "num", Value("N"), "end after N bytes").for_role(Client),
    both('P', "parallel", Value("N"), "streams").for_role(Client),
    both('R', "reverse", Nothing, "the server sends (TCP)").for_role(Client),
    long("trip-times", Nothing, "one-way latencies, if both clocks agree").for_role(Client),
    long("bounceback", AfterEquals("[=N]"), "round trips of -l bytes (default 100), N in a period (default 10)").for_role(Client),
    long("bounceback-period", Value("S"), "seconds of a period (default 1); 0: one round trip after the other").for_role(Client),
    long("bounceback-no-quickack", Nothing, "").for_role(Client).but(Ignored("acknowledgements go with responses")),
    long("bounceback-hold", Value("MS"), "").for_role(Client).but(NotYet("servers answer at once")),
    long("bounceback-congest", Nothing, "").for_role(Client).but(NotYet("use `plumb net HOST`")),
    both('C', "compatibility", Nothing, "").but(Ignored("the header does not disturb older servers")),
    both('X', "peer-detect", Nothing, "").for_role(Client).but(Ignored("versions are not exchanged")),
    both('m', "print_mss", Nothing, "").but(Ignored("it is printed always")),
    both('d', "dualtest", Nothing, "the server connects back and sends at the same time (TCP)").for_role(Client),
    both('r', "tradeoff", Nothing, "the server connects back and sends afterwards (TCP)").for_role(Client),
    both('L', "listenport", Value("N"), "port that the server connects back to (default: its own)").for_role(Client),
    long("full-duplex", Nothing, "both ends send over one connection (TCP)").for_role(Client),
    long("isochronous", AfterEquals("[=F:M,S]"), "").for_role(Client).but(NotYet("use -b with -l")),
    long("histograms", AfterEquals("[=W,N]"), "one-way latencies in N bins of W (10u, 1m; default 100u,10000)").for_role(Server),
];

pub(super) const WORDS: Grammar = Grammar { table: Table(&[OPTIONS]), aliases: &[], ..GRAMMAR };

/// Returns the page of `--help`.
pub fn help() -> String {
    help_of("iperf", OPTIONS)
        + "\nk, m, g are powers of 1000; K, M, G of 1024. Measured by Plumb in the language of iperf 2.1.8.\n"
}
