//! Expansion of `${ram*N}` and `${made.NAME}` in the texts of a job.

use crate::step::MadeNames;

/// Error in an expression of a job's text.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExpandError {
    /// An expression is not closed.
    #[error("`{text}` has no closing brace")]
    Open {
        /// Text from the opening on.
        text: String,
    },
    /// No step has this name.
    #[error("no step made `{name}`; known: {}", known.join(", "))]
    Unnamed {
        name: String,
        /// Names of the steps that exist.
        known: Vec<String>,
    },
    /// A multiple of the memory size is malformed.
    #[error("`{text}` {what}; write for example ${{ram*2}}")]
    Memory { text: String, what: &'static str },
}

/// Expands a text for a machine with `ram_bytes` of memory and these devices and mount points. `${ram}`,
/// `${ram*N}` and `${ram/N}` become bytes, with N a positive decimal number. Other `${…}` stay: they belong to
/// the shell or to another tool.
///
/// # Errors
/// Returns an error for a malformed expression.
pub(super) fn expand(text: &str, ram_bytes: u64, made: &MadeNames) -> Result<String, ExpandError> {
    with_made(&with_memory(text, ram_bytes)?, made)
}

/// Replaces `${made.NAME}` with the first device or mount point that the step of this name made.
fn with_made(text: &str, made: &MadeNames) -> Result<String, ExpandError> {
    const OPENS: &str = "${made.";
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, following)) = rest.split_once(OPENS) {
        let (name, after) =
            following.split_once('}').ok_or_else(|| ExpandError::Open { text: format!("{OPENS}{following}") })?;
        let path = made
            .get(name)
            .and_then(|paths| paths.first())
            .ok_or_else(|| ExpandError::Unnamed { name: name.to_owned(), known: made.keys().cloned().collect() })?;
        done.push_str(before);
        done.push_str(path);
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}

fn with_memory(text: &str, ram_bytes: u64) -> Result<String, ExpandError> {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${ram") {
        let inside = &rest[start + "${ram".len()..];
        // `${rampart}` is another variable.
        if !inside.starts_with(['}', '*', '/', ' ']) {
            done.push_str(&rest[..start + 2]);
            rest = &rest[start + 2..];
            continue;
        }
        let malformed = |what| ExpandError::Memory { text: rest[start..].to_owned(), what };
        let end = inside.find('}').ok_or_else(|| malformed("has no closing brace"))?;
        let factor = inside[..end].trim();
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        let factor = match factor.split_at_checked(1) {
            None => Some(1.0),
            Some(("*", by)) => number(by),
            Some(("/", by)) => number(by).map(f64::recip),
            Some(_) => None,
        };
        let factor = factor.ok_or_else(|| malformed("is not a multiple of memory"))?;
        done.push_str(&rest[..start]);
        done.push_str(&((ram_bytes as f64 * factor) as u64).to_string());
        rest = &inside[end + 1..];
    }
    done.push_str(rest);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, ram_bytes: u64) -> Result<String, ExpandError> {
        super::expand(text, ram_bytes, &MadeNames::new())
    }

    #[test]
    fn multiples_of_memory() {
        assert_eq!(
            expand("size = \"${ram*2}\" ${ram} ${ram/4} ${ram * 1.5}", 1000).unwrap(),
            "size = \"2000\" 1000 250 1500"
        );
        assert_eq!(expand("-s ${ram*2}k", 8).unwrap(), "-s 16k");
    }

    // Protects texts of tools with their own `${…}` syntax.
    #[test]
    fn other_expressions_are_left_alone() {
        for text in ["${HOME}", "${rampart} ${r", "ram*2", "é${ramé}"] {
            assert_eq!(expand(text, 1).unwrap(), text);
        }
    }

    #[test]
    fn malformed_expressions_are_reported() {
        for (text, why) in [
            ("x ${ram*2", "no closing brace"),
            ("${ram*two}", "`${ram*two}` is not a multiple"),
            ("${ram*-1}", "not a multiple"),
            ("${ram 3}", "not a multiple"),
        ] {
            let message = expand(text, 1).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        }
    }

    #[test]
    fn made_names_expand_to_paths() {
        let made = MadeNames::from([("array".to_owned(), vec!["/dev/md0".to_owned()])]);
        assert_eq!(super::expand("path = \"${made.array}\"", 1, &made).unwrap(), "path = \"/dev/md0\"");
        let message = super::expand("${made.aray}", 1, &made).unwrap_err().to_string();
        assert!(message.contains("`aray`") && message.contains("known: array"), "{message}");
        assert!(super::expand("${made.array", 1, &made).unwrap_err().to_string().contains("closing brace"));
    }
}
