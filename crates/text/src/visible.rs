//! Text for terminals, logs and pages.
//!
//! Names of processes, files and hosts may hold escape sequences, and bidirectional controls that reorder a line. Each such character
//! is printed as a JSON escape (`\u001b`, `\u202e`), so that printed JSON keeps its meaning.
//!
//! [`colour`] marks Plumb's own colours with a random number, drawn once per process, that data cannot guess.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Longest colour code, such as `38;5;196`, in bytes.
const CODE_BYTES_MAX: usize = 24;

/// Returns `true` if a character is invisible and affects the text around it. Line feeds and tabs count as text here.
///
/// Covers C0 and C1 controls, bidirectional controls (Unicode 16, UAX #9), line and paragraph separators, and zero-width format
/// characters. Excludes the joiners U+200C and U+200D, which Persian, Indic scripts and emoji need.
pub fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Escapes hidden characters for output, and converts the marks of [`colour`] to SGR escapes. Keeps tabs, line feeds, and
/// carriage returns before line feeds.
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden, Marks::Shown)
}

/// Escapes text for one line of a page: like [`visible`], but line feeds and tabs are escaped and colour marks are kept.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_line, Marks::Kept)
}

/// Returns the text of [`visible_line`] without colour marks, for measuring its width.
pub fn visible_letters(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_line, Marks::Removed)
}

/// Escapes one line for output: like [`visible`], but line feeds and tabs are escaped.
pub fn screen_line(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_line, Marks::Shown)
}

/// Returns the mark of a colour, such as `31;1` for bold red. [`visible`] converts it to an SGR escape.
pub fn colour(code: &str) -> String {
    format!("\u{1b}{}{code}m", token())
}

fn is_hidden_in_line(character: char) -> bool {
    matches!(character, '\n' | '\t') || is_hidden(character)
}

/// Treatment of colour marks in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Shown,
    Kept,
    Removed,
}

/// Returns the random number in this process's colour marks.
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
        // CSV lines end in CR LF. The CR is harmless there, as no text follows on the line.
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

/// Parses a colour mark at the start of a text. Returns its code and the rest of the text.
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

    // Fails without this module: a process name set the terminal's title and coloured the following text.
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
    fn text_of_any_script_is_unchanged() {
        for text in ["plain\n\ttext", "größe 磁盘 … → ✓ ░█", "می\u{200c}خواهم", "👩\u{200d}💻", "e\u{301}"]
        {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    // Protects: a mark with a wrong number is not a colour, and cells keep their marks.
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
        // Protects every output: no hidden character is left in any text, and visible ones are unchanged.
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

        // Protects printed JSON: an escape decodes to the original character.
        #[test]
        fn escapes_match_json(character in any::<char>()) {
            let mut out = String::new();
            push_escaped(&mut out, character);
            let units: Vec<u16> = out.split("\\u").skip(1).map(|digits| u16::from_str_radix(digits, 16).unwrap()).collect();
            prop_assert_eq!(String::from_utf16(&units).unwrap(), character.to_string());
        }
    }
}
