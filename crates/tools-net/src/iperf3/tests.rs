//! Tests of the command line, the wire format and the output, compared with those of iperf 3.12 and 3.21.

use super::*;
use plumb_tools::Support;
use plumb_tools::options::Role;
use plumb_workload::net::{NetOp, Passing, Transport};
use proptest::prelude::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn read_settings(line: &str) -> Iperf3Settings {
    match read(&words(line)) {
        Ok(Invocation::Run(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

fn params(line: &str) -> Params {
    match read_settings(&format!("-c host {line}")).end {
        End::Client(client) => client.params,
        End::Server(_) => panic!("{line}"),
    }
}

fn with_block(block: u32, line: &str) -> Params {
    let mut params = params(line);
    params.flow.block = block;
    params
}

fn error_of(line: &str) -> String {
    read(&words(line)).expect_err(line).to_string()
}

// Protects the meaning of numbers: rates are powers of 1000, sizes of 1024, and the defaults are iperf3's.
#[test]
fn options_have_iperf3s_meaning() {
    let plain = params("");
    assert_eq!((plain.end.time_s, plain.pace.rate, plain.flow.streams, plain.flow.block), (Some(10), None, 1, 0));
    assert_eq!(params("-u").pace.rate, Some(1 << 20));
    assert_eq!(params("-b1.5M/10 -t 3").pace.rate, Some(1_500_000));
    assert_eq!(params("-b 10g/10").pace.burst, 10);
    let sized = params("-n 1.5M -l 8k -w 64K -P4 -RN");
    assert_eq!(
        (sized.end.bytes, sized.flow.block, sized.socket.window, sized.end.time_s),
        (3 << 19, 8192, Some(65536), None)
    );
    assert!(sized.flow.reverse && sized.socket.no_delay && sized.flow.streams == 4);
    assert_eq!([params("-S 0x10"), params("-S 020"), params("-S 16")].map(|params| params.socket.service), [16; 3]);
    assert_eq!(
        ["ef", "AF41", "cs1", "va", "0x2e", "lowdelay"].map(|name| params(&format!("--dscp {name}")).socket.service),
        [0xb8, 0x88, 0x20, 0xb0, 0xb8, 0x10]
    );
    let more = params("-m --fq-rate 1.5M -L 0xfffff --dont-fragment --repeating-payload -A 1,2");
    assert_eq!(
        (more.pace.kernel_rate, more.socket.flow_label, more.server_processor),
        (Some(1_500_000), Some(0xfffff), Some(2))
    );
    assert!(more.transport.multipath && more.socket.whole && more.passing.repeats);
    let own =
        read_settings("-c fe80::1%eth0 -A 1 -R --rcv-timeout 500 --snd-timeout 7 --cntl-ka=9//2 --timestamps -F f");
    assert_eq!(
        (own.device.as_deref(), own.processor, own.receive_ms, own.send_ms),
        (Some("eth0"), Some(1), 500, Some(7))
    );
    assert_eq!((own.keep_alive, own.stamp.as_deref()), ([Some(9), None, Some(2)], Some("%c ")));
    let End::Client(client) = own.end else { panic!() };
    assert_eq!((&*client.host, client.params.end.time_s), ("fe80::1", Some(10)));
    assert_eq!(params("-F f").end.time_s, None, "the file limits the test");
    let server = read_settings("-s --server-bitrate-limit 2G/7 --idle-timeout 3 -B ::1%lo --timestamps=%H");
    assert_eq!((server.device.as_deref(), server.stamp.as_deref()), (Some("lo"), Some("%H")));
    assert!(matches!(
        server.end,
        End::Server(Server { rate_limit: Some(2_000_000_000), rate_seconds: 7, idle_s: Some(3), .. })
    ));
    assert_eq!(read_settings("-c h --json-stream-full-output").output, Output::JsonStreamFull);
    let server = read_settings("-s1D -p 99 --json --logf f");
    assert_eq!((server.port, server.output, server.log.as_deref()), (99, Output::Json, Some("f")));
    assert!(matches!(server.end, End::Server(Server { one_off: true, daemon: true, .. })));
    assert_eq!(read(&words("-c h -v")), Ok(Invocation::Version));
}

// Protects against unintended tests: each mistake is an error, and unsupported options are refused.
#[test]
fn invalid_commands_are_refused_with_a_reason() {
    for (line, message) in [
        ("-c h -s", "cannot be both server and client"),
        ("-t 1", "must either be a client (-c) or server (-s)"),
        ("-s -t 1", "some option you are trying to set is client only"),
        ("-c h -1", "some option you are trying to set is server only"),
        ("-c h -t 1 -n 1", "only one test end condition (-t, -n, -k) may be specified"),
        ("-c h -R --bidir", "cannot be both reverse and bidirectional"),
        ("-c h --revers --parallell 2", "unrecognized option '--parallell'; did you mean --parallel?"),
        ("-c h -y", "unrecognized option '-y'"),
        ("-c h stray", "unrecognized option 'stray'"),
        ("-c h -P 129", "bad value '129' of option --parallel: from 1 to 128"),
        ("-c h -u -l 8", "bad value '8' of option --length: from 1 to 1M, and with -u from 16 to 65507"),
        ("-c h -p 0", "bad value '0' of option --port: a port is from 1 to 65535"),
        ("-c h -i 0.01", "bad value '0.01' of option --interval: use 0, or from 0.1 to 60 seconds"),
        ("-c h -t", "bad value '' of option --time: give a value"),
        ("-c h -t nan", "bad value 'nan' of option --time: at most 86400 seconds"),
        ("-c h -n 99999999999999T", "bad value '99999999999999T' of option --bytes: bytes, such as 1G"),
        ("-c h -u -F f", "a file is transferred by TCP, in one direction"),
        ("-c h -L 0", "bad value '0' of option --flowlabel: from 1 to 1048575"),
        ("-c h --dscp af14", "bad value 'af14' of option --dscp: from 0 to 63, or a name such as ef"),
        ("-c h --dscp cs8", "bad value 'cs8' of option --dscp: from 0 to 63, or a name such as ef"),
        ("-c h --dscp 64", "bad value '64' of option --dscp: from 0 to 63, or a name such as ef"),
        ("-c h -A x", "bad value 'x' of option --affinity: a processor, such as 0, or two, such as 0,1"),
        ("-s -A 1,2", "some option you are trying to set is client only"),
        ("-c h --bind-dev a-name-of-16-bytes", "the name of a network interface has at most 15 letters"),
        ("-c h --rcv-timeout 99", "bad value '99' of option --rcv-timeout: milliseconds, from 100 to 86400000"),
        ("-c h --cntl-ka=1/x", "bad value '1/x' of option --cntl-ka: idle/interval/count, such as 20/5/3"),
        (
            "-c h --cntl-ka=10/5/3",
            "control connection Keepalive period should be larger than the full retry period (interval * count)",
        ),
        ("-c h --rcv-timeout 500", "client receive timeout is valid only in receiving mode: add -R or --bidir"),
        (
            "-s --server-bitrate-limit 1G/0",
            "bad value '1G/0' of option --server-bitrate-limit: the mean is of 1 to 1000 seconds",
        ),
        ("-c h --sctp --nstreams 2", "option --nstreams is not supported yet: one stream of SCTP is used"),
    ] {
        assert_eq!(error_of(line), message, "{line}");
    }
    for row in OPTIONS.iter().filter(|row| matches!(row.support, Support::NotYet(_))) {
        let end = if row.role == Role::Server { "-s" } else { "-c h" };
        let value = if row.takes.needs_value() { "1" } else { "" };
        assert!(error_of(&format!("{end} --{} {value}", row.name)).contains("not supported yet"), "{}", row.name);
    }
}

// Protects the help: every option is in it, with its effect or the reason for its lack of support.
#[test]
fn help_names_every_option() {
    let text = help();
    for row in OPTIONS {
        let line = text.lines().find(|line| line.contains(&format!("--{} ", row.name)));
        let line = line.unwrap_or_else(|| panic!("{}", row.name));
        assert!(line.len() > 35, "{line}");
    }
}

// Protects stock servers: parameters equal those of a stock client, plus Plumb's own keys. Source: goldens.
#[test]
fn parameters_equal_iperf3s() {
    let sent = with_block(16384, "-t 1 -b 1M").json().line();
    let stock = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":16384,"bandwidth":1000000,"pacing_timer":1000,"client_version":"#;
    assert!(sent.starts_with(stock), "{sent}");
    assert!(!sent.contains("false"), "for iperf3, false is true: {sent}");
    let limits = Limits { rate: None, time_s: 86400 };
    for line in [
        "-u -l 1400 -R -P 3 -O 2 -w 1M -S 8 --get-server-output --udp-counters-64bit",
        "-n 1G -l 1M -N -M 1400 -Z -m -L 7",
        "-u -l 99 --fq-rate 1M --dont-fragment --repeating-payload",
    ] {
        let sent = params(line);
        let read = Params::read(sent.json().line().as_bytes(), &limits).unwrap();
        let mut expected = Params { is_plumb: true, ..sent };
        expected.end.time_s = Some(expected.end.time_s.unwrap_or(0));
        assert_eq!(read, expected, "{line}");
    }
}

/// Hostile and invalid parameters, with the server's errors.
const HOSTILE: &[(&str, &str)] = &[
    ("", "not a JSON object"),
    ("[]", "not a JSON object"),
    ("nul", "not a JSON object"),
    (r#"{"tcp":true}"#, "`len`"),
    (r#"{"tcp":true,"len":0}"#, "`len`"),
    (r#"{"tcp":true,"len":-1}"#, "`len`"),
    (r#"{"tcp":true,"len":1048577}"#, "`len`"),
    (r#"{"tcp":true,"len":"128K"}"#, "`len`"),
    (r#"{"tcp":true,"len":[1]}"#, "`len`"),
    (r#"{"tcp":true,"len":1e300}"#, "`len`"),
    (r#"{"tcp":true,"len":18446744073709551615}"#, "`len`"),
    (r#"{"udp":true,"len":15}"#, "`len`"),
    (r#"{"udp":true,"len":65508}"#, "`len`"),
    (r#"{"tcp":true,"len":1,"parallel":0}"#, "`parallel`"),
    (r#"{"tcp":true,"len":1,"parallel":129}"#, "`parallel`"),
    (r#"{"tcp":true,"len":1,"time":86401}"#, "`time`"),
    (r#"{"tcp":true,"len":1,"time":-5}"#, "`time`"),
    (r#"{"tcp":true,"len":1,"omit":601}"#, "`omit`"),
    (r#"{"tcp":true,"len":1,"window":536870913}"#, "`window`"),
    (r#"{"tcp":true,"len":1,"burst":1001}"#, "`burst`"),
    (r#"{"tcp":true,"len":1,"TOS":256}"#, "`TOS`"),
    (r#"{"tcp":true,"len":1,"MSS":32768}"#, "`MSS`"),
    (r#"{"tcp":true,"len":1,"bandwidth":1e30}"#, "`bandwidth`"),
    (r#"{"udp":true,"len":16,"response":65508}"#, "`response`"),
    (r#"{"udp":true,"len":16,"response":16,"plumb":1,"connect":1}"#, "`connect`"),
    (r#"{"tcp":true,"len":16,"response":16,"connect":1}"#, "`connect`"),
    (r#"{"sctp":true,"udp":true,"len":100}"#, "parameter `sctp` of the client is out of range"),
];

#[test]
fn hostile_parameters_are_refused() {
    let limits = Limits { rate: None, time_s: 86400 };
    for (json, message) in HOSTILE {
        let refused = Params::read(json.as_bytes(), &limits).expect_err(json).to_string();
        assert!(refused.contains(message), "{json}: {refused}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(Params::read(deep.as_bytes(), &limits), Err(Refused::NotJson));
}

// Protects a server's limits: streams in both directions count, and a test without an end or a rate exceeds any
// limit.
#[test]
fn limits_of_a_server_apply() {
    let limits = Limits { rate: Some(10_000_000), time_s: 60 };
    let of = |line: &str| {
        let asked = with_block(1400, line);
        Params::read(asked.json().line().as_bytes(), &limits).err()
    };
    assert_eq!(of("-b 10M -t 60"), None);
    assert_eq!(of("-b 5M -P 2 -t 60"), None);
    assert_eq!(of("-b 5M -P 2 --bidir -t 60"), Some(Refused::Rate));
    assert_eq!(of("-t 1"), Some(Refused::Rate));
    assert_eq!(of("-b 1M -t 61"), Some(Refused::Time));
    assert_eq!(of("-b 1M -t 0"), Some(Refused::Time));
    assert_eq!([Refused::Rate.number(), Refused::Time.number()], [27, 37]);
}

// Protects results of 3.12, which sends -1 as an unsigned number, and results of strangers.
#[test]
fn results_of_other_ends_parse() {
    let golden = br#"{"cpu_util_total":0.0785,"cpu_util_user":0.0784,"cpu_util_system":0,"sender_has_retransmits":18446744073709551615,"streams":[{"id":1,"bytes":25200,"retransmits":18446744073709551615,"jitter":1.27e-05,"errors":0,"packets":18,"start_time":0,"end_time":1.000145}]}"#;
    let results = Results::read(golden).unwrap();
    assert_eq!(results.has_retransmits, -1);
    let stream = StreamResult {
        id: 1,
        bytes: 25200,
        retransmits: -1,
        jitter_s: 1.27e-05,
        packets: 18,
        seconds: 1.000145,
        ..StreamResult::default()
    };
    assert_eq!(results.streams, [stream]);
    let with_omitted = StreamResult { omitted_errors: Some(0), omitted_packets: Some(3), ..stream };
    let results = Results { streams: vec![with_omitted], ..results };
    assert_eq!(Results::read(results.json().line().as_bytes()).unwrap(), results);
    for hostile in ["", "{}", "[]", r#"{"streams":1}"#, r#"{"streams":{}}"#] {
        assert_eq!(Results::read(hostile.as_bytes()), None, "{hostile}");
    }
    let odd = br#"{"streams":[1,null,{"id":"x","bytes":-5,"errors":1e300,"packets":[],"end_time":null}]}"#;
    let odd = Results::read(odd).unwrap();
    assert_eq!((odd.streams.len(), odd.streams[2].bytes, odd.streams[2].errors), (3, 0, i64::MAX));
    let many = format!(r#"{{"streams":[{}]}}"#, vec!["{}"; 1000].join(","));
    assert_eq!(Results::read(many.as_bytes()).unwrap().streams.len(), 256);
}

#[test]
fn states_and_ids_have_iperf3s_values() {
    assert_eq!(
        [9, 10, 1, 2, 4, 13, 14, 16].map(|byte| State::from_byte(byte).unwrap() as i8),
        [9, 10, 1, 2, 4, 13, 14, 16]
    );
    assert_eq!([0xff, 0xfe].map(State::from_byte), [Some(State::AccessDenied), Some(State::ServerError)]);
    assert_eq!([0, 3, 15, 0x80].map(State::from_byte), [None; 4]);
    assert_eq!([0, 1, 2, 3].map(stream_id), [1, 3, 4, 5]);
    let hellos: [&[u8]; 4] = [b"9876", b"6789", &[0x15, 0xcd, 0x5b, 0x07], b"junk"];
    assert_eq!(hellos.map(udp_reply), [*b"6789", *b"9876", [0xb1, 0x68, 0xde, 0x3a], *b"6789"]);
}

// Protects drop-in text. Source: goldens of 3.12.
#[test]
fn numbers_have_iperf3s_format() {
    for (bytes, text) in [(0, "0.00 Bytes"), (131072, " 128 KBytes"), (25200, "24.6 KBytes"), (13107200, "12.5 MBytes")]
    {
        assert_eq!(bytes_text(bytes), text);
    }
    for (rate, unit, text) in [
        (131072.0, "a", "1.05 Mbits/sec"),
        (47.3e9 / 8.0, "a", "47.3 Gbits/sec"),
        (0.0, "a", "0.00 bits/sec"),
        (919.0 / 8.0, "a", " 919 bits/sec"),
        (131072.0, "k", "1049 Kbits/sec"),
        (131072.0, "K", " 128 KBytes/sec"),
    ] {
        assert_eq!(rate_text(rate, Unit::from_letter(unit).unwrap()), text);
    }
    assert_eq!((Unit::from_letter("x"), Unit::from_letter("kk"), Unit::from_letter("")), (None, None, None));
    for (value, digits, text) in [
        (0.0, 2, "0"),
        (12.34, 2, "12"),
        (0.034, 2, "0.034"),
        (100.0, 2, "1e+02"),
        (99.6, 2, "1e+02"),
        (0.00001234, 2, "1.2e-05"),
        (2.67e9, 15, "2670000000"),
        (f64::NAN, 2, "null"),
    ] {
        assert_eq!(general(value, digits), text);
    }
}

fn report(line: &str, is_server: bool) -> Report {
    let params = with_block(1400, line);
    let directions: &[bool] = if params.flow.bidir { &[true, false] } else { &[!params.flow.reverse] };
    let all = directions.iter().flat_map(|&sends| (0..params.flow.streams).map(move |_| sends != is_server));
    let stream = |(number, sends)| Opened {
        socket: 5 + 2 * number,
        sends,
        local: ("127.0.0.1".to_owned(), 48174),
        remote: ("127.0.0.1".to_owned(), 5201),
    };
    let streams = (0..).zip(all).map(stream).collect();
    Report { params, streams, is_server, unit: Unit::Adaptive, verbose: false, interval_s: 1.0 }
}

const SECOND: Row = Row {
    start: 0.0,
    end: 1.0,
    bytes: 131072,
    retransmits: None,
    tcp: None,
    packets: 0,
    lost: 0,
    out_of_order: 0,
    jitter_s: 0.0,
};

// Protects drop-in text: the lines of `tcp_basic_312.client.out` and of the server, except for a blank that 3.21
// omits.
#[test]
fn lines_of_tcp_equal_iperf3s() {
    let client = report("-t 1", false);
    let tcp = TcpRow { window: 976896, ..TcpRow::default() };
    let row = Row { retransmits: Some(0), tcp: Some(tcp), ..SECOND };
    let interval = Interval { rows: vec![row], omitted: false };
    let whole = Whole { sent: row, received: SECOND, ..Whole::default() };
    let ending = Ending { streams: vec![whole], ..Ending::default() };
    let text = client.opened() + &client.interval(&interval, true) + &client.ending(&ending);
    assert_eq!(
        text,
        "[  5] local 127.0.0.1 port 48174 connected to 127.0.0.1 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
         [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec    0    954 KBytes       \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec    0            sender\n\
         [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec                  receiver\n"
    );
    let server = report("-t 1", true);
    let interval = Interval { rows: vec![SECOND], omitted: true };
    let ending = Ending { streams: vec![Whole { received: SECOND, ..Whole::default() }], ..Ending::default() };
    assert_eq!(
        server.interval(&interval, true) + &server.ending(&ending),
        "[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec                  (omitted)\n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate\n\
         [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec                  receiver\n"
    );
}

// Protects file transfers: the line and the keys of 3.12, between the sender's and the receiver's.
#[test]
fn files_are_reported_as_in_iperf3() {
    let client = report("-F f1", false);
    let whole = Whole { sent: SECOND, received: Row { bytes: 65536, ..SECOND }, ..Whole::default() };
    let ending = Ending { streams: vec![whole], file: Some(("f1".to_owned(), 131072)), ..Ending::default() };
    let text = client.ending(&ending);
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert!(lines[0].ends_with("sender") && lines[2].ends_with("receiver"), "{text}");
    assert_eq!(lines[1], "        Sent  128 KByte /  128 KByte (100%) of f1");
    let json = client.end_json(&ending).line();
    let keys = r#""diskfile":{"sent":131072,"received":65536,"size":131072,"percent_sent":100,"percent_received":50,"filename":"f1"},"receiver":"#;
    assert!(json.contains(keys), "{json}");
    let server = report("", true).ending(&ending);
    assert!(server.contains("Sent 64.0 KByte /  128 KByte (50%) of f1\n[  5]"), "{server}");
    let empty = Ending { file: Some(("f1".to_owned(), 0)), ..ending };
    assert!(client.ending(&empty).contains("(100%) of f1"), "an empty file is complete");
}

// Protects `udp_basic_312` and `tcp_bidir_P2_head` in the same way: datagrams, sums, roles and their order at both
// ends.
#[test]
fn lines_of_datagrams_and_of_both_directions_equal_iperf3s() {
    let client = report("-u -t 1", false);
    let row = Row { bytes: 25200, packets: 18, ..SECOND };
    let received = Row { jitter_s: 1.3e-5, lost: 1, ..row };
    let text = client.opened() + &client.interval(&Interval { rows: vec![row], omitted: false }, true);
    assert!(
        text.ends_with("Bitrate         Total Datagrams\n[  5]   0.00-1.00   sec  24.6 KBytes   202 Kbits/sec  18  \n"),
        "{text}"
    );
    let ending = Ending { streams: vec![Whole { sent: row, received, ..Whole::default() }], ..Ending::default() };
    let text = client.ending(&ending);
    assert!(text.contains("Jitter    Lost/Total Datagrams\n[  5]   0.00-1.00   sec  24.6 KBytes   202 Kbits/sec  0.000 ms  0/18 (0%)  sender\n[  5]   0.00-1.00   sec  24.6 KBytes   202 Kbits/sec  0.013 ms  1/18 (5.6%)  receiver\n"), "{text}");
    let starts = |report: &Report| {
        let row = Row { retransmits: Some(0), ..SECOND };
        let interval = Interval { rows: vec![row; 4], omitted: false };
        let text = report.interval(&interval, false);
        text.lines().map(|line| line[..11].to_owned()).collect::<Vec<_>>().join("|")
    };
    assert_eq!(
        starts(&report("--bidir -P 2", false)),
        "- - - - - -|[  5][TX-C]|[  7][TX-C]|[SUM][TX-C]|[  9][RX-C]|[ 11][RX-C]|[SUM][RX-C]"
    );
    assert_eq!(
        starts(&report("--bidir -P 2", true)),
        "- - - - - -|[  5][RX-S]|[  7][RX-S]|[SUM][RX-S]|[  9][TX-S]|[ 11][TX-S]|[SUM][TX-S]"
    );
}

/// Returns the keys of a document in order, each with its indentation.
fn keys(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| Some(line.split_once(":\t")?.0.replace('\t', " "))).collect()
}

// Protects programs that read the JSON: the keys of a golden of 3.21, in the same order, depth and layout.
#[test]
fn json_has_iperf3s_keys_and_layout() {
    let client = report("-t 2 -b 200K", false);
    let row = Row { retransmits: Some(0), tcp: Some(TcpRow::default()), ..SECOND };
    let interval = Interval { rows: vec![row], omitted: false };
    let whole = Whole { sent: row, received: SECOND, ..Whole::default() };
    let congestion = ["bbr", "bbr"].map(|name| Some(name.to_owned()));
    let ending = Ending { streams: vec![whole], congestion, ..Ending::default() };
    let page = Json::map([
        ("start", client.start_json(&Start::default())),
        ("intervals", Json::List(vec![client.interval_json(&interval)])),
        ("end", client.end_json(&ending)),
    ])
    .page();
    assert_eq!(keys(&page), keys(GOLDEN));
    assert!(serde_json::from_str::<serde_json::Value>(&page).is_ok());
    let small = Json::map([
        ("a", Json::List(vec![Json::map([("b", Json::Number(0.1))]), Json::map([])])),
        ("c", Json::Number(1.0)),
        ("d", Json::Map(Vec::new())),
        ("e", Json::text("\"\n\u{1}")),
    ]);
    assert_eq!(
        small.page(),
        "{\n\t\"a\":\t[{\n\t\t\t\"b\":\t0.1\n\t\t}, {\n\t\t}],\n\t\"c\":\t1,\n\t\"d\":\t{\n\t},\n\t\"e\":\t\"\\\"\\n\\u0001\"\n}\n"
    );
    assert_eq!(small.line(), r#"{"a":[{"b":0.1},{}],"c":1,"d":{},"e":"\"\n\u0001"}"#);
}

/// Keys of `tcp_json_head.client.out`.
const GOLDEN: &str = include_str!("golden_keys.txt");

// Protects the JSON of datagrams (`udp_json_getserver_head`, without the server's report) and of both directions
// (`tcp_bidir_P2_json_head`): exporters and perfSONAR read the sums, and each stream's `udp` or `sender`.
#[test]
fn json_of_datagrams_and_of_both_directions_has_iperf3s_keys() {
    let page = |line: &str, intervals: usize| {
        let client = report(line, false);
        let rows: Vec<Row> = client
            .streams
            .iter()
            .map(|stream| match (client.params.transport.udp, stream.sends) {
                (false, true) => Row { retransmits: Some(0), tcp: Some(TcpRow::default()), ..SECOND },
                _ => SECOND,
            })
            .collect();
        // Only the sending end knows its retransmissions.
        let whole = |row: &Row| Whole { sent: Row { tcp: None, ..*row }, received: SECOND, ..Whole::default() };
        let congestion = ["bbr", "bbr"].map(|name| Some(name.to_owned()));
        let again = |whole: Whole| match client.params.transport.udp {
            true => whole,
            false => Whole { sent: Row { retransmits: Some(0), ..whole.sent }, ..whole },
        };
        let streams = rows.iter().map(|row| again(whole(row))).collect();
        let ending = Ending { streams, congestion, ..Ending::default() };
        let interval = client.interval_json(&Interval { rows, omitted: false });
        Json::map([
            ("start", client.start_json(&Start::default())),
            ("intervals", Json::List(vec![interval; intervals])),
            ("end", client.end_json(&ending)),
        ])
        .page()
    };
    assert_eq!(keys(&page("-u -t 2 -b 500K", 2)), keys(include_str!("golden_keys_udp.txt")));
    assert_eq!(keys(&page("--bidir -P 2 -t 1 -b 20M", 1)), keys(include_str!("golden_keys_bidir.txt")));
}

// Protects the engine from the wire: a client's parameters become the work of both ends.
#[test]
fn parameters_become_work() {
    let work = flow(&with_block(1400, "-u -b 8M/5 --udp-counters-64bit"), true, false);
    assert_eq!((work.op, work.transport, work.block, work.burst), (NetOp::Send, Transport::Udp, 1400, 5));
    assert_eq!(work.rate.map(|rate| rate.0), Some(1e6));
    assert!(work.form == plumb_workload::net::DatagramForm::Iperf3Wide && !work.trains && work.problem().is_none());
    let both = with_block(131072, "-Z --skip-rx-copy -b 0");
    assert_eq!((flow(&both, true, true).passing, flow(&both, false, true).passing), (Passing::Lend, Passing::Drop));
    assert_eq!((flow(&both, true, true).rate, flow(&both, true, true).trains), (None, true));
    let mut trips = Params::default();
    (trips.flow.block, trips.trips.response, trips.pace.rate) = (64, 128, Some(1000));
    let (asks, answers) = (flow(&trips, true, false), flow(&trips, false, false));
    assert_eq!((asks.op, answers.op, asks.response), (NetOp::Request, NetOp::Respond, 128));
    assert_eq!(asks.rate.map(|rate| rate.0), Some(1000.0), "per second");
    trips.trips.connects = true;
    assert_eq!([true, false].map(|sends| flow(&trips, sends, false).op), [NetOp::Connect, NetOp::Accept]);
}

proptest! {
    // Protects against panics for any arguments and any bytes.
    #[test]
    fn any_arguments_parse_or_are_refused(line in "(-c h|-s)?( ?(-[a-zA-Z0-9]{1,3}|--[a-z-]{1,12}|[0-9.]{0,5}[kKmM]?)){0,6}") {
        let _ = read(&words(&line));
    }

    #[test]
    fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Params::read(&bytes, &Limits { rate: None, time_s: 60 });
        let _ = Results::read(&bytes);
    }

    #[test]
    fn numbers_of_json_round_trip(number in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
        let text = Json::Number(number).line();
        prop_assert_eq!(text.parse::<f64>().unwrap(), number);
    }
}
