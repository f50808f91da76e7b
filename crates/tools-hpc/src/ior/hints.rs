//! Hints to an MPI library, as IOR takes them: from variables of the environment and from lines of a file.

use std::collections::BTreeMap;

/// What stands before a hint's name. Source: IOR's user guide, "Hints".
const BEFORE_HINTS: &str = "IOR_HINT__";
/// Kinds of hints; those of GPFS are given to MPI-IO too.
const KINDS: [&str; 2] = ["MPI__", "GPFS__"];

/// A line that begins as a hint does, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{line}` is no hint; write it as IOR_HINT__MPI__NAME=VALUE")]
pub struct NotAHint {
    /// It.
    pub line: String,
}

/// The hint of a line such as `IOR_HINT__MPI__cb_nodes = 4`; none of another one. Of hints that IOR does not know, the line.
///
/// # Errors
/// The line begins as a hint does, and is none.
fn hint(line: &str) -> Result<Option<(String, String)>, NotAHint> {
    let Some(hint) = line.strip_prefix(BEFORE_HINTS) else { return Ok(None) };
    let wrong = || NotAHint { line: line.to_owned() };
    let named = KINDS.iter().find_map(|kind| hint.strip_prefix(kind)).ok_or_else(wrong)?;
    let (name, value) = named.split_once(['=', ' ']).ok_or_else(wrong)?;
    let value = value.trim_start_matches([' ', '=']).split([' ', '=', '\t', '\r', '\n']).next().unwrap_or_default();
    if name.is_empty() || value.is_empty() { Err(wrong()) } else { Ok(Some((name.to_owned(), value.to_owned()))) }
}

/// All hints of these lines; of two with one name, the later holds.
///
/// # Errors
/// The first line that begins as a hint does, and is none.
pub fn hints<'a>(lines: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, String>, NotAHint> {
    lines.filter_map(|line| hint(line).transpose()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects hints from being lost without a word: lines as IOR reads them, and an error where one is no hint.
    #[test]
    fn hints_are_read_as_ior_reads_them() {
        let text =
            "# a comment\nIOR_HINT__MPI__cb_nodes = 4\nIOR_HINT__GPFS__x=y z\nIOR_HINT__MPI__cb_nodes=8\r\nother=1\n";
        let found = hints(text.lines()).unwrap();
        let expected = [("cb_nodes", "8"), ("x", "y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        for wrong in ["IOR_HINT__LUSTRE__a=b", "IOR_HINT__MPI__a", "IOR_HINT__MPI__a=", "IOR_HINT__MPI__=b"] {
            assert_eq!(hints([wrong].into_iter()), Err(NotAHint { line: wrong.to_owned() }));
        }
    }
}
