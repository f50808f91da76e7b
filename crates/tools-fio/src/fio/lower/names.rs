//! Names of files, and labels of groups and targets.

use super::error::JobFault;
use super::places::{Found, Places};
use crate::fio::job::FioJob;
use crate::fio::options::files::{NRFILES, NameOptions};
use crate::fio::options::job::NUMJOBS;
use plumb_workload::files::Names;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the file names of one copy of a job.
pub(super) fn files(job: &FioJob, copy: u32, places: &mut dyn Places) -> Names {
    let NameOptions { filenames, directories, filename_format, unique_filename, opendirs, .. } = &job.files.names;
    let nrfiles = job.files.nrfiles;
    let mut given: Vec<String> = filenames.iter().map(|name| in_directory(directories.first(), name)).collect();
    for directory in opendirs {
        given.extend(places.files_below(directory));
    }
    if !filenames.is_empty() || !opendirs.is_empty() {
        return Names::Given(given.into_iter().map(PathBuf::from).collect());
    }
    let directory = directory(job, copy);
    // A job named like a device works on that device.
    if nrfiles == 1 && !matches!(places.find(&job.section.name), Found::Absent | Found::Regular { .. }) {
        return Names::Given(vec![PathBuf::from(in_directory(directory, &job.section.name))]);
    }
    let client = places.client().unwrap_or_default();
    // fio adds the client's name for jobs of other hosts, because they may share the directory.
    let is_prefixed = !client.is_empty() && directory.is_some() && *unique_filename;
    let prefix = if is_prefixed { format!("{client}.") } else { String::new() };
    let made = |number: &str| generated(filename_format, &job.section.name, copy, (number, &client));
    let name = |number: &str| in_directory(directory, &format!("{prefix}{}", made(number)));
    // Braces in a job's own name would be read as a placeholder for a number.
    let (path, has_one_place) = match nrfiles {
        1 => (name("0"), !name("0").contains("{}")),
        _ => (name("{}"), name("{}").matches("{}").count() == 1),
    };
    // A `filename_format` without numbers is a name that the user typed, so the file is judged like one named by
    // `filename`.
    if has_one_place && !is_typed(filename_format) {
        return Names::Numbered { path: PathBuf::from(path), count: nrfiles, per_directory: None };
    }
    Names::Given((0..nrfiles).map(|number| PathBuf::from(name(&number.to_string()))).collect())
}

/// Returns the directory of `directory=` for a copy.
fn directory(job: &FioJob, copy: u32) -> Option<&String> {
    let directories = &job.files.names.directories;
    match directories.len() {
        0 => None,
        count => directories.get(copy as usize % count),
    }
}

/// Checks for counts that leave the job without copies or files.
pub(super) fn empty_count(job: &FioJob) -> Option<JobFault> {
    let files = &job.files;
    if job.identity.numjobs == 0 {
        return Some(JobFault::None { option: NUMJOBS.name(), what: "copies of the job" });
    }
    let has_none = files.nrfiles == 0 && files.names.filenames.is_empty() && files.names.opendirs.is_empty();
    has_none.then_some(JobFault::None { option: NRFILES.name(), what: "files" })
}

/// Returns the directory below which fio creates the directories of its files: `directory=`, which must exist, or the
/// working directory. Returns `None` if all directories exist. Source: `create_work_dirs` in fio's `filesetup.c`.
pub(super) fn makes_below(job: &FioJob, copy: u32, names: &Names, places: &mut dyn Places) -> Option<PathBuf> {
    let files = &job.files;
    let directory =
        if files.names.filenames.is_empty() { directory(job, copy) } else { files.names.directories.first() };
    let base = directory.map(|directory| PathBuf::from(in_directory(Some(directory), ""))).unwrap_or_default();
    let mut is_missing = |path: &Path| match path.parent() {
        Some(parent) if parent != base => matches!(places.find(&parent.to_string_lossy()), Found::Absent),
        _ => false,
    };
    let any_missing = match names {
        Names::Given(paths) => paths.iter().any(|path| is_missing(path)),
        Names::Numbered { path, .. } => is_missing(path),
        Names::Made(_) | Names::Postmark(_) | Names::Trees(_) => false,
    };
    any_missing.then_some(base)
}

/// Joins the two as plain text: an absolute name below a directory stays below it.
fn in_directory(directory: Option<&String>, name: &str) -> String {
    match directory {
        Some(directory) => format!("{}/{name}", directory.trim_end_matches('/')),
        None => name.to_owned(),
    }
}

/// Returns `true` if the user typed the whole name. A `filename_format` without `$jobnum` and `$filenum` consists of
/// text, the job's name, which the user typed as well, and the client. It names one file per job.
fn is_typed(format: &str) -> bool {
    let format = format.to_ascii_lowercase();
    !format.is_empty() && !["$jobnum", "$filenum"].iter().any(|variable| format.contains(variable))
}

/// Expands `filename_format` for a file number and the client that owns the job. Variable names are case-insensitive.
pub(super) fn generated(format: &str, job: &str, copy: u32, (number, client): (&str, &str)) -> String {
    let copy = copy.to_string();
    let variables = [("$jobname", job), ("$jobnum", copy.as_str()), ("$filenum", number), ("$clientuid", client)];
    let mut name = String::new();
    let mut rest = if format.is_empty() { "$jobname.$jobnum.$filenum" } else { format };
    'rest: while let Some(first) = rest.chars().next() {
        for (variable, value) in variables {
            if rest.get(..variable.len()).is_some_and(|head| head.eq_ignore_ascii_case(variable)) {
                name.push_str(value);
                rest = &rest[variable.len()..];
                continue 'rest;
            }
        }
        name.push(first);
        rest = &rest[first.len_utf8()..];
    }
    name
}

/// Allocates unique labels for groups, phases and targets, as close to fio's names as Plumb allows.
#[derive(Debug, Default)]
pub(super) struct Labels {
    taken: BTreeSet<String>,
}

impl Labels {
    /// Maximum length of a label, with room for a number after it.
    const LENGTH_MAX: usize = 48;

    /// Returns an unused label derived from `name`.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let plain = plain(name);
        let mut label = plain.clone();
        let mut number = 2_u64;
        while !self.taken.insert(label.clone()) {
            label = format!("{plain}-{number}");
            number += 1;
        }
        label
    }
}

/// Replaces all characters that a label cannot contain.
pub(super) fn plain(name: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let trimmed = name.trim().trim_start_matches(|c: char| !c.is_alphanumeric());
    let label: String = trimmed.chars().map(fits).take(Labels::LENGTH_MAX).collect();
    if label.is_empty() { "job".to_owned() } else { label }
}
