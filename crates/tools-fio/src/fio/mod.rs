//! fio: job files and command lines, as fio 3.42 reads them.
//!
//! [`read`] is the entry point. It takes a command line, the machine and its environment, and a reader of files, and
//! returns [`Fio`]: program options ([`Invocation`]) and jobs ([`FioJob`]). If fio silently misreads a value (`5sec` as
//! five microseconds), `read` uses the intended meaning and adds a [`Warning`]; `--compat=strict` reads as fio does. It
//! reports all errors at once, each with its place.
//!
//! The table in [`options`] is the only description of options; [`help`] prints it, and [`show`] prints jobs as command
//! lines again. [`print`](mod@print) prints results in fio's formats.

pub mod commandline;
pub mod debug;
pub mod engines;
mod error;
pub mod help;
pub mod invocation;
pub mod job;
pub mod jobfile;
mod jobs;
pub mod lower;
mod machine;
pub mod options;
#[cfg(test)]
mod page;
pub mod print;
mod profile;
pub mod show;
pub mod value;

#[cfg(test)]
mod tests;

pub use error::{FioError, FioErrors, Warning, WordLocation};
pub use invocation::{Action, Eta, Invocation, OutputFormat, Trigger};
pub use job::{FioJob, InputOption};
pub use machine::{Files, Machine, MissingFile};
pub use profile::ActTest;
pub use value::Compat;

use jobfile::{Section, SectionKind};

/// The emulated version of fio. Scripts read the number after the dash (xfstests: `fio -v | cut -d- -f2`).
pub const VERSION: &str = "fio-3.42";

/// A parsed command line with its job files.
#[derive(Debug, Clone)]
pub struct Fio {
    pub invocation: Invocation,
    /// All jobs in order; those of the command line come first.
    pub jobs: Vec<FioJob>,
    /// Options of all global sections.
    pub globals: Vec<InputOption>,
    pub warnings: Vec<Warning>,
    /// The `--profile=act` test that judges the jobs whose place is [`PROFILE_PLACE`].
    pub act: Option<ActTest>,
}

/// File name in the places of a profile's jobs.
const PROFILE_PLACE: &str = "--profile";

impl Fio {
    /// Whether a job comes from a profile.
    pub fn is_of_profile(&self, job: usize) -> bool {
        let place = self.jobs.get(job).map(|job| &job.place);
        matches!(place, Some(WordLocation::File { path, .. }) if &**path == PROFILE_PLACE)
    }
}

/// Reads a command line and the job files that it names.
///
/// # Errors
///
/// All errors, in the order of the input. Words after `--version` or `--help` are not checked.
pub fn read(words: &[String], machine: &Machine, files: &mut dyn Files) -> Result<Fio, FioErrors> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let line = commandline::read(words, &mut errors);
    if errors.is_empty() && line.invocation.action.ends() {
        return Ok(Fio { invocation: line.invocation, jobs: Vec::new(), globals: Vec::new(), warnings, act: None });
    }
    // The hosts read the jobs.
    let is_elsewhere = line.invocation.hosts.server.is_some() || !line.invocation.hosts.clients.is_empty();
    if is_elsewhere && errors.is_empty() {
        return Ok(Fio { invocation: line.invocation, jobs: Vec::new(), globals: Vec::new(), warnings, act: None });
    }
    let wanted = &line.invocation.sections;
    let mut sections = line.sections;
    let profile = match &line.profile {
        None => None,
        Some((name, place)) => {
            let compat = line.invocation.compat;
            let found = profile::profile(name, &mut sections, place, compat, &mut warnings);
            found.map_err(|error| errors.push(*error)).ok()
        }
    };
    sections.retain(|section| is_wanted(section, wanted));
    for (index, path) in line.files.iter().enumerate() {
        let text = match files.read(path) {
            Ok(text) => text,
            Err(missing) => {
                errors.push(FioError::Unreadable { place: None, path: path.clone(), reason: missing.reason });
                continue;
            }
        };
        let mut reader =
            jobfile::JobFileReader { machine, files, wanted, errors: &mut errors, warnings: &mut warnings };
        let mut of_file = reader.sections(path, &text);
        let first_job = of_file.iter_mut().find(|section| section.kind == SectionKind::Job);
        if let (1.., Some(section)) = (index, first_job) {
            section.opens_file = true;
        }
        sections.append(&mut of_file);
    }
    let act = profile.as_ref().and_then(|profile| profile.act);
    if let Some(profile) = profile {
        let mut reader =
            jobfile::JobFileReader { machine, files, wanted, errors: &mut errors, warnings: &mut warnings };
        sections.append(&mut reader.sections(PROFILE_PLACE, &profile.jobs));
    }
    missing_sections(&sections, wanted, &mut errors);
    let read = jobs::read(sections, line.invocation.compat, &mut errors, &mut warnings);
    if errors.is_empty() {
        Ok(Fio { invocation: line.invocation, jobs: read.jobs, globals: read.globals, warnings, act })
    } else {
        Err(FioErrors(errors))
    }
}

fn is_wanted(section: &Section, wanted: &[String]) -> bool {
    section.kind == SectionKind::Global || wanted.is_empty() || wanted.contains(&section.name)
}

/// Reports requested sections that do not exist. Otherwise nothing would run, silently.
fn missing_sections(sections: &[Section], wanted: &[String], errors: &mut Vec<FioError>) {
    if !errors.is_empty() {
        return;
    }
    for name in wanted {
        if !sections.iter().any(|section| section.name == *name) {
            errors.push(FioError::NoSection { name: name.clone() });
        }
    }
}
