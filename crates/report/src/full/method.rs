//! The method section: the machine, the workload, the order, the checks that lacked data, and a paragraph for a paper.

use crate::document::{FactTable, Item, ReportPart};
use crate::facts;
use crate::format;
use crate::style::Ink;
use plumb_result::{Level, RunResult};

/// Returns the facts of each set-up; facts that all share are printed once.
pub(super) fn setups(named: &[(String, &RunResult)]) -> Vec<ReportPart> {
    let names = [
        "machine",
        "processor",
        "memory",
        "virtualisation",
        "kernel",
        "system",
        "storage",
        "stack",
        "mount options",
        "work",
        "measured by",
    ];
    let fact = |result: &RunResult, name: &str| -> String {
        let environment = &result.environment;
        let targets = || result.target.values();
        let each = |of: &dyn Fn(&plumb_result::observe::TargetFacts) -> String| {
            let mut texts: Vec<String> = targets().map(of).filter(|text| !text.is_empty()).collect();
            texts.dedup();
            texts.join("; ")
        };
        match name {
            "machine" => format!("{} ({})", environment.hostname, environment.arch),
            "processor" => format!("{} × {}", environment.cpus, environment.cpu),
            "memory" => format::bytes_iec(environment.ram_bytes as f64),
            "virtualisation" => environment.virtualisation.value().cloned().unwrap_or_default(),
            "kernel" => environment.kernel.clone(),
            "system" => environment.os.clone(),
            "storage" => each(&|facts| format!("{}: {}", facts.path, facts::storage(facts))),
            "stack" => each(&facts::stack),
            "mount options" => each(&|facts| facts.filesystem.value().map_or(String::new(), |fs| fs.options.join(","))),
            "work" => result.workload.name.clone(),
            _ => format!("{} {}", result.tool.name, result.tool.version),
        }
    };
    let rows = names
        .into_iter()
        .map(|name| (name.to_owned(), named.iter().map(|(_, result)| fact(result, name)).collect::<Vec<_>>()))
        .filter(|(_, values)| values.iter().any(|value| !value.is_empty()))
        .collect();
    let columns = named.iter().map(|(name, _)| name.clone()).collect();
    vec![ReportPart::Heading("Method".to_owned()), ReportPart::Facts(FactTable { columns, rows })]
}

/// Lists the checks that lacked data, each once.
pub(super) fn not_checked(results: &[&RunResult]) -> Vec<ReportPart> {
    let mut items: Vec<Item> = Vec::new();
    for finding in results.iter().flat_map(|result| &result.checks).filter(|finding| finding.level == Level::Skipped) {
        let head = finding.code.clone();
        if !items.iter().any(|known| known.head == head) {
            items.push(Item { ink: Ink::Faint, head, text: finding.message.clone() });
        }
    }
    if items.is_empty() { Vec::new() } else { vec![ReportPart::List(items)] }
}

/// Returns a paragraph for a paper, with the citation.
pub(super) fn paragraph(text: String, tool: &str) -> Vec<ReportPart> {
    vec![
        ReportPart::Heading("For a paper".to_owned()),
        ReportPart::Text(Ink::Faint, text),
        ReportPart::Text(
            Ink::Faint,
            format!("Cite: {tool}, a storage benchmark. Results and settings: this report's numbers and ids."),
        ),
    ]
}

/// Describes the machine: `Debian GNU/Linux 12 (bookworm), Linux 6.1.0, 2 × Intel …, 24.0 GiB of memory`.
pub(super) fn machine(result: &RunResult) -> String {
    let environment = &result.environment;
    let memory = format::bytes_iec(environment.ram_bytes as f64);
    format!(
        "{}, kernel {}, {} × {}, {memory} of memory",
        environment.os, environment.kernel, environment.cpus, environment.cpu
    )
}

/// Lists findings above a note, worst first, each code once.
pub(super) fn trust(results: &[&RunResult]) -> Vec<ReportPart> {
    let mut items: Vec<(Level, Item)> = Vec::new();
    for finding in results.iter().flat_map(|result| &result.checks).filter(|finding| finding.level >= Level::Warn) {
        let phase = finding.phase.as_ref().map_or(String::new(), |phase| format!("{phase}: "));
        let item = Item::finding(finding.level, &finding.code, &format!("{phase}{}", finding.message), &finding.remedy);
        if !items.iter().any(|(_, known)| *known == item) {
            items.push((finding.level, item));
        }
    }
    items.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    let mut items: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
    if results.iter().any(|result| result.imported.is_some()) {
        let text =
            "another tool's result: nothing was observed while it ran, so it may be the speed of memory.".to_owned();
        items.push(Item { ink: Ink::Caution, head: "unknown".to_owned(), text });
    }
    if items.is_empty() {
        items.push(Item::no_warnings());
    }
    vec![ReportPart::Heading("How far to trust it".to_owned()), ReportPart::List(items)]
}
