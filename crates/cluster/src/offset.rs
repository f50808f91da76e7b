//! Compares the clocks of ranks. Source of the method: Cristian, "Probabilistic clock synchronization" (1989): of
//! several round trips, the shortest bounds the error best.

use crate::clock::{ClockOffset, monotonic_ns};
use crate::cluster::{Cluster, Patience};
use crate::error::ClusterError;

/// Number of round trips with each rank.
const ROUNDS: u32 = 16;

/// Computes the difference between rank 0's monotonic clock and this rank's. Measures round trips to the parent in
/// the tree, whose own offset is known by then. Collective.
///
/// # Errors
/// Returns an error if a rank does not answer.
pub fn clock_offset(cluster: &dyn Cluster, patience: &Patience<'_>) -> Result<ClockOffset, ClusterError> {
    let offset = match cluster.parent() {
        None => ClockOffset::default(),
        Some(parent) => with_parent(cluster, parent, patience)?,
    };
    for child in cluster.children() {
        for _ in 0..ROUNDS {
            cluster.receive(child, patience)?;
            let now = offset.to_rank_0_ns(monotonic_ns());
            let answer = [now.to_le_bytes(), offset.within_ns.to_le_bytes()].concat();
            cluster.send(child, &answer, patience)?;
        }
    }
    Ok(offset)
}

fn with_parent(cluster: &dyn Cluster, parent: u32, patience: &Patience<'_>) -> Result<ClockOffset, ClusterError> {
    let mut best: Option<ClockOffset> = None;
    for _ in 0..ROUNDS {
        let sent_at = monotonic_ns();
        cluster.send(parent, &[0], patience)?;
        let answer = cluster.receive(parent, patience)?;
        let answered = monotonic_ns();
        let (now, parent_within) =
            read(&answer).ok_or(ClusterError::Unexpected { rank: parent, what: "not a time" })?;
        let round_trip = answered.saturating_sub(sent_at);
        let middle = sent_at + round_trip / 2;
        let offset = ClockOffset {
            ns: now.wrapping_sub(middle) as i64,
            within_ns: (round_trip / 2).saturating_add(parent_within),
        };
        if best.is_none_or(|best| offset.within_ns < best.within_ns) {
            best = Some(offset);
        }
    }
    Ok(best.unwrap_or_default())
}

fn read(answer: &[u8]) -> Option<(u64, u64)> {
    let (now, within) = answer.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*now), u64::from_le_bytes(within.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_answer_is_rejected() {
        assert_eq!(read(&[1, 2, 3]), None);
        assert_eq!(read(&[0; 16]), Some((0, 0)));
    }
}
