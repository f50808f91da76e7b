//! Scripts of Filebench's workload model language.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools::FileError;
use plumb_tools_app::filebench::{Answer, Session};
use plumb_workload_text::validate::validate;

fuzz_target!(|data: &str| {
    let mut nothing = |path: &str| Err(FileError::NotPublished { path: path.to_owned() });
    let Ok(mut session) = Session::new("script.f", data, &[], Some(1), &mut nothing) else { return };
    while let Ok(answer) = session.answer() {
        match answer {
            Answer::Run(plan) => {
                validate(&plan.workload);
            }
            Answer::End => return,
            Answer::Print(_) | Answer::Remark(_) | Answer::System { .. } | Answer::Sleep(_) => {}
        }
    }
});
