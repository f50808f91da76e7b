//! One tree from several: what a text says, over what it builds on.

use plumb_document::{Node, Spanned, Table, Value};

/// Puts what `base` says where `table` says nothing. Tables go into one another; of lists of tables with names, elements of
/// one name do; all else is taken whole.
pub fn beneath(table: &mut Table, base: Table) {
    let said = std::mem::replace(table, base);
    for (key, value) in said {
        match table.get_mut(key.get_ref()) {
            Some(place) => put_over(place, value),
            None => {
                table.insert(key, value);
            }
        }
    }
}

/// Puts a value in place of another; tables go into one another, and so do lists of tables with names.
pub fn put_over(place: &mut Node, value: Node) {
    let span = value.span();
    let merged = match (std::mem::replace(place.get_mut(), Value::Bool(false)), value.into_inner()) {
        (Value::Table(base), Value::Table(mut table)) => {
            beneath(&mut table, base);
            Value::Table(table)
        }
        (Value::List(base), Value::List(list)) if all_named(&base) && all_named(&list) => {
            Value::List(by_name(base, list))
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

fn by_name(mut base: Vec<Node>, list: Vec<Node>) -> Vec<Node> {
    for element in list {
        let same = base.iter().position(|other| name_of(other) == name_of(&element));
        match same.and_then(|at| base.get_mut(at)) {
            Some(place) => put_over(place, element),
            None => base.push(element),
        }
    }
    base
}
