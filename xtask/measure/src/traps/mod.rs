//! `cargo xtask traps`: set-ups of this machine that mislead a benchmark, made as root, and Plumb's findings for each;
//! and clean set-ups, for which it must find nothing. A trap that this machine cannot set is listed as not run, with
//! the reason.

mod clean;
mod machine;
mod run;
mod site;
mod storage;

use anyhow::{Result, bail};
use run::Runner;
use site::{Site, Sites};
use std::path::PathBuf;
use xtask::tools::{Profile, plumb, target_directory};

/// Options of the command line.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    binary: Option<PathBuf>,
    /// Only traps whose names contain this.
    only: Option<String>,
    /// Directory for images, mounts and results.
    work: PathBuf,
    /// Number of attempts for a set-up that other programs disturbed.
    tries: u32,
    /// Whether only names are printed.
    list: bool,
}

impl Options {
    pub(crate) fn parse(mut words: &[&str]) -> Result<Options> {
        let work = target_directory().join("traps");
        let mut options = Options { binary: None, only: None, work, tries: 3, list: false };
        while let [option, rest @ ..] = words {
            words = rest;
            if *option == "--list" {
                options.list = true;
                continue;
            }
            let [value, behind @ ..] = rest else { bail!("`{option}` needs a value") };
            match *option {
                "--binary" => options.binary = Some(std::path::absolute(value)?),
                "--only" => options.only = Some((*value).to_owned()),
                "--work" => options.work = std::path::absolute(value)?,
                "--tries" => options.tries = value.parse()?,
                _ => bail!("traps knows no `{option}`; there are --binary, --only, --work, --tries and --list"),
            }
            words = behind;
        }
        Ok(options)
    }
}

/// A set-up and its expected findings.
#[derive(Debug, Clone)]
pub(crate) struct Trap {
    pub(crate) name: &'static str,
    pub(crate) site: Site,
    pub(crate) load: Load,
    /// A wrapper script for Plumb. It ends with `exec "$@"`, perhaps through another program.
    pub(crate) around: Option<&'static str>,
    /// A script that runs at the same time as Plumb; `$PLUMB` is Plumb's PID, `$AT` the directory of the site, `$W` a
    /// directory for files. It and its children end with the run.
    pub(crate) beside: Option<&'static str>,
    /// A script that runs after Plumb and restores the site.
    pub(crate) behind: Option<&'static str>,
    /// Any of these identifies the trap; a clean set-up has none.
    pub(crate) signs: Vec<Sign>,
    /// Codes that would give a wrong cause.
    pub(crate) wrong: &'static [&'static str],
}

/// Evidence in a result that identifies a trap.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sign {
    /// A finding of at least this level, with this word in its message.
    Finding { code: &'static str, level: Level, word: &'static str },
    /// A byte rate with this tier.
    Tier(&'static str),
    /// The run's verdict.
    Verdict(&'static str),
    /// An error with this word ends the program.
    Error(&'static str),
}

/// Levels of findings that can identify a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Note,
    Warn,
    Fail,
}

impl Level {
    fn from_name(name: &str) -> Option<Level> {
        match name {
            "note" => Some(Level::Note),
            "warn" => Some(Level::Warn),
            "fail" => Some(Level::Fail),
            _ => None,
        }
    }
}

pub(crate) const fn note(code: &'static str, word: &'static str) -> Sign {
    Sign::Finding { code, level: Level::Note, word }
}

pub(crate) const fn warn(code: &'static str, word: &'static str) -> Sign {
    Sign::Finding { code, level: Level::Warn, word }
}

pub(crate) const fn fail(code: &'static str, word: &'static str) -> Sign {
    Sign::Finding { code, level: Level::Fail, word }
}

/// A workload of one file and one phase.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) op: &'static str,
    pub(crate) size: &'static str,
    pub(crate) prepare: &'static str,
    pub(crate) content: &'static str,
    pub(crate) cache: &'static str,
    pub(crate) block: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) seconds: u32,
    /// Further lines of the phase.
    pub(crate) phase: &'static str,
    /// Further lines of the workers.
    pub(crate) workers: &'static str,
}

impl Load {
    /// Random direct reads of 4 KiB from a written file.
    pub(crate) const RANDOM: Load = Load {
        op: "read",
        size: "64MiB",
        prepare: "write",
        content: "random",
        cache: "direct",
        block: "4KiB",
        pattern: "random",
        seconds: 4,
        phase: "",
        workers: "",
    };
    /// Sequential direct reads of 1 MiB.
    pub(crate) const STREAM: Load = Load { block: "1MiB", pattern: "sequential", ..Load::RANDOM };
    /// Writes of 1 MiB through the page cache, one pass, flushed before the clock stops.
    pub(crate) const WRITE: Load =
        Load { op: "write", cache: "as-is", prepare: "nothing", phase: "stop.bytes = \"64MiB\"", ..Load::STREAM };
    /// Direct writes of 1 MiB over a written file.
    pub(crate) const DIRECT_WRITE: Load = Load { op: "write", ..Load::STREAM };
    /// Writes of 4 KiB, each of them flushed.
    pub(crate) const LOG: Load = Load {
        op: "write",
        cache: "as-is",
        pattern: "sequential",
        workers: "work.blocks.fsync-every = 1",
        ..Load::RANDOM
    };
    /// Reads of 4 KiB from memory, which need only a processor.
    pub(crate) const MEMORY: Load = Load { cache: "warm", ..Load::RANDOM };

    fn text(&self) -> String {
        let Load { op, size, prepare, content, cache, block, pattern, seconds, phase, workers } = self;
        let time = if phase.contains("stop.") { String::new() } else { format!("stop.time = \"{seconds}s\"\n") };
        format!(
            "name = \"trap\"\n[target.data.file]\npath = \"data\"\nsize = \"{size}\"\nprepare = \"{prepare}\"\n\
             content = \"{content}\"\n[[phase]]\nname = \"trap\"\ncache = \"{cache}\"\n{time}{phase}\n[[phase.workers]]\n\
             target = \"data\"\nwork.blocks.pattern = \"{pattern}\"\nwork.blocks.block = \"{block}\"\n\
             work.blocks.mix = {{ {op} = 100 }}\n{workers}\n"
        )
    }
}

impl Trap {
    pub(crate) fn new(name: &'static str, site: Site, load: Load, signs: impl Into<Vec<Sign>>) -> Trap {
        let signs = signs.into();
        Trap { name, site, load, around: None, beside: None, behind: None, signs, wrong: &[] }
    }

    pub(crate) fn around(self, script: &'static str) -> Trap {
        Trap { around: Some(script), ..self }
    }

    pub(crate) fn during(self, script: &'static str) -> Trap {
        Trap { beside: Some(script), ..self }
    }

    pub(crate) fn afterwards(self, script: &'static str) -> Trap {
        Trap { behind: Some(script), ..self }
    }

    pub(crate) fn never(self, wrong: &'static [&'static str]) -> Trap {
        Trap { wrong, ..self }
    }
}

/// The outcome of one set-up, with the findings as text.
enum Row {
    Right(String),
    Wrong(String),
    NotRun(String),
}

/// Sets each trap, runs Plumb in it, prints the tables, and fails below the bars.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = |trap: &Trap| options.only.as_ref().is_none_or(|text| trap.name.contains(text.as_str()));
    let traps: Vec<Trap> = [storage::traps(), machine::traps()].concat().into_iter().filter(chosen).collect();
    let clean: Vec<Trap> = clean::setups().into_iter().filter(chosen).collect();
    if options.list {
        traps.iter().chain(&clean).for_each(|trap| println!("{}", trap.name));
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        bail!("traps are made as root: mounts, loop devices, control groups");
    }
    let binary = plumb(options.binary.as_deref(), Profile::Release)?;
    let mut runner = Runner::new(&binary, Sites::below(&options.work)?, options.tries)?;
    println!("| trap | expected | found | |\n|---|---|---|---|");
    let (right, ran) = tally(&traps, |trap| judge_trap(&mut runner, trap));
    println!("\n{right} of {ran} traps named rightly, {} not run\n", traps.len() - ran);
    println!("| clean set-up | expected | found | |\n|---|---|---|---|");
    let (quiet, clean_ran) = tally(&clean, |trap| judge_clean(&mut runner, trap));
    println!("\n{quiet} of {clean_ran} clean set-ups without alarm, {} not judged", clean.len() - clean_ran);
    for reason in machine::OUT_OF_REACH {
        println!("not run anywhere yet: {reason}");
    }
    // Two of sixty may be missed, and no clean set-up may cause a finding.
    if right * 60 < ran * 58 || quiet < clean_ran {
        bail!("below the bar: 58 of 60 traps, and all clean set-ups");
    }
    Ok(())
}

/// Prints a line for each; returns the numbers of right outcomes and of runs.
fn tally(traps: &[Trap], mut judge: impl FnMut(&Trap) -> Row) -> (usize, usize) {
    let (mut right, mut ran) = (0, 0);
    for trap in traps {
        let expected = match trap.signs.is_empty() {
            true => "nothing".to_owned(),
            false => trap.signs.iter().map(Sign::to_string).collect::<Vec<_>>().join(" or "),
        };
        let (found, mark) = match judge(trap) {
            Row::Right(found) => {
                right += 1;
                ran += 1;
                (found, "right")
            }
            Row::Wrong(found) => {
                ran += 1;
                (found, "**wrong**")
            }
            Row::NotRun(reason) => (reason, "not run"),
        };
        println!("| {} | {expected} | {} | {mark} |", trap.name, found.replace('|', "/"));
    }
    (right, ran)
}

fn judge_trap(runner: &mut Runner, trap: &Trap) -> Row {
    let answer = match runner.run(trap) {
        Ok(answer) => answer,
        Err(reason) => return Row::NotRun(reason),
    };
    let wrong: Vec<&str> =
        trap.wrong.iter().copied().filter(|code| answer.level_of(code) >= Some(Level::Warn)).collect();
    match trap.signs.iter().any(|sign| answer.has(sign)) {
        true if wrong.is_empty() => Row::Right(answer.summarise(&trap.signs)),
        true => Row::Wrong(format!("{}, and the wrong cause {}", answer.summarise(&trap.signs), wrong.join(", "))),
        false => Row::Wrong(answer.summarise(&[])),
    }
}

/// Judges a clean set-up. If this program also noticed other programs, the alarm is true, and the set-up runs again.
fn judge_clean(runner: &mut Runner, trap: &Trap) -> Row {
    let mut disturbed = String::new();
    for _ in 0..runner.tries() {
        let answer = match runner.run(trap) {
            Ok(answer) => answer,
            Err(reason) => return Row::NotRun(reason),
        };
        let alarms = answer.alarms();
        if alarms.is_empty() && answer.error().is_none() {
            return Row::Right(format!("nothing (verdict {})", answer.verdict()));
        }
        let others = alarms.iter().all(|code| matches!(code.as_str(), "C1" | "C5"));
        if alarms.is_empty() || !others || !answer.was_disturbed() {
            return Row::Wrong(answer.summarise(&[]));
        }
        disturbed = answer.summarise(&[]);
    }
    Row::NotRun(format!("disturbed each time: {disturbed}"))
}

impl std::fmt::Display for Sign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sign::Finding { code, level, word } => {
                let level = match level {
                    Level::Note => "noted",
                    Level::Warn => "warns",
                    Level::Fail => "fails",
                };
                if word.is_empty() { write!(f, "{code} {level}") } else { write!(f, "{code} {level} (“{word}”)") }
            }
            Sign::Tier(name) => write!(f, "tier {name}"),
            Sign::Verdict(name) => write!(f, "verdict {name}"),
            Sign::Error(word) => write!(f, "error (“{word}”)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    // Protects: there are as many set-ups as promised, each with a unique name and a workload that Plumb accepts.
    #[test]
    fn the_tables_are_whole() {
        let (traps, clean) = ([storage::traps(), machine::traps()].concat(), clean::setups());
        assert!(traps.len() >= 60 && clean.len() >= 20, "{} traps, {} clean set-ups", traps.len(), clean.len());
        assert!(traps.iter().all(|trap| !trap.signs.is_empty()) && clean.iter().all(|trap| trap.signs.is_empty()));
        let names: BTreeSet<&str> = traps.iter().chain(&clean).map(|trap| trap.name).collect();
        assert_eq!(names.len(), traps.len() + clean.len(), "names are there once");
        for trap in traps.iter().chain(&clean) {
            let text = trap.load.text();
            let is_refused = trap.signs.iter().any(|sign| matches!(sign, Sign::Error(_)));
            if let Err(error) = plumb_workload_text::native::parse("trap.toml", &text)
                && !is_refused
            {
                panic!("{}: {error:?}\n{text}", trap.name);
            }
            let replaces_itself = |script: &str| {
                script.rsplit(['\n', ';', '&']).next().is_some_and(|last| {
                    let last = last.trim();
                    last.starts_with("exec ") && last.ends_with("\"$@\"")
                })
            };
            assert!(trap.around.is_none_or(replaces_itself), "{}", trap.name);
        }
    }

    // Protects: every code in a table is that of a check.
    #[test]
    fn codes_are_checks() {
        let all = [storage::traps(), machine::traps()].concat();
        let named = all.iter().flat_map(|trap| {
            trap.signs.iter().filter_map(|sign| match sign {
                Sign::Finding { code, .. } => Some(*code),
                _ => None,
            })
        });
        for code in named.chain(all.iter().flat_map(|trap| trap.wrong.iter().copied())) {
            assert!(plumb_trust::CHECKS.iter().any(|check| check.code == code), "{code}");
        }
    }
}
