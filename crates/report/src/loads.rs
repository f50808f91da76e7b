//! Named workloads: their list, and the sources of their numbers, as text and as Markdown.

use crate::style::{Ink, Style};
use plumb_workload::named::{Explanation, WorkloadTitle};

/// Lists named workloads, one line each: Plumb's own, and those modelled on others.
pub fn list(own: &[WorkloadTitle], others: &[WorkloadTitle], style: &Style) -> String {
    let width = own.iter().chain(others).map(|named| named.name.len()).max().unwrap_or(0);
    let part = |title: &str, all: &[WorkloadTitle]| {
        let mut text = format!("{}\n", style.ink(Ink::Faint, title));
        for named in all {
            text.push_str(&format!("  {:width$}  {}\n", named.name, style.wrap(named.about, width + 4)));
        }
        text
    };
    let own = part("Plumb's own (`all` names these):", own);
    let others = part("Modelled on others' work and benchmarks; none gives an official result:", others);
    format!("{own}\n{others}")
}

/// Returns the disclaimer of a load whose name could be taken for a benchmark's.
pub fn banner(of: &str) -> String {
    format!("This is not an official {of} result.")
}

/// Returns the page with the sources of a workload's numbers.
pub fn page(explanation: &Explanation, style: &Style) -> String {
    let Explanation { name, about, banner: of, notes, settings } = explanation;
    let mut page = format!("{}\n", style.ink(Ink::Strong, &style.wrap(&format!("{name}: {about}"), 4)));
    if let Some(of) = of {
        page.push_str(&format!("{}\n", style.ink(Ink::Caution, &banner(of))));
    }
    for note in notes {
        page.push_str(&format!("\n{}\n", style.wrap(note, 0)));
    }
    let mut part = None;
    for one in settings {
        if part != Some(&one.part) {
            part = Some(&one.part);
            page.push_str(&format!("\n{}\n", style.ink(Ink::Faint, &one.part)));
        }
        page.push_str(&format!("  {}\n", style.wrap(&one.setting, 6)));
        page.push_str(&format!(
            "      {}\n",
            style.ink(Ink::Faint, &style.wrap(&source(one.evidence.name(), &one.source), 6))
        ));
    }
    page
}

fn source(evidence: &str, source: &str) -> String {
    if source.is_empty() { evidence.to_owned() } else { format!("{evidence}: {source}") }
}

/// Returns the page as Markdown, for `docs/loads/`.
pub fn markdown(explanation: &Explanation) -> String {
    let Explanation { name, about, banner: of, notes, settings } = explanation;
    let mut page = format!("# {name}\n\n{about}\n");
    if let Some(of) = of {
        page.push_str(&format!("\n**{}**\n", banner(of)));
    }
    for note in notes {
        page.push_str(&format!("\n{}\n", Style { width: 120, ..Style::PLAIN }.wrap(note, 0)));
    }
    page.push_str("\n| part | setting | rests on | source |\n|---|---|---|---|\n");
    for one in settings {
        let setting = one.setting.replace('|', "\\|");
        page.push_str(&format!("| {} | `{setting}` | {} | {} |\n", one.part, one.evidence.name(), one.source));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload_text::named::LOADS;
    use std::path::{Path, PathBuf};

    fn directory() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/loads")
    }

    /// The pages must match the files: `PLUMB_BLESS=1 cargo test -p plumb-report loads` writes them.
    #[test]
    fn every_load_has_its_page_in_docs() {
        let is_blessed = std::env::var_os("PLUMB_BLESS").is_some();
        for load in LOADS {
            let path = directory().join(format!("{}.md", load.name));
            let page = markdown(&load.explanation());
            if is_blessed {
                std::fs::create_dir_all(directory()).unwrap();
                std::fs::write(&path, &page).unwrap();
            }
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == page, "{}: run PLUMB_BLESS=1 cargo test -p plumb-report loads", path.display());
        }
        let known = |name: &str| LOADS.iter().any(|load| format!("{}.md", load.name) == name);
        for entry in std::fs::read_dir(directory()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(known(&name), "docs/loads/{name} belongs to no load");
        }
    }

    #[test]
    fn the_page_has_the_disclaimer_and_the_sources_of_numbers() {
        let load = LOADS.iter().find(|load| load.name == "nfs-mix-2008-like").unwrap();
        let page = page(&load.explanation(), &Style::PLAIN);
        assert!(page.contains("This is not an official SPEC SFS result."), "{page}");
        assert!(page.contains("vendor's page: Eisler, NetApp, 2008: getattr 26"), "{page}");
    }
}
