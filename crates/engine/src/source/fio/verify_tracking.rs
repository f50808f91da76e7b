//! How a job knows what to read back.

use super::history::{History, Keeping};
use super::machine::{Machine, Mark};
use super::script::{Kind, PlannedCoverage, Script};

/// How it knows what to read back.
#[derive(Debug, Clone)]
pub(super) enum VerifyTracking {
    Nothing,
    /// All of it, by drawing it again from here on.
    Draws(Box<Mark>),
    Pieces(History),
}

impl VerifyTracking {
    /// What a job needs whose draws begin where the machine is. `repeatable`: the same is drawn again, whenever that is.
    pub(super) fn new(script: &Script, machine: &Machine, repeatable: bool) -> VerifyTracking {
        let Some(verifying) = script.verifying else { return VerifyTracking::Nothing };
        if !verifying.read_back || !script.mix.has(Kind::Write) {
            return VerifyTracking::Nothing;
        }
        let on_the_way = (verifying.backlog.is_some() && !verifying.only) || script.amid.is_some();
        let in_order = script.writes_once();
        // Curves and registers go on from where they are, and cannot be gone back to.
        let goes_on = script.covers() == PlannedCoverage::Register || script.steady_state().is_some();
        let returns = !goes_on && !script.is_curved();
        if repeatable && returns && (verifying.redraw || (in_order && !on_the_way)) {
            return VerifyTracking::Draws(Box::new(machine.mark()));
        }
        VerifyTracking::Pieces(History::new(if in_order { Keeping::InOrder } else { Keeping::Sorted }))
    }
}
