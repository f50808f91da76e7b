//! Messages that are not part of fio's report.

use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_tools_fio::fio::{Fio, Warning};
use plumb_tools_run::runner::{Step, page};

/// Prints an error on standard error, prefixed like fio's own.
pub(super) fn complain(what: impl std::fmt::Display) {
    error_line!("fio: {what}");
}

/// Unwraps a result, or prints all its errors.
pub(super) fn or_complain<T, E: std::fmt::Display>(result: Result<T, impl IntoIterator<Item = E>>) -> Step<T> {
    result.map_err(|errors| {
        errors.into_iter().for_each(complain);
        End::DialectFailed.into()
    })
}

pub(super) fn say<T>(text: &str) -> Step<T> {
    page(&format!("{}\n", text.trim_end_matches('\n')))
}

/// Prints warnings. With `--warnings-fatal`, they end the run.
pub(super) fn warn(fio: &Fio, warnings: &[Warning], more: &[String]) -> Step<()> {
    if let Some(warning) = warning(warnings, more) {
        error_line!("{warning}");
        if fio.invocation.warnings_fatal {
            return Err(End::DialectFailed.into());
        }
    }
    Ok(())
}

/// Joins all warnings in one line: scripts treat long output on standard error as a failure.
pub(super) fn warning(warnings: &[Warning], more: &[String]) -> Option<String> {
    let all: Vec<String> = warnings.iter().map(Warning::to_string).chain(more.iter().cloned()).collect();
    if all.is_empty() {
        return None;
    }
    let misread = warnings.iter().any(|warning| matches!(warning, Warning::Misread { .. }));
    let way_out = if misread { " (--compat=strict reads values as fio does)" } else { "" };
    Some(format!("fio: warning: {}{way_out}", all.join("; ")))
}
