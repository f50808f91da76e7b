//! Rules about whether the sides did the same. Commands are compared by the work that they lower to, preparations
//! by the settings that they leave.

use super::rule::{AppliedTo, Draft, Rule, ids, listed, side_name};
use crate::command::{FieldDifference, differences};
use crate::prepare::{Prepared, PreparedPart};
use crate::view::{CellView, View};
use plumb_result::Level;
use std::collections::BTreeSet;

pub(crate) static UNEQUAL_COMMANDS: Rule = Rule {
    code: "D5",
    name: "unequal-commands",
    what: "Sides of one test whose commands do different work: depth, block, size, time, engine, content, flushes.",
    fix: "Run one command on every side, or name what differs in compares.",
    stage: AppliedTo::Study(unequal_commands),
};

pub(crate) static UNEQUAL_SETUP: Rule = Rule {
    code: "D5",
    name: "unequal-setup",
    what: "Sides prepared with different options of mkfs, mount, arrays, devices or the kernel.",
    fix: "Prepare every side alike, or name what differs in compares.",
    stage: AppliedTo::Study(unequal_setup),
};

pub(crate) static UNEQUAL_AMOUNTS: Rule = Rule {
    code: "D5",
    name: "unequal-amounts",
    what: "Sides of one test that moved different amounts of data, though the command fixes the amount.",
    fix: "Let every side finish the same work.",
    stage: AppliedTo::Study(unequal_amounts),
};

/// Returns the letters in lower case, without separators: `Queue depth`, `queue-depth` and `queue_depth` are equal.
fn plain(words: &str) -> String {
    words.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns `true` if the study declares one of these subjects in `compares`.
fn is_compared(view: &View<'_>, subjects: &[String]) -> bool {
    let compared: Vec<String> = view.study.study.compares.iter().map(|words| plain(words)).collect();
    // `mkfs options` covers `mkfs`, and `block sizes` covers `block size`.
    let forms = |words: &str| {
        let words = plain(words);
        [format!("{words}s"), format!("{words}options"), format!("{words}settings"), words]
    };
    subjects.iter().any(|subject| forms(subject).iter().any(|form| compared.contains(form)))
}

/// Describes the declared comparison: `only fs was to be compared`.
pub(super) fn meant(view: &View<'_>) -> String {
    match view.study.study.compares.as_slice() {
        [] => "the study does not say what was to be compared".to_owned(),
        compares => format!("only {} was to be compared", listed(compares)),
    }
}

/// A field, with the value of each side.
struct SideValues {
    field: String,
    values: Vec<String>,
}

impl SideValues {
    /// Formats the field: `queue depth (8 | 32)`.
    fn words(&self) -> String {
        format!("{} ({})", self.field, self.values.join(" | "))
    }
}

fn unequal_commands(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for index in 0..view.tests.len() {
        let mut commands: Vec<&CellView<'_>> = Vec::new();
        for cell in view.of_test(index).filter(|cell| cell.cell.value.is_some() && cell.command().is_some()) {
            if commands.iter().all(|known| (&known.cell.side, known.command()) != (&cell.cell.side, cell.command())) {
                commands.push(cell);
            }
        }
        let Some((first, others)) = commands.split_first() else { continue };
        let mut fields: Vec<SideValues> = Vec::new();
        for other in others.iter().filter(|other| other.cell.side != first.cell.side) {
            for FieldDifference { field, subjects, values } in between(first, other) {
                if is_compared(view, &subjects) {
                    continue;
                }
                let [mine, theirs] = values;
                match fields.iter_mut().find(|known| known.field == field) {
                    Some(known) if known.values.contains(&theirs) => {}
                    Some(known) => known.values.push(theirs),
                    None => fields.push(SideValues { field, values: vec![mine, theirs] }),
                }
            }
        }
        if fields.is_empty() {
            continue;
        }
        let words: Vec<String> = fields.iter().map(SideValues::words).collect();
        found.push(Draft {
            level: Level::Warn,
            cells: ids(view.of_test(index)),
            observed: words.join(", "),
            message: format!(
                "The sides of {} ran commands that differ in {}, and {}.",
                first.test.id,
                listed(&words),
                meant(view)
            ),
        });
    }
    found
}

fn between(first: &CellView<'_>, other: &CellView<'_>) -> Vec<FieldDifference> {
    match (first.command(), other.command()) {
        (Some(one), Some(two)) if one != two => differences((one, &first.actions), (two, &other.actions)),
        _ => Vec::new(),
    }
}

fn unequal_setup(view: &View<'_>) -> Vec<Draft> {
    let study = view.study;
    if study.side.len() < 2 {
        return Vec::new();
    }
    let prepared: Vec<Prepared> = study
        .side
        .iter()
        .map(|side| {
            let steps = study.setup.iter().filter(|step| step.side.as_ref().is_none_or(|of| *of == side.id));
            Prepared::from_lines(steps.map(|step| step.command.as_str()))
        })
        .collect();
    let arrays_everywhere = prepared.iter().all(|side| side.has_array);
    let ext_everywhere =
        prepared.iter().all(|side| side.file_system.as_ref().is_some_and(|name| name.starts_with("ext")));
    let names = BTreeSet::from_iter(prepared.iter().flat_map(|side| side.settings.keys()));
    let mut found: Vec<(Level, String)> = Vec::new();
    for name in names {
        let values: Vec<String> = prepared
            .iter()
            .map(|side| side.settings.get(name).map_or("default".to_owned(), |setting| setting.value.clone()))
            .collect();
        let part = prepared.iter().find_map(|side| side.settings.get(name)).map(|setting| setting.part);
        let Some(part) = part.filter(|_| values.iter().any(|value| *value != values[0])) else { continue };
        let is_of_one_kind = part == PreparedPart::Array && !arrays_everywhere;
        let is_of_ext = name == "lazy initialisation" && !ext_everywhere;
        let subjects: Vec<String> = part.subjects().iter().map(|word| (*word).to_owned()).collect();
        if is_of_one_kind || is_of_ext || is_compared(view, &[subjects, aliases(name)].concat()) {
            continue;
        }
        // The effect of an unknown command can be anything: installing a package, or slowing a disk.
        let level = if part == PreparedPart::Command { Level::Note } else { Level::Warn };
        found.push((level, format!("{name} ({})", values.join(" | "))));
    }
    let sides: Vec<String> = study.side.iter().map(|side| side_name(study, &side.id).to_owned()).collect();
    [Level::Warn, Level::Note]
        .into_iter()
        .filter_map(|level| {
            let words: Vec<String> =
                found.iter().filter(|(of, _)| *of == level).map(|(_, words)| words.clone()).collect();
            (!words.is_empty()).then(|| Draft {
                level,
                cells: Vec::new(),
                observed: words.join(", "),
                message: format!("{} were prepared differently: {}; {}.", listed(&sides), listed(&words), meant(view)),
            })
        })
        .collect()
}

/// Returns the words in `compares` that name a setting.
fn aliases(name: &str) -> Vec<String> {
    let others: &[&str] = match name {
        "level of the array" => &["raid", "raid level", "level"],
        "chunk size" => &["chunk"],
        "number of disks" => &["disks", "devices"],
        "queue/scheduler" => &["scheduler", "i/o scheduler"],
        "queue/read_ahead_kb" => &["read-ahead", "readahead"],
        "compression" | "compress" | "compress-force" => &["compression", "compress"],
        "atime" => &["noatime", "relatime"],
        "data" => &["journal mode", "journal"],
        "stripe unit" | "stripe width" => &["stripe", "geometry"],
        _ => &[],
    };
    let last = name.rsplit(['/', '.', ' ']).next().unwrap_or(name);
    others.iter().copied().chain([name, last]).map(str::to_owned).collect()
}

fn unequal_amounts(view: &View<'_>) -> Vec<Draft> {
    /// Printed counts may differ by a last block.
    const SHARE_MIN: f64 = 0.01;
    let mut found = Vec::new();
    for row in view.rows() {
        let fixed = row.iter().filter(|cell| {
            let is_fixed =
                |action: &crate::command::CommandAction| action.transfer_bytes().is_some() && !action.is_timed();
            cell.cell.value.is_some() && cell.actions.iter().any(is_fixed)
        });
        let moved: Vec<(&&CellView<'_>, u64)> = fixed.filter_map(|cell| Some((cell, cell.cell.bytes?))).collect();
        let (Some(least), Some(most)) =
            (moved.iter().map(|(_, bytes)| *bytes).min(), moved.iter().map(|(_, bytes)| *bytes).max())
        else {
            continue;
        };
        if (most as f64) < least as f64 * (1.0 + SHARE_MIN) {
            continue;
        }
        // Different commands are a separate finding.
        let first = moved[0].0;
        if moved.iter().any(|(cell, _)| cell.command() != first.command()) {
            continue;
        }
        let parts: Vec<String> = moved
            .iter()
            .map(|(cell, bytes)| {
                let name = side_name(view.study, &cell.cell.side);
                format!("{name} {}", plumb_trust::text::bytes_exact(*bytes))
            })
            .collect();
        found.push(Draft {
            level: Level::Warn,
            cells: ids(row.iter().copied()),
            observed: parts.join(", "),
            message: format!("The sides of {} moved different amounts of data: {}.", first.test.id, listed(&parts)),
        });
    }
    found
}
