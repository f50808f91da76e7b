//! The ranks of a command line: processes that a launcher started, or threads of one.

/// The processes of a launcher, each a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// How many there are.
    pub ranks: u32,
    /// Nodes that they are on.
    pub nodes: u32,
    /// Those on the node of rank 0, which is one of them.
    pub beside_rank_0: Vec<u32>,
}

impl Launched {
    /// Ranks of rank 0's node.
    pub fn per_node(&self) -> u32 {
        self.beside_rank_0.len() as u32
    }
}

/// How to have more ranks than there are.
pub(crate) fn more_ranks(launched: Option<&Launched>) -> &'static str {
    if launched.is_some() { "start more with mpirun -n" } else { "raise --plumb-ranks" }
}

/// Which ranks share rank 0's node, a digit for each.
pub(crate) fn node_map(launched: Option<&Launched>, ranks: u32) -> String {
    let is_beside_rank_0 = |rank| launched.is_none_or(|launched| launched.beside_rank_0.contains(&rank));
    (0..ranks).map(|rank| if is_beside_rank_0(rank) { '1' } else { '0' }).collect()
}
