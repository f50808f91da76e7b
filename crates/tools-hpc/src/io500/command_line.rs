//! Parses the command line.

use super::error::Io500Error;
use super::hash::Hash;
use super::ini::Config;
use super::plan::{Circumstances, Plan};
use crate::aiori::Launched;
use plumb_tools::FileError;
use plumb_workload::suggest::nearest;

/// The request of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    Help,
    /// Print all keys of a configuration.
    List,
    /// Print the hash of a configuration.
    ConfigHash(Hash),
    Run(Box<Given>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub plan: Plan,
    /// Text of the configuration file.
    pub text: String,
    /// Keys without effect, each with the reason.
    pub ignored: Vec<(String, &'static str)>,
}

/// Limit of ranks in one process. Each is a thread.
const RANKS_MAX: u32 = 4096;
const OPTIONS: [&str; 9] = [
    "--help",
    "--list",
    "--config-hash",
    "--dry-run",
    "--mode",
    "--timestamp",
    "--plumb-ranks",
    "--cleanup",
    "--verify",
];

/// Returns the page of `--help`.
pub fn help() -> String {
    "io500-style: the phases, parameters and formula of IO500 isc26, run by Plumb. It is not IO500, and what it prints is not an \
     IO500 result.\n\n\
     Synopsis io500 CONFIG.ini [options]\n\n\
     \x20 --plumb-ranks=N     Ranks, as threads of this process; under mpirun its processes are the ranks\n\
     \x20 --timestamp=TEXT    Name of the directories of this run, and seed of its data, instead of the time\n\
     \x20 --mode=MODE         standard, or extended: with the phases find-easy, find-hard and mdworkbench\n\
     \x20 --dry-run           Print the command line of each phase, and run nothing\n\
     \x20 --config-hash       Print the hash of the configuration\n\
     \x20 --list, -l          Print all keys of a configuration, with defaults\n\
     \x20 --help, -h          Print this\n"
        .to_owned()
}

/// Parses a command line, without the name of the program. `now` names the directories of the run; `file` returns
/// the text of a configuration.
///
/// # Errors
/// The first error in the command line or the configuration.
pub fn read(
    words: &[String],
    launched: Option<&Launched>,
    now: &str,
    file: &mut dyn FnMut(&str) -> Result<String, FileError>,
) -> Result<Invocation, Io500Error> {
    let mut path: Option<&str> = None;
    let mut stamp = now.to_owned();
    let mut ranks = 1;
    let (mut is_dry, mut hashes, mut is_extended) = (false, false, false);
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let (name, attached) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let mut value = || {
            let value = attached.or_else(|| rest.next()).filter(|value| !value.is_empty());
            value.ok_or_else(|| Io500Error::Words(format!("{name} needs a value: {name}=VALUE")))
        };
        match name {
            "-h" | "--help" => return Ok(Invocation::Help),
            "-l" | "--list" => return Ok(Invocation::List),
            "--config-hash" => hashes = true,
            "--dry-run" => is_dry = true,
            "--timestamp" => stamp = stamp_of(value()?)?,
            "--plumb-ranks" => ranks = ranks_of(value()?, launched)?,
            "--mode" => match value()? {
                "standard" => is_extended = false,
                "extended" => is_extended = true,
                other => {
                    let why = "there are two modes: standard and extended";
                    return Err(Io500Error::Words(format!("--mode={other}: {why}")));
                }
            },
            "--cleanup" => {
                return Err(Io500Error::Words("--cleanup is not supported: remove the datadir yourself".to_owned()));
            }
            "--verify" => {
                return Err(Io500Error::Words(
                    "--verify is not supported: no other program makes these results".to_owned(),
                ));
            }
            _ if name.starts_with('-') => {
                let hint = nearest(name, OPTIONS).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                return Err(Io500Error::Words(format!("unknown option `{word}`{hint}")));
            }
            _ => {
                if let Some(path) = path {
                    let why = "give a single configuration";
                    return Err(Io500Error::Words(format!("`{path}` and `{word}`: {why}")));
                }
                path = Some(word);
            }
        }
    }
    let Some(path) = path else {
        return Err(Io500Error::Words("give a configuration: io500 CONFIG.ini; `--list` prints one".to_owned()));
    };
    let text = file(path)?;
    let config = Config::parse(path, &text)?;
    if hashes {
        return Ok(Invocation::ConfigHash(config.hash()));
    }
    let ignored = config.ignored(is_extended);
    let plan = Plan::new(config, &Circumstances { stamp: &stamp, ranks, launched, is_dry, is_extended })?;
    Ok(Invocation::Run(Box::new(Given { plan, text, ignored })))
}

/// Checks that the text can be the name of a directory, and does not leave its parent.
fn stamp_of(text: &str) -> Result<String, Io500Error> {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '+'));
    match is_plain && !text.starts_with('.') && text.len() <= 64 {
        true => Ok(text.to_owned()),
        false => Err(Io500Error::Words(
            "--timestamp: use at most 64 letters, digits and .-_:+, and no dot at the beginning".to_owned(),
        )),
    }
}

fn ranks_of(text: &str, launched: Option<&Launched>) -> Result<u32, Io500Error> {
    if launched.is_some() {
        return Err(Io500Error::Words(
            "--plumb-ranks is for ranks in one process; leave it out under mpirun".to_owned(),
        ));
    }
    let ranks = text.parse().ok().filter(|ranks| (1..=RANKS_MAX).contains(ranks));
    ranks.ok_or_else(|| Io500Error::Words(format!("--plumb-ranks: `{text}` is not possible; use 1 to {RANKS_MAX}")))
}
