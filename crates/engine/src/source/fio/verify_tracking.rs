//! Tracking of the data that a job will read back.

use super::history::{History, Keeping};
use super::machine::{Machine, Mark};
use super::script::{Kind, PlannedCoverage, Script};

/// Record of the data that a job will read back.
#[derive(Debug, Clone)]
pub(super) enum VerifyTracking {
    Nothing,
    /// Tracks all of it by repeating the draws from this mark.
    Draws(Box<Mark>),
    Pieces(History),
}

impl VerifyTracking {
    /// Chooses the tracking for a job whose draws begin at the machine's state. `repeatable` means that the same ops
    /// can be drawn again at any time.
    pub(super) fn new(script: &Script, machine: &Machine, repeatable: bool) -> VerifyTracking {
        let Some(verifying) = script.verifying else { return VerifyTracking::Nothing };
        if !verifying.read_back || !script.mix.has(Kind::Write) {
            return VerifyTracking::Nothing;
        }
        let on_the_way = (verifying.backlog.is_some() && !verifying.only) || script.amid.is_some();
        let in_order = script.writes_once();
        // Curves and registers continue from their state, and cannot be rewound.
        let goes_on = script.covers() == PlannedCoverage::Register || script.steady_state().is_some();
        let returns = !goes_on && !script.is_curved();
        if repeatable && returns && (verifying.redraw || (in_order && !on_the_way)) {
            return VerifyTracking::Draws(Box::new(machine.mark()));
        }
        VerifyTracking::Pieces(History::new(if in_order { Keeping::InOrder } else { Keeping::Sorted }))
    }
}
