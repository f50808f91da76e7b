//! `cargo xtask aa`: compares equal places on real file systems, and counts how often Plumb claims a difference.
//!
//! Comparisons use two file systems of one kind, or one directory under two names. Studies use a factor whose levels
//! change nothing. Any claim of faster or slower is false there. A trial is stored as soon as it has ended, so that an
//! interrupted run can be resumed. docs/calibration.md has the results.

mod answer;
mod comparison;
mod gate;
mod places;
pub(crate) mod power;
mod study;
mod tally;

use crate::binomial::{Interval, exact_interval};
use answer::{Ending, Verdicts};
use anyhow::{Context, Result, bail, ensure};
use plumb_stats::random::SplitMix;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;
use tally::{Kind, Record, Tally};

/// Above this rate of false claims, Plumb breaks its promise.
const PROMISED: f64 = 0.05;
/// Maximum share of trials that end without an answer or a number; above it, the rate of the others means nothing.
const LOST_MOST: f64 = 0.1;

#[derive(Debug)]
pub(crate) struct Options {
    comparisons: u32,
    studies: u32,
    gates: u32,
    seed: u64,
    binary: Option<PathBuf>,
    work: PathBuf,
}

impl Options {
    /// Reads the arguments after `aa`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Options> {
        let work = xtask::tools::target_directory().join("aa");
        let mut options = Options { comparisons: 100, studies: 60, gates: 0, seed: 1, binary: None, work };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let value = arguments.next().copied().with_context(|| format!("{argument} needs a value"))?;
            let number = || value.parse().with_context(|| format!("{argument} takes a number, not `{value}`"));
            match argument {
                "--comparisons" => options.comparisons = number()?,
                "--studies" => options.studies = number()?,
                "--gates" => options.gates = number()?,
                "--seed" => {
                    options.seed = value.parse().with_context(|| format!("--seed takes a number, not `{value}`"))?
                }
                "--binary" => options.binary = Some(PathBuf::from(value)),
                "--work" => options.work = PathBuf::from(value),
                other => {
                    bail!(
                        "aa knows no `{other}`; there are --comparisons, --studies, --gates, --seed, --binary and --work"
                    )
                }
            }
        }
        Ok(options)
    }

    /// Parses the options of `cargo xtask aa gate`: only gates by default.
    pub(crate) fn of_gates(arguments: &[&str]) -> Result<Options> {
        let gates = ["--comparisons", "0", "--studies", "0", "--gates", "200"];
        Options::parse(&gates.iter().chain(arguments).copied().collect::<Vec<_>>())
    }

    /// Returns the trials with their kinds in proportion, so that any part contains all kinds.
    fn trials(&self) -> Vec<(Kind, u32)> {
        let of =
            |kind: Kind, count: u32| (0..count).map(move |index| (f64::from(index) / f64::from(count), kind, index));
        let kinds = [(Kind::Comparison, self.comparisons), (Kind::Study, self.studies), (Kind::Gate, self.gates)];
        let mut all: Vec<_> = kinds.into_iter().flat_map(|(kind, count)| of(kind, count)).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all.into_iter().map(|(_, kind, index)| (kind, index)).collect()
    }
}

/// Resources of a trial.
struct Site<'a> {
    plumb: &'a Path,
    /// A directory on a disk; everything is created below it.
    work: &'a Path,
}

impl Site<'_> {
    /// Runs a command of Plumb's with a separate database and state, and returns its output.
    fn plumb(&self, folder: &Path, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(self.plumb);
        command.args(arguments).env("PLUMB_DB", folder.join("plumb.db"));
        command.env("XDG_STATE_HOME", self.work.join("state")).env("XDG_DATA_HOME", self.work.join("data"));
        let output = command.stdin(Stdio::null()).output();
        output.with_context(|| format!("cannot start {}", self.plumb.display()))
    }
}

/// Runs the remaining trials, prints the rates, and fails if they break the promise.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(xtask::packages::is_root(), "aa makes file systems on loop devices and mounts them: run it as root");
    let plumb = xtask::tools::plumb(options.binary.as_deref(), xtask::tools::Profile::Release)?;
    std::fs::create_dir_all(&options.work).with_context(|| format!("making {}", options.work.display()))?;
    let work = options.work.canonicalize()?;
    // Results depend on the path of the data, so another seed is another tally.
    let mut tally = Tally::open(&work.join(format!("seed-{}.jsonl", options.seed)))?;
    places::take_down_leftovers(&work)?;
    let site = Site { plumb: &plumb, work: &work };
    let trials = options.trials();
    for (at, (kind, index)) in trials.iter().copied().enumerate() {
        if tally.has(kind, index) {
            continue;
        }
        let seed = trial_seed(options.seed, kind, index);
        let began = Instant::now();
        let (about, ending) = match kind {
            Kind::Comparison => comparison::run(&site, index, seed),
            Kind::Study => study::run(&site, index, seed),
            Kind::Gate => gate::run(&site, index, seed),
        }?;
        if ending == Ending::Interrupted {
            bail!("interrupted after {at} of {} trials; the same command goes on from there", trials.len());
        }
        let record = Record { kind, index, seed, about, seconds: began.elapsed().as_secs_f64(), ending };
        println!("{:3}/{} {}", at + 1, trials.len(), record.line());
        tally.keep(record)?;
    }
    report(&tally, &trials)
}

/// Returns the seed of a trial. Trials with adjacent numbers must be independent.
/// Positive, because TOML's integers have a sign.
fn trial_seed(seed: u64, kind: Kind, index: u32) -> u64 {
    let kind = match kind {
        Kind::Comparison => 0,
        Kind::Study => 1,
        Kind::Gate => 1 << 31,
    };
    let stream = seed.wrapping_mul(1 << 32) ^ (u64::from(index) << 1) ^ kind;
    (SplitMix::new(stream).unit() * f64::from(u32::MAX)) as u64
}

/// Totals of the trials of one kind.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    /// Trials that ended with verdicts.
    trials: u64,
    /// Trials that ended without a number to judge: they claim nothing, but are no evidence either.
    empty: u64,
    failed: u64,
    /// Trials with any false claim.
    false_claims: u64,
    /// Trials with a false claim about counts that were the same in every run.
    false_exact: u64,
    verdicts: Verdicts,
    seconds_most: f64,
}

impl Counts {
    fn from_records<'a>(records: impl Iterator<Item = &'a Record>) -> Counts {
        let mut counts = Counts::default();
        for record in records {
            counts.seconds_most = counts.seconds_most.max(record.seconds);
            match &record.ending {
                Ending::Judged(verdicts) if verdicts.is_empty() => counts.empty += 1,
                Ending::Judged(verdicts) => {
                    counts.trials += 1;
                    counts.false_claims += u64::from(!verdicts.claims.is_empty());
                    counts.false_exact += u64::from(!verdicts.exact_claims.is_empty());
                    counts.verdicts.add(verdicts);
                }
                Ending::Failed(_) | Ending::Interrupted => counts.failed += 1,
            }
        }
        counts
    }

    fn rate(&self) -> Interval {
        exact_interval(self.false_claims, self.trials)
    }

    /// Returns the broken promises as text.
    fn broken(&self, name: &str) -> Vec<String> {
        let mut broken = Vec::new();
        let lo = self.rate().lo;
        if lo > PROMISED {
            broken.push(format!("{name}: false claims in more than {:.1} %, where 5 % were promised", lo * 100.0));
        }
        if self.false_exact > 0 {
            broken.push(format!("{name}: {} false claims of exact counts", self.false_exact));
        }
        let all = self.trials + self.empty + self.failed;
        let lost = self.empty + self.failed;
        if lost as f64 > all as f64 * LOST_MOST {
            broken.push(format!("{name}: {lost} of {all} trials failed or had no numbers"));
        }
        broken
    }
}

fn report(tally: &Tally, trials: &[(Kind, u32)]) -> Result<()> {
    println!(
        "\n| trials | of | no numbers | failed | false claims | rate | exact 95 % interval | false exact counts |"
    );
    println!("|---|---:|---:|---:|---:|---:|---|---:|");
    let mut verdicts = Vec::new();
    let asked = |kind: Option<Kind>| {
        tally.records().filter(move |record| {
            kind.is_none_or(|kind| record.kind == kind) && trials.contains(&(record.kind, record.index))
        })
    };
    let mut broken = Vec::new();
    let kinds = [
        ("comparisons", Some(Kind::Comparison)),
        ("studies", Some(Kind::Study)),
        ("gates", Some(Kind::Gate)),
        ("all", None),
    ];
    for (name, kind) in kinds {
        let counts = Counts::from_records(asked(kind));
        if counts.trials + counts.empty + counts.failed == 0 {
            continue;
        }
        let Interval { lo, hi } = counts.rate();
        let rate = counts.false_claims as f64 / counts.trials.max(1) as f64;
        println!(
            "| {name} | {} | {} | {} | {} | {:.1} % | {:.1}–{:.1} % | {} |",
            counts.trials,
            counts.empty,
            counts.failed,
            counts.false_claims,
            rate * 100.0,
            lo * 100.0,
            hi * 100.0,
            counts.false_exact
        );
        verdicts.push(format!("{name}: {}; the longest took {:.0} s", counts.verdicts.line(), counts.seconds_most));
        if kind.is_some() {
            broken.extend(counts.broken(name));
        }
    }
    println!();
    verdicts.iter().for_each(|line| println!("{line}"));
    for record in asked(None) {
        match &record.ending {
            Ending::Judged(verdicts) if !verdicts.claims.is_empty() || !verdicts.exact_claims.is_empty() => {
                println!("\nfalse: {}", record.line());
                verdicts.claims.iter().chain(&verdicts.exact_claims).for_each(|claim| println!("  {claim}"));
            }
            Ending::Judged(_) | Ending::Interrupted => {}
            Ending::Failed(_) => println!("\nfailed: {}", record.line()),
        }
    }
    ensure!(broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(index: u32, ending: Ending) -> Record {
        Record { kind: Kind::Comparison, index, seed: 1, about: "x".to_owned(), seconds: 1.0, ending }
    }

    fn claims(count: u32) -> Counts {
        let claimed = || Verdicts { claims: vec!["b faster".to_owned()], ..Verdicts::default() };
        let open = || Verdicts { cannot_tell: 1, ..Verdicts::default() };
        let verdicts = |index| if index < count { claimed() } else { open() };
        let records: Vec<Record> = (0..100).map(|index| record(index, Ending::Judged(verdicts(index)))).collect();
        Counts::from_records(records.iter())
    }

    // Protects: a rate that may still be 5 % passes, and one that cannot be fails; a
    // single claim about an exact count fails.
    #[test]
    fn what_breaks_the_promise() {
        assert!(claims(10).broken("x").is_empty());
        assert_eq!(claims(11).broken("x"), ["x: false claims in more than 5.6 %, where 5 % were promised"]);
        let exact = Verdicts { exact_claims: vec!["b fewer".to_owned()], ..Verdicts::default() };
        let one = Counts::from_records([record(0, Ending::Judged(exact))].iter());
        assert_eq!(one.broken("x"), ["x: 1 false claims of exact counts"]);
        let failed = Counts::from_records([record(0, Ending::Failed("no".to_owned()))].iter());
        assert_eq!(failed.broken("x"), ["x: 1 of 1 trials failed or had no numbers"]);
        // A trial that judged nothing does not improve the rate.
        let empty = Counts::from_records([record(0, Ending::Judged(Verdicts::default()))].iter());
        assert_eq!((empty.trials, empty.empty), (0, 1));
    }

    #[test]
    fn a_part_has_both_kinds_and_no_seed_twice() {
        let options = Options::parse(&["--comparisons", "10", "--studies", "5"]).unwrap();
        let trials = options.trials();
        assert_eq!(trials.len(), 15);
        let studies = trials.iter().take(6).filter(|(kind, _)| *kind == Kind::Study).count();
        assert_eq!(studies, 2);
        let seeds: std::collections::BTreeSet<u64> =
            trials.iter().map(|(kind, index)| trial_seed(1, *kind, *index)).collect();
        assert_eq!(seeds.len(), 15);
        assert!(Options::parse(&["--comparisons", "many"]).is_err() && Options::parse(&["--rounds", "3"]).is_err());
    }
}
