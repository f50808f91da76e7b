//! Short forms of choices.
//!
//! A choice is a table with one key, `{ zipf = { theta = 1.1 } }`. Where all keys of the chosen one have defaults, its
//! name alone will do: `"fsync"` is `{ fsync = {} }`. A size may also be written bare: `"4KiB"` is `{ fixed = "4KiB" }`.
//! [`short_form!`](short_form) gives an enum both; the derived code behind it still does all of the reading, so that
//! messages and positions stay those of serde.

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, VariantAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use std::fmt;
use std::marker::PhantomData;

/// `short_form!(Step)`, or with the choice that a bare value stands for: `short_form!(BlockSize, bare = "fixed")`.
///
/// The enum derives both serde traits under `#[serde(remote = "Self")]`, which makes them plain functions.
macro_rules! short_form {
    ($type:ident) => {
        short_form!(@ $type, None);
    };
    ($type:ident, bare = $bare:literal) => {
        short_form!(@ $type, Some($bare));
    };
    (@ $type:ident, $bare:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                $type::deserialize(crate::short_form::ShortForm::new(deserializer, $bare))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $type::serialize(self, serializer)
            }
        }
    };
}
pub(crate) use short_form;

/// A deserializer that also reads the short forms of an enum.
pub(crate) struct ShortForm<D> {
    inner: D,
    bare: Option<&'static str>,
}

impl<D> ShortForm<D> {
    /// `bare` is the choice that a value stands for which is no choice's name.
    pub(crate) fn new(inner: D, bare: Option<&'static str>) -> ShortForm<D> {
        ShortForm { inner, bare }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ShortForm<D> {
    type Error = D::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Choice { variants, bare: self.bare, visitor })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Choice<V> {
    variants: &'static [&'static str],
    bare: Option<&'static str>,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bare.is_some() {
            f.write_str("a size, or ")?;
        }
        f.write_str("one of ")?;
        for (index, name) in self.variants.iter().enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        match self.bare {
            Some(choice) if !self.variants.contains(&word) => {
                self.visitor.visit_enum(Bare { choice, value: StrDeserializer::new(word) })
            }
            _ => self.visitor.visit_enum(Word { word, error: PhantomData }),
        }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        match self.bare {
            Some(choice) => {
                self.visitor.visit_enum(Bare { choice, value: serde::de::value::U64Deserializer::new(value) })
            }
            None => Err(E::invalid_type(serde::de::Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        match u64::try_from(value) {
            Ok(value) => self.visit_u64(value),
            Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(value), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(OneKey { map })
    }
}

/// A choice by its name alone: every key has its default.
struct Word<'a, E> {
    word: &'a str,
    error: PhantomData<E>,
}

/// The keys of a choice that was written as a word: none.
fn no_keys<'de, E: Error>() -> MapDeserializer<'de, std::iter::Empty<(&'static str, &'static str)>, E> {
    MapDeserializer::new(std::iter::empty())
}

impl<'de, E: Error> EnumAccess<'de> for Word<'_, E> {
    type Error = E;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), E> {
        Ok((seed.deserialize(StrDeserializer::new(self.word))?, self))
    }
}

impl<'de, E: Error> VariantAccess<'de> for Word<'_, E> {
    type Error = E;

    fn unit_variant(self) -> Result<(), E> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, E> {
        seed.deserialize(no_keys())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, E> {
        visitor.visit_map(no_keys())
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, E> {
        visitor.visit_map(no_keys())
    }
}

/// A value alone, which stands for `choice`.
struct Bare<D> {
    choice: &'static str,
    value: D,
}

impl<'de, D: Deserializer<'de>> EnumAccess<'de> for Bare<D> {
    type Error = D::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), D::Error> {
        Ok((seed.deserialize(StrDeserializer::new(self.choice))?, self))
    }
}

impl<'de, D: Deserializer<'de>> VariantAccess<'de> for Bare<D> {
    type Error = D::Error;

    fn unit_variant(self) -> Result<(), D::Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, D::Error> {
        seed.deserialize(self.value)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.value.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.value.deserialize_any(visitor)
    }
}

/// The long form: a table whose only key is the choice.
struct OneKey<A> {
    map: A,
}

impl<'de, A: MapAccess<'de>> OneKey<A> {
    fn value<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.map.next_value_seed(seed)?;
        match self.map.next_key::<String>()? {
            None => Ok(value),
            Some(key) => Err(A::Error::custom(format_args!("a choice has one key; `{key}` is a second one"))),
        }
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for OneKey<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.map.next_key_seed(seed)? {
            Some(choice) => Ok((choice, self)),
            None => Err(A::Error::custom("a choice has one key; this table is empty")),
        }
    }
}

/// A choice that has no keys of its own, in its long form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for OneKey<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.value(PhantomData::<NoKeys>).map(|NoKeys {}| ())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.value(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.value(Fields { fields: &[], visitor })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.value(Fields { fields, visitor })
    }
}

struct Fields<V> {
    fields: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_struct("choice", self.fields, self.visitor)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backend, BlockSize, Bytes, Distribution, Pattern, Step};
    use serde::Deserialize;

    fn read<T: for<'de> Deserialize<'de>>(value: &str) -> Result<T, String> {
        let deserializer = toml::de::ValueDeserializer::parse(value).map_err(|e| e.message().to_owned())?;
        T::deserialize(deserializer).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn a_word_stands_for_a_choice_whose_keys_have_defaults() {
        assert_eq!(read::<Backend>("\"io-uring\"").unwrap(), Backend::IO_URING);
        assert_eq!(read::<Step>("\"fsync\"").unwrap(), Step::Fsync { handle: 0 });
        assert_eq!(read::<Step>("\"mkdir\"").unwrap(), Step::Mkdir {});
        assert_eq!(read::<Pattern>("\"random\"").unwrap(), Pattern::Random);
        assert_eq!(read::<Step>("{ fsync = { handle = 3 } }").unwrap(), Step::Fsync { handle: 3 });
    }

    #[test]
    fn a_bare_size_is_a_fixed_one() {
        assert_eq!(read::<BlockSize>("\"64k\"").unwrap(), BlockSize::Fixed(Bytes(65536)));
        assert_eq!(read::<BlockSize>("512").unwrap(), BlockSize::Fixed(Bytes(512)));
        assert_eq!(read::<Distribution>("{ fixed = 512 }").unwrap(), Distribution::Fixed(Bytes(512)));
    }

    /// Serde's own table-as-choice drops every key but the first without a word.
    #[test]
    fn a_second_key_in_a_choice_is_an_error() {
        assert!(read::<Step>("{ fsync = {}, close = {} }").unwrap_err().contains("close"));
        assert!(read::<Step>("{}").unwrap_err().contains("empty"));
        assert!(read::<Backend>("{ psync = { depth = 3 } }").unwrap_err().contains("depth"));
    }

    #[test]
    fn what_a_word_leaves_out_is_named() {
        assert!(read::<Pattern>("\"zipf\"").unwrap_err().contains("theta"));
        assert!(read::<Pattern>("\"zipfian\"").unwrap_err().contains("zipfian"));
        assert!(read::<BlockSize>("\"4 parsecs\"").unwrap_err().contains("4 parsecs"));
        assert!(read::<BlockSize>("-1").unwrap_err().contains("-1"));
    }

    /// Results carry workloads as JSON, in the long form.
    #[test]
    fn json_keeps_the_long_form() {
        let step = Step::Fsync { handle: 0 };
        let json = serde_json::to_string(&step).unwrap();
        assert_eq!(json, r#"{"fsync":{"handle":0}}"#);
        assert_eq!(serde_json::from_str::<Step>(&json).unwrap(), step);
    }
}
