//! Tests of the wire format, the command line and the text, compared with netperf 2.7.0.

use super::*;
use plumb_result::Histogram;
use plumb_workload::net::{NetOp, Passing, Transport};
use proptest::prelude::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn settings(line: &str) -> NetperfSettings {
    match read("netperf", &words(line)) {
        Ok(Invocation::Run(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

fn word(message: &Message, at: usize) -> i32 {
    i32::from_be_bytes(message.0[at..at + 4].try_into().unwrap())
}

fn set(message: &mut Message, at: usize, value: i32) {
    message.0[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn request(line: &str) -> Request {
    settings(line).request((None, 0), None, false)
}

// Protects the wire format of TCP_CC, which has its own messages: they equal a capture of netperf 2.7.0, and parse.
#[test]
fn messages_of_connections_equal_netperfs() {
    let own = request("-t TCP_CC -C -l -200 -- -r 3,5 -D -S 16384");
    let message = own.message();
    let wanted = [300, -1, 16_384, 16_384, 8, 0, 8, 0, 3, 5, 1, 1, 0, -200];
    assert_eq!(std::array::from_fn(|at| word(&message, 4 * at)), wanted);
    let read = Request::read(&message).unwrap();
    assert_eq!((read.only_connects, read.connects, read.trip, read.length), (true, true, [3, 5], Length::Count(200)));
    assert_eq!((read.buffers, read.cpu, message.reply()), (own.buffers, true, Some(read.reply())));
    let work = flow(&read, true, [1, 1]);
    assert_eq!((work.op, work.only_connects), (NetOp::Accept, true));
    let with = |words: &[u32]| {
        let mut message = Message::new(Kind::ConnectsResponse, 0);
        for (at, word) in words.iter().enumerate() {
            message.0[4 * at..4 * at + 4].copy_from_slice(&word.to_be_bytes());
        }
        message
    };
    let response = Response::read(&with(&[301, 0, 32_768, 1, 1, 0, 32_768, 37_283])).unwrap();
    assert_eq!((response.port, response.buffers, response.no_delay), (37_283, [32_768; 2], true));
    assert_eq!(Response::read(&response.message(read.reply())), Ok(response));
    let results =
        Results::read(&with(&[0x2d01_0000, 0, 1_600, 1, 200, 1_040_599_642, 1_119_467_228, 0, 0, 2]), read.reply());
    assert_eq!((results.trips, results.cpu.map(|cpu| cpu.count)), (200, Some(2)));
    assert_eq!(Results::read(&results.message(read.reply()), read.reply()), results);
    for length in [0, 1, 90_000] {
        let mut message = own.message();
        message.set_int(52, length);
        assert_eq!(Request::read(&message).is_ok(), length == 1, "{length}");
    }
}

// Protects the wire format: the important words of each test equal captures of netperf 2.7.0.
#[test]
fn requests_equal_netperfs() {
    let words = |line: &str| [28, 36, 52, 56, 64, 96, 100, 104].map(|at| word(&request(line).message(), at));
    assert_eq!(words("-l 1"), [-1, -1, -1, 0x20, 1, 1, 6, 4]);
    assert_eq!(words("-t TCP_MAERTS -l 1"), [-1, -1, -1, 0x20, 1, 1, 6, 2]);
    assert_eq!(words("-t TCP_RR -l -1000"), [1, -1, 1, 0x20, -1000, 1, 6, 6]);
    assert_eq!(words("-t TCP_CRR -l 1"), [1, -1, 1, 0x24, 1, 1, 6, 6]);
    assert_eq!(words("-t UDP_STREAM -l 1"), [-1, -1, -1, 0, 1, 2, 17, 4], "not through routers");
    assert_eq!(words("-t UDP_RR -C -l 1 -- -r 64,256 -D -M 9000"), [64, 9000, 256, 0x29, 1, 2, 17, 6]);
    let message = request("-l 1").message();
    assert_eq!((message.number(), word(&message, 4), word(&message, 8)), (97, -1, -1));
    // The server's CPU. Source: netperf 2.7.0, `send_request`.
    let processors = ["-T 2", "-T 2,", "-T ,3", "-T 0,1 -t TCP_SENDFILE -F f"];
    assert_eq!(processors.map(|line| word(&request(line).message(), 4)), [2, -1, 3, 1]);
    assert_eq!(settings("-T 2,").processor, Pair { local: Some(2), remote: None });
}

// Protects addresses: four bytes in order for IPv4; for IPv6 each word in little-endian order. Source: a capture.
#[test]
fn addresses_have_netperfs_format() {
    let all = settings("-t UDP_STREAM");
    let six = all.request((None, 0), Some("fd00:99::1".parse().unwrap()), true);
    assert_eq!(six.message().0[136..152], [0x99, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(Request::read(&six.message()).unwrap(), six);
    let four = all.request((Some("127.0.0.1".parse().unwrap()), 7), Some("10.1.2.3".parse().unwrap()), false);
    assert_eq!(four.message().0[136..140], [10, 1, 2, 3]);
    assert_eq!(Request::read(&four.message()).unwrap(), four);
}

// Protects a server: requests that a client may not make, and their error numbers.
#[test]
fn hostile_requests_are_refused() {
    let with = |changes: &[(usize, i32)]| {
        let mut message = request("-t TCP_RR -l 5").message();
        changes.iter().for_each(|&(at, value)| set(&mut message, at, value));
        Request::read(&message).map_err(Refused::number)
    };
    assert!(with(&[]).is_ok());
    // Found by fuzzing: a stream with the size of a request, which a stream does not have.
    let stream = with(&[(104, 4), (28, 0x600)]).unwrap();
    assert_eq!((stream.trip, Request::read(&stream.message()).as_ref()), ([1, 1], Ok(&stream)));
    // Also an IPv4 address of zeros, followed by other bytes: it is not an address.
    assert_eq!(with(&[(124, 7)]).unwrap().client, None);
    // Also a name that fills its field including the terminator.
    let name = i32::from_le_bytes(*b"====");
    let full = with(&[(160, name), (164, name), (168, name), (172, name)]).unwrap();
    assert_eq!(Request::read(&full.message()).as_ref(), Ok(&full));
    let cases: &[(&[(usize, i32)], i32)] = &[
        (&[(64, 0)], 22),
        (&[(64, 86_401)], 22),
        (&[(64, i32::MAX)], 22),
        (&[(28, (1 << 20) + 1)], 22),
        (&[(52, i32::MAX)], 22),
        (&[(96, 2), (100, 17), (52, 65_508)], 22),
        (&[(8, (64 << 20) + 1)], 22),
        (&[(88, 65_536)], 22),
        (&[(108, -1)], 22),
        (&[(92, 7)], 95),
        (&[(96, 3)], 95),
        (&[(96, 1), (100, 17)], 95),
        (&[(104, 0)], 95),
        (&[(112, 1)], 95),
        (&[(176, i32::from_be_bytes(*b"/etc"))], 1),
        (&[(56, 2)], 1),
    ];
    for (changes, number) in cases {
        assert_eq!(with(changes).err(), Some(*number), "{changes:?}");
    }
    assert_eq!(with(&[(64, i32::MIN)]).unwrap().length, Length::Count(i32::MAX as u32));
    assert_eq!(with(&[(28, 0), (52, -5)]).unwrap().trip, [1, 1]);
}

proptest! {
    // Protects both ends: any bytes parse without a panic, and accepted values are within the engine's bounds.
    #[test]
    fn any_message_parses(mut bytes in proptest::collection::vec(any::<u8>(), MESSAGE_BYTES), plain in any::<bool>()) {
        if plain {
            let valid = request("-t UDP_RR -l 5").message();
            bytes[64..176].copy_from_slice(&valid.0[64..176]);
        } else {
            let valid = request("-t TCP_SENDFILE").message();
            bytes[..8].copy_from_slice(&valid.0[..8]);
            bytes[56..68].copy_from_slice(&valid.0[56..68]);
        }
        let message = Message(bytes.try_into().unwrap());
        let _ = (message.kind(), message.passphrase(), Response::read(&message));
        let _ = [Kind::OmniResponse, Kind::StreamResponse].map(|kind| Results::read(&message, kind));
        if let Ok(request) = Request::read(&message) {
            prop_assert_eq!(flow(&request, true, [u32::MAX, 0]).problem(), None);
            prop_assert_eq!(Request::read(&request.message()), Ok(request));
        }
    }
}

// Protects results: 64-bit counts, no numbers without a measurement, and no control characters in names.
#[test]
fn results_round_trip() {
    let cpu = Cpu { busy: 50.0, parts: [1.0, 2.0, 3.0, 4.0, 5.0], count: 2 };
    let results = Results {
        received: (0x1_2345_6789_abcd, 7),
        sent: (1 << 40, 8),
        failed_sends: 3,
        trips: 9,
        seconds: 1.5,
        buffers: [10, 20],
        cpu: Some(cpu),
        retransmits: Some(4),
        congestion: "cubic".to_owned(),
    };
    assert_eq!(Results::read(&results.message(Kind::OmniResponse), Kind::OmniResponse), results);
    let mut message = Results::default().message(Kind::OmniResponse);
    message.0[276..280].copy_from_slice(b"b\x1b\nr");
    message.0[48..52].copy_from_slice(&f32::NAN.to_bits().to_be_bytes());
    let read = Results::read(&message, Kind::OmniResponse);
    assert_eq!((read.congestion.as_str(), read.seconds, read.cpu, read.retransmits), ("br", 0.0, None, None));
}

#[test]
fn responses_round_trip() {
    let response = Response {
        buffers: [16_384, 131_072],
        sizes: [None, Some(131_072)],
        port: 39_599,
        service: Some(0x10),
        no_delay: true,
    };
    let message = response.message(Kind::OmniResponse);
    assert_eq!([8, 12, 20, 24, 52].map(|at| word(&message, at)), [131_072, 131_072, 16_384, -1, 39_599]);
    assert_eq!(Response::read(&message), Ok(response));
    assert!(Response::read(&Message::new(Kind::OmniResponse, 0)).is_err(), "no port");
}

// Protects the test with older messages: its words equal captures of 2.7.0 in both directions. The real server sends
// the bytes of the type in reverse order.
#[test]
fn messages_of_files_equal_netperfs() {
    let own = request("-t TCP_SENDFILE -C -l -1000000 -- -S 80000,90000 -m 3000 -M 5000 -D -P ,4444");
    let message = own.message();
    let wanted = [10, -1, 80_000, 90_000, 5_000, 8, 0, 1, 1, 0, 1_000_000, 0, 0, 0, 0, 4_444, 4];
    assert_eq!(std::array::from_fn(|at| word(&message, 4 * at)), wanted);
    let read = Request::read(&message).unwrap();
    let (sizes, buffers) = ([None, Some(5_000)], [Some(80_000), Some(90_000)]);
    assert_eq!((read.sizes, read.buffers, read.port, read.cpu, read.no_delay), (sizes, buffers, 4_444, true, true));
    assert_eq!(read.length, Length::Seconds(86_400), "the client ends it");
    let with = |words: &[u32]| {
        let mut message = Message::new(Kind::StreamResponse, 0);
        for (at, word) in words.iter().enumerate() {
            message.0[4 * at..4 * at + 4].copy_from_slice(&word.to_be_bytes());
        }
        message
    };
    let message = with(&[0xb, 0, 0x2_bf20, 0x1388, 1, 1, 0, 0x2_7100, 0xb3ff, 0x42c8_0000]);
    let response = Response {
        buffers: [160_000, 180_000],
        sizes: [None, Some(5_000)],
        port: 46_079,
        service: None,
        no_delay: true,
    };
    assert_eq!(Response::read(&message), Ok(response));
    assert_eq!(Response::read(&response.message(read.reply())), Ok(response));
    let message = with(&[0x0b00_0000, 0, 0x416d_3a6c, 0, 0x128f, 0x3f80_5f0f, 0x42c8_0000, 0x7102_0000, 8, 2]);
    let results = Results::read(&message, Kind::StreamResponse);
    let cpu = Cpu { busy: 100.0, count: 2, ..Cpu::default() };
    assert_eq!((results.received, results.cpu), ((15_324_000, 4_751), Some(cpu)));
    assert_eq!(Results::read(&results.message(read.reply()), read.reply()), results);
    let all = settings("-t tcp_sendfile -F name,other");
    assert_eq!((all.test.sendfile, all.test.file.as_deref()), (true, Some("name")));
    assert_eq!(flow(&own, false, [3_000, 1]).passing, Passing::SendFile);
}

// Protects the command line: netperf's rules for commas and suffixes, and the command that flent runs.
#[test]
fn options_have_netperfs_meaning() {
    let all = settings("-t TCP_MAERTS -- -m 64K,32K -M ,16k -s 100000,50000 -S 60000 -D ,1 -K cubic -r 5,");
    assert_eq!((all.data.send.local, all.data.send.remote), (Some(65_536), Some(32_768)));
    assert_eq!((all.data.receive.local, all.data.receive.remote), (None, Some(16_000)));
    assert_eq!(
        (all.socket.buffers.local, all.socket.buffers.remote),
        ([Some(100_000), Some(50_000)], [Some(60_000); 2])
    );
    assert_eq!((all.socket.no_delay.local, all.socket.no_delay.remote), (false, true));
    assert_eq!(
        (all.socket.congestion.local.as_deref(), all.socket.congestion.remote.as_deref()),
        (Some("cubic"), Some("cubic"))
    );
    assert_eq!(all.data.trip, [5, 1]);

    let all = settings(
        "-P 0 -v 0 -D -0.20 -4 -Y 0x0,0x10 -H 127.0.0.1 -p 12865 -t UDP_RR -l 12 -F /dev/urandom -- -e 2 -H 127.0.0.1 -k \
         THROUGHPUT,LOCAL_CONG_CONTROL",
    );
    assert_eq!(
        (all.repetition.interim_s, all.output.headers, all.output.verbosity, all.control.is_v6),
        (Some(0.2), false, 0, Some(false))
    );
    assert_eq!((all.socket.service.local, all.socket.service.remote), (Some(0), Some(16)));
    assert_eq!(all.output.form, Form::Keys(vec!["THROUGHPUT", "LOCAL_CONG_CONTROL"]));

    let all = settings("-I 95,10 -i 20,4 -D 1,100 -l -5 -- -D -k");
    assert_eq!((all.repetition.confidence, all.repetition.times), (Some((95, 10.0)), (4, 20)));
    assert_eq!((all.test.length, all.socket.no_delay.local), (Length::Count(5), true));
    assert!(matches!(&all.output.form, Form::Keys(names) if names.len() == 6), "the test's default names");
    assert_eq!(settings("-I 99").repetition.times, (3, 10));
}

#[test]
fn invalid_commands_are_refused_with_a_reason() {
    let cases = [
        ("-Q", "invalid option -- 'Q'"),
        ("-p", "option requires an argument -- 'p'"),
        ("-p 70000", "bad value '70000' of option -p: a port"),
        ("-t FOO", "The test you requested (FOO) is unknown to this netperf."),
        ("-y 5", "option -y is not supported yet"),
        ("-N -t TCP_CC", "No default port known for the TCP_CC test, please set one yourself"),
        ("-I 90", "bad value '90' of option -I"),
        ("-l 86401", "bad value '86401' of option -l"),
        ("-Y 0x100", "bad value '0x100' of option -Y"),
        ("host", "unexpected word 'host'"),
        ("-- -k NO_SUCH", "unknown output selector 'NO_SUCH'"),
        ("-- -m 3G", "bad value '3G' of option -m"),
        ("-t UDP_RR -- -c", "a test of TCP"),
        ("-t omni -- -T udp -d recv", "not supported yet"),
    ];
    for (line, wanted) in cases {
        let error = read("netperf", &words(line)).err().unwrap_or_else(|| panic!("{line}"));
        assert!(error.to_string().contains(wanted), "{line}: {error}");
    }
    assert!(read_server(&words("-D -p 0 -L ::1,6 -Z x")).is_ok());
    assert!(matches!(read_server(&words("-p x")), Err(NetperfUsageError::Value { letter: 'p', .. })));
}

#[test]
fn tests_lower_to_their_work() {
    let of = |line: &str, is_server| {
        let work = flow(&request(line), is_server, [1000, 2000]);
        (work.op, work.transport, work.block, work.response)
    };
    assert_eq!(of("-l 1", false), (NetOp::Send, Transport::Tcp, 1000, 1));
    assert_eq!(of("-l 1", true), (NetOp::Receive, Transport::Tcp, 2000, 1));
    assert_eq!(of("-t TCP_MAERTS", true), (NetOp::Send, Transport::Tcp, 1000, 1));
    assert_eq!(of("-t TCP_CRR -- -r 3,4", true), (NetOp::Accept, Transport::Tcp, 3, 4));
    assert_eq!(of("-t UDP_RR -- -r 3,4", false), (NetOp::Request, Transport::Udp, 3, 4));
    let work = flow(&request("-l -2500"), false, [1000, 0]);
    assert_eq!(length_ops(Length::Count(2500), &work), 3, "whole sends");
}

fn report<'a>(settings: &'a NetperfSettings, local: End, remote: End) -> Report<'a> {
    Report {
        settings,
        local,
        remote,
        seconds: 1.0,
        trips: 0,
        throughput: 0.0,
        times: Histogram::new(),
        segment: Some(65_483),
        source: ("0.0.0.0".to_owned(), 0),
        target: ("127.0.0.1".to_owned(), 0),
        is_v6: false,
        uuid: String::new(),
        confidence: None,
    }
}

fn end(buffers: [u32; 2]) -> End {
    End { buffers: [[None; 2], buffers.map(Some), buffers.map(Some)], ..End::default() }
}

// Protects scripts that cut out columns: lines equal netperf 2.7.0's, including blanks.
#[test]
fn tables_equal_netperfs() {
    let title_of = |line: &str| title(&settings(line), None, ("127.0.0.1", 0), false);
    let wanted =
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo\n";
    assert_eq!(title_of(""), wanted);
    assert!(title_of("-t TCP_RR -I 99,5").ends_with("AF_INET : +/-2.500% @ 99% conf.  : demo : first burst 0\n"));

    let all = settings("-v 2");
    let local = End { sizes: [16_384, 0], sent: (949_239_808, 57_937), ..end([16_384, 131_072]) };
    let remote = End { received: (949_239_808, 10_067), ..end([16_384, 131_072]) };
    let text = Report { throughput: 7586.97, ..report(&all, local, remote) }.text();
    assert_eq!(
        text,
        "Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \n\
         Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    10^6bits/sec  \n\n\
         131072  16384  16384    1.00     7586.97   \n\n\
         Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         Send   Recv    Send   Recv             Send (avg)          Recv (avg)\n\
         \x20   8       8      0       0 949239808  16384.00     57937   94292.22  10067\n\n\
         Maximum\nSegment\nSize (bytes)\n 65483\n"
    );

    let all = settings("-P 0 -t TCP_RR -c -C -v 2");
    let busy = |buffers| End { cpu: Some(Cpu { busy: 100.0, count: 2, ..Cpu::default() }), ..end(buffers) };
    let ends = (busy([16_384, 131_072]), busy([16_384, 131_072]));
    let text = Report { throughput: 172_254.7, trips: 172_255, ..report(&all, ends.0, ends.1) }.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "16384  131072 1       1      1.00    172254.70  100.00 100.00 11.611  11.611 ");
    assert_eq!(lines[1], "16384  131072");
    assert_eq!(lines[5], "    8      0       0      0   5.805    172255.000 1.378     1.378 ");

    // With a unit of bytes, the demand is per KiB. The titles of connections do not change.
    let head = "Local /Remote\nSocket Size   Request Resp.  Elapsed";
    for (line, titles, demand) in [
        (
            "-t TCP_RR -c -C",
            " Trans.   CPU    CPU    S.dem   S.dem\nSend   Recv   Size    Size   Time    Rate     local  remote local   remote\n\
             bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr\n\n",
            "11.611",
        ),
        (
            "-t TCP_RR -c -C -f m",
            " Tput     CPU    CPU    S.dem   S.dem\nSend   Recv   Size    Size   Time    10^6bits local  remote local   remote\n\
             bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/KB   us/KB\n\n",
            "5944.675",
        ),
        (
            "-t TCP_CRR -c -C",
            " Trans.   CPU    CPU    S.dem   S.dem\nSend   Recv   Size    Size   Time    Rate     local  remote local   remote\n\
             bytes  bytes  bytes   bytes  secs.   per sec  %      %      us/Tr   us/Tr\n\n",
            "11.611",
        ),
    ] {
        let all = settings(line);
        let ends = (busy([16_384, 131_072]), busy([16_384, 131_072]));
        let text = Report { throughput: 2.0, trips: 172_255, ..report(&all, ends.0, ends.1) }.text();
        assert!(text.contains(&format!("{head}{titles}")), "{line}\n{text}");
        assert!(text.contains(demand), "{line}\n{text}");
    }

    let all = settings("-t UDP_STREAM");
    let local = End { sizes: [1400, 0], sent: (1400 * 316_407, 316_407), ..end([212_992; 2]) };
    let remote = End { received: (1400 * 143_620, 143_620), ..end([212_992; 2]) };
    let text = report(&all, local, remote).text();
    let rows = "212992    1400   1.00       316407      0    3543.76\n212992           1.00       143620           1608.54\n\n";
    assert!(text.ends_with(rows), "{text}");
    assert!(
        text.starts_with("Socket  Message  Elapsed      Messages                \nSize    Size     Time         Okay")
    );

    let all = settings("-P 0 -v 0 -t TCP_RR -B hello");
    assert_eq!(
        Report { throughput: 53_630.53, ..report(&all, End::default(), End::default()) }.text(),
        "53630.53 hello\n"
    );
    // Without titles, rows have the demand, the letter of its method, and the brand; streams of datagrams have no
    // brand.
    let cpu = |busy| End { cpu: Some(Cpu { busy, count: 2, ..Cpu::default() }), ..End::default() };
    for (line, wanted) in [
        ("-v 0 -c -t TCP_RR -B hello", "11.611 S \n"),
        ("-P 0 -v 0 -c -t TCP_RR -B hello", "11.611 S hello\n"),
        ("-v 0 -C -t TCP_RR", " 5.805 S \n"),
        ("-v 0 -c -C -t TCP_RR", "11.611 S \n"),
        ("-v 0 -c -t UDP_STREAM -B hello", "  0.00 S\n"),
        ("-v 0 -C -t UDP_STREAM", "  0.00 U\n"),
        ("-v 0 -t UDP_STREAM -B hello", "   0.00\n"),
    ] {
        let all = settings(line);
        let local = if all.output.cpu.local { cpu(100.0) } else { End::default() };
        let remote = if all.output.cpu.remote { cpu(50.0) } else { End::default() };
        assert_eq!(Report { trips: 172_255, ..report(&all, local, remote) }.text(), wanted, "{line}");
    }
}

// Protects tests without a control connection: the ports of RFC 862, 863 and 864, an echo of the request's size, and
// nothing that needs a netserver. The text is netperf 2.7.0's.
#[test]
fn without_a_control_connection_data_goes_to_a_service() {
    for (line, port, name) in [
        ("-N", 9, "discard"),
        ("-N -t UDP_STREAM", 9, "discard"),
        ("-N -t TCP_MAERTS", 19, "chargen"),
        ("-N -t TCP_CRR -- -r 100,20", 7, "echo"),
        ("-N -t UDP_RR -- -r 100,20", 7, "echo"),
    ] {
        let all = settings(line);
        assert_eq!((all.data.ports.remote, all.control.direct), (port, Some(Direct::Usual(name))), "{line}");
        assert_eq!(all.data.trip[0], all.data.trip[1], "{line}");
    }
    let all = settings("-N -C -Y 16,32 -t TCP_RR -- -P ,5000 -r 100,20 -D -K cubic -S 1000");
    assert_eq!((all.data.ports.remote, all.control.direct, all.data.trip), (5000, Some(Direct::Named), [100, 20]));
    assert_eq!((all.output.cpu.remote, all.socket.no_delay.remote, all.socket.service.remote), (false, false, None));
    assert_eq!((&all.socket.congestion.remote, all.socket.buffers.remote), (&None, [None; 2]));
    assert_eq!(settings("-N -t TCP_CC -- -P ,5000").control.direct, Some(Direct::Named));
    assert!(settings("-C").output.cpu.remote, "as before");

    let all = settings("-N -v 2 -c -C");
    assert!(
        title(&all, None, ("127.0.0.1", 9), false).ends_with(" to 127.0.0.1 () port 9 AF_INET : no control : demo\n")
    );
    let cpu = Some(Cpu { busy: 99.5, count: 2, ..Cpu::default() });
    let local = End { cpu, sizes: [16_384, 0], sent: (1_178_959_872, 71_958), ..end([16_384, 131_072]) };
    let text = Report { throughput: 9404.73, ..report(&all, local.clone(), End::silent()) }.text();
    for line in [
        "\nbytes  bytes   bytes    secs.    10^6bits/s  % S      %       us/KB   us/KB\n",
        "\n     0  16384  16384    1.00       9404.73   99.50    -1.00    1.728   -1.000 \n",
        "\n    8      -1      0      -1 1178959872  16384.00     71958",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let all = settings("-N -- -k DEST_PORT,REMOTE_BYTES_XFERD,REMOTE_BYTES_RECVD,RSR_SIZE,RSR_SIZE_END,REMOTE_NODELAY");
    assert_eq!(
        report(&all, local, End::silent()).text(),
        "DEST_PORT=discard\nREMOTE_BYTES_XFERD=1178959872\nREMOTE_BYTES_RECVD=0\nRSR_SIZE=0\nRSR_SIZE_END=-1\nREMOTE_NODELAY=-1\n"
    );
}

// Protects scripts for builds with intervals: they run, with the notice of Debian's netperf.
#[test]
fn intervals_are_not_compiled_in() {
    let rate = "Packet rate control is not compiled in.\n";
    assert_eq!(settings("-w 10").notices, [rate]);
    let all = settings("-b 4 -w 10ms,5");
    assert_eq!(all.notices, ["Packet burst size is not compiled in. \n", rate]);
    assert_eq!(all.ignored, [], "reported once");
    let all = settings("-w ,5");
    assert_eq!((all.notices.len(), all.ignored.len()), (0, 1), "netperf silently passes it to the server");
}

// Protects flent and scripts: names, order, digits and interim lines of `-k`, titles of `-o`, columns of `-O`.
#[test]
fn selectors_equal_netperfs() {
    let all = settings("-t TCP_RR -- -k THROUGHPUT,TRANSPORT_MSS,LOCAL_SOCKET_TOS,DIRECTION,ELAPSED_TIME,LOCAL_SD");
    let text = Report { throughput: 13.0, ..report(&all, End::default(), End::default()) }.text();
    let wanted = "THROUGHPUT=13.00\nTRANSPORT_MSS=65483\nLOCAL_SOCKET_TOS=0xffffffff\nDIRECTION=Send|Recv\nELAPSED_TIME=1.00\n\
                  LOCAL_SD=-1.000\n";
    assert_eq!(text, wanted);
    let interim = all.interim(Interim { number: 2, rate: 106_597.87, seconds: 0.2, ending: 1_795_201_666.217 });
    assert_eq!(
        interim,
        "NETPERF_INTERIM_RESULT[2]=106597.87\nNETPERF_UNITS[2]=Trans/s\nNETPERF_INTERVAL[2]=0.200\n\
         NETPERF_ENDING[2]=1795201666.217\n"
    );

    let all = settings("-- -o P50_LATENCY,THROUGHPUT");
    let mut times = Histogram::new();
    times.record_n(6_500, 10);
    let text = Report { times, throughput: 5.0, ..report(&all, End::default(), End::default()) }.text();
    assert_eq!(text, "50th Percentile Latency Microseconds,Throughput\n6,5.00\n");

    let all = settings("-- -O THROUGHPUT,MEAN_LATENCY,REMOTE_SYSNAME");
    let mut times = Histogram::new();
    times.record_n(19_970, 10);
    let text = Report { times, throughput: 49_455.89, ..report(&all, End::default(), End::default()) }.text();
    assert_eq!(
        text,
        "Throughput Mean         Remote      \n           Latency      Sysname     \n           Microseconds             \n\
         \x20                                   \n49455.89   19.97        Deprecated  \n"
    );

    let all = settings("-- -k ALL");
    let text = report(&all, End::default(), End::default()).text();
    let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let known: Vec<&str> = SELECTORS.iter().map(|row| row.0).filter(|name| *name != "RESULT_BRAND").collect();
    assert_eq!(names, known, "each has a value");
}

// By hand: 9, 10, 11 with t = 4.303 (95 %, 2 degrees): mean 10, half a width of 4.303 / √3 = 2.484, so 49.69 % of the
// mean.
#[test]
fn confidence_follows_student() {
    let (mean, width) = half_width(&[9.0, 10.0, 11.0], 4.303);
    assert!((mean - 10.0).abs() < 1e-9 && (width - 49.69).abs() < 0.01, "{mean} {width}");
    assert_eq!(half_width(&[5.0], 4.303), (5.0, 0.0));
}

// Protects results: an end polls only if the option is given exactly.
#[test]
fn polling_is_an_option_before_all_others() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let read = |text: &str| super::read("netperf", &words(text));
    match read("--plumb-busy-poll=50 -t TCP_RR") {
        Ok(super::Invocation::Run(settings)) => {
            assert_eq!((settings.socket.poll_us, settings.test.direction), (50, super::Direction::RoundTrips))
        }
        other => panic!("{other:?}"),
    }
    for wrong in
        ["--plumb-busy-poll=0", "--plumb-busy-poll=10001", "--plumb-busy-poll=x", "-t TCP_RR --plumb-busy-poll=50"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    match super::read_server(&words("--plumb-busy-poll=50 -p 1")) {
        Ok(super::Invocation::Run(server)) => assert_eq!((server.poll_us, server.port), (50, 1)),
        other => panic!("{other:?}"),
    }
}
