//! The limit that each phase ran into.

use crate::format;
use plumb_result::PhaseResult;

/// Returns `limited by the device: loop0 busy 97 %, 3.5 in flight`.
pub(crate) fn limit(phase: &PhaseResult) -> Option<String> {
    let limiter = phase.limiter.as_ref()?;
    let used = match (limiter.text.is_empty(), limiter.utilisation) {
        (false, _) => format!(": {}", limiter.text),
        (true, Some(used)) => format!(" ({} used)", format::percent(used)),
        (true, None) => String::new(),
    };
    Some(match limiter.what {
        plumb_result::Bound::Unknown => format!("limit unknown{used}"),
        what => format!("limited by {}{used}", what.name()),
    })
}
