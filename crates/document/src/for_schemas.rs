//! serde's `Serialize` of what is written as a document: the defaults in a schema need it.

use crate::node::Node;
use crate::writer::ToDocument;
use serde::ser::Error;
pub use serde::{Serialize, Serializer};

/// Writes a value's document.
///
/// # Errors
/// A value that has no form as a document, or that the serializer refuses.
pub fn serialize<S: Serializer>(value: &dyn ToDocument, serializer: S) -> Result<S::Ok, S::Error> {
    let document = value.to_document().map_err(S::Error::custom)?;
    Node::from(document).serialize(serializer)
}
