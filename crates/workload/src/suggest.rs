//! Suggestions of the nearest name, for error messages.

pub use plumb_text::similar::{closest, nearest};

/// Returns `did you mean …` for the nearest candidate, or a list of all candidates.
pub fn did_you_mean(word: &str, candidates: &[&str]) -> Option<String> {
    match nearest(word, candidates.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if candidates.is_empty() => None,
        None => Some(format!("there {}", listed(candidates))),
    }
}

/// Formats names as `is \`a\`` or `are \`a\`, \`b\` and \`c\``.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "is none".to_owned(),
        Some((only, [])) => format!("is {only}"),
        Some((last, others)) => format!("are {} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_all_names_if_none_is_near() {
        assert_eq!(did_you_mean("colour", &["depth", "target"]).unwrap(), "there are `depth` and `target`");
    }
}
