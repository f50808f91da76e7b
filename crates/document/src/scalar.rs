//! Types whose form is a text or a number.

use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

/// A value that is neither a list nor a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Bool(bool),
    Integer(i128),
    /// A number with a decimal point or an exponent.
    Float(f64),
    Text(&'a str),
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(is) => write!(f, "{is}"),
            Scalar::Integer(number) => write!(f, "the number {number}"),
            Scalar::Float(number) => write!(f, "the number {number}"),
            Scalar::Text(text) => write!(f, "the text {text:?}"),
        }
    }
}

/// Reads a type from a scalar. `read` returns `None` for a value that is not as `expected` ("a size such as `4k`"),
/// or an error message of its own.
///
/// # Errors
/// Fails for a list or a table, and if `read` fails.
pub fn read_scalar<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &str,
    read: impl FnOnce(Scalar<'_>) -> Result<Option<T>, String>,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(ScalarVisitor { expected, read })
}

struct ScalarVisitor<'a, F> {
    expected: &'a str,
    read: F,
}

impl<F> ScalarVisitor<'_, F> {
    fn visit<T, E: Error>(self, scalar: Scalar<'_>) -> Result<T, E>
    where
        F: FnOnce(Scalar<'_>) -> Result<Option<T>, String>,
    {
        let expected = self.expected;
        let read = (self.read)(scalar).map_err(E::custom)?;
        read.ok_or_else(|| match scalar {
            Scalar::Bool(is) => E::invalid_type(serde::de::Unexpected::Bool(is), &expected),
            Scalar::Float(number) => E::invalid_type(serde::de::Unexpected::Float(number), &expected),
            Scalar::Text(text) => E::invalid_type(serde::de::Unexpected::Str(text), &expected),
            Scalar::Integer(_) => E::invalid_type(serde::de::Unexpected::Other(&scalar.to_string()), &expected),
        })
    }
}

impl<'de, T, F: FnOnce(Scalar<'_>) -> Result<Option<T>, String>> Visitor<'de> for ScalarVisitor<'_, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<T, E> {
        self.visit(Scalar::Bool(is))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit(Scalar::Integer(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit(Scalar::Integer(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit(Scalar::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.visit(Scalar::Text(text))
    }
}
