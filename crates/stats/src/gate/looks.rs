//! Plans the interim looks of a gate at its data.

/// Growth of the units from one look to the next: fast enough to stop early, and slow enough that
/// sharing the level costs little.
const GROWTH: f64 = 1.6;

/// If the last look would have less than this many times the units of the one before, it replaces that one.
const LAST_GROWTH: f64 = 1.25;

/// Numbers of blocks after which a gate looks at its data, fixed before the first look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks(Vec<u32>);

impl Looks {
    /// Plans looks from `least` blocks to the largest even number up to `most`: blocks come in twos, one in each
    /// order. There is at least one look.
    pub fn within(least: u32, most: u32) -> Looks {
        let least = least.max(2).next_multiple_of(2);
        let last = (most / 2 * 2).max(least);
        let mut at = vec![least];
        let mut next = f64::from(least);
        loop {
            next = (f64::from((next * GROWTH).ceil() as u32).max(next + 2.0) / 2.0).ceil() * 2.0;
            if next * LAST_GROWTH > f64::from(last) {
                break;
            }
            at.push(next as u32);
        }
        let is_close = at.last().is_some_and(|&known| f64::from(last) < f64::from(known) * LAST_GROWTH);
        if is_close && at.len() > 1 {
            at.pop();
        }
        if at.last().is_some_and(|&known| known < last) {
            at.push(last);
        }
        Looks(at)
    }

    /// Returns the largest number of looks.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the number of blocks of the first look after `done` blocks; `None` after the last.
    pub fn after(&self, done: u32) -> Option<u32> {
        self.0.iter().copied().find(|&at| at > done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_gate_looks_once_and_a_long_one_a_dozen_times() {
        assert_eq!(Looks::within(6, 5).0, [6]);
        assert_eq!(Looks::within(6, 7).0, [6]);
        assert_eq!(Looks::within(6, 8).0, [6, 8]);
        assert_eq!(Looks::within(6, 16).0, [6, 10, 16]);
        assert_eq!(Looks::within(6, 1000).count(), 12);
    }

    proptest! {
        #[test]
        fn looks_are_even_and_rise_to_the_last(least in 2..20u32, most in 0..5000u32) {
            let looks = Looks::within(least, most).0;
            prop_assert!(looks.windows(2).all(|pair| pair[0] < pair[1]), "{looks:?}");
            prop_assert!(looks.iter().all(|at| at.is_multiple_of(2)));
            prop_assert_eq!(*looks.last().unwrap(), (most / 2 * 2).max(least.next_multiple_of(2)));
        }
    }
}
