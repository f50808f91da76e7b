//! Errors in a command line.

/// Errors in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElbenchoUsageError {
    /// No such option.
    #[error("unknown option `{given}`{}", hint(.nearest))]
    Unknown {
        /// As given.
        given: String,
        /// The closest match.
        nearest: Option<&'static str>,
    },
    /// An abbreviation that matches several.
    #[error("`{given}` is ambiguous: {candidates}; write the name in full")]
    Ambiguous {
        /// As given.
        given: String,
        /// Names.
        candidates: String,
    },
    /// It needs a value.
    #[error("--{name} needs a value: --{name} VALUE")]
    NoValue {
        /// The option.
        name: &'static str,
    },
    /// It takes none.
    #[error("--{name} takes only true or false, not `{value}`")]
    NoSuchSwitch {
        /// The option.
        name: &'static str,
        /// As given.
        value: String,
    },
    /// Twice.
    #[error("--{name} is given twice; give it once")]
    Twice {
        /// The option.
        name: &'static str,
    },
    /// The value is invalid.
    #[error("--{name}={value}: {found}; {way_out}")]
    Value {
        /// The option.
        name: &'static str,
        /// As given.
        value: String,
        /// The problem.
        found: &'static str,
        /// The way out.
        way_out: &'static str,
    },
    /// Not supported yet.
    #[error("--{name} is not supported yet: {why}")]
    NotYet {
        /// The option.
        name: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Never.
    #[error("--{name} is not supported: {why}")]
    Never {
        /// The option.
        name: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A file of options.
    #[error("--configfile: {0}")]
    ConfigFile(String),
    /// Options that exclude each other, or one that needs another.
    #[error("{0}")]
    Together(String),
}

pub(super) fn hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `--{name}`?"),
        None => "; --help-all lists them all".to_owned(),
    }
}
