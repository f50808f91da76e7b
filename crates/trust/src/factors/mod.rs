//! Differences between two set-ups, fact by fact, with the factor that each fact belongs to (D1, D5).

mod declared;

pub use declared::{Change, FACTORS, Factor, UnknownFactor, factor};

use crate::checks::d1::GAP;
use crate::evidence::ComparisonSide;
use crate::text::percent;
use plumb_result::compare::Difference;
use plumb_result::observe::{BlockLayer, FileSystem, LayerKind, TargetFacts};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Returns `true` if there is a difference that the declared factor does not cover. Without a declared factor
/// the verdict is about the set-ups as wholes, and nothing confounds it. `plots` is the number of plots of
/// the side that has fewer.
pub fn confounded(differences: &[Difference], varying: Option<&Factor>, plots: u32) -> bool {
    varying.is_some_and(|declared| !confounding(differences, declared, plots).is_empty())
}

/// Returns the differences that the declared factor does not cover. The particular disk of a plot is part of
/// provisioning. With several plots on each side, it is part of the spread between them.
pub(crate) fn confounding<'a>(differences: &'a [Difference], declared: &Factor, plots: u32) -> Vec<&'a Difference> {
    let of_a_plot = |one: &Difference| plots > 1 && (one.fact.ends_with(".leaves") || one.fact.ends_with(".serial"));
    differences.iter().filter(|one| !declared.permits(&one.factor) && !of_a_plot(one)).collect()
}

/// The factor of each fact, by its path. A step that ends with `*` matches any step with that beginning, and a path
/// may continue beyond its pattern. The first match counts. Facts with `None` are left out: they differ between any
/// two instances, vary by themselves, or are reported elsewhere.
const FACTS: &[(&[&str], Option<&str>)] = &[
    (&["environment", "hostname"], Some("host")),
    (&["environment", "os"], Some("os")),
    (&["environment", "libc"], Some("os")),
    (&["environment", "kernel"], Some("kernel")),
    (&["environment", "kernel_cmdline"], Some("kernel")),
    (&["environment", "cgroup", "unseen"], None),
    (&["environment", "cgroup"], Some("limits")),
    (&["environment", "facts", "now.*"], None),
    (&["environment", "facts", "kernel.version"], Some("kernel")),
    (&["environment", "facts", "mitigations"], Some("kernel")),
    (&["environment", "facts", "security.*"], Some("kernel")),
    (&["environment", "facts", "vm.*"], Some("sysctl")),
    (&["environment", "facts", "fs.*"], Some("sysctl")),
    (&["environment", "facts", "kernel.*"], Some("sysctl")),
    (&["environment", "facts", "transparent_hugepage*"], Some("sysctl")),
    (&["environment", "facts", "limit.*"], Some("limits")),
    (&["environment", "facts", "process.*"], Some("limits")),
    (&["environment"], Some("host")),
    (&["target", "*", "path"], None),
    (&["target", "*", "unseen"], None),
    (&["target", "*", "leaves"], None),
    (&["target", "*", "filesystem", "mount_point"], None),
    (&["target", "*", "filesystem", "source"], None),
    (&["target", "*", "filesystem", "uuid"], None),
    (&["target", "*", "filesystem", "free_bytes"], None),
    (&["target", "*", "filesystem", "size_bytes"], Some("layout")),
    (&["target", "*", "filesystem", "options"], Some("mount")),
    (&["target", "*", "filesystem", "features", "now.*"], None),
    (&["target", "*", "filesystem", "features", "created_unix_s"], None),
    (&["target", "*", "filesystem", "features", "mount_count"], None),
    (&["target", "*", "filesystem", "features", "errors_count"], None),
    (&["target", "*", "filesystem", "features", "warning_count"], None),
    (&["target", "*", "filesystem", "features", "mounted_root"], None),
    (&["target", "*", "filesystem", "features", "subvol*"], None),
    (&["target", "*", "filesystem", "features", "exclusive_operation"], None),
    (&["target", "*", "filesystem", "features", "journal_mode"], Some("mount")),
    (&["target", "*", "filesystem", "features", "commit_s"], Some("mount")),
    (&["target", "*", "filesystem", "features", "init_itable"], Some("mount")),
    (&["target", "*", "filesystem", "features", "inode_readahead_blocks"], Some("mount")),
    (&["target", "*", "filesystem", "features", "barrier"], Some("mount")),
    (&["target", "*", "filesystem", "features", "delayed_allocation"], Some("mount")),
    (&["target", "*", "filesystem", "features", "journal_async_commit"], Some("mount")),
    (&["target", "*", "filesystem", "features", "compress*"], Some("mount")),
    (&["target", "*", "filesystem", "features", "allocation_groups"], Some("layout")),
    (&["target", "*", "filesystem", "features", "group_blocks"], Some("layout")),
    (&["target", "*", "filesystem", "features", "log_blocks"], Some("layout")),
    (&["target", "*", "filesystem", "features", "sector_size"], Some("layout")),
    (&["target", "*", "filesystem", "features", "stride_blocks"], Some("layout")),
    (&["target", "*", "filesystem", "features", "stripe_*"], Some("layout")),
    (&["target", "*", "filesystem"], Some("fs")),
    (&["target", "*", "stack", "*", "*", "name"], None),
    (&["target", "*", "stack", "*", "*", "number"], None),
    (&["target", "*", "stack", "*", "*", "below"], None),
    (&["target", "*", "stack", "*", "*", "backing_file"], None),
    (&["target", "*", "stack", "sim"], Some("sim")),
    (&["target", "*", "stack", "*", "*", "settings", "dm_name"], None),
    (&["target", "*", "stack", "*", "*", "settings", "dm_uuid"], None),
    (&["target", "*", "stack", "*", "*", "settings", "array_state"], None),
    (&["target", "*", "stack", "*", "*", "settings", "sync_completed"], None),
    (&["target", "*", "stack", "*", "*", "settings", "autoclear"], None),
    (&["target", "*", "stack", "*", "*", "settings", "partscan"], None),
    (&["target", "*", "stack", "*", "*", "settings", "nr_requests"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "read_ahead_kb"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "nomerges"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "rq_affinity"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "max_sectors_kb"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "wbt_lat_usec"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "io_poll"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "settings", "iostats"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "scheduler"], Some("scheduler")),
    (&["target", "*", "stack", "*", "*", "size_bytes"], Some("layout")),
    (&["target", "*", "stack", "*", "*", "start_bytes"], Some("layout")),
    (&["target", "*", "stack", "*", "*", "alignment_offset_bytes"], Some("layout")),
    (&["target", "*", "stack", "*", "*", "optimal_io_bytes"], Some("layout")),
    (&["target", "*", "stack", "*", "*", "settings", "minimum_io_size"], Some("layout")),
    (&["target", "*", "stack", "md"], Some("raid")),
    (&["target", "*", "stack", "partition"], Some("layout")),
    (&["target", "*"], Some("device")),
];

/// Mount options that mean the same on every file system. The others belong to the file system that has them.
const GENERIC_OPTIONS: &[&str] = &[
    "rw",
    "ro",
    "sync",
    "async",
    "dirsync",
    "atime",
    "noatime",
    "relatime",
    "strictatime",
    "diratime",
    "nodiratime",
    "lazytime",
    "nosuid",
    "nodev",
    "noexec",
    "mand",
    "iversion",
    "remount",
];

/// Mount options that name an instance rather than set anything.
const NAMING_OPTIONS: &[&str] = &["subvol", "subvolid", "lowerdir", "upperdir", "workdir"];

/// Sizes that differ by less than this are the same: memory less the kernel's reserve, a file system less its tables.
const SAME_SIZE: f64 = 0.01;

/// Returns every recorded fact in which two sides differ, in the order of the facts' names. It leaves out names,
/// places and UUIDs, which differ between any two instances, and facts that vary by themselves. Free space counts
/// from a difference of five points on.
pub fn differences(baseline: &ComparisonSide<'_>, candidate: &ComparisonSide<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut finder = Finder { found: &mut found };
    let environment = |side: &ComparisonSide<'_>| plumb_document::json::to_value(side.environment).unwrap_or_default();
    finder.compare(&path(&["environment"]), &environment(baseline), &environment(candidate));
    let one_host = baseline.environment.hostname == candidate.environment.hostname;
    for pair in pairs(baseline, candidate) {
        finder.target(&pair, one_host);
    }
    found.sort_by(|one, other| one.fact.cmp(&other.fact));
    found
}

/// The same target on both sides.
struct Pair<'a> {
    name: &'a str,
    baseline: &'a TargetFacts,
    candidate: &'a TargetFacts,
}

/// Pairs targets by name. Two sides with one target each mean the same target under any name.
fn pairs<'a>(baseline: &ComparisonSide<'a>, candidate: &ComparisonSide<'a>) -> Vec<Pair<'a>> {
    if let (Some((name, one)), Some((_, other))) = (only(baseline.targets), only(candidate.targets)) {
        return vec![Pair { name, baseline: one, candidate: other }];
    }
    let named = baseline.targets.iter();
    named
        .filter_map(|(name, one)| Some(Pair { name, baseline: one, candidate: candidate.targets.get(name)? }))
        .collect()
}

fn only<K, V>(map: &BTreeMap<K, V>) -> Option<(&K, &V)> {
    let mut entries = map.iter();
    entries.next().filter(|_| entries.next().is_none())
}

/// The fullness of a target's file system on the two sides.
pub(crate) struct FullnessGap {
    target: String,
    pub(crate) baseline_free: f64,
    pub(crate) candidate_free: f64,
}

impl FullnessGap {
    /// The difference, 0–1.
    pub(crate) fn points(&self) -> f64 {
        (self.baseline_free - self.candidate_free).abs()
    }
}

/// Returns the target whose fullness differs most; `None` if no target has a file system with a size on both sides.
pub(crate) fn fullness_gap(baseline: &ComparisonSide<'_>, candidate: &ComparisonSide<'_>) -> Option<FullnessGap> {
    pairs(baseline, candidate).iter().filter_map(gap_of).max_by(|one, other| one.points().total_cmp(&other.points()))
}

fn gap_of(pair: &Pair<'_>) -> Option<FullnessGap> {
    let (one, other) = (pair.baseline.filesystem.value()?, pair.candidate.filesystem.value()?);
    let sized = |fs: &plumb_result::observe::FileSystem| !fs.in_memory && fs.size_bytes > 0;
    (sized(one) && sized(other)).then(|| FullnessGap {
        target: pair.name.to_owned(),
        baseline_free: one.free_share(),
        candidate_free: other.free_share(),
    })
}

struct Finder<'a> {
    found: &'a mut Vec<Difference>,
}

impl Finder<'_> {
    fn target(&mut self, pair: &Pair<'_>, one_host: bool) {
        let root = path(&["target", pair.name]);
        let kinds = [pair.baseline, pair.candidate].map(|facts| facts.filesystem.value().map(|fs| fs.kind.as_str()));
        match (pair.baseline.filesystem.value(), pair.candidate.filesystem.value()) {
            // A different file system has different features and options of its own, and listing them adds nothing.
            (Some(one), Some(other)) if kinds[0] != kinds[1] => {
                self.push(below(&root, &["filesystem", "kind"]), &one.kind, &other.kind);
                let generic = |options: &[String]| -> Vec<Value> {
                    let kept = options.iter().filter(|option| GENERIC_OPTIONS.contains(&option.as_str()));
                    kept.map(|option| Value::from(option.as_str())).collect()
                };
                self.lists(below(&root, &["filesystem", "options"]), &generic(&one.options), &generic(&other.options));
            }
            (None, None) => {}
            (one, other) => {
                let value = |fs: Option<&FileSystem>| plumb_document::json::to_value(&fs).unwrap_or_default();
                self.compare(&below(&root, &["filesystem"]), &value(one), &value(other));
            }
        }
        if let Some(gap) = gap_of(pair).filter(|gap| gap.points() > GAP + 1e-9) {
            self.found.push(Difference {
                fact: format!("target.{}.filesystem.free", gap.target),
                factor: "fullness".to_owned(),
                baseline: percent(gap.baseline_free),
                candidate: percent(gap.candidate_free),
            });
        }
        self.stacks(&root, pair);
        if one_host {
            self.leaves(&root, pair);
        }
    }

    /// Compares layers kind by kind, so that an additional layer does not shift all layers below it.
    fn stacks(&mut self, root: &[String], pair: &Pair<'_>) {
        let (one, other) = (by_kind(&pair.baseline.stack), by_kind(&pair.candidate.stack));
        let kinds = BTreeSet::from_iter(one.keys().chain(other.keys()));
        for kind in kinds {
            let none = Vec::new();
            let (one, other) = (one.get(kind).unwrap_or(&none), other.get(kind).unwrap_or(&none));
            for number in 0..one.len().max(other.len()) {
                let place = below(root, &["stack", kind, &number.to_string()]);
                match (one.get(number), other.get(number)) {
                    (Some(one), Some(other)) => {
                        let value = |layer: &BlockLayer| plumb_document::json::to_value(layer).unwrap_or_default();
                        self.compare(&place, &value(one), &value(other));
                    }
                    (one, other) => {
                        let name = |layer: Option<&&BlockLayer>| {
                            layer.map_or("absent", |layer| layer.name.as_str()).to_owned()
                        };
                        self.push(place, &name(one), &name(other));
                    }
                }
            }
        }
    }

    /// Two disks of one machine without serials are distinguished by their names.
    fn leaves(&mut self, root: &[String], pair: &Pair<'_>) {
        let serials_known = |facts: &TargetFacts| {
            let mut leaves = facts.stack.iter().filter(|layer| facts.leaves.contains(&layer.name));
            leaves.all(|layer| layer.serial.is_some() || layer.kind == LayerKind::Sim)
        };
        if serials_known(pair.baseline) && serials_known(pair.candidate) {
            return;
        }
        let names = |facts: &TargetFacts| BTreeSet::from_iter(facts.leaves.iter().cloned());
        let (one, other) = (names(pair.baseline), names(pair.candidate));
        if one != other {
            let joined = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
            self.found.push(Difference {
                fact: below(root, &["leaves"]).join("."),
                factor: "device".to_owned(),
                baseline: joined(one),
                candidate: joined(other),
            });
        }
    }

    fn compare(&mut self, at: &[String], one: &Value, other: &Value) {
        let (one, other) = (seen(one), seen(other));
        match (one, other) {
            (Known::No(_), Known::No(_)) => {}
            (Known::Yes(one), Known::Yes(other)) => self.values(at, one, other),
            (one, other) => self.push(at.to_vec(), &one.text(), &other.text()),
        }
    }

    fn values(&mut self, at: &[String], one: &Value, other: &Value) {
        match (one, other) {
            (Value::Object(ones), Value::Object(others)) => {
                let keys = BTreeSet::from_iter(ones.keys().chain(others.keys()));
                for key in keys {
                    let (one, other) = (ones.get(key).unwrap_or(&Value::Null), others.get(key).unwrap_or(&Value::Null));
                    self.compare(&below(at, &[key]), one, other);
                }
            }
            (Value::Array(ones), Value::Array(others)) => self.lists(at.to_vec(), ones, others),
            (one, other) if same(at, one, other) => {}
            (one, other) => self.push(at.to_vec(), &text(one), &text(other)),
        }
    }

    /// Compares two lists, and reports only elements that the other does not have.
    fn lists(&mut self, at: Vec<String>, one: &[Value], other: &[Value]) {
        let names_an_instance = |entry: &&Value| {
            let option = entry.as_str().and_then(|entry| entry.split_once('='));
            option.is_some_and(|(name, _)| NAMING_OPTIONS.contains(&name))
        };
        let only_in = |here: &[Value], there: &[Value]| {
            let alone = here.iter().filter(|entry| !there.contains(entry) && !names_an_instance(entry));
            alone.map(text).collect::<Vec<_>>().join(",")
        };
        let (one, other) = (only_in(one, other), only_in(other, one));
        if !one.is_empty() || !other.is_empty() {
            let shown = |text: String| if text.is_empty() { "none".to_owned() } else { text };
            self.push(at, &shown(one), &shown(other));
        }
    }

    fn push(&mut self, at: Vec<String>, one: &str, other: &str) {
        if let Some(factor) = factor_of(&at) {
            self.found.push(Difference {
                fact: at.join("."),
                factor: factor.to_owned(),
                baseline: one.to_owned(),
                candidate: other.to_owned(),
            });
        }
    }
}

fn path(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

fn below(at: &[String], steps: &[&str]) -> Vec<String> {
    at.iter().cloned().chain(path(steps)).collect()
}

fn by_kind(stack: &[BlockLayer]) -> BTreeMap<String, Vec<&BlockLayer>> {
    let mut kinds: BTreeMap<String, Vec<&BlockLayer>> = BTreeMap::new();
    for layer in stack {
        let kind = plumb_document::json::to_value(&layer.kind).unwrap_or_default();
        kinds.entry(text(&kind)).or_default().push(layer);
    }
    kinds
}

/// The JSON form of [`plumb_result::Seen`].
enum Known<'a> {
    Yes(&'a Value),
    No(&'a Value),
}

impl Known<'_> {
    fn text(&self) -> String {
        match self {
            Known::Yes(value) => text(value),
            Known::No(reason) => format!("not seen ({})", text(reason)),
        }
    }
}

fn seen(value: &Value) -> Known<'_> {
    match value.as_object().and_then(only_entry) {
        Some(("yes", inner)) => Known::Yes(inner),
        Some(("no", reason)) => Known::No(reason),
        _ => Known::Yes(value),
    }
}

fn only_entry(map: &serde_json::Map<String, Value>) -> Option<(&str, &Value)> {
    let mut entries = map.iter();
    entries.next().filter(|_| entries.next().is_none()).map(|(key, value)| (key.as_str(), value))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns `true` for equal values, or nearly equal sizes.
fn same(at: &[String], one: &Value, other: &Value) -> bool {
    const ABOUT: &[&str] = &["ram_bytes", "size_bytes"];
    let about = at.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) if about => (one - other).abs() <= SAME_SIZE * one.max(other),
        _ => one == other,
    }
}

/// Returns the factor that a feature of a file system belongs to; `None` if it differs between any two
/// instances, or varies by itself.
pub fn factor_of_feature(name: &str) -> Option<&'static str> {
    factor_of(&path(&["target", "data", "filesystem", "features", name]))
}

fn factor_of(at: &[String]) -> Option<&'static str> {
    let matches = |pattern: &[&str]| {
        let step_matches = |(step, found): (&&str, &String)| match step.strip_suffix('*') {
            Some(beginning) => found.starts_with(beginning),
            None => step == found,
        };
        pattern.len() <= at.len() && pattern.iter().zip(at).all(step_matches)
    };
    FACTS.iter().find(|(pattern, _)| matches(pattern)).and_then(|(_, factor)| *factor)
}

#[cfg(test)]
mod tests;
