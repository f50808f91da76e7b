//! `getc_putc`, part of Bonnie++: the cost of single bytes with six ways of transferring them.
//!
//! [`GetcPutcSettings::read`] parses its command line, [`lower`](lower::lower) turns its eight tests into phases, and
//! [`print`] prints its table and CSV line.

pub mod lower;
pub mod print;
#[cfg(test)]
mod tests;

use super::Refusal;
use super::keywords::{Options, sized};
use strum::VariantArray;

/// The emulated version.
const VERSION: &str = "2.00a";
/// Sizes are multiples of this.
const STEP_KIB: i64 = 64;
const DEFAULT_KIB: i64 = 512 << 10;
/// Maximum size of a file.
const MOST_KIB: i64 = 1 << 50;

/// A test, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum GetcPutcTest {
    Write,
    Read,
    /// `putc` in a program without threads.
    PutNoThread,
    /// `getc` in a program without threads.
    GetNoThread,
    Put,
    Get,
    PutUnlocked,
    GetUnlocked,
}

impl GetcPutcTest {
    pub const ALL: &[GetcPutcTest] = GetcPutcTest::VARIANTS;

    /// Returns the name of its phase.
    pub fn phase(self) -> &'static str {
        match self {
            GetcPutcTest::Write => "write-byte",
            GetcPutcTest::Read => "read-byte",
            GetcPutcTest::PutNoThread => "putc-no-thread",
            GetcPutcTest::GetNoThread => "getc-no-thread",
            GetcPutcTest::Put => "putc",
            GetcPutcTest::Get => "getc",
            GetcPutcTest::PutUnlocked => "putc-unlocked",
            GetcPutcTest::GetUnlocked => "getc-unlocked",
        }
    }

    /// Returns the test of a phase.
    pub fn of_phase(name: &str) -> Option<GetcPutcTest> {
        GetcPutcTest::ALL.iter().copied().find(|test| test.phase() == name)
    }

    /// Returns the message on standard error at its start.
    pub fn beginning(self) -> &'static str {
        match self {
            GetcPutcTest::Write => "Writing with write(fd, &c, 1)...",
            GetcPutcTest::Read => "Reading with read(fd, &c, 1)...",
            GetcPutcTest::PutNoThread => "Writing with putc(c, fp) no thread...",
            GetcPutcTest::GetNoThread => "Reading with getc() no thread...",
            GetcPutcTest::Put => "Writing with putc(c, fp)...",
            GetcPutcTest::Get => "Reading with getc()...",
            GetcPutcTest::PutUnlocked => "Writing with putc_unlocked(c, fp)...",
            GetcPutcTest::GetUnlocked => "Reading with getc_unlocked()...",
        }
    }

    /// Whether it fills the file.
    fn writes(self) -> bool {
        matches!(self, GetcPutcTest::Write | GetcPutcTest::PutNoThread | GetcPutcTest::Put | GetcPutcTest::PutUnlocked)
    }
}

/// Options of a `getc_putc` command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetcPutcSettings {
    /// Measure the same as 2.00a, even if it is mislabelled (`--compat=strict`).
    pub is_exact: bool,
    pub directory: Option<String>,
    /// `-s`, in KiB; a multiple of 64.
    pub size_kib: i64,
    /// `-m`; by default the machine's name.
    pub name: String,
    pub user: Option<String>,
    /// `-g`, or after the colon of `-u`.
    pub group: Option<String>,
    pub quiet: bool,
}

impl GetcPutcSettings {
    /// Parses a command line without the program name. `called` is that name, and `node` the name of the machine.
    ///
    /// # Errors
    ///
    /// Messages about arguments that are invalid.
    pub fn read(called: &str, words: &[String], node: &str) -> Result<GetcPutcSettings, Refusal> {
        let (is_exact, words) = super::keywords::without_compat(words)?;
        let mut settings = GetcPutcSettings {
            is_exact,
            directory: None,
            size_kib: DEFAULT_KIB,
            name: node.to_owned(),
            user: None,
            group: None,
            quiet: false,
        };
        let mut options = Options::new(called, "d:s:m:u:g:q", &words);
        while let Some(next) = options.next() {
            let (letter, value) = next.map_err(|error| usage(&error.to_string()))?;
            let value = value.as_deref().unwrap_or_default();
            match letter {
                'd' => settings.directory = Some(value.to_owned()),
                's' => settings.size_kib = sized(value, "m") / STEP_KIB * STEP_KIB,
                'm' => value.clone_into(&mut settings.name),
                'u' => {
                    let (user, group) =
                        value.split_once(':').map_or((value, None), |(user, group)| (user, Some(group)));
                    settings.user = Some(user.to_owned());
                    settings.group = group.map(str::to_owned).or(settings.group.take());
                }
                'g' => settings.group = Some(value.to_owned()),
                _ => settings.quiet = true,
            }
        }
        Ok(settings)
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// The tool's message, printed after switching to the requested user.
    pub fn check(&self) -> Result<(), Refusal> {
        if (STEP_KIB..=MOST_KIB).contains(&self.size_kib) { Ok(()) } else { Err(usage("")) }
    }

    /// Returns the KiB that a test moves. Tests with a call per byte move a 64th.
    pub(crate) fn moved_kib(&self, test: GetcPutcTest) -> i64 {
        if matches!(test, GetcPutcTest::Write | GetcPutcTest::Read) { self.size_kib / 64 } else { self.size_kib }
    }

    /// Returns a sentence about values that 2.00a mislabels, if any.
    pub fn correction(&self) -> Option<&'static str> {
        (!self.is_exact).then_some(
            "`putc` and `getc` take the C library's locks, as in any program with threads; getc_putc 2.00a starts no \
             thread, and measures them without",
        )
    }
}

/// Returns the usage, after the error.
pub fn usage(error: &str) -> Refusal {
    Refusal(format!(
        "{error}usage:\ngetc_putc [-d scratch-dir] [-s size(KiB)] [-m machine-name]\n\
         [-u uid-to-use:gid-to-use] [-g gid-to-use]\n\nVersion: {VERSION}\n"
    ))
}
