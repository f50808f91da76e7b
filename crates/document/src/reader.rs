//! Types from documents: the only deserializer.

use crate::error::{ReadError, Segment};
use crate::node::{Node, Spanned, Table, Value};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;
use std::ops::Range;

/// Reads a document as a type.
///
/// # Errors
/// What does not fit, with its place.
pub fn read<T: DeserializeOwned>(node: &Node) -> Result<T, ReadError> {
    T::deserialize(Reader::new(node))
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Reader<'de> {
    value: &'de Value,
    place: &'de Range<usize>,
    /// A key of the table that was read already: it chose the variant.
    read_already: Option<&'static str>,
}

static NOWHERE: Range<usize> = 0..0;

/// The keys of a choice that was written as a word: none.
static NO_KEYS: Value = Value::Table(Table::EMPTY);

impl<'de> Reader<'de> {
    fn new(node: &'de Node) -> Reader<'de> {
        Reader { value: node.get_ref(), place: node.place(), read_already: None }
    }

    #[cold]
    fn unexpected(self, found: &Value, expected: &dyn Expected) -> ReadError {
        ReadError::invalid_type(kind_of(found), expected).or_at(self.place)
    }

    fn entries(self, table: &'de Table) -> Entries<'de> {
        Entries { entries: table.as_entries().iter(), read_already: self.read_already, value: None }
    }
}

fn kind_of(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(is) => Unexpected::Bool(*is),
        Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
            (Ok(number), _) => Unexpected::Signed(number),
            (_, Ok(number)) => Unexpected::Unsigned(number),
            _ => Unexpected::Other("a number of more than 64 bits"),
        },
        Value::Float(number) => Unexpected::Float(*number),
        Value::Text(text) => Unexpected::Str(text),
        Value::Date(_) => Unexpected::Other("a date"),
        Value::List(_) => Unexpected::Seq,
        Value::Table(_) => Unexpected::Map,
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(is) => visitor.visit_bool(*is),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => Err(self.unexpected(self.value, &visitor)),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            date @ Value::Date(_) => Err(self.unexpected(date, &visitor)),
            Value::List(list) => visitor.visit_seq(Elements { elements: list.iter(), index: 0 }),
            Value::Table(table) => visitor.visit_map(self.entries(table)),
        };
        read.map_err(|error| at(error, self.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self).map_err(|error| error.or_at(self.place))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    /// What an enum's name says of its forms stands in the crate's page.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let choice = if let Some(tag) = name.strip_prefix('@') {
            self.tagged(tag)
        } else if let Some(bare) = name.strip_prefix('=') {
            self.short(bare, variants)
        } else if let Some(bare) = name.strip_prefix('~') {
            self.bare(bare, variants)
        } else {
            self.named(variants)
        };
        choice.and_then(|choice| visitor.visit_enum(choice)).map_err(|error| error.or_at(self.place))
    }

    // Each way asks only what its kind of value needs: a visitor's other methods, which only word an error, are then never
    // instantiated.

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Table(table) => visitor.visit_map(self.entries(table)).map_err(|error| error.or_at(self.place)),
            other => Err(self.unexpected(other, &visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::List(list) => {
                let elements = Elements { elements: list.iter(), index: 0 };
                visitor.visit_seq(elements).map_err(|error| error.or_at(self.place))
            }
            other => Err(self.unexpected(other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text).map_err(|error: ReadError| error.or_at(self.place)),
            other => Err(self.unexpected(other, &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
    }
}

impl<'de> Reader<'de> {
    /// A word is a choice without keys, a table of one key a choice with what it holds.
    fn named(self, variants: &'static [&'static str]) -> Result<Choice<'de>, ReadError> {
        match self.value {
            Value::Text(name) => Ok(Choice { name, place: self.place, body: None, is_step: true }),
            Value::Table(table) => match table.as_entries() {
                [(key, value)] => Ok(Choice {
                    name: key.get_ref(),
                    place: key.place(),
                    body: Some(Reader::new(value)),
                    is_step: true,
                }),
                [] => Err(ReadError::custom("a choice has one key; this table is empty")),
                [_, (second, _), ..] => {
                    let second = second.get_ref();
                    Err(ReadError::custom(format_args!("a choice has one key; `{second}` is a second one")))
                }
            },
            other => Err(ReadError::invalid_type(kind_of(other), &OneOf { bare: "", variants })),
        }
    }

    /// The same; a word is a choice all of whose keys have defaults, and what is no choice's name belongs to `bare`.
    fn short(self, bare: &'static str, variants: &'static [&'static str]) -> Result<Choice<'de>, ReadError> {
        match self.value {
            Value::Text(word) if bare.is_empty() || variants.contains(&word.as_str()) => {
                let body = Reader { value: &NO_KEYS, ..self };
                Ok(Choice { name: word, place: self.place, body: Some(body), is_step: true })
            }
            Value::Text(_) | Value::Integer(0..) if !bare.is_empty() => {
                Ok(Choice { name: bare, place: self.place, body: Some(self), is_step: true })
            }
            Value::Table(_) => self.named(variants),
            other => Err(ReadError::invalid_type(kind_of(other), &OneOf { bare, variants })),
        }
    }

    /// A table with a choice's name is that choice; any other belongs to `bare`, and so does an empty one.
    fn bare(self, bare: &'static str, variants: &'static [&'static str]) -> Result<Choice<'de>, ReadError> {
        match self.value {
            Value::Table(table) if !table.keys().any(|key| variants.contains(&key.get_ref().as_str())) => {
                // No step: what lies in it lies here.
                Ok(Choice { name: bare, place: self.place, body: Some(self), is_step: false })
            }
            _ => self.named(variants),
        }
    }

    /// A table that a key of its own chooses.
    fn tagged(self, tag: &'static str) -> Result<Choice<'de>, ReadError> {
        let Value::Table(table) = self.value else {
            return Err(ReadError::invalid_type(kind_of(self.value), &"a map"));
        };
        let Some(choice) = table.get(tag) else { return Err(ReadError::missing_field(tag)) };
        match choice.get_ref() {
            Value::Text(name) => {
                let body = Some(Reader { read_already: Some(tag), ..self });
                Ok(Choice { name, place: choice.place(), body, is_step: false })
            }
            other => Err(ReadError::invalid_type(kind_of(other), &"a string").or_at(choice.place())),
        }
    }
}

/// What an enum is read from.
struct OneOf {
    bare: &'static str,
    variants: &'static [&'static str],
}

impl Expected for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.bare.is_empty() {
            f.write_str("a size, or ")?;
        }
        f.write_str("one of ")?;
        for (index, name) in self.variants.iter().enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

struct Elements<'de> {
    elements: std::slice::Iter<'de, Node>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some(node) = self.elements.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let read = seed.deserialize(Reader::new(node));
        read.map(Some).map_err(|error| of_element(error, node, index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, (Spanned<String>, Node)>,
    read_already: Option<&'static str>,
    value: Option<&'de (Spanned<String>, Node)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let skipped = self.read_already;
        let Some(entry) = self.entries.find(|(key, _)| skipped != Some(key.get_ref().as_str())) else {
            return Ok(None);
        };
        self.value = Some(entry);
        seed.deserialize(Key(entry.0.get_ref())).map(Some).map_err(|error| at(error, entry.0.place()))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let Some((key, node)) = self.value.take() else { return Err(no_key()) };
        seed.deserialize(Reader::new(node)).map_err(|error| of_value(error, key, node))
    }
}

// What is seldom needed is compiled once, and not into the reader of each field of each type.

#[cold]
#[inline(never)]
fn of_element(error: ReadError, node: &Node, index: usize) -> ReadError {
    error.or_at(node.place()).within(Segment::Index(index))
}

#[cold]
#[inline(never)]
fn of_value(error: ReadError, key: &Spanned<String>, node: &Node) -> ReadError {
    error.or_at(node.place()).within(Segment::Key(key.get_ref().clone()))
}

#[cold]
#[inline(never)]
fn no_key() -> ReadError {
    ReadError::custom("a value was asked for before its key")
}

#[cold]
#[inline(never)]
fn at(error: ReadError, place: &Range<usize>) -> ReadError {
    error.or_at(place)
}

/// A key, or the name of a choice; where a number is wanted, the number that it spells.
struct Key<'de>(&'de str);

macro_rules! number_keys {
    ($($deserialize:ident $visit:ident)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(ReadError::invalid_type(Unexpected::Str(self.0), &visitor)),
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

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_enum(Choice { name: self.0, place: &NOWHERE, body: None, is_step: true })
    }

    number_keys! {
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A choice by its name, with the keys that it has.
struct Choice<'de> {
    name: &'de str,
    place: &'de Range<usize>,
    body: Option<Reader<'de>>,
    /// Its name is a key on the way to what lies in it.
    is_step: bool,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = ReadError;
    type Variant = Body<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Body<'de>), ReadError> {
        let choice = seed.deserialize(Key(self.name)).map_err(|error| error.or_at(self.place))?;
        let step = (self.is_step && self.body.is_some()).then_some(self.name);
        Ok((choice, Body { body: self.body, step }))
    }
}

/// What belongs to a choice: a table that holds it alone, or the rest of the table that chose it.
struct Body<'de> {
    body: Option<Reader<'de>>,
    step: Option<&'de str>,
}

impl<'de> Body<'de> {
    fn read<T>(
        self,
        wanted: &'static str,
        read: impl FnOnce(Reader<'de>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let Some(body) = self.body else { return Err(ReadError::invalid_type(Unexpected::UnitVariant, &wanted)) };
        read(body).map_err(|error| match self.step {
            Some(step) => error.within(Segment::Key(step.to_owned())),
            None => error,
        })
    }
}

impl<'de> VariantAccess<'de> for Body<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.body.map(|body| (body.read_already, body.value)) {
            None | Some((Some(_), _) | (None, Value::Null)) => Ok(()),
            Some((None, Value::Table(table))) => match table.as_entries().first() {
                None => Ok(()),
                Some((key, _)) => Err(ReadError::unknown_field(key.get_ref(), &[]).or_at(key.place())),
            },
            Some((None, other)) => Err(ReadError::invalid_type(kind_of(other), &"nothing")),
        }
    }

    /// A word alone is a choice that holds nothing, where it may.
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ReadError> {
        static NOTHING: Value = Value::Null;
        let wanted = "newtype variant";
        if self.body.is_none() {
            let nothing = Reader { value: &NOTHING, place: &NOWHERE, read_already: None };
            let read = seed.deserialize(nothing);
            return read.map_err(|_| ReadError::invalid_type(Unexpected::UnitVariant, &wanted));
        }
        self.read(wanted, |body| seed.deserialize(body))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.read("tuple variant", |body| body.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.read("struct variant", |body| body.deserialize_any(visitor))
    }
}
