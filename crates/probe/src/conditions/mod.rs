//! State of the machine and its disks around a phase: rebuilds, due jobs, heat, health, power.
//!
//! Full readings are taken before the clock starts and after it stops. While it runs, only a few sysfs files
//! are read once a second. A disk answers queries for health and temperature itself, so these happen only
//! while the clock is stopped.

mod health;
mod heat;
mod lazy_init;
mod power;
mod processes;
mod processors;
mod timers;
mod upkeep;

use crate::census::Census;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::{Conditions, PhaseConditions, TimerDue, Upkeep, UpkeepKind};
use plumb_result::observe::{LayerKind, TargetFacts};
use processes::{Processes, Wanted};
use processors::Frequencies;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

/// Watches the state of the machine over a run: [`begin`](ConditionWatch::begin) before each phase's clock,
/// [`tick`](ConditionWatch::tick) once a second, [`finish`](ConditionWatch::finish) after it.
#[derive(Debug, Clone)]
pub struct ConditionWatch {
    sys: Sysroot,
    places: upkeep::Places,
    ext4: BTreeSet<String>,
    /// Leaf devices that may report health and temperature.
    leaves: Vec<String>,
    /// Read when the first phase begins, since that starts a process.
    timers: Option<Seen<Vec<TimerDue>>>,
    declared: Vec<UpkeepKind>,
    frequencies: Frequencies,
    phase: PhaseConditions,
}

impl ConditionWatch {
    /// Creates a watch for the storage under a run's targets.
    pub fn for_targets<'a>(targets: impl IntoIterator<Item = &'a TargetFacts>) -> ConditionWatch {
        ConditionWatch::for_targets_in(&Sysroot::real(), targets)
    }

    /// Like [`ConditionWatch::for_targets`], for the machine described by a tree of files.
    pub fn for_targets_in<'a>(sys: &Sysroot, targets: impl IntoIterator<Item = &'a TargetFacts>) -> ConditionWatch {
        let targets: Vec<TargetFacts> = targets.into_iter().cloned().collect();
        let mut leaves: Vec<String> = Vec::new();
        for facts in &targets {
            let real = |layer: &&plumb_result::observe::BlockLayer| {
                facts.leaves.contains(&layer.name) && layer.kind != LayerKind::Sim && !leaves.contains(&layer.name)
            };
            let found: Vec<String> = facts.stack.iter().filter(real).map(|layer| layer.name.clone()).collect();
            leaves.extend(found);
        }
        ConditionWatch {
            sys: sys.clone(),
            places: upkeep::Places::find(sys, &targets),
            ext4: lazy_init::devices(&targets),
            leaves,
            timers: None,
            declared: Vec::new(),
            frequencies: Frequencies::default(),
            phase: PhaseConditions::default(),
        }
    }

    /// Declares kinds of upkeep as a factor of the study: they are intentional.
    pub fn declare(&mut self, kinds: impl IntoIterator<Item = UpkeepKind>) {
        self.declared.extend(kinds);
    }

    /// Takes the reading before a phase. The result has no `after` yet.
    pub fn begin(&mut self, census: &Census) -> PhaseConditions {
        let sys = &self.sys;
        let timers = self.timers.get_or_insert_with(|| timers::read_timers(sys)).clone();
        self.frequencies = Frequencies::default();
        self.phase = PhaseConditions {
            before: self.read(census),
            timers,
            declared: self.declared.clone(),
            ..PhaseConditions::default()
        };
        self.phase.clone()
    }

    /// Takes a quick reading of a few sysfs files while the clock runs. Returns the upkeep seen so far.
    pub fn tick(&mut self) -> &[Upkeep] {
        self.frequencies.tick(&self.sys);
        for now in self.places.visible_work(&self.sys) {
            remember(&mut self.phase.meanwhile, now);
        }
        &self.phase.meanwhile
    }

    /// Takes the reading after the clock stopped, and returns everything about the phase.
    pub fn finish(&mut self, census: &Census) -> PhaseConditions {
        let mut phase = std::mem::take(&mut self.phase);
        phase.after = self.read(census);
        phase.frequency = self.frequencies.spread();
        phase
    }

    fn read(&self, census: &Census) -> Conditions {
        let sys = &self.sys;
        let wanted = Wanted { ext4_lazy_init: !self.ext4.is_empty(), btrfs_scrub: self.places.has_btrfs() };
        let processes = Processes::read(sys, census, wanted);
        let upkeep = match &processes {
            Ok(processes) => self.places.read(sys, processes),
            Err(error) => upkeep::UpkeepReading { upkeep: Seen::no(error.to_string()), unseen: Vec::new() },
        };
        let named = |leaf: &String| leaf.clone();
        Conditions {
            at_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs()),
            upkeep: upkeep.upkeep,
            upkeep_unseen: upkeep.unseen,
            lazy_init: lazy_init::read(sys, &self.ext4, &processes),
            cpu_throttles: processors::throttles(sys),
            power: power::source(sys),
            heat: BTreeMap::from_iter(self.leaves.iter().map(|leaf| (named(leaf), heat::read_heat(sys, leaf)))),
            health: BTreeMap::from_iter(self.leaves.iter().map(|leaf| (named(leaf), health::read_health(sys, leaf)))),
        }
    }
}

/// Keeps each device and kind once, in its latest state.
fn remember(seen: &mut Vec<Upkeep>, now: Upkeep) {
    match seen.iter_mut().find(|one| one.on == now.on && one.kind == now.kind) {
        Some(known) => *known = now,
        None => seen.push(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;
    use plumb_result::observe::BlockLayer;

    // Protects: a rebuild that begins and ends between the two full readings is still seen, once.
    #[test]
    fn a_rebuild_within_a_phase_is_seen() {
        let tree = Tree::new();
        let action = |word: &str, done: &str| {
            tree.file("/sys/devices/virtual/block/md0/md/sync_action", &format!("{word}\n"))
                .file("/sys/devices/virtual/block/md0/md/sync_completed", &format!("{done}\n"));
        };
        tree.block("virtual/block/md0", "9:0", 8);
        action("idle", "none");
        let layer = BlockLayer { name: "md0".to_owned(), ..BlockLayer::default() };
        let facts = TargetFacts { stack: vec![layer], leaves: vec!["md0".to_owned()], ..TargetFacts::default() };
        let mut watch = ConditionWatch::for_targets_in(&tree.sys(), [&facts]);
        watch.declare([UpkeepKind::Degraded]);
        let census = || Census::with_sysroot(&tree.sys());
        let begun = watch.begin(&census());
        assert_eq!((begun.before.upkeep, begun.after.upkeep), (Seen::Yes(Vec::new()), Seen::default()));
        watch.tick();
        action("check", "10 / 100");
        watch.tick();
        action("check", "90 / 100");
        watch.tick();
        action("idle", "none");
        let phase = watch.finish(&census());
        assert_eq!(phase.after.upkeep, Seen::Yes(Vec::new()));
        assert_eq!(phase.declared, [UpkeepKind::Degraded]);
        let details: Vec<&str> = phase.meanwhile.iter().map(|one| one.detail.as_str()).collect();
        assert_eq!(details, ["90 % done"]);
        assert!(watch.begin(&census()).meanwhile.is_empty(), "a new phase starts empty");
    }

    // Protects: on this machine nothing panics, and every leaf has a reading or a reason.
    #[test]
    fn this_machine_has_a_reading_or_a_reason() {
        let facts = crate::stack::of_path(std::path::Path::new(env!("CARGO_MANIFEST_DIR")));
        let mut watch = ConditionWatch::for_targets([&facts]);
        watch.begin(&Census::new());
        watch.tick();
        let phase = watch.finish(&Census::new());
        let leaves: Vec<&String> = facts.leaves.iter().collect();
        assert_eq!(phase.after.health.keys().collect::<Vec<_>>(), leaves);
        assert_eq!(phase.after.heat.keys().collect::<Vec<_>>(), leaves);
        assert!(phase.after.at_unix_s >= phase.before.at_unix_s);
    }
}
