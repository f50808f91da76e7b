//! `plumb explain`: what a check means.

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;

/// Explains one check, or lists all.
pub fn run(code: Option<&str>, _common: &Common) -> Result<End, Stopped> {
    match code {
        None => {
            let lines: String =
                plumb_trust::CHECKS.iter().map(|check| format!("{:4} {}\n", check.code, check.title)).collect();
            session::print(&lines)?;
        }
        Some(code) => match explanation(&code.to_uppercase()) {
            Some(text) => session::print(&text)?,
            None => {
                let known: Vec<&str> = plumb_trust::CHECKS.iter().map(|check| check.code).collect();
                return Err(Stopped::usage(format!("there is no check `{code}`; there are {}", known.join(" "))));
            }
        },
    }
    Ok(End::Done)
}

/// A check's words, or those of a code that only published numbers have (`P1` …).
fn explanation(code: &str) -> Option<String> {
    plumb_trust::explanation(code).or_else(|| plumb_trust::audit::explanation(code))
}
