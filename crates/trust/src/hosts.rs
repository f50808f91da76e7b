//! Judges a run of several hosts: each by its own evidence, and numbers alone by their sum.

use crate::host_evidence::HostEvidence;
use crate::judge::judge;
use crate::judgement::{Judgement, verdict, worst_first};
use crate::tier::{Beyond, PhaseTiers, RateTier};
use plumb_result::{Finding, Level, Limiter, Measurement, PhaseMeasurement};
use plumb_workload::{OpKind, Workload};

/// Returns a workload as this many ranks run it together: every phase has each rank's groups.
pub fn of_ranks(workload: &Workload, ranks: u32) -> Workload {
    let mut all = workload.clone();
    for phase in &mut all.phase {
        phase.workers = (0..ranks).flat_map(|_| phase.workers.iter().cloned()).collect();
    }
    all
}

/// The check for workers of one target that overlap: it depends on shared files, not on hosts.
const OF_ONE_RANK: &str = "B7";

/// A workload with its measurement.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    pub workload: &'a Workload,
    pub measurement: &'a Measurement,
}

/// Judges the measurements of the ranks of several hosts: `whole` has all of them. `one` has those whose files may be
/// the same: the workers of a single rank if ranks have their own files. Pure.
///
/// The checks of samples and series (E) use the whole: a percentile is that of all. The others use each host's own
/// evidence, and name the hosts if not all are alike.
pub fn judge_hosts(whole: Measured<'_>, one: Measured<'_>, hosts: &[HostEvidence]) -> Judgement {
    let [first, others @ ..] = hosts else {
        return Judgement {
            findings: Vec::new(),
            tiers: Vec::new(),
            limiters: Vec::new(),
            verdict: plumb_result::RunVerdict::Unknown,
            under_load: None,
        };
    };
    let judge_one = |host: &HostEvidence| judge(&host.workload, &host.measurement, &host.observations);
    let alone = judge(one.workload, one.measurement, &first.observations);
    let mut all = judge_one(first);
    let is_alone = |finding: &Finding| finding.code == OF_ONE_RANK;
    all.findings.retain(|finding| !is_alone(finding));
    if !others.is_empty() {
        let rest: Vec<Judgement> = others.iter().map(judge_one).collect();
        let judged: Vec<(&str, &Judgement)> =
            hosts.iter().map(|host| host.name.as_str()).zip(std::iter::once(&all).chain(&rest)).collect();
        let summed = judge(whole.workload, whole.measurement, &first.observations);
        let is_of_sum = |finding: &&Finding| finding.code.starts_with('E');
        let mut findings = of_hosts(&judged, |finding| !is_alone(finding) && !is_of_sum(&finding));
        findings.extend(summed.findings.iter().filter(is_of_sum).cloned());
        let phases = |of: usize| hosts.iter().map(move |host| host.measurement.phases.get(of)).collect::<Vec<_>>();
        let tiers = (0..all.tiers.len()).map(|number| tiers(number, &judged, &phases(number))).collect();
        let limiters = (0..all.limiters.len()).filter_map(|number| limiter(number, &judged)).collect();
        let loads = rest.into_iter().filter_map(|judgement| judgement.under_load).chain(all.under_load);
        let under_load = loads.max_by(|one, other| one.device_share.total_cmp(&other.device_share));
        all = Judgement { findings, tiers, limiters, verdict: all.verdict, under_load };
    }
    all.findings.extend(alone.findings.into_iter().filter(is_alone));
    worst_first(&mut all.findings);
    all.verdict = verdict(&all.findings);
    all
}

/// Returns one finding for each check and phase: the worst, with the hosts that have it.
fn of_hosts(judged: &[(&str, &Judgement)], selects: impl Fn(&Finding) -> bool) -> Vec<Finding> {
    let mut found: Vec<(Finding, Vec<&str>)> = Vec::new();
    for &(host, judgement) in judged {
        for finding in judgement.findings.iter().filter(|finding| selects(finding)) {
            match found.iter_mut().find(|(known, _)| known.code == finding.code && known.phase == finding.phase) {
                None => found.push((finding.clone(), vec![host])),
                Some((known, hosts)) if known.level == finding.level => hosts.push(host),
                Some((known, hosts)) if finding.level > known.level => {
                    (*known, *hosts) = (finding.clone(), vec![host]);
                }
                Some(_) => {}
            }
        }
    }
    let named = |(mut finding, hosts): (Finding, Vec<&str>)| {
        if hosts.len() < judged.len() && finding.level != Level::Pass {
            finding.message = format!("On {}: {}", names(&hosts), finding.message);
        }
        finding
    };
    found.into_iter().map(named).collect()
}

/// Formats `a`, `a and b`, `a, b and 7 more`.
fn names(hosts: &[&str]) -> String {
    match hosts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        [one, other, rest @ ..] => format!("{one}, {other} and {} more", rest.len()),
    }
}

/// Returns the tiers of all hosts' bytes, weighted by their number.
fn tiers(number: usize, judged: &[(&str, &Judgement)], phases: &[Option<&PhaseMeasurement>]) -> PhaseTiers {
    let mut all = judged[0].1.tiers[number].clone();
    for (kind, tier) in &mut all.tiers {
        let of_hosts: Vec<(&str, Option<&RateTier>, u64)> = judged
            .iter()
            .zip(phases)
            .map(|((host, judgement), measured)| {
                let tier = judgement.tiers.get(number).and_then(|tiers| tiers.tiers.get(kind));
                (*host, tier, measured.map_or(0, |measured| moved(measured, *kind)))
            })
            .filter(|(_, _, amount)| *amount > 0)
            .collect();
        let unseen = of_hosts.iter().find(|(_, tier, _)| tier.is_none_or(|tier| tier.device_share.is_none()));
        if let Some((host, unseen, _)) = unseen {
            let because = unseen.map_or("it was not seen there", |tier| tier.because.as_str());
            *tier = RateTier::unknown(format!("{host}: {because}"));
            continue;
        }
        let total: u64 = of_hosts.iter().map(|(_, _, amount)| amount).sum();
        let shares = of_hosts.iter().map(|(_, tier, amount)| {
            tier.and_then(|tier| tier.device_share).unwrap_or(0.0) * *amount as f64 / total.max(1) as f64
        });
        let any_server = of_hosts.iter().any(|(_, tier, _)| tier.is_some_and(|tier| tier.beyond == Beyond::Server));
        let beyond = if any_server { Beyond::Server } else { Beyond::Device };
        *tier = RateTier::of_share_beyond(
            beyond,
            shares.sum::<f64>().clamp(0.0, 1.0),
            format!("{}; {} of them together", tier.because, judged.len()),
        );
    }
    all
}

/// Returns the bytes of ops that move some, else the number of ops.
fn moved(measured: &PhaseMeasurement, kind: OpKind) -> u64 {
    measured.ops.get(&kind).map_or(0, |op| if kind.moves_bytes() { op.bytes } else { op.count })
}

/// Returns the limiter of the hosts if it was the same; otherwise that of the first, with its name.
fn limiter(number: usize, judged: &[(&str, &Judgement)]) -> Option<Limiter> {
    let first = judged[0].1.limiters.get(number)?;
    let same =
        judged.iter().all(|(_, judgement)| judgement.limiters.get(number).map(|one| one.what) == Some(first.what));
    let text = match same {
        true => format!("{}; the same on all of them", first.text),
        false => format!("on {}: {}; others differ", judged[0].0, first.text),
    };
    Some(Limiter { text, ..first.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};
    use plumb_result::{RunVerdict, Tier};

    fn host(name: &str, scene: &Scene) -> HostEvidence {
        HostEvidence {
            name: name.to_owned(),
            workload: scene.workload.clone(),
            measurement: scene.measurement.clone(),
            observations: scene.observations.clone(),
        }
    }

    fn judged(scenes: &[&Scene]) -> Judgement {
        let names = ["alpha", "beta", "gamma"];
        let hosts: Vec<HostEvidence> = names.iter().zip(scenes).map(|(name, scene)| host(name, scene)).collect();
        let all = Measured { workload: &scenes[0].workload, measurement: &scenes[0].measurement };
        judge_hosts(all, all, &hosts)
    }

    // Protects: one host that read from its cache rejects the run, and is named; healthy hosts together pass.
    #[test]
    fn one_bad_host_is_named_and_decides() {
        let (good, cached) = (Scene::reading(1000 * MIB), Scene::reading(1000 * MIB).device_read(0).own_read(0));
        assert_eq!(judged(&[&good, &good]).verdict, RunVerdict::Pass);
        let judgement = judged(&[&good, &cached, &good]);
        assert_eq!(judgement.verdict, RunVerdict::Reject);
        let a1 = judgement.findings.iter().find(|finding| finding.code == "A1").unwrap();
        assert!(a1.level == Level::Fail && a1.message.starts_with("On beta: "), "{}", a1.message);
        let tier = &judgement.tiers[0].tiers[&OpKind::Read];
        assert!(
            matches!(tier.tier, Tier::Mixed { device_share } if (device_share - 2.0 / 3.0).abs() < 0.05),
            "{tier:?}"
        );
    }

    // Protects: a finding of all hosts is reported once, without a host.
    #[test]
    fn a_finding_of_all_hosts_is_reported_once() {
        let cached = Scene::reading(1000 * MIB).device_read(0).own_read(0);
        let judgement = judged(&[&cached, &cached]);
        let a1: Vec<&Finding> = judgement.findings.iter().filter(|finding| finding.code == "A1").collect();
        assert!(a1.len() == 1 && !a1[0].message.contains("alpha"), "{a1:?}");
        assert_eq!(judgement.tiers[0].tiers[&OpKind::Read].tier, Tier::Cache);
    }

    // Protects: a host without observations leaves the tier unknown, even if all others moved bytes.
    #[test]
    fn a_blind_host_leaves_the_tier_unknown() {
        let blind = Scene::reading(1000 * MIB).unseen_devices("no /proc/diskstats").unseen_own("no /proc/self/io");
        let judgement = judged(&[&Scene::reading(1000 * MIB), &blind]);
        assert_eq!(judgement.tiers[0].tiers[&OpKind::Read].tier, Tier::Unknown);
        assert_eq!(judgement.verdict, RunVerdict::Unknown);
    }

    // Protects: ranks of a host count as separate workers, so that a host of four ranks does not lack queue depth.
    #[test]
    fn a_hosts_plan_has_the_groups_of_all_its_ranks() {
        let scene = Scene::reading(1000 * MIB);
        let four = of_ranks(&scene.workload, 4);
        assert_eq!(four.phase[0].workers.len(), 4 * scene.workload.phase[0].workers.len());
        assert_eq!(of_ranks(&scene.workload, 1), scene.workload);
    }
}
