//! Undeclared differences between the compared levels (D5).

use super::evidence::StudyEvidence;
use crate::plan::{HostPlan, Levels, Plan};
use plumb_lab::Step;
use plumb_result::compare::Difference;
use plumb_result::{Finding, Level, RunResult};
use plumb_trust::{ComparisonSide, FACTORS, SideRecord, factor};
use std::collections::BTreeSet;

/// Returns facts in which a level of the compared factor differs from the baseline, although the plan changes nothing
/// that explains it. A difference between two plots of one level comes from provisioning.
pub(super) fn undeclared(evidence: &StudyEvidence) -> Vec<Difference> {
    let plan = &evidence.plan;
    let by = &plan.compare.by;
    let Some(levels) = plan.factors.iter().find(|factor| factor.name == *by).map(|factor| &factor.levels) else {
        return Vec::new();
    };
    let Some((baseline, candidates)) = levels.split_first() else { return Vec::new() };
    let mut found: Vec<Difference> = Vec::new();
    for candidate in candidates {
        let declared = declared(plan, baseline, candidate);
        let Some((one, other)) = matched(evidence, baseline, candidate) else { continue };
        let twins = [baseline, candidate].into_iter().filter_map(|level| twins(evidence, level));
        let differing = twins.flat_map(|(one, other)| differences(one, other)).map(|difference| difference.fact);
        let by_itself = BTreeSet::from_iter(differing);
        for difference in differences(one, other) {
            let known = found.iter().any(|known| known.fact == difference.fact);
            if !known && !by_itself.contains(&difference.fact) && !declared.contains(difference.factor.as_str()) {
                found.push(difference);
            }
        }
    }
    found
}

/// Returns the finding about them, if there are any.
pub(super) fn finding(undeclared: &[Difference]) -> Option<Finding> {
    let facts: Vec<&str> = undeclared.iter().map(Difference::short).collect();
    let shown = facts.iter().take(4).copied().collect::<Vec<_>>().join(", ");
    let more = if facts.len() > 4 { format!(" and {} more", facts.len() - 4) } else { String::new() };
    (!facts.is_empty()).then(|| Finding {
        code: "D5".to_owned(),
        level: Level::Warn,
        phase: None,
        at_ns: None,
        observed: format!("{shown}{more}"),
        threshold: "only what the factor declares".to_owned(),
        message: format!(
            "The sides differ in more than the factor: {shown}{more}; none of this is about the factor alone."
        ),
        remedy: "make the sides alike, or declare what differs as part of the factor".to_owned(),
        remedies: Vec::new(),
    })
}

fn differences(one: &RunResult, other: &RunResult) -> Vec<Difference> {
    let record = SideRecord::default();
    plumb_trust::differences(&side_of(one, &record), &side_of(other, &record))
}

fn side_of<'a>(result: &'a RunResult, record: &'a SideRecord) -> ComparisonSide<'a> {
    ComparisonSide { name: "", environment: &result.environment, targets: &result.target, runs: 1, record }
}

/// Finds results of two levels that are alike in everything else.
fn matched<'a>(evidence: &'a StudyEvidence, baseline: &str, candidate: &str) -> Option<(&'a RunResult, &'a RunResult)> {
    let plan = &evidence.plan;
    let by = plan.compare.by.as_str();
    let key = |run: usize| -> (String, Levels) {
        let cell = &plan.cells[plan.runs[run].cell as usize];
        (cell.workload.clone(), super::values::some_levels(cell, |name| name != by))
    };
    let has = |run: usize, level: &str| {
        plan.cells[plan.runs[run].cell as usize].levels.get(by).is_some_and(|known| known == level)
    };
    let (first, one) = evidence.accepted().find(|(run, _)| has(*run, baseline))?;
    let other = evidence.accepted().find(|(run, _)| has(*run, candidate) && key(*run) == key(first))?;
    Some((one, other.1))
}

/// Finds results of one cell on two plots.
fn twins<'a>(evidence: &'a StudyEvidence, level: &str) -> Option<(&'a RunResult, &'a RunResult)> {
    let plan = &evidence.plan;
    let cell_of = |run: usize| plan.runs[run].cell;
    let has =
        |run: usize| plan.cells[cell_of(run) as usize].levels.get(&plan.compare.by).is_some_and(|known| known == level);
    let (first, one) = evidence.accepted().find(|(run, _)| has(*run))?;
    let (_, other) = evidence
        .accepted()
        .find(|(run, _)| cell_of(*run) == cell_of(first) && plan.runs[*run].plot != plan.runs[first].plot)?;
    Some((one, other))
}

/// Returns the factor words that a plan changes between two levels: by the factor's own name, by hosts, by steps.
fn declared(plan: &Plan, baseline: &str, candidate: &str) -> BTreeSet<&'static str> {
    let by = plan.compare.by.as_str();
    let mut words: BTreeSet<&'static str> = BTreeSet::new();
    words.extend(factor(by).ok().map(|factor| factor.name));
    let of = |level: &str| {
        let others = |plot: &&crate::plan::Plot| plot.levels.get(by).is_some_and(|known| known == level);
        plan.plots.iter().find(others)
    };
    if let (Some(one), Some(other)) = (of(baseline), of(candidate)) {
        if one.host != other.host {
            let hosts = (plan.hosts.get(&one.host), plan.hosts.get(&other.host));
            words.extend(match hosts {
                // A different system: its mkfs makes different file systems, and it mounts them in its own way.
                (Some(HostPlan::Vm(one)), Some(HostPlan::Vm(other))) if one.root != other.root => {
                    &["kernel", "host", "sysctl", "os", "fs", "mount"][..]
                }
                // One machine with another kernel or disks. Only the kernel sets its parameters.
                (Some(HostPlan::Vm(_)), Some(HostPlan::Vm(_))) => &["kernel", "host", "sysctl"],
                _ => &["host", "os", "kernel", "device", "sysctl"],
            });
        }
        let alike = one.steps.len() == other.steps.len();
        for (step, unlike) in one.steps.iter().zip(&other.steps) {
            if step != unlike {
                words.extend(covered(step));
                words.extend(covered(unlike));
            }
        }
        if !alike {
            one.steps.iter().chain(&other.steps).for_each(|step| words.extend(covered(step)));
        }
    }
    // Another device, or another directory on this machine.
    if [baseline, candidate].iter().any(|level| level.starts_with("sim:")) {
        words.insert("sim");
    } else if [baseline, candidate].iter().any(|level| level.starts_with('/')) {
        words.extend(["fs", "mount", "device", "raid", "scheduler", "layout", "fullness"]);
    }
    let implied: Vec<&'static str> = FACTORS
        .iter()
        .filter(|factor| words.contains(factor.name))
        .flat_map(|factor| factor.implies)
        .copied()
        .collect();
    words.extend(implied);
    words
}

/// Returns the factors that a build step may change, by its kind in the study file. A command may change anything.
fn covered(step: &Step) -> &'static [&'static str] {
    let kind = plumb_document::json::to_value(step).ok();
    let kind = kind.as_ref().and_then(|step| step.get("kind")).and_then(|kind| kind.as_str()).unwrap_or_default();
    match kind {
        "mkfs" | "newfs" | "tune2fs" | "tune" | "zpool" | "btrfs" => &["fs", "mount"],
        "mount" | "overlay" | "tmpfs" | "nfs" => &["fs", "mount"],
        "mdadm" | "md" | "gmirror" | "raid" => &["raid"],
        "sysctl" => &["sysctl"],
        "queue" | "scheduler" | "readahead" => &["scheduler"],
        "loop" | "zram" | "lvm" | "dm" | "partition" => &["device", "layout"],
        "fill" | "age" | "precondition" => &["fullness"],
        _ => &["fs", "mount", "raid", "sysctl", "scheduler", "device", "layout", "fullness", "limits", "kernel"],
    }
}
