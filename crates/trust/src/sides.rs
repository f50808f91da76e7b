//! What the checks found in the runs of a comparison's two sides, and which of it explains the difference.

use crate::checks::CHECKS;
use plumb_result::compare::SideCheck;
use plumb_result::short_list;
use plumb_result::{Contrast, ContrastVerdict, Finding, Level};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Checks whose finding makes a side slower than its storage, the most telling first.
const HOLDS_BACK: &[&str] = &["C12", "C2", "C3", "C7", "C9", "C6", "B9", "C1", "C5"];
/// Checks whose finding makes a side faster than its storage, the most telling first.
const LETS_OFF: &[&str] = &["A1", "A7", "A4", "A3", "A5", "A9"];
/// A finding of this share of a side's runs is the side's.
const SIDES_OWN: f64 = 0.5;

/// Gathers the findings of the runs of a comparison.
#[derive(Debug, Clone, Default)]
pub struct SideChecks {
    runs: BTreeMap<(String, String), u32>,
    found: Vec<SideCheck>,
}

impl SideChecks {
    /// Adds a run of a side. Only findings of level `warn` and `fail` are kept.
    pub fn add(&mut self, side: &str, workload: &str, findings: &[Finding]) {
        *self.runs.entry((side.to_owned(), workload.to_owned())).or_default() += 1;
        for finding in findings.iter().filter(|finding| finding.level >= Level::Warn) {
            let same = |one: &&mut SideCheck| {
                one.side == side
                    && one.workload == workload
                    && (&one.finding.code, &one.finding.phase) == (&finding.code, &finding.phase)
            };
            match self.found.iter_mut().find(same) {
                Some(known) => {
                    known.runs += 1;
                    if finding.level > known.finding.level {
                        known.finding = finding.clone();
                    }
                }
                None => self.found.push(SideCheck {
                    side: side.to_owned(),
                    workload: workload.to_owned(),
                    runs: 1,
                    of: 0,
                    finding: finding.clone(),
                }),
            }
        }
    }

    /// Everything so far: `fail` before `warn`, then what most runs have, then in the order of the codes.
    pub fn worst_first(&self) -> Vec<SideCheck> {
        let mut found = self.found.clone();
        for one in &mut found {
            one.of = self.runs.get(&(one.side.clone(), one.workload.clone())).copied().unwrap_or(one.runs);
        }
        let place = |code: &str| CHECKS.iter().position(|check| check.code == code);
        short_list::sort_by(&mut found, |one, other| {
            let key = |check: &SideCheck| (Reverse(check.finding.level), place(&check.finding.code));
            let share = |check: &SideCheck| f64::from(check.runs) / f64::from(check.of.max(1));
            key(one).0.cmp(&key(other).0).then(share(other).total_cmp(&share(one))).then(key(one).1.cmp(&key(other).1))
        });
        found
    }
}

/// The finding that explains why one side is faster: most runs of one side have it, most runs of the other do not, and it
/// points the same way as the verdict. `None` where nothing differs, or no check knows why.
pub fn cause(checks: &[SideCheck], contrasts: &[Contrast]) -> Option<SideCheck> {
    let share = |check: &SideCheck| f64::from(check.runs) / f64::from(check.of.max(1));
    let other_has_it = |check: &SideCheck| {
        checks.iter().any(|one| {
            one.side != check.side
                && one.workload == check.workload
                && (&one.finding.code, &one.finding.phase) == (&check.finding.code, &check.finding.phase)
                && share(one) >= SIDES_OWN
        })
    };
    let explains = |check: &&SideCheck, codes: &[&str], wanted: Outcome| {
        codes.contains(&check.finding.code.as_str())
            && share(check) >= SIDES_OWN
            && !other_has_it(check)
            && contrasts.iter().any(|contrast| about(contrast, check) && outcome(contrast, &check.side) == Some(wanted))
    };
    let first = |codes: &[&str], wanted: Outcome| {
        let found = checks.iter().filter(|check| explains(check, codes, wanted));
        found.min_by_key(|check| codes.iter().position(|code| *code == check.finding.code)).cloned()
    };
    first(HOLDS_BACK, Outcome::Slower).or_else(|| first(LETS_OFF, Outcome::Faster))
}

/// How a side does in a contrast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Faster,
    Slower,
}

fn outcome(contrast: &Contrast, side: &str) -> Option<Outcome> {
    let candidate = match contrast.verdict {
        ContrastVerdict::Faster => Outcome::Faster,
        ContrastVerdict::Slower => Outcome::Slower,
        ContrastVerdict::Equivalent | ContrastVerdict::CannotTell | ContrastVerdict::Fragile => return None,
    };
    match side {
        side if side == contrast.candidate => Some(candidate),
        side if side == contrast.baseline && candidate == Outcome::Faster => Some(Outcome::Slower),
        side if side == contrast.baseline => Some(Outcome::Faster),
        _ => None,
    }
}

/// The contrast is of the phase in which the check found it.
fn about(contrast: &Contrast, check: &SideCheck) -> bool {
    let of_work = contrast.workload.as_ref().is_none_or(|workload| *workload == check.workload);
    of_work && check.finding.phase.as_ref().is_none_or(|phase| *phase == contrast.phase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};
    use plumb_result::Metric;
    use plumb_workload::OpKind;

    fn contrast(verdict: ContrastVerdict) -> Contrast {
        Contrast {
            metric: Metric::bandwidth(OpKind::Read),
            phase: "p".to_owned(),
            baseline: "A".to_owned(),
            candidate: "B".to_owned(),
            baseline_value: None,
            candidate_value: None,
            baseline_cv: None,
            candidate_cv: None,
            ratio: None,
            lo: None,
            hi: None,
            confidence: 0.95,
            p: None,
            p_adjusted: None,
            p_sign_flip: None,
            verdict,
            blocks: 6,
            blocks_needed: None,
            workload: Some("random-read".to_owned()),
            unit: Default::default(),
            note: None,
            capped: None,
            floor: None,
            baseline_tier: None,
            candidate_tier: None,
            baseline_modes: Vec::new(),
            candidate_modes: Vec::new(),
            outliers: Vec::new(),
            without_outliers: None,
        }
    }

    /// Six runs of either side; the candidate's under a limit that it reached.
    fn limited() -> SideChecks {
        let limited =
            Scene::reading(100 * MIB).device_read(100 * MIB).cgroup_io("io.max 254:0 rbps=10485760").judge().findings;
        let free = Scene::reading(100 * MIB).judge().findings;
        let mut checks = SideChecks::default();
        for _ in 0..6 {
            checks.add("A", "random-read", &free);
            checks.add("B", "random-read", &limited);
        }
        checks
    }

    #[test]
    fn a_control_group_on_one_side_is_the_cause() {
        let checks = limited().worst_first();
        assert_eq!((checks[0].side.as_str(), checks[0].finding.code.as_str()), ("B", "C12"));
        assert_eq!((checks[0].runs, checks[0].of), (6, 6));
        let found = cause(&checks, &[contrast(ContrastVerdict::Slower)]).unwrap();
        assert!(found.finding.message.contains("limits reads"), "{}", found.finding.message);
    }

    #[test]
    fn a_limit_explains_no_speed_and_nothing_where_nothing_differs() {
        let checks = limited().worst_first();
        for verdict in [ContrastVerdict::Faster, ContrastVerdict::Equivalent, ContrastVerdict::CannotTell] {
            assert_eq!(cause(&checks, &[contrast(verdict)]), None, "{verdict:?}");
        }
    }

    #[test]
    fn what_both_sides_have_explains_nothing() {
        let mut checks = limited();
        let limited = checks.worst_first()[0].finding.clone();
        for _ in 0..6 {
            checks.add("A", "random-read", std::slice::from_ref(&limited));
        }
        // Six of twelve runs of the baseline have it now: as many as not.
        assert_eq!(cause(&checks.worst_first(), &[contrast(ContrastVerdict::Slower)]), None);
    }

    #[test]
    fn a_side_that_is_faster_from_memory_is_explained_by_it() {
        let cached = Scene::reading(1000 * MIB).on_loop().device_read(0).judge().findings;
        let mut checks = SideChecks::default();
        for _ in 0..6 {
            checks.add("A", "random-read", &cached);
            checks.add("B", "random-read", &[]);
        }
        let found = cause(&checks.worst_first(), &[contrast(ContrastVerdict::Slower)]).unwrap();
        assert_eq!((found.side.as_str(), found.finding.code.as_str()), ("A", "A7"));
    }
}
