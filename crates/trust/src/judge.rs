//! Turns evidence into findings, tiers and a verdict.

use crate::check::Judge;
use crate::checks::CHECKS;
use crate::evidence::{ComparisonView, RunView};
use crate::fidelity;
use crate::judgement::{Judgement, verdict, worst_first};
use crate::limiter::limiter;
use crate::load;
use crate::metrics::{first_done, metrics};
use crate::tier::phase_tiers;
use plumb_result::run::OpsDone;
use plumb_result::{Finding, Measurement, Observations, PhaseResult};
use plumb_workload::Workload;
use std::collections::BTreeMap;

pub use crate::checks::e1::{MIN_PLOTS_TO_CLAIM, MIN_RUNS_TO_CLAIM};
pub use crate::checks::e4::{RunModes, run_modes};
pub use crate::checks::e14::is_below_floor;

/// Judges a run. Pure: equal evidence gives equal findings.
pub fn judge(workload: &Workload, measurement: &Measurement, observations: &Observations) -> Judgement {
    let run = RunView::new(workload, measurement, observations);
    let mut findings = Vec::new();
    for check in CHECKS {
        for judge in check.judges {
            match judge {
                Judge::Phase(look) => findings.extend(
                    run.phases.iter().filter_map(|phase| check.finding(Some(&phase.measured.name), look(phase))),
                ),
                Judge::Run(look) => findings.extend(check.finding(None, look(&run))),
                Judge::Comparison(_) => {}
            }
        }
    }
    worst_first(&mut findings);
    let tiers = run.phases.iter().map(phase_tiers).collect();
    let limiters = run.phases.iter().map(limiter).collect();
    let verdict = verdict(&findings);
    Judgement { findings, tiers, limiters, verdict, under_load: load::of_run(&run) }
}

/// Judges a comparison as a whole: whether its sides are comparable and its sample is large enough. Worst first.
pub fn judge_comparison(view: &ComparisonView<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in CHECKS {
        for judge in check.judges {
            if let Judge::Comparison(look) = judge {
                findings.extend(check.finding(None, look(view)));
            }
        }
    }
    worst_first(&mut findings);
    findings
}

/// Returns the phases of a result, with the judgement's tiers on their rates.
pub fn phase_results(workload: &Workload, measurement: &Measurement, judgement: &Judgement) -> Vec<PhaseResult> {
    let known = measurement
        .phases
        .iter()
        .filter_map(|measured| Some((workload.phase.iter().find(|plan| plan.name == measured.name)?, measured)));
    known
        .zip(judgement.tiers.iter().zip(&judgement.limiters))
        .map(|((plan, measured), (tiers, limiter))| PhaseResult {
            name: measured.name.clone(),
            wall_ns: measured.wall_ns,
            metrics: metrics(plan, measured, tiers),
            done: BTreeMap::from_iter(
                measured.ops.iter().map(|(kind, op)| (*kind, OpsDone { ops: op.count, bytes: op.bytes })),
            ),
            steps: measured.steps.clone(),
            replay: measured.replay.as_ref().map(|replay| {
                let mut replay = replay.clone();
                replay.counts = None;
                replay
            }),
            network: measured.network.clone(),
            fidelity: fidelity::sheet(measured),
            first_done: first_done(measured, tiers),
            notes: measured.fallbacks.clone(),
            caches: measured.caches.clone(),
            limiter: Some(limiter.clone()),
            ranks: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};
    use plumb_result::{Level, RunVerdict, Tier};
    use plumb_workload::{CachePolicy, Flush, OpKind};

    #[test]
    fn a_healthy_run_passes() {
        for scene in [Scene::reading(1000 * MIB), Scene::writing(1000 * MIB), Scene::stats(100_000)] {
            let judgement = scene.judge();
            let worst = &judgement.findings[0];
            assert_eq!(judgement.verdict, RunVerdict::Pass, "{}: {}", worst.code, worst.message);
        }
    }

    #[test]
    fn a_hole_under_o_direct_a_cached_read_an_unflushed_write_and_an_fallocated_read_are_recognised() {
        let direct = || Scene::reading(1000 * MIB).cache(CachePolicy::Direct).device_read(0).own_read(0);
        let traps = [
            ("A4", "holes", OpKind::Read, direct().holes(1000 * MIB)),
            ("A4", "never written", OpKind::Read, direct().unwritten(1000 * MIB)),
            ("A1", "memory", OpKind::Read, Scene::reading(1000 * MIB).device_read(0).own_read(0)),
            ("A3", "still in memory", OpKind::Write, Scene::writing(1000 * MIB).device_write(0).dirty(1000 * MIB)),
        ];
        for (code, word, kind, scene) in traps {
            let judgement = scene.judge();
            let worst = &judgement.findings[0];
            assert_eq!((worst.code.as_str(), worst.level), (code, Level::Fail));
            assert!(worst.message.contains(word) && !worst.remedy.is_empty(), "{}", worst.message);
            assert_eq!(judgement.verdict, RunVerdict::Reject);
            assert_eq!(judgement.tiers[0].tiers[&kind].tier, Tier::Cache);
        }
    }

    /// Memory speed reported as memory speed is an honest number.
    #[test]
    fn asking_for_the_cache_is_not_rejected() {
        let cached =
            Scene::reading(1000 * MIB).cache(CachePolicy::Warm).resident(1000 * MIB).device_read(0).own_read(0);
        let buffered = Scene::writing(1000 * MIB).flush(Flush::None).dirty(1000 * MIB).device_write(0);
        for scene in [cached, buffered, Scene::writing(MIB).in_memory()] {
            assert_eq!(scene.judge().verdict, RunVerdict::Pass);
        }
    }

    #[test]
    fn without_decisive_evidence_the_verdict_is_unknown() {
        let blind = Scene::reading(1000 * MIB).unseen_devices("no /proc/diskstats").unseen_own("no /proc/self/io");
        assert_eq!(blind.judge().verdict, RunVerdict::Unknown);
        assert_eq!(Scene::reading(1000 * MIB).remote().judge().verdict, RunVerdict::Unknown);
        // A known failure stays a failure.
        assert_eq!(blind.fault("EIO").judge().verdict, RunVerdict::Reject);
    }

    #[test]
    fn other_skipped_checks_do_not_hide_a_pass() {
        assert_eq!(Scene::reading(1000 * MIB).unseen_kernel_log("EPERM").judge().verdict, RunVerdict::Pass);
    }

    #[test]
    fn the_worst_comes_first_and_equals_keep_the_order_of_the_table() {
        let findings = Scene::reading(1000 * MIB).device_read(0).own_read(0).short(1).judge().findings;
        assert!(findings.is_sorted_by(|one, other| one.level >= other.level));
        let order = |finding: &Finding| CHECKS.iter().position(|check| check.code == finding.code).unwrap();
        assert!(findings.is_sorted_by(|one, other| one.level > other.level || order(one) <= order(other)));
    }

    /// Longest first sentence of a finding, in characters.
    const LINE: usize = 120;

    /// Every finding must be understandable on its own.
    #[test]
    fn findings_are_whole_sentences() {
        let scenes = [
            Scene::reading(1000 * MIB).device_read(0).own_read(0).short(2).fault("EIO").swapped_pages(3).steal(0.2),
            Scene::writing(1000 * MIB).dirty(1000 * MIB).device_write(0).unseen_kernel_log("EPERM").free(0.01),
            Scene::stats(10).unseen_devices("none").unseen_cpu("none").unseen_memory("none"),
        ];
        for finding in scenes.iter().flat_map(|scene| scene.judge().findings) {
            assert!(
                finding.message.ends_with('.') && !finding.message.contains(".."),
                "{}: {}",
                finding.code,
                finding.message
            );
            assert!(finding.message.starts_with(|c: char| c.is_uppercase() || c.is_numeric()), "{}", finding.message);
            // A page shows the first sentence on a line of its own.
            let first = finding.message.split(". ").next().unwrap_or_default();
            assert!(
                finding.level < Level::Note || first.chars().count() <= LINE,
                "{}: {} characters: {first}",
                finding.code,
                first.chars().count()
            );
        }
    }

    /// A phase that the probe never observed does not count as healthy.
    #[test]
    fn a_phase_without_observations_is_unknown() {
        let mut scene = Scene::reading(1000 * MIB);
        scene.observations.phases.clear();
        assert_eq!(scene.judge().verdict, RunVerdict::Unknown);
    }

    #[test]
    fn results_carry_the_tier_of_every_byte_rate() {
        let scene = Scene::reading(1000 * MIB);
        let phases = phase_results(&scene.workload, &scene.measurement, &scene.judge());
        let rate = phases[0].metrics[&plumb_result::Metric::bandwidth(OpKind::Read)];
        assert_eq!(
            (rate.value, rate.tier),
            (Some(1000.0 * MIB as f64 / 10.0), Some(plumb_result::run::TierName::Device))
        );
    }
}
