//! Documents: the common form of parsed TOML and JSON texts.
//!
//! A type derives serde's traits, but is only ever read from a [`Node`] ([`read`]) and written to one
//! ([`write`](write())). serde instantiates a type's code for each format. With a single format, each type is
//! compiled once per direction, and TOML and JSON give the same errors with the same positions.
//!
//! Enums are written as serde writes them: `"word"`, or `{ word = … }`. `"word"` also stands for a choice whose keys
//! all have defaults. [`tagged!`] and [`short_form!`] are for enums with other forms, and [`read_scalar`] is for
//! types whose form is a text or a number.

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
