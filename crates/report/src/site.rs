//! The index of a site: one static page that lists runs and comparisons, each with its page and its downloads.

use crate::full::{headline, site_style_sheet};
use crate::run::{verdict, verdict_ink};
use askama::Template;
use plumb_result::{RunResult, RunVerdict};

/// Largest number of phases whose numbers the index shows; the page of the run has all.
const PHASES_SHOWN: usize = 3;

/// An index of runs and comparisons.
#[derive(Debug, Template)]
#[template(path = "site.html")]
pub struct SiteIndex {
    title: String,
    rules: String,
    /// Sentence below the title.
    about: String,
    runs: Vec<SiteRun>,
    comparisons: Vec<SiteComparison>,
}

/// A run in the index.
#[derive(Debug, Clone)]
pub struct SiteRun {
    name: String,
    place: String,
    started: String,
    numbers: Vec<String>,
    verdict: &'static str,
    class: &'static str,
    sentence: String,
    files: SiteFiles,
}

/// A comparison in the index.
#[derive(Debug, Clone)]
pub struct SiteComparison {
    /// Title of its report.
    pub title: String,
    /// Its answer in one sentence.
    pub answer: String,
    /// Page and downloads.
    pub files: SiteFiles,
}

/// Files of a run or a comparison, relative to the index.
#[derive(Debug, Clone, Default)]
pub struct SiteFiles {
    pub page: String,
    pub json: String,
    /// Absent for comparisons, and without a key that signs.
    pub bundle: Option<String>,
}

impl SiteRun {
    /// Describes a run by its place, its main numbers and its verdict. `change` replaces names in texts that are made here.
    pub fn new(result: &RunResult, files: SiteFiles, change: &mut dyn FnMut(&str) -> String) -> SiteRun {
        let mut places: Vec<&str> = result.target.values().map(|facts| facts.path.as_str()).collect();
        places.dedup();
        let name = if result.workload.name.is_empty() { "run" } else { &result.workload.name };
        let source = result.imported.as_ref().map(|_| format!("imported from {}", result.tool.name));
        let is_single = result.phases.len() == 1;
        let number = |(phase, line): (&str, String)| if is_single { line } else { format!("{phase}: {line}") };
        let headlines = result.phases.iter().filter_map(|phase| Some((phase.name.as_str(), headline(phase)?)));
        let mut numbers: Vec<String> = headlines.map(number).collect();
        let more = numbers.len().saturating_sub(PHASES_SHOWN);
        if more > 0 {
            numbers.truncate(PHASES_SHOWN);
            numbers.push(format!("and {more} more phases"));
        }
        SiteRun {
            name: change(name),
            place: change(&source.unwrap_or_else(|| places.join(", "))),
            started: result.started_at.get(..16).unwrap_or(&result.started_at).replace('T', " "),
            numbers: numbers.iter().map(|number| change(number)).collect(),
            verdict: result.verdict.name(),
            class: class(result.verdict),
            sentence: change(&verdict(result)),
            files,
        }
    }
}

const fn class(verdict: RunVerdict) -> &'static str {
    verdict_ink(verdict).class()
}

impl SiteIndex {
    /// Creates an index. `program` is the name and version of the program that makes it.
    pub fn new(title: &str, program: &str, runs: Vec<SiteRun>, comparisons: Vec<SiteComparison>) -> SiteIndex {
        let count = |number: usize, one: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {one}s"),
        };
        let mut about = count(runs.len(), "run");
        if !comparisons.is_empty() {
            about.push_str(&format!(" and {}", count(comparisons.len(), "comparison")));
        }
        about.push_str(&format!(", measured with Plumb. Page by {program}."));
        SiteIndex { title: title.to_owned(), rules: site_style_sheet(), about, runs, comparisons }
    }

    /// Returns the page. It needs neither network nor scripts.
    pub fn html(&self) -> String {
        // Rendering into memory cannot fail.
        self.render().unwrap_or_default()
    }

    fn has_bundles(&self) -> bool {
        self.runs.iter().any(|run| run.files.bundle.is_some())
    }
}
