//! Outcomes of cases.

/// Reason why a case cannot be tested here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum SkipKind {
    /// The process lacks a capability.
    NeedsPrivilege,
    /// The process cannot become other users.
    NeedsUsers,
    /// The probe did not find the feature in the file system or the kernel.
    NoFeature,
    /// Files of this type cannot be made.
    NoType,
    /// A second file system of the same kind cannot be made.
    NoImage,
    /// A limit is too high to be reached.
    LimitTooHigh,
    /// A mount option prevents the test.
    MountOption,
}

impl SkipKind {
    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A check that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub what: String,
    pub expected: String,
    pub got: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    /// Some checks did not hold: the first few, and their total number.
    Fail(Vec<Failure>, u32),
    /// The case cannot be tested here.
    Skip(SkipKind, String),
    /// A prerequisite does not work, and another case reports that.
    Blocked {
        /// Id of the reporting case.
        by: String,
        why: String,
    },
    /// The case exceeded the time limit.
    Timeout,
    /// Its process died, or it executed no check: a defect of Plumb, or a file system that kills its users.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Index in [`crate::cases`].
    pub case: usize,
    pub outcome: Outcome,
    pub checks: u32,
    /// Whether it failed first and passed when repeated.
    pub flaky: bool,
    /// System calls of a failed case, as C, each with its result.
    pub calls: Vec<String>,
    /// Duration in µs.
    pub micros: u64,
}

/// Separator between fields of a message; names in tests do not contain this byte.
const FIELD: char = '\u{1f}';
/// Separator between parts of a field.
const PART: char = '\u{1e}';

/// Maximum number of failures and calls in a message.
const FAILURES_MAX: usize = 6;
const TEXT_MAX: usize = 4400;
/// Maximum bytes of calls in a message.
const CALLS_MAX: usize = 150_000;

impl Done {
    /// Encodes the result for the parent process.
    pub(crate) fn to_message(&self) -> String {
        let clean =
            |text: &str| -> String { text.chars().filter(|c| *c != FIELD && *c != PART).take(TEXT_MAX).collect() };
        let outcome = match &self.outcome {
            Outcome::Pass => vec!["P".to_owned()],
            Outcome::Fail(failures, count) => {
                let mut parts = vec!["F".to_owned(), count.to_string()];
                for failure in failures.iter().take(FAILURES_MAX) {
                    parts.extend([clean(&failure.what), clean(&failure.expected), clean(&failure.got)]);
                }
                parts
            }
            Outcome::Skip(kind, why) => vec!["S".to_owned(), (*kind as u8).to_string(), clean(why)],
            Outcome::Blocked { by, why } => vec!["K".to_owned(), by.clone(), clean(why)],
            Outcome::Timeout => vec!["T".to_owned()],
            Outcome::Broken(why) => vec!["B".to_owned(), clean(why)],
        };
        let mut room = CALLS_MAX;
        let fits = |call: &String| {
            room = room.saturating_sub(call.len() + 1);
            (room > 0).then(|| clean(call))
        };
        let calls: Vec<String> = self.calls.iter().map_while(fits).collect();
        let join = |parts: Vec<String>| parts.join(&PART.to_string());
        let fields =
            [self.case.to_string(), self.checks.to_string(), self.micros.to_string(), join(outcome), join(calls)];
        fields.join(&FIELD.to_string())
    }

    /// Decodes a worker's message.
    pub(crate) fn of_message(text: &str) -> Option<Done> {
        let fields: Vec<&str> = text.split(FIELD).collect();
        let [case, checks, micros, outcome, calls] = fields[..] else { return None };
        let parts: Vec<String> = outcome.split(PART).map(str::to_owned).collect();
        let part = |at: usize| parts.get(at).cloned().unwrap_or_default();
        let outcome = match part(0).as_str() {
            "P" => Outcome::Pass,
            "F" => {
                let failure = |three: &[String]| match three {
                    [what, expected, got] => {
                        Some(Failure { what: what.clone(), expected: expected.clone(), got: got.clone() })
                    }
                    _ => None,
                };
                let failures = parts.get(2..).unwrap_or_default().chunks(3).filter_map(failure).collect();
                Outcome::Fail(failures, part(1).parse().ok()?)
            }
            "S" => Outcome::Skip(SkipKind::from_repr(part(1).parse().ok()?)?, part(2)),
            "K" => Outcome::Blocked { by: part(1), why: part(2) },
            "T" => Outcome::Timeout,
            "B" => Outcome::Broken(part(1)),
            _ => return None,
        };
        let calls = calls.split(PART).filter(|call| !call.is_empty()).map(str::to_owned).collect();
        let (case, checks, micros) = (case.parse().ok()?, checks.parse().ok()?, micros.parse().ok()?);
        Some(Done { case, outcome, checks, flaky: false, calls, micros })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a worker's findings reach the report unchanged, including non-UTF-8 names.
    #[test]
    fn messages_read_back() {
        let failure = |what: &str| Failure { what: what.to_owned(), expected: String::new(), got: "EPERM".to_owned() };
        let outcomes = [
            Outcome::Pass,
            Outcome::Fail(vec![failure("mode of f"), failure("")], 9),
            Outcome::Skip(SkipKind::MountOption, "nodev".to_owned()),
            Outcome::Blocked { by: "lstat.enotdir".to_owned(), why: "lookup".to_owned() },
            Outcome::Timeout,
            Outcome::Broken("signal 7".to_owned()),
        ];
        for outcome in outcomes {
            let done =
                Done { case: 7, outcome, checks: 3, flaky: false, calls: vec!["a".into(), "b\n".into()], micros: 12 };
            assert_eq!(Done::of_message(&done.to_message()), Some(done));
        }
        assert_eq!(Done::of_message("7"), None);
    }
}
