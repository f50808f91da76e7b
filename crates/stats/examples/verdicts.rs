//! Prints the tables of docs/statistics.md: the verdicts of comparisons of simulated disks, under several stop rules.
//! Run it with `cargo run --release -p plumb-stats --example verdicts [comparisons]`.
//!
//! Disks are plain normal logarithms, plus the effect in the name of the scenario. `cargo xtask calibrate` calibrates
//! the whole pipeline, on the simulated device.

use plumb_stats::components::plots_and_runs;
use plumb_stats::random::SplitMix;
use plumb_stats::stop::Question;
use plumb_stats::unseen::unseen_share;
use plumb_stats::{
    Assessment, Better, Decision, FurtherBudget, Precision, Side, Statistic, StatsError, StopRule, Stopper, Verdict,
    VerdictRule, assess, assess_plots, blocked_order, geometric_mean, modes, sample,
};

#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    spread: f64,
    ratio: f64,
    drift_per_run: f64,
    slow_share: f64,
}

const CLEAN: Scenario = Scenario { name: "", spread: 0.0, ratio: 1.0, drift_per_run: 0.0, slow_share: 0.0 };

#[derive(Clone, Copy)]
struct Variant {
    wanted: f64,
    settled: bool,
}

#[derive(Default)]
struct Tally {
    faster: u32,
    slower: u32,
    equivalent: u32,
    open: u32,
    held: u32,
    blocks: u32,
    modes_looked: u32,
    modes_seen: u32,
}

fn one(scenario: Scenario, variant: Variant, seed: u64, tally: &mut Tally) -> Result<(), StatsError> {
    let mut noise = SplitMix::new(seed);
    let order = blocked_order(seed, 30);
    let (mut a, mut b, mut run) = (Vec::new(), Vec::new(), 0.0);
    let mut stopper = Stopper::new(StopRule::default());
    let mut precision: Vec<Precision> = Vec::new();
    let mut last: Option<Assessment> = None;
    while let Decision::Run { blocks } = stopper.decide(a.len() as u32, &precision, FurtherBudget::Left) {
        for block in &order[a.len()..a.len() + blocks as usize] {
            for side in block.sides() {
                let slow = if noise.unit() < scenario.slow_share { 0.75f64.ln() } else { 0.0 };
                let value = (scenario.drift_per_run * run + slow + scenario.spread * noise.normal()).exp();
                run += 1.0;
                match side {
                    Side::A => a.push(value),
                    Side::B => b.push(scenario.ratio * value),
                }
            }
        }
        let found = assess(&a, &b, Better::Higher, &VerdictRule::default())?;
        precision = Precision::from_assessment(&found, Statistic::Rate)
            .map(|precision| Precision {
                wanted: variant.wanted,
                question: if variant.settled { precision.question } else { Question::Open },
                ..precision
            })
            .into_iter()
            .collect();
        last = Some(found);
    }
    let Some(found) = last else { return Ok(()) };
    match found.verdict {
        Verdict::Faster(_) => tally.faster += 1,
        Verdict::Slower(_) => tally.slower += 1,
        Verdict::Equivalent(_) => tally.equivalent += 1,
        Verdict::CannotTell { .. } | Verdict::Fragile(_) => tally.open += 1,
    }
    tally.held += u32::from(found.ratio.is_some_and(|ratio| ratio.contains(scenario.ratio)));
    tally.blocks += found.blocks;
    if found.blocks >= 12 {
        tally.modes_looked += 1;
        tally.modes_seen += u32::from(modes::modes_of_sides(&[&a, &b], 0.01)?.is_some());
    }
    Ok(())
}

fn main() -> Result<(), StatsError> {
    let comparisons: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2000);
    let aa = |spread| Scenario { name: "A/A", spread, ..CLEAN };
    let scenarios = [
        aa(0.01),
        aa(0.02),
        aa(0.03),
        aa(0.05),
        aa(0.07),
        aa(0.10),
        Scenario { name: "A/A, drift 0.5 %/run", spread: 0.02, drift_per_run: 0.005, ..CLEAN },
        Scenario { name: "A/A, slow mode", spread: 0.02, slow_share: 0.2, ..CLEAN },
        Scenario { name: "gap 5 %", spread: 0.03, ratio: 1.05, ..CLEAN },
        Scenario { name: "gap −5 %", spread: 0.03, ratio: 0.95, ..CLEAN },
        Scenario { name: "gap 10 %", spread: 0.05, ratio: 1.10, ..CLEAN },
    ];
    println!("| half-width | scenario | CV | faster | slower | equivalent | open | coverage | blocks | modes |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (wanted, settled) in [(0.05, false), (0.03, false), (0.025, false), (0.025, true), (0.02, false)] {
        for scenario in scenarios {
            let mut tally = Tally::default();
            for seed in 0..comparisons {
                one(scenario, Variant { wanted, settled }, u64::from(seed) << 20, &mut tally)?;
            }
            let share = |count: u32| f64::from(count) / f64::from(comparisons) * 100.0;
            println!(
                "| {:.1} %{} | {} | {:.0} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} | {:.1} % |",
                wanted * 100.0,
                if settled { " or settled" } else { "" },
                scenario.name,
                scenario.spread * 100.0,
                share(tally.faster),
                share(tally.slower),
                share(tally.equivalent),
                share(tally.open),
                share(tally.held),
                share(tally.blocks) / 100.0,
                100.0 * f64::from(tally.modes_seen) / f64::from(tally.modes_looked.max(1)),
            );
        }
    }
    println!("\n| plots a side | runs each | claims |\n|---|---|---|");
    for (plots, runs) in [(2, 5), (3, 3), (5, 2), (8, 2)] {
        let mut claims = 0;
        for seed in 0..comparisons {
            let mut noise = SplitMix::new(u64::from(seed) << 20);
            let mut side = || -> Vec<Vec<f64>> {
                let mut plot = || {
                    let level = 0.06 * noise.normal();
                    (0..runs).map(|_| (level + 0.02 * noise.normal()).exp()).collect()
                };
                (0..plots).map(|_| plot()).collect()
            };
            let found = assess_plots(&side(), &side(), Better::Higher, &VerdictRule::default())?;
            claims += u32::from(matches!(found.verdict, Verdict::Faster(_) | Verdict::Slower(_)));
        }
        println!("| {plots} | {runs} | {:.1} % |", 100.0 * f64::from(claims) / f64::from(comparisons));
    }
    easy_factors(comparisons)?;
    one_sided_modes(comparisons)?;
    println!("\n| runs a side | CV | slow mode found | found where there is none |\n|---|---|---|---|");
    for runs in [6, 8, 10, 12, 16, 24] {
        for spread in [0.01, 0.03, 0.05] {
            let mut found = [0; 2];
            for seed in 0..comparisons {
                for (slot, share) in [0.2, 0.0].into_iter().enumerate() {
                    let mut noise = SplitMix::new(u64::from(seed) << 20);
                    let mut side = || -> Vec<f64> {
                        let mut run = || {
                            let slow = if noise.unit() < share { 0.75 } else { 1.0 };
                            slow * (spread * noise.normal()).exp()
                        };
                        (0..runs).map(|_| run()).collect()
                    };
                    let (a, b) = (side(), side());
                    found[slot] += u32::from(modes::modes_of_sides(&[&a, &b], 0.01)?.is_some());
                }
            }
            let [slow, none] = found.map(|count| 100.0 * f64::from(count) / f64::from(comparisons));
            println!("| {runs} | {:.0} % | {slow:.1} % | {none:.1} % |", spread * 100.0);
        }
    }
    Ok(())
}

/// Prints how often an easy factor on several plots is said to differ, by three rules at the same level:
/// pairs pooled over the plots, a mixed model (pooled if the plots' means vary no more than their pairs
/// explain), and plots as units.
fn easy_factors(studies: u32) -> Result<(), StatsError> {
    const RUN: f64 = 0.03;
    println!(
        "\n| plots | pairs each | ratio | interaction / run | pooled pairs | mixed model | plots |\n|---|---|---|---|---|---|---|"
    );
    for (ratio, interactions) in [(1.0f64, &[0.0, 1.0, 3.0][..]), (1.10, &[0.0][..])] {
        for (plots, pairs) in [(2, 2), (2, 5), (3, 2), (3, 5), (5, 2), (5, 5)] {
            for &interaction in interactions {
                let mut claims = [0u32; 3];
                for seed in 0..studies {
                    let mut noise = SplitMix::new(u64::from(seed) << 20);
                    let mut plot = || -> Vec<f64> {
                        let effect = ratio.ln() + interaction * RUN * noise.normal();
                        (0..pairs).map(|_| (effect + RUN * (noise.normal() - noise.normal())).exp()).collect()
                    };
                    let ratios: Vec<Vec<f64>> = (0..plots).map(|_| plot()).collect();
                    let means = ratios.iter().map(|pairs| geometric_mean(pairs)).collect::<Result<Vec<_>, _>>()?;
                    let (pooled, by_plots) = (sample(&ratios.concat())?, sample(&means)?);
                    let components = plots_and_runs(&ratios)?;
                    let mixed = if components.plots.variance > 0.0 { by_plots } else { pooled };
                    for (count, estimate) in claims.iter_mut().zip([pooled, mixed, by_plots]) {
                        *count += u32::from(estimate.p() < VerdictRule::default().alpha);
                    }
                }
                let [pooled, mixed, by_plots] = claims.map(|count| 100.0 * f64::from(count) / f64::from(studies));
                println!(
                    "| {plots} | {pairs} | {ratio:.2} | {interaction} | {pooled:.1} % | {mixed:.1} % | {by_plots:.1} % |"
                );
            }
        }
    }
    Ok(())
}

/// Blocks in which only the candidate has a slow mode.
#[derive(Clone, Copy)]
struct OneSided {
    name: &'static str,
    spread: f64,
    /// Logarithm of the ratio of typical runs.
    typical: f64,
    share: f64,
    speed: f64,
}

/// Prints how often a difference is claimed when the means of logarithms are equal but typical runs differ.
/// Also prints the cost of rules against such claims: more blocks, or a claim that must survive an unseen mode
/// at 60 % of the speed.
fn one_sided_modes(comparisons: u32) -> Result<(), StatsError> {
    let equal_means =
        |name, spread, share: f64, speed: f64| OneSided { name, spread, typical: -share * speed.ln(), share, speed };
    let gap = |name, spread, ratio: f64| OneSided { name, spread, typical: ratio.ln(), share: 0.0, speed: 1.0 };
    let scenarios = [
        equal_means("equal means, 10 % of B at −40 %", 0.01, 0.10, 0.6),
        equal_means("equal means, 10 % of B at −40 %", 0.03, 0.10, 0.6),
        equal_means("equal means, 20 % of B at −25 %", 0.02, 0.20, 0.75),
        equal_means("equal means, 3 % of B at −90 %", 0.02, 0.03, 0.1),
        gap("gap 5 %", 0.03, 1.05),
        gap("gap 10 %", 0.02, 1.10),
        gap("gap 10 %", 0.05, 1.10),
    ];
    println!("\n| scenario | CV | blocks | must survive | claims | blocks |\n|---|---|---|---|---|---|");
    for scenario in scenarios {
        for (blocks_min, blocks_max, survives) in
            [(6, 30, None), (6, 30, Some(0.6f64)), (30, 30, None), (40, 40, Some(0.6)), (60, 60, None)]
        {
            let (mut claims, mut blocks) = (0, 0);
            for seed in 0..comparisons {
                let found = scenario.compared(u64::from(seed) << 20, blocks_min, blocks_max)?;
                let ratio = match found.verdict {
                    Verdict::Faster(ratio) | Verdict::Slower(ratio) => ratio.value.ln().abs(),
                    _ => 0.0,
                };
                let bound = survives.map_or(0.0, |speed| -unseen_share(found.blocks) * speed.ln());
                claims += u32::from(ratio > bound);
                blocks += found.blocks;
            }
            println!(
                "| {} | {:.0} % | {blocks_min}–{blocks_max} | {} | {:.1} % | {:.1} |",
                scenario.name,
                scenario.spread * 100.0,
                survives.map_or("–".to_owned(), |speed| format!("−{:.0} %", (1.0 - speed) * 100.0)),
                100.0 * f64::from(claims) / f64::from(comparisons),
                f64::from(blocks) / f64::from(comparisons),
            );
        }
    }
    Ok(())
}

impl OneSided {
    fn compared(self, seed: u64, blocks_min: u32, blocks_max: u32) -> Result<Assessment, StatsError> {
        let mut noise = SplitMix::new(seed);
        let mut stopper = Stopper::new(StopRule { blocks_min, blocks_max, ..StopRule::default() });
        let (mut a, mut b, mut precision) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = assess(&a, &b, Better::Higher, &VerdictRule::default())?;
        while let Decision::Run { blocks } = stopper.decide(a.len() as u32, &precision, FurtherBudget::Left) {
            for _ in 0..blocks {
                let slow = if noise.unit() < self.share { self.speed.ln() } else { 0.0 };
                a.push((self.spread * noise.normal()).exp());
                b.push((self.typical + slow + self.spread * noise.normal()).exp());
            }
            found = assess(&a, &b, Better::Higher, &VerdictRule::default())?;
            precision = Precision::from_assessment(&found, Statistic::Rate).into_iter().collect();
        }
        Ok(found)
    }
}
