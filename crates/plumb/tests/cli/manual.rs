//! The manual in `docs/` is consistent: every link has a target, and the contents list every page.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Markdown files in a folder of the repository and below it.
fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The pages whose links are checked.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["docs", "examples", "packaging"].iter().flat_map(|it| pages_below(&root().join(it))).collect();
    pages.extend(["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)));
    pages
}

/// Returns lines outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// Returns targets of links and pictures in a line: the text between `](` and `)`, outside inline code.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = line[from..].find("](").map(|at| from + at) {
        from = at + 2;
        let is_code = line[..at].matches('`').count() % 2 == 1;
        if let Some(length) = line[from..].find(')').filter(|_| !is_code) {
            found.push(&line[from..from + length]);
        }
    }
    found
}

/// Returns a heading's anchor, as forges and mdBook generate it: lower case, blanks as dashes,
/// no punctuation, only the text of links.
fn anchor(heading: &str) -> String {
    let mut text = heading.to_owned();
    while let Some(at) = text.find("](") {
        let end = text[at..].find(')').map_or(text.len(), |length| at + length + 1);
        text.replace_range(at..end, "");
    }
    let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the anchors of a page. A repeated heading gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let name = anchor(heading);
            let again = (1..).map(|number| format!("{name}-{number}")).find(|other| !found.contains(other));
            let name = if found.contains(&name) { again.unwrap() } else { name };
            found.insert(name);
        }
    }
    found
}

/// Removes `.` and `..` without asking the file system, so that a message names the path that a link means.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// Returns the reason why a relative link of a page is broken.
fn broken(page: &Path, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { page.to_owned() } else { normal(&page.parent().unwrap().join(file)) };
    if !path.starts_with(root()) {
        return Some("it leads out of the repository".to_owned());
    }
    if !path.exists() {
        return Some(format!("there is no {}", path.strip_prefix(root()).unwrap().display()));
    }
    let anchor = anchor.filter(|_| path.extension().is_some_and(|extension| extension == "md"))?;
    let known = anchors(&std::fs::read_to_string(&path).unwrap());
    (!known.contains(anchor)).then(|| format!("{} has no heading `{anchor}`", path.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut lost = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (line, text) in prose(&text) {
            for target in targets(text).into_iter().filter(|target| !target.contains("://")) {
                seen += 1;
                let name = page.strip_prefix(root()).unwrap().display();
                lost.extend(broken(&page, target).map(|why| format!("{name}:{line}: `{target}`: {why}")));
            }
        }
    }
    assert!(seen > 300, "{seen} links");
    assert!(lost.is_empty(), "{} broken links:\n{}", lost.len(), lost.join("\n"));
}

/// `docs/SUMMARY.md` lists every page once, in the four parts of the manual, so that mdBook and readers find it.
#[test]
fn the_contents_list_every_page() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<&str> = summary.lines().flat_map(targets).collect();
    let mut pages: BTreeSet<String> =
        pages_below(&docs).iter().map(|page| page.strip_prefix(&docs).unwrap().display().to_string()).collect();
    pages.remove("SUMMARY.md");
    for target in &listed {
        assert!(pages.remove(*target), "docs/SUMMARY.md lists {target} twice, or there is no such page");
    }
    assert!(pages.is_empty(), "docs/SUMMARY.md does not list {pages:?}");
    let parts: Vec<&str> = summary.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!(parts, ["Summary", "Tutorial", "How-to", "Reference", "Explanation", "For contributors"]);
}

#[test]
fn broken_links_and_anchors_are_found() {
    assert_eq!(targets("[a](b.md#c) `[x](y)` ![p](i.svg) [q](r"), ["b.md#c", "i.svg"]);
    assert_eq!(anchor(" `plumb as fio`, and [dd](dd.md): 4 KiB"), "plumb-as-fio-and-dd-4-kib");
    let text = "# One\n```text\n# No\n```\n## Two words\n## Two words\n";
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["one", "two-words", "two-words-1"]);
    let page = root().join("docs/trace.md");
    assert_eq!(broken(&page, "../README.md"), None);
    assert_eq!(broken(&page, "#recording"), None);
    assert!(broken(&page, "nowhere.md").is_some());
    assert!(broken(&page, "#nowhere").is_some());
    assert!(broken(&page, "../../elsewhere.md").is_some());
}
