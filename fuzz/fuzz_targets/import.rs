//! Other tools' results, each parsed as the output of every tool.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use plumb_import::{ForeignFile, TOOLS, read};

fuzz_target!(|data: &[u8]| {
    let file = ForeignFile { name: "results", bytes: data, changed_at: Timestamp::UNIX_EPOCH };
    let _ = read(&file, None);
    for tool in TOOLS {
        let _ = read(&file, Some(tool.name));
    }
});
