//! `cargo xtask calibrate`: measures how often Plumb is right, and how often wrong, on simulated devices.
//!
//! Every trial is the whole pipeline: schedule, engine, checks, statistics, verdict. The tables of `devices` and
//! `families` define scenarios, counted outcomes and bars; docs/calibration.md has the last full table and explains
//! each line.

mod devices;
mod draw;
mod families;
mod gates;
mod scenario;
mod trial;

use crate::binomial;
use anyhow::{Context, Result, bail};
use devices::DEVICES;
use families::DRAWN;
use gates::GATES;
use scenario::{Bar, Line, Scenario, Trial};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trial::Outcome;

/// At small scale a line is missed if its count would be less likely than this with the true rate at the bar.
const CHANCE: f64 = 0.001;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Enough to detect breakage; bars allow for chance.
    Small,
    /// Enough to compare the measured rates with the bars themselves.
    Full,
}

#[derive(Debug)]
pub(crate) struct Options {
    size: Size,
    seed: u64,
    only: Vec<String>,
    /// Explain this many trials of each scenario, instead of counting.
    tell: Option<u64>,
    /// Trials of each scenario, replacing its own number.
    trials: Option<u64>,
    /// Program for the gates; `None` builds it.
    binary: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments after `calibrate`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options =
            Options { size: Size::Full, seed: 1, only: Vec::new(), tell: None, trials: None, binary: None };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let mut value = || arguments.next().copied().with_context(|| format!("{argument} needs a value"));
            match argument {
                "--scale" => {
                    options.size = match value()? {
                        "small" => Size::Small,
                        "full" => Size::Full,
                        other => bail!("--scale is `small` or `full`, not `{other}`"),
                    }
                }
                "--seed" => options.seed = value()?.parse().context("--seed takes a number")?,
                "--only" => options.only.push(known(value()?)?),
                "--tell" => options.tell = Some(value()?.parse().context("--tell takes a number of trials")?),
                "--trials" => options.trials = Some(value()?.parse().context("--trials takes a number")?),
                "--binary" => options.binary = Some(PathBuf::from(value()?)),
                other => bail!(
                    "calibrate knows no `{other}`; there are --scale, --seed, --only, --tell, --trials and --binary"
                ),
            }
        }
        Ok(options)
    }

    fn scenarios(&self) -> impl Iterator<Item = &'static Scenario> {
        all().filter(|scenario| self.only.is_empty() || self.only.iter().any(|name| name == scenario.name))
    }
}

/// Returns every scenario, in the order of the table of docs/calibration.md.
fn all() -> impl Iterator<Item = &'static Scenario> {
    DEVICES.iter().chain(DRAWN).chain(GATES)
}

fn known(name: &str) -> Result<String> {
    if all().any(|scenario| scenario.name == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = all().map(|scenario| scenario.name).collect();
    bail!("unknown scenario `{name}`; known: {}", names.join(", "))
}

/// Runs the scenarios, prints the table, and fails if a line is missed.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.scenarios().any(|scenario| matches!(scenario.trial, Trial::Gates { .. })) {
        gates::prepare(options.binary.as_deref())?;
    }
    if let Some(trials) = options.tell {
        let mut bench = trial::bench();
        for scenario in options.scenarios() {
            for index in 0..trials {
                trial::tell(&mut bench, scenario, options.seed, index)?;
            }
        }
        return Ok(());
    }
    let started = Instant::now();
    let mut missed = Vec::new();
    let mut left_out = Vec::new();
    println!("| scenario | counted | measured | of | 95 % interval | bar | |");
    println!("|---|---|---:|---:|---|---|---|");
    for scenario in options.scenarios() {
        let began = Instant::now();
        let trials = match options.size {
            Size::Small => scenario.trials_small,
            Size::Full => scenario.trials,
        };
        let trials = options.trials.unwrap_or(trials);
        if trials == 0 {
            left_out.push(scenario.name);
            continue;
        }
        let counts = count(scenario, options.seed, trials)?;
        for (line, count) in scenario.lines.iter().zip(&counts) {
            if !report(scenario, line, *count, options.size) {
                missed.push(format!("{}: {}", scenario.name, line.what));
            }
        }
        let each_ms = began.elapsed().as_secs_f64() * 1e3 / trials.max(1) as f64;
        eprintln!("{}: {trials} trials in {:.1} s, {each_ms:.2} ms each", scenario.name, began.elapsed().as_secs_f64());
    }
    println!("\nSeed {}; {:.0} s.", options.seed, started.elapsed().as_secs_f64());
    if !left_out.is_empty() {
        println!("Not run at this scale: {}.", left_out.join(", "));
    }
    if missed.is_empty() {
        return Ok(());
    }
    bail!("missed: {}", missed.join("; "))
}

/// Number of hits of a line, and of its trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    hits: u64,
    of: u64,
}

/// Runs the trials on all processors; each has its own seed, so that the counts do not depend on the distribution of
/// work.
fn count(scenario: &Scenario, seed: u64, trials: u64) -> Result<Vec<Count>> {
    let next = AtomicU64::new(0);
    let sums: Mutex<Vec<Count>> = Mutex::new(vec![Count::default(); scenario.lines.len()]);
    let work = || -> Result<()> {
        let mut bench = trial::bench();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= trials {
                return Ok(());
            }
            let outcomes = trial::run(&mut bench, scenario, seed, index)?;
            let mut sums = sums.lock().expect("a thread that panicked ends the program");
            for (sum, outcome) in sums.iter_mut().zip(outcomes) {
                sum.hits += u64::from(outcome == Outcome::Hit);
                sum.of += u64::from(outcome != Outcome::NotCounted);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a trial does not panic"))
    })?;
    Ok(sums.into_inner().expect("a thread that panicked ends the program"))
}

/// Prints a line; returns `false` if it is missed.
fn report(scenario: &Scenario, line: &Line, count: Count, size: Size) -> bool {
    let interval = binomial::interval(count.hits, count.of);
    let met = met(line.bar, count, size);
    let percent = |share: f64| {
        let digits = if share > 0.0 && share < 0.01 { 2 } else { 1 };
        format!("{:.digits$}", share * 100.0)
    };
    let measured = if count.of == 0 { "–".to_owned() } else { percent(count.hits as f64 / count.of as f64) };
    let bar = match line.bar {
        Bar::AtMost(share) => format!("≤ {} %", percent(share)),
        Bar::AtLeast(share) => format!("≥ {} %", percent(share)),
        Bar::Between(lo, hi) => format!("{}–{} %", percent(lo), percent(hi)),
        Bar::Printed => "–".to_owned(),
    };
    println!(
        "| {} | {} | {measured} % | {} | {}–{} % | {bar} | {} |",
        scenario.about,
        line.what,
        count.of,
        percent(interval.lo),
        percent(interval.hi),
        match (line.bar, met) {
            (Bar::Printed, _) => "",
            (_, true) => "met",
            (_, false) => "**missed**",
        }
    );
    met
}

/// Whether a count meets the bar. At full scale the measured rate must. At small scale the count must be plausible for
/// a rate that just meets it. Bars of 0 % and 100 % leave no room for chance at any scale. A line without trials is
/// missed.
fn met(bar: Bar, count: Count, size: Size) -> bool {
    let Count { hits, of } = count;
    let rate = hits as f64 / of.max(1) as f64;
    let (at_most, at_least) = match bar {
        Bar::AtMost(most) => (most, 0.0),
        Bar::AtLeast(least) => (1.0, least),
        Bar::Between(least, most) => (most, least),
        Bar::Printed => return true,
    };
    of > 0
        && match size {
            Size::Full => (at_least..=at_most).contains(&rate),
            Size::Small => (binomial::smallest_plausible(at_least, of, CHANCE)
                ..=binomial::largest_plausible(at_most, of, CHANCE))
                .contains(&hits),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_are_given_what_chance_may_do_and_no_more() {
        let count = |hits| Count { hits, of: 100 };
        let bar = Bar::AtMost(0.05);
        assert!(met(bar, count(5), Size::Full) && !met(bar, count(6), Size::Full));
        assert!(met(bar, count(13), Size::Small) && !met(bar, count(14), Size::Small));
        let bar = Bar::AtLeast(0.95);
        assert!(met(bar, count(87), Size::Small) && !met(bar, count(86), Size::Small));
        assert!(!met(Bar::AtLeast(1.0), count(99), Size::Small), "a trap that is missed once is missed");
        assert!(!met(Bar::AtMost(0.0), count(1), Size::Small), "never is never");
        assert!(!met(Bar::AtMost(1.0), Count::default(), Size::Full), "nothing was measured");
    }

    /// Returns the `plumb` that `cargo test --workspace` builds next to this program. Another build would compile its
    /// crates again, because cargo gives them other features.
    fn plumb_of_this_build() -> Option<PathBuf> {
        let own = std::env::current_exe().ok()?;
        let plumb = own.parent()?.parent()?.join("plumb");
        plumb.exists().then_some(plumb)
    }

    // Protects: a change that makes Plumb wrong more often on simulated devices is detected, with bars that allow for
    // chance.
    #[test]
    fn the_small_scale_meets_its_bars() {
        if std::env::var_os("PLUMB_TEST_FAST").is_some() {
            println!("SKIPPED: takes a minute, which is too long for the fast tier");
            return;
        }
        let options = Options { size: Size::Small, binary: plumb_of_this_build(), ..Options::parse(&[]).unwrap() };
        run(&options).unwrap();
    }

    #[test]
    fn names_are_known_and_options_describe_themselves() {
        assert!(Options::parse(&["--only", "aa-clean", "--seed", "7", "--scale", "small"]).is_ok());
        let error = Options::parse(&["--only", "nothing"]).unwrap_err().to_string();
        assert!(error.contains("aa-clean"), "{error}");
        assert!(Options::parse(&["--scale", "huge"]).is_err());
    }

    /// The page lists every fault of the parser's table with its description.
    #[test]
    fn the_page_has_every_fault_and_scenario() {
        let page = std::fs::read_to_string(xtask::tools::workspace().join("docs/calibration.md")).unwrap();
        for fault in plumb_workload::sim::FAULTS {
            let row = format!("| `{}` | {} |", fault.name, fault.about);
            assert!(page.contains(&row), "docs/calibration.md lacks: {row}");
        }
        for scenario in all() {
            let rows = page.lines().filter(|line| line.starts_with(&format!("| {} |", scenario.about))).count();
            assert_eq!(rows, scenario.lines.len(), "docs/calibration.md: rows of `{}`", scenario.name);
        }
    }

    /// Trials are reproducible.
    #[test]
    fn trials_repeat() {
        let scenario = all().find(|scenario| scenario.name == "gap-5").unwrap();
        assert_eq!(count(scenario, 3, 4).unwrap(), count(scenario, 3, 4).unwrap());
    }
}
