//! Serializing types to documents.

use crate::error::WriteError;
use crate::node::{Node, Spanned, Table, Value};
use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Writes a value as a document.
///
/// # Errors
/// Fails for a path that is not UTF-8, and for a key that is neither text nor a number.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<Node, WriteError> {
    value.serialize(Writer).map(Node::from)
}

/// Serializer whose output is a document.
#[derive(Debug, Clone, Copy)]
pub struct Writer;

fn key(name: &str) -> Spanned<String> {
    Spanned::new(0..0, name.to_owned())
}

fn table_of(name: &str, value: Value) -> Value {
    let mut table = Table::new();
    table.push(key(name), value.into());
    Value::Table(table)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

impl Serializer for Writer {
    type Ok = Value;
    type Error = WriteError;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    fn serialize_bool(self, is: bool) -> Result<Value, WriteError> {
        Ok(Value::Bool(is))
    }

    fn serialize_i8(self, number: i8) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_i16(self, number: i16) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_i32(self, number: i32) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_i64(self, number: i64) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_u8(self, number: u8) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_u16(self, number: u16) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_u32(self, number: u32) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_u64(self, number: u64) -> Result<Value, WriteError> {
        Ok(Value::Integer(number.into()))
    }

    fn serialize_i128(self, number: i128) -> Result<Value, WriteError> {
        Ok(Value::Integer(number))
    }

    fn serialize_f32(self, number: f32) -> Result<Value, WriteError> {
        Ok(Value::Float(number.into()))
    }

    fn serialize_f64(self, number: f64) -> Result<Value, WriteError> {
        Ok(Value::Float(number))
    }

    fn serialize_char(self, character: char) -> Result<Value, WriteError> {
        Ok(Value::Text(character.into()))
    }

    fn serialize_str(self, string: &str) -> Result<Value, WriteError> {
        Ok(text(string))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, WriteError> {
        Ok(Value::List(bytes.iter().map(|byte| Value::Integer((*byte).into()).into()).collect()))
    }

    fn serialize_none(self) -> Result<Value, WriteError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, WriteError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, WriteError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, WriteError> {
        Ok(text(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Value, WriteError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, WriteError> {
        Ok(match value.serialize(Writer)? {
            // TOML has no `null`, and the bare word parses as the same choice.
            Value::Null => text(variant),
            value => table_of(variant, value),
        })
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<List, WriteError> {
        Ok(List { list: Vec::with_capacity(length.unwrap_or(0)), variant: None })
    }

    fn serialize_tuple(self, length: usize) -> Result<List, WriteError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<List, WriteError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<List, WriteError> {
        Ok(List { list: Vec::with_capacity(length), variant: Some(variant) })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Fields, WriteError> {
        Ok(Fields { table: Table::with_capacity(length.unwrap_or(0)), key: None, variant: None })
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Fields, WriteError> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Fields, WriteError> {
        Ok(Fields { table: Table::with_capacity(length), key: None, variant: Some(variant) })
    }
}

/// A list during serialization.
#[derive(Debug)]
pub struct List {
    list: Vec<Node>,
    variant: Option<&'static str>,
}

impl List {
    #[inline(never)]
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        let value = value.serialize(Writer)?;
        self.add(value);
        Ok(())
    }

    // Compiled once for all types.
    #[inline(never)]
    fn add(&mut self, value: Value) {
        self.list.push(value.into());
    }

    fn done(self) -> Value {
        let list = Value::List(self.list);
        match self.variant {
            Some(variant) => table_of(variant, list),
            None => list,
        }
    }
}

macro_rules! elements {
    ($($trait:ident $push:ident)*) => {
        $(impl $trait for List {
            type Ok = Value;
            type Error = WriteError;

            fn $push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
                self.push(value)
            }

            fn end(self) -> Result<Value, WriteError> {
                Ok(self.done())
            }
        })*
    };
}

elements! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

/// A table during serialization.
#[derive(Debug)]
pub struct Fields {
    table: Table,
    key: Option<String>,
    variant: Option<&'static str>,
}

impl Fields {
    #[inline(never)]
    fn push<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), WriteError> {
        let value = value.serialize(Writer)?;
        self.add(name, value);
        Ok(())
    }

    // Compiled once for all types.
    #[inline(never)]
    fn add(&mut self, name: &str, value: Value) {
        self.table.push(key(name), value.into());
    }

    fn done(self) -> Value {
        let table = Value::Table(self.table);
        match self.variant {
            Some(variant) => table_of(variant, table),
            None => table,
        }
    }
}

impl SerializeMap for Fields {
    type Ok = Value;
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), WriteError> {
        self.key = Some(match name.serialize(Writer)? {
            Value::Text(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Bool(is) => is.to_string(),
            _ => return Err(WriteError::custom("a key must be text")),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        match self.key.take() {
            Some(name) => self.push(&name, value),
            None => Err(WriteError::custom("a value came before its key")),
        }
    }

    fn end(self) -> Result<Value, WriteError> {
        Ok(self.done())
    }
}

macro_rules! fields {
    ($($trait:ident)*) => {
        $(impl $trait for Fields {
            type Ok = Value;
            type Error = WriteError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), WriteError> {
                self.push(name, value)
            }

            fn end(self) -> Result<Value, WriteError> {
                Ok(self.done())
            }
        })*
    };
}

fields! { SerializeStruct SerializeStructVariant }
