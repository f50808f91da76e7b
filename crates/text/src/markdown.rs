//! Escaping of text for Markdown.

use crate::visible::is_hidden;
use std::fmt::Write as _;

/// Escapes text as one line of Markdown, so that it cannot begin HTML, a link, an image, code, emphasis or a table cell.
///
/// Angle brackets and ampersands become entities, which every renderer supports; other markup gets a backslash. Hidden characters
/// are escaped as in [`crate::visible`], and line breaks become spaces.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, c) in text.char_indices() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '\\' | '`' | '[' | ']' => out.extend(['\\', c]),
            // `~~` strikes text through. A single `~` marks an estimate and needs no escape.
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

/// Returns `true` if the text would begin a heading, list or rule. A signed number does not.
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

    // Fails without this module: `<script>` in a report's title was copied to its Markdown.
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
        // Protects reports: data cannot begin markup, and a table cell stays one cell.
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
