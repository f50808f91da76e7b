//! Enums that are written in a form other than serde's own. They are read without copying the document, so
//! that errors keep their positions.
//!
//! Such an enum derives serde's traits with `#[serde(remote = "Self")]`, which generates inherent functions
//! instead of the traits. [`tagged!`](crate::tagged) or [`short_form!`](crate::short_form) then implements
//! the traits with these functions.

use crate::error::WriteError;
use crate::node::{Node, Spanned, Table, Value};
use crate::reader::one_of;
use serde::de::value::{StrDeserializer, U64Deserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde::ser::{Error as _, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Implements serde's traits for an enum that is a table with a key for the choice: `{ kind = "word", … }`. serde's
/// own `tag = "kind"` would first copy the table into a form without positions.
#[macro_export]
macro_rules! tagged {
    ($type:ident, $tag:literal) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                // Calls the inherent function that `remote = "Self"` derives, not the trait method.
                $type::deserialize($crate::Tagged::new(deserializer, &[$tag]))
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::write_tagged($tag, $type::serialize(self, $crate::Writer), serializer)
            }
        }
    };
}

/// Implements serde's traits for an enum with one choice that needs no name: a number, or a text that is not
/// the name of a choice.
#[macro_export]
macro_rules! short_form {
    ($type:ident, $choice:literal) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                // Calls the inherent function that `remote = "Self"` derives, not the trait method.
                $type::deserialize($crate::Unnamed::value(deserializer, $choice))
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                $type::serialize(self, serializer)
            }
        }
    };
}

/// Reads an enum from a table with a key for the choice. That key must come first, as it does in a [`Node`].
#[derive(Debug)]
pub struct Tagged<D> {
    deserializer: D,
    tag: &'static [&'static str; 1],
}

impl<D> Tagged<D> {
    /// Creates a deserializer for a table whose key `tag` holds the choice.
    pub fn new(deserializer: D, tag: &'static [&'static str; 1]) -> Tagged<D> {
        Tagged { deserializer, tag }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tagged<D> {
    type Error = D::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_struct(name, self.tag, TaggedVisitor { tag: self.tag[0], visitor })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct TaggedVisitor<V> {
    tag: &'static str,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for TaggedVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with the key `{}`", self.tag)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<V::Value, A::Error> {
        match entries.next_key::<Cow<'de, str>>()? {
            Some(key) if key == self.tag => self.visitor.visit_enum(TaggedChoice(entries)),
            _ => Err(Error::missing_field(self.tag)),
        }
    }
}

/// Yields the value of the tag, then the rest of its table.
struct TaggedChoice<A>(A);

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for TaggedChoice<A> {
    type Error = A::Error;
    type Variant = TaggedChoice<A>;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        let choice = self.0.next_value_seed(seed)?;
        Ok((choice, self))
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for TaggedChoice<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        while self.0.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        seed.deserialize(Rest(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(Error::custom("a list has no keys"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}

/// The remaining entries of a table, as a table.
struct Rest<A>(A);

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Rest<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Serializes an enum as a table with a key for the choice.
///
/// # Errors
/// Fails for a choice that does not hold a table, because the key needs one to be in.
pub fn write_tagged<S: Serializer>(
    tag: &str,
    written: Result<Value, WriteError>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (name, body) = match written.map_err(S::Error::custom)? {
        Value::Table(choice) => match choice.into_iter().next() {
            Some((name, body)) => (name.into_inner(), body.into_inner()),
            None => (String::new(), Value::Null),
        },
        Value::Text(name) => (name, Value::Table(Table::new())),
        _ => (String::new(), Value::Null),
    };
    let Value::Table(body) = body else {
        return Err(S::Error::custom(format_args!("`{name}` has no keys for `{tag}` to stand next to")));
    };
    let mut table = Table::with_capacity(body.len() + 1);
    table.push(Spanned::new(0..0, tag.to_owned()), Value::Text(name).into());
    body.into_iter().for_each(|(key, node)| table.push(key, node));
    Node::from(Value::Table(table)).serialize(serializer)
}

/// Reads an enum with one choice that may be written without its name.
#[derive(Debug)]
pub struct Unnamed<D> {
    deserializer: D,
    choice: &'static str,
    form: Form,
}

/// Form of the values that belong to the choice without a name.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A number, or a text that is not the name of a choice.
    Value,
    /// A table without the name of a choice.
    Table,
}

impl<D> Unnamed<D> {
    /// Reads a number, or a text that is not the name of a choice, as this choice.
    pub fn value(deserializer: D, choice: &'static str) -> Unnamed<D> {
        Unnamed { deserializer, choice, form: Form::Value }
    }

    /// Reads a table without the name of a choice, even an empty one, as this choice.
    pub fn table(deserializer: D, choice: &'static str) -> Unnamed<D> {
        Unnamed { deserializer, choice, form: Form::Table }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Unnamed<D> {
    type Error = D::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        choices: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Unnamed { deserializer, choice, form } = self;
        deserializer.deserialize_enum(name, choices, UnnamedVisitor { choice, form, choices, visitor })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct UnnamedVisitor<V> {
    choice: &'static str,
    form: Form,
    choices: &'static [&'static str],
    visitor: V,
}

impl<V> UnnamedVisitor<V> {
    fn take<'de, T: Deserializer<'de>>(self, content: T) -> Result<V::Value, T::Error>
    where
        V: Visitor<'de>,
    {
        self.visitor.visit_enum(UnnamedChoice { name: self.choice, content })
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for UnnamedVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = match self.form {
            Form::Value => "a size, or ",
            Form::Table => "",
        };
        write!(f, "{before}{}", one_of(self.choices))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, choice: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(choice)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V::Value, E> {
        match self.form {
            Form::Value => self.take::<U64Deserializer<E>>(number.into_deserializer()),
            Form::Table => Err(E::invalid_type(serde::de::Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        match self.form {
            Form::Value => self.take::<StrDeserializer<'_, E>>(text.into_deserializer()),
            Form::Table => Err(E::unknown_variant(text, self.choices)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<V::Value, A::Error> {
        if let Form::Table = self.form {
            return self.take(Rest(entries));
        }
        let Some((name, IgnoredAny)) = entries.next_entry::<Cow<'de, str>, _>()? else {
            return Err(Error::custom("a choice has one key; this table is empty"));
        };
        match entries.next_key::<Cow<'de, str>>()? {
            Some(second) => Err(Error::custom(format_args!("a choice has one key; `{second}` is a second one"))),
            None => Err(Error::unknown_variant(&name, self.choices)),
        }
    }
}

/// Deserializes the choice that has no name in the text.
struct UnnamedChoice<T> {
    name: &'static str,
    content: T,
}

impl<'de, T: Deserializer<'de>> EnumAccess<'de> for UnnamedChoice<T> {
    type Error = T::Error;
    type Variant = UnnamedChoice<T>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), T::Error> {
        let choice = seed.deserialize(IntoDeserializer::<T::Error>::into_deserializer(self.name))?;
        Ok((choice, self))
    }
}

impl<'de, T: Deserializer<'de>> VariantAccess<'de> for UnnamedChoice<T> {
    type Error = T::Error;

    fn unit_variant(self) -> Result<(), T::Error> {
        Err(Error::custom(format_args!("`{}` needs a value", self.name)))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, T::Error> {
        seed.deserialize(self.content)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, T::Error> {
        self.content.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, T::Error> {
        self.content.deserialize_struct(self.name, fields, visitor)
    }
}
