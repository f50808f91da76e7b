//! Draws along a curve exactly as fio makes them.
//!
//! Facts, observed in fio 3.42: 32-bit draws, Gray's approximation of Zipf's law over a sum of at most ten million
//! terms, twelve uniform draws for a nearly normal one. The result is multiplied by a 64-bit constant, rotated by an
//! extra draw if no center was given, and taken modulo the number of places. Powers are the C library's, as in fio: a
//! rank depends on their last bit.

use crate::rng::fio::Taus88;
use plumb_workload::blocks::fio::Curve;
use std::sync::{Mutex, PoisonError};

/// Maximum number of terms of Zipf's sum; the rest is ignored.
const MOST_TERMS: u64 = 10_000_000;
/// Uniform numbers added up for a nearly normal one.
const NORMAL_TERMS: u64 = 12;
/// Factor of the hash that scatters ranks.
const HASH_FACTOR: u64 = 0x61c8_8646_80b5_83eb;

/// Mapping of ranks to places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scatter {
    /// In order of rank.
    None,
    /// By fio's multiplicative hash.
    Hash,
}

/// Draws places.
#[derive(Debug, Clone, Copy)]
pub(super) struct FioCurve {
    law: Law,
    places: u64,
    turn: u64,
    scatter: Scatter,
    taus: Taus88,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    Zipf { theta: f64, zeta: f64, eta: f64 },
    Pareto { power: f64 },
    Normal { spread: u64 },
}

/// Returns the sum of Zipf's law. Computing it can take a second, and all copies of a job need the
/// same one, so it is cached.
fn zeta(places: u64, theta: f64) -> f64 {
    static KNOWN: Mutex<Vec<(u64, f64, f64)>> = Mutex::new(Vec::new());
    let terms = places.min(MOST_TERMS);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., sum)) = known.iter().find(|(of, by, _)| *of == terms && by.to_bits() == theta.to_bits()) {
        return *sum;
    }
    let sum = (1..=terms).fold(0.0, |sum, rank| sum + (1.0 / rank as f64).powf(theta));
    known.push((terms, theta, sum));
    sum
}

impl FioCurve {
    /// Creates the curve. There must be at least one place, and Zipf's `theta` must not be 1, for which fio has no law.
    pub(super) fn new(curve: Curve, center: Option<f64>, places: u64, seed: u64, scatter: Scatter) -> FioCurve {
        let mut taus = Taus88::new(seed);
        let drawn_turn = |taus: &mut Taus88| {
            let drawn = u64::from(taus.next());
            center.map_or(drawn, |center| (places as f64 * center) as u64)
        };
        let (law, turn) = match curve {
            Curve::Zipf { theta } => {
                let zeta = zeta(places, theta);
                let zeta_of_two = 1.0 + 0.5f64.powf(theta);
                let eta = (1.0 - (2.0 / places as f64).powf(1.0 - theta)) / (1.0 - zeta_of_two / zeta);
                (Law::Zipf { theta, zeta, eta }, drawn_turn(&mut taus))
            }
            Curve::Pareto { h } => (Law::Pareto { power: h.ln() / (1.0 - h).ln() }, drawn_turn(&mut taus)),
            Curve::Normal { deviation } => {
                let spread = ((places as f64 * deviation / 100.0).ceil() as u64).min(places / 2);
                // fio keeps 32 bits, even of a negative number.
                let turn = center.map_or(0, |center| u64::from((places as f64 * (center - 0.5)) as i64 as u32));
                (Law::Normal { spread }, turn)
            }
        };
        FioCurve { law, places, turn, scatter, taus }
    }

    pub(super) fn next(&mut self) -> u64 {
        let places = self.places;
        let closed = |taus: &mut Taus88| f64::from(taus.next()) / f64::from(u32::MAX);
        let rank = match self.law {
            Law::Zipf { theta, zeta, eta } => {
                let uniform = closed(&mut self.taus);
                let scaled = uniform * zeta;
                if scaled < 1.0 {
                    0
                } else if scaled < 1.0 + 0.5f64.powf(theta) {
                    1
                } else {
                    (places as f64 * (eta * uniform - eta + 1.0).powf(1.0 / (1.0 - theta))) as u64
                }
            }
            Law::Pareto { power } => ((places - 1) as f64 * closed(&mut self.taus).powf(power)) as u64,
            Law::Normal { spread } => {
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
        let rank = match self.scatter {
            Scatter::None => rank,
            Scatter::Hash => rank.wrapping_mul(HASH_FACTOR),
        };
        rank.wrapping_add(self.turn) % places
    }
}
