//! The options in tables, which the parser and `-h` use.

use plumb_tools::Support::{self, Ignored, NotYet, Works};
use plumb_tools::options::Takes::{Nothing, Optional, OptionalWord, Value};
use plumb_tools::options::{DoubleDash, Grammar, Opt, Table, letter};

const ALIGN: &str = "buffers have addresses of their own";

const NOT_COMPILED: &str = "only builds of netperf with intervals pace their calls";

/// netperf's options before `--`. Source: the help of netperf 2.7.0.
#[rustfmt::skip]
pub const CLIENT: &[Opt] = &[
    letter('4', Nothing, "IPv4 only"),
    letter('6', Nothing, "IPv6 only"),
    letter('B', Value("TEXT"), "end a line of results with TEXT"),
    letter('c', Optional("[RATE]"), "measure the CPU utilization of this end"),
    letter('C', Optional("[RATE]"), "measure the CPU utilization of the server"),
    letter('D', Value("S[,UNITS]"), "print interim results every S seconds"),
    letter('f', Value("GMKBgmkbx"), "unit of throughput"),
    letter('F', Value("FILE"), "the file that TCP_SENDFILE sends (default: random data); other tests send random data"),
    letter('h', Nothing, "print this"),
    letter('H', Value("HOST[,FAMILY]"), "the server (default localhost)"),
    letter('i', Value("MAX[,MIN]"), "number of times that the test runs, with -I"),
    letter('I', Value("LEVEL[,WIDTH]"), "repeat until the confidence interval is WIDTH percent (default 5), at 95 or 99 %"),
    letter('j', Nothing, "keep statistics of times; they are always kept"),
    letter('l', Value("N"), "seconds; below 0: round trips, or bytes (default 10)"),
    letter('L', Value("HOST[,FAMILY]"), "this end's address"),
    letter('N', Nothing, "no netserver: data goes to port discard, echo or chargen of HOST, or to the port of -- -P"),
    letter('p', Value("PORT[,LOCAL]"), "netserver's port (default 12865)"),
    letter('P', Value("0|1"), "print headers"),
    letter('r', Nothing, "the result alone must be confident"),
    letter('s', Value("S"), "wait before the test"),
    letter('t', Value("TEST"), "TCP_STREAM (default), TCP_MAERTS, TCP_RR, TCP_CRR, TCP_CC, UDP_STREAM, UDP_RR, TCP_SENDFILE, OMNI"),
    letter('T', Value("LOCAL[,REMOTE]"), "run on this processor here, and on this one at the server"),
    letter('v', Value("N"), "0: the result only; 2: more"),
    letter('V', Nothing, "print the version"),
    letter('Y', Value("LOCAL[,REMOTE]"), "type of service"),
    letter('Z', Value("TEXT"), "pass phrase"),
    letter('a', Value("N[,N]"), "").but(Ignored(ALIGN)),
    letter('A', Value("N[,N]"), "").but(Ignored(ALIGN)),
    letter('d', Nothing, "").but(Ignored("there is no debugging output")),
    letter('n', Value("N"), "").but(Ignored("processors are counted")),
    letter('o', Value("N[,N]"), "").but(Ignored(ALIGN)),
    letter('O', Value("N[,N]"), "").but(Ignored(ALIGN)),
    letter('S', Nothing, "").but(Ignored("tests end by deadlines")),
    letter('W', Value("N[,N]"), "").but(Ignored(ALIGN)),
    letter('b', Value("N"), "").but(Ignored(NOT_COMPILED)),
    letter('w', Value("TIME"), "").but(Ignored(NOT_COMPILED)),
    letter('y', Value("N[,N]"), "").but(NotYet("socket priority")),
];

#[rustfmt::skip]
pub const TEST: &[Opt] = &[
    letter('4', Nothing, "IPv4 for data"),
    letter('6', Nothing, "IPv6 for data"),
    letter('b', Value("N"), "send N requests before waiting for a response, so that N + 1 are always in flight"),
    letter('c', Nothing, "a connection for each round trip"),
    letter('d', Value("DIRECTION"), "send, recv, rr, maerts, stream, or a number: 2 and 4 by bits"),
    letter('D', OptionalWord("[L][,R]"), "TCP_NODELAY"),
    letter('e', Value("S"), "a response of UDP that does not come in time is lost; always after 1 s"),
    letter('G', Value("N"), "bytes of the largest segment"),
    letter('h', Nothing, "print this"),
    letter('H', Value("HOST[,FAMILY]"), "the server's address for data"),
    letter('k', OptionalWord("[LIST]"), "NAME=value lines"),
    letter('K', Value("LOCAL[,REMOTE]"), "congestion control"),
    letter('L', Value("HOST[,FAMILY]"), "this end's address for data"),
    letter('m', Value("LOCAL[,REMOTE]"), "bytes sent at once"),
    letter('M', Value("LOCAL[,REMOTE]"), "bytes received at once"),
    letter('n', Nothing, "connect sockets of UDP; they always are"),
    letter('N', Nothing, "the same at the server"),
    letter('o', OptionalWord("[LIST]"), "CSV"),
    letter('O', OptionalWord("[LIST]"), "columns"),
    letter('P', Value("LOCAL[,REMOTE]"), "ports for data"),
    letter('r', Value("N[,N]"), "bytes of a request and of a response"),
    letter('R', Value("0|1"), "data may pass routers (default: not for UDP_STREAM)"),
    letter('s', Value("SEND[,RECV]"), "bytes of this end's buffers"),
    letter('S', Value("SEND[,RECV]"), "bytes of the server's buffers"),
    letter('t', Value("TYPE"), "stream or dgram"),
    letter('T', Value("PROTOCOL"), "tcp or udp"),
    letter('u', Value("TEXT"), "name of the test, instead of a random one"),
    letter('g', Nothing, "").but(Ignored("SO_DEBUG")),
    letter('I', Nothing, "").but(Ignored("calls are the same for both")),
    letter('U', Nothing, "").but(Ignored("there is no debugging output")),
    letter('V', Nothing, "").but(Ignored("data is not touched")),
    letter('W', Value("N[,N]"), "").but(Ignored(ALIGN)),
    letter('a', Nothing, "").but(NotYet("deferred accept")),
    letter('B', Nothing, "").but(NotYet("packet information")),
    letter('C', Nothing, "").but(NotYet("TCP_CORK")),
    letter('f', Nothing, "").but(NotYet("discovery of the path's MTU")),
    letter('F', Nothing, "").but(NotYet("TCP fast open")),
    letter('l', Value("N"), "").but(NotYet("multicast")),
    letter('p', Value("MIN[,MAX]"), "").but(NotYet("ranges of ports; the system chooses them")),
    letter('q', Value("RATE"), "").but(NotYet("pacing by the kernel")),
];

#[rustfmt::skip]
pub const SERVER: &[Opt] = &[
    letter('4', Nothing, "IPv4 only"),
    letter('6', Nothing, "IPv6 only"),
    letter('D', Nothing, "stay in the foreground"),
    letter('h', Nothing, "print this"),
    letter('L', Value("HOST[,FAMILY]"), "listen at HOST (default: loopback only)"),
    letter('p', Value("PORT"), "port (default 12865)"),
    letter('V', Nothing, "print the version"),
    letter('Z', Value("TEXT"), "expect this pass phrase"),
    letter('d', Nothing, "").but(Ignored("there is no debugging output")),
    letter('f', Nothing, "").but(Ignored("tests do not disturb each other's connections")),
    letter('N', Nothing, "").but(Ignored("there is no debugging output")),
    letter('v', Value("N"), "").but(Ignored("nothing is printed")),
];

/// Parsing rules for arguments before `--`.
pub(super) const CLIENT_WORDS: Grammar = grammar(Table(&[CLIENT]));
/// Parsing rules for the test's own arguments, after `--`.
pub(super) const TEST_WORDS: Grammar = grammar(Table(&[TEST]));
/// Parsing rules for netserver's arguments.
pub(super) const SERVER_WORDS: Grammar = grammar(Table(&[SERVER]));

const fn grammar(table: Table) -> Grammar {
    Grammar { double_dash: DoubleDash::EndsWords, ..Grammar::getopt(table) }
}

fn rows(title: &str, all: &[Opt]) -> String {
    let mut text = format!("\n{title}:\n");
    for row in all {
        let names = format!("    {} {}", row.written(), row.takes.value());
        text += &match row.support {
            Works => format!("{names:<23} {}\n", row.what),
            Ignored(why) => format!("{names:<23} no effect: {why}\n"),
            NotYet(why) | Support::Never(why) => format!("{names:<23} not yet: {why}\n"),
        };
    }
    text
}

/// Help for Plumb's own option of both ends.
const OWN: &str =
    "\nBefore all others:\n    --plumb-busy-poll=US    round trips poll for data for at most US µs before they sleep\n";

/// Returns the page of `-h`.
pub fn help(is_server: bool) -> String {
    if is_server {
        return format!("\nUsage: netserver [options]\n{}{OWN}", rows("Options", SERVER));
    }
    format!(
        "\nUsage: netperf [global options] -- [test options]\n{}{}{OWN}\nK, M, G are powers of 1024; k, m, g of 1000. \
         Measured by Plumb in the language of netperf 2.7.0.\n",
        rows("Global options", CLIENT),
        rows("Test options", TEST)
    )
}
