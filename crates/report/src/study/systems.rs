//! The systems: machine, kernel, file system, devices and tools, and the steps that built each.

use super::levels;
use crate::document::{FactTable, Item, ReportPart};
use crate::run::Detail;
use crate::style::Ink;
use plumb_result::study::{StudyReport, StudySystem};

/// Returns the facts of all systems; facts that all share are printed once. Only the full page has the build steps.
pub(super) fn systems(report: &StudyReport, detail: Detail) -> Vec<ReportPart> {
    let systems = report.systems.as_slice();
    let mut parts = Vec::new();
    if systems.iter().any(|system| !system.facts.is_empty()) {
        parts.push(ReportPart::Heading(if systems.len() == 1 { "System" } else { "Systems" }.to_owned()));
        parts.push(ReportPart::Facts(facts(systems, detail)));
    }
    if detail == Detail::Full && systems.iter().any(|system| !system.steps.is_empty()) {
        parts.push(ReportPart::Heading("How the systems are built".to_owned()));
        for system in systems {
            if systems.len() > 1 {
                parts.push(ReportPart::Text(Ink::Strong, name(system)));
            }
            let item = |head: &str, text: &String| Item { ink: Ink::Faint, head: head.to_owned(), text: text.clone() };
            let steps = system.steps.iter().map(|step| item("step", step));
            let commands = system.commands.iter().map(|command| item("ran", command));
            parts.push(ReportPart::List(steps.chain(commands).collect()));
        }
    }
    parts
}

/// Long facts that few readers need; only the full page has them.
const IN_FULL: [&str; 2] = ["made with", "mount settings"];

fn facts(systems: &[StudySystem], detail: Detail) -> FactTable {
    let mut names: Vec<&str> = Vec::new();
    for fact in systems.iter().flat_map(|system| &system.facts) {
        let is_shown = detail == Detail::Full || !IN_FULL.contains(&fact.name.as_str());
        if is_shown && !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    let value = |system: &StudySystem, name: &str| {
        let fact = system.facts.iter().find(|fact| fact.name == name);
        fact.map_or(String::new(), |fact| fact.values.join("; "))
    };
    FactTable {
        columns: systems.iter().map(name).collect(),
        rows: names
            .into_iter()
            .map(|name| (name.to_owned(), systems.iter().map(|system| value(system, name)).collect()))
            .collect(),
    }
}

/// Returns the name of a system: `level 4, fs ext4`, or its host if it has no levels.
fn name(system: &StudySystem) -> String {
    if system.levels.is_empty() { system.host.clone() } else { levels(&system.levels) }
}
