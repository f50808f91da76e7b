//! dbench's command lines and load files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_app::dbench::{Action, LoadFile, lower, read};
use plumb_fuzz::words_and_file;
use plumb_workload_text::validate::validate;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    if let Ok(load) = LoadFile::parse(file) {
        assert!(load.names.iter().all(|name| name.split('/').all(|part| !part.is_empty() && part != "..")));
    }
    let Ok(Action::Run(settings)) = read(&words) else { return };
    validate(&lower(&settings));
});
