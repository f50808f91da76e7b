//! What fio says beside its report.

use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_tools_fio::fio::{Fio, Warning};
use plumb_tools_run::runner::{Step, page};

/// What goes wrong is told on standard error, as fio's own words.
pub(super) fn complain(what: impl std::fmt::Display) {
    error_line!("fio: {what}");
}

/// What there is, or all that is wrong, told.
pub(super) fn told<T, E: std::fmt::Display>(result: Result<T, impl IntoIterator<Item = E>>) -> Step<T> {
    result.map_err(|errors| {
        errors.into_iter().for_each(complain);
        End::DialectFailed.into()
    })
}

pub(super) fn say<T>(text: &str) -> Step<T> {
    page(&format!("{}\n", text.trim_end_matches('\n')))
}

/// Tells what is doubtful, which may be the end.
pub(super) fn warn(fio: &Fio, warnings: &[Warning], more: &[String]) -> Step<()> {
    if let Some(warning) = warning(warnings, more) {
        error_line!("{warning}");
        if fio.invocation.warnings_fatal {
            return Err(End::DialectFailed.into());
        }
    }
    Ok(())
}

/// All doubts in one line: scripts take much on standard error for a failure.
pub(super) fn warning(warnings: &[Warning], more: &[String]) -> Option<String> {
    let all: Vec<String> = warnings.iter().map(Warning::to_string).chain(more.iter().cloned()).collect();
    if all.is_empty() {
        return None;
    }
    let misread = warnings.iter().any(|warning| matches!(warning, Warning::Misread { .. }));
    let way_out = if misread { " (--compat=strict reads values as fio does)" } else { "" };
    Some(format!("fio: warning: {}{way_out}", all.join("; ")))
}
