//! iperf2's command lines and messages: the headers of streams, and a server's report.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_net::iperf2::{Ask, Invocation, OutputStyle, Row, ServerReport, blocks, flow, form, read, tcp_head};
use plumb_tools_net::iperf3::Unit;
use plumb_fuzz::words_and_file;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    if let Ok(Invocation::Run(settings)) = read(&words) {
        // The engine can run every accepted command line, and a server parses it with the same meaning.
        assert!(flow(&settings.test, true, form(&settings.test, settings.port, 0, 0)).problem().is_none());
        assert!(flow(&settings.test, true, blocks(&settings.test, settings.port, 0, 0)).problem().is_none());
        let ask = Ask::read(&tcp_head(&settings.test, settings.port, 0));
        assert_eq!(ask.reverse, settings.test.reverse);
    }
    let ask = Ask::read(file.as_bytes());
    assert!(ask.time_s <= 86400.0);
    if let Some(report) = ServerReport::read(file.as_bytes()) {
        let look = OutputStyle { unit: Unit::Adaptive, enhanced: true, udp: true, sends: false, bounces: false, trips: false };
        let _ = look.row("  1", &Row::from_report(&report));
        let _ = report.bytes(true);
    }
});
