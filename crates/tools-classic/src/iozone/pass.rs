//! IOzone's tests, and the passes of each test.

use plumb_result::CellMetric;
use strum::VariantArray;

/// A test; the numbers are those of `-i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Test {
    /// 0: write, rewrite.
    Write,
    /// 1: read, reread.
    Read,
    /// 2: random read, random write.
    Random,
    /// 3: backward read.
    Backward,
    /// 4: record rewrite.
    RecordRewrite,
    /// 5: stride read.
    Stride,
    /// 6: fwrite, refwrite.
    Fwrite,
    /// 7: fread, refread.
    Fread,
    /// 8: mixed workload, only with several processes.
    Mix,
    /// 9: pwrite, repwrite.
    Pwrite,
    /// 10: pread, repread.
    Pread,
}

impl Test {
    /// All tests, by number.
    pub const ALL: &[Test] = Test::VARIANTS;

    pub fn number(self) -> usize {
        Test::ALL.iter().position(|test| *test == self).unwrap_or(0)
    }

    /// Returns its passes with a single process; `-+n` omits the second.
    pub fn passes(self) -> &'static [Pass] {
        match self {
            Test::Write => &[Pass::Write, Pass::Rewrite],
            Test::Read => &[Pass::Read, Pass::Reread],
            Test::Random => &[Pass::RandomRead, Pass::RandomWrite],
            Test::Backward => &[Pass::Backward],
            Test::RecordRewrite => &[Pass::RecordRewrite],
            Test::Stride => &[Pass::Stride],
            Test::Fwrite => &[Pass::Fwrite, Pass::Refwrite],
            Test::Fread => &[Pass::Fread, Pass::Refread],
            Test::Mix => &[],
            Test::Pwrite => &[Pass::Pwrite, Pass::Repwrite],
            Test::Pread => &[Pass::Pread, Pass::Repread],
        }
    }

    /// Returns the width of its columns in the table if the test is skipped.
    pub fn blank(self) -> usize {
        match self {
            Test::Backward => 9,
            Test::RecordRewrite | Test::Stride => 10,
            Test::Fread => 17,
            Test::Mix => 0,
            _ => 18,
        }
    }
}

macro_rules! passes {
    ($($pass:ident $slug:literal $title:literal $label:literal;)*) => {
        /// One measured pass over a file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Pass {
            $(#[doc = concat!("`", $slug, "`")] $pass,)*
        }

        impl Pass {
            /// All passes, in the order of the report.
            pub const ALL: &'static [Pass] = &[$(Pass::$pass,)*];

            /// Returns the name of its phases.
            pub fn slug(self) -> &'static str {
                match self { $(Pass::$pass => $slug,)* }
            }

            /// Returns the heading of its report on standard output.
            pub fn title(self) -> &'static str {
                match self { $(Pass::$pass => $title,)* }
            }

            /// Returns the heading of its report in a spreadsheet.
            pub fn label(self) -> &'static str {
                match self { $(Pass::$pass => $label,)* }
            }
        }
    };
}

passes! {
    Write "write" "Writer" "Writer Report";
    Rewrite "rewrite" "Re-writer" "Re-writer Report";
    Read "read" "Reader" "Reader Report";
    Reread "reread" "Re-Reader" "Re-reader Report";
    RandomRead "random-read" "Random read" "Random Read Report";
    RandomWrite "random-write" "Random write" "Random Write Report";
    Backward "backward-read" "Backward read" "Backward Read Report";
    RecordRewrite "record-rewrite" "Record rewrite" "Record Rewrite Report";
    Stride "stride-read" "Stride read" "Stride Read Report";
    Fwrite "fwrite" "Fwrite" "Fwrite Report";
    Refwrite "refwrite" "Re-Fwrite" "Re-fwrite Report";
    Fread "fread" "Fread" "Fread Report";
    Refread "refread" "Re-Fread" "Re-fread Report";
    Pwrite "pwrite" "Pwrite" "Pwrite Report";
    Repwrite "repwrite" "Re-Pwrite" "Re-pwrite Report";
    Pread "pread" "Pread" "Pread Report";
    Repread "repread" "Re-Pread" "Re-pread Report";
    Mix "mix" "Mixed workload" "Mixed Workload Report";
}

impl Pass {
    /// Returns the unit of its rate.
    pub fn kind(self) -> CellMetric {
        match self {
            Pass::Write => CellMetric::Write,
            Pass::Rewrite => CellMetric::Rewrite,
            Pass::Read => CellMetric::Read,
            Pass::Reread => CellMetric::Reread,
            Pass::RandomRead => CellMetric::RandomRead,
            Pass::RandomWrite => CellMetric::RandomWrite,
            Pass::Backward => CellMetric::BackwardRead,
            Pass::RecordRewrite => CellMetric::RecordRewrite,
            Pass::Stride => CellMetric::StrideRead,
            Pass::Fwrite => CellMetric::Fwrite,
            Pass::Refwrite => CellMetric::Frewrite,
            Pass::Fread => CellMetric::Fread,
            Pass::Refread => CellMetric::Freread,
            Pass::Pwrite => CellMetric::Pwrite,
            Pass::Repwrite => CellMetric::Repwrite,
            Pass::Pread => CellMetric::Pread,
            Pass::Repread => CellMetric::Repread,
            Pass::Mix => CellMetric::Mix,
        }
    }

    /// Returns the pass of a phase: `random-read-1024k-64k` is a random read.
    pub fn of_phase(name: &str) -> Option<Pass> {
        let is_of = |pass: &&Pass| {
            let sizes = name.strip_prefix(pass.slug()).and_then(|rest| rest.strip_prefix('-'));
            sizes.is_some_and(|sizes| sizes.starts_with(|digit: char| digit.is_ascii_digit()))
        };
        Pass::ALL.iter().find(is_of).copied()
    }

    pub fn writes(self) -> bool {
        use Pass::*;
        matches!(self, Write | Rewrite | RandomWrite | RecordRewrite | Fwrite | Refwrite | Pwrite | Repwrite)
    }

    /// Whether it repeats an earlier pass.
    pub fn repeats(self) -> bool {
        use Pass::*;
        matches!(self, Rewrite | Reread | Refwrite | Refread | Repwrite | Repread)
    }

    /// Returns the width of its column in the table.
    pub fn width(self) -> usize {
        match self {
            Pass::RecordRewrite | Pass::Stride => 10,
            Pass::Pread => 8,
            _ => 9,
        }
    }
}
