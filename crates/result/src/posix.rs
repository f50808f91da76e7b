//! What `plumb posix` found (`plumb.posix/1`).

use crate::run::Tool;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Name and version of the JSON form.
pub const POSIX_SCHEMA: &str = "plumb.posix/1";

/// How a file system conforms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conformance {
    /// [`POSIX_SCHEMA`].
    pub schema: String,
    /// UUIDv7.
    pub id: String,
    /// When, RFC 3339.
    pub started_at: String,
    /// What tested it.
    pub tool: Tool,
    /// The directory that was named.
    pub path: String,
    /// The kind of its file system, such as `ext4` or `fuse.sshfs`.
    pub filesystem: String,
    /// The kernel's release.
    pub kernel: String,
    /// As whom: `root`, `user` or `user namespace`.
    pub user: String,
    /// Failures of rules of this level, and of those that bind more, count: `SHALL`, `LINUX` or `COMMON`.
    pub level: String,
    /// Time that it took, s.
    pub seconds: f64,
    /// What was probed.
    pub facts: BTreeMap<String, String>,
    /// The cases, in a fixed order.
    pub cases: Vec<PosixCase>,
    /// It was stopped before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// A case, and what became of it. Texts that do not apply are empty, and left out of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PosixCase {
    /// Its id, which never changes.
    pub id: String,
    /// How binding its rule is: `SHALL`, `LINUX` or `COMMON`.
    pub level: String,
    /// How it ended.
    pub outcome: PosixOutcome,
    /// Checks that were executed.
    pub checks: u32,
    /// Those that did not hold.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// What was checked, of the first failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// What should be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// Why it was skipped, is expected to fail, or does not work: of skipped ones `no-feature: …`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Where that is written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The case that reports what this one is blocked by.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// System calls of one that failed, as C, with what each returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PosixOutcome {
    /// A check did not hold.
    Fail,
    /// It did not end.
    Timeout,
    /// Its process died, or it executed no check.
    Broken,
    /// It failed, and did not when it was repeated.
    Flaky,
    /// It passed, and was expected to fail.
    UnexpectedPass,
    /// It failed, as expected.
    ExpectedFail,
    /// What it builds on does not work, which another case reports.
    Blocked,
    /// It cannot be tested here.
    Skip,
    /// Every check held.
    Pass,
}

impl PosixOutcome {
    /// All.
    pub const ALL: &[PosixOutcome] = PosixOutcome::VARIANTS;

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            PosixOutcome::Fail => "fail",
            PosixOutcome::Timeout => "not judged",
            PosixOutcome::Broken => "broken",
            PosixOutcome::Flaky => "flaky",
            PosixOutcome::UnexpectedPass => "unexpected pass",
            PosixOutcome::ExpectedFail => "expected failure",
            PosixOutcome::Blocked => "blocked",
            PosixOutcome::Skip => "skip",
            PosixOutcome::Pass => "pass",
        }
    }

    /// Whether something is wrong and unexpected. A case that did not end in time is neither right nor wrong.
    pub fn is_failure(self) -> bool {
        matches!(self, PosixOutcome::Fail | PosixOutcome::Broken | PosixOutcome::Flaky)
    }
}

/// How binding a level is, from 0, the most.
pub fn rank(level: &str) -> usize {
    ["SHALL", "LINUX", "COMMON"].iter().position(|known| *known == level).unwrap_or(0)
}

impl Conformance {
    /// Whether a case counts against the file system at the level that was asked for.
    pub fn counts(&self, case: &PosixCase) -> bool {
        case.outcome.is_failure() && rank(&case.level) <= rank(&self.level)
    }

    /// Cases that count against it.
    pub fn failures(&self) -> usize {
        self.cases.iter().filter(|case| self.counts(case)).count()
    }

    /// Cases of an outcome.
    pub fn count(&self, outcome: PosixOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Checks of all cases.
    pub fn checks(&self) -> u64 {
        self.cases.iter().map(|case| u64::from(case.checks)).sum()
    }
}
