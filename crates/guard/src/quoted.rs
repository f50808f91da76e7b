//! Quoting of text that is parsed again: shell words, and names in `PLUMB_ALLOW` and `PLUMB_FILL`.

/// Quotes a text as one word of a POSIX shell.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,+@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Splits a list of names at commas. `\,` is a comma in a name and `\\` a backslash. Empty names are dropped.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, names.last_mut()) {
            ('\\', Some(name)) => name.extend(chars.next()),
            (',', _) | (_, None) => names.push(String::new()),
            (c, Some(name)) => name.push(c),
        }
    }
    names.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

pub(crate) fn escaped(name: &str) -> String {
    name.replace('\\', r"\\").replace(',', r"\,")
}
