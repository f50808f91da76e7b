//! Study files: TOML in, a [`Plan`] out.
//!
//! A file is read in two steps. Parts that do not depend on levels (factors, hosts, design, compare) are a typed
//! [`Form`](form::StudyForm). Parts that may contain `${factor}` (steps, target, workloads) stay a tree of values
//! with their positions, which is read once for each combination of levels. So an error that only appears with one
//! level still points at its line.

mod agents;
mod check;
pub(crate) mod dialect;
mod error;
mod expect;
mod factors;
mod files;
pub mod form;
#[cfg(test)]
mod hostile;
mod import;
mod level_form;
mod levels;
mod make;
mod objections;
mod options;
#[cfg(feature = "schema")]
mod schema;
mod short;
#[cfg(feature = "schema")]
mod step_schema;
mod study;
mod target;
#[cfg(test)]
mod tests;
mod workload;

pub use error::StudyError;
pub use files::{FilesInDirectory, StudyFileError, StudyFiles};
pub(crate) use make::known_metric;
pub use options::PlanOptions;
#[cfg(feature = "schema")]
pub use schema::schema;

use crate::plan::Plan;
use plumb_document::{Spanned, Table, Value};
use plumb_workload_text::native::{self, Document, LocatedFailure};
use std::path::{Component, Path, PathBuf};

/// Largest number of studies in a chain of `extends`.
const BASES_MAX: usize = 16;

/// Plans the study in a file.
///
/// # Errors
/// The file cannot be read, or makes no sense.
pub fn plan_file(path: &Path, options: &PlanOptions) -> Result<Plan, StudyError> {
    let name = path.display().to_string();
    let text = plumb_text::bounded::read_to_string(path)
        .map_err(|error| StudyError::Read { path: name.clone(), reason: error.to_string() })?;
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    plan(&name, &text, options, &mut FilesInDirectory(directory))
}

/// Plans a study. `name` names its text in errors.
///
/// # Errors
/// The study makes no sense.
pub fn plan(name: &str, text: &str, options: &PlanOptions, files: &mut dyn StudyFiles) -> Result<Plan, StudyError> {
    let mut document = Document::new(name, text, &options.set);
    for (name, text) in bases(name, text, files)? {
        document = document.on_base(&name, &text);
    }
    let mut tree = document.tree()?;
    tree.get_mut().remove("extends");
    let scale = put_scale(&document, tree.get_mut(), options)?;
    document.put_overrides(&mut tree)?;
    let span = tree.span();
    make::plan(&document, &Spanned::new(span, Value::Table(tree.into_inner())), &scale, options, files)
}

/// Returns the texts that a text extends, the nearest first.
fn bases(name: &str, text: &str, files: &mut dyn StudyFiles) -> Result<Vec<(String, String)>, StudyError> {
    let mut found: Vec<(String, String)> = Vec::new();
    let (mut name, mut text, mut folder) = (name.to_owned(), text.to_owned(), PathBuf::new());
    loop {
        let document = Document::new(&name, &text, &[]);
        let tree = document.tree()?;
        let Some(value) = tree.get_ref().get("extends") else { return Ok(found) };
        let failed = |message: String, help: &str| {
            StudyError::File(document.failures(vec![LocatedFailure {
                span: value.span(),
                message,
                help: help.to_owned(),
            }]))
        };
        let Some(base) = value.get_ref().as_str() else {
            return Err(failed("expected text in quotes".to_owned(), "name one study file"));
        };
        let path = plain(&folder.join(base));
        if found.len() == BASES_MAX || found.iter().any(|(name, _)| *name == path.display().to_string()) {
            return Err(failed(format!("`{base}` extends itself"), "a base may not build on what builds on it"));
        }
        let read = files
            .read(&path)
            .map_err(|reason| failed(format!("cannot read `{base}`: {reason}"), "paths are relative to this file"))?;
        folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        found.push((path.display().to_string(), read.clone()));
        (name, text) = (path.display().to_string(), read);
    }
}

/// Returns the path without redundant steps, so that one file has one name.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if found.file_name().is_some() => drop(found.pop()),
            other => found.push(other),
        }
    }
    found
}

/// The scale of the file without overrides.
const FULL: &str = "full";

/// Applies a scale to the tree, and removes all scales from it. Returns its name.
fn put_scale(document: &Document<'_>, tree: &mut Table, options: &PlanOptions) -> Result<String, StudyError> {
    let scales = tree.remove("scale");
    let table = scales.as_ref().and_then(|scales| scales.get_ref().as_table());
    let wanted = options.scale.as_deref().unwrap_or(FULL);
    let found = table.and_then(|table| table.get_key_value(wanted));
    let Some((key, value)) = found else {
        if wanted == FULL {
            return Ok(FULL.to_owned());
        }
        let mut names: Vec<&str> =
            table.into_iter().flat_map(|table| table.keys()).map(|key| key.get_ref().as_str()).collect();
        names.push(FULL);
        let place = scales.as_ref().map_or(0..0, |scales| scales.span().start..scales.span().start);
        let mut failure = levels::unknown("scale", wanted, names.into_iter(), &place);
        failure.help.push_str("; `full` is the study as it stands");
        return Err(document.failures(vec![failure]).into());
    };
    let Some(changes) = value.get_ref().as_table() else {
        return Err(document
            .failures(vec![LocatedFailure {
                span: key.span(),
                message: "a scale is a table of changes".to_owned(),
                help: "such as `[scale.small]` with `design.plots = 2`".to_owned(),
            }])
            .into());
    };
    native::over(tree, changes).map_err(|failure| document.failures(vec![failure]))?;
    Ok(wanted.to_owned())
}
