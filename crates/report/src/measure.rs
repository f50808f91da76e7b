//! Width of text in terminal columns: letters of some scripts take two columns, combining accents none.

use plumb_text::visible::visible_letters;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns the columns that a text takes on one line, with hidden characters escaped and colours removed.
pub(crate) fn width(text: &str) -> usize {
    visible_letters(text).width()
}

/// Pads text on the right to `columns`.
pub(crate) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Pads text on the left to `columns`.
pub(crate) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Cuts text off with an ellipsis if it takes more than `columns`.
pub fn cut(text: &str, columns: usize) -> String {
    let text = &*visible_letters(text);
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |letter: &char| {
        taken += letter.width().unwrap_or(0);
        taken < columns
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Cuts text off at its beginning, with an ellipsis.
pub(crate) fn cut_front(text: &str, columns: usize) -> String {
    let text = &*visible_letters(text);
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let mut kept: Vec<char> = Vec::new();
    for letter in text.chars().rev() {
        taken += letter.width().unwrap_or(0);
        if taken >= columns {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    kept.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns_and_accents_none() {
        assert_eq!((width("disk"), width("磁盘"), width("e\u{301}"), width("░█…")), (4, 4, 1, 3));
        assert_eq!(
            (left("磁盘", 6), right("磁盘", 6), left("longer", 2)),
            ("磁盘  ".into(), "  磁盘".into(), "longer".into())
        );
    }

    #[test]
    fn cut_text_fits() {
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcde", 4), "abc…");
        assert_eq!(cut("磁盘磁盘", 6), "磁盘…");
        assert_eq!((cut_front("abcde", 4), cut_front("磁盘磁盘", 6)), ("…cde".to_owned(), "…磁盘".to_owned()));
    }
}
