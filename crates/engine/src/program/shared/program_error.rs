//! Errors from compiling the programs of a phase. The validator should have found them.

/// Error in a program over shared file sets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("workers that share file sets are threads; remove `run-as`")]
    Processes,
    #[error("a step is not for file sets that all workers share; use `shared` steps")]
    OtherStep,
    #[error("it has more repeated steps than can be counted; use fewer")]
    TooManySteps,
    #[error("`{0}` is not a shared file set; name a `[target.NAME.shared-tree]`")]
    NotShared(String),
    #[error("no step `{0}` of this phase waits; name a `sleep` or a `take` step")]
    NobodyWaits(String),
    #[error("the program has no step `{0}` to count; name one of its steps")]
    NotCounted(String),
}
