//! vdbench's command lines and parameter files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_app::vdbench::{Places, Script, VdbenchSettings, lower, print};
use plumb_workload_text::validate::validate;

/// Maximum number of runs to lower from one file.
const RUNS_MAX: usize = 20;

fuzz_target!(|data: &str| {
    let Ok(script) = Script::parse("parmfile", data, &VdbenchSettings::default()) else { return };
    let lengths: Vec<Option<u64>> = script.paths().map(|_| Some(1 << 30)).collect();
    for run in script.runs.iter().take(RUNS_MAX) {
        if let Ok(workload) = lower(&script, run, Places { lengths: &lengths, directories: &[] }, print::rate(run, 1000.0), 1) {
            validate(&workload);
        }
    }
});
