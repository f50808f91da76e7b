//! Rows of options, and lookup by letter or name.

use crate::Support;
use plumb_workload::suggest::nearest;

/// The kind of value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// No value: a flag that is given or not.
    Nothing,
    /// A flag that a value after `=` can set: a count, `on`, `false`.
    Flag,
    /// A whole number without a unit.
    Number,
    /// A number with a fraction.
    Ratio,
    /// A count of bytes or of things, with a suffix of powers of 1024.
    Size,
    /// Text that only the tool checks.
    Text,
    /// Words with commas between them.
    List,
    /// IOR's directives, `name=value` with commas between them; on the command line only.
    Directives,
    /// The file of a script; on the command line only.
    Script,
    /// A value with this name in help.
    Value(&'static str),
    /// An optional value, given after the `=` of the long name; the letter takes none.
    AfterEquals(&'static str),
    /// An optional value, attached to the option.
    Optional(&'static str),
    /// An optional value, attached or in the next argument, unless that is an option.
    OptionalWord(&'static str),
}

impl Takes {
    /// Returns `true` if no value has to follow.
    pub fn is_flag(self) -> bool {
        matches!(self, Takes::Nothing | Takes::Flag | Takes::AfterEquals(_))
    }

    /// Returns `true` if the option is an error without a value.
    pub fn needs_value(self) -> bool {
        !self.is_flag() && !matches!(self, Takes::Optional(_) | Takes::OptionalWord(_))
    }

    /// Returns the name of the value in help; empty if the table has none.
    pub fn value(self) -> &'static str {
        match self {
            Takes::Value(name) | Takes::AfterEquals(name) | Takes::Optional(name) | Takes::OptionalWord(name) => name,
            _ => "",
        }
    }
}

/// The end of a connection that accepts an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Both ends; also used for tools that have no ends.
    Both,
    /// The server, which waits for connections.
    Server,
    /// The client, which chooses the measurement.
    Client,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    pub letter: Option<char>,
    /// Long name, without its two dashes; empty if there is none. IOzone's names have one dash, and iostat's
    /// `+f` has none.
    pub name: &'static str,
    pub takes: Takes,
    /// Default, as help prints it; empty if there is none.
    pub default: &'static str,
    /// Effect, as help prints it.
    pub what: &'static str,
    pub support: Support,
    pub role: Role,
}

/// Returns a row with a letter and a name.
pub const fn both(letter: char, name: &'static str, takes: Takes, what: &'static str) -> Opt {
    Opt { letter: Some(letter), ..long(name, takes, what) }
}

/// Returns a row with a letter only.
pub const fn letter(letter: char, takes: Takes, what: &'static str) -> Opt {
    both(letter, "", takes, what)
}

/// Returns a row with a name only.
pub const fn long(name: &'static str, takes: Takes, what: &'static str) -> Opt {
    Opt { letter: None, name, takes, default: "", what, support: Support::Works, role: Role::Both }
}

impl Opt {
    pub const fn or(self, default: &'static str) -> Opt {
        Opt { default, ..self }
    }

    pub const fn but(self, support: Support) -> Opt {
        Opt { support, ..self }
    }

    /// Restricts the option to one end of the connection.
    pub const fn for_role(self, role: Role) -> Opt {
        Opt { role, ..self }
    }

    /// Returns the option as a user types it: by its letter, else by its name.
    pub fn written(&self) -> String {
        match self.letter {
            Some(letter) => format!("-{letter}"),
            None if self.name.starts_with('+') => self.name.to_owned(),
            None => format!("--{}", self.name),
        }
    }
}

/// The options of a tool. The rows may come from several slices.
#[derive(Debug, Clone, Copy)]
pub struct Table(pub &'static [&'static [Opt]]);

impl Table {
    pub fn rows(self) -> impl Iterator<Item = &'static Opt> {
        self.0.iter().copied().flatten()
    }

    /// Returns the option with this letter.
    pub fn lettered(self, letter: char) -> Option<&'static Opt> {
        self.rows().find(|row| row.letter == Some(letter))
    }

    /// Returns all long names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.rows().map(|row| row.name).filter(|name| !name.is_empty())
    }

    /// Returns the option with exactly this long name.
    pub fn named(self, name: &str) -> Option<&'static Opt> {
        self.rows().find(|row| row.name == name && !name.is_empty())
    }

    /// Returns the options whose names start with `name`.
    pub fn beginning(self, name: &str) -> Vec<&'static Opt> {
        self.rows().filter(|row| row.name.starts_with(name) && !name.is_empty()).collect()
    }

    /// Returns the closest long name, as a suggestion for a typo.
    pub fn nearest(self, name: &str) -> Option<&'static str> {
        nearest(name, self.names())
    }
}
