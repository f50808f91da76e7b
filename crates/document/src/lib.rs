//! Documents: what TOML and JSON texts parse into before anything is made of them.
//!
//! A type derives serde's traits, and is only ever read from a [`Node`] ([`read`]) and written to one ([`write`](write())).
//! serde instantiates a type's code anew for each format that it meets; with one format inside, each type is read by one
//! piece of code and written by another, and both formats give the same errors, with the place where they arose.
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
mod writer;

pub use error::{Misfit, ReadError, Segment, WriteError};
pub use node::{Node, Spanned, Table, Value};
pub use reader::read;
pub use writer::write;
