//! One tree from several: what a text says, over what it builds on.

use super::error::NativeError;
use super::locate::{Document, Failure, Placed};
use super::overrides::{put, value_of};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

type Value<'d> = Spanned<DeValue<'d>>;

/// Puts what `base` says where `table` says nothing. Tables go into one another; of lists of tables with names, elements of
/// one name do; all else is taken whole.
pub(super) fn beneath<'d>(table: &mut DeTable<'d>, base: DeTable<'d>) {
    let said = std::mem::replace(table, base);
    for (key, value) in said {
        match table.get_mut(&**key.get_ref()) {
            Some(place) => put_over(place, value),
            None => {
                table.insert(key, value);
            }
        }
    }
}

fn put_over<'d>(place: &mut Value<'d>, value: Value<'d>) {
    let span = value.span();
    let merged = match (std::mem::replace(place.get_mut(), DeValue::Boolean(false)), value.into_inner()) {
        (DeValue::Table(base), DeValue::Table(mut table)) => {
            beneath(&mut table, base);
            DeValue::Table(table)
        }
        (DeValue::Array(base), DeValue::Array(list)) if all_named(&base) && all_named(&list) => {
            DeValue::Array(by_name(base, list))
        }
        (_, value) => value,
    };
    *place = Spanned::new(span, merged);
}

fn name_of<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.get_ref().as_table()?.get("name")?.get_ref().as_str()
}

fn all_named(list: &DeArray<'_>) -> bool {
    !list.is_empty() && list.iter().all(|element| name_of(element).is_some())
}

fn by_name<'d>(mut base: DeArray<'d>, list: DeArray<'d>) -> DeArray<'d> {
    for element in list {
        let same = base.iter().position(|other| name_of(other) == name_of(&element));
        match same.and_then(|at| base.get_mut(at)) {
            Some(place) => put_over(place, element),
            None => base.push(element),
        }
    }
    base
}

/// Puts what `changes` says over a tree: a key with dots is a path (`"design.plots" = 2`), tables go into one another.
///
/// # Errors
/// A path that leads nowhere.
pub fn over<'d>(tree: &mut DeTable<'d>, changes: &DeTable<'d>) -> Result<(), Failure> {
    for (key, value) in changes {
        if key.get_ref().contains(['.', '[']) {
            put(tree, key.get_ref(), value.clone(), &key.span()).map_err(|refusal| Failure {
                span: key.span(),
                message: refusal.message,
                help: refusal.help,
            })?;
            continue;
        }
        match tree.get_mut(&**key.get_ref()) {
            Some(place) => put_over(place, value.clone()),
            None => {
                tree.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(())
}

/// Puts one override into a tree.
pub(super) fn put_override<'d>(
    document: &'d Document<'_>,
    placed: &Placed<'_>,
    tree: &mut DeTable<'d>,
) -> Result<(), NativeError> {
    let key_span = placed.span.start..placed.value_start;
    put(tree, &placed.given.path, value_of(document, placed), &key_span)
        .map_err(|refusal| document.bad_override(placed, refusal.message, refusal.help))
}
