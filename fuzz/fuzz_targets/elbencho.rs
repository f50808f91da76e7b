//! elbencho's command lines and files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_app::elbencho::read;
use plumb_fuzz::words_and_file;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    let _ = read(&words, &mut |_| Ok(file.to_owned()));
});
