//! The options, one row each: the parser and `-h` read them.

use crate::Support;
use Support::{Ignored, NotYet, Works};

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Its letter.
    pub letter: char,
    /// What its value is called; empty where it takes none. In brackets where the value may be left out.
    pub value: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Whether it is supported.
    pub support: Support,
}

const fn opt(letter: char, value: &'static str, what: &'static str) -> Opt {
    Opt { letter, value, what, support: Works }
}

const fn not_yet(letter: char, value: &'static str, why: &'static str) -> Opt {
    Opt { letter, value, what: "", support: NotYet(why) }
}

const fn ignored(letter: char, value: &'static str, why: &'static str) -> Opt {
    Opt { letter, value, what: "", support: Ignored(why) }
}

const ALIGN: &str = "buffers have addresses of their own";

/// netperf's, before `--`. Source: the help of netperf 2.7.0.
#[rustfmt::skip]
pub const CLIENT: &[Opt] = &[
    opt('4', "", "IPv4 only"),
    opt('6', "", "IPv6 only"),
    opt('B', "TEXT", "end a line of results with TEXT"),
    opt('c', "[RATE]", "measure how busy the processors are here"),
    opt('C', "[RATE]", "measure how busy the processors are at the server"),
    opt('D', "S[,UNITS]", "print interim results every S seconds"),
    opt('f', "GMKBgmkbx", "unit of throughput"),
    opt('F', "FILE", "the file that TCP_SENDFILE sends (default: random data); other tests send random data"),
    opt('h', "", "print this"),
    opt('H', "HOST[,FAMILY]", "the server (default localhost)"),
    opt('i', "MAX[,MIN]", "how often the test is made, with -I"),
    opt('I', "LEVEL[,WIDTH]", "repeat until the confidence interval is WIDTH per cent (default 5), at 95 or 99 %"),
    opt('j', "", "keep statistics of times; they are always kept"),
    opt('l', "N", "seconds; below 0: round trips, or bytes (default 10)"),
    opt('L', "HOST[,FAMILY]", "this end's address"),
    opt('p', "PORT[,LOCAL]", "netserver's port (default 12865)"),
    opt('P', "0|1", "print headers"),
    opt('r', "", "the result alone must be confident"),
    opt('s', "S", "wait before the test"),
    opt('t', "TEST", "TCP_STREAM (default), TCP_MAERTS, TCP_RR, TCP_CRR, TCP_CC, UDP_STREAM, UDP_RR, TCP_SENDFILE, OMNI"),
    opt('T', "LOCAL[,REMOTE]", "run on this processor here, and on this one at the server"),
    opt('v', "N", "0: the result only; 2: more"),
    opt('V', "", "print the version"),
    opt('Y', "LOCAL[,REMOTE]", "type of service"),
    opt('Z', "TEXT", "pass phrase"),
    ignored('a', "N[,N]", ALIGN),
    ignored('A', "N[,N]", ALIGN),
    ignored('d', "", "there is no debugging output"),
    ignored('n', "N", "processors are counted"),
    ignored('o', "N[,N]", ALIGN),
    ignored('O', "N[,N]", ALIGN),
    ignored('S', "", "tests end by deadlines"),
    ignored('W', "N[,N]", ALIGN),
    not_yet('b', "N", "bursts; netperf needs a special build for them"),
    not_yet('N', "", "tests without a control connection"),
    not_yet('w', "MS", "intervals; netperf needs a special build for them"),
    not_yet('y', "N[,N]", "socket priority"),
];

/// netperf's, behind `--`.
#[rustfmt::skip]
pub const TEST: &[Opt] = &[
    opt('4', "", "IPv4 for data"),
    opt('6', "", "IPv6 for data"),
    opt('b', "N", "send N requests before waiting for a response, so that N + 1 are always in flight"),
    opt('c', "", "a connection for each round trip"),
    opt('d', "DIRECTION", "send, recv, rr, maerts, stream, or a number: 2 and 4 by bits"),
    opt('D', "[L][,R]", "TCP_NODELAY"),
    opt('e', "S", "a response of UDP that does not come in time is lost; always after 1 s"),
    opt('G', "N", "bytes of the largest segment"),
    opt('h', "", "print this"),
    opt('H', "HOST[,FAMILY]", "the server's address for data"),
    opt('k', "[LIST]", "NAME=value lines"),
    opt('K', "LOCAL[,REMOTE]", "congestion control"),
    opt('L', "HOST[,FAMILY]", "this end's address for data"),
    opt('m', "LOCAL[,REMOTE]", "bytes sent at once"),
    opt('M', "LOCAL[,REMOTE]", "bytes received at once"),
    opt('n', "", "connect sockets of UDP; they always are"),
    opt('N', "", "the same at the server"),
    opt('o', "[LIST]", "CSV"),
    opt('O', "[LIST]", "columns"),
    opt('P', "LOCAL[,REMOTE]", "ports for data"),
    opt('r', "N[,N]", "bytes of a request and of a response"),
    opt('R', "0|1", "data may pass routers (default: not for UDP_STREAM)"),
    opt('s', "SEND[,RECV]", "bytes of this end's buffers"),
    opt('S', "SEND[,RECV]", "bytes of the server's buffers"),
    opt('t', "TYPE", "stream or dgram"),
    opt('T', "PROTOCOL", "tcp or udp"),
    opt('u', "TEXT", "name of the test, instead of a random one"),
    ignored('g', "", "SO_DEBUG"),
    ignored('I', "", "calls are the same for both"),
    ignored('U', "", "there is no debugging output"),
    ignored('V', "", "data is not touched"),
    ignored('W', "N[,N]", ALIGN),
    not_yet('a', "", "deferred accept"),
    not_yet('B', "", "packet information"),
    not_yet('C', "", "TCP_CORK"),
    not_yet('f', "", "discovery of the path's MTU"),
    not_yet('F', "", "TCP fast open"),
    not_yet('l', "N", "multicast"),
    not_yet('p', "MIN[,MAX]", "ranges of ports; the system chooses them"),
    not_yet('q', "RATE", "pacing by the kernel"),
];

/// netserver's.
#[rustfmt::skip]
pub const SERVER: &[Opt] = &[
    opt('4', "", "IPv4 only"),
    opt('6', "", "IPv6 only"),
    opt('D', "", "stay in the foreground"),
    opt('h', "", "print this"),
    opt('L', "HOST[,FAMILY]", "listen at HOST (default: loopback only)"),
    opt('p', "PORT", "port (default 12865)"),
    opt('V', "", "print the version"),
    opt('Z', "TEXT", "expect this pass phrase"),
    ignored('d', "", "there is no debugging output"),
    ignored('f', "", "tests do not disturb each other's connections"),
    ignored('N', "", "there is no debugging output"),
    ignored('v', "N", "nothing is printed"),
];

fn rows(title: &str, all: &[Opt]) -> String {
    let mut text = format!("\n{title}:\n");
    for row in all {
        let names = format!("    -{} {}", row.letter, row.value);
        text += &match row.support {
            Works => format!("{names:<23} {}\n", row.what),
            Ignored(why) => format!("{names:<23} no effect: {why}\n"),
            NotYet(why) | Support::Never(why) => format!("{names:<23} not yet: {why}\n"),
        };
    }
    text
}

/// What both ends have that netperf's have not.
const OWN: &str = "\nIn front of all others:\n    --plumb-busy-poll=US    round trips ask for data without sleeping for at most US µs before they wait for it\n";

/// What `-h` prints.
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
