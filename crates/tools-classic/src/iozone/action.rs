//! The action of a command line.

use super::settings::IozoneSettings;

/// The action of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Print this text and exit.
    Print(String),
    Run(Box<IozoneSettings>),
}
