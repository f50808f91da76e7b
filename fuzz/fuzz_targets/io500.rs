//! The configuration of the IO500.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_hpc::io500::read;

fuzz_target!(|data: &str| {
    let words = ["config.ini", "--mode=extended"].map(str::to_owned);
    let _ = read(&words, None, "2026-01-01T00-00-00", &mut |_| Ok(data.to_owned()));
});
