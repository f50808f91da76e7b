//! IOMeter's configuration files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_app::iometer::{Config, Place, lower};
use plumb_workload_text::validate::validate;

/// Maximum number of tests to lower from one file.
const TESTS_MAX: usize = 20;

fuzz_target!(|data: &str| {
    let Ok(config) = Config::parse("file.icf", data) else { return };
    for test in config.tests().unwrap_or_default().iter().take(TESTS_MAX) {
        let place = |name: &str| Place { path: name.into(), length: Some(1 << 30), is_device: name.len() % 2 == 0 };
        if let Ok(workload) = lower(&config, test, place, 1) {
            validate(&workload);
        }
    }
});
