//! Anonymises results, so that they can be published.
//!
//! [`Anonymiser::learn`] collects host names, serials, users, paths, addresses and UUIDs from the fields of results that hold
//! them. It then replaces them everywhere: in those fields, in findings and commands, and in pages made from the results.
//! Addresses, UUIDs, world wide names and absolute paths are also recognised by their form. Each `Anonymiser` replaces a name
//! by the same word every time.

mod fields;
mod scan;

use fields::FieldName;
use plumb_document::{Node, ReadError, Spanned, Table, Value, WriteError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::net::IpAddr;
use strum::VariantArray;

/// The kind of a name that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum NameKind {
    /// A host, or the server of a network file system.
    Host,
    /// A serial number or a world wide name.
    Serial,
    /// A user name, also from home directories and mount options.
    User,
    /// A path: a target, a mount point, a home directory.
    Path,
    /// An IP or MAC address.
    Address,
    /// A UUID of a file system or a device.
    Uuid,
}

impl NameKind {
    const ALL: &[NameKind] = NameKind::VARIANTS;

    /// Returns the word that replacements begin with, such as `host` in `host-1`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Error from anonymising a result.
#[derive(Debug, thiserror::Error)]
pub enum AnonymiseError {
    /// The value cannot be written as a document.
    #[error("the result cannot be anonymised: {0}")]
    Write(#[from] WriteError),
    /// The changed document can no longer be read.
    #[error("the result cannot be anonymised: {0}; please report this")]
    Read(#[from] ReadError),
}

/// A name found in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownName {
    text: String,
    kind: NameKind,
    /// Whether the name is also a word of the format, such as a host called `device`, or short enough to be one. Such a name is
    /// replaced only in a field that holds nothing else.
    is_ambiguous: bool,
}

/// Replaces names consistently: the same name always gets the same word.
#[derive(Debug, Clone, Default)]
pub struct Anonymiser {
    /// Sorted by length, longest first, so that substrings match last.
    known: Vec<KnownName>,
    replacements: BTreeMap<(NameKind, String), String>,
    /// Number of replacements of each kind.
    counts: BTreeMap<NameKind, usize>,
}

impl Anonymiser {
    /// Creates an anonymiser that knows no names yet.
    pub fn new() -> Anonymiser {
        Anonymiser::default()
    }

    /// Collects the names in the fields of a result, or of a document derived from results.
    ///
    /// # Errors
    /// Returns an error if the value cannot be written as a document.
    pub fn learn<T: Serialize + DeserializeOwned>(&mut self, value: &T) -> Result<(), AnonymiseError> {
        let node = plumb_document::write(value)?;
        self.learn_node(&node, &mut Vec::new());
        self.known.sort_by(|a, b| b.text.len().cmp(&a.text.len()).then_with(|| a.text.cmp(&b.text)));
        self.known.dedup_by(|a, b| a.text == b.text);
        self.find_ambiguous::<T>(&node);
        Ok(())
    }

    /// Adds the name of a host that may appear only in free text. Ignores short names that could be ordinary words.
    pub fn learn_host(&mut self, name: &str) {
        if !is_short_word(name) {
            self.know(NameKind::Host, name);
        }
        self.known.sort_by(|a, b| b.text.len().cmp(&a.text.len()).then_with(|| a.text.cmp(&b.text)));
    }

    /// Returns the value with all names replaced.
    ///
    /// # Errors
    /// Returns an error if the value cannot be written as a document, or not be read back.
    pub fn anonymous<T: Serialize + DeserializeOwned>(&mut self, value: &T) -> Result<T, AnonymiseError> {
        self.learn(value)?;
        let mut node = plumb_document::write(value)?;
        self.rewrite(&mut node, &mut Vec::new());
        Ok(plumb_document::read(&node)?)
    }

    /// Returns the text with learned names replaced, as well as names recognised by their form.
    pub fn text(&mut self, text: &str) -> String {
        scan::replaced(self, text)
    }

    /// Returns the number of replaced names of each kind, with their replacements: `2 hosts (host-1, host-2)`. It never contains
    /// any of the original names.
    pub fn summary(&self) -> String {
        let of = |kind: NameKind| {
            let count = self.counts.get(&kind).copied().unwrap_or(0);
            let name = kind.name();
            let plural = if kind == NameKind::Address { "es" } else { "s" };
            match count {
                0 => None,
                1 => Some(format!("1 {name} ({name}-1)")),
                2 => Some(format!("2 {name}{plural} ({name}-1, {name}-2)")),
                count => Some(format!("{count} {name}{plural} ({name}-1 to {name}-{count})")),
            }
        };
        let parts: Vec<String> = NameKind::ALL.iter().copied().filter_map(of).collect();
        let ambiguous = self.known.iter().filter(|name| name.is_ambiguous).count();
        let mut text = match parts.is_empty() {
            true => "anonymised: nothing had to be replaced".to_owned(),
            false => format!("anonymised: {}", parts.join(", ")),
        };
        if ambiguous > 0 {
            text.push_str(&format!(
                "; {ambiguous} of them {} also a word of reports, and replaced only in fields of its own: look for it before you \
                 publish",
                if ambiguous == 1 { "is" } else { "are" }
            ));
        }
        text
    }

    /// Returns the replacement of a name, numbering new ones.
    fn replacement(&mut self, kind: NameKind, name: &str) -> String {
        // Host names, UUIDs and addresses are case-insensitive.
        let key = match kind {
            NameKind::Path | NameKind::User => name.to_owned(),
            _ => name.to_ascii_lowercase(),
        };
        if let Some(word) = self.replacements.get(&(kind, key.clone())) {
            return word.clone();
        }
        let count = self.counts.entry(kind).or_insert(0);
        *count += 1;
        let word = format!("{}-{count}", kind.name());
        self.replacements.insert((kind, key), word.clone());
        word
    }

    fn know(&mut self, kind: NameKind, text: &str) {
        let text = text.trim();
        // Single letters are not names, and these two exist on every machine. Addresses are recognised by their form.
        if text.len() < 2
            || matches!(text, "root" | "localhost")
            || text.parse::<IpAddr>().is_ok()
            || scan::is_kept_path(text)
        {
            return;
        }
        if self.known.iter().all(|known| known.text != text) {
            let is_ambiguous = is_short_word(text);
            self.known.push(KnownName { text: text.to_owned(), kind, is_ambiguous });
        }
    }

    fn learn_node(&mut self, node: &Node, path: &mut Vec<String>) {
        match node.get_ref() {
            Value::Text(text) => {
                for (kind, name) in fields::names(&FieldName::from_path(path), text) {
                    self.know(kind, &name);
                }
            }
            Value::List(list) => list.iter().for_each(|one| self.learn_node(one, path)),
            Value::Table(table) => {
                for (key, one) in table.iter() {
                    path.push(key.get_ref().clone());
                    self.learn_node(one, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// Marks names that are words of the format: replacing them would make the value unreadable.
    fn find_ambiguous<T: DeserializeOwned>(&mut self, node: &Node) {
        let is_readable = |anonymiser: &Anonymiser| {
            let mut changed = node.clone();
            anonymiser.clone().rewrite(&mut changed, &mut Vec::new());
            plumb_document::read::<T>(&changed).is_ok()
        };
        if is_readable(self) {
            return;
        }
        for index in 0..self.known.len() {
            let only = Anonymiser { known: vec![self.known[index].clone()], ..Anonymiser::default() };
            if !is_readable(&only) {
                self.known[index].is_ambiguous = true;
            }
        }
    }

    fn rewrite(&mut self, node: &mut Node, path: &mut Vec<String>) {
        match node.get_mut() {
            Value::Text(text) => *text = self.field(&FieldName::from_path(path), text),
            Value::List(list) => list.iter_mut().for_each(|one| self.rewrite(one, path)),
            Value::Table(table) => {
                let mut has_names = false;
                for (key, one) in table.iter_mut() {
                    path.push(key.get_ref().clone());
                    self.rewrite(one, path);
                    path.pop();
                    has_names |= self.text(key.get_ref()) != *key.get_ref();
                }
                if has_names {
                    let mut changed = Table::new();
                    for (key, one) in std::mem::take(table) {
                        changed.insert(Spanned::new(0..0, self.text(key.get_ref())), one);
                    }
                    *table = changed;
                }
            }
            _ => {}
        }
    }

    /// Anonymises the text of a field. An ambiguous name is replaced only if it is the whole text.
    fn field(&mut self, field: &FieldName<'_>, text: &str) -> String {
        let whole = fields::names(field, text).into_iter().find(|(_, name)| name == text);
        let is_ambiguous = self.known.iter().any(|known| known.is_ambiguous && known.text == text);
        match whole {
            Some((kind, name)) if is_ambiguous => self.replacement(kind, &name),
            _ => self.text(text),
        }
    }
}

/// Returns `true` if a name could be an ordinary word: `vm` is a host, but also the beginning of `vm.dirty_ratio`.
fn is_short_word(text: &str) -> bool {
    text.len() < 4 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
