//! Names in a study file: the steps' names and the meaning of `@name`.

use crate::error::Cause;

/// Resolves a name without its `@`: everything that a step of this name made, or one item of it (`disks.2`). `all` is
/// the meaning of a name without a number, and `known` the existing names.
pub(crate) fn resolve<T: Clone>(
    name: &str,
    all: impl Fn(&str) -> Result<Option<Vec<T>>, Cause>,
    known: impl FnOnce() -> Vec<String>,
) -> Result<Vec<T>, Cause> {
    if let Some(all) = all(name)? {
        return Ok(all);
    }
    if let Some((name, number)) = name.rsplit_once('.')
        && let Ok(number) = number.parse::<usize>()
        && let Some(all) = all(name)?
    {
        return match number.checked_sub(1).and_then(|index| all.get(index)) {
            Some(one) => Ok(vec![one.clone()]),
            None => Err(Cause::Unnamed {
                name: format!("{name}.{number}"),
                known: format!("@{name}.1 to @{name}.{}", all.len()),
            }),
        };
    }
    let known = known().into_iter().map(|name| format!("@{name}"));
    let known: Vec<String> = known.chain(["@expendable".to_owned()]).collect();
    Err(Cause::Unnamed { name: name.to_owned(), known: known.join(", ") })
}

/// Returns the only item that a name refers to.
pub(crate) fn only<T>(field: &'static str, name: &str, mut found: Vec<T>) -> Result<T, Cause> {
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (_, more) => {
            let count = if more == 0 { 0 } else { more + 1 };
            Err(Cause::field(field, name, format!("it refers to {count} items; pick one, such as `{name}.1`")))
        }
    }
}

/// Returns the error for a study that lists no expendable device.
pub(crate) fn none_expendable(name: &str) -> Cause {
    let expected =
        "the study lists no device that may be destroyed: [safety] expendable = [{ path = \"…\", serial = \"…\" }]";
    Cause::field("devices", format!("@{name}"), expected)
}

/// Checks a step's name: names become parts of device names and paths.
pub(crate) fn check(name: &str, is_taken: bool) -> Result<(), Cause> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if name.is_empty() || name.len() > 24 || !begins_well || !name.chars().all(is_plain) {
        return Err(Cause::field(
            "name",
            name,
            "write 1 to 24 letters, digits, `-` and `_`, beginning with a letter or digit",
        ));
    }
    if ["expendable", "disks"].contains(&name) {
        return Err(Cause::field(
            "name",
            name,
            "it is the name of the devices that the study may destroy; choose another",
        ));
    }
    if is_taken {
        return Err(Cause::field("name", name, "an earlier step has this name; choose another"));
    }
    Ok(())
}
