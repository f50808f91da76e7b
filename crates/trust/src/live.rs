//! Findings during a run: the checks that can judge part of a phase, and the time at which each is reported.

use crate::check::Judge;
use crate::checks::CHECKS;
use crate::evidence::{Ground, PhaseView, RunView};
use plumb_result::verdict::LOAD;
use plumb_result::{Finding, Level, Measurement, Observations};
use plumb_workload::Workload;
use std::collections::{BTreeMap, BTreeSet};

/// When a check may report before the end of its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cadence {
    /// It depends on observations from before the first op or on irreversible events, and is reported at once.
    Fact,
    /// It depends on rates, which start unsteadily: it is reported when it held in two consecutive seconds.
    Rate,
    /// Like [`Cadence::Fact`], but too expensive for every second: it runs when the number of seconds
    /// is a power of two.
    Sparse,
}

/// Checks that are meaningful for part of a phase, with their cadence. The others need a whole phase: flushes at its
/// end (A3, A5), whole passes (A7, A10), its processor time (B2), its distributions (C11, E6). A code that is not
/// among [`CHECKS`] has no effect here.
const LIVE: &[(&str, Cadence)] = &[
    ("A1", Cadence::Rate),
    ("A2", Cadence::Fact),
    ("A4", Cadence::Fact),
    ("A6", Cadence::Rate),
    ("A8", Cadence::Fact),
    ("B1", Cadence::Rate),
    ("B4", Cadence::Rate),
    ("B6", Cadence::Fact),
    ("B7", Cadence::Fact),
    ("B8", Cadence::Fact),
    ("B9", Cadence::Fact),
    ("C1", Cadence::Rate),
    ("C2", Cadence::Fact),
    ("C3", Cadence::Fact),
    ("C5", Cadence::Rate),
    ("C6", Cadence::Rate),
    ("C7", Cadence::Fact),
    ("C8", Cadence::Fact),
    ("C9", Cadence::Fact),
    ("C12", Cadence::Fact),
    ("C13", Cadence::Sparse),
    ("D1", Cadence::Fact),
    ("D3", Cadence::Fact),
    ("E3", Cadence::Sparse),
];

/// The first and the last number of seconds at which [`Cadence::Sparse`] checks run: a search over a
/// series grows with its square.
const SPARSE_SECONDS: std::ops::RangeInclusive<usize> = 16..=512;

/// A finding's check and phase: it is reported once for each.
type Key = (String, Option<String>);

fn key(finding: &Finding) -> Key {
    (finding.code.clone(), finding.phase.clone())
}

/// Judges a run in progress, and reports each finding above `note` once, when it becomes true.
#[derive(Debug, Default)]
pub struct LiveJudge {
    /// Seconds of this phase so far.
    seconds: usize,
    /// True in the second before, and not reported yet.
    pending: BTreeSet<Key>,
    reported: BTreeMap<Key, Finding>,
    /// Whether the load of others was declared, and so is not reported.
    is_load_declared: bool,
}

/// Changes at the end of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhaseNews {
    /// Findings about the whole phase that were not reported before, worst first.
    pub found: Vec<Finding>,
    /// Findings reported during the phase that do not hold for the whole phase.
    pub withdrawn: Vec<Finding>,
}

impl LiveJudge {
    /// Creates a judge without earlier reports.
    pub fn new() -> LiveJudge {
        LiveJudge::default()
    }

    /// Creates a judge for a set-up that includes the load of others.
    pub fn under_declared_load() -> LiveJudge {
        LiveJudge { is_load_declared: true, ..LiveJudge::default() }
    }

    /// Judges the current phase after a second. It is the last phase of `measurement` and of `observations`: counts,
    /// bytes, intervals and errors so far, and the current counters. Returns the findings to report, worst first.
    pub fn second(
        &mut self,
        workload: &Workload,
        measurement: &Measurement,
        observations: &Observations,
    ) -> Vec<Finding> {
        let Some(phase) = PhaseView::last(workload, measurement, observations) else { return Vec::new() };
        self.seconds += 1;
        let run = (self.seconds == 1).then(|| RunView::new(workload, measurement, observations));
        let mut found = Vec::new();
        let mut pending = BTreeSet::new();
        for (code, cadence) in LIVE {
            let Some(check) = CHECKS.iter().find(|check| check.code == *code) else { continue };
            if !due(*cadence, phase.measured.intervals.len()) {
                continue;
            }
            for judge in check.judges {
                let finding = match (judge, &run) {
                    (Judge::Phase(look), _) => check.finding(Some(&phase.measured.name), look(&phase)),
                    (Judge::Run(look), Some(run)) => check.finding(None, look(run)),
                    _ => None,
                };
                let Some(finding) = finding.filter(|finding| self.is_worth_reporting(finding)) else { continue };
                let key = key(&finding);
                if self.reported.contains_key(&key) {
                    continue;
                }
                if *cadence == Cadence::Rate && !self.pending.contains(&key) {
                    pending.insert(key);
                } else {
                    found.push(finding);
                }
            }
        }
        self.pending = pending;
        self.report(found)
    }

    /// Judges the last phase of `measurement` after its end.
    pub fn phase_ended(
        &mut self,
        workload: &Workload,
        measurement: &Measurement,
        observations: &Observations,
    ) -> PhaseNews {
        self.seconds = 0;
        self.pending.clear();
        let Some(phase) = PhaseView::last(workload, measurement, observations) else { return PhaseNews::default() };
        let name = &phase.measured.name;
        let findings: Vec<Finding> = CHECKS
            .iter()
            .flat_map(|check| check.judges.iter().map(move |judge| (check, judge)))
            .filter_map(|(check, judge)| match judge {
                Judge::Phase(look) => check.finding(Some(name), look(&phase)),
                Judge::Run(_) | Judge::Comparison(_) => None,
            })
            .filter(|finding| self.is_worth_reporting(finding))
            .collect();
        let holds = |reported: &Finding| findings.iter().any(|finding| finding.code == reported.code);
        let withdrawn: Vec<Finding> = self
            .reported
            .values()
            .filter(|reported| reported.phase.as_ref() == Some(name) && !holds(reported))
            .cloned()
            .collect();
        for finding in &withdrawn {
            self.reported.remove(&key(finding));
        }
        let new = findings.into_iter().filter(|finding| !self.reported.contains_key(&key(finding))).collect();
        PhaseNews { found: self.report(new), withdrawn }
    }

    /// Returns `true` if it is worth the cost to look for other processes that do I/O: the devices under the last
    /// phase moved more than it requested, and that was not reported yet.
    pub fn suspects_others(&self, workload: &Workload, measurement: &Measurement, observations: &Observations) -> bool {
        const TOLERATED_BYTES: u64 = 1 << 20;
        let Some(phase) = PhaseView::last(workload, measurement, observations) else { return false };
        if self.is_load_declared || self.reported.contains_key(&("C1".to_owned(), Some(phase.measured.name.clone()))) {
            return false;
        }
        let (Ground::Device | Ground::Memory, Ok(device)) = (&phase.ground, &phase.traffic.device) else {
            return false;
        };
        let read = phase.traffic.own.as_ref().map_or(phase.traffic.app_read, |own| own.read_bytes);
        let expected = read + phase.traffic.app_write.saturating_mul(phase.traffic.copies);
        let beyond = (device.read_bytes + device.write_bytes).saturating_sub(expected);
        beyond > TOLERATED_BYTES && beyond > expected / 50
    }

    fn is_worth_reporting(&self, finding: &Finding) -> bool {
        finding.level > Level::Note && !(self.is_load_declared && LOAD.contains(&finding.code.as_str()))
    }

    fn report(&mut self, mut found: Vec<Finding>) -> Vec<Finding> {
        found.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        self.reported.extend(found.iter().map(|finding| (key(finding), finding.clone())));
        found
    }
}

/// Returns `true` if a check is due after this many intervals.
fn due(cadence: Cadence, intervals: usize) -> bool {
    match cadence {
        // Even earlier observations may need some traffic to matter, so all of these run every second.
        Cadence::Fact | Cadence::Rate => true,
        Cadence::Sparse => intervals.is_power_of_two() && SPARSE_SECONDS.contains(&intervals),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};
    use plumb_result::Seen;
    use plumb_result::conditions::{Upkeep, UpkeepKind};

    fn second(judge: &mut LiveJudge, scene: &Scene) -> Vec<String> {
        let reported = judge.second(&scene.workload, &scene.measurement, &scene.observations);
        reported.into_iter().map(|finding| finding.code).collect()
    }

    fn ended(judge: &mut LiveJudge, scene: &Scene) -> PhaseNews {
        judge.phase_ended(&scene.workload, &scene.measurement, &scene.observations)
    }

    fn codes(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.code.as_str()).collect()
    }

    /// A typing error here would silence a check.
    #[test]
    fn live_codes_are_in_order_and_the_first_light_ones_exist() {
        let order = |code: &str| (code.as_bytes()[0], code[1..].parse::<u32>().unwrap());
        assert!(LIVE.is_sorted_by(|one, other| order(one.0) < order(other.0)));
        for code in ["A1", "A2", "A4", "A6", "A8", "B1", "B6", "B8", "B9", "C1", "C5", "C9", "D1"] {
            assert!(LIVE.iter().any(|(live, _)| *live == code), "{code} is not reported live");
            assert!(CHECKS.iter().any(|check| check.code == code), "{code} is not a check");
        }
    }

    #[test]
    fn a_healthy_run_has_no_findings() {
        let mut judge = LiveJudge::new();
        let scene = Scene::reading(1000 * MIB);
        for _ in 0..5 {
            assert!(second(&mut judge, &scene).is_empty());
        }
        assert_eq!(ended(&mut judge, &scene), PhaseNews::default());
    }

    /// The first second of a cold read may begin with cached data.
    #[test]
    fn a_rate_must_hold_in_two_seconds_running() {
        let (quiet, noisy) = (Scene::reading(1000 * MIB), Scene::reading(1000 * MIB).device_read(0).own_read(0));
        let mut judge = LiveJudge::new();
        assert!(second(&mut judge, &noisy).is_empty());
        assert!(second(&mut judge, &quiet).is_empty());
        assert!(second(&mut judge, &noisy).is_empty(), "one quiet second between the two");
        assert_eq!(second(&mut judge, &noisy), ["A1"]);
        assert!(second(&mut judge, &noisy).is_empty(), "once is enough");
        assert!(codes(&ended(&mut judge, &noisy).found).iter().all(|code| *code != "A1"));
    }

    #[test]
    fn facts_and_earlier_observations_are_reported_at_once() {
        let scene = Scene::reading(1000 * MIB).fault("EIO").holes(1000 * MIB).device_read(0).own_read(0).short(3);
        let mut judge = LiveJudge::new();
        let reported = second(&mut judge, &scene);
        assert!(["A4", "A8", "B9"].iter().all(|code| reported.iter().any(|one| one == code)), "{reported:?}");
        // Worst first.
        assert_eq!(reported.last().map(String::as_str), Some("A8"));
        assert!(second(&mut judge, &scene).is_empty());
    }

    /// A rebuild may begin part-way, and end before the phase does.
    #[test]
    fn a_rebuild_that_begins_during_a_phase_is_reported_in_that_second() {
        let upkeep = Upkeep { on: "md0".to_owned(), kind: UpkeepKind::Resync, detail: String::new() };
        let (quiet, rebuilding) = (Scene::reading(1000 * MIB), Scene::reading(1000 * MIB));
        let rebuilding = rebuilding.conditions(|seen| seen.meanwhile.push(upkeep.clone()));
        let mut judge = LiveJudge::new();
        assert!(second(&mut judge, &quiet).is_empty());
        assert_eq!(second(&mut judge, &rebuilding), ["C2"]);
        assert!(second(&mut judge, &rebuilding).is_empty());
    }

    /// A run is short until it is over. That, and findings that a few seconds cannot show, are
    /// not reported during the run.
    #[test]
    fn a_run_that_is_short_so_far_is_never_reported() {
        assert!(!LIVE.iter().any(|(code, _)| *code == "E7"), "it is judged over the whole run");
        let mut judge = LiveJudge::new();
        let scene = Scene::reading(100 * MIB).wall_ns(1_000_000_000);
        for _ in 0..3 {
            let reported = judge.second(&scene.workload, &scene.measurement, &scene.observations);
            assert!(reported.iter().all(|finding| finding.level > Level::Note), "{reported:?}");
            assert!(reported.is_empty(), "{reported:?}");
        }
        let news = ended(&mut judge, &scene);
        assert!(codes(&news.found).is_empty(), "{news:?}");
    }

    #[test]
    fn a_finding_that_does_not_hold_for_the_whole_phase_is_withdrawn() {
        let noisy = Scene::reading(1000 * MIB).device_read(0).own_read(0);
        let mut judge = LiveJudge::new();
        second(&mut judge, &noisy);
        assert_eq!(second(&mut judge, &noisy), ["A1"]);
        let news = ended(&mut judge, &Scene::reading(1000 * MIB));
        assert_eq!((codes(&news.withdrawn), news.found.len()), (vec!["A1"], 0));
        // In the next phase it may be found again.
        second(&mut judge, &noisy);
        assert_eq!(second(&mut judge, &noisy), ["A1"]);
    }

    #[test]
    fn findings_about_the_end_are_reported_at_the_end() {
        let scene = Scene::writing(1000 * MIB).dirty(1000 * MIB).device_write(0);
        let mut judge = LiveJudge::new();
        assert!(second(&mut judge, &scene).is_empty());
        assert!(codes(&ended(&mut judge, &scene).found).contains(&"A3"));
    }

    /// The file system's fullness is one finding of the run, not one of each phase.
    #[test]
    fn findings_of_the_run_are_reported_once() {
        let full = Scene::reading(MIB).free(0.03);
        let mut judge = LiveJudge::new();
        assert_eq!(second(&mut judge, &full), ["D1"]);
        ended(&mut judge, &full);
        assert!(second(&mut judge, &full).is_empty());
    }

    #[test]
    fn a_phase_that_the_workload_does_not_know_does_not_panic() {
        let mut scene = Scene::reading(MIB);
        scene.measured().name = "other".to_owned();
        let mut judge = LiveJudge::new();
        assert!(second(&mut judge, &scene).is_empty());
        assert_eq!(ended(&mut judge, &scene), PhaseNews::default());
    }

    #[test]
    fn only_traffic_beyond_the_own_is_suspect() {
        let suspects =
            |scene: &Scene| LiveJudge::new().suspects_others(&scene.workload, &scene.measurement, &scene.observations);
        assert!(!suspects(&Scene::reading(1000 * MIB)));
        assert!(!suspects(&Scene::reading(1000 * MIB).device_read(1010 * MIB)));
        assert!(suspects(&Scene::reading(1000 * MIB).device_read(1030 * MIB)));
        assert!(suspects(&Scene::writing(1000 * MIB).device_write(1030 * MIB)));
        // After the report, names would change nothing.
        let busy = Scene::reading(1000 * MIB).device_read(1300 * MIB);
        let mut judge = LiveJudge::new();
        second(&mut judge, &busy);
        assert_eq!(second(&mut judge, &busy), ["C1"]);
        assert!(!judge.suspects_others(&busy.workload, &busy.measurement, &busy.observations));
        let mut blind = Scene::reading(1000 * MIB).device_read(1030 * MIB);
        blind.seen().after.devices.values_mut().for_each(|seen| *seen = Seen::no("EPERM"));
        assert!(!suspects(&blind));
    }
}
