//! JSON and TOML, the formats of workloads, studies, results and the store.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_document::{json, toml};

fuzz_target!(|data: &[u8]| {
    let _ = json::parse(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = toml::parse(text);
    }
});
