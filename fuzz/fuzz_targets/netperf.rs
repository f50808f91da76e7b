//! Command lines of netperf and netserver. Input that begins with a zero is a message of their control connection.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_net::netperf::{
    Invocation, Kind, MESSAGE_BYTES, Message, Request, Response, Results, flow, read, read_server,
};
use plumb_fuzz::words_and_file;

fn check(request: &Request) {
    assert!(flow(request, true, [u32::MAX, 1]).problem().is_none());
    assert_eq!(Request::read(&request.message()).as_ref(), Ok(request));
}

fuzz_target!(|data: &[u8]| {
    if let Some(rest) = data.strip_prefix(b"\0") {
        let mut bytes = [0; MESSAGE_BYTES];
        let length = rest.len().min(MESSAGE_BYTES);
        bytes[..length].copy_from_slice(&rest[..length]);
        let message = Message(bytes);
        let _ = (
            message.kind(),
            message.passphrase(),
            Response::read(&message),
            Results::read(&message, Kind::OmniResponse),
            Results::read(&message, Kind::StreamResponse),
        );
        if let Ok(request) = Request::read(&message) {
            check(&request);
        }
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (words, _) = words_and_file(text);
    let _ = read_server(&words);
    if let Ok(Invocation::Run(settings)) = read("netperf", &words) {
        let _ = flow(&settings.request((None, 0), None, false), false, [1, 1]).problem();
    }
});
