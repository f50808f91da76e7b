//! Merges the workloads of several hosts, each from its own arguments, into one.

use plumb_workload::{Phase, Workload};
use std::collections::BTreeMap;

/// Returns the common workload if all hosts have the same one. Otherwise merges phase by phase, with
/// the host in each name.
pub fn together(name: &str, hosts: &mut dyn Iterator<Item = (&str, &Workload)>) -> Workload {
    let hosts: Vec<(&str, &Workload)> = hosts.collect();
    let mut all = hosts.first().map(|(_, workload)| (*workload).clone()).unwrap_or_else(|| Workload {
        name: name.to_owned(),
        description: String::new(),
        seed: 0,
        target: BTreeMap::new(),
        phase: Vec::new(),
        repeat: None,
    });
    if hosts.iter().all(|(_, workload)| workload.target == all.target && workload.phase == all.phase) {
        return all;
    }
    all.target = BTreeMap::new();
    all.phase = Vec::new();
    for (host, workload) in hosts {
        let name = |own: &str| format!("{own}@{host}");
        for (target, what) in &workload.target {
            all.target.insert(name(target), what.clone());
        }
        for (number, phase) in workload.phase.iter().enumerate() {
            let mut phase = phase.clone();
            for group in &mut phase.workers {
                group.target = name(&group.target);
                group.name = group.name.as_deref().map(name);
            }
            for companion in &mut phase.companions {
                companion.name = name(&companion.name);
            }
            match all.phase.get_mut(number) {
                None => all.phase.push(phase),
                Some(known) => {
                    let Phase { workers, companions, .. } = phase;
                    known.workers.extend(workers);
                    known.companions.extend(companions);
                }
            }
        }
    }
    all
}
