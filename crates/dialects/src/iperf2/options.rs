//! The options, one row each: the parser and `--help` read them.

use crate::iperf3::Opt;
use crate::iperf3::options::Role::{Both, Client, Server};
use crate::iperf3::options::{NONE, help_of, ignored, not_yet, opt};

/// All of them. Source: iperf 2.1.8's help.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    opt('s', "server", "", Both, "run as server"),
    opt('c', "client", "HOST", Both, "run as client of HOST"),
    opt('p', "port", "N", Both, "port of the server (default 5001)"),
    opt('u', "udp", "", Both, "UDP instead of TCP"),
    opt('i', "interval", "S", Both, "seconds between reports (default: none)"),
    opt('e', "enhanced", "", Both, "print more"),
    opt('f', "format", "kmgtKMGT", Both, "unit of rates"),
    opt('l', "len", "N", Both, "bytes of a block (TCP 128K, UDP 1470; of IPv6 1450)"),
    opt('w', "window", "N", Both, "bytes of socket buffers"),
    opt('B', "bind", "ADDRESS", Both, "bind to ADDRESS (server default: loopback only)"),
    opt('M', "mss", "N", Both, "bytes of the largest segment"),
    opt('N', "nodelay", "", Both, "TCP_NODELAY"),
    opt('S', "tos", "N", Both, "type of service, 0 to 255"),
    opt('Z', "tcp-congestion", "NAME", Both, "algorithm of congestion control"),
    opt('V', "ipv6_domain", "", Both, "IPv6"),
    opt('y', "reportstyle", "C", Both, "comma-separated values"),
    opt('t', "time", "S", Both, "seconds (client default 10; a server ends then)"),
    opt('h', "help", "", Both, "print this"),
    opt('v', "version", "", Both, "print the version"),
    opt('1', "singleclient", "", Server, "end after one client"),
    opt('b', "bandwidth", "R|Npps", Client, "bits or packets a second of a stream (UDP default 1M)"),
    opt('n', "num", "N", Client, "end after N bytes"),
    opt('P', "parallel", "N", Client, "streams"),
    opt('R', "reverse", "", Client, "the server sends (TCP)"),
    opt(NONE, "trip-times", "", Client, "times on the way, where both clocks agree"),
    opt(NONE, "bounceback", "[=N]", Client, "round trips of -l bytes (default 100), N in a period (default 10)"),
    opt(NONE, "bounceback-period", "S", Client, "seconds of a period (default 1); 0: one round trip after the other"),
    ignored(NONE, "bounceback-no-quickack", "", Client, "acknowledgements go with responses"),
    not_yet(NONE, "bounceback-hold", "MS", Client, "servers answer at once"),
    not_yet(NONE, "bounceback-congest", "", Client, "use `plumb net HOST`"),
    ignored('C', "compatibility", "", Both, "the header does not disturb older servers"),
    ignored('X', "peer-detect", "", Client, "versions are not exchanged"),
    ignored('m', "print_mss", "", Both, "it is printed always"),
    opt('d', "dualtest", "", Client, "the server connects back and sends at the same time (TCP)"),
    opt('r', "tradeoff", "", Client, "the server connects back and sends afterwards (TCP)"),
    opt('L', "listenport", "N", Client, "port that the server connects back to (default: its own)"),
    opt(NONE, "full-duplex", "", Client, "both ends send over one connection (TCP)"),
    not_yet(NONE, "isochronous", "[=F:M,S]", Client, "use -b with -l"),
    opt(NONE, "histograms", "[=W,N]", Server, "times on the way in N bins of W (10u, 1m; default 100u,10000)"),
    not_yet('D', "daemon", "", Server, "use systemd, or `&`"),
];

/// What `--help` prints.
pub fn help() -> String {
    help_of("iperf", OPTIONS)
        + "\nk, m, g are powers of 1000; K, M, G of 1024. Measured by Plumb in the language of iperf 2.1.8.\n"
}
