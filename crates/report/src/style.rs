//! How pages are set: width and colour.

use crate::measure;
use plumb_text::visible::colour;

/// Width and colour of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the page.
    pub width: usize,
    /// Whether to colour.
    pub colour: Colour,
}

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Marks colours, which `plumb_text::visible` converts to SGR escapes.
    Ansi,
    /// Without.
    Never,
}

/// What a piece of text means; the colour follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The answer.
    Strong,
    /// Good news.
    Good,
    /// A caution.
    Caution,
    /// A failure.
    Bad,
    /// Less important.
    Faint,
}

impl Style {
    /// Plain text, 100 columns.
    pub const PLAIN: Style = Style { width: 100, colour: Colour::Never };

    /// The text in its colour.
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

    /// Items as a list with commas, broken between them where that is possible, and set as [`Style::wrap`] does.
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

    /// The text broken at spaces to the page's width, every line behind `indent` spaces; the first line is not indented
    /// (its caller has written something there already).
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

    // Protects numbers from being parted from their units.
    #[test]
    fn lists_break_between_items() {
        let style = Style { width: 24, colour: Colour::Never };
        let items = ["create 7.8 k/s".to_owned(), "read 11.2 k/s".to_owned()];
        assert_eq!(style.wrap_list(&items, 2), "create 7.8 k/s,\n  read 11.2 k/s");
    }
}
