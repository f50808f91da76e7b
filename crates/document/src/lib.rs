//! Documents: what TOML and JSON texts parse into before anything is made of them.
//!
//! A type derives [`FromDocument`] and serde's `Serialize`, and is only ever read from a [`Node`] ([`read`]) and written to one
//! ([`write`](write())): each type is read by one piece of code and written by another, and both formats give the same errors,
//! with the place where they arose. serde's `Deserialize` is not used: its code is four times as large.
//!
//! How an enum is written says the name under which serde knows it (`#[serde(rename = "…")]`):
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

// The macro's code names this crate, in its own tests too.
extern crate self as plumb_document;

pub use error::{LIST, Misfit, ReadError, Segment, TABLE, WriteError};
pub use node::{Node, Spanned, Table, Value};
pub use plumb_document_derive::FromDocument;
pub use reader::{Choice, Choices, Fields, FromDocument, Names, Reader, Shape, Style, read};
pub use writer::write;
