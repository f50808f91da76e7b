//! Merging of trees: a document over the base that it builds on.

use plumb_document::{Node, Spanned, Table, Value};

/// Merges `base` into `table`, whose own values take precedence. Tables are merged recursively, and lists of named
/// tables element by element, matched by name. All other values are replaced as a whole.
pub fn merge_base(table: &mut Table, base: Table) {
    let own = std::mem::replace(table, base);
    for (key, value) in own {
        match table.get_mut(key.get_ref()) {
            Some(place) => overlay(place, value),
            None => {
                table.insert(key, value);
            }
        }
    }
}

/// Puts a value over another one. Tables and lists of named tables are merged.
pub fn overlay(place: &mut Node, value: Node) {
    let span = value.span();
    let merged = match (std::mem::replace(place.get_mut(), Value::Bool(false)), value.into_inner()) {
        (Value::Table(base), Value::Table(mut table)) => {
            merge_base(&mut table, base);
            Value::Table(table)
        }
        (Value::List(base), Value::List(list)) if all_named(&base) && all_named(&list) => {
            Value::List(merge_named(base, list))
        }
        (_, value) => value,
    };
    *place = Spanned::new(span, merged);
}

fn name_of(value: &Node) -> Option<&str> {
    value.get_ref().as_table()?.get("name")?.get_ref().as_str()
}

fn all_named(list: &[Node]) -> bool {
    !list.is_empty() && list.iter().all(|element| name_of(element).is_some())
}

fn merge_named(mut base: Vec<Node>, list: Vec<Node>) -> Vec<Node> {
    for element in list {
        let same = base.iter().position(|other| name_of(other) == name_of(&element));
        match same.and_then(|at| base.get_mut(at)) {
            Some(place) => overlay(place, element),
            None => base.push(element),
        }
    }
    base
}
