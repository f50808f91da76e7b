//! Permission to run shell commands that a script or a command line contains. They run only with `--allow-system`.

/// Option that allows shell commands.
pub const ALLOW_SYSTEM: &str = "--allow-system";

/// Returns the message for a command that is not run; `by` is the option or statement that contains it.
pub fn refused(by: &str, line: &str) -> String {
    format!("{by} is refused: it would run `{line}`")
}

/// Returns the hint that names the option.
pub fn way_out() -> String {
    format!("add {ALLOW_SYSTEM} to run it")
}
