//! Zipf's law over the names of a share.
//!
//! Ranks are scattered over the names by an affine permutation, so that the popular files are not all in
//! the first directory. A name keeps its popularity as long as it exists; the popularity of a missing name
//! goes to the next existing one.

use crate::math::gcd;
use crate::rng::Rng;
use crate::source::zipf::Zipf;

/// Draws names by Zipf's law.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Popularity {
    /// `None` if there are no names.
    ranks: Option<Zipf>,
    names: u64,
    multiplier: u64,
    offset: u64,
}

impl Popularity {
    /// Creates a draw over `names` names with exponent `theta`, at least 0
    /// and finite. `scatter` chooses the permutation.
    pub(super) fn new(theta: f64, names: u32, scatter: u64) -> Popularity {
        let names = u64::from(names);
        Popularity {
            ranks: (names > 0).then(|| Zipf::new(theta, names)),
            names,
            multiplier: coprime_near_golden(names),
            offset: scatter.checked_rem(names).unwrap_or(0),
        }
    }

    /// Draws a name; 0 if there are none.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        self.ranks.as_ref().map_or(0, |ranks| self.name(ranks.next(rng)))
    }

    /// Returns the name of a rank.
    fn name(&self, rank: u64) -> u32 {
        ((rank * self.multiplier + self.offset) % self.names) as u32
    }
}

/// Returns a multiplier that is coprime to `names`, near its golden section, so that neighboring ranks are far apart.
fn coprime_near_golden(names: u64) -> u64 {
    let mut multiplier = ((names as f64 * 0.618_033_988_749_894_9) as u64).max(1);
    while gcd(multiplier, names) > 1 {
        multiplier += 1;
    }
    multiplier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_its_own_name() {
        for names in [1u32, 2, 3, 10, 97, 100, 4096] {
            let popularity = Popularity::new(1.0, names, 12345);
            let mut seen = vec![false; names as usize];
            for rank in 0..u64::from(names) {
                seen[popularity.name(rank) as usize] = true;
            }
            assert!(seen.iter().all(|seen| *seen), "{names}");
        }
    }

    #[test]
    fn shares_of_no_or_one_name_work() {
        let mut rng = Rng::new(1);
        assert_eq!(Popularity::new(1.2, 0, 5).draw(&mut rng), 0);
        assert_eq!(Popularity::new(1.2, 1, 5).draw(&mut rng), 0);
        assert_eq!(Popularity::new(200.0, 10, 0).draw(&mut rng), 0);
    }
}
