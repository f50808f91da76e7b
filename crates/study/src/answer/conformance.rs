//! Outcomes of works that test conformance: the rules that each set-up keeps.

use super::StudyEvidence;
use super::messages::side;
use crate::plan::{Levels, Plan};
use plumb_lab::protocol::HostWork;
use plumb_result::posix::rank;
use plumb_result::study::{DifferingCase, OutcomeCount, SetupConformance, StudyConformance};
use plumb_result::{Conformance, PosixCase, PosixOutcome};
use std::collections::{BTreeMap, BTreeSet};

/// The runs of one work on one set-up.
struct Setup<'a> {
    levels: &'a Levels,
    reports: Vec<&'a Conformance>,
}

/// Returns an entry for each work that tests rules and has a report.
pub(super) fn conformance(evidence: &StudyEvidence) -> Vec<StudyConformance> {
    let plan = &evidence.plan;
    let mut works: Vec<(&str, Vec<Setup<'_>>)> = Vec::new();
    for (run, record) in plan.runs.iter().zip(&evidence.records) {
        let Some(report) = &record.conformance else { continue };
        let workload = plan.cells[run.cell as usize].workload.as_str();
        let levels = &plan.plots[run.plot as usize].levels;
        let at = works.iter().position(|(known, _)| *known == workload).unwrap_or_else(|| {
            works.push((workload, Vec::new()));
            works.len() - 1
        });
        let setups = &mut works[at].1;
        match setups.iter_mut().find(|setup| setup.levels == levels) {
            Some(setup) => setup.reports.push(report),
            None => setups.push(Setup { levels, reports: vec![report] }),
        }
    }
    works
        .into_iter()
        .map(|(workload, mut setups)| {
            // In the factors' order of levels, whatever the order of the plots was.
            setups.sort_by_key(|setup| place(plan, setup.levels));
            work_conformance(workload, &setups)
        })
        .collect()
}

/// Returns the positions of levels in the lists of their factors.
fn place(plan: &Plan, levels: &Levels) -> Vec<usize> {
    let of = |name: &String, list: &[String]| list.iter().position(|level| Some(level) == levels.get(name));
    plan.factors.iter().filter_map(|factor| of(&factor.name, &factor.levels)).collect()
}

fn work_conformance(workload: &str, setups: &[Setup<'_>]) -> StudyConformance {
    let ended: Vec<BTreeMap<&str, Ended<'_>>> = setups.iter().map(|setup| ended(&setup.reports)).collect();
    let reports = setups.iter().flat_map(|setup| &setup.reports);
    let mut seen = BTreeSet::new();
    let ids = reports.flat_map(|report| &report.cases).map(|case| case.id.as_str()).filter(|id| seen.insert(*id));
    let mut differing: Vec<DifferingCase> = ids.filter_map(|id| differing(id, &ended)).collect();
    differing.sort_by_key(|case| (!case.fails, rank(&case.level)));
    StudyConformance {
        workload: workload.to_owned(),
        setups: setups.iter().zip(&ended).map(|(setup, ended)| setup_conformance(setup, ended)).collect(),
        differing,
    }
}

/// Outcome of a case over all runs of a set-up.
struct Ended<'a> {
    outcome: PosixOutcome,
    /// The run that shows the outcome.
    case: &'a PosixCase,
}

fn ended<'a>(reports: &[&'a Conformance]) -> BTreeMap<&'a str, Ended<'a>> {
    let mut ended: BTreeMap<&str, Ended<'_>> = BTreeMap::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        let Some(known) = ended.get_mut(case.id.as_str()) else {
            ended.insert(&case.id, Ended { outcome: case.outcome, case });
            continue;
        };
        // A timeout does not contradict another outcome.
        if known.outcome == PosixOutcome::Timeout {
            *known = Ended { outcome: case.outcome, case };
        } else if known.outcome != case.outcome && case.outcome != PosixOutcome::Timeout {
            // The worse of two outcomes needs an explanation.
            let worse = if case.outcome < known.case.outcome { case } else { known.case };
            *known = Ended { outcome: PosixOutcome::Flaky, case: worse };
        }
    }
    ended
}

fn setup_conformance(setup: &Setup<'_>, ended: &BTreeMap<&str, Ended<'_>>) -> SetupConformance {
    let first = setup.reports[0];
    let counts = PosixOutcome::ALL.iter().copied().map(|outcome| OutcomeCount {
        outcome,
        cases: ended.values().filter(|one| one.outcome == outcome).count() as u32,
    });
    let failing = |one: &&Ended<'_>| one.outcome.is_failure() && rank(&one.case.level) <= rank(&first.level);
    let mut rules: Vec<&str> = ended.values().filter(failing).map(|one| rule(&one.case.id)).collect();
    let failures = rules.len() as u32;
    rules.dedup();
    SetupConformance {
        levels: setup.levels.clone(),
        filesystem: first.filesystem.clone(),
        kernel: first.kernel.clone(),
        runs: setup.reports.len() as u32,
        counts: counts.filter(|count| count.cases > 0).collect(),
        failures,
        broken_rules: rules.len() as u32,
        reports: setup.reports.iter().map(|report| report.id.clone()).collect(),
    }
}

/// Returns the id without its part in brackets.
fn rule(id: &str) -> &str {
    id.split('[').next().unwrap_or(id)
}

/// Returns a case that fails on some set-up, or has different outcomes on two of them.
fn differing(id: &str, setups: &[BTreeMap<&str, Ended<'_>>]) -> Option<DifferingCase> {
    let of: Vec<Option<&Ended<'_>>> = setups.iter().map(|ended| ended.get(id)).collect();
    let outcomes: Vec<Option<PosixOutcome>> = of.iter().map(|one| one.map(|one| one.outcome)).collect();
    let is_bad = |outcome: &PosixOutcome| *outcome <= PosixOutcome::Blocked;
    let fails = outcomes.iter().flatten().any(is_bad);
    let same = outcomes.windows(2).all(|pair| pair[0] == pair[1]);
    if !fails && same {
        return None;
    }
    let worst = of.iter().flatten().min_by_key(|one| one.outcome)?;
    Some(DifferingCase {
        id: id.to_owned(),
        level: worst.case.level.clone(),
        fails,
        outcomes,
        found: found(worst.case),
    })
}

/// Returns the observation, or the reason why there is none.
fn found(case: &PosixCase) -> String {
    let PosixCase { what, expected, got, reason, by, .. } = case;
    match case.outcome {
        _ if !by.is_empty() => format!("blocked by {by}: {reason}"),
        _ if !reason.is_empty() => reason.clone(),
        _ if what.is_empty() => case.outcome.name().to_owned(),
        _ => format!("{what}: expected {expected}, got {got}"),
    }
}

/// Returns a sentence for each work: the set-ups that break rules, and how many.
pub(super) fn answer(plan: &Plan, all: &[StudyConformance]) -> Vec<String> {
    all.iter().map(|one| sentence(plan, one)).collect()
}

fn sentence(plan: &Plan, one: &StudyConformance) -> String {
    let name = |setup: &SetupConformance| {
        let names: Vec<String> = setup.levels.iter().map(|(factor, level)| side(factor, level)).collect();
        if names.is_empty() { setup.filesystem.clone() } else { names.join(", ") }
    };
    let (broken, whole): (Vec<&SetupConformance>, Vec<&SetupConformance>) =
        one.setups.iter().partition(|setup| setup.failures > 0);
    let plural = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut parts: Vec<String> = broken
        .into_iter()
        .map(|setup| {
            let (rules, cases) = (plural(setup.broken_rules, "rule"), plural(setup.failures, "case"));
            format!("{} breaks {rules} ({cases})", name(setup))
        })
        .collect();
    let words = plan.runs.iter().find_map(|run| match &run.work {
        HostWork::Conformance(work) if plan.cells[run.cell as usize].workload == one.workload => Some(&work.level),
        _ => None,
    });
    let of = match words.map(String::as_str) {
        Some("shall") => "POSIX",
        Some("common") => "POSIX, Linux's manual and what is common",
        _ => "POSIX and Linux's manual",
    };
    if !whole.is_empty() {
        let keep = if whole.len() == 1 { "breaks" } else { "break" };
        parts.push(format!("{} {keep} none", whole.into_iter().map(name).collect::<Vec<_>>().join("; ")));
    }
    format!("Rules of {of} ({}): {}.", one.workload, parts.join("; "))
}
