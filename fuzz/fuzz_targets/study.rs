//! Study files, which are parsed and planned.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_study::file::{PlanOptions, StudyFileError, StudyFiles, plan};
use std::path::Path;

struct NoFiles;

impl StudyFiles for NoFiles {
    fn bytes(&mut self, _: &Path) -> Result<Vec<u8>, StudyFileError> {
        Ok(Vec::new())
    }
}

fuzz_target!(|data: &str| {
    let _ = plan("study.toml", data, &PlanOptions::default(), &mut NoFiles);
});
