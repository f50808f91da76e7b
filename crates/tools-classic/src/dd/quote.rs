//! Quotes names in messages like coreutils.

/// The quotation marks of the user's locale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Marks {
    /// `‘…’`, in a UTF-8 locale.
    #[default]
    Curved,
    /// `'…'`, in all other locales.
    Straight,
}

impl Marks {
    /// Derives the marks from environment variables: the first non-empty one of
    /// `LC_ALL`, `LC_CTYPE` and `LANG` decides. Source: locale(7).
    pub fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Marks {
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name).filter(|text| !text.is_empty()));
        let is_utf8 = locale.is_some_and(|text| {
            let text = text.to_ascii_lowercase();
            text.contains("utf-8") || text.contains("utf8")
        });
        if is_utf8 { Marks::Curved } else { Marks::Straight }
    }

    pub fn quote(self, word: &str) -> String {
        let word: String = word.chars().flat_map(escaped).collect();
        match self {
            Marks::Curved => format!("‘{word}’"),
            Marks::Straight => format!("'{}'", word.replace('\'', "\\'")),
        }
    }
}

/// Returns a character that a terminal might interpret as a C escape.
fn escaped(c: char) -> Vec<char> {
    match c {
        '\n' => vec!['\\', 'n'],
        '\t' => vec!['\\', 't'],
        '\r' => vec!['\\', 'r'],
        '\\' => vec!['\\', '\\'],
        c if c.is_control() => format!("\\{:03o}", u32::from(c)).chars().collect(),
        c => vec![c],
    }
}

/// Quotes a file name so that a shell would read it back; always with quotation marks.
pub fn file(name: &str) -> String {
    let is_plain = |c: char| !c.is_control();
    if name.contains('\'') && name.chars().all(|c| is_plain(c) && !"\"$`\\!".contains(c)) {
        return format!("\"{name}\"");
    }
    let mut text = String::from("'");
    for c in name.chars() {
        match c {
            '\'' => text.push_str("'\\''"),
            '\n' => text.push_str("'$'\\n''"),
            '\t' => text.push_str("'$'\\t''"),
            c if c.is_control() => text.push_str(&format!("'$'\\{:03o}''", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('\'');
    text
}

/// Quotes a file name only if a shell would need it.
pub(crate) fn file_if_needed(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { file(name) }
}
