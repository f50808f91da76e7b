//! The tests of Bonnie++, and the versions that print them.

use super::settings::BonnieSettings;
use strum::VariantArray;

/// A version of Bonnie++.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    V103,
    /// 1.97; 1.96 prints the same.
    V197,
    #[default]
    V200,
}

impl Version {
    pub fn name(self) -> &'static str {
        match self {
            Version::V103 => "1.03e",
            Version::V197 => "1.97",
            Version::V200 => "2.00a",
        }
    }

    /// Returns the version in its CSV lines, if they have one.
    pub fn format(self) -> &'static str {
        match self {
            Version::V103 => "",
            Version::V197 => "1.97",
            Version::V200 => "1.98",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Version> {
        match word {
            "1.03" | "1.03e" => Some(Version::V103),
            "1.96" | "1.97" => Some(Version::V197),
            "1.98" | "2.00" | "2.00a" => Some(Version::V200),
            _ => None,
        }
    }
}

/// A test, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Test {
    BytesOut,
    BlocksOut,
    /// Chunks are read, changed and written back.
    Rewrite,
    BytesIn,
    BlocksIn,
    Seeks,
    /// Files are created in the order of their names.
    CreateInOrder,
    /// Files are checked in directory order.
    StatInOrder,
    /// Files are removed in directory order.
    DeleteInOrder,
    /// Files are created with random names.
    CreateAtRandom,
    /// Files are checked in a shuffled order.
    StatAtRandom,
    /// Files are removed in a shuffled order.
    DeleteAtRandom,
}

impl Test {
    pub const ALL: &[Test] = Test::VARIANTS;

    /// Returns the name of its phase.
    pub fn phase(self) -> &'static str {
        match self {
            Test::BytesOut => "putc",
            Test::BlocksOut => "put-block",
            Test::Rewrite => "rewrite",
            Test::BytesIn => "getc",
            Test::BlocksIn => "get-block",
            Test::Seeks => "seeks",
            Test::CreateInOrder => "seq-create",
            Test::StatInOrder => "seq-stat",
            Test::DeleteInOrder => "seq-delete",
            Test::CreateAtRandom => "ran-create",
            Test::StatAtRandom => "ran-stat",
            Test::DeleteAtRandom => "ran-delete",
        }
    }

    /// Returns the test of a phase.
    pub fn of_phase(name: &str) -> Option<Test> {
        Test::ALL.iter().copied().find(|test| test.phase() == name)
    }

    /// Returns the message on standard error at its start.
    pub fn beginning(self, version: Version) -> &'static str {
        match (self, version) {
            (Test::BytesOut, Version::V103) => "Writing with putc()...",
            (Test::BytesOut, _) => "Writing a byte at a time...",
            (Test::BlocksOut, _) => "Writing intelligently...",
            (Test::Rewrite, _) => "Rewriting...",
            (Test::BytesIn, Version::V103) => "Reading with getc()...",
            (Test::BytesIn, _) => "Reading a byte at a time...",
            (Test::BlocksIn, _) => "Reading intelligently...",
            (Test::Seeks, _) => "start 'em...",
            (Test::CreateInOrder, _) => "Create files in sequential order...",
            (Test::StatInOrder, _) => "Stat files in sequential order...",
            (Test::DeleteInOrder, _) => "Delete files in sequential order...",
            (Test::CreateAtRandom, _) => "Create files in random order...",
            (Test::StatAtRandom, _) => "Stat files in random order...",
            (Test::DeleteAtRandom, _) => "Delete files in random order...",
        }
    }

    /// Returns the message at its end.
    pub fn ending(self, settings: &BonnieSettings) -> String {
        match self {
            Test::Seeks => format!("{}\n", "done...".repeat(settings.large.seekers as usize)),
            _ if self < Test::Seeks => "done\n".to_owned(),
            _ => "done.\n".to_owned(),
        }
    }
}
