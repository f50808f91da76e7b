//! Rows of options, and how they are found.

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
    /// A value that help calls so.
    Value(&'static str),
    /// The same, after the `=` of a long name or left out: the letter takes nothing.
    AfterEquals(&'static str),
    /// The same, attached to the option or left out.
    Optional(&'static str),
    /// The same, or the next word if that is not an option.
    OptionalWord(&'static str),
}

impl Takes {
    /// Returns `true` for an option that no word has to follow.
    pub fn is_flag(self) -> bool {
        matches!(self, Takes::Nothing | Takes::Flag | Takes::AfterEquals(_))
    }

    /// Returns `true` for an option that is wrong without a value.
    pub fn needs_value(self) -> bool {
        !self.is_flag() && !matches!(self, Takes::Optional(_) | Takes::OptionalWord(_))
    }

    /// The name of its value in help; empty where the table has none.
    pub fn value(self) -> &'static str {
        match self {
            Takes::Value(name) | Takes::AfterEquals(name) | Takes::Optional(name) | Takes::OptionalWord(name) => name,
            _ => "",
        }
    }
}

/// Which end of a connection takes an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Both ends, and every tool without ends.
    Both,
    /// The server, which waits for connections.
    Server,
    /// The client, which says what is measured.
    Client,
}

/// One option of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    /// Its letter, after one dash.
    pub letter: Option<char>,
    /// Its name, after two dashes; empty where it has none. IOzone has one dash before names, and iostat's `+f` has none.
    pub name: &'static str,
    /// The kind of its value.
    pub takes: Takes,
    /// Its default, as help prints it; empty where it has none.
    pub default: &'static str,
    /// Its effect, as help prints it.
    pub what: &'static str,
    /// Whether Plumb supports it, or why not.
    pub support: Support,
    /// The end of a connection that takes it.
    pub role: Role,
}

/// A row with a letter and a name.
pub const fn both(letter: char, name: &'static str, takes: Takes, what: &'static str) -> Opt {
    Opt { letter: Some(letter), ..long(name, takes, what) }
}

/// A row with a letter only.
pub const fn letter(letter: char, takes: Takes, what: &'static str) -> Opt {
    both(letter, "", takes, what)
}

/// A row with a name only.
pub const fn long(name: &'static str, takes: Takes, what: &'static str) -> Opt {
    Opt { letter: None, name, takes, default: "", what, support: Support::Works, role: Role::Both }
}

impl Opt {
    /// The same with a default.
    pub const fn or(self, default: &'static str) -> Opt {
        Opt { default, ..self }
    }

    /// The same with another support.
    pub const fn but(self, support: Support) -> Opt {
        Opt { support, ..self }
    }

    /// The same for one end.
    pub const fn of(self, role: Role) -> Opt {
        Opt { role, ..self }
    }

    /// The option as a user writes it: by its letter, else by its name.
    pub fn written(&self) -> String {
        match self.letter {
            Some(letter) => format!("-{letter}"),
            None if self.name.starts_with('+') => self.name.to_owned(),
            None => format!("--{}", self.name),
        }
    }
}

/// The options of a tool: rows that may be in several places.
#[derive(Debug, Clone, Copy)]
pub struct Table(pub &'static [&'static [Opt]]);

impl Table {
    /// All rows in their order.
    pub fn rows(self) -> impl Iterator<Item = &'static Opt> {
        self.0.iter().copied().flatten()
    }

    /// The option of a letter.
    pub fn lettered(self, letter: char) -> Option<&'static Opt> {
        self.rows().find(|row| row.letter == Some(letter))
    }

    /// The names of all options that have one.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.rows().map(|row| row.name).filter(|name| !name.is_empty())
    }

    /// The option of a name.
    pub fn named(self, name: &str) -> Option<&'static Opt> {
        self.rows().find(|row| row.name == name && !name.is_empty())
    }

    /// The options whose names begin so.
    pub fn beginning(self, name: &str) -> Vec<&'static Opt> {
        self.rows().filter(|row| row.name.starts_with(name) && !name.is_empty()).collect()
    }

    /// The name that a mistyped one is closest to.
    pub fn nearest(self, name: &str) -> Option<&'static str> {
        nearest(name, self.names())
    }
}
