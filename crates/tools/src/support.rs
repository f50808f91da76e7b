//! What several tools share: whether an option is supported, how C prints a number.

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

/// As C's `%.Ng` prints a number that is not very small or large: so many digits, without zeros at the end.
pub fn significant(value: f64, digits: usize) -> String {
    let before = if value >= 1.0 { value.log10().floor() as usize + 1 } else { 1 };
    let text = format!("{value:.*}", digits.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
