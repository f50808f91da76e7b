//! Options of IOR and mdtest: rows that the parser, `-h`, the documentation and the tests read.

pub use crate::support::Support;

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing, or a count with `=`; each occurrence counts one up.
    Flag,
    /// A whole number of 32 bits; suffixes as of a size.
    Number,
    /// A count of bytes or things, with a suffix of powers of 1024.
    Size,
    /// Any text.
    Text,
    /// Directives, `name=value` with commas between them; on the command line only.
    Directives,
    /// The file of a script; on the command line only.
    Script,
}

impl Takes {
    /// Whether it is read as text.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Takes::Text | Takes::Directives | Takes::Script)
    }
}

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    /// Its letter, after one dash.
    pub letter: Option<char>,
    /// Its name, after two; in IOR's scripts, its directive.
    pub name: Option<&'static str>,
    /// What it takes.
    pub takes: Takes,
    /// Its default, as help prints it.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Whether it is supported.
    pub support: Support,
}

impl Opt {
    /// What settings know it by: its letter, else its name.
    pub fn key(&self) -> String {
        match (self.letter, self.name) {
            (Some(letter), _) => letter.to_string(),
            (None, name) => name.unwrap_or_default().to_owned(),
        }
    }

    /// As a user writes it.
    pub fn written(&self) -> String {
        match (self.letter, self.name) {
            (Some(letter), _) => format!("-{letter}"),
            (None, name) => format!("--{}", name.unwrap_or_default()),
        }
    }

    /// A row of help.
    pub fn help_row(&self) -> String {
        let value = match self.takes {
            Takes::Flag => String::new(),
            _ if self.default.is_empty() => "=STRING".to_owned(),
            _ => format!("={}", self.default),
        };
        let names = match (self.letter, self.name) {
            (Some(letter), Some(name)) => format!("-{letter}, --{name}{value}"),
            (Some(letter), None) => format!("-{letter}{value}"),
            (None, name) => format!("--{}{value}", name.unwrap_or_default()),
        };
        let why = match self.support {
            Support::Works => String::new(),
            Support::Ignored(why) => format!(" (ignored: {why})"),
            Support::NotYet(why) => format!(" (not yet: {why})"),
            Support::Never(why) => format!(" (never: {why})"),
        };
        format!("  {names:<30}{}{why}\n", self.what)
    }
}

/// A row.
const fn long(name: &'static str, takes: Takes, default: &'static str, what: &'static str, support: Support) -> Opt {
    Opt { letter: None, name: Some(name), takes, default, what, support }
}

/// Options of the back ends, which both tools take.
#[rustfmt::skip]
pub const BACKENDS: &[Opt] = &[
    long("posix.odirect", Takes::Flag, "", "Open files with O_DIRECT", Support::Works),
    long("posix.rangelocks", Takes::Flag, "", "Lock the range of each transfer", Support::NotYet("leave it out")),
    long("dummy.delay-only-rank0", Takes::Flag, "", "Delay only rank 0", Support::NotYet("the delays are of every rank")),
    long("dummy.delay-create", Takes::Number, "0", "Delay of a create of DUMMY, µs", Support::Works),
    long("dummy.delay-close", Takes::Number, "0", "Delay of a close of DUMMY, µs", Support::Works),
    long("dummy.delay-sync", Takes::Number, "0", "Delay of a sync of DUMMY, µs", Support::Works),
    long("dummy.delay-xfer", Takes::Number, "0", "Delay of a transfer of DUMMY, µs", Support::Works),
    long("mpiio.showHints", Takes::Flag, "", "Print the hints that are given, and those of the opened file", Support::Works),
    long("mpiio.preallocate", Takes::Flag, "", "Reserve the space of a file as it is opened for writing", Support::Works),
    long("mpiio.useStridedDatatype", Takes::Flag, "", "With useFileView, move one transfer of every segment in a call", Support::Works),
    long("mpiio.useFileView", Takes::Flag, "", "Show each task only its own blocks (MPI_File_set_view)", Support::Works),
    long("mpiio.hintsFileName", Takes::Text, "", "A file of hints, a line each: IOR_HINT__MPI__NAME=VALUE", Support::Works),
    long("mmap.madv_dont_need", Takes::Flag, "", "Advise MADV_DONTNEED", Support::Works),
    long("mmap.madv_pattern", Takes::Flag, "", "Advise the pattern: random or sequential", Support::Works),
    long("plumb-ranks", Takes::Number, "1", "Ranks, as threads of this process (Plumb's own option)", Support::Works),
];

/// What `-h` of a tool prints of these options.
pub fn help(tool: &str, rows: &[&[Opt]]) -> String {
    let lines = |are_flags: bool| -> String {
        let of_kind = rows.iter().copied().flatten().filter(|row| (row.takes == Takes::Flag) == are_flags);
        of_kind.map(Opt::help_row).collect()
    };
    format!("Synopsis {tool}\n\nFlags\n{}\nOptional arguments\n{}", lines(true), lines(false))
}
