//! mdtest's command lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_hpc::mdtest::{Invocation, Facts, lower, read};
use plumb_fuzz::words_and_file;
use plumb_workload_text::validate::validate;

fuzz_target!(|data: &str| {
    let Ok(Invocation::Run(settings, _)) = read(&words_and_file(data).0, None) else { return };
    let facts = Facts { iteration: 0, tasks: 2, seed: 1, items_at_wall: None, removes_places: true };
    validate(&lower(&settings, &facts).workload);
});
