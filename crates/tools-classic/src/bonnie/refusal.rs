//! The message when nothing can run.

/// A message for standard error when nothing can run. The exit code is then 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);
