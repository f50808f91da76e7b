//! How drawn numbers vary.

use super::verdicts::Design;
use plumb_stats::random::SplitMix;

/// How the numbers of a drawn study vary from unit to unit, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Normally.
    Normal,
    /// With heavy tails: Student's t with so many degrees of freedom.
    StudentT(u32),
    /// Each keeps this share of the one before.
    Autocorrelated(f64),
    /// This share of the units lies in bursts that are slower by this share.
    Bursts {
        /// Of the units.
        share: f64,
        /// Longer by.
        slow: f64,
    },
    /// This share of the units is slower by this share.
    SlowMode {
        /// Of the units.
        share: f64,
        /// Longer by.
        slow: f64,
    },
    /// The candidate varies so many times as much.
    Unequal(f64),
    /// Three runs a unit, of which the slow ones are rejected.
    SlowRejected,
}

/// The runs of each unit of a side: one each, but where runs are rejected.
pub(super) type Units = Vec<Vec<f64>>;

impl Noise {
    /// Both sides of a study. Pairs on plots vary normally. A block holds one unit of each, in random order; noise with a memory runs on from unit to unit,
    /// whatever side that is of.
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
                // Runs far below the usual are lost, as to a check that rejects by outcome; one is always left.
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

/// What noise remembers from one unit to the next.
struct Weather {
    last: f64,
    burst: bool,
}

/// Plots whose level cancels, on each of which the candidate has an effect of its own besides the common one: it varies by
/// `interaction` times what a run varies by.
fn pairs_on_plots(random: &mut SplitMix, spread: f64, [plots, pairs]: [u32; 2], interaction: f64) -> (Units, Units) {
    let mut plot = || {
        let effect = interaction * spread * random.normal();
        let mut runs = |shift: f64| (0..pairs).map(|_| (shift + spread * random.normal()).exp()).collect::<Vec<f64>>();
        (runs(0.0), runs(effect))
    };
    (0..plots).map(|_| plot()).unzip()
}
