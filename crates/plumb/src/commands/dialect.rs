//! `plumb as TOOL`: another tool's language, read by its own rules.

use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::fio::{self, Action, Files, Fio, Machine, MissingFile, Warning};
use std::ffi::OsString;
use std::io::Read;

/// The tools whose language is spoken.
const TOOLS: &[&str] = &["fio"];

/// Runs the words as the tool would: the first one names it.
pub fn run(words: &[OsString]) -> Result<End, Stopped> {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let tool = words.next().unwrap_or_default();
    match tool.as_str() {
        "fio" => as_fio(&words.collect::<Vec<_>>()),
        other => {
            let hint = plumb_workload::suggest::nearest(other, TOOLS.iter().copied());
            let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(Stopped::usage(format!("`{other}` is no tool whose language is spoken here, only fio is{hint}")))
        }
    }
}

/// As fio: what is wrong goes to standard error, and the code is then 1.
pub fn as_fio(words: &[String]) -> Result<End, Stopped> {
    let fio = match fio::read(words, &this_machine(), &mut Disk { stdin_taken: false }) {
        Ok(fio) => fio,
        Err(errors) => {
            for error in &errors.0 {
                eprintln!("fio: {error}");
            }
            return Ok(End::DialectFailed);
        }
    };
    if let Some(warning) = warning(&fio.warnings) {
        eprintln!("{warning}");
        if fio.invocation.warnings_fatal {
            return Ok(End::DialectFailed);
        }
    }
    match &fio.invocation.action {
        Action::Version => say(fio::VERSION),
        Action::Help => say(&fio::help::program()),
        Action::CommandHelp(option) => help(fio::help::command(option.as_deref())),
        Action::EngineHelp(engine) => help(fio::help::engine(engine.as_deref())),
        Action::ShowCommand => jobs(&fio, || say(&fio::show::line(&fio))),
        Action::ParseOnly => jobs(&fio, || Ok(End::Done)),
        Action::Run => jobs(&fio, || {
            eprintln!(
                "fio: not yet: running fio jobs. {} understood; `--parse-only`, `--showcmd`, `--cmdhelp`, `--enghelp` \
                 and `--version` work, and `plumb run` runs Plumb's own workloads.",
                match fio.jobs.len() {
                    1 => "The job is".to_owned(),
                    count => format!("All {count} jobs are"),
                }
            );
            Ok(End::DialectFailed)
        }),
    }
}

/// Does what is asked of the jobs, if there are any.
fn jobs(fio: &Fio, work: impl FnOnce() -> Result<End, Stopped>) -> Result<End, Stopped> {
    if fio.jobs.is_empty() {
        eprintln!("fio: no job is defined; name a job file, or begin a job with --name=NAME");
        return Ok(End::DialectFailed);
    }
    work()
}

fn say(text: &str) -> Result<End, Stopped> {
    session::print(&format!("{}\n", text.trim_end_matches('\n')))?;
    Ok(End::Done)
}

fn help(page: Result<String, fio::help::NoSuch>) -> Result<End, Stopped> {
    match page {
        Ok(page) => say(&page),
        Err(error) => {
            eprintln!("fio: {error}");
            Ok(End::DialectFailed)
        }
    }
}

/// All doubts in one line: scripts take much on standard error for a failure.
fn warning(warnings: &[Warning]) -> Option<String> {
    if warnings.is_empty() {
        return None;
    }
    let all: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    let misread = warnings.iter().any(|warning| matches!(warning, Warning::Misread { .. }));
    let way_out = if misread { " (--compat=strict reads all values as fio does)" } else { "" };
    Some(format!("fio: warning: {}{way_out}", all.join("; ")))
}

/// What job files may ask of this machine.
fn this_machine() -> Machine {
    let environment = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let memory = rustix::system::sysinfo();
    let memory_bytes = u128::from(memory.totalram) * u128::from(memory.mem_unit);
    Machine {
        environment,
        cpus: configured_cpus(),
        page_bytes: rustix::param::page_size() as u64,
        memory_mib: u64::try_from(memory_bytes >> 20).unwrap_or(u64::MAX),
    }
}

/// CPUs that the system is configured for, as `sysconf(_SC_NPROCESSORS_CONF)` tells.
fn configured_cpus() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok();
    let listed = listed.and_then(|text| fio::value::lists::cpus(text.trim()).ok()).map(|cpus| cpus.len());
    let count = listed.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Files of the disk; standard input can be read once.
struct Disk {
    stdin_taken: bool,
}

impl Files for Disk {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        let missing = |reason: String| MissingFile { reason };
        let mut bytes = Vec::new();
        if path == "-" {
            if std::mem::replace(&mut self.stdin_taken, true) {
                return Err(missing("standard input was read already".to_owned()));
            }
            std::io::stdin().read_to_end(&mut bytes).map_err(|error| missing(error.to_string()))?;
        } else {
            bytes = std::fs::read(path).map_err(|error| missing(error.to_string()))?;
        }
        // Comments may be in any encoding.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
