//! Commands of the shell that a script or a command line holds: they are run where the user allows it.

/// The option that allows them.
pub const ALLOW_SYSTEM: &str = "--allow-system";

/// Says that a command is not run, whatever names it.
pub fn refused(by: &str, line: &str) -> String {
    format!("{by} is refused: it would run `{line}`")
}

/// The way out.
pub fn way_out() -> String {
    format!("add {ALLOW_SYSTEM} to run it")
}
