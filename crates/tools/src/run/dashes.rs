//! Dashes that a web page or a word processor made of hyphens: no tool takes them for options.

use super::ToolCall;
use plumb_cli::output::error_line;
use std::path::Path;

/// What hyphens become in print: hyphens, figure, en and em dashes, the bar and the sign of minus.
const DASHES: [char; 7] = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'];

/// What was probably meant by a word that begins with such a dash and names no file.
fn meant(word: &str) -> Option<String> {
    let behind = word.trim_start_matches(DASHES);
    let dashes = word.chars().count() - behind.chars().count();
    if dashes == 0 || behind.is_empty() || Path::new(word).exists() {
        return None;
    }
    // One dash may have been two hyphens, where a word of its own follows.
    let begins_name = behind.len() > 2 && behind.contains('=');
    Some(if dashes > 1 || begins_name { format!("--{behind}") } else { format!("-{behind}") })
}

/// Says on standard error which words were meant as options. They are left as they are: the tool does with them what it
/// does.
pub fn hint(call: &ToolCall<'_>) {
    for word in call.words {
        if let Some(meant) = meant(word) {
            error_line!("plumb: `{word}` begins with a typographic dash, and is no option; use `{meant}`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_of_print_are_hyphens() {
        let cases = [("–Ra", "-Ra"), ("—mx", "-mx"), ("−i", "-i"), ("–name=job", "--name=job"), ("––help", "--help")];
        for (word, wanted) in cases {
            assert_eq!(meant(word).as_deref(), Some(wanted), "{word}");
        }
        for word in ["-Ra", "--name=job", "sda", "–", "", "a–b"] {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
