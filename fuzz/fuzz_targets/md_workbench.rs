//! md-workbench's command lines, and the file with the position of the next run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_hpc::md_workbench::{Invocation, Facts, lower, print, read};
use plumb_fuzz::words_and_file;
use plumb_workload_text::validate::validate;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    let start = print::position(file).unwrap_or(0);
    let Ok(Invocation::Run(settings, _)) = read(&words, None) else { return };
    validate(&lower(&settings, &Facts { seed: 1, start }));
});
