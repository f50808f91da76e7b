//! Width and colours of pages.

use crate::measure;
use plumb_text::visible::colour;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Width of the page in columns.
    pub width: usize,
    /// Whether the page is coloured.
    pub colour: Colour,
}

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Marks colours, which `plumb_text::visible` converts to SGR escapes.
    Ansi,
    /// No colours.
    Never,
}

/// The meaning of a piece of text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The answer.
    Strong,
    /// Good news, such as a passed check.
    Good,
    /// A caution.
    Caution,
    /// A failure.
    Bad,
    /// Less important text.
    Faint,
}

impl Ink {
    /// Returns the class of the ink in HTML pages.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Ink::Strong => "answer",
            Ink::Good => "good",
            Ink::Caution => "caution",
            Ink::Bad => "bad",
            Ink::Faint => "faint",
        }
    }
}

impl Style {
    /// Plain text with a width of 100 columns.
    pub const PLAIN: Style = Style { width: 100, colour: Colour::Never };

    /// Returns the text in the colour of an ink.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Strong => "1",
            Ink::Good => "32",
            Ink::Caution => "33",
            Ink::Bad => "31",
            Ink::Faint => "2",
        };
        match self.colour {
            Colour::Ansi => format!("{}{text}{}", colour(code), colour("0")),
            Colour::Never => text.to_owned(),
        }
    }

    /// Joins items with commas, breaking lines between items if possible, and wraps like [`Style::wrap`].
    pub(crate) fn wrap_list(&self, items: &[String], indent: usize) -> String {
        // Placeholder for spaces inside items. It must be one column wide; a hidden character would count as its escape.
        const INSIDE: char = '\u{fdd0}';
        let fits = |item: &str| measure::width(item) < self.width.saturating_sub(indent).max(20);
        let items: Vec<String> = items
            .iter()
            .map(|item| if fits(item) { item.replace(' ', &INSIDE.to_string()) } else { item.clone() })
            .collect();
        self.wrap(&items.join(", "), indent).replace(INSIDE, " ")
    }

    /// Breaks text at spaces to the page's width, and indents every line except the first by `indent`. The caller has
    /// already printed the start of the first line.
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        let room = self.width.saturating_sub(indent).max(20);
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && measure::width(&line) + 1 + measure::width(word) > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
        lines.join(&format!("\n{}", " ".repeat(indent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_the_width_and_stay_indented() {
        let style = Style { width: 30, colour: Colour::Never };
        let text = style.wrap("one two three four five six seven", 4);
        assert_eq!(text, "one two three four five\n    six seven");
    }

    // Protects: numbers are not separated from their units.
    #[test]
    fn lists_break_between_items() {
        let style = Style { width: 24, colour: Colour::Never };
        let items = ["create 7.8 k/s".to_owned(), "read 11.2 k/s".to_owned()];
        assert_eq!(style.wrap_list(&items, 2), "create 7.8 k/s,\n  read 11.2 k/s");
    }
}
