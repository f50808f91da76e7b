//! Text inside Markdown.

use crate::visible::is_hidden;
use std::fmt::Write as _;

/// Returns the text as one line of Markdown that shows it as it is: no HTML, link, image, code, emphasis or table cell begins in it.
///
/// Angle brackets and ampersands become entities, which every renderer knows; the rest is escaped by a backslash. Hidden characters are
/// shown as in [`crate::visible`], line breaks become spaces.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, c) in text.char_indices() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '\\' | '`' | '[' | ']' => out.extend(['\\', c]),
            // Two strike through what follows; one alone stands before an estimate.
            '~' if text[index + 1..].starts_with('~') || text[..index].ends_with('~') => out.push_str("\\~"),
            '!' if text[index..].starts_with("![") => out.push_str("\\!"),
            c if index == 0 && begins_block(text) => out.extend(['\\', c]),
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_hidden(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a text would be a heading, a list or a rule at the beginning of a block. A number with its sign is none.
fn begins_block(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next();
    let is_mark = first.is_some_and(|c| matches!(c, '#' | '+' | '-' | '='));
    is_mark && letters.next().is_none_or(|next| Some(next) == first || next.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Fails without this module: `<script>` in the title of a report stood in its Markdown.
    #[test]
    fn markup_of_data_is_text() {
        assert_eq!(escaped("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
        assert_eq!(
            escaped("![x](javascript:a) [y](z) `c` a|b & *d* _e_ !"),
            "\\!\\[x\\](javascript:a) \\[y\\](z) \\`c\\` a\\|b &amp; \\*d\\* \\_e\\_ !"
        );
        for (text, markdown) in [("# a", "\\# a"), ("- a!", "\\- a!"), ("-3 %", "-3 %"), ("a\nb\u{1b}", "a b\\\\u001b")]
        {
            assert_eq!(escaped(text), markdown);
        }
    }

    proptest! {
        // Protects reports: no character of data opens markup, and a cell of a table stays one cell.
        #[test]
        fn nothing_opens_markup(text in any::<String>()) {
            let markdown = escaped(&text);
            let is_markup = markdown.contains(['<', '>', '\n', '\r', '\t']);
            prop_assert!(!is_markup && !markdown.chars().any(is_hidden));
            let mut is_escaped = false;
            for c in markdown.chars() {
                prop_assert!(is_escaped || !matches!(c, '|' | '`' | '[' | ']' | '*' | '_'), "{markdown}");
                is_escaped = c == '\\' && !is_escaped;
            }
        }
    }
}
