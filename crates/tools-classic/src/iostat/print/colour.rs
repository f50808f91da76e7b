//! Text colours from the variables S_COLORS and S_COLORS_SGR.

/// Colour marks (`plumb_text::visible`) before each kind of text, and the mark that
/// ends a colour; all empty without colours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Palette {
    /// Percentages of 75 and above.
    pub percent_high: String,
    /// Percentages of 50 and above.
    pub percent_low: String,
    /// Values shown as zero.
    pub zero: String,
    pub number: String,
    pub name: String,
    pub normal: String,
}

/// Returns the colours. `when` is S_COLORS and `codes` is S_COLORS_SGR; without S_COLORS, terminals get colours.
pub fn palette(when: Option<&str>, codes: Option<&str>, is_terminal: bool) -> Palette {
    let is_coloured = match when {
        Some("never") => false,
        Some("always") => true,
        _ => is_terminal,
    };
    if !is_coloured {
        return Palette::default();
    }
    let escape = plumb_text::visible::colour;
    let mut palette = Palette {
        percent_high: escape("31;1"),
        percent_low: escape("35;1"),
        zero: escape("34;22"),
        number: escape("34;1"),
        name: escape("32;22"),
        normal: escape("0"),
    };
    for word in codes.unwrap_or_default().split(':').filter(|word| (3..=7).contains(&word.len())) {
        let Some((key, code)) = word.split_once('=') else { continue };
        if code.is_empty() || !code.bytes().all(|byte| byte == b';' || byte.is_ascii_digit()) {
            continue;
        }
        match key {
            "H" => palette.percent_high = escape(code),
            "M" => palette.percent_low = escape(code),
            "Z" => palette.zero = escape(code),
            "N" => palette.number = escape(code),
            "I" => palette.name = escape(code),
            _ => {}
        }
    }
    palette
}
