//! IOR's command lines and scripts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_hpc::ior::{Invocation, Facts, lower, read};
use plumb_fuzz::words_and_file;
use plumb_workload_text::validate::validate;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    let Ok(Invocation::Run(tests, _)) = read(&words, None, &mut |_| Ok(file.to_owned())) else { return };
    for test in tests.iter().take(100) {
        let facts = Facts {
            repetition: 0,
            seed: 1,
            ranks_per_node: 0,
            transfers_at_wall: None,
            file_bytes: None,
            hints: Default::default(),
            missing_directories: Default::default(),
        };
        validate(&lower(test, &facts).workload);
    }
});
