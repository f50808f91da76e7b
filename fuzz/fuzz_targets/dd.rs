//! dd's operands.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_classic::dd::{Action, Marks, lower::lower, read, read_printed};
use plumb_fuzz::words_and_file;
use plumb_workload_text::validate::validate;

fuzz_target!(|data: &str| {
    let (words, _) = words_and_file(data);
    if let Ok(dd) = read(&words, Marks::Straight)
        && dd.action == Action::Run
    {
        validate(&lower(&dd));
    }
    read_printed(&words);
});
