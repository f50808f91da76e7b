//! Chooses the file of the next op along a curve.
//!
//! Facts, observed in fio: the curve covers 1024 places for each file, unscattered.

use super::fio_curve::{FioCurve, Scatter};
use plumb_workload::blocks::fio::Curve;

/// Places on the curve for each file, as a power of two.
const PLACES_SHIFT: u32 = 10;

/// Draws files along a curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileCurve(FioCurve);

impl FileCurve {
    pub(super) fn new(curve: Curve, center: Option<f64>, files: usize, seed: u64) -> FileCurve {
        FileCurve(FioCurve::new(curve, center, (files as u64) << PLACES_SHIFT, seed, Scatter::None))
    }

    pub(super) fn next(&mut self) -> usize {
        (self.0.next() >> PLACES_SHIFT) as usize
    }
}
