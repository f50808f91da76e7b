//! What the words ask for.

use super::settings::Settings;

/// What the words ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// To print this text and end.
    Print(String),
    /// To run tests.
    Run(Box<Settings>),
}
