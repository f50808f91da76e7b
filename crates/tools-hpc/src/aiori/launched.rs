//! The ranks of a command line: processes started by a launcher, or threads of one process.

/// Processes started by a launcher. Each is a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    pub ranks: u32,
    /// Number of nodes with ranks.
    pub nodes: u32,
    /// Ranks on the node of rank 0, including rank 0.
    pub beside_rank_0: Vec<u32>,
}

impl Launched {
    /// Returns the number of ranks on rank 0's node.
    pub fn per_node(&self) -> u32 {
        self.beside_rank_0.len() as u32
    }
}

/// Returns a hint for more ranks.
pub(crate) fn more_ranks(launched: Option<&Launched>) -> &'static str {
    if launched.is_some() { "start more with mpirun -n" } else { "raise --plumb-ranks" }
}

/// Returns a digit per rank: 1 if it is on rank 0's node.
pub(crate) fn node_map(launched: Option<&Launched>, ranks: u32) -> String {
    let is_beside_rank_0 = |rank| launched.is_none_or(|launched| launched.beside_rank_0.contains(&rank));
    (0..ranks).map(|rank| if is_beside_rank_0(rank) { '1' } else { '0' }).collect()
}
