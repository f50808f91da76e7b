//! Which file the next op goes to, where that is drawn along a curve.
//!
//! Facts, found in what fio does: the curve lies over 1024 places for each file, unscattered, and turned by a draw of
//! its own where no centre was given.

use crate::math::{exp, ln};
use crate::rng::fio::Taus88;
use plumb_workload::blocks::fio::Curve;

/// Places on the curve for each file, as a power of two.
const PLACES_SHIFT: u32 = 10;
/// Terms of Zipf's sum that are added up; the rest is left out.
const MOST_TERMS: u64 = 10_000_000;
/// Numbers that are added for a nearly normal one.
const NORMAL_TERMS: u64 = 12;

/// Draws files along a curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileCurve {
    distribution: FileDistribution,
    places: u64,
    turn: u64,
    taus: Taus88,
}

#[derive(Debug, Clone, Copy)]
enum FileDistribution {
    Zipf { theta: f64, zeta: f64, eta: f64 },
    Pareto { power: f64 },
    Normal { spread: u64 },
}

fn pow(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

impl FileCurve {
    pub(super) fn new(curve: Curve, center: Option<f64>, files: usize, seed: u64) -> FileCurve {
        let places = (files as u64) << PLACES_SHIFT;
        let mut taus = Taus88::new(seed);
        let drawn_turn = |taus: &mut Taus88| {
            let drawn = u64::from(taus.next());
            center.map_or(drawn, |center| (places as f64 * center) as u64)
        };
        let (distribution, turn) = match curve {
            Curve::Zipf { theta } => {
                let zeta = (1..=places.min(MOST_TERMS)).fold(0.0, |sum, rank| sum + pow(1.0 / rank as f64, theta));
                let eta = (1.0 - pow(2.0 / places as f64, 1.0 - theta)) / (1.0 - (1.0 + pow(0.5, theta)) / zeta);
                (FileDistribution::Zipf { theta, zeta, eta }, drawn_turn(&mut taus))
            }
            Curve::Pareto { h } => (FileDistribution::Pareto { power: ln(h) / ln(1.0 - h) }, drawn_turn(&mut taus)),
            Curve::Normal { deviation } => {
                let spread = ((places as f64 * deviation / 100.0).ceil() as u64).min(places / 2);
                let turn = center.map_or(0, |center| (places as f64 * (center - 0.5)) as i64 as u64);
                (FileDistribution::Normal { spread }, turn)
            }
        };
        FileCurve { distribution, places, turn, taus }
    }

    pub(super) fn next(&mut self) -> usize {
        let places = self.places;
        let closed = |taus: &mut Taus88| f64::from(taus.next()) / f64::from(u32::MAX);
        let place = match self.distribution {
            FileDistribution::Zipf { theta, zeta, eta } => {
                let uniform = closed(&mut self.taus);
                let scaled = uniform * zeta;
                if scaled < 1.0 {
                    0
                } else if scaled < 1.0 + pow(0.5, theta) {
                    1
                } else {
                    (places as f64 * pow(eta * uniform - eta + 1.0, 1.0 / (1.0 - theta))) as u64
                }
            }
            FileDistribution::Pareto { power } => ((places - 1) as f64 * pow(closed(&mut self.taus), power)) as u64,
            FileDistribution::Normal { spread } => {
                let sum: u64 = (0..NORMAL_TERMS).map(|_| u64::from(self.taus.next()) % (places + 1)).sum();
                let middle = sum.div_ceil(NORMAL_TERMS);
                let mut shift = match spread {
                    0 => 0,
                    spread => (spread as f64 * self.taus.share()) as i64 - (spread / 2) as i64,
                };
                while spread > 0 && middle.wrapping_add_signed(shift) >= places && shift != 0 {
                    shift /= 2;
                }
                middle.wrapping_add_signed(shift)
            }
        };
        ((place.wrapping_add(self.turn) % places) >> PLACES_SHIFT) as usize
    }
}
