//! Determines the status of a run from its host's answer. Pure.

use plumb_lab::protocol::{DeviceRecord, RunAnswer};
use plumb_result::{Conformance, Level, RunResult, RunVerdict};
use plumb_store::StudyRunStatus;
use std::collections::BTreeMap;

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) status: StudyRunStatus,
    /// The reason if it failed or was rejected.
    pub(super) reason: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) result: Option<RunResult>,
    pub(super) conformance: Option<Conformance>,
    pub(super) devices: BTreeMap<String, DeviceRecord>,
}

impl Judged {
    /// Creates a failed run without a result.
    pub(super) fn failed(reason: String) -> Judged {
        Judged::without(StudyRunStatus::Failed, reason)
    }

    /// Creates a run that was skipped.
    pub(super) fn skipped(reason: &str) -> Judged {
        Judged::without(StudyRunStatus::Skipped, reason.to_owned())
    }

    fn without(status: StudyRunStatus, reason: String) -> Judged {
        Judged {
            status,
            reason: Some(reason),
            exit_code: None,
            result: None,
            conformance: None,
            devices: BTreeMap::new(),
        }
    }

    /// Judges an answer. A run has a value only if its result is complete; the result's own checks
    /// decide whether it is accepted.
    pub(super) fn from_answer(answer: RunAnswer) -> Judged {
        let (status, reason) = judge(&answer);
        let RunAnswer { exit_code, result, conformance, devices, .. } = answer;
        Judged { status, reason, exit_code: Some(exit_code), result, conformance, devices }
    }
}

/// Exit codes of commands with a complete result: done, an asserted condition is false, rejected by checks.
const WHOLE: [i32; 3] = [0, 1, 3];

fn judge(answer: &RunAnswer) -> (StudyRunStatus, Option<String>) {
    let failed = |reason: String| (StudyRunStatus::Failed, Some(reason));
    let code = answer.exit_code;
    let detail = answer.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let detail = detail.map_or(String::new(), |line| format!(": {line}"));
    // A file system that breaks rules is a finding, not a failure of the run.
    if let Some(conformance) = &answer.conformance {
        return match code {
            0 | 1 if !conformance.stopped => (StudyRunStatus::Done, None),
            _ => failed(format!("exit code {code}{detail}")),
        };
    }
    match &answer.result {
        None if code == 0 => failed(format!("it gave no result{detail}")),
        None => failed(format!("exit code {code}{detail}")),
        Some(result) if result.partial => match &result.error {
            Some(error) => failed(format!("it ended early: {error}")),
            None => failed("it was ended early by a signal".to_owned()),
        },
        Some(_) if !WHOLE.contains(&code) => failed(format!("exit code {code}{detail}")),
        Some(result) if result.verdict == RunVerdict::Reject => {
            (StudyRunStatus::Rejected, Some(rejected_because(result)))
        }
        Some(_) => (StudyRunStatus::Done, None),
    }
}

/// Returns the failed checks in one line, each once, with the first of its phases.
fn rejected_because(result: &RunResult) -> String {
    let mut codes: Vec<&str> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for finding in result.checks.iter().filter(|finding| finding.level == Level::Fail) {
        if !codes.contains(&finding.code.as_str()) {
            codes.push(&finding.code);
            reasons.push(format!("{} {}", finding.code, finding.message));
        }
    }
    reasons.join(" ")
}
