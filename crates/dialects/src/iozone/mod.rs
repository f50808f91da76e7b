//! IOzone 3.489: its words, what they mean, the calls that it makes, and what it prints.
//!
//! [`read`] takes a command line, [`lower::lower`] makes its tests phases of scripts, [`print`] prints as IOzone prints,
//! and [`published`] reads the numbers of what it has printed.
//! Where IOzone silently does something else than it was told, the meaning is taken and one line says so;
//! `--compat=strict` does and prints what IOzone does.

mod getopt;
pub mod help;
pub mod lower;
mod options;
pub mod pass;
pub mod print;
mod published;
mod settings;
mod size;
pub mod sweep;
#[cfg(test)]
mod tests;

pub use pass::{Pass, Test};
pub use published::published;
pub use settings::{Content, Mode, Rate, Settings, Telemetry};

/// What the words ask of the machine.
pub trait Machine {
    /// The text of a telemetry file.
    ///
    /// # Errors
    /// In words.
    fn file(&mut self, path: &str) -> Result<String, String>;
    /// What `uname -a` says.
    fn uname(&mut self) -> String;
    /// How many processors are online.
    fn processors(&mut self) -> u32;
}

/// What the words ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// To print this text and end.
    Print(String),
    /// To run tests.
    Run(Box<Settings>),
}

/// What is wrong with the words, as IOzone says it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wrong {
    /// What was printed before, and the message.
    pub out: String,
    /// On standard error.
    pub err: String,
    /// What it ends with.
    pub code: u8,
}

impl Wrong {
    /// A message on standard output.
    pub fn say(code: u8, text: impl Into<String>) -> Wrong {
        Wrong { out: text.into(), err: String::new(), code }
    }

    /// A refusal in words of our own, on standard error.
    pub fn refuse(code: u8, text: impl std::fmt::Display) -> Wrong {
        Wrong { out: String::new(), err: format!("iozone: {text}\n"), code }
    }
}

/// Reads a command line without the program's name.
///
/// # Errors
/// What is wrong, with the code that IOzone ends with.
pub fn read(words: &[String], machine: &mut dyn Machine) -> Result<Action, Wrong> {
    settings::read(words, machine)
}
