//! The types that every document is made of: how they are written.

use crate::error::WriteError;
use crate::json;
use crate::node::{Node, Value};
use crate::writer::{ToDocument, list, map};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl ToDocument for bool {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(Value::Bool(*self))
    }
}

macro_rules! integers {
    ($($type:ident)*) => {
        $(impl ToDocument for $type {
            fn to_document(&self) -> Result<Value, WriteError> {
                Ok(Value::Integer(*self as i128))
            }
        })*
    };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 usize }

impl ToDocument for f64 {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(Value::Float(*self))
    }
}

impl ToDocument for str {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(Value::Text(self.to_owned()))
    }
}

impl ToDocument for String {
    fn to_document(&self) -> Result<Value, WriteError> {
        self.as_str().to_document()
    }
}

impl ToDocument for Path {
    fn to_document(&self) -> Result<Value, WriteError> {
        match self.to_str() {
            Some(text) => text.to_document(),
            None => Err(WriteError("path contains invalid UTF-8 characters".to_owned())),
        }
    }
}

impl ToDocument for PathBuf {
    fn to_document(&self) -> Result<Value, WriteError> {
        self.as_path().to_document()
    }
}

impl ToDocument for () {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(Value::Null)
    }
}

impl<T: ToDocument> ToDocument for Option<T> {
    fn to_document(&self) -> Result<Value, WriteError> {
        match self {
            None => Ok(Value::Null),
            Some(value) => value.to_document(),
        }
    }
}

impl<T: ToDocument + ?Sized> ToDocument for &T {
    fn to_document(&self) -> Result<Value, WriteError> {
        T::to_document(self)
    }
}

impl<T: ToDocument + ?Sized> ToDocument for Box<T> {
    fn to_document(&self) -> Result<Value, WriteError> {
        T::to_document(self)
    }
}

impl<T: ToDocument + ?Sized> ToDocument for Arc<T> {
    fn to_document(&self) -> Result<Value, WriteError> {
        T::to_document(self)
    }
}

impl<T: ToDocument + ToOwned + ?Sized> ToDocument for Cow<'_, T> {
    fn to_document(&self) -> Result<Value, WriteError> {
        T::to_document(self)
    }
}

impl<T: ToDocument> ToDocument for [T] {
    fn to_document(&self) -> Result<Value, WriteError> {
        list(&mut self.iter().map(|element| element as &dyn ToDocument))
    }
}

impl<T: ToDocument> ToDocument for Vec<T> {
    fn to_document(&self) -> Result<Value, WriteError> {
        self.as_slice().to_document()
    }
}

impl<T: ToDocument, const LENGTH: usize> ToDocument for [T; LENGTH] {
    fn to_document(&self) -> Result<Value, WriteError> {
        self.as_slice().to_document()
    }
}

impl<A: ToDocument, B: ToDocument> ToDocument for (A, B) {
    fn to_document(&self) -> Result<Value, WriteError> {
        let elements: [&dyn ToDocument; 2] = [&self.0, &self.1];
        elements.to_document()
    }
}

impl<A: ToDocument, B: ToDocument, C: ToDocument> ToDocument for (A, B, C) {
    fn to_document(&self) -> Result<Value, WriteError> {
        let elements: [&dyn ToDocument; 3] = [&self.0, &self.1, &self.2];
        elements.to_document()
    }
}

impl<T: ToDocument> ToDocument for BTreeSet<T> {
    fn to_document(&self) -> Result<Value, WriteError> {
        list(&mut self.iter().map(|element| element as &dyn ToDocument))
    }
}

impl<K: ToDocument, V: ToDocument> ToDocument for BTreeMap<K, V> {
    fn to_document(&self) -> Result<Value, WriteError> {
        map(&mut self.iter().map(|(key, value)| (key as &dyn ToDocument, value as &dyn ToDocument)))
    }
}

/// A part of a document that is one already.
impl ToDocument for Value {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(self.clone())
    }
}

impl ToDocument for Node {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(self.get_ref().clone())
    }
}

impl ToDocument for serde_json::Value {
    fn to_document(&self) -> Result<Value, WriteError> {
        Ok(json::node_of(self.clone()).into_inner())
    }
}

impl ToDocument for serde_json::Map<String, serde_json::Value> {
    fn to_document(&self) -> Result<Value, WriteError> {
        serde_json::Value::Object(self.clone()).to_document()
    }
}
