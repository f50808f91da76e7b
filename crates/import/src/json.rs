//! Reads JSON with repeated keys: `serde_json` alone silently keeps the last value of a key.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

/// Paths of keys that occur more than once, each with its count.
pub(crate) type Repeated = BTreeMap<String, usize>;

/// Returns the key under which the `number`th value of a key is kept, from 1.
pub(crate) fn repeated_key(key: &str, number: usize) -> String {
    format!("{key}#{number}")
}

/// Reads a value. The first value of a key keeps the key's name; later ones get a number.
pub(crate) struct WithRepeated<'a> {
    path: String,
    found: &'a RefCell<Repeated>,
}

impl<'a> WithRepeated<'a> {
    pub(crate) fn new(found: &'a RefCell<Repeated>) -> WithRepeated<'a> {
        WithRepeated { path: String::new(), found }
    }

    fn below(&self, key: &str) -> WithRepeated<'a> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        WithRepeated { path, found: self.found }
    }
}

impl<'de> DeserializeSeed<'de> for WithRepeated<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for WithRepeated<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = sequence.next_element_seed(WithRepeated { path: self.path.clone(), ..self })? {
            all.push(value);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            let below = self.below(&key);
            let path = below.path.clone();
            let value = entries.next_value_seed(below)?;
            if !all.contains_key(&key) {
                all.insert(key, value);
                continue;
            }
            let count = counts.entry(key.clone()).or_insert(1);
            *count += 1;
            all.insert(repeated_key(&key, *count), value);
            let mut found = self.found.borrow_mut();
            let most = found.entry(path).or_insert(1);
            *most = (*most).max(*count);
        }
        Ok(Value::Object(all))
    }
}
