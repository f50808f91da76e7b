//! Answers of real elbencho services.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_app::elbencho::lower::PhaseKind;
use plumb_tools_app::elbencho::print::PhaseContext;
use plumb_tools_app::elbencho::protocol::{ServicePrepared, ServiceResult, ServiceStatus, report, version};

fuzz_target!(|data: &[u8]| {
    let _ = ServicePrepared::parse(data);
    let _ = ServiceStatus::parse(data);
    let _ = std::str::from_utf8(data).map(version);
    if let Ok(result) = ServiceResult::parse(data) {
        let both = [("a".to_owned(), result.clone()), ("b".to_owned(), result)];
        let _ = report(PhaseKind::Write, "WRITE", PhaseContext::default(), &both, None);
    }
});
