//! Text for terminals, logs and pages.
//!
//! Names of processes, files and hosts may hold escape sequences, and bidirectional controls that reorder a line. Each such character is
//! printed as JSON escapes it (`\u001b`, `\u202e`), so that JSON that is printed through here stays the same data.
//!
//! Plumb's own colours pass as [`colour`] marks them: with a number that is drawn once per process, which data cannot guess.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Longest code of a colour, such as `38;5;196`, in bytes.
const CODE_BYTES_MAX: usize = 24;

/// Whether a character acts on the text around it instead of being seen. Line feeds and tabs count as text here.
///
/// Covered are the C0 and C1 controls, bidirectional controls (Unicode 16, UAX #9), line and paragraph separators, and format characters
/// that have no width. The joiners U+200C and U+200D are not: Persian, Indic scripts and emoji need them.
pub fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Returns the text for output: hidden characters are escaped, and the colours that [`colour`] marked are shown. Line feeds,
/// carriage returns before them, and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden, Marks::Shown)
}

/// Returns the text as part of a single line of a page: line feeds and tabs are escaped, too. Marks of colours stay marks.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_line, Marks::Kept)
}

/// Returns the text of [`visible_line`] without colours: what takes columns.
pub fn visible_letters(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_line, Marks::Removed)
}

/// Returns one line for output: as [`visible`], with line feeds and tabs escaped.
pub fn screen_line(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_line, Marks::Shown)
}

/// Returns the mark of a colour, `31;1` for bold red. [`visible`] makes an SGR escape of it.
pub fn colour(code: &str) -> String {
    format!("\u{1b}{}{code}m", token())
}

fn is_hidden_in_line(character: char) -> bool {
    matches!(character, '\n' | '\t') || is_hidden(character)
}

/// The treatment of marks of colours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Shown,
    Kept,
    Removed,
}

/// The number in the marks of this process.
fn token() -> &'static str {
    static TOKEN: OnceLock<String> = OnceLock::new();
    TOKEN.get_or_init(|| format!("{:016x}", RandomState::new().build_hasher().finish()))
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool, marks: Marks) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(character) = rest.chars().next() {
        if let Some((code, after)) = mark(rest) {
            match marks {
                Marks::Shown => out.extend(["\u{1b}[", code, "m"]),
                Marks::Kept => out.push_str(&rest[..rest.len() - after.len()]),
                Marks::Removed => {}
            }
            rest = after;
            continue;
        }
        // The lines of CSV end so; nothing is drawn over.
        let is_line_end = rest.starts_with("\r\n") && !is_escaped('\n');
        if is_escaped(character) && !is_line_end {
            push_escaped(&mut out, character);
        } else {
            out.push(character);
        }
        rest = &rest[character.len_utf8()..];
    }
    Cow::Owned(out)
}

/// The code of the mark that a text begins with, and the text after the mark.
fn mark(text: &str) -> Option<(&str, &str)> {
    let (code, after) = text.strip_prefix('\u{1b}')?.strip_prefix(token())?.split_once('m')?;
    let is_code = code.len() <= CODE_BYTES_MAX && code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
    is_code.then_some((code, after))
}

fn push_escaped(out: &mut String, character: char) {
    let mut units = [0; 2];
    for unit in character.encode_utf16(&mut units) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Fails without this module: the name of a process set the title of the terminal and coloured what came after it.
    #[test]
    fn escapes_and_bidirectional_controls_become_visible() {
        assert_eq!(visible("\u{1b}]0;PWN\u{7}\u{1b}[31m"), "\\u001b]0;PWN\\u0007\\u001b[31m");
        assert_eq!(visible("a\u{202e}b\u{2066}c\u{200f}"), "a\\u202eb\\u2066c\\u200f");
        assert_eq!(visible("\u{9b}31m\u{7f}\r\u{8}"), "\\u009b31m\\u007f\\u000d\\u0008");
        assert_eq!(visible("\u{e0041}"), "\\udb40\\udc41");
        assert_eq!(visible_line("a\nb\tc\r\n"), "a\\u000ab\\u0009c\\u000d\\u000a");
        assert_eq!(visible("a,b\r\nc\rd"), "a,b\r\nc\\u000dd");
    }

    #[test]
    fn text_of_any_script_stays_as_it_is() {
        for text in ["plain\n\ttext", "größe 磁盘 … → ✓ ░█", "می\u{200c}خواهم", "👩\u{200d}💻", "e\u{301}"]
        {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    // Protects: data that looks like a mark of another process is not a colour, and cells keep their marks.
    #[test]
    fn only_marks_of_this_process_are_colours() {
        let page = format!("{}red{} \u{1b}0123456789abcdef31mdata", colour("31;1"), colour("0"));
        assert_eq!(visible(&page), "\u{1b}[31;1mred\u{1b}[0m \\u001b0123456789abcdef31mdata");
        assert_eq!(visible_line(&colour("31")), colour("31"));
        assert_eq!(visible_letters(&format!("{}a\u{1b}", colour("31"))), "a\\u001b");
        assert_eq!(screen_line(&format!("{}a\n", colour("31"))), "\u{1b}[31ma\\u000a");
        assert!(visible(&colour("31x")).starts_with("\\u001b"));
    }

    proptest! {
        // Protects every output: nothing hidden is left whatever the text is, and what is seen is not changed.
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            let page = visible(&text);
            prop_assert!(!page.replace("\r\n", "\n").chars().any(is_hidden));
            let seen = |text: &str| text.chars().filter(|&c| !is_hidden(c)).collect::<String>();
            if !text.chars().any(is_hidden) {
                prop_assert_eq!(&*page, &*text);
            }
            prop_assert!(seen(&page).len() >= seen(&text).len());
            let line = visible_line(&text);
            prop_assert!(!line.contains(['\n', '\t']) && !line.chars().any(is_hidden));
        }

        // Protects JSON that is printed: it stays JSON of the same value.
        #[test]
        fn an_escape_is_that_of_json(character in any::<char>()) {
            let mut out = String::new();
            push_escaped(&mut out, character);
            let units: Vec<u16> = out.split("\\u").skip(1).map(|digits| u16::from_str_radix(digits, 16).unwrap()).collect();
            prop_assert_eq!(String::from_utf16(&units).unwrap(), character.to_string());
        }
    }
}
