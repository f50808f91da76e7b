//! Which numbers are printed.

/// Which numbers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// Those that are true.
    #[default]
    Meant,
    /// Those that PostMark itself would print: whole seconds, at least 1; bytes that were asked for, in single precision.
    Strict,
}
