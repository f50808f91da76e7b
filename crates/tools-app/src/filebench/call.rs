//! Parses the command line.

use super::personalities::{PERSONALITIES, Personality};
use super::usage_error::FilebenchUsageError;
use super::variables::CUSTOM;
use plumb_tools::permission::ALLOW_SYSTEM;
use std::fmt::Write;

/// A command line that requests a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// Path of the script; `-` for standard input.
    pub file: String,
    /// A bundled script, used instead of `file`.
    pub personality: Option<Personality>,
    /// Variables, each with its value.
    pub settings: Vec<(String, String)>,
    /// Duration of the run, s. It replaces the duration in the script.
    pub run_s: Option<u64>,
    /// Whether the script's `system` commands may run.
    pub allows_system: bool,
    /// Print the workload instead of running it.
    pub translates: bool,
}

/// The action that a command line requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Run(Call),
    Page(String),
}

/// Parses a command line.
///
/// # Errors
/// An option is unknown, or a value is missing or invalid.
pub fn read(words: &[String]) -> Result<Action, FilebenchUsageError> {
    let mut call = Call::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            let value = joined.clone().or_else(|| rest.next().cloned());
            value.ok_or_else(|| {
                FilebenchUsageError::without_place(format!("{name} needs a value")).help("see `filebench -h`")
            })
        };
        match name {
            "-f" => call.file = value()?,
            "--personality" => call.personality = Some(personality(&value()?)?),
            "-h" | "--help" => return Ok(Action::Page(help())),
            "-c" => return custom_variables(rest.next().map(String::as_str)).map(Action::Page),
            "--set" => {
                let text = value()?;
                let (name, value) = text.split_once('=').ok_or_else(|| {
                    FilebenchUsageError::without_place(format!("--set {text}: there is no value"))
                        .help("write --set nfiles=50000")
                })?;
                call.settings.push((name.to_owned(), value.to_owned()));
            }
            "--run" => {
                let text = value()?;
                let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
                call.run_s = Some(seconds.ok_or_else(|| {
                    FilebenchUsageError::without_place(format!("--run {text}: this is not a time"))
                        .help("give seconds, such as --run 60")
                })?);
            }
            ALLOW_SYSTEM => call.allows_system = true,
            "--translate" => call.translates = true,
            _ => {
                let names = ["-f", "-h", "-c", "--personality", "--set", "--run", ALLOW_SYSTEM, "--translate"];
                let error = FilebenchUsageError::without_place(format!("unknown option `{word}`"));
                return Err(error.nearest(name, names, "see `filebench -h`"));
            }
        }
    }
    match (&call.personality, call.file.is_empty()) {
        (None, true) => {
            Err(FilebenchUsageError::without_place("no script is given").help("use -f SCRIPT.f; see `filebench -h`"))
        }
        (Some(_), false) => {
            Err(FilebenchUsageError::without_place("-f and --personality both name a script").help("use one of them"))
        }
        _ => Ok(Action::Run(call)),
    }
}

/// Returns the bundled workload with this name.
fn personality(name: &str) -> Result<Personality, FilebenchUsageError> {
    PERSONALITIES.iter().find(|known| known.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = PERSONALITIES.iter().map(|known| known.name).collect();
        FilebenchUsageError::without_place(format!("unknown personality `{name}`"))
            .help(format!("there are {}", names.join(", ")))
    })
}

/// Returns the page of `-h`.
pub fn help() -> String {
    let mut text = "Usage: filebench -f SCRIPT [options]\n\
     \n  -f SCRIPT            run a script of the workload model language; - is standard input\
     \n  -c [TYPE]            list custom variables, or the parameters of one\
     \n  -h                   this page\
     \n\nPlumb's own:\
     \n  --personality NAME   run one of the workloads below, which come with Plumb\
     \n  --set NAME=VALUE     set a variable, whatever the script sets it to\
     \n  --run SECONDS        how long to run, whatever the script says; also where it has no `run`\
     \n  --allow-system       run the script's `system` commands, which are refused without it\
     \n  --translate          print the native workload, and run nothing\n\nPersonalities:\n"
        .to_owned();
    for personality in PERSONALITIES {
        let _ = writeln!(text, "  {:<12} {}", personality.name, personality.about());
    }
    text
}

/// Returns the page of `-c`.
///
/// # Errors
/// There is no custom variable of that type.
pub fn custom_variables(kind: Option<&str>) -> Result<String, FilebenchUsageError> {
    let Some(kind) = kind else {
        let names: Vec<String> = CUSTOM.iter().map(|custom| format!("    {}\n", custom.name)).collect();
        return Ok(format!("List of supported custom variables:\n{}", names.concat()));
    };
    let Some(custom) = CUSTOM.iter().find(|custom| custom.name == kind) else {
        return Err(FilebenchUsageError::without_place(format!("unknown custom variable `{kind}`"))
            .help("`filebench -c` lists them"));
    };
    let mut text = format!("{}: parameters, with their defaults\n", custom.name);
    for (name, usual) in custom.parameters.iter().filter(|(name, _)| !name.is_empty()) {
        let _ = writeln!(text, "    {name:<10} {usual}");
    }
    text.push_str("  round=N rounds to a multiple of N; min=N and max=N are limits.\n");
    Ok(text)
}
