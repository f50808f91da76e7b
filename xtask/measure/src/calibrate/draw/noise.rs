//! Variation of drawn numbers.

use super::verdicts::Design;
use plumb_stats::random::SplitMix;

/// Variation of a drawn study's numbers between units, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    Normal,
    /// Heavy tails: Student's t with this many degrees of freedom.
    StudentT(u32),
    /// Each unit keeps this share of the previous one.
    Autocorrelated(f64),
    /// This share of the units is in bursts that are slower by this share.
    Bursts {
        share: f64,
        slow: f64,
    },
    /// This share of the units is slower by this share.
    SlowMode {
        share: f64,
        slow: f64,
    },
    /// The candidate varies by this factor more.
    Unequal(f64),
    /// Three runs per unit, of which the slow ones are rejected.
    SlowRejected,
}

/// Runs of each unit of a side: one each, unless runs are rejected.
pub(super) type Units = Vec<Vec<f64>>;

impl Noise {
    /// Draws both sides of a study. Pairs on plots vary normally. A block contains one unit of each side, in random
    /// order; autocorrelated noise continues from unit to unit, whatever side they belong to.
    pub(super) fn sides(self, random: &mut SplitMix, spread: f64, units: u32, design: Design) -> (Units, Units) {
        if let Design::PairsOnPlots { pairs, interaction } = design {
            return pairs_on_plots(random, spread, [units, pairs], interaction);
        }
        let (mut baseline, mut candidate) = (Units::new(), Units::new());
        let mut weather = Weather { last: random.normal(), burst: false };
        for _ in 0..units {
            let candidate_first = random.unit() < 0.5;
            for is_candidate in [candidate_first, !candidate_first] {
                let unit = self.unit(random, spread, &mut weather, is_candidate);
                if is_candidate { candidate.push(unit) } else { baseline.push(unit) }
            }
        }
        (baseline, candidate)
    }

    fn unit(self, random: &mut SplitMix, spread: f64, weather: &mut Weather, is_candidate: bool) -> Vec<f64> {
        let noise = spread * random.normal();
        let log = match self {
            Noise::Normal => noise,
            Noise::SlowRejected => {
                // Runs far below the usual are lost, as to a check that rejects by outcome; at least one remains.
                let mut logs: Vec<f64> = (0..3).map(|_| spread * random.normal()).collect();
                logs.sort_by(f64::total_cmp);
                let lost = logs[..2].iter().filter(|log| **log < -1.3 * spread).count();
                return logs[lost..].iter().map(|log| log.exp()).collect();
            }
            Noise::Unequal(times) => noise * if is_candidate { times } else { 1.0 },
            Noise::StudentT(freedom) => {
                let chi_squared: f64 = (0..freedom).map(|_| random.normal().powi(2)).sum();
                noise / (chi_squared / f64::from(freedom)).sqrt()
            }
            Noise::Autocorrelated(kept) => {
                weather.last = kept * weather.last + (1.0 - kept * kept).sqrt() * random.normal();
                spread * weather.last
            }
            Noise::Bursts { share, slow } => {
                // A burst lasts for four units on average.
                weather.burst = random.unit() < if weather.burst { 0.75 } else { share / (1.0 - share) / 4.0 };
                noise - if weather.burst { f64::ln_1p(slow) } else { 0.0 }
            }
            Noise::SlowMode { share, slow } => noise - if random.unit() < share { f64::ln_1p(slow) } else { 0.0 },
        };
        vec![log.exp()]
    }
}

/// State of the noise between units.
struct Weather {
    last: f64,
    burst: bool,
}

/// Draws plots whose level cancels. On each, the candidate has an individual effect besides the common one, with a
/// spread of `interaction` times that of a run.
fn pairs_on_plots(random: &mut SplitMix, spread: f64, [plots, pairs]: [u32; 2], interaction: f64) -> (Units, Units) {
    let mut plot = || {
        let effect = interaction * spread * random.normal();
        let mut runs = |shift: f64| (0..pairs).map(|_| (shift + spread * random.normal()).exp()).collect::<Vec<f64>>();
        (runs(0.0), runs(effect))
    };
    (0..plots).map(|_| plot()).unzip()
}
