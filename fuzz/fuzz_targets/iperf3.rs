//! iperf3's command lines, and the messages on its control connections.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_net::iperf3::{Invocation, End, Limits, Params, Results, flow, read};
use plumb_fuzz::words_and_file;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    let limits = Limits { rate: None, time_s: 86400 };
    if let Ok(Invocation::Run(settings)) = read(&words)
        && let End::Client(client) = settings.end
    {
        let _ = client.params.json().line();
    }
    if let Ok(params) = Params::read(file.as_bytes(), &limits) {
        // The engine can run everything that a server accepts, and its meaning is the same after sending it on.
        assert!(flow(&params, true, false).problem().is_none());
        assert_eq!(Params::read(params.json().line().as_bytes(), &limits).map(|read| read.flow.block), Ok(params.flow.block));
    }
    if let Some(results) = Results::read(file.as_bytes()) {
        let _ = results.json().page();
    }
});
