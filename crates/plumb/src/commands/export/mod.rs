//! `plumb export`: stored runs in the formats of other programs.

#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet;

use super::names::Names;
use crate::args::ExportArguments;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::session;
use plumb_document::json;
use plumb_engine::guard::OutputFile;
use plumb_export::{FlatResult, FlatStudy, bencher, horreum, opensearch};
use plumb_result::tidy::TidyTable;
use plumb_store::{Filter, FurtherColumns, ResultStore, RunStatus, StoreError};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Number of runs whose tags are read at once.
const RUNS_AT_ONCE: usize = 200;

pub(crate) fn run(arguments: &ExportArguments, common: &Common) -> Result<End, Stopped> {
    let form = &arguments.form;
    let is_json =
        !(form.csv || form.ndjson || form.parquet.is_some() || form.opensearch.is_some() || form.bundle.is_some());
    let is_json = is_json && !(form.opensearch_template || form.bmf || form.horreum || form.horreum_labels);
    if common.json && !is_json {
        return Err(Stopped::usage(
            "--json and the options for other formats exclude each other; `plumb export` writes JSON by default",
        ));
    }
    if let Some(path) = &form.bundle {
        return super::bundle::export(arguments, path, common);
    }
    if arguments.site.is_some() && form.parquet.is_none() {
        return Err(Stopped::usage("--site names a part of a Parquet directory; add --parquet DIR, or leave it out"));
    }
    if form.opensearch_template {
        output::print(&(json::to_string_pretty(&opensearch::template()).map_err(Stopped::io)? + "\n"));
        return Ok(End::Done);
    }
    if form.horreum_labels {
        output::print(&(json::to_string_pretty(&horreum::labels()).map_err(Stopped::io)? + "\n"));
        return Ok(End::Done);
    }
    if form.bmf && arguments.runs.is_empty() && arguments.study.is_none() && arguments.tag.is_none() {
        return Err(Stopped::usage(
            "--bmf: name the runs of one report, because runs that repeat a benchmark become its mean\n\
             Such as: plumb export last --bmf, or plumb export --tag TAG --bmf",
        ));
    }
    let store = session::store_to_read(common)?;
    let mut ids = selected(&*store, arguments)?;
    if form.bmf {
        leave_out_retracted(&*store, &mut ids)?;
    }
    let mut names = Names::new(arguments.anonymise);
    names.learn_runs(&*store, &ids)?;
    let mut source = Source { store: &*store, ids: &ids, names: &mut names };
    if is_json {
        source.print_json()?;
    } else if form.csv {
        output::print(&source.tidy()?.csv());
    } else if form.ndjson {
        output::print(&source.tidy()?.ndjson());
    } else if let Some(path) = &form.parquet {
        parquet::write(&mut source, path, arguments.site.as_deref())?;
    } else if let Some(path) = &form.opensearch {
        source.write_bulk(path)?;
    } else if form.bmf {
        source.print_bmf()?;
    } else {
        source.print_horreum()?;
    }
    names.report();
    Ok(End::Done)
}

/// Returns the ids of the named runs, of a study or a tag, or of all finished runs.
pub(super) fn selected(store: &dyn ResultStore, arguments: &ExportArguments) -> Result<Vec<String>, Stopped> {
    if let Some(study) = &arguments.study {
        let id = super::study::find(store, study)?;
        return Ok(store.study_runs(&id)?.into_iter().filter_map(|run| run.run_id).collect());
    }
    if arguments.runs.is_empty() {
        let filter = Filter { tag: arguments.tag.clone(), status: Some(RunStatus::Ok), ..Filter::default() };
        return Ok(store.list(&filter)?.into_iter().map(|row| row.id).collect());
    }
    Ok(arguments.runs.iter().map(|run| store.find(run)).collect::<Result<Vec<_>, _>>()?)
}

/// Removes runs that a benchmark's value must not contain, as comparisons do.
fn leave_out_retracted(store: &dyn ResultStore, ids: &mut Vec<String>) -> Result<(), Stopped> {
    let rows = store.list(&Filter { ids: Some(ids.clone()), ..Filter::default() })?;
    let retracted: Vec<String> = rows.into_iter().filter(|row| row.retraction().is_some()).map(|row| row.id).collect();
    if !retracted.is_empty() {
        error_line!("left out {} of {} runs, which are retracted", retracted.len(), ids.len());
        ids.retain(|id| !retracted.contains(id));
    }
    Ok(())
}

/// The selected runs, whose names are replaced on the way if the user asked for it.
struct Source<'a> {
    store: &'a dyn ResultStore,
    ids: &'a [String],
    names: &'a mut Names,
}

impl Source<'_> {
    fn print_json(&mut self) -> Result<(), Stopped> {
        let text = match self.names.are_replaced() {
            true => self.anonymous_json()?,
            false => self.store.export_json(self.ids)?,
        };
        output::print(&text);
        Ok(())
    }

    /// Like [`ResultStore::export_json`], but with names replaced.
    fn anonymous_json(&mut self) -> Result<String, Stopped> {
        let texts = self
            .ids
            .iter()
            .map(|id| json::to_string(&self.names.shown(self.store.get(id)?)?).map_err(Stopped::io))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(if texts.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", texts.join(",\n")) })
    }

    fn tidy(&mut self) -> Result<TidyTable, Stopped> {
        let mut numbers = self.store.tidy(self.ids, &plumb_study::placed::columns(self.store, self.ids)?)?;
        self.names.replace_in_numbers(&mut numbers);
        Ok(numbers)
    }

    /// Passes each run with its numbers to `take`, oldest first. Skips runs without a result.
    fn each_flat(&mut self, take: &mut dyn FnMut(FlatResult) -> Result<(), Stopped>) -> Result<(), Stopped> {
        let studies = plumb_study::placed::columns(self.store, self.ids)?;
        // A UUIDv7 begins with its time.
        let mut ids = self.ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        for ids in ids.chunks(RUNS_AT_ONCE) {
            let numbers = self.store.run_numbers(ids)?.into_iter();
            let mut tags: BTreeMap<String, Vec<String>> = numbers.map(|run| (run.id, run.tags)).collect();
            for id in ids {
                let result = match self.store.get(id) {
                    Ok(result) => self.names.shown(result)?,
                    Err(StoreError::NoResult { .. }) => continue,
                    Err(error) => return Err(error.into()),
                };
                let tags = tags.remove(id).unwrap_or_default();
                let tags = tags.into_iter().map(|tag| self.names.text(tag)).collect();
                take(FlatResult::from_result(&result, tags, study_of(&studies, id, self.names)))?;
            }
        }
        Ok(())
    }

    fn write_bulk(&mut self, path: &Path) -> Result<(), Stopped> {
        if path == Path::new("-") {
            return self.each_flat(&mut |result| {
                let mut lines = Vec::new();
                opensearch::write_bulk(&result, &mut lines).map_err(Stopped::io)?;
                output::print(&String::from_utf8_lossy(&lines));
                Ok(())
            });
        }
        let output = OutputFile::named("--opensearch", path);
        let mut file = BufWriter::new(output.create()?);
        self.each_flat(&mut |result| {
            opensearch::write_bulk(&result, &mut file).map_err(|error| output.failed()(error).into())
        })?;
        file.flush().map_err(output.failed())?;
        print_path(path);
        Ok(())
    }

    fn print_bmf(&mut self) -> Result<(), Stopped> {
        let mut results = Vec::new();
        self.each_flat(&mut |result| {
            results.push(result);
            Ok(())
        })?;
        let report = bencher::report(&results).map_err(Stopped::usage)?;
        if report.rejected > 0 {
            error_line!("left out {} of {} runs, which checks rejected", report.rejected, results.len());
        }
        output::print(&(json::to_string_pretty(&report.metrics).map_err(Stopped::io)? + "\n"));
        Ok(())
    }

    fn print_horreum(&mut self) -> Result<(), Stopped> {
        self.each_flat(&mut |result| {
            let line = json::to_string(&horreum::document(&result)).map_err(Stopped::io)?;
            output::print(&(line + "\n"));
            Ok(())
        })
    }
}

/// Prints the path of a file that was written. Prints nothing for a pipe, which may be standard output.
fn print_path(path: &Path) {
    if path.is_file() {
        output::print(&format!("{}\n", path.display()));
    }
}

/// Returns the place of a run in its study, from the columns of a table.
fn study_of(studies: &FurtherColumns, run: &str, names: &mut Names) -> Option<FlatStudy> {
    let values = studies.values.get(run)?;
    let mut study = FlatStudy::default();
    for (name, value) in studies.names.iter().zip(values) {
        match name.as_str() {
            "study" => study.name = names.text(value.clone()),
            "plot" => study.plot = value.parse().unwrap_or_default(),
            "repeat" => study.repeat = value.parse().unwrap_or_default(),
            name => {
                if let Some(factor) = name.strip_prefix("factor.").filter(|_| !value.is_empty()) {
                    study.factors.insert(names.text(factor.to_owned()), names.text(value.clone()));
                }
            }
        }
    }
    Some(study)
}
