//! Documents from types.

use crate::error::WriteError;
use crate::node::{Node, Spanned, Table, Value};
use crate::reader::Style;

/// A type that is written as a document. `#[derive(ToDocument)]` writes structs and enums by what `#[serde(…)]` says of them, so
/// that [`FromDocument`](crate::FromDocument) reads them again.
pub trait ToDocument {
    /// Its document.
    ///
    /// # Errors
    /// What has no form as text: a path that is not UTF-8, or a key that is neither text nor number.
    fn to_document(&self) -> Result<Value, WriteError>;
}

/// Writes a value as a document.
///
/// # Errors
/// As [`ToDocument::to_document`].
pub fn write(value: &dyn ToDocument) -> Result<Node, WriteError> {
    value.to_document().map(Node::from)
}

/// A field's value; none where it is left out.
pub type Field<'a> = Option<&'a dyn ToDocument>;

/// What is the same for all types, and compiled once. A type's own code is a list of its fields.
#[derive(Debug, Clone, Copy)]
pub struct FieldNames {
    /// The key of each field. The keys of a field without one stand beside the others.
    pub all: &'static [&'static str],
    /// A bit for each field, from the lowest, that is left out where its value is nothing.
    pub unless_nothing: u128,
}

impl FieldNames {
    /// The table of these fields.
    ///
    /// # Errors
    /// As [`ToDocument::to_document`].
    pub fn table(self, values: &[Field<'_>]) -> Result<Value, WriteError> {
        let mut table = Table::with_capacity(values.len());
        self.append(values, &mut table)?;
        Ok(Value::Table(table))
    }

    fn append(self, values: &[Field<'_>], table: &mut Table) -> Result<(), WriteError> {
        for (index, (name, value)) in self.all.iter().zip(values).enumerate() {
            let Some(value) = value else { continue };
            match value.to_document()? {
                Value::Null if self.unless_nothing >> index & 1 == 1 => {}
                Value::Table(beside) if name.is_empty() => {
                    beside.into_iter().for_each(|(key, node)| table.push(key, node))
                }
                value => table.push(key(name), value.into()),
            }
        }
        Ok(())
    }
}

/// What a choice holds.
#[derive(Clone, Copy)]
pub enum Held<'a> {
    /// Nothing.
    Nothing,
    /// One thing.
    One(&'a dyn ToDocument),
    /// Fields with names.
    Fields(FieldNames, &'a [Field<'a>]),
}

/// Writes a choice of an enum in its style.
///
/// # Errors
/// As [`ToDocument::to_document`]; a choice with no keys where its name would stand beside them.
pub fn choice(style: &Style, name: &'static str, held: Held<'_>) -> Result<Value, WriteError> {
    let body = match held {
        Held::Nothing => None,
        Held::One(value) => Some(value.to_document()?),
        Held::Fields(names, values) => Some(names.table(values)?),
    };
    match (style, body) {
        (Style::Tagged([tag]), body) => {
            let mut tagged = Table::new();
            tagged.push(key(tag), text(name).into());
            match body {
                None => {}
                Some(Value::Table(table)) => table.into_iter().for_each(|(key, node)| tagged.push(key, node)),
                Some(_) => return Err(WriteError(format!("`{name}` has no keys for `{tag}` to stand next to"))),
            }
            Ok(Value::Table(tagged))
        }
        (Style::Bare(bare), Some(body)) if *bare == name => Ok(body),
        // What is nothing is left out of TOML; the word alone says as much.
        (_, None | Some(Value::Null)) => Ok(text(name)),
        (_, Some(body)) => {
            let mut table = Table::new();
            table.push(key(name), body.into());
            Ok(Value::Table(table))
        }
    }
}

/// Writes a list.
///
/// # Errors
/// As [`ToDocument::to_document`].
pub(crate) fn list(elements: &mut dyn Iterator<Item = &'_ dyn ToDocument>) -> Result<Value, WriteError> {
    let mut list = Vec::with_capacity(elements.size_hint().0);
    for element in elements {
        list.push(write(element)?);
    }
    Ok(Value::List(list))
}

/// Writes a map.
///
/// # Errors
/// As [`ToDocument::to_document`].
pub(crate) fn map<'a>(
    entries: &mut dyn Iterator<Item = (&'a dyn ToDocument, &'a dyn ToDocument)>,
) -> Result<Value, WriteError> {
    let mut table = Table::new();
    for (name, value) in entries {
        let name = match name.to_document()? {
            Value::Text(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Bool(is) => is.to_string(),
            _ => return Err(WriteError("a key must be text".to_owned())),
        };
        table.push(Spanned::new(0..0, name), write(value)?);
    }
    Ok(Value::Table(table))
}

fn key(name: &str) -> Spanned<String> {
    Spanned::new(0..0, name.to_owned())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
