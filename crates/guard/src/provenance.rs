//! The known history of a file, as named in a refusal.

use std::fmt;

/// The known history of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// Plumb did not make it.
    Foreign,
    /// A run made or took it, and it has changed since.
    Changed,
    /// A run that made or took it was killed, so changes since then cannot be detected.
    Killed,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Provenance::Foreign => "Plumb did not make it",
            Provenance::Changed => "it is no longer as Plumb left it",
            Provenance::Killed => "the run that used it was killed, so later changes cannot be detected",
        })
    }
}
