//! Native workload files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_workload_text::native::parse;

fuzz_target!(|data: &str| {
    let _ = parse("workload.toml", data);
});
