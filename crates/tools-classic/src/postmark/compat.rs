//! Choice of the printed numbers.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    #[default]
    Meant,
    /// PostMark's own numbers: whole seconds, at least 1; requested bytes, in single precision.
    Strict,
}
