//! The verdict on the numbers, as the one sentence that is printed above them.

use crate::finding::{Finding, Level, RunVerdict};
use crate::under_load::{LoadDeclared, UnderLoad};

/// Codes of the checks that detect the load of other processes: on devices, and on processors.
pub const LOAD: [&str; 2] = ["C1", "C5"];

/// Evidence for a verdict's sentence.
#[derive(Clone, Copy)]
pub struct VerdictEvidence<'a> {
    /// Verdict that follows from the checks.
    pub verdict: RunVerdict,
    /// Findings of the checks, worst first.
    pub checks: &'a [Finding],
    /// Load of other processes, if it affected the numbers.
    pub under_load: Option<&'a UnderLoad>,
    /// Returns the name that the table has for a phase.
    pub row_of: &'a dyn Fn(&str) -> String,
}

impl VerdictEvidence<'_> {
    /// Returns `Trusted.`, `Measured under load from dd (pid 3705): not the device's speed.`, `Rejected: …`.
    pub fn sentence(&self) -> String {
        if let Some(load) = self.under_load.filter(|load| load.declared == LoadDeclared::Yes) {
            let rest = match self.verdict {
                RunVerdict::Pass => String::new(),
                _ => format!(" {}", self.without_load()),
            };
            return format!("{}{rest}", under_declared_load(load));
        }
        match (self.verdict, self.under_load) {
            (RunVerdict::Reject, Some(load))
                if self.of_level(Level::Fail).all(|finding| LOAD.contains(&finding.code.as_str())) =>
            {
                under_undeclared_load(load)
            }
            _ => self.without_load(),
        }
    }

    fn of_level(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.checks.iter().filter(move |finding| finding.level == level)
    }

    fn without_load(&self) -> String {
        match self.verdict {
            RunVerdict::Pass => "Trusted.".to_owned(),
            RunVerdict::Caution => format!("Trusted with a caution: {}", self.reason(Level::Warn)),
            RunVerdict::Reject => format!("Rejected: {}", self.reason(Level::Fail)),
            RunVerdict::Unknown => match self.of_level(Level::Skipped).next() {
                Some(_) => format!("Not judged: {}", self.reason(Level::Skipped)),
                None => "Not judged: there is no evidence.".to_owned(),
            },
        }
    }

    /// Returns the first finding of a level, with the name of its row.
    fn reason(&self, level: Level) -> String {
        let Some(finding) = self.of_level(level).next() else { return "a check objects.".to_owned() };
        let row = finding.phase.as_deref().map_or_else(String::new, |phase| format!("{}: ", (self.row_of)(phase)));
        let message = finding.message.strip_prefix("Not checked: ").unwrap_or(&finding.message);
        let first = message.find(". ").map_or(message, |end| &message[..end]);
        format!("{row}{} ({}).", first.trim_end_matches('.'), finding.code)
    }
}

/// Returns the sentence for numbers measured under a declared load.
pub fn under_declared_load(load: &UnderLoad) -> String {
    format!("Measured under load from {}, as declared: not the device's speed alone.", load.source())
}

/// Returns the sentence for numbers that an undeclared load affected.
pub fn under_undeclared_load(load: &UnderLoad) -> String {
    format!("Measured under load from {}: not the device's speed.", load.source())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::under_load::LoadProcess;

    fn finding(code: &str, level: Level, message: &str) -> Finding {
        Finding {
            code: code.to_owned(),
            level,
            phase: Some("seq-read".to_owned()),
            at_ns: None,
            observed: String::new(),
            threshold: String::new(),
            message: message.to_owned(),
            remedy: String::new(),
            remedies: Vec::new(),
        }
    }

    fn load(declared: LoadDeclared) -> UnderLoad {
        UnderLoad {
            declared,
            phase: "seq-read".to_owned(),
            device_share: 0.4,
            processor_share: 0.0,
            read_bytes_per_second: 0.0,
            write_bytes_per_second: 1e8,
            by: Some(LoadProcess { command: "dd".to_owned(), pid: 3705, with_children: false }),
        }
    }

    // Protects: the sentence states whether the numbers can be used, why not, and where, in the table's own names.
    #[test]
    fn a_verdict_is_one_sentence() {
        let sentence = |verdict, checks: &[Finding], under_load: Option<&UnderLoad>| {
            VerdictEvidence { verdict, checks, under_load, row_of: &|_| "Sequential 1 MiB".to_owned() }.sentence()
        };
        let c1 = finding("C1", Level::Fail, "Others used about 40 % of the device's time (3 MiB).");
        let a1 = finding("A1", Level::Fail, "60 % of the bytes read came from memory, not from sda. More.");
        assert_eq!(sentence(RunVerdict::Pass, &[], None), "Trusted.");
        let undeclared = load(LoadDeclared::No);
        assert_eq!(
            sentence(RunVerdict::Reject, std::slice::from_ref(&c1), Some(&undeclared)),
            "Measured under load from dd (pid 3705): not the device's speed."
        );
        // The kernel adds the I/O of ended children to the parent that waited for them, so the parent alone is not blamed.
        let mut by_children = undeclared.clone();
        by_children.by.as_mut().unwrap().with_children = true;
        assert_eq!(
            sentence(RunVerdict::Reject, std::slice::from_ref(&c1), Some(&by_children)),
            "Measured under load from programs run by dd (pid 3705): not the device's speed."
        );
        let from_memory = "Rejected: Sequential 1 MiB: 60 % of the bytes read came from memory, not from sda (A1).";
        assert_eq!(sentence(RunVerdict::Reject, &[a1.clone(), c1], Some(&undeclared)), from_memory);
        let declared = load(LoadDeclared::Yes);
        let as_declared = "Measured under load from dd (pid 3705), as declared: not the device's speed alone.";
        assert_eq!(sentence(RunVerdict::Pass, &[], Some(&declared)), as_declared);
        assert_eq!(sentence(RunVerdict::Reject, &[a1], Some(&declared)), format!("{as_declared} {from_memory}"));
        assert_eq!(sentence(RunVerdict::Unknown, &[], None), "Not judged: there is no evidence.");
    }
}
