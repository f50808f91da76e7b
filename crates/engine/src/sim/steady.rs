//! The steady-state rule over rounds.

use super::record::Progress;
use plumb_workload::Steady;

/// The steady-state rule at work.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    /// End of the round at hand; `None` where no rule was asked for.
    pub(super) end_ns: Option<u64>,
    last: Progress,
    amounts: Vec<f64>,
    pub(super) met: bool,
}

impl Rounds {
    /// Ends a round; true where the phase is to stop.
    pub(super) fn end_round(&mut self, progress: Progress, steady: &Steady) -> bool {
        let bytes = progress.bytes - self.last.bytes;
        let amount = if progress.bytes > 0 { bytes } else { progress.ops - self.last.ops };
        self.last = progress;
        self.amounts.push(amount as f64);
        self.end_ns = self.end_ns.map(|end_ns| end_ns.saturating_add(steady.round.0.max(1)));
        let window = steady.window.max(2) as usize;
        self.met = self.amounts.len() >= window && is_steady(&self.amounts[self.amounts.len() - window..], steady);
        self.met || self.amounts.len() >= steady.max_rounds as usize
    }
}

/// Whether the rounds' throughputs are within the rule's range and slope excursion. Source: SNIA SSS PTS.
fn is_steady(rounds: &[f64], rule: &Steady) -> bool {
    let n = rounds.len() as f64;
    let mean = rounds.iter().sum::<f64>() / n;
    let (least, most) = rounds.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)));
    let middle = (n - 1.0) / 2.0;
    let slope = rounds.iter().zip(0..).map(|(x, i)| (f64::from(i) - middle) * (x - mean)).sum::<f64>()
        / rounds.iter().zip(0..).map(|(_, i)| (f64::from(i) - middle).powi(2)).sum::<f64>();
    mean > 0.0 && most - least <= rule.range * mean && slope.abs() * (n - 1.0) <= rule.slope * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_and_slope_both_count() {
        let rule = Steady::default();
        assert!(is_steady(&[100.0, 104.0, 98.0, 101.0, 99.0], &rule));
        assert!(!is_steady(&[100.0, 125.0, 98.0, 101.0, 99.0], &rule), "range 27 %");
        assert!(!is_steady(&[92.0, 96.0, 100.0, 104.0, 108.0], &rule), "range 16 %, but it climbs by 16 %");
        assert!(!is_steady(&[0.0; 5], &rule), "nothing is not steady");
    }
}
