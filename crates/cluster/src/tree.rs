//! The communication tree, with rank 0 at its root. No rank exchanges more than [`FANOUT`] messages,
//! at any number of ranks.

/// Children of a rank. Up to 33 ranks all report to rank 0 directly, so that a dead one cuts off no other. 100,000
/// ranks make a tree of four levels below it.
pub(crate) const FANOUT: u32 = 32;

/// Returns the rank to which this one reports; `None` for rank 0.
pub fn parent(rank: u32) -> Option<u32> {
    rank.checked_sub(1).map(|before| before / FANOUT)
}

/// Returns the ranks that report to this one.
pub fn children(rank: u32, size: u32) -> std::ops::Range<u32> {
    let first = u64::from(rank) * u64::from(FANOUT) + 1;
    let clip = |at: u64| at.min(u64::from(size)) as u32;
    clip(first)..clip(first + u64::from(FANOUT))
}

/// Returns the number of steps from rank 0 to the rank farthest from it.
pub fn depth(size: u32) -> u32 {
    let mut steps = 0;
    let mut rank = size.saturating_sub(1);
    while let Some(above) = parent(rank) {
        (rank, steps) = (above, steps + 1);
    }
    steps
}

/// Returns the number of levels below a rank. Such a rank may have to wait longer than one without children.
pub fn height(rank: u32, size: u32) -> u32 {
    let mut steps = 0;
    let mut first = rank;
    while let Some(child) = children(first, size).next() {
        (first, steps) = (child, steps + 1);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: each rank but 0 has exactly one parent, and that parent lists it as a child.
    #[test]
    fn every_rank_is_the_child_of_its_parent() {
        for size in [1, 2, 33, 34, 1_057, 5_000] {
            let mut seen = vec![0; size as usize];
            for rank in 0..size {
                for child in children(rank, size) {
                    assert_eq!(parent(child), Some(rank));
                    seen[child as usize] += 1;
                }
            }
            assert!(seen[0] == 0 && seen[1..].iter().all(|&times| times == 1), "{size}");
        }
    }

    #[test]
    fn a_hundred_thousand_ranks_are_four_steps_away() {
        assert_eq!([1, 2, 33, 34, 1_057, 1_058, 100_000].map(depth), [0, 1, 1, 2, 2, 3, 4]);
        assert_eq!((height(0, 100_000), height(1, 34), height(2, 34), height(0, 1)), (4, 1, 0, 0));
        assert_eq!(children(u32::MAX - 1, u32::MAX).count(), 0);
    }
}
