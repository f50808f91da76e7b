//! `cargo xtask aa power`: gates on simulated devices, whose truth is known, against the bars that they promise.

use crate::binomial::{Interval, exact_interval};
use anyhow::{Context, Result, bail, ensure};
use plumb_result::{Gate, GateAnswer};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was asked for.
#[derive(Debug)]
pub struct Options {
    trials: u64,
    only: String,
    binary: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments after `aa power`.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options { trials: 200, only: String::new(), binary: None };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let value = arguments.next().copied().with_context(|| format!("{argument} needs a value"))?;
            match argument {
                "--trials" => options.trials = value.parse().context("--trials takes a number")?,
                "--only" => options.only = value.to_owned(),
                "--binary" => options.binary = Some(PathBuf::from(value)),
                other => bail!("aa power knows no `{other}`; there are --trials, --only and --binary"),
            }
        }
        Ok(options)
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Gates that find a regression, of which there is one: at least this many per cent.
    Found(u32),
    /// Gates that find one, of which there is none: at most this many per cent.
    False(u32),
    /// Gates that cannot tell, whose successor decides in the time that they ask for: at least this many per cent.
    Decided(u32),
}

struct Scenario {
    name: &'static str,
    /// Faults of both devices.
    both: &'static str,
    /// Faults of the candidate alone.
    candidate: &'static str,
    /// Of the (first) gate, by the devices' own clocks.
    budget: &'static str,
    time: &'static str,
    counted: Counted,
}

const fn scenario(
    name: &'static str,
    [both, candidate]: [&'static str; 2],
    [budget, time]: [&'static str; 2],
    counted: Counted,
) -> Scenario {
    Scenario { name, both, candidate, budget, time, counted }
}

/// A device that is slower by 10 % takes 1.1 times as long, and has 9.1 % less of a rate.
const SLOWER: &str = "slow=10%";
/// Short runs of a simulated device cost little and are as noisy as long ones: its spread is one draw a run.
const SHORT: &str = "200ms";

const SCENARIOS: &[Scenario] = &[
    scenario("10 % slower, spread 3 %, 5 min", ["cv=3%", SLOWER], ["5min", "2s"], Counted::Found(80)),
    scenario("10 % slower, spread 6 %, 5 min", ["cv=6%", SLOWER], ["5min", "2s"], Counted::Found(80)),
    scenario("unchanged, spread 1 %", ["cv=1%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 3 %", ["cv=3%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 6 %", ["cv=6%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 12 %", ["cv=12%", ""], ["30s", SHORT], Counted::False(5)),
    scenario("unchanged, drift", ["cv=2%&drift=0.5%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, slow mode", ["cv=2%&bimodal=20%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 6 %, asks", ["cv=6%", ""], ["3s", SHORT], Counted::Decided(70)),
    scenario("unchanged, spread 12 %, asks", ["cv=12%", ""], ["3s", SHORT], Counted::Decided(70)),
    scenario("unchanged, spread 20 %, asks", ["cv=20%", ""], ["4s", SHORT], Counted::Decided(70)),
    scenario("10 % slower, spread 6 %, asks", ["cv=6%", SLOWER], ["3s", SHORT], Counted::Decided(70)),
    scenario("10 % slower, spread 12 %, asks", ["cv=12%", SLOWER], ["3s", SHORT], Counted::Decided(70)),
    scenario("5 % slower, spread 6 %, asks", ["cv=6%", "slow=5%"], ["3s", SHORT], Counted::Decided(70)),
];

/// Runs every scenario, prints what came of it, and fails where a bar is missed beyond chance.
pub fn run(options: &Options) -> Result<()> {
    let plumb = crate::tools::plumb(options.binary.as_deref())?;
    println!("| scenario | gates | counted | rate | exact 95 % interval | bar | pass | regression | cannot tell |");
    println!("|---|---:|---:|---:|---|---|---:|---:|---:|");
    let mut missed = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.contains(&options.only)) {
        let counts = trials(&plumb, scenario, options.trials)?;
        let Interval { lo, hi } = exact_interval(counts.hits, counts.of);
        let (bar, is_missed) = match scenario.counted {
            Counted::Found(least) | Counted::Decided(least) => (format!("≥ {least} %"), hi < f64::from(least) / 100.0),
            Counted::False(most) => (format!("≤ {most} %"), lo > f64::from(most) / 100.0),
        };
        let [pass, regression, open] = counts.answers;
        println!(
            "| {} | {} | {} | {:.1} % | {:.1}–{:.1} % | {bar} | {pass} | {regression} | {open} |",
            scenario.name,
            counts.of,
            counts.hits,
            100.0 * counts.hits as f64 / counts.of.max(1) as f64,
            lo * 100.0,
            hi * 100.0
        );
        if is_missed {
            missed.push(scenario.name);
        }
    }
    ensure!(missed.is_empty(), "missed beyond chance: {}", missed.join("; "));
    Ok(())
}

#[derive(Default)]
struct Counts {
    hits: u64,
    of: u64,
    /// Of the last gate of each trial: pass, regression, cannot tell.
    answers: [u64; 3],
}

fn trials(plumb: &Path, scenario: &Scenario, trials: u64) -> Result<Counts> {
    let mut counts = Counts::default();
    for trial in 0..trials {
        let first = gate(plumb, scenario, &["--budget", scenario.budget], 2 * trial + 1)?;
        let last = match (scenario.counted, &first.needed) {
            (Counted::Decided(_), Some(needed)) => {
                let options = needed.options.clone().unwrap_or_default();
                gate(plumb, scenario, &options.split(' ').collect::<Vec<_>>(), 2 * trial + 2)?
            }
            // Decided at once, or no time is named: neither is a time that was spent.
            (Counted::Decided(_), None) => continue,
            _ => first,
        };
        counts.of += 1;
        counts.answers[match last.answer {
            GateAnswer::Pass => 0,
            GateAnswer::Regression => 1,
            GateAnswer::CannotTell => 2,
        }] += 1;
        counts.hits += u64::from(match scenario.counted {
            Counted::Found(_) | Counted::False(_) => last.answer == GateAnswer::Regression,
            Counted::Decided(_) => last.answer != GateAnswer::CannotTell,
        });
    }
    Ok(counts)
}

fn gate(plumb: &Path, scenario: &Scenario, budget: &[&str], seed: u64) -> Result<Gate> {
    let device = |faults: &[&str]| {
        let faults: Vec<&str> = faults.iter().copied().filter(|fault| !fault.is_empty()).collect();
        format!("sim:ssd?{}", faults.join("&"))
    };
    let (a, b, seed) = (device(&[scenario.both]), device(&[scenario.both, scenario.candidate]), seed.to_string());
    let words = ["gate", "--baseline", &a, "--candidate", &b, "--seed", &seed, "--json", "--no-store"];
    let mut command = Command::new(plumb);
    command.args(words).args(budget);
    if !budget.contains(&"--time") {
        command.args(["--time", scenario.time]);
    }
    let output = command.output().with_context(|| format!("cannot start {}", plumb.display()))?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no answer in JSON: {}", String::from_utf8_lossy(&output.stderr)))
}
