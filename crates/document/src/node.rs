//! The nodes of a document.

use std::ops::Range;

/// A value with its position in the text, in bytes. Values that were not parsed are at `0..0`.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    span: Range<usize>,
    value: T,
}

/// A value and its position.
pub type Node = Spanned<Value>;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// JSON's `null`, which TOML lacks.
    Null,
    Bool(bool),
    Integer(i128),
    /// A number with a decimal point or an exponent.
    Float(f64),
    Text(String),
    /// A date or time of TOML, as written.
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys and their values, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    entries: Vec<(Spanned<String>, Node)>,
}

impl<T> Spanned<T> {
    /// Creates a value at a position.
    pub fn new(span: Range<usize>, value: T) -> Spanned<T> {
        Spanned { span, value }
    }

    /// Returns the position in the text, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(crate) fn place(&self) -> &Range<usize> {
        &self.span
    }

    pub fn get_ref(&self) -> &T {
        &self.value
    }

    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value without its position.
    pub fn into_inner(self) -> T {
        self.value
    }
}

/// Compares the values and ignores their positions.
impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Node {
        Spanned::new(0..0, value)
    }
}

impl Node {
    /// Moves the positions of the value and everything in it by this many bytes.
    #[must_use]
    pub fn moved(mut self, by: usize) -> Node {
        self.shift(by);
        self
    }

    fn shift(&mut self, by: usize) {
        let moved = |span: &Range<usize>| span.start + by..span.end + by;
        self.span = moved(&self.span);
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.shift(by)),
            Value::Table(table) => {
                for (key, node) in &mut table.entries {
                    key.span = moved(&key.span);
                    node.shift(by);
                }
            }
            _ => {}
        }
    }
}

impl Value {
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    pub fn is_table(&self) -> bool {
        matches!(self, Value::Table(_))
    }

    pub fn as_table(&self) -> Option<&Table> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

impl Table {
    pub fn new() -> Table {
        Table::default()
    }

    pub(crate) fn with_capacity(keys: usize) -> Table {
        Table { entries: Vec::with_capacity(keys) }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.get_key_value(key).map(|(_, node)| node)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|(name, _)| name.value == key).map(|(_, node)| node)
    }

    /// Returns a key as it was written, and its value.
    pub fn get_key_value(&self, key: &str) -> Option<(&Spanned<String>, &Node)> {
        self.entries.iter().find(|(name, _)| name.value == key).map(|(name, node)| (name, node))
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a key. Replaces the value of an existing key, and appends a new one.
    pub fn insert(&mut self, key: Spanned<String>, node: Node) {
        match self.get_mut(&key.value) {
            Some(place) => *place = node,
            None => self.entries.push((key, node)),
        }
    }

    pub(crate) fn as_entries(&self) -> &[(Spanned<String>, Node)] {
        &self.entries
    }

    /// Appends a key, which must not exist yet.
    pub(crate) fn push(&mut self, key: Spanned<String>, node: Node) {
        self.entries.push((key, node));
    }

    /// Removes a key. The others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.remove_entry(key).map(|(_, node)| node)
    }

    /// Removes a key and returns it as it was written, with its value.
    pub fn remove_entry(&mut self, key: &str) -> Option<(Spanned<String>, Node)> {
        let at = self.entries.iter().position(|(name, _)| name.value == key)?;
        Some(self.entries.remove(at))
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Keeps the keys for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Node) -> bool) {
        self.entries.retain_mut(|(key, node)| keep(&key.value, node));
    }

    pub fn iter(&self) -> Entries<'_> {
        self.into_iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Spanned<String>, &mut Node)> {
        self.entries.iter_mut().map(|(key, node)| (&*key, node))
    }

    pub fn keys(&self) -> impl Iterator<Item = &Spanned<String>> + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &Node> {
        self.entries.iter().map(|(_, node)| node)
    }
}

impl IntoIterator for Table {
    type Item = (Spanned<String>, Node);
    type IntoIter = std::vec::IntoIter<(Spanned<String>, Node)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// Iterator over the entries of a table.
pub(crate) type Entries<'t> = std::iter::Map<
    std::slice::Iter<'t, (Spanned<String>, Node)>,
    fn(&(Spanned<String>, Node)) -> (&Spanned<String>, &Node),
>;

impl<'t> IntoIterator for &'t Table {
    type Item = (&'t Spanned<String>, &'t Node);
    type IntoIter = Entries<'t>;

    fn into_iter(self) -> Entries<'t> {
        self.entries.iter().map(|(key, node)| (key, node))
    }
}

impl FromIterator<(Spanned<String>, Node)> for Table {
    fn from_iter<I: IntoIterator<Item = (Spanned<String>, Node)>>(entries: I) -> Table {
        let mut table = Table::new();
        table.extend(entries);
        table
    }
}

impl Extend<(Spanned<String>, Node)> for Table {
    fn extend<I: IntoIterator<Item = (Spanned<String>, Node)>>(&mut self, entries: I) {
        for (key, node) in entries {
            self.insert(key, node);
        }
    }
}
