//! Failures that are expected, as data.

use crate::exit::Stopped;
use plumb_document::{FromDocument, toml};
use plumb_result::{Conformance, PosixOutcome};
use std::path::Path;

/// What Plumb knows of.
const KNOWN: &str = include_str!("known.toml");

/// A file of them.
#[derive(Debug, Default, FromDocument)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectations {
    #[serde(default)]
    expected: Vec<Expected>,
}

/// A failure that is expected.
#[derive(Debug, FromDocument)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The case, as for `--only`.
    id: String,
    /// The kind of file system, with `*`.
    #[serde(default = "any")]
    fs: String,
    /// From this release of the kernel on.
    #[serde(default)]
    kernel_min: String,
    /// Up to this release of the kernel, this one included.
    #[serde(default)]
    kernel_max: String,
    /// Why.
    reason: String,
    /// Where that is written.
    #[serde(default)]
    url: String,
    /// Whether it may pass as well.
    #[serde(default)]
    sometimes: bool,
}

fn any() -> String {
    "*".to_owned()
}

impl Expectations {
    /// None.
    pub(super) fn none() -> Expectations {
        Expectations::default()
    }

    /// Those that Plumb knows of.
    pub(super) fn known() -> Result<Expectations, Stopped> {
        Expectations::parse("known.toml", KNOWN)
    }

    /// Those of a file, before others.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), Stopped> {
        let name = path.display().to_string();
        let text = plumb_text::bounded::read_to_string(path)
            .map_err(|error| Stopped::usage(format!("cannot read {name}: {error}")))?;
        let file = Expectations::parse(&name, &text)?;
        self.expected.splice(0..0, file.expected);
        Ok(())
    }

    fn parse(name: &str, text: &str) -> Result<Expectations, Stopped> {
        let file: Expectations = toml::from_str(text).map_err(|error| Stopped::usage(format!("{name}: {error}")))?;
        let cases = plumb_posix::cases();
        for expected in &file.expected {
            if !cases.iter().any(|case| plumb_posix::selects(&expected.id, &case.id)) {
                return Err(Stopped::usage(format!(
                    "{name}: `{}` is the id of no case; `plumb posix explain` lists all",
                    expected.id
                )));
            }
        }
        Ok(file)
    }

    /// Marks what was expected, and what passes although it was not.
    pub(super) fn apply(&self, conformance: &mut Conformance) {
        let (kind, kernel) = (&conformance.filesystem, &conformance.kernel);
        let applies = |expected: &&Expected| {
            glob(&expected.fs, kind)
                && (expected.kernel_min.is_empty() || release(kernel) >= release(&expected.kernel_min))
                && (expected.kernel_max.is_empty() || release(kernel) <= release(&expected.kernel_max))
        };
        let here: Vec<&Expected> = self.expected.iter().filter(applies).collect();
        for case in &mut conformance.cases {
            let Some(expected) = here.iter().find(|expected| plumb_posix::selects(&expected.id, &case.id)) else {
                continue;
            };
            case.outcome = match case.outcome {
                outcome if outcome.is_failure() => PosixOutcome::ExpectedFail,
                PosixOutcome::Pass if !expected.sometimes => PosixOutcome::UnexpectedPass,
                _ => continue,
            };
            (case.reason, case.url) = (expected.reason.clone(), expected.url.clone());
        }
    }
}

/// `6.18.44-arch1` is 6, 18 and 44.
fn release(text: &str) -> Vec<u32> {
    let parts = text.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok());
    parts.take(3).collect()
}

/// A name with one or several `*`.
fn glob(pattern: &str, text: &str) -> bool {
    pattern == text || pattern.contains('*') && plumb_posix::selects(pattern, text)
}

/// What failed in an earlier report is no new failure.
pub(super) fn apply_baseline(conformance: &mut Conformance, baseline: &Conformance) {
    for case in conformance.cases.iter_mut().filter(|case| case.outcome.is_failure()) {
        let before = baseline.cases.iter().find(|before| before.id == case.id);
        let failed = |outcome: PosixOutcome| outcome.is_failure() || outcome == PosixOutcome::ExpectedFail;
        if before.is_some_and(|before| failed(before.outcome)) {
            case.outcome = PosixOutcome::ExpectedFail;
            case.reason = format!("fails in the baseline of {} too", baseline.started_at);
        }
    }
}

/// A file of what fails now.
pub(super) fn written(conformance: &Conformance) -> String {
    let quoted = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let mut text = format!(
        "# What fails on {} with Linux {}. Say why for each, with an address.\n",
        conformance.filesystem, conformance.kernel
    );
    for case in conformance.cases.iter().filter(|case| case.outcome.is_failure()) {
        let reason = format!("{}: expected {}, got {}", case.what, case.expected, case.got);
        text.push_str(&format!(
            "\n[[expected]]\nid = {}\nfs = {}\nreason = {}\n",
            quoted(&case.id),
            quoted(&conformance.filesystem),
            quoted(&reason)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: what comes with Plumb can be read, and each of it names a case, a reason and an address.
    #[test]
    fn what_is_known_can_be_read() {
        let known = Expectations::known().unwrap();
        assert!(known.expected.len() > 5);
        for expected in &known.expected {
            assert!(expected.reason.len() > 20 && expected.url.starts_with("https://"), "{expected:?}");
        }
    }

    #[test]
    fn releases_compare_by_number() {
        assert!(release("6.18.44-arch1") > release("6.9"));
        assert!(release("5.4") < release("5.10.1"));
        assert!(glob("fuse*", "fuse.sshfs") && !glob("ext4", "ext3") && glob("*", "xfs"));
    }
}
