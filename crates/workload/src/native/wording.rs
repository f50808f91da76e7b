//! The words of errors: serde and the TOML parser describe Rust types and grammar; users know keys, texts and numbers.
//!
//! Both report what they expected as text only, so it is taken from there. A message of an unknown form is passed on.

use crate::suggest::did_you_mean;

/// An error of TOML's grammar.
pub(super) fn of_syntax(message: &str) -> String {
    let first = message.lines().next().unwrap_or("not TOML");
    format!("this is not TOML: {}", first.trim_end_matches('.'))
}

/// An error of shape or type, and the way out.
pub(super) fn of_shape(message: &str) -> (String, Option<String>) {
    let message = message.trim();
    let names = |rest: &str| quoted(rest.split_once("expected").map_or("", |(_, names)| names));
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let found = quoted(rest).into_iter().next().unwrap_or_default();
        let known = names(rest);
        let help = did_you_mean(&found, &refs(&known)).unwrap_or_else(|| "nothing can be set here".to_owned());
        return (format!("unknown key `{found}`"), Some(help));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let found = quoted(rest).into_iter().next().unwrap_or_default();
        let known = names(rest);
        return (format!("`{found}` is not one of the choices"), did_you_mean(&found, &refs(&known)));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        let key = quoted(rest).into_iter().next().unwrap_or_default();
        return (format!("`{key}` is missing"), Some(format!("add `{key} = …`")));
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        let key = quoted(rest).into_iter().next().unwrap_or_default();
        return (format!("`{key}` is set twice"), Some("keep one of them".to_owned()));
    }
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) = message.strip_prefix(prefix).and_then(|rest| rest.split_once(", expected ")) {
            let help = (plain(expected) == LIST && plain(found) == TABLE)
                .then(|| "the sections of a list have two brackets, such as `[[phase]]`".to_owned());
            return (format!("expected {}, found {}", plain(expected), plain(found)), help);
        }
    }
    (message.to_owned(), None)
}

fn refs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

const LIST: &str = "a list `[ … ]`";
const TABLE: &str = "a table";

/// A type of Rust in plain words.
fn plain(words: &str) -> String {
    for (rust, word) in [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number, 0 or more"),
        ("f64", "a number"),
        ("a boolean", "`true` or `false`"),
        ("a string", "text in quotes"),
        ("a borrowed string", "text in quotes"),
        ("path string", "text in quotes"),
        ("a sequence", LIST),
        ("sequence", "a list"),
        ("a map", TABLE),
        ("map", TABLE),
        ("unit value", "nothing"),
    ] {
        if words == rust {
            return word.to_owned();
        }
    }
    if words.starts_with("struct ") {
        return "a table of keys `{ key = … }`".to_owned();
    }
    for (rust, word) in
        [("string ", "the text "), ("integer ", "the number "), ("floating point ", "the number "), ("boolean ", "")]
    {
        if let Some(rest) = words.strip_prefix(rust) {
            return format!("{word}{}", rest.replace('`', ""));
        }
    }
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_in_the_reader_s_words() {
        for (serde, message, help) in [
            ("unknown field `dpeth`, expected one of `depth`, `work`", "unknown key `dpeth`", "did you mean `depth`?"),
            ("unknown field `x`, expected `depth` or `work`", "unknown key `x`", "there are `depth` and `work`"),
            ("unknown field `x`, there are no fields", "unknown key `x`", "nothing can be set here"),
            (
                "unknown variant `io_uring`, expected `psync` or `io-uring`",
                "`io_uring` is not",
                "did you mean `io-uring`?",
            ),
            ("missing field `workers`", "`workers` is missing", "add `workers = …`"),
        ] {
            let (found, way_out) = of_shape(serde);
            assert!(found.starts_with(message), "{found}");
            assert_eq!(way_out.as_deref(), Some(help));
        }
        assert_eq!(
            of_shape("invalid type: string \"x\", expected u32").0,
            "expected a whole number from 0 to 4294967295, found the text \"x\""
        );
        assert!(of_shape("invalid type: map, expected a sequence").1.unwrap().contains("[[phase]]"));
        assert_eq!(of_shape("something else"), ("something else".to_owned(), None));
    }
}
