//! Planning: the number of blocks that a difference takes, and the difference that a number of blocks can show.
//!
//! The spread is always that of one unit's log ratio (of a block, or of a pair of plots): two sides whose
//! runs vary by 5 % each have 0.05 · √2. Powers are exact for normal logarithms: the noncentral t
//! distribution, integrated over the distribution of the sample's spread (Owen, "A special case of a
//! bivariate non-central t-distribution", Biometrika 52, 1965).

use crate::StatsError;
use crate::estimate::t_quantile;
use crate::random::SplitMix;
use crate::sides::{PLOTS_MIN, UNITS_FOR_SIGN_FLIP};
use crate::verdict::{Better, Compared, Family, ReplicationUnit, Sides, Verdict, VerdictRule, assess_family};
use statrs::distribution::{Chi, Continuous, ContinuousCDF, Normal};

/// The claim that a comparison should support.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// The sides differ, if this is their true ratio.
    Difference {
        /// True ratio, above 0 and not 1.
        ratio: f64,
        /// Level of the two-sided test.
        alpha: f64,
    },
    /// The sides are equal within a margin, if this is their true ratio.
    Equivalence {
        /// True ratio; 1 is the usual plan.
        ratio: f64,
        /// Margin as a factor: 0.05 is × or ÷ 1.05.
        margin: f64,
        /// Level of each of the two one-sided tests.
        alpha: f64,
    },
}

impl Goal {
    fn check(self) -> Result<(), StatsError> {
        let (ratio, alpha) = match self {
            Goal::Difference { ratio, alpha } | Goal::Equivalence { ratio, alpha, .. } => (ratio, alpha),
        };
        if !(ratio > 0.0 && ratio.is_finite()) {
            return Err(StatsError::Setting { name: "ratio", value: ratio, allowed: "the numbers above 0" });
        }
        if !(alpha > 0.0 && alpha < 0.5) {
            return Err(StatsError::Setting { name: "alpha", value: alpha, allowed: "0 to 0.5, both excluded" });
        }
        match self {
            Goal::Equivalence { margin, .. } if !(margin > 0.0 && margin.is_finite()) => {
                Err(StatsError::Setting { name: "margin", value: margin, allowed: "the numbers above 0" })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the chance that this many units (at least 2) with this spread reach the goal. Errors:
/// a number out of range.
pub fn power(goal: Goal, spread: f64, units: u32) -> Result<f64, StatsError> {
    goal.check()?;
    if !(spread > 0.0 && spread.is_finite()) {
        return Err(StatsError::Setting { name: "spread", value: spread, allowed: "the numbers above 0" });
    }
    if units < 2 {
        return Err(StatsError::TooFew { needed: 2, found: units as usize });
    }
    let freedom = f64::from(units - 1);
    let error = spread / f64::from(units).sqrt();
    let normal = Normal::standard();
    let chance = match goal {
        Goal::Difference { ratio, alpha } => {
            let (shift, t) = (ratio.ln() / error, t_quantile(1.0 - alpha / 2.0, freedom));
            // The sample's spread is s times the true one: the test requires the mean to be beyond ± t s.
            over_spreads(freedom, f64::INFINITY, |s| normal.sf(t * s - shift) + normal.cdf(-t * s - shift))
        }
        Goal::Equivalence { ratio, margin, alpha } => {
            let (shift, end) = (ratio.ln() / error, margin.ln_1p() / error);
            let t = t_quantile(1.0 - alpha, freedom);
            over_spreads(freedom, end / t, |s| normal.cdf(end - t * s - shift) - normal.cdf(t * s - end - shift))
        }
    };
    Ok(chance.clamp(0.0, 1.0))
}

/// Returns the mean of a function over the ratio of a sample's spread to the true one: chi with `freedom`
/// degrees of freedom, over their root. The function must be 0 from `end` on. Uses Simpson's rule over
/// the range that has weight.
fn over_spreads(freedom: f64, end: f64, value: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 400;
    let root = freedom.sqrt();
    let spread = 0.5f64.sqrt() / root;
    let (from, to) = ((1.0 - 9.0 * spread).max(0.0), (1.0 + 12.0 * spread).min(end));
    if to <= from {
        return 0.0;
    }
    let chi = Chi::new(freedom as u64).expect("degrees of freedom are positive");
    let step = (to - from) / f64::from(STEPS);
    let at = |i: u32| {
        let s = from + step * f64::from(i);
        chi.pdf((s * root).max(f64::MIN_POSITIVE)) * root * value(s)
    };
    let inner: f64 = (1..STEPS).map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) }).sum();
    (at(0) + inner + at(STEPS)) * step / 3.0
}

/// Returns the smallest ratio above 1 that this many units distinguish from 1 with the wanted chance, at this
/// level of the two-sided test: "can see 6 % differences" is 1.06. Its inverse is equally easy to detect. Errors:
/// a number out of range.
pub fn detectable_ratio(spread: f64, units: u32, alpha: f64, wanted: f64) -> Result<f64, StatsError> {
    smallest_ratio(spread, wanted, |log| power(Goal::Difference { ratio: log.exp(), alpha }, spread, units))
}

/// Returns the smallest ratio whose logarithm reaches the wanted chance; infinite if none does.
fn smallest_ratio(
    spread: f64,
    wanted: f64,
    reached: impl Fn(f64) -> Result<f64, StatsError>,
) -> Result<f64, StatsError> {
    check_power(wanted)?;
    let mut high = spread;
    while reached(high)? < wanted {
        high *= 2.0;
        if high > 700.0 {
            return Ok(f64::INFINITY);
        }
    }
    let mut low = 0.0;
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if reached(middle)? < wanted { low = middle } else { high = middle }
    }
    Ok(high.exp())
}

/// Returns the chance that this many units find a difference of this logarithm, if the spread is an estimate with
/// `freedom` degrees of freedom. Averages over the possible true spreads: the estimate over a chi by its root.
fn power_of_estimated(log: f64, alpha: f64, spread: f64, freedom: u32, units: u32) -> f64 {
    // With an infinite spread only the level is left.
    let goal = Goal::Difference { ratio: log.exp(), alpha };
    over_spreads(f64::from(freedom), f64::INFINITY, |s| power(goal, spread / s, units).unwrap_or(alpha))
}

/// The properties of a planned study's contrasts that their power depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedFamily {
    /// Number of blocks, or of plots a side.
    pub units: u32,
    /// Kind of the units.
    pub unit: ReplicationUnit,
    /// Spread of one unit's log ratio.
    pub spread: f64,
    /// Degrees of freedom of the pilot's estimate of the spread; `None` if the spread is assumed, and taken as exact.
    pub spread_freedom: Option<u32>,
    /// Number of verdicts that share the level, at least 1.
    pub verdicts: u32,
}

/// Number of simulated studies for each ratio.
const SIMULATED: usize = 1000;
/// With more units than this, the power is that of t: the permutation test gives nearly the same,
/// and simulating it takes long.
const UNITS_SIMULATED_MAX: u32 = 9;
/// Within this many margins, a ratio may be called equivalent before it is claimed.
const MARGINS: f64 = 2.0;
/// Ratios beyond e⁷ are not a realistic plan.
const LOG_MAX: f64 = 7.0;

/// Returns the smallest ratio above 1 that the verdict's own rule claims with the wanted chance; `None` if it is
/// beyond e⁷. If more than t decides, the code that judges real studies judges simulated ones. In these, one contrast
/// of the family has this ratio and no other differs, so that Holm's correction requires a p below the level divided
/// by the number of verdicts. The draws are the same in every call.
///
/// A spread estimated by a pilot is itself uncertain, and a plan that takes it as exact promises more than it
/// delivers: with two degrees of freedom half of the pilots see less than 83 % of the true spread. So the spread of
/// each simulated study is drawn from the distribution that the pilot leaves possible, √(freedom / χ²) times its
/// estimate, and the promise holds over pilots and studies together. Source: Julious and Owen, "Sample size
/// calculations for clinical studies allowing for uncertainty about the variance", Pharmaceutical Statistics 5, 2006.
///
/// # Errors
/// A number is out of range.
pub fn claimable_ratio(planned: PlannedFamily, rule: &VerdictRule, wanted: f64) -> Result<Option<f64>, StatsError> {
    check_power(wanted)?;
    let PlannedFamily { units, unit, spread, spread_freedom, verdicts } = planned;
    if spread_freedom == Some(0) {
        return Err(StatsError::Setting { name: "degrees of freedom", value: 0.0, allowed: "1 and more" });
    }
    if !(spread > 0.0 && spread.is_finite()) {
        return Err(StatsError::Setting { name: "spread", value: spread, allowed: "the numbers above 0" });
    }
    let shared = VerdictRule { alpha: rule.alpha / f64::from(verdicts.max(1)), ..*rule };
    let units_min = if unit == ReplicationUnit::Block { rule.blocks_min.max(2) } else { PLOTS_MIN };
    if units < units_min {
        return Ok(None);
    }
    // The ratio for t alone is close, and is exact if no other test takes part.
    let near = by_t(planned, shared.alpha, wanted)?.ln().min(LOG_MAX);
    let t_alone = unit == ReplicationUnit::Plot && units < UNITS_FOR_SIGN_FLIP && near > MARGINS * rule.margin.ln_1p();
    if t_alone || units > UNITS_SIMULATED_MAX {
        return Ok((near < LOG_MAX).then(|| near.exp()));
    }
    let mut random = SplitMix::new(0x70_6c_75_6d_62);
    let count = units as usize;
    let noise: Vec<Vec<f64>> = (0..SIMULATED)
        .map(|_| {
            let spread = spread_freedom.map_or(spread, |freedom| {
                let chi_squared: f64 = (0..freedom).map(|_| random.normal().powi(2)).sum();
                spread * (f64::from(freedom) / chi_squared).sqrt()
            });
            (0..count).map(|_| spread * random.normal()).collect()
        })
        .collect();
    let claimed = |log: f64| -> Result<f64, StatsError> {
        let mut claims = 0_u32;
        for noise in &noise {
            let candidate: Vec<f64> = noise.iter().map(|noise| (log + noise).exp()).collect();
            let baseline = vec![1.0; count];
            let as_plots = |values: &[f64]| values.iter().map(|value| vec![*value]).collect::<Vec<Vec<f64>>>();
            let (one, other) = (as_plots(&baseline), as_plots(&candidate));
            let sides = match unit {
                ReplicationUnit::Block => Sides::Blocks { baseline: &baseline, candidate: &candidate },
                ReplicationUnit::Plot => Sides::Plots { baseline: &one, candidate: &other },
                ReplicationUnit::Run => Sides::Apart { baseline: &one, candidate: &other },
            };
            let found = assess_family(&[Compared::measured(sides, Better::Higher)], &shared, Family::Holm)?;
            claims += u32::from(matches!(found[0].verdict, Verdict::Faster(_)));
        }
        Ok(f64::from(claims) / SIMULATED as f64)
    };
    let (mut low, mut high) = (near * 0.7, near * 1.2);
    while claimed(high)? < wanted {
        if high >= LOG_MAX {
            return Ok(None);
        }
        (low, high) = (high, (high * 1.5).min(LOG_MAX));
    }
    // A tolerance finer than the simulation.
    while high - low > 0.02 * high {
        let middle = f64::midpoint(low, high);
        if claimed(middle)? < wanted { low = middle } else { high = middle }
    }
    Ok(Some(high.exp()))
}

/// Returns the smallest ratio that t alone finds with the wanted chance, at this level.
fn by_t(
    PlannedFamily { units, spread, spread_freedom, .. }: PlannedFamily,
    alpha: f64,
    wanted: f64,
) -> Result<f64, StatsError> {
    let Some(freedom) = spread_freedom else { return detectable_ratio(spread, units, alpha, wanted) };
    smallest_ratio(spread, wanted, |log| Ok(power_of_estimated(log, alpha, spread, freedom, units)))
}

fn check_power(wanted: f64) -> Result<(), StatsError> {
    if wanted > 0.0 && wanted < 1.0 {
        return Ok(());
    }
    Err(StatsError::Setting { name: "power", value: wanted, allowed: "0 to 1, both excluded" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} is not {expected}");
    }

    #[test]
    fn power_agrees_with_r() {
        let goal = |alpha| Goal::Difference { ratio: 0.0953101798f64.exp(), alpha };
        // R: power.t.test(n = n, delta = 0.0953101798, sd = s * sqrt(2), type = "one.sample", strict = TRUE)$power
        assert_close(power(goal(0.05), 0.05 * 2f64.sqrt(), 8).unwrap(), 0.9024989293012915);
        assert_close(power(goal(0.05), 0.03 * 2f64.sqrt(), 12).unwrap(), 0.9999997699205861);
        assert_close(power(goal(0.05), 0.10 * 2f64.sqrt(), 6).unwrap(), 0.26973809190352127);
    }

    #[test]
    fn power_of_equivalence_agrees_with_an_integral_by_scipy() {
        // scipy.integrate.quad of scipy.stats.chi.pdf times the normal probability between margin − t s and its mirror
        let goal = Goal::Equivalence { ratio: 1.0, margin: 0.05, alpha: 0.05 };
        assert_close(power(goal, 0.02 * 2f64.sqrt(), 5).unwrap(), 0.8641461202182665);
        let goal = Goal::Equivalence { ratio: 1.02, margin: 0.05, alpha: 0.05 };
        assert_close(power(goal, 0.05 * 2f64.sqrt(), 20).unwrap(), 0.5431492084393191);
        assert_close(power(goal, 0.02, 2).unwrap(), 0.2445012125261121);
    }

    #[test]
    fn plans_agree_with_r() {
        // R: power.t.test(n = 10, power = 0.8, sd = 0.05 * sqrt(2), type = "paired", strict = TRUE, tol = 1e-14)$delta
        assert_close(detectable_ratio(0.05 * 2f64.sqrt(), 10, 0.05, 0.8).unwrap().ln(), 0.07042793238270074);
    }

    #[test]
    fn impossible_goals_are_reported() {
        let equal = Goal::Difference { ratio: 1.0, alpha: 0.05 };
        assert!(power(equal, 0.0, 5).is_err() && power(equal, 0.1, 1).is_err());
    }

    // Protects: the promise uses the rule's level, shared by the family, instead of 0.05 for one contrast.
    #[test]
    fn claimable_ratios_follow_the_rule() {
        let rule = VerdictRule::default();
        let claimable = |units, verdicts, unit| {
            let spread = 0.05 * 2f64.sqrt();
            claimable_ratio(PlannedFamily { units, unit, spread, spread_freedom: None, verdicts }, &rule, 0.8).unwrap()
        };
        let plots = |units, verdicts| claimable(units, verdicts, ReplicationUnit::Plot);
        // Without a cross-check only t decides: its power at this level, exactly.
        let exact = |alpha| detectable_ratio(0.05 * 2f64.sqrt(), 3, alpha, 0.8).unwrap();
        for verdicts in [1, 9] {
            let (found, exact) = (plots(3, verdicts).unwrap().ln(), exact(0.03 / f64::from(verdicts)).ln());
            assert!((found / exact - 1.0).abs() < 0.1, "{verdicts}: {found} is not {exact}");
        }
        // The review's family of 66 on 3 plots: no ratio below about 7.
        assert!((4.0..12.0).contains(&plots(3, 66).unwrap()), "{:?}", plots(3, 66));
        assert!(plots(5, 9).unwrap() < plots(3, 9).unwrap());
        assert!(claimable(8, 1, ReplicationUnit::Block).unwrap() < claimable(6, 1, ReplicationUnit::Block).unwrap());
        assert_eq!(claimable(5, 1, ReplicationUnit::Block), None, "five blocks support no claim");
        assert_eq!(plots(1, 1), None);
    }

    // Protects: a pilot's spread is only as certain as its degrees of freedom allow.
    #[test]
    fn a_pilot_promises_less_the_fewer_its_degrees_of_freedom() {
        let rule = VerdictRule::default();
        for (units, unit) in [(4, ReplicationUnit::Plot), (12, ReplicationUnit::Block)] {
            let claimable = |spread_freedom| {
                let planned = PlannedFamily { units, unit, spread: 0.05, spread_freedom, verdicts: 3 };
                claimable_ratio(planned, &rule, 0.8).unwrap().unwrap().ln()
            };
            let (known, many, few) = (claimable(None), claimable(Some(200)), claimable(Some(3)));
            assert!((many / known - 1.0).abs() < 0.1, "{units}: {many} is not {known}");
            assert!(few > 1.2 * known, "{units}: {few} is not above {known}");
        }
        let none =
            PlannedFamily { units: 4, unit: ReplicationUnit::Plot, spread: 0.05, spread_freedom: Some(0), verdicts: 3 };
        assert!(claimable_ratio(none, &rule, 0.8).is_err());
    }

    proptest! {
        #[test]
        fn more_units_and_larger_differences_are_seen_more_often(
            spread in 0.01..0.2f64, log in 0.01..0.3f64, units in 3..40u32
        ) {
            let seen = |log: f64, units| power(Goal::Difference { ratio: log.exp(), alpha: 0.05 }, spread, units).unwrap();
            prop_assert!(seen(log, units) <= seen(log, units + 1) + 1e-6);
            prop_assert!(seen(log, units) <= seen(log * 1.1, units) + 1e-6);
            prop_assert!((seen(log, units) - seen(-log, units)).abs() < 1e-9);
        }
    }
}
