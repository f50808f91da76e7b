//! Describes the systems of a study for its readers: machine, kernel, file system and devices, and the tools
//! and commands that built them.

use super::evidence::StudyEvidence;
use crate::plan::FactorPlan;
use plumb_result::number::{BYTES, Digits};
use plumb_result::observe::{Environment, FileSystem, LayerKind, TargetFacts};
use plumb_result::study::{StudySystem, SystemFact};
use plumb_result::{RunResult, facts};
use plumb_trust::factor_of_feature;

/// Returns one entry for each combination of hard levels, in the order of the levels. It uses observations of all its
/// runs, including those that checks rejected.
pub(super) fn systems(evidence: &StudyEvidence) -> Vec<StudySystem> {
    let plan = &evidence.plan;
    let mut systems: Vec<StudySystem> = Vec::new();
    for plot in &plan.plots {
        if systems.iter().any(|known| (&known.levels, &known.host) == (&plot.levels, &plot.host)) {
            continue;
        }
        let is_like = |other: usize| (&plan.plots[other].levels, &plan.plots[other].host) == (&plot.levels, &plot.host);
        let mut facts = FactList::default();
        for (record, run) in evidence.records.iter().zip(&plan.runs) {
            if let Some(result) = record.result.as_ref().filter(|_| is_like(run.plot as usize)) {
                facts.add_result(result);
            }
        }
        let builds = || evidence.builds.iter().enumerate().filter(|(other, _)| is_like(*other)).map(|(_, build)| build);
        for (program, version) in builds().flat_map(|build| &build.versions) {
            facts.add(program, version.clone());
        }
        systems.push(StudySystem {
            levels: plot.levels.clone(),
            host: plot.host.clone(),
            facts: facts.0,
            steps: plot.steps_in_words(),
            commands: builds().map(|build| &build.commands).find(|all| !all.is_empty()).cloned().unwrap_or_default(),
        });
    }
    let place = |system: &StudySystem| {
        let of = |factor: &FactorPlan| {
            let level = system.levels.get(&factor.name)?;
            factor.levels.iter().position(|known| known == level)
        };
        plan.factors.iter().map(of).collect::<Vec<_>>()
    };
    systems.sort_by_key(place);
    systems
}

/// Facts in order of first appearance, each with all its values once.
#[derive(Default)]
struct FactList(Vec<SystemFact>);

impl FactList {
    fn add(&mut self, name: &str, value: String) {
        if value.is_empty() {
            return;
        }
        match self.0.iter_mut().find(|fact| fact.name == name) {
            Some(fact) if fact.values.contains(&value) => {}
            Some(fact) => fact.values.push(value),
            None => self.0.push(SystemFact { name: name.to_owned(), values: vec![value] }),
        }
    }

    fn add_result(&mut self, result: &RunResult) {
        self.add_environment(&result.environment);
        self.add("measured by", format!("{} {}", result.tool.name, result.tool.version));
        if let Some(ranks) = &result.ranks {
            let names: Vec<&str> = ranks.hosts.iter().map(|host| host.name.as_str()).collect();
            self.add("hosts at once", format!("{}: {}", names.len(), names.join(", ")));
        }
        for target in result.target.values() {
            self.add_target(target);
        }
    }

    fn add_environment(&mut self, environment: &Environment) {
        let product =
            ["dmi.sys_vendor", "dmi.product_name"].map(|name| environment.facts.get(name).map(String::as_str));
        let product = product.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let machine = if product.is_empty() { String::new() } else { format!(" ({product})") };
        self.add("machine", format!("{}{machine}", environment.hostname));
        self.add("processor", format!("{} × {}", environment.cpus, environment.cpu));
        self.add("memory", BYTES.set(environment.ram_bytes as f64, Digits::Three));
        if let Some(name) = environment.virtualisation.value().filter(|name| *name != "none") {
            self.add("virtualisation", name.clone());
        }
        self.add("kernel", format!("{} {}", environment.kernel, environment.arch).trim().to_owned());
        self.add("system", environment.os.clone());
    }

    fn add_target(&mut self, target: &TargetFacts) {
        if let Some(fs) = target.filesystem.value() {
            let size = BYTES.set(fs.size_bytes as f64, Digits::Three);
            self.add("file system", if fs.size_bytes > 0 { format!("{}, {size}", fs.kind) } else { fs.kind.clone() });
            self.add("made with", features(fs, |factor| factor != "mount"));
            self.add("mount options", fs.options.join(","));
            self.add("mount settings", features(fs, |factor| factor == "mount"));
        }
        let simulated = target.stack.iter().find(|layer| layer.kind == LayerKind::Sim);
        let size = simulated.map(|layer| BYTES.set(layer.size_bytes as f64, Digits::Three));
        self.add(
            "devices",
            size.map_or_else(|| facts::stack_by_kind(target), |size| format!("{}, {size}", target.path)),
        );
    }
}

/// Lists features and geometry of a file system, if known and chosen by the file system itself. A list is long, and
/// has no blanks to break it at.
fn features(fs: &FileSystem, is_meant: impl Fn(&str) -> bool) -> String {
    let chosen = fs.features.iter().filter(|(name, _)| factor_of_feature(name).is_some_and(&is_meant));
    chosen.map(|(name, value)| format!("{name} {}", value.replace(',', " "))).collect::<Vec<_>>().join(", ")
}
