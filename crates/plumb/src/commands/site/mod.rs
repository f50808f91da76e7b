//! `plumb site`: chosen results as static pages, with their JSON and bundles as downloads.

mod directory;

use super::names::Names;
use super::{bundle, key, report};
use crate::args::SiteArguments;
use directory::{COMPARISONS, INDEX, RUNS, SiteDirectory};
use plumb_bundle::{Program, SigningKey};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::error_line;
use plumb_cli::{output, session};
use plumb_report::full::PageLink;
use plumb_report::site::{SiteComparison, SiteFiles, SiteIndex, SiteRun};
use plumb_result::Comparison;
use plumb_store::{Filter, ResultStore, RunStatus, StoreError};
use std::collections::BTreeSet;

/// A site that is being written.
struct Site<'a> {
    store: &'a dyn ResultStore,
    directory: SiteDirectory,
    names: Names,
    /// Key that signs the bundles; `None` without bundles.
    key: Option<SigningKey>,
    program: Program,
}

pub(crate) fn run(arguments: &SiteArguments, common: &Common) -> Result<End, Stopped> {
    if common.json {
        return Err(Stopped::usage("a site has no JSON; each page of it has its result as a download"));
    }
    let store = session::store_to_read(common)?;
    let runs = chosen(&*store, arguments)?;
    let comparisons = comparisons(&*store, &runs)?;
    let key = match key::exists() {
        true => Some(key::signing_key()?),
        false => None,
    };
    let mut names = Names::new(arguments.anonymise);
    // All names first, so that a text of one run that names the host of another is replaced, too.
    names.learn_runs(&*store, &runs)?;
    for comparison in &comparisons {
        names.learn(&store.comparison(comparison)?)?;
    }
    let files = files(&runs, &comparisons, key.is_some());
    let mut site = Site {
        store: &*store,
        directory: SiteDirectory::prepare(&arguments.directory, files)?,
        names,
        key,
        program: bundle::program(),
    };
    let listed = runs.iter().map(|run| site.write_run(run)).collect::<Result<Vec<_>, _>>()?;
    let compared = comparisons.iter().map(|id| site.write_comparison(id)).collect::<Result<Vec<_>, _>>()?;
    let program = format!("plumb {}", site.program.version);
    let index = SiteIndex::new(&arguments.title, &program, listed, compared);
    site.directory.write(INDEX, index.html().as_bytes())?;
    let (names, has_bundles) = (site.names, site.key.is_some());
    let removed = site.directory.finish()?;
    output::print(&format!("{}\n", arguments.directory.join(INDEX).display()));
    if removed > 0 {
        error_line!("removed {removed} files of the earlier site that are no longer part of it");
    }
    if !has_bundles {
        error_line!("note: there are no bundles to download; `plumb key` makes a key that signs them");
    }
    names.report();
    names.report_each();
    Ok(End::Done)
}

/// Returns the ids of the chosen runs, newest first.
fn chosen(store: &dyn ResultStore, arguments: &SiteArguments) -> Result<Vec<String>, Stopped> {
    let with_result = |filter: &Filter| -> Result<Vec<String>, Stopped> {
        let has_result = |run: &String| !matches!(store.get(run), Err(StoreError::NoResult { .. }));
        // A retracted run is published only by its id.
        let rows = store.list(filter)?.into_iter().filter(|row| row.retraction().is_none());
        Ok(rows.map(|row| row.id).filter(has_result).collect())
    };
    if arguments.all {
        let runs = with_result(&Filter { status: Some(RunStatus::Ok), ..Filter::default() })?;
        return match runs.is_empty() {
            true => Err(Stopped::usage("no runs are stored; start with `plumb try`")),
            false => Ok(runs),
        };
    }
    if arguments.runs.is_empty() {
        return Err(Stopped::usage(
            "name the runs to publish, such as `last` or `tag:NAME`; --all publishes all of them",
        ));
    }
    let mut runs: Vec<String> = Vec::new();
    for typed in &arguments.runs {
        let found = match typed.strip_prefix("tag:") {
            Some(tag) => with_result(&Filter { tag: Some(tag.to_owned()), ..Filter::default() })?,
            None => vec![store.get(typed)?.id],
        };
        if found.is_empty() {
            return Err(Stopped::usage(format!("no run has the tag of `{typed}`; `plumb list` shows tags")));
        }
        runs.extend(found);
    }
    // UUIDv7 begin with their time.
    runs.sort_unstable_by(|one, other| other.cmp(one));
    runs.dedup();
    Ok(runs)
}

/// Returns the stored comparisons, newest first, whose runs are all chosen: the page of another would show runs that are not.
fn comparisons(store: &dyn ResultStore, runs: &[String]) -> Result<Vec<String>, Stopped> {
    let chosen: BTreeSet<&str> = runs.iter().map(String::as_str).collect();
    let is_of_chosen = |comparison: &Comparison| {
        !comparison.runs.is_empty() && comparison.runs.iter().all(|run| chosen.contains(run.as_str()))
    };
    Ok(store.comparisons()?.into_iter().filter(|(_, one)| is_of_chosen(one)).map(|(id, _)| id).collect())
}

fn files_of(directory: &str, id: &str, has_bundle: bool) -> SiteFiles {
    let file = |ending: &str| format!("{directory}/{id}.{ending}");
    SiteFiles { page: file("html"), json: file("json"), bundle: has_bundle.then(|| file("plumb")) }
}

/// Returns the names of all files.
fn files(runs: &[String], comparisons: &[String], has_bundles: bool) -> BTreeSet<String> {
    let of_runs = runs.iter().map(|run| files_of(RUNS, run, has_bundles));
    let of_comparisons = comparisons.iter().map(|id| files_of(COMPARISONS, id, false));
    let names = |files: SiteFiles| [Some(files.page), Some(files.json), files.bundle].into_iter().flatten();
    of_runs.chain(of_comparisons).flat_map(names).chain([INDEX.to_owned()]).collect()
}

impl Site<'_> {
    /// Writes the page of a run and its downloads.
    fn write_run(&mut self, id: &str) -> Result<SiteRun, Stopped> {
        let files = files_of(RUNS, id, self.key.is_some());
        let mut page = report::stored_run_report(self.store, id)?;
        self.names.replace_in_report(&mut page);
        let page = page.with_links(links(id, self.key.is_some()));
        self.directory.write(&files.page, page.html().as_bytes())?;
        let stored = bundle::stored_run(self.store, id, &mut self.names)?;
        self.directory.write(&files.json, stored.result.as_bytes())?;
        if let (Some(key), Some(bundle)) = (&self.key, &files.bundle) {
            let bytes = bundle::make(&[stored], &self.program, &self.names, key)?;
            self.directory.write(bundle, &bytes)?;
        }
        let result = self.names.shown(self.store.get(id)?)?;
        Ok(SiteRun::new(&result, files, &mut |text| self.names.text(text.to_owned())))
    }

    /// Writes the page of a comparison and its JSON.
    fn write_comparison(&mut self, id: &str) -> Result<SiteComparison, Stopped> {
        let files = files_of(COMPARISONS, id, false);
        let comparison = self.store.comparison(id)?;
        let mut page = report::comparison_report(&comparison, Some(self.store))?;
        self.names.replace_in_report(&mut page);
        let title = page.title.clone();
        self.directory.write(&files.page, page.with_links(links(id, false)).html().as_bytes())?;
        let comparison = self.names.shown(comparison)?;
        let json = plumb_document::json::to_string_pretty(&comparison).map_err(Stopped::io)?;
        self.directory.write(&files.json, json.as_bytes())?;
        Ok(SiteComparison { title, answer: comparison.verdict_note, files })
    }
}

/// Returns the links of a page: back to the index, and its downloads.
fn links(id: &str, has_bundle: bool) -> Vec<PageLink> {
    let download = |text: &str, ending: &str| PageLink {
        text: text.to_owned(),
        address: format!("{id}.{ending}"),
        is_download: true,
    };
    let mut links =
        vec![PageLink { text: "All results".to_owned(), address: format!("../{INDEX}"), is_download: false }];
    links.push(download("JSON", "json"));
    if has_bundle {
        links.push(download("Signed bundle", "plumb"));
    }
    links
}
