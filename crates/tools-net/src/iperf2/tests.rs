use super::*;
use crate::iperf3::Unit;
use plumb_workload::net::{DatagramForm, NetOp};
use proptest::prelude::*;

fn settings(line: &str) -> Iperf2Settings {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match read(&words) {
        Ok(Invocation::Run(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

fn refused(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words).expect_err(line).to_string()
}

fn words(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hexadecimal")).collect()
}

// Protects published command lines: options have iperf2's meaning.
#[test]
fn options_have_iperf2s_meaning() {
    let server = settings("-u -s -p 80");
    assert!(server.host.is_none() && server.test.udp && server.port == 80);
    let client = settings("-c HOST -u -p 80 -e -i 1");
    assert_eq!(
        (client.host.as_deref(), client.port, client.enhanced, client.interval_s),
        (Some("HOST"), 80, true, 1.0)
    );
    assert_eq!((client.test.time_s, client.test.block, client.test.rate), (10.0, 1470, Some(1_048_576.0)));
    let tcp = settings("-c h -t 2.5 -P 3 -w 256K -l 1M -Z cubic -N -S 0x10 -R -f m").test;
    assert_eq!((tcp.time_s, tcp.streams, tcp.window, tcp.block), (2.5, 3, Some(262_144), 1 << 20));
    assert!(tcp.reverse && tcp.no_delay && tcp.service == 16 && tcp.rate.is_none());
    // Lowercase letters are powers of 1000, uppercase ones of 1024.
    assert_eq!(settings("-c h -u -b 500k").test.rate, Some(500_000.0));
    assert_eq!(settings("-c h -u -b 1K").test.rate, Some(1024.0));
    assert_eq!(settings("-c h -u -b 100pps -l 1000").test.rate, Some(800_000.0));
    assert_eq!(settings("-c h -n 10K").test.bytes, 10_240);
    assert_eq!(settings("-c ::1 -u").test.block, 1450);
    assert_eq!(settings("-s -t 5").serve_s, Some(5.0));
    // A background server ignores the time.
    for line in ["-s -t 5 -D", "-s -D -t 5"] {
        let server = settings(line);
        assert_eq!((server.daemon, server.serve_s), (true, None), "{line}");
    }
}

#[test]
fn invalid_commands_are_refused_with_a_reason() {
    for (line, why) in [
        ("", "give either -c HOST or -s"),
        ("-c h -s", "give either -c HOST or -s"),
        ("-s -P 2", "client only"),
        ("-c h -1", "server only"),
        ("-c h -D", "a client cannot be run as a daemon"),
        ("-c h -u -R", "datagrams would go to the sender"),
        ("-c h --trip-times -l 91", "at least 92 bytes"),
        ("-c h -u --full-duplex", "datagrams would go to the sender"),
        ("-c h -R --full-duplex", "cannot be combined with --full-duplex"),
        ("-c h --bounceback --full-duplex", "cannot be combined with -u"),
        ("-s --histograms=100", "100u,10000"),
        ("-s --histograms=0u", "100u,10000"),
        ("-s --histograms=1m,10001", "100u,10000"),
        ("-c h --histograms", "server only"),
        ("-c h --bounceback-congest", "use `plumb net HOST`"),
        ("-c h --bounceback -u", "cannot be combined with -u"),
        ("-c h --bounceback -l 63", "at least 64"),
        ("-c h --bounceback-period 1", "needs --bounceback"),
        ("-c h --bounceback=0", "from 1 to 1000"),
        ("-c h -d -u", "work with TCP only"),
        ("-c h -r -R", "cannot be combined with -R"),
        ("-c h -r -L 0", "a port is from 1 to 65535"),
        ("-s -d", "client only"),
        ("-c h -l 0", "at least 1"),
        ("-c h -u -l 65508", "at most 65507"),
        ("-c h -u -l 16", "at least 64"),
        ("-c h -p 0", "from 1 to 65535"),
        ("-c h -i 0.01", "from 0.1"),
        ("-c h -P 129", "from 1 to 128"),
        ("-c h -b x", "bits or packets"),
        ("-c h --reportstile C", "did you mean --reportstyle?"),
    ] {
        let message = refused(line);
        assert!(
            message.contains(why) || why == "bits or packets" && message.contains("bits per second"),
            "{line}: {message}"
        );
    }
}

// Protects the wire format. Source: captures of 2.1.8 (`udp_plain`, `udp_e`, `tcp_e`, `reverse`).
#[test]
fn headers_equal_the_captured_ones() {
    let plain = settings("-c h -u -t 1 -b 500k").test;
    let expected = [0x4801_0098, 1, 5001, 0, 0, 0xffff_ff9c, 0, 0, 0, 0x0002_0001, 0x0008_0003, 0, 500_000];
    let head = udp_head(&plain, 5001, 0);
    assert_eq!((&head[..13], head[13..].iter().sum::<u32>()), (expected.as_slice(), 0));
    let trips = udp_head(&settings("-c h -u -t 1 -b 500k --trip-times").test, 5001, 7_000_042);
    assert_eq!((trips[0], trips[8], &trips[24..26]), (0x6801_00d8, 0x0010_0000, [7, 42].as_slice()));
    let tcp = tcp_head(&settings("-c h -t 1 -b 2m -R").test, 5001, 0);
    let reverse = words(
        "44010078 00000001 00001389 00000000 00000000 ffffff9c 00000000 00000000 04000000 00020001 00080003 00000000 \
         001e8480 00000000 00000000",
    );
    assert_eq!(tcp.as_slice(), reverse);
    let ask = Ask { reverse: true, version: Some([2, 1, 8]), time_s: 1.0, rate: Some(2e6), ..Ask::default() };
    assert_eq!(Ask::read(&reverse), ask);
    let amount = Ask::read(&tcp_head(&settings("-c h -n 400K -R").test, 5001, 0));
    assert_eq!((amount.bytes, amount.time_s), (409_600, 10.0));
    let bytes: Vec<u8> = trips.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert!(Ask::read(&bytes).trip_times);
    let bounces = |text: &str| Ask::read(&words(text)).bounce_bytes();
    assert_eq!(bounces("00800000 00000064 00000001 80005a5a 00000000"), Some(100), "the golden's message size");
    assert_eq!(bounces(&format!("00800000 00000064 00000001 80005a5a {} 000007d0", "00".repeat(28))), None, "held");
    assert_eq!((bounces("00800000 0000003f"), bounces("00800000 ffffffff")), (None, None));
    assert_eq!((Ask::read(&reverse).bounces, Ask::read(b"0080").bounces), (None, None));
    // Bytes that are not a header request nothing.
    for other in [b"".as_slice(), b"0123456789", b"GET / HTTP/1.1", &[0; 60]] {
        assert_eq!(Ask::read(other), Ask::default());
    }
}

// Protects the wire format of TCP with one-way latencies, and of both directions. Source: captures of 2.1.8.
#[test]
fn burst_headers_equal_the_captured_ones() {
    let test = settings("-c h -t 1 -b 8m --trip-times").test;
    let start_us = 0x6b09_afc7 * 1_000_000 + 0x0002_99d8;
    let captured = words(
        "400100a0 00000001 000017d5 00000000 00000000 ffffff9c 00000000 00000000 00100000 00020001 00080003 00000000 007a1200 \
         00000000 00000000 00000000 6b09afc7 000299d8 00000000 00000000",
    );
    assert_eq!(tcp_head(&test, 6101, start_us), captured);
    let ask = Ask::read(&captured);
    assert!(ask.trip_times && !ask.full_duplex && !ask.reverse && ask.start_us == start_us);
    let DatagramForm::Iperf2Bursts(form) = blocks(&test, 6101, 10, start_us - 10) else { panic!() };
    let expected = [0x4001_00a0, 1, 0x17d5, 0x6b09_afc7, 0x0002_99d8, 0, 0, 0, 0x0010_0000, 0x0002_0001, 0x0008_0003];
    assert_eq!((&form.head[..11], &form.head[16..18]), (expected.as_slice(), [0x6b09_afc7, 0x0002_99d8].as_slice()));
    assert_eq!(blocks(&settings("-c h").test, 5001, 0, 0), DatagramForm::Iperf3, "no heads in blocks");
    let reply = answer(&ask, start_us + 5);
    assert_eq!((reply.len(), &reply[..8]), (52, words("00000002 00000034").as_slice()));
    assert_eq!((&reply[28..36], &reply[36..44]), (&captured[64..72], words("6b09afc7 000299dd").as_slice()));
    let both = tcp_head(&settings("-c h -t 1 -b 3m --full-duplex").test, 6101, 0);
    let captured = words(
        "44010078 00000001 000017d5 00000000 00000000 ffffff9c 00000000 00000000 08000000 00020001 00080003 00000000 002dc6c0 \
         00000000 00000000",
    );
    assert_eq!(both, captured);
    assert!(Ask::read(&both).full_duplex && !Ask::read(&both).reverse);
}

// Protects readers of the text. Source: the golden `tcp_triptimes_hist`, without the sizes of reads and the time of
// the longest one.
#[test]
fn one_way_latencies_have_iperfs_format() {
    let server = OutputStyle { trips: true, ..output_style(true, false, false) };
    let latency = Some(Latency { mean_us: 280.0, least_us: 218.0, most_us: 429.0, deviation_us: 68.0 });
    let row = Row { end: 1.0492, bytes: 1_179_728, ops: 11, bursts: 9, latency, ..Row::default() };
    assert_eq!(
        server.row("  1", &row),
        "[  1] 0.0000-1.0492 sec  1.13 MBytes  9.00 Mbits/sec  0.280/0.218/0.429/0.068 ms (9/131080)  314 Byte 4016  11\n"
    );
    let bins = settings("-s --histograms").test.bins.expect("bins");
    let golden = "[  1] 0.0000-1.0492 sec F8(f)-PDF: bin(w=100us):cnt(9)=3:7,4:1,5:1 \
                  (5.00/95.00/99.7%=3/5/5,Outliers=0,obl/obu=0/0)\n";
    let counts = [(3, 7), (4, 1), (5, 1)];
    let near = Row { bytes: 0, ..row };
    assert_eq!(server.histogram("  1", &near, true, bins, &counts), golden);
    assert!(server.histogram("  1", &near, true, bins, &[(1, 2), (2, 7), (5, 1), (13, 1)]).contains("Outliers=1,"));
    let few = settings("-s --histograms=1m,20").test.bins.expect("bins");
    let counts =
        [(0, 1), (2, 76), (4, 1), (6, 4), (8, 1), (10, 1), (12, 1), (14, 1), (16, 1), (18, 1), (20, 1), (21, 11)];
    let text = server.histogram("  1", &near, false, few, &counts);
    assert!(
        text.contains(" F8-PDF: bin(w=1ms):cnt(100)=2:76,4:1,6:4,") && text.ends_with(",obl/obu=1/11)\n"),
        "{text}"
    );
    assert!(text.contains("(5.00/95.00/99.7%=2/20/20,"), "as in 2.1.8, if the rest is beyond the bins: {text}");
}

/// Answer of 2.1.8 to the last datagram of `udp_e`.
const CAPTURED: &str = "00000000 00000000 00000000 00000000 c8000000 00000000 00010824 00000001 00008997 00000000 00000000 \
     0000002e 00000000 00000015 00000000 00000002 00000000 000000d0 00000000 000009c0 00000000 00000036 0000bf65 0004f9c6 \
     00000000 fffffffa 0000002e 0000002c 00000001 00000000 00000000 00000000";

#[test]
fn reports_of_servers_round_trip() {
    let report = ServerReport::read(&words(CAPTURED)).expect("a report");
    assert_eq!((report.bytes, report.datagrams, report.lost, report.jitter_us), (67_620, 46, 0, 21.0));
    assert!((report.seconds - 1.035223).abs() < 1e-9);
    let Latency { mean_us, least_us, most_us, deviation_us } = report.latency;
    assert_eq!((mean_us, least_us, most_us, deviation_us.round()), (54.0, 2.0, 208.0, 33.0));
    let again = ServerReport::read(&report.bytes(true)).expect("a report");
    assert_eq!((again.bytes, again.datagrams, again.jitter_us), (67_620, 46, 21.0));
    assert!((again.latency.deviation_us - deviation_us).abs() < 0.1 && (again.seconds - report.seconds).abs() < 1e-5);
    assert_eq!([report.bytes(true)[16], report.bytes(false)[16]], [0xc8, 0x88]);
    assert_eq!(ServerReport::read(&words(CAPTURED)[..50]), None);
    assert_eq!(ServerReport::read(&[0; 128]), None);
}

fn output_style(enhanced: bool, udp: bool, sends: bool) -> OutputStyle {
    OutputStyle { unit: Unit::Adaptive, enhanced, udp, sends, bounces: false, trips: false }
}

// Protects readers of the text. Source: goldens.
#[test]
fn lines_equal_iperf2s() {
    let udp = Row { end: 1.0353, bytes: 67_620, ops: 46, lost: [0, 46, 0], jitter_us: 7.0, ..Row::default() };
    let golden = "[  1] 0.0000-1.0353 sec  66.0 KBytes   523 Kbits/sec   0.007 ms 0/46 (0%)\n";
    assert_eq!(output_style(false, true, false).row("  1", &udp), golden);
    assert_eq!(
        output_style(false, true, true).row("  1", &udp),
        "[  1] 0.0000-1.0353 sec  66.0 KBytes   523 Kbits/sec\n"
    );
    let latency = Latency { mean_us: 54.0, least_us: 2.0, most_us: 208.0, deviation_us: 33.0 };
    let enhanced = Row { end: 1.0352, jitter_us: 21.0, latency: Some(latency), ..udp };
    let golden = "[  1] 0.0000-1.0352 sec  66.0 KBytes   523 Kbits/sec   0.021 ms 0/46 (0%) 0.054/0.002/0.208/0.033 ms 44 pps \
                  46/0(0) pkts 1210\n";
    assert_eq!(output_style(true, true, false).row("  1", &enhanced), golden);
    let sent = Row { end: 2.0111, bytes: 505_680, ops: 343, ..Row::default() };
    let golden = "[  1] 0.0000-2.0111 sec   494 KBytes  2.01 Mbits/sec  343/0      171 pps\n";
    assert_eq!(output_style(true, true, true).row("  1", &sent), golden);
    let tcp = Row { end: 0.5, bytes: 131_072, ops: 1, tcp: Some([0, 1151, 72, 46]), ..Row::default() };
    let golden = "[  1] 0.0000-0.5000 sec   128 KBytes  2.10 Mbits/sec  1/0          0     1151K/72(46) us  3641\n";
    assert_eq!(output_style(true, false, true).row("  1", &tcp), golden);
    let one = Row { end: 1.0, bytes: 128_000, ops: 87, lost: [1, 88, 0], ..Row::default() };
    let sum = Row::sum([one, Row { lost: [0, 87, 0], ..one }].iter());
    let golden = "[SUM] 0.0000-1.0000 sec   250 KBytes  2.05 Mbits/sec   1/175 (0.57%)\n";
    assert_eq!(output_style(false, true, false).sum("SUM", &sum), golden);
    let ends = [47750, 5001].map(|port| ("127.0.0.1".to_owned(), port));
    let stream = Stream { number: 1, sends: true, is_back: false, ends };
    assert_eq!(
        (stream.name(), Stream { is_back: true, ..stream.clone() }.name()),
        ("  1".to_owned(), " *1".to_owned())
    );
    let csv = Row { end: 1.06314, bytes: 393_276, ..Row::default() };
    let golden = "20261127120000,127.0.0.1,47750,127.0.0.1,5001,1,0.0-1.1,393276,2959354\n";
    assert_eq!(output_style(false, false, true).csv("20261127120000", &stream, &csv), golden);
    let met = Met { tcp: Some([319, 32741, 12]), ..Met::default() };
    let golden = "[  1] local 127.0.0.1 port 47750 connected with 127.0.0.1 port 5001 (icwnd/mss/irtt=319/32741/12)\n";
    assert_eq!(output_style(false, false, true).met(&stream, &met), golden);
}

#[test]
fn help_names_every_option() {
    let text = help();
    for row in OPTIONS {
        assert!(text.contains(&format!("--{}", row.name)), "{}", row.name);
    }
}

proptest! {
    #[test]
    fn any_arguments_parse_or_are_refused(words in proptest::collection::vec("(-{0,2}[a-zA-Z0-9-]{0,12}|[0-9.]{1,8}[kmgKMGT]?)", 0..8)) {
        if let Ok(Invocation::Run(settings)) = read(&words) {
            let work = flow(&settings.test, true, form(&settings.test, settings.port, 0, 0));
            prop_assert!(work.op == NetOp::Send && work.problem().is_none());
        }
    }

    #[test]
    fn any_bytes_parse_as_a_request(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let ask = Ask::read(&bytes);
        prop_assert!(ask.time_s <= 86400.0);
        if let Some(report) = ServerReport::read(&bytes) {
            let _ = output_style(true, true, false).row("  1", &Row::from_report(&report));
            let _ = report.bytes(false);
        }
    }
}

// Protects round trips: messages start like those of 2.1.8 without quick acknowledgements, and lines equal the
// golden.
#[test]
fn round_trips_equal_iperfs() {
    let test = settings("-c h --bounceback=5 --bounceback-period 0.5 -l 200").test;
    assert_eq!((test.bounces, test.block, test.rate, test.no_delay), (Some((5, 0.5)), 200, Some(10.0), true));
    let work = bounces(&test, 200, NetOp::Request, 7);
    assert_eq!((work.problem(), work.response, work.rate.map(|rate| rate.0)), (None, 200, Some(10.0)));
    let DatagramForm::Iperf2(form) = work.form else { panic!() };
    let wanted = [0x80_0000, 200, 1, 0x5a5a, 0, 0, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX, 0];
    assert_eq!((&form.head[..12], form.ahead_us), (&wanted[..], 7));
    let client = OutputStyle { bounces: true, ..output_style(true, false, true) };
    assert_eq!(
        client.head(),
        "[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS\n"
    );
    let latency = Some(Latency { mean_us: 75.501, least_us: 13.0, most_us: 339.0, deviation_us: 99.0 });
    let row = Row { end: 50.0002, bytes: 2000, ops: 10, tcp: Some([0, 128, 38, 5]), latency, ..Row::default() };
    assert_eq!(
        client.row("  1", &row),
        "[  1] 0.0000-50.0002 sec  1.95 KBytes   320 bits/sec    10=0.076/0.013/0.339/0.099 ms    0  128K/38 us    13245 rps\n"
    );
    let server = OutputStyle { bounces: true, ..output_style(true, false, false) };
    assert_eq!(
        server.row("  1", &Row { end: 12.3936, ..row }),
        "[  1] 0.0000-12.3936 sec  1.95 KBytes  1.29 Kbits/sec\n"
    );
}
