//! A part of a workbook: XML that is compressed while it is written.

use crate::zip::Entry;
use std::fmt::{Display, Write as _};

/// Bytes that are collected before they are compressed.
const CHUNK: usize = 64 << 10;

#[derive(Debug)]
pub struct Part {
    text: String,
    entry: Entry,
}

impl Part {
    pub fn new() -> Part {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n".to_owned();
        Part { text, entry: Entry::new() }
    }

    /// Adds markup as it is.
    pub fn add(&mut self, markup: &str) {
        self.text.push_str(markup);
        if self.text.len() >= CHUNK {
            self.compress();
        }
    }

    /// Adds a number.
    pub fn number(&mut self, value: impl Display) {
        // A string takes whatever is written.
        let _ = write!(self.text, "{value}");
    }

    /// ` name="value"`.
    pub fn attribute(&mut self, name: &str, value: impl Display) {
        let _ = write!(self.text, " {name}=\"{value}\"");
    }

    /// Adds a text: markup is escaped, and so is what XML cannot hold, in the way of spreadsheets (`_x000B_`; part 1, 22.9.2.19).
    pub fn text(&mut self, text: &str) {
        for (at, character) in text.char_indices() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '_' if is_escape(text.get(at..).unwrap_or_default()) => self.text.push_str("_x005F_"),
                '\n' | '\t' => self.text.push(character),
                control if control < ' ' || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                    let _ = write!(self.text, "_x{:04X}_", u32::from(control));
                }
                _ => self.text.push(character),
            }
        }
        self.add("");
    }

    fn compress(&mut self) {
        // Into memory: it cannot fail.
        let _ = self.entry.write(self.text.as_bytes());
        self.text.clear();
    }

    /// What was written, if it is short.
    #[cfg(test)]
    pub fn into_text(self) -> String {
        self.text
    }

    pub fn finish(mut self) -> Entry {
        self.compress();
        self.entry
    }
}

/// A text that reads as an escaped character, `_x000B_`.
fn is_escape(text: &str) -> bool {
    matches!(text.as_bytes(), [b'_', b'x', digits @ .., ] if digits.get(4) == Some(&b'_')
        && digits.iter().take(4).all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_xml_cannot_hold_are_escaped() {
        let mut part = Part::new();
        part.text.clear();
        part.text("a<b> & \"c\"\u{b}\u{ffff} _x000B_ _x_ é\n");
        assert_eq!(part.text, "a&lt;b&gt; &amp; &quot;c&quot;_x000B__xFFFF_ _x005F_x000B_ _x_ é\n");
    }
}
