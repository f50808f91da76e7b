//! Whether an option is supported, and C's number format.

/// Support for an option or an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Works as in the tool.
    Works,
    /// Accepted without effect, for this reason.
    Ignored(&'static str),
    /// Not supported yet; the text is the reason or an alternative. Using it is an error.
    NotYet(&'static str),
    /// Will never be supported, for this reason. Using it is an error.
    Never(&'static str),
}

/// Formats a number like C's `%.Ng`, without trailing zeros. Very small and very large numbers are not supported.
pub fn significant(value: f64, digits: usize) -> String {
    let before = if value >= 1.0 { value.log10().floor() as usize + 1 } else { 1 };
    let text = format!("{value:.*}", digits.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
