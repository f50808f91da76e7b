//! Results of `plumb posix` (`plumb.posix/1`).

use crate::run::Tool;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Name and version of the JSON form.
pub const POSIX_SCHEMA: &str = "plumb.posix/1";

/// POSIX conformance of a file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conformance {
    /// Name and version of this form: `plumb.posix/1`.
    pub schema: String,
    /// Id of the report, a UUIDv7.
    pub id: String,
    /// Start of the tests, RFC 3339.
    pub started_at: String,
    /// Name and version of the program that tested it.
    pub tool: Tool,
    /// Directory that was tested, as typed.
    pub path: String,
    /// Type of the file system, such as `ext4` or `fuse.sshfs`.
    pub filesystem: String,
    /// Release of the running kernel.
    pub kernel: String,
    /// Privileges of the tests: `root`, `user` or `user namespace`.
    pub user: String,
    /// Requested level: `SHALL`, `LINUX` or `COMMON`. Failures count if their rule has this level or a more binding one.
    pub level: String,
    /// Duration of the tests, s.
    pub seconds: f64,
    /// Properties of the file system that were probed, by name.
    pub facts: BTreeMap<String, String>,
    /// Results of the cases, in a fixed order.
    pub cases: Vec<PosixCase>,
    /// Whether the tests were stopped before the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// Result of one case. Texts that do not apply are empty and absent from the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PosixCase {
    /// Id of the case, which never changes.
    pub id: String,
    /// Level of the rule, most binding first: `SHALL`, `LINUX` or `COMMON`.
    pub level: String,
    /// Outcome of the case's checks.
    pub outcome: PosixOutcome,
    /// Number of checks that were executed.
    pub checks: u32,
    /// Number of checks that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Description of the first check that failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// Result that the first failed check expected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// Result that the first failed check found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// Reason why the case was skipped, is expected to fail, or is broken; for skipped cases `no-feature: …`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Page that documents the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Id of the case that reports the blocking failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// System calls of a failed case, as C, with their return values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The outcome of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PosixOutcome {
    /// At least one check failed.
    Fail,
    /// The case did not finish in time.
    Timeout,
    /// The case's process died, or it executed no check.
    Broken,
    /// The case failed, but passed when repeated.
    Flaky,
    /// The case passed, but was expected to fail.
    UnexpectedPass,
    /// The case failed, as expected.
    ExpectedFail,
    /// A prerequisite does not work, which another case reports.
    Blocked,
    /// The case cannot be tested here.
    Skip,
    /// Every check of the case passed.
    Pass,
}

impl PosixOutcome {
    /// All outcomes, worst first.
    pub const ALL: &[PosixOutcome] = PosixOutcome::VARIANTS;

    /// Returns the name that reports print.
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

    /// Returns `true` for an unexpected failure. A case that did not finish in time counts neither as a failure nor as a pass.
    pub fn is_failure(self) -> bool {
        matches!(self, PosixOutcome::Fail | PosixOutcome::Broken | PosixOutcome::Flaky)
    }
}

/// Returns how binding a level is; 0 is the most binding.
pub fn rank(level: &str) -> usize {
    ["SHALL", "LINUX", "COMMON"].iter().position(|known| *known == level).unwrap_or(0)
}

impl Conformance {
    /// Returns `true` if a case counts against the file system at the requested level.
    pub fn counts(&self, case: &PosixCase) -> bool {
        case.outcome.is_failure() && rank(&case.level) <= rank(&self.level)
    }

    /// Returns the number of cases that count against the file system.
    pub fn failures(&self) -> usize {
        self.cases.iter().filter(|case| self.counts(case)).count()
    }

    /// Returns the number of cases with an outcome.
    pub fn count(&self, outcome: PosixOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Returns the number of checks in all cases.
    pub fn checks(&self) -> u64 {
        self.cases.iter().map(|case| u64::from(case.checks)).sum()
    }
}
