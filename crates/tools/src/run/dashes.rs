//! Typographic dashes that a web page or a word processor made of hyphens. No tool accepts them as option dashes.

use super::ToolCall;
use plumb_cli::output::error_line;
use std::path::Path;

/// Hyphens, figure, en and em dashes, the horizontal bar and the minus sign.
const DASHES: [char; 7] = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'];

/// Returns the option that was probably meant, if the word begins with such a dash and names no file.
fn intended_option(word: &str) -> Option<String> {
    let rest = word.trim_start_matches(DASHES);
    let dashes = word.chars().count() - rest.chars().count();
    if dashes == 0 || rest.is_empty() || Path::new(word).exists() {
        return None;
    }
    // A single dash before a longer `name=value` probably was two hyphens.
    let begins_name = rest.len() > 2 && rest.contains('=');
    Some(if dashes > 1 || begins_name { format!("--{rest}") } else { format!("-{rest}") })
}

/// Prints a hint for each such word. The words stay unchanged, and the tool handles them as usual.
pub fn hint(call: &ToolCall<'_>) {
    for word in call.words {
        if let Some(intended) = intended_option(word) {
            error_line!("plumb: `{word}` begins with a typographic dash and is not an option; use `{intended}`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typographic_dashes_become_hyphens() {
        let cases = [("–Ra", "-Ra"), ("—mx", "-mx"), ("−i", "-i"), ("–name=job", "--name=job"), ("––help", "--help")];
        for (word, wanted) in cases {
            assert_eq!(intended_option(word).as_deref(), Some(wanted), "{word}");
        }
        for word in ["-Ra", "--name=job", "sda", "–", "", "a–b"] {
            assert_eq!(intended_option(word), None, "{word}");
        }
    }
}
