//! One trial of a scenario: the whole pipeline, as the commands use it.

use super::scenario::{Counted, Load, Pair, Plots, Scenario, Single, Trial};
use super::{draw, gates};
use anyhow::{Context, Result};
use plumb_bench::{Bench, Place, Policies, RunRequest, Silent};
use plumb_engine::guard::Permissions;
use plumb_engine::rng::splitmix64;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::SimRun;
use plumb_engine::testdir::TestDirs;
use plumb_result::{Better, Comparison, Contrast, ContrastVerdict, Finding, Level};
use plumb_stats::estimate::{Ratio, paired};
use plumb_stats::schedule::Side;
use plumb_stats::stop::StopRule;
use plumb_study::compare::claims::Rows;
use plumb_study::compare::{CompareRequest, CompareSide, compare};
use plumb_workload_text::named::{self, Scale};
use std::time::Duration;
use xtask::tools::target_directory;

/// A comparison of simulated devices takes as many blocks as it needs, however busy this machine is.
const NO_BUDGET: Duration = Duration::from_secs(24 * 3600);

/// Outcome of a trial for one line of its scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Hit,
    Miss,
    /// The trial does not count for the line.
    NotCounted,
}

impl Outcome {
    pub(super) fn from_hit(hit: bool) -> Outcome {
        if hit { Outcome::Hit } else { Outcome::Miss }
    }
}

/// Result of a trial, before the lines evaluate it.
struct Yield {
    comparison: Option<Comparison>,
    findings: Vec<Finding>,
    /// Interval of a comparison's key metric, if it has one.
    interval: Option<Ratio>,
    /// Factor by which the candidate's ops take longer.
    gap: f64,
}

/// Returns a bench for one thread. It stores nothing, and touches nothing on this machine.
pub(super) fn bench() -> Bench {
    let test_dirs = TestDirs::new(target_directory().join("calibrate"));
    Bench::new(None, StopFlag::detached(), Permissions::none(), test_dirs)
}

/// Runs trial `index` of a scenario; returns an outcome for each of its lines.
pub(super) fn run(bench: &mut Bench, scenario: &Scenario, seed: u64, index: u64) -> Result<Vec<Outcome>> {
    let seed = trial_seed(seed, scenario.name, index);
    let got = match scenario.trial {
        Trial::Draw { studies } => {
            let drawn = &studies[index as usize % studies.len()];
            return draw::run(drawn, seed, counted(scenario));
        }
        Trial::Count { studies } => {
            return draw::count(&studies[index as usize % studies.len()], seed, counted(scenario));
        }
        Trial::Gates { pipelines } => {
            return gates::run(&pipelines[index as usize % pipelines.len()], seed, counted(scenario));
        }
        Trial::Effects { designs } => {
            return draw::cover(&designs[index as usize % designs.len()], seed, counted(scenario));
        }
        Trial::Compare { pairs, plots, varying, blocks } => {
            let pair = &pairs[index as usize % pairs.len()];
            one_comparison(bench, pair, plots, varying, blocks, seed)
        }
        Trial::Run { singles } => one_run(bench, &singles[index as usize % singles.len()], seed),
    };
    let got = got.with_context(|| format!("scenario {}, trial {index}, seed {seed}", scenario.name))?;
    Ok(scenario.lines.iter().map(|line| classify(&got, line.counted)).collect())
}

fn counted(scenario: &Scenario) -> impl Iterator<Item = &'static Counted> {
    scenario.lines.iter().map(|line| &line.counted)
}

/// Returns a unique seed for every trial of every scenario: FNV-1a of the name, then SplitMix64, because adjacent seeds
/// must not give similar devices.
fn trial_seed(seed: u64, name: &str, index: u64) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    splitmix64(hash ^ splitmix64(seed) ^ splitmix64(index).rotate_left(1)) >> 1
}

fn scale(load: &Load, seed: u64, place: &Place) -> Scale {
    Scale { file_bytes: load.bytes, files: load.files, time_ns: load.time_ns, seed, place: place.for_named() }
}

fn one_comparison(
    bench: &mut Bench,
    pair: &Pair,
    plots: Plots,
    varying: Option<&'static str>,
    blocks: Option<u32>,
    seed: u64,
) -> Result<Yield> {
    let plots = match plots {
        Plots::One => 1,
        Plots::Of(plots) => plots,
    };
    let side = |side: Side, device: &str| -> Result<CompareSide> {
        Ok(CompareSide::provisioned(side, &format!("{device} ({side:?})"), &Place::parse(device)?, plots))
    };
    let (baseline, candidate) = (side(Side::A, pair.a)?, side(Side::B, pair.b)?);
    let rule = match blocks {
        Some(blocks) => StopRule { blocks_min: blocks, blocks_max: blocks, ..StopRule::default() },
        None => StopRule::default(),
    };
    let request = CompareRequest {
        workloads: named::select(pair.load.work)?,
        scale: scale(&pair.load, seed, &baseline.plots[0].place),
        baseline,
        candidate,
        budget: NO_BUDGET,
        rule,
        varying: varying.map(plumb_trust::factor).transpose().map_err(|error| anyhow::anyhow!("{error}"))?,
        seed,
        command: "",
        phases: &[],
    };
    let outcome = compare(bench, &request, &mut Silent)?;
    let findings = outcome.findings().to_vec();
    let interval = telling(&outcome.comparison).and_then(|contrast| interval(contrast, &outcome.rows));
    Ok(Yield { comparison: Some(outcome.comparison), findings, interval, gap: pair.gap })
}

fn one_run(bench: &mut Bench, single: &Single, seed: u64) -> Result<Yield> {
    let place = Place::parse(single.device)?;
    let named = named::select(single.load.work)?.into_iter().next().context("no such work")?;
    let workload = named.workload(&scale(&single.load, seed, &place));
    let request = RunRequest {
        workload: &workload,
        policies: Policies::Fitted,
        base: place.base(),
        command: "",
        dialect: None,
        sim_run: SimRun { seed, run_index: 0, plot_index: 0 },
    };
    let outcome = bench.run(&request, &mut Silent)?;
    Ok(Yield { comparison: None, findings: outcome.result.checks, interval: None, gap: 0.0 })
}

/// The key metric of these workloads is their first rate; contrasts are ordered by metric name.
fn telling(comparison: &Comparison) -> Option<&Contrast> {
    comparison.contrasts.iter().find(|contrast| !contrast.rejected && contrast.metric.better() == Better::Higher)
}

/// Returns the 95 % interval of a contrast: the shown one, or, if that is the narrower one of an equivalence test, the
/// 95 % interval of the same runs.
fn interval(contrast: &Contrast, rows: &Rows) -> Option<Ratio> {
    if contrast.confidence == 0.95 {
        return Some(Ratio { value: contrast.ratio?, lo: contrast.lo?, hi: contrast.hi?, confidence: 0.95 });
    }
    let rows = rows.iter().find(|(cell, _)| cell.metric == contrast.metric).map(|(_, rows)| rows)?;
    let of = |side: Side| rows.iter().filter(|row| row.side == side).map(|row| row.value).collect::<Vec<f64>>();
    paired(&of(Side::A), &of(Side::B)).ok()?.interval(0.95).ok()
}

fn classify(got: &Yield, counted: Counted) -> Outcome {
    let contrasts = got.comparison.as_ref().map_or(&[][..], |comparison| &comparison.contrasts);
    let any = |verdict| contrasts.iter().any(|contrast| contrast.verdict == verdict);
    let is_claim = |contrast: &Contrast| matches!(contrast.verdict, ContrastVerdict::Faster | ContrastVerdict::Slower);
    let first_is =
        |verdict| got.comparison.as_ref().and_then(telling).is_some_and(|contrast| contrast.verdict == verdict);
    let serious = |finding: &&Finding| finding.level >= Level::Warn;
    let found = |codes: &[&str]| got.findings.iter().filter(serious).any(|one| codes.contains(&one.code.as_str()));
    let hit = match counted {
        Counted::Claim => contrasts.iter().any(is_claim),
        Counted::ClaimOfAllRuns => {
            contrasts.iter().any(|one| is_claim(one) && !one.unseen.is_some_and(|mode| mode.is_plausible()))
        }
        Counted::Slower => first_is(ContrastVerdict::Slower),
        Counted::Faster => any(ContrastVerdict::Faster),
        Counted::Equivalent => first_is(ContrastVerdict::Equivalent),
        Counted::Covers(gap) if gap != got.gap => return Outcome::NotCounted,
        Counted::Covers(gap) => got.interval.is_some_and(|interval| interval.contains(1.0 / (1.0 + gap))),
        Counted::Found(codes) => found(codes),
        Counted::FoundAt { codes, blocks } => {
            if got.comparison.as_ref().is_none_or(|comparison| comparison.order.len() < blocks) {
                return Outcome::NotCounted;
            }
            found(codes)
        }
        Counted::Exact
        | Counted::EffectCovered(_)
        | Counted::RegressionAfter(_)
        | Counted::CannotTellAfter(_)
        | Counted::SuspectedAfter(_)
        | Counted::AnyRegression => return Outcome::NotCounted,
        Counted::AnythingFound => got.findings.iter().any(|finding| finding.level >= Level::Warn),
    };
    Outcome::from_hit(hit)
}

/// Describes the outcome of a trial, for investigating a missed line.
pub(super) fn tell(bench: &mut Bench, scenario: &Scenario, seed: u64, index: u64) -> Result<()> {
    let seed = trial_seed(seed, scenario.name, index);
    let got = match scenario.trial {
        Trial::Draw { studies } => {
            println!("{} trial {index} (seed {seed}):", scenario.name);
            for found in draw::study(&studies[index as usize % studies.len()], seed)? {
                println!("  {:?}", found.verdict);
            }
            return Ok(());
        }
        Trial::Gates { pipelines } => {
            let pipeline = &pipelines[index as usize % pipelines.len()];
            println!("{} trial {index} (seed {seed}): {}", scenario.name, gates::tell(pipeline, seed)?);
            return Ok(());
        }
        Trial::Count { .. } | Trial::Effects { .. } => {
            println!("{} trial {index} (seed {seed}): {:?}", scenario.name, run(bench, scenario, seed, index)?);
            return Ok(());
        }
        Trial::Compare { pairs, plots, varying, blocks } => {
            one_comparison(bench, &pairs[index as usize % pairs.len()], plots, varying, blocks, seed)
        }
        Trial::Run { singles } => one_run(bench, &singles[index as usize % singles.len()], seed),
    }?;
    println!("{} trial {index} (seed {seed}):", scenario.name);
    if let Some(comparison) = &got.comparison {
        println!("  {} blocks: {}", comparison.order.len(), comparison.verdict_note);
        for contrast in &comparison.contrasts {
            let number = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.4}"));
            println!(
                "  {} {}: {:?} {} [{}, {}]",
                contrast.phase,
                contrast.metric,
                contrast.verdict,
                number(contrast.ratio),
                number(contrast.lo),
                number(contrast.hi)
            );
        }
        for left in &comparison.left_out {
            println!("  left out: {}", left.reason);
        }
    }
    for finding in got.findings.iter().filter(|finding| finding.level >= Level::Note) {
        println!("  {} {:?}: {}", finding.code, finding.level, finding.message);
    }
    Ok(())
}
