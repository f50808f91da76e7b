/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElbenchoUsageError {
    /// The option does not exist.
    #[error("unknown option `{given}`{}", hint(.nearest))]
    Unknown { given: String, nearest: Option<&'static str> },
    /// An abbreviation matches several options.
    #[error("`{given}` is ambiguous: {candidates}; write the name in full")]
    Ambiguous { given: String, candidates: String },
    #[error("--{name} needs a value: --{name} VALUE")]
    NoValue { name: &'static str },
    /// A flag has a value other than true or false.
    #[error("--{name} takes only true or false, not `{value}`")]
    NoSuchSwitch { name: &'static str, value: String },
    /// The option is given twice.
    #[error("--{name} is given twice; give it once")]
    Twice { name: &'static str },
    #[error("--{name}={value}: {found}; {way_out}")]
    Value { name: &'static str, value: String, found: &'static str, way_out: &'static str },
    /// The option is not supported yet.
    #[error("--{name} is not supported yet: {why}")]
    NotYet {
        name: &'static str,
        /// Reason, with a hint.
        why: &'static str,
    },
    /// The option will not be supported.
    #[error("--{name} is not supported: {why}")]
    Never { name: &'static str, why: &'static str },
    /// An options file cannot be read or parsed.
    #[error("--configfile: {0}")]
    ConfigFile(String),
    /// Options exclude each other, or one needs another.
    #[error("{0}")]
    Together(String),
}

pub(super) fn hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `--{name}`?"),
        None => "; --help-all lists them all".to_owned(),
    }
}
