//! Reasons why an agent does not build for a client.

/// The reason why an agent does not build a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error(
        "`{field}` is `{path}`, and the agent builds only below {allowed}; its `--allow DIR` adds another directory"
    )]
    Path {
        field: &'static str,
        path: String,
        /// Directories that the agent was started for.
        allowed: String,
    },
    #[error(
        "the agent does not let clients destroy {device}{others}; its owner names it with `--allow-build {device}`"
    )]
    Device {
        device: String,
        /// The devices that are named instead.
        others: String,
    },
    #[error("{what}: the agent needs `--allow-exec` next to `--allow-build` for it, because {reason}")]
    NeedsExec { what: String, reason: &'static str },
    #[error("`{field}` is `{value}`: {expected}")]
    Value { field: &'static str, value: String, expected: &'static str },
    #[error("{what} are more than the agent builds at a time ({limit})")]
    Much { what: String, limit: String },
}

/// A step that the agent does not build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {number} ({kind}): {error}")]
pub(crate) struct RefusedStep {
    /// Number of the step, from 1.
    pub(super) number: usize,
    pub(super) kind: &'static str,
    pub(super) error: PolicyError,
}
