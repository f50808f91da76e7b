//! Escaping of text for HTML, XML and SVG.

/// Escapes text for elements and for attributes in double quotes. Control characters become spaces, because
/// XML does not allow them.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(escaped("<a b=\"c\">d & e's\n\u{1b}[2J\u{ffff}é"), "&lt;a b=&quot;c&quot;&gt;d &amp; e's  [2J é");
    }

    proptest! {
        // Protects pages and pictures: data opens no element, ends no attribute, and XML parsers take it.
        #[test]
        fn nothing_opens_markup(text in any::<String>()) {
            let markup = escaped(&text);
            let is_refused = |c: char| matches!(c, '<' | '>' | '"' | '\u{ffff}') || c.is_control();
            prop_assert!(!markup.contains(is_refused));
            let entities = ["&amp;", "&lt;", "&gt;", "&quot;"].map(|entity| markup.matches(entity).count());
            prop_assert_eq!(markup.matches('&').count(), entities.iter().sum::<usize>());
        }
    }
}
