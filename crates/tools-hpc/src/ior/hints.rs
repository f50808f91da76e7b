//! Hints to an MPI library, in IOR's format: from environment variables and from lines of a file.

use std::collections::BTreeMap;

/// Prefix of hint variables. Source: IOR's user guide, "Hints".
const BEFORE_HINTS: &str = "IOR_HINT__";
/// Kinds of hints. Those of GPFS are passed to MPI-IO too.
const KINDS: [&str; 2] = ["MPI__", "GPFS__"];

/// Error for a line with a hint's prefix that is not a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{line}` is not a hint; write it as IOR_HINT__MPI__NAME=VALUE")]
pub struct NotAHint {
    pub line: String,
}

/// Returns the hint of a line such as `IOR_HINT__MPI__cb_nodes = 4`; `None` for other lines.
///
/// # Errors
/// The line has a hint's prefix, but is not a hint.
fn hint(line: &str) -> Result<Option<(String, String)>, NotAHint> {
    let Some(hint) = line.strip_prefix(BEFORE_HINTS) else { return Ok(None) };
    let invalid = || NotAHint { line: line.to_owned() };
    let named = KINDS.iter().find_map(|kind| hint.strip_prefix(kind)).ok_or_else(invalid)?;
    let (name, value) = named.split_once(['=', ' ']).ok_or_else(invalid)?;
    let value = value.trim_start_matches([' ', '=']).split([' ', '=', '\t', '\r', '\n']).next().unwrap_or_default();
    if name.is_empty() || value.is_empty() { Err(invalid()) } else { Ok(Some((name.to_owned(), value.to_owned()))) }
}

/// Returns all hints of these lines. The last one of a name counts.
///
/// # Errors
/// The first line with a hint's prefix that is not a hint.
pub fn hints<'a>(lines: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, String>, NotAHint> {
    lines.filter_map(|line| hint(line).transpose()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects against silently lost hints: lines parse as in IOR, and an invalid hint is an error.
    #[test]
    fn hints_parse_as_in_ior() {
        let text =
            "# a comment\nIOR_HINT__MPI__cb_nodes = 4\nIOR_HINT__GPFS__x=y z\nIOR_HINT__MPI__cb_nodes=8\r\nother=1\n";
        let found = hints(text.lines()).unwrap();
        let expected = [("cb_nodes", "8"), ("x", "y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        for invalid in ["IOR_HINT__LUSTRE__a=b", "IOR_HINT__MPI__a", "IOR_HINT__MPI__a=", "IOR_HINT__MPI__=b"] {
            assert_eq!(hints([invalid].into_iter()), Err(NotAHint { line: invalid.to_owned() }));
        }
    }
}
