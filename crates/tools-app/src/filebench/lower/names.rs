//! Names of targets and groups.

/// Replaces characters that result names cannot contain with `-`.
fn clean(name: &str) -> String {
    let allowed = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.chars().map(allowed).take(48).collect();
    if name.starts_with(char::is_alphanumeric) { name } else { format!("x{name}") }
}

/// Returns a name that is not taken yet.
pub(super) fn free(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = clean(name);
    (1..)
        .map(|number| if number == 1 { name.clone() } else { format!("{name}.{number}") })
        .find(|name| !is_taken(name))
        .unwrap_or(name)
}
