//! Assigns threads that were alive at the same time to different lanes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Assigns lanes to threads, from their start and end times. Threads with disjoint lifetimes share a lane, so the
/// number of lanes is minimal.
pub(super) fn lanes(alive: &[(u64, u64)]) -> (Vec<u32>, u32) {
    let mut order: Vec<usize> = (0..alive.len()).filter(|&task| alive[task].0 <= alive[task].1).collect();
    order.sort_by_key(|&task| alive[task]);
    let mut lanes = vec![0; alive.len()];
    // Lanes in use, by the time at which they become free.
    let mut busy: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut count = 0;
    for task in order {
        let (first, last) = alive[task];
        let lane = match busy.peek() {
            Some(&Reverse((free_at, lane))) if free_at <= first => {
                busy.pop();
                lane
            }
            _ => {
                count += 1;
                count - 1
            }
        };
        lanes[task] = lane;
        busy.push(Reverse((last, lane)));
    }
    (lanes, count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_alive_at_the_same_time_have_separate_lanes() {
        assert_eq!(lanes(&[(0, 10), (5, 7), (10, 20), (8, 9)]), (vec![0, 1, 1, 1], 2));
        assert_eq!(lanes(&[]), (vec![], 1));
        assert_eq!(lanes(&[(u64::MAX, 0), (3, 3)]), (vec![0, 0], 1));
    }
}
