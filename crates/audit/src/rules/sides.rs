//! Rules about whether the sides, and the tools, are comparable.

use super::rule::{AppliedTo, Draft, Rule, distinct, ids, listed, side_name};
use super::unequal::meant;
use crate::form::{ComparedThing, Durability, Storage};
use crate::view::{BonnieGeneration, CellView, View, is_bonnie};
use plumb_result::Level;
use plumb_trust::text::{bytes, percent, short};
use std::collections::BTreeSet;

pub(crate) static ALIGNMENT: Rule = Rule {
    code: "B8",
    name: "alignment",
    what: "Partitions that may be misaligned on disks with large sectors.",
    fix: "Start partitions at multiples of 1 MiB on every side, and say where they start.",
    stage: AppliedTo::Study(alignment),
};

pub(crate) static VIRTUAL: Rule = Rule {
    code: "C14",
    name: "virtual",
    what: "Caches under the system being tested, in a hypervisor or a server.",
    fix: "State what the layer below caches, and disable it where possible.",
    stage: AppliedTo::Study(virtual_machine),
};

pub(crate) static CONFOUNDED: Rule = Rule {
    code: "D5",
    name: "confounded",
    what: "Differences between the sides other than the one being compared.",
    fix: "Keep everything but one factor equal, or compare whole set-ups in the conclusion.",
    stage: AppliedTo::Study(confounded),
};

pub(crate) static BRINGS_ALONG: Rule = Rule {
    code: "D5",
    name: "brings-along",
    what: "Different operating systems, without a description of what comes with each.",
    fix: "State kernel, C library, mkfs options and I/O scheduler of every side, and equalise what can be.",
    stage: AppliedTo::Study(brings_along),
};

pub(crate) static BUILD: Rule = Rule {
    code: "D5",
    name: "build",
    what: "A tool built for a different architecture than the system's.",
    fix: "Build the tool for the system.",
    stage: AppliedTo::Study(build),
};

pub(crate) static FLUSH_RULES: Rule = Rule {
    code: "D6",
    name: "flush-rules",
    what: "Writes within one study that follow different rules of durability.",
    fix: "Make every tool flush in the same way, within the measured time.",
    stage: AppliedTo::Study(flush_rules),
};

pub(crate) static LAYERS: Rule = Rule {
    code: "D6",
    name: "layers",
    what: "Tools within one study that measure different layers.",
    fix: "Measure the device, or the file system, with all tools.",
    stage: AppliedTo::Study(layers),
};

pub(crate) static SIZES: Rule = Rule {
    code: "D6",
    name: "sizes",
    what: "Tools within one study that write files of different sizes.",
    fix: "Give all tools the same size.",
    stage: AppliedTo::Study(sizes),
};

pub(crate) static VERSION_NOT_STATED: Rule = Rule {
    code: "D7",
    name: "version-not-stated",
    what: "Tools whose version the study does not give.",
    fix: "State the version of every tool.",
    stage: AppliedTo::Study(version_not_stated),
};

pub(crate) static TOOL_GENERATIONS: Rule = Rule {
    code: "E13",
    name: "tool-generations",
    what: "Sides measured with versions of a tool that measure different things.",
    fix: "Use one version of the tool on every side.",
    stage: AppliedTo::Study(tool_generations),
};

/// Returns `true` if a device is a partition. Sources: sd(4), nvme(4), FreeBSD's geom(4).
fn is_partition(device: &str) -> bool {
    let name = device.rsplit('/').next().unwrap_or(device);
    let digit_last = name.ends_with(|c: char| c.is_ascii_digit());
    let scsi = ["sd", "hd", "vd", "xvd"].iter().any(|prefix| name.starts_with(prefix));
    let numbered = ["nvme", "mmcblk", "ad", "ada", "da"].iter().any(|prefix| name.starts_with(prefix));
    if scsi {
        digit_last
    } else if numbered {
        // Names of these disks end in a digit; partitions add `p1` or `s1`.
        let own = name.find(|c: char| c.is_ascii_digit()).map_or("", |start| &name[start..]);
        own.contains('p') || own.contains('s')
    } else {
        false
    }
}

/// Assumed sector size: that of disks since 2011 (Advanced Format; flash pages are larger).
const SECTOR_ASSUMED: u64 = 4096;

fn alignment(view: &View<'_>) -> Vec<Draft> {
    let stated = view.study.machine.sector.map(|sector| sector.0);
    let sector = stated.unwrap_or(SECTOR_ASSUMED);
    if sector <= 512 {
        return Vec::new();
    }
    let parts = |side: &&ComparedThing| side.devices.iter().any(|device| is_partition(device));
    let mut found = Vec::new();
    for side in &view.study.side {
        let cells = ids(view.cells.iter().filter(|cell| cell.cell.side == side.id));
        let name = side_name(view.study, &side.id);
        match side.partition_start {
            Some(start) if (start % sector).saturating_mul(512).is_multiple_of(sector) => {}
            Some(start) => {
                let size = bytes(sector);
                let whose = if stated.is_some() { "" } else { ", which disks have unless the study says otherwise" };
                found.push(Draft {
                    level: Level::Warn,
                    cells,
                    observed: format!("sector {start} on sectors of {size}"),
                    message: format!(
                        "The partitions of {name} start at sector {start}, which is not a multiple of {size}{whose}: each \
                         block touches two sectors."
                    ),
                });
            }
            None if stated.is_some() && parts(&side) => {
                let whole = view.study.side.iter().filter(|other| !other.devices.is_empty() && !parts(other));
                let others: Vec<String> = whole.map(|other| side_name(view.study, &other.id).to_owned()).collect();
                let against =
                    if others.is_empty() { String::new() } else { format!(" and {} on whole disks", listed(&others)) };
                found.push(Draft {
                    level: Level::Warn,
                    cells,
                    observed: format!("{} on sectors of {}", listed(&side.devices), bytes(sector)),
                    message: format!(
                        "{name} was on partitions{against}, on disks with sectors of {}, and the study does not say where \
                         the partitions start.",
                        bytes(sector)
                    ),
                });
            }
            None => {}
        }
    }
    found
}

fn virtual_machine(view: &View<'_>) -> Vec<Draft> {
    let machine = &view.study.machine;
    let mut parts = Vec::new();
    parts.extend(machine.virtual_by.as_ref().map(|by| format!("a virtual machine ({by})")));
    parts
        .extend((machine.storage == Storage::Network).then(|| "disks of another machine, over the network".to_owned()));
    if parts.is_empty() {
        return Vec::new();
    }
    // If the host's memory is not stated, it may have cached the files.
    vec![Draft {
        level: Level::Note,
        cells: Vec::new(),
        observed: listed(&parts),
        message: format!("The tests ran on {}: there are caches below that the study does not see.", listed(&parts)),
    }]
}

/// Facts that every side has, even if it does not state them.
const EVERYWHERE: [&str; 8] = ["os", "kernel", "mount", "mkfs", "scheduler", "cmdline", "governor", "mitigations"];

fn confounded(view: &View<'_>) -> Vec<Draft> {
    let study = view.study;
    let keys = BTreeSet::from_iter(study.side.iter().flat_map(|side| side.facts.keys()));
    let mut differing = Vec::new();
    for key in keys.into_iter().filter(|key| !study.study.compares.contains(key)) {
        let values = distinct(study.side.iter().filter_map(|side| side.facts.get(key)));
        let mut values: Vec<String> = values.into_iter().cloned().collect();
        let is_open = study.side.iter().any(|side| !side.facts.contains_key(key));
        if is_open && EVERYWHERE.contains(&key.as_str()) {
            values.push("not stated".to_owned());
        }
        if values.len() > 1 {
            differing.push(format!("{key} ({})", values.join(" | ")));
        }
    }
    differing.extend(versions_that_differ(view));
    if differing.is_empty() {
        return Vec::new();
    }
    vec![Draft {
        level: Level::Warn,
        cells: Vec::new(),
        observed: differing.join(", "),
        message: format!(
            "The sides differ in {}, and {}: an effect cannot be attributed to one of these.",
            listed(&differing),
            meant(view)
        ),
    }]
}

/// Returns tools whose version differs between sides. Operating systems bring their own;
/// different generations are a separate finding.
fn versions_that_differ(view: &View<'_>) -> Vec<String> {
    let study = view.study;
    if study.study.compares.iter().any(|word| ["os", "tool", "version", "distribution"].contains(&word.as_str())) {
        return Vec::new();
    }
    let tools = BTreeSet::from_iter(study.side.iter().flat_map(|side| side.tools.keys()));
    let versions = |tool: &String| distinct(study.side.iter().filter_map(|side| side.tools.get(tool)).cloned());
    let different = tools.into_iter().map(|tool| (tool, versions(tool))).filter(|(_, versions)| versions.len() > 1);
    different.map(|(tool, versions)| format!("version of {tool} ({})", versions.join(" | "))).collect()
}

/// Facts that come with an operating system.
const BUNDLE: [(&str, &str); 4] =
    [("kernel", "kernel"), ("libc", "C library"), ("mkfs", "mkfs options"), ("scheduler", "I/O scheduler")];

fn brings_along(view: &View<'_>) -> Vec<Draft> {
    let value = |side: &ComparedThing, key: &str| side.facts.get(key).cloned();
    let systems = distinct(view.study.side.iter().filter_map(|side| value(side, "os")));
    if systems.len() < 2 {
        return Vec::new();
    }
    let unstated: Vec<String> = BUNDLE
        .iter()
        .filter(|(key, _)| view.study.side.iter().any(|side| value(side, key).is_none()))
        .map(|(_, words)| (*words).to_owned())
        .collect();
    if unstated.is_empty() {
        return Vec::new();
    }
    vec![Draft {
        level: Level::Warn,
        cells: Vec::new(),
        observed: systems.join(" | "),
        message: format!(
            "Each operating system has its own {}, desktop and services, and the study does not say what \
             they were: any of them may be the cause.",
            unstated.join(", ")
        ),
    }]
}

fn build(view: &View<'_>) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    for cell in &view.cells {
        let (Some(built), Some(arch)) = (&cell.test.build, cell.side.and_then(|side| side.facts.get("arch"))) else {
            continue;
        };
        if built == arch {
            continue;
        }
        let message = format!(
            "{} was built for {built} and ran on {arch}: its time includes the emulation of system calls.",
            cell.test.tool
        );
        match found.iter_mut().find(|draft| draft.message == message) {
            Some(draft) => draft.cells.push(cell.id()),
            None => found.push(Draft {
                level: Level::Note,
                cells: vec![cell.id()],
                observed: format!("{built} on {arch}"),
                message,
            }),
        }
    }
    found
}

fn flush_rules(view: &View<'_>) -> Vec<Draft> {
    let writes: Vec<(&CellView<'_>, Durability)> = view
        .cells
        .iter()
        .filter(|cell| cell.cell.metric.writes() && cell.cell.value.is_some())
        .filter_map(|cell| Some((cell, cell.durability?)))
        .collect();
    let rules = distinct(writes.iter().map(|(_, rule)| *rule));
    if rules.len() < 2 {
        return Vec::new();
    }
    let parts: Vec<String> = distinct(writes.iter().map(|(cell, rule)| {
        let tool = &cell.test.tool;
        // A tool may follow different rules on different sides.
        let by_side = writes.iter().any(|(other, rule_there)| other.test.tool == *tool && rule_there != rule);
        let side = if by_side { format!(" on {}", side_name(view.study, &cell.cell.side)) } else { String::new() };
        format!("{tool}{side}: {}", rule.words())
    }));
    vec![Draft {
        level: Level::Warn,
        cells: ids(writes.iter().map(|(cell, _)| *cell)),
        observed: parts.join(", "),
        message: format!("Writes follow {} rules of durability ({}).", rules.len(), parts.join(", ")),
    }]
}

fn layers(view: &View<'_>) -> Vec<Draft> {
    use crate::command::CommandAction;
    let raw = |cell: &&CellView<'_>| {
        cell.actions.iter().any(|action| matches!(action, CommandAction::Dd(dd) if dd.overwrites_device().is_some()))
    };
    let of_files = |cell: &&CellView<'_>| cell.actions.iter().any(CommandAction::measures_files);
    let devices: Vec<&CellView<'_>> = view.cells.iter().filter(raw).collect();
    let files: Vec<&CellView<'_>> = view.cells.iter().filter(of_files).collect();
    if devices.is_empty() || files.is_empty() {
        return Vec::new();
    }
    let tools = |cells: &[&CellView<'_>]| listed(&distinct(cells.iter().map(|cell| cell.test.tool.clone())));
    vec![Draft {
        level: Level::Warn,
        cells: ids(devices.iter().chain(&files).copied()),
        observed: format!("{}: device, {}: file system", tools(&devices), tools(&files)),
        message: format!(
            "{} measures the raw device and {} a file system: their numbers cannot confirm each other.",
            tools(&devices),
            tools(&files)
        ),
    }]
}

fn sizes(view: &View<'_>) -> Vec<Draft> {
    let writes = || view.cells.iter().filter(|cell| cell.cell.metric.writes() && cell.cell.value.is_some());
    let tools = distinct(writes().map(|cell| cell.test.tool.clone()));
    let range = |tool: &String| {
        let sets: Vec<u64> =
            writes().filter(|cell| cell.test.tool == *tool).filter_map(|cell| cell.set_bytes).collect();
        Some((*sets.iter().min()?, *sets.iter().max()?))
    };
    let ranges: Vec<(String, (u64, u64))> =
        tools.into_iter().filter_map(|tool| range(&tool).map(|range| (tool, range))).collect();
    if ranges.len() < 2 || distinct(ranges.iter().map(|(_, range)| *range)).len() < 2 {
        return Vec::new();
    }
    let parts: Vec<String> = ranges
        .iter()
        .map(|(tool, (low, high))| {
            if low == high {
                format!("{tool} {}", bytes(*low))
            } else {
                format!("{tool} {} to {}", bytes(*low), bytes(*high))
            }
        })
        .collect();
    vec![Draft {
        level: Level::Note,
        cells: ids(writes()),
        observed: parts.join(", "),
        message: format!("The tools used different sizes ({}).", parts.join(", ")),
    }]
}

fn version_not_stated(view: &View<'_>) -> Vec<Draft> {
    let unstated = view.cells.iter().filter(|cell| cell.version().is_none());
    let cells: Vec<&CellView<'_>> = unstated.collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let tools = distinct(cells.iter().map(|cell| cell.test.tool.clone()));
    vec![Draft {
        level: Level::Note,
        cells: ids(cells.iter().copied()),
        observed: listed(&tools),
        message: format!("The version of {} is not stated.", listed(&tools)),
    }]
}

fn tool_generations(view: &View<'_>) -> Vec<Draft> {
    let mut found = by_stated_version(view);
    for (index, test) in view.tests.iter().enumerate() {
        if !is_bonnie(&test.test.tool) || view.of_test(index).any(|cell| cell.version().is_some()) {
            continue;
        }
        let seen: Vec<_> =
            view.study.side.iter().filter_map(|side| Some((side, view.bonnie_by_rates(index, &side.id)?))).collect();
        if distinct(seen.iter().map(|(_, seen)| seen.generation)).len() < 2 {
            continue;
        }
        let parts: Vec<String> = seen
            .iter()
            .map(|(side, seen)| {
                let how = match seen.generation {
                    BonnieGeneration::Stdio => "as 1.0x does",
                    BonnieGeneration::SystemCalls => "as 1.9x and later do",
                };
                let name = side_name(view.study, &side.id);
                format!("{name} at {} of the rate of blocks, {how}", percent(seen.share))
            })
            .collect();
        let rates = |metric| {
            let values: Vec<f64> =
                view.of_test(index).filter(|cell| cell.cell.metric == metric).filter_map(|cell| cell.value).collect();
            let (low, high) =
                (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max));
            high / low
        };
        let times = rates(plumb_result::CellMetric::CharWrite);
        found.push(Draft {
            level: Level::Fail,
            // Later versions also flush in every phase, so that no numbers of the two are comparable.
            cells: ids(view.of_test(index)),
            observed: format!("characters differ {} times: {}", short(times), listed(&parts)),
            message: format!(
                "The sides were measured with different generations of {}, which write characters and flush \
                 differently: {} (inferred from the rates).",
                test.test.tool,
                parts.join("; ")
            ),
        });
    }
    found
}

fn by_stated_version(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        let major = |version: &str| {
            let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
            let first = numbers.next().map(str::to_owned);
            // Bonnie++ changed its measurements between 1.0x and 1.9x.
            let second = numbers.next().and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor >= 90);
            (first, second)
        };
        let versions: Vec<&str> = distinct(view.of_test(index).filter_map(CellView::version));
        if distinct(versions.iter().map(|version| major(version))).len() > 1 {
            let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
            found.push(Draft {
                level: Level::Fail,
                cells: ids(view.of_test(index)),
                observed: versions.join(" | "),
                message: format!(
                    "The sides were measured with {} {}, which may not measure the same thing.",
                    test.test.tool,
                    listed(&versions)
                ),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_distinguished_from_disks() {
        for (device, part) in [
            ("/dev/sdb1", true),
            ("/dev/sdb", false),
            ("/dev/nvme0n1", false),
            ("/dev/nvme0n1p2", true),
            ("/dev/ad6", false),
            ("/dev/ad6s1", true),
            ("/dev/md0", false),
            ("", false),
        ] {
            assert_eq!(is_partition(device), part, "{device}");
        }
    }
}
