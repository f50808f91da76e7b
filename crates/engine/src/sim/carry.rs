//! Aftereffects of runs on simulated devices for the next runs of their comparison.

use plumb_workload::{Target, Workload};
use std::time::Duration;

/// Slowdown of the next run of a comparison on any device, as a share, due to earlier runs (fault `carry`). Each run
/// halves the debt, and debts add up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CarriedDebt(f64);

impl CarriedDebt {
    /// Returns the debt of this share; `None` if it is negative or not a number.
    pub fn of_share(share: f64) -> Option<CarriedDebt> {
        (share.is_finite() && share >= 0.0).then_some(CarriedDebt(share))
    }

    /// Share by which the next run is slower.
    pub fn share(self) -> f64 {
        self.0
    }

    /// Returns the remaining debt after a pause; it halves in the time of one run.
    pub fn after_pause(self, pause: Duration, run: Duration) -> CarriedDebt {
        if run.is_zero() {
            return self;
        }
        CarriedDebt(self.0 * 0.5f64.powf(pause.as_secs_f64() / run.as_secs_f64()))
    }

    /// Returns the debt after a run that leaves this share behind.
    pub fn after(self, left_behind: f64) -> CarriedDebt {
        CarriedDebt(self.0 / 2.0 + left_behind)
    }
}

/// Returns the share by which a run of this workload slows the next one. With
/// several devices, the largest share counts.
pub fn left_behind(workload: &Workload) -> f64 {
    let carry = |target: &Target| match target {
        Target::Sim(sim) => sim.device.carry,
        _ => 0.0,
    };
    workload.target.values().map(carry).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload_text::native;
    use proptest::prelude::*;

    fn on(device: &str) -> Workload {
        let text = format!(
            "name = \"x\"\n[target.disk.sim]\ndevice = \"{device}\"\nsize = \"1GiB\"\n[[phase]]\nname = \"only\"\nstop.time = \"1s\"\n[[phase.workers]]\n\
             target = \"disk\"\nwork.blocks = {{ pattern = \"random\", mix = {{ read = 1 }} }}\n"
        );
        native::parse("x", &text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn only_the_next_runs_are_slower_each_by_half_of_the_previous_one() {
        let (clean, leaves) = (left_behind(&on("sim:ssd")), left_behind(&on("sim:ssd?carry=10%")));
        assert_eq!((clean, leaves), (0.0, 0.1));
        let mut debt = CarriedDebt::default().after(leaves);
        for expected in [0.1, 0.05, 0.025] {
            assert!((debt.share() - expected).abs() < 1e-12, "{debt:?}");
            debt = debt.after(clean);
        }
        let twice = CarriedDebt::default().after(leaves).after(leaves);
        assert!((twice.share() - 0.15).abs() < 1e-12, "{twice:?}");
    }

    #[test]
    fn a_pause_reduces_debts_like_runs() {
        let (debt, second) = (CarriedDebt::of_share(0.1).unwrap(), Duration::from_secs(1));
        assert_eq!(debt.after_pause(Duration::ZERO, second).share(), 0.1);
        assert!((debt.after_pause(2 * second, second).share() - 0.025).abs() < 1e-12);
        assert_eq!(debt.after_pause(second, Duration::ZERO).share(), 0.1, "the duration of a run is unknown");
    }

    proptest! {
        /// In a comparison of any length, the debt stays below twice the share that one run leaves behind.
        #[test]
        fn debts_add_up_to_less_than_twice_the_carry(order in prop::collection::vec(any::<bool>(), 0..200)) {
            let carry = |is_left: bool| if is_left { 0.1 } else { 0.0 };
            let mut debt = CarriedDebt::default();
            for (at, &is_left) in order.iter().enumerate() {
                debt = debt.after(carry(is_left));
                let ages = order[..=at].iter().rev().zip(0..);
                let sum: f64 = ages.map(|(&is_left, age)| carry(is_left) * 0.5f64.powi(age)).sum();
                prop_assert!((debt.share() - sum).abs() < 1e-12 && debt.share() < 0.2);
            }
        }

        #[test]
        fn a_debt_that_is_not_a_share_is_refused(share in any::<f64>()) {
            prop_assert_eq!(CarriedDebt::of_share(share).is_some(), share >= 0.0 && share.is_finite());
        }
    }
}
