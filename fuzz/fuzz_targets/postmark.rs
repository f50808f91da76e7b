//! PostMark's commands.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_classic::postmark::{Answer, Compat, Language, lower};

fuzz_target!(|data: &str| {
    let mut language = Language::default();
    for line in data.lines() {
        for answer in language.obey_typed(line) {
            if let Answer::Run(_) = answer {
                let _ = lower(&language.settings, Compat::default());
            }
        }
    }
});
