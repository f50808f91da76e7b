//! What a command line asks for.

use super::settings::IozoneSettings;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// To print this text and end.
    Print(String),
    /// To run tests.
    Run(Box<IozoneSettings>),
}
