//! Documents: what TOML and JSON texts parse into before anything is made of them.
//!
//! A type derives serde's traits, and is only ever read from a [`Node`] ([`read`]) and written to one ([`write`](write())).
//! serde instantiates a type's code for each format. With one format inside, each type is compiled once for each direction,
//! and both formats give the same errors with the same places.
//!
//! An enum is written as serde writes it: `"word"`, or `{ word = … }`. `"word"` also stands for a choice whose keys all have
//! defaults. [`tagged!`] and [`short_form!`] are for enums with other forms, [`read_scalar`] is for types that are a text or a
//! number.

mod error;
mod forms;
pub mod json;
mod node;
mod reader;
mod scalar;
#[cfg(test)]
mod tests;
pub mod toml;
mod writer;

pub use error::{LIST, Misfit, ReadError, Segment, TABLE, WriteError};
pub use forms::{Tagged, Unnamed, write_tagged};
pub use node::{Node, Spanned, Table, Value};
pub use reader::read;
pub use scalar::{Scalar, read_scalar};
pub use writer::{Writer, write};
