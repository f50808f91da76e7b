//! Property trees: JSON in which a list may be an object with one repeated name.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A node of a property tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A string, or a number or word that stands without quotes.
    Text(String),
    /// Names and nodes, in order. Names may repeat; those of a JSON list are empty.
    Branch(Vec<(String, Node)>),
}

impl Node {
    /// Returns the first node with this name.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match self {
            Node::Branch(nodes) => nodes.iter().find(|(known, _)| known == name).map(|(_, node)| node),
            Node::Text(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Node, D::Error> {
        from.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a property tree")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Text(String::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push((String::new(), node));
        }
        Ok(Node::Branch(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(entry) = map.next_entry()? {
            nodes.push(entry);
        }
        Ok(Node::Branch(nodes))
    }
}
