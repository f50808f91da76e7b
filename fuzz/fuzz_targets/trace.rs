//! Recordings of every form: detected, and with each form given by name; pages of the kernel's event buffer; the facts
//! that a replay needs; and anonymised recordings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_trace::iolog::Waits;
use plumb_trace::table::PRESETS;
use plumb_trace::survey::survey;
use plumb_trace::{Anonymised, Extensions, Format, read_as};
use std::io::Cursor;
use std::path::Path;

const NAMES: [&str; 10] =
    ["plumb", "iolog", "blktrace", "blkparse", "btrecord", "strace", "events", "elbencho", "vscsi", "model"];

/// Limits the ops that are drawn from a model, which can have any number.
const DRAWN_MAX: usize = 1000;

fuzz_target!(|data: &[u8]| {
    plumb_trace::capture::pages::events(data, &mut |_, _| ());
    let named = NAMES.into_iter().chain(PRESETS.iter().map(|preset| preset.name));
    let formats = [None].into_iter().chain(named.map(|name| Format::named(name).ok()));
    for (number, format) in formats.enumerate() {
        let waits = if number % 2 == 0 { Waits::Manual } else { Waits::Fio };
        let input = Box::new(Cursor::new(data.to_vec()));
        let Ok(recording) = read_as(input, Path::new("recording"), waits, format.clone()) else { continue };
        if *recording.format() == Format::Model {
            recording.take(DRAWN_MAX).take_while(Result::is_ok).for_each(drop);
            continue;
        }
        recording.take_while(Result::is_ok).for_each(drop);
        let again = || read_as(Box::new(Cursor::new(data.to_vec())), Path::new("recording"), waits, format.clone());
        if let (Ok(one), Ok(other)) = (again(), again()) {
            let _ = survey(one, |_| true, |_| true);
            Anonymised::new(other, Extensions::Kept).take_while(Result::is_ok).for_each(drop);
        }
    }
});
