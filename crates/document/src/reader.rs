//! Deserializing types from documents.
//!
//! Each method asks for the one kind of value that it stands for and words the error itself. Errors therefore mention
//! keys, texts and numbers instead of Rust types.

use crate::error::{LIST, ReadError, Segment, TABLE};
use crate::node::{Node, Spanned, Table, Value};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::ops::Range;

/// Reads a document as a type.
///
/// # Errors
/// Returns the mismatch with its position.
pub fn read<T: DeserializeOwned>(node: &Node) -> Result<T, ReadError> {
    T::deserialize(node).map_err(|error| error.or_at(node.place()))
}

/// A key of a table and its value.
type Entry = (Spanned<String>, Node);

impl Spanned<Value> {
    /// Returns the error for a value of the wrong kind.
    #[cold]
    #[inline(never)]
    fn unexpected(&self, expected: &str) -> ReadError {
        ReadError::unexpected(self.get_ref(), expected).or_at(self.place())
    }

    #[cold]
    #[inline(never)]
    fn unexpected_by(&self, visitor: &dyn Expected) -> ReadError {
        self.unexpected(&visitor.to_string())
    }

    #[inline(never)]
    fn integer(&self, least: i128, most: i128) -> Result<i128, ReadError> {
        match self.get_ref() {
            Value::Integer(number) if (least..=most).contains(number) => Ok(*number),
            _ => Err(self.unexpected(&whole_number(least, most))),
        }
    }

    fn text(&self) -> Result<&str, ReadError> {
        match self.get_ref() {
            Value::Text(text) => Ok(text),
            _ => Err(self.unexpected("text in quotes")),
        }
    }

    fn list(&self) -> Result<&[Node], ReadError> {
        match self.get_ref() {
            Value::List(list) => Ok(list),
            _ => Err(self.unexpected(LIST)),
        }
    }

    fn table(&self) -> Result<&Table, ReadError> {
        match self.get_ref() {
            Value::Table(table) => Ok(table),
            _ => Err(self.unexpected(TABLE)),
        }
    }
}

/// Describes a whole number within limits.
pub(crate) fn whole_number(least: i128, most: i128) -> String {
    match (least, most) {
        (0, most) if most == u64::MAX.into() => "a whole number, 0 or more".to_owned(),
        _ => format!("a whole number from {least} to {most}"),
    }
}

macro_rules! integers {
    ($($deserialize:ident $visit:ident $type:ident;)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let number = self.integer($type::MIN.into(), $type::MAX.into())?;
            visitor.$visit(number as $type).map_err(|error| at(error, self))
        })*
    };
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.get_ref() {
            Value::Null => visitor.visit_unit(),
            Value::Bool(is) => visitor.visit_bool(*is),
            Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => Err(self.unexpected_by(&visitor)),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Date(_) => Err(self.unexpected_by(&visitor)),
            Value::List(list) => visitor.visit_seq(Elements { elements: list.iter(), index: 0 }),
            Value::Table(table) => {
                visitor.visit_map(Entries::new(table, None)).map_err(|error| at_its_key(error, table))
            }
        };
        read.map_err(|error| at(error, self))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.get_ref() {
            Value::Bool(is) => visitor.visit_bool(*is).map_err(|error| at(error, self)),
            _ => Err(self.unexpected("`true` or `false`")),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let number = match self.get_ref() {
            Value::Float(number) => *number,
            Value::Integer(number) => *number as f64,
            _ => return Err(self.unexpected("a number")),
        };
        visitor.visit_f64(number).map_err(|error| at(error, self))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_str(self.text()?).map_err(|error| at(error, self))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.get_ref() {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.get_ref() {
            Value::Null => visitor.visit_unit(),
            _ => Err(self.unexpected("nothing")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self).map_err(|error| at(error, self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let elements = Elements { elements: self.list()?.iter(), index: 0 };
        visitor.visit_seq(elements).map_err(|error| at(error, self))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        match self.list()?.len() {
            found if found == length => self.deserialize_seq(visitor),
            found => Err(at(ReadError::wrong_length(found, &length), self)),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_struct("", &[], visitor)
    }

    /// Reads the first field of the type first, wherever it is written, because it may determine how
    /// the others are read ([`Tagged`](crate::Tagged)).
    #[inline(never)]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let table = self.table()?;
        let entries = Entries::new(table, fields.first().copied());
        visitor.visit_map(entries).map_err(|error| at(at_its_key(error, table), self))
    }

    /// Reads a word as a choice without keys, and a table of one key as a choice with its content. Offers anything
    /// else to the visitor, which may accept it if it is not derived ([`Unnamed`](crate::Unnamed)).
    #[inline(never)]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        choices: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match (chosen(self, choices, &visitor)?, self.get_ref()) {
            (Some(choice), _) => visitor.visit_enum(choice),
            (None, Value::Text(text)) => visitor.visit_borrowed_str(text),
            (None, Value::Integer(number)) => visitor.visit_u64(*number as u64),
            (None, Value::Table(table)) => visitor.visit_map(Entries::new(table, None)),
            (None, _) => Err(self.unexpected_by(&visitor)),
        };
        read.map_err(|error| at(error, self))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf }
}

/// Returns the choice that a value names. Returns `None` for a text, a whole number or a table that is left
/// to the enum's own visitor.
#[inline(never)]
fn chosen<'de>(
    node: &'de Node,
    choices: &'static [&'static str],
    visitor: &dyn Expected,
) -> Result<Option<Choice<'de>>, ReadError> {
    let has_own_forms = !is_derived(visitor);
    let chosen = match node.get_ref() {
        Value::Text(word) if choices.contains(&word.as_str()) => {
            Ok(Some(Choice { name: word, place: node.place(), body: None }))
        }
        Value::Table(table) if !has_own_forms || has_any(table, choices) => Choice::from_table(table).map(Some),
        Value::Text(_) | Value::Integer(0..=MOST_U64) | Value::Table(_) if has_own_forms => Ok(None),
        Value::Text(word) => Err(ReadError::unknown_choice(word, choices)),
        _ if has_own_forms => Err(node.unexpected_by(visitor)),
        _ => Err(node.unexpected(&one_of(choices))),
    };
    chosen.map_err(|error| at(error, node))
}

const MOST_U64: i128 = u64::MAX as i128;

/// Returns `true` for an enum's visitor from `#[derive(Deserialize)]`, which accepts only choices.
fn is_derived(visitor: &dyn Expected) -> bool {
    visitor.to_string().starts_with("enum ")
}

fn has_any(table: &Table, names: &[&str]) -> bool {
    table.keys().any(|key| names.contains(&key.get_ref().as_str()))
}

/// Lists the choices of an enum.
pub(crate) fn one_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}

// Separate functions, which are compiled once instead of into the reader of each type.

#[cold]
#[inline(never)]
fn at(error: ReadError, node: &Node) -> ReadError {
    error.or_at(node.place())
}

#[cold]
#[inline(never)]
fn of_element(error: ReadError, node: &Node, index: usize) -> ReadError {
    error.or_at(node.place()).with_segment(Segment::Index(index))
}

#[cold]
#[inline(never)]
fn of_value(error: ReadError, (key, node): &Entry) -> ReadError {
    error.or_at(node.place()).with_segment(Segment::Key(key.get_ref().clone()))
}

/// Gives an error about a key the position of that key. For a duplicate key, this is the second one.
#[cold]
#[inline(never)]
fn at_its_key(error: ReadError, table: &Table) -> ReadError {
    match error.key().and_then(|name| table.keys().filter(|key| key.get_ref() == name).last()) {
        Some(key) => error.or_at(key.place()),
        None => error,
    }
}

struct Elements<'de> {
    elements: std::slice::Iter<'de, Node>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = ReadError;

    #[inline(never)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some(node) = self.elements.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(node).map(Some).map_err(|error| of_element(error, node, index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// Entries of a table, optionally with one of them moved to the front.
struct Entries<'de> {
    first: Option<&'de Entry>,
    is_first_read: bool,
    rest: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
}

impl<'de> Entries<'de> {
    fn none() -> Entries<'de> {
        Entries { first: None, is_first_read: true, rest: [].iter(), value: None }
    }

    fn new(table: &'de Table, first: Option<&str>) -> Entries<'de> {
        let entries = table.as_entries();
        let first = first.and_then(|first| entries.iter().find(|(key, _)| key.get_ref() == first));
        Entries { first, is_first_read: first.is_none(), rest: entries.iter(), value: None }
    }

    fn next(&mut self) -> Option<&'de Entry> {
        if !self.is_first_read {
            self.is_first_read = true;
            return self.first;
        }
        let first = self.first;
        self.rest.find(|entry| !first.is_some_and(|first| std::ptr::eq(first, *entry)))
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    #[inline(never)]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some(entry) = self.next() else { return Ok(None) };
        self.value = Some(entry);
        let key = &entry.0;
        seed.deserialize(Key(key.get_ref())).map(Some).map_err(|error| error.or_at(key.place()))
    }

    #[inline(never)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let Some(entry) = self.value.take() else {
            return Err(serde::de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(&entry.1).map_err(|error| of_value(error, entry))
    }
}

/// A key of a table or the name of a choice. Parses it as a number if the type wants one.
struct Key<'de>(&'de str);

macro_rules! number_keys {
    ($($deserialize:ident $visit:ident $type:ident;)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => {
                    let found = Value::Text(self.0.to_owned());
                    Err(ReadError::unexpected(&found, &whole_number($type::MIN.into(), $type::MAX.into())))
                }
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_enum(Choice { name: self.0, place: &NOWHERE, body: None })
    }

    number_keys! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

static NOWHERE: Range<usize> = 0..0;

/// A choice, by its name and with its content.
struct Choice<'de> {
    name: &'de str,
    place: &'de Range<usize>,
    body: Option<&'de Node>,
}

impl<'de> Choice<'de> {
    fn from_table(table: &'de Table) -> Result<Choice<'de>, ReadError> {
        match table.as_entries() {
            [(key, value)] => Ok(Choice { name: key.get_ref(), place: key.place(), body: Some(value) }),
            [] => Err(ReadError::no_choice(None)),
            [_, (second, _), ..] => Err(ReadError::no_choice(Some(second.get_ref()))),
        }
    }

    /// Adds the position of the content and the segment that leads to it.
    #[cold]
    #[inline(never)]
    fn of_body(&self, error: ReadError) -> ReadError {
        let error = match self.body {
            Some(body) => error.or_at(body.place()),
            None => error,
        };
        error.with_segment(Segment::Key(self.name.to_owned()))
    }
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = ReadError;
    type Variant = Choice<'de>;

    #[inline(never)]
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Choice<'de>), ReadError> {
        let choice = seed.deserialize(Key(self.name)).map_err(|error| match self.body {
            Some(_) => error.or_at(self.place),
            None => error,
        })?;
        Ok((choice, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        let Some(body) = self.body else { return Ok(()) };
        let error = match body.get_ref() {
            Value::Null => return Ok(()),
            Value::Table(table) => match table.as_entries().first() {
                None => return Ok(()),
                Some((key, _)) => ReadError::unknown_key(key.get_ref(), &[]).or_at(key.place()),
            },
            _ => body.unexpected("nothing"),
        };
        Err(self.of_body(error))
    }

    #[inline(never)]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ReadError> {
        match self.body {
            Some(body) => seed.deserialize(body).map_err(|error| self.of_body(error)),
            None => seed.deserialize(NoContent(self.name)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        match self.body {
            Some(body) => body.deserialize_tuple(length, visitor).map_err(|error| self.of_body(error)),
            None => Err(bare_word(self.name)),
        }
    }

    /// A bare word is the choice with defaults for all of its keys.
    #[inline(never)]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.body {
            Some(body) => body.deserialize_struct("", fields, visitor),
            None => visitor.visit_map(Entries::none()),
        }
        .map_err(|error| self.of_body(error))
    }
}

#[cold]
#[inline(never)]
fn bare_word(name: &str) -> ReadError {
    serde::de::Error::custom(format_args!("`{name}` alone is not enough: write `{{ {name} = … }}`"))
}

/// Content of a choice that is a bare word: nothing, or a table without keys, as its type requires.
struct NoContent<'de>(&'de str);

impl<'de> Deserializer<'de> for NoContent<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ReadError> {
        Err(bare_word(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor
            .visit_map(Entries::none())
            .map_err(|error: ReadError| error.with_segment(Segment::Key(self.0.to_owned())))
    }

    #[inline(never)]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if is_derived(&visitor) { Err(bare_word(self.0)) } else { self.deserialize_map(visitor) }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}
