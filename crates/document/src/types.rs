//! The types that every document is made of: how they are read. How they are written: `written.rs`.

use crate::error::ReadError;
use crate::json;
use crate::node::{Node, Value};
use crate::reader::{FromDocument, Reader, element_of, key_of, value_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

impl FromDocument for bool {
    fn from_document(reader: Reader<'_>) -> Result<bool, ReadError> {
        match reader.value() {
            Value::Bool(is) => Ok(*is),
            _ => Err(reader.unexpected("`true` or `false`")),
        }
    }
}

macro_rules! integers {
    ($($type:ident)*) => {
        $(impl FromDocument for $type {
            fn from_document(reader: Reader<'_>) -> Result<$type, ReadError> {
                reader.integer($type::MIN as i128, $type::MAX as i128).map(|number| number as $type)
            }
        })*
    };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 usize }

impl FromDocument for f64 {
    fn from_document(reader: Reader<'_>) -> Result<f64, ReadError> {
        match reader.value() {
            Value::Float(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            _ => Err(reader.unexpected("a number")),
        }
    }
}

impl FromDocument for String {
    fn from_document(reader: Reader<'_>) -> Result<String, ReadError> {
        reader.text().map(str::to_owned)
    }
}

impl FromDocument for std::borrow::Cow<'static, str> {
    fn from_document(reader: Reader<'_>) -> Result<Self, ReadError> {
        reader.text().map(|text| text.to_owned().into())
    }
}

impl FromDocument for PathBuf {
    fn from_document(reader: Reader<'_>) -> Result<PathBuf, ReadError> {
        reader.text().map(PathBuf::from)
    }
}

impl<T: FromDocument> FromDocument for Option<T> {
    fn from_document(reader: Reader<'_>) -> Result<Option<T>, ReadError> {
        match reader.value() {
            Value::Null => Ok(None),
            _ => T::from_document(reader).map(Some),
        }
    }

    fn from_nothing(_: &'static str) -> Result<Option<T>, ReadError> {
        Ok(None)
    }
}

impl<T: FromDocument> FromDocument for Box<T> {
    fn from_document(reader: Reader<'_>) -> Result<Box<T>, ReadError> {
        T::from_document(reader).map(Box::new)
    }
}

impl<T: FromDocument> FromDocument for Vec<T> {
    fn from_document(reader: Reader<'_>) -> Result<Vec<T>, ReadError> {
        let list = reader.list()?;
        let mut read = Vec::with_capacity(list.len());
        for (index, node) in list.iter().enumerate() {
            read.push(element_of(node, index)?);
        }
        Ok(read)
    }
}

macro_rules! tuples {
    ($($length:literal: $($type:ident $index:literal)*;)*) => {
        $(impl<$($type: FromDocument),*> FromDocument for ($($type,)*) {
            fn from_document(reader: Reader<'_>) -> Result<Self, ReadError> {
                let list = reader.list()?;
                if list.len() != $length {
                    return Err(ReadError::custom(format_args!("a list of {}, expected {}", list.len(), $length)));
                }
                Ok(($(element_of::<$type>(&list[$index], $index)?,)*))
            }
        })*
    };
}

tuples! {
    2: A 0 B 1;
    3: A 0 B 1 C 2;
}

impl<T: FromDocument, const LENGTH: usize> FromDocument for [T; LENGTH] {
    fn from_document(reader: Reader<'_>) -> Result<[T; LENGTH], ReadError> {
        let found = Vec::<T>::from_document(reader)?;
        let length = found.len();
        found.try_into().map_err(|_| ReadError::custom(format_args!("a list of {length}, expected {LENGTH}")))
    }
}

impl<T: FromDocument + Ord> FromDocument for BTreeSet<T> {
    fn from_document(reader: Reader<'_>) -> Result<BTreeSet<T>, ReadError> {
        let mut set = BTreeSet::new();
        for (index, node) in reader.list()?.iter().enumerate() {
            set.insert(element_of(node, index)?);
        }
        Ok(set)
    }
}

impl<K: FromDocument + Ord, V: FromDocument> FromDocument for BTreeMap<K, V> {
    fn from_document(reader: Reader<'_>) -> Result<BTreeMap<K, V>, ReadError> {
        let mut map = BTreeMap::new();
        for entry in reader.entries()? {
            map.insert(key_of(entry)?, value_of(entry)?);
        }
        Ok(map)
    }
}

/// A part of a document that stays one.
impl FromDocument for Node {
    fn from_document(reader: Reader<'_>) -> Result<Node, ReadError> {
        Ok(Node::from(reader.value().clone()))
    }
}

impl FromDocument for serde_json::Value {
    fn from_document(reader: Reader<'_>) -> Result<serde_json::Value, ReadError> {
        Ok(json::value_of(Node::from(reader.value().clone())))
    }
}

impl FromDocument for serde_json::Map<String, serde_json::Value> {
    fn from_document(reader: Reader<'_>) -> Result<Self, ReadError> {
        let mut map = serde_json::Map::new();
        for entry in reader.entries()? {
            map.insert(entry.0.get_ref().clone(), value_of(entry)?);
        }
        Ok(map)
    }
}
