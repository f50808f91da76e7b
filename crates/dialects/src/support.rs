//! Whether an option of another tool is supported.

/// What Plumb does with an option, or with an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It does what it does in the tool.
    Works,
    /// Accepted without effect, for this reason.
    Ignored(&'static str),
    /// Not supported yet, for this reason, or with what to do instead; who uses it is refused.
    NotYet(&'static str),
    /// Will not be supported, for this reason; who uses it is refused.
    Never(&'static str),
}
