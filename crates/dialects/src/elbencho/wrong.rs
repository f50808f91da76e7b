//! What is wrong with a command line.

/// What is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// No such option.
    #[error("there is no option `{given}`{}", hint(.nearest))]
    Unknown {
        /// As given.
        given: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// It may stand for several.
    #[error("`{given}` may stand for {candidates}; write it out")]
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
    #[error("--{name} takes no value but true and false; `{value}` is neither")]
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
    /// The value is no such value.
    #[error("--{name}: `{value}` is {found}; {way_out}")]
    Value {
        /// The option.
        name: &'static str,
        /// As given.
        value: String,
        /// What is wrong.
        found: &'static str,
        /// What is right.
        way_out: &'static str,
    },
    /// Not there yet.
    #[error("--{name}: not yet: {why}")]
    NotYet {
        /// The option.
        name: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Never.
    #[error("--{name}: never, because {why}")]
    Never {
        /// The option.
        name: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A file of options.
    #[error("--configfile: {0}")]
    ConfigFile(String),
    /// Options that exclude one another, or one that needs another.
    #[error("{0}")]
    Together(String),
}

pub(super) fn hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `--{name}`?"),
        None => "; --help-all tells all of them".to_owned(),
    }
}
