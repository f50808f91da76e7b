//! Documents: what TOML and JSON texts parse into before anything is made of them.
//!
//! A type derives [`FromDocument`] and [`ToDocument`], and is only ever read from a [`Node`] ([`read`]) and written to one
//! ([`write`](write())): each type is read by one piece of code and written by another, and both formats give the same errors,
//! with the place where they arose. serde's own traits are not derived: their code is several times as large. Its attributes
//! are read, as schemars reads them, and the feature `schema` gives each type that is written serde's `Serialize`, too: the
//! defaults in a schema need it.
//!
//! How an enum is written says the name under which serde would know it (`#[serde(rename = "…")]`):
//!
//! | name | written |
//! |---|---|
//! | any | `"word"`, or `{ word = … }` |
//! | `=` | the same; `"word"` stands for a choice whose keys all have defaults, `{ word = {} }` |
//! | `=fixed` | as `=`; a number, or a text that is no choice's name, stands for `{ fixed = … }` |
//! | `~own` | the same as the first; a table without any choice's name is what `{ own = … }` holds, and that choice is written so |
//! | `@kind` | `{ kind = "word", … }`: in place of `tag = "kind"`, for which serde buffers the table and reads it through a second deserializer |

mod error;
pub mod json;
mod node;
mod reader;
#[cfg(test)]
mod tests;
pub mod toml;
mod types;
mod writer;
mod written;

// The macro's code names this crate, in its own tests too.
extern crate self as plumb_document;

pub use error::{LIST, Misfit, ReadError, Segment, TABLE, WriteError};
pub use node::{Node, Spanned, Table, Value};
pub use plumb_document_derive::{FromDocument, ToDocument};
pub use reader::{Choice, Choices, Fields, FromDocument, Names, Reader, Shape, Style, read};
pub use writer::{Field, FieldNames, Held, ToDocument, choice, write};

/// What the macro's code needs of serde.
#[cfg(feature = "schema")]
pub mod for_schemas;

/// serde's `Serialize` of a type whose [`ToDocument`] is not derived; nothing without the feature `schema`.
#[cfg(feature = "schema")]
#[macro_export]
macro_rules! serialize_for_schemas {
    ($($type:ident)*) => {
        $(impl $crate::for_schemas::Serialize for $type {
            fn serialize<S: $crate::for_schemas::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::for_schemas::serialize(self, serializer)
            }
        })*
    };
}

/// serde's `Serialize` of a type whose [`ToDocument`] is not derived; nothing without the feature `schema`.
#[cfg(not(feature = "schema"))]
#[macro_export]
macro_rules! serialize_for_schemas {
    ($($type:ident)*) => {};
}
