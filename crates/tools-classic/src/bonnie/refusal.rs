//! Why nothing is run.

/// Why nothing is run: what goes to standard error. The code is then 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);
