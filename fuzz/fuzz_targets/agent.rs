//! Messages between agents and their clients: neither end panics, or allocates memory for data that was only announced.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_cluster::star::{Frame, Greeting, read_answer, read_line};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    if let Ok(line) = read_line(&mut rest) {
        let _ = read_answer(&line);
        if let Ok(greeting) = Greeting::read(&line) {
            assert!(0 < greeting.rank && greeting.rank < greeting.size);
        }
    }
    let mut rest = bytes;
    while let Ok(Some(frame)) = Frame::read(&mut rest) {
        assert!(frame.payload.len() <= bytes.len());
    }
});
