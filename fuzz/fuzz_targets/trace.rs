//! Recordings: fio's logs and blktrace's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_trace::iolog::Waits;
use plumb_trace::read;
use std::io::Cursor;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    for waits in [Waits::Manual, Waits::Fio] {
        let Ok(recording) = read(Box::new(Cursor::new(data.to_vec())), Path::new("recording"), waits) else { return };
        recording.take_while(Result::is_ok).for_each(drop);
    }
});
