//! The clocks of ranks, compared. Source of the method: Cristian, "Probabilistic clock synchronization" (1989): of several round
//! trips the shortest bounds the error best.

use crate::cluster::{Cluster, Patience};
use crate::error::ClusterError;
use crate::tree;

/// What has to be added to a rank's monotonic clock to get rank 0's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockOffset {
    /// The difference, ns.
    pub ns: i64,
    /// It is no farther off than this, ns: half the shortest round trip of each step up the tree.
    pub within_ns: u64,
}

impl ClockOffset {
    /// A time of rank 0's clock, on this rank's own, ns.
    pub fn to_own_ns(self, of_rank_0: u64) -> u64 {
        of_rank_0.saturating_add_signed(self.ns.saturating_neg())
    }

    /// A time of this rank's clock, on rank 0's, ns.
    pub fn to_rank_0_ns(self, own: u64) -> u64 {
        own.saturating_add_signed(self.ns)
    }
}

/// `CLOCK_MONOTONIC`, ns.
pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Waits until a time of this rank's own monotonic clock: asleep, but for the last 100 µs. Not for longer than a second, whatever
/// the time says: a wrong clock must not stop a run.
pub fn wait_until_ns(own_ns: u64) {
    const AWAKE_NS: u64 = 100_000;
    const LONGEST_NS: u64 = 1_000_000_000;
    let left_ns = own_ns.saturating_sub(monotonic_ns()).min(LONGEST_NS);
    let end_ns = monotonic_ns().saturating_add(left_ns);
    if left_ns > AWAKE_NS {
        std::thread::sleep(std::time::Duration::from_nanos(left_ns - AWAKE_NS));
    }
    while monotonic_ns() < end_ns {
        std::hint::spin_loop();
    }
}

/// Round trips with each rank.
const ROUNDS: u32 = 16;

/// See [`Cluster::clock_offset`].
pub(crate) fn estimate<C: Cluster + ?Sized>(cluster: &C, patience: &Patience<'_>) -> Result<ClockOffset, ClusterError> {
    let offset = match tree::parent(cluster.rank()) {
        None => ClockOffset::default(),
        Some(parent) => with_parent(cluster, parent, patience)?,
    };
    for child in tree::children(cluster.rank(), cluster.size()) {
        for _ in 0..ROUNDS {
            cluster.receive(child, patience)?;
            let now = offset.to_rank_0_ns(monotonic_ns());
            let answer = [now.to_le_bytes(), offset.within_ns.to_le_bytes()].concat();
            cluster.send(child, &answer, patience)?;
        }
    }
    Ok(offset)
}

fn with_parent<C: Cluster + ?Sized>(
    cluster: &C,
    parent: u32,
    patience: &Patience<'_>,
) -> Result<ClockOffset, ClusterError> {
    let mut best: Option<ClockOffset> = None;
    for _ in 0..ROUNDS {
        let asked = monotonic_ns();
        cluster.send(parent, &[0], patience)?;
        let answer = cluster.receive(parent, patience)?;
        let answered = monotonic_ns();
        let (now, parent_within) =
            read(&answer).ok_or(ClusterError::Unexpected { rank: parent, what: "not a time" })?;
        let round_trip = answered.saturating_sub(asked);
        let middle = asked + round_trip / 2;
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
    fn offsets_turn_times_there_and_back() {
        for ns in [-5_000_000_000, 0, 7] {
            let offset = ClockOffset { ns, within_ns: 1 };
            assert_eq!(offset.to_own_ns(offset.to_rank_0_ns(9_000_000_000)), 9_000_000_000);
        }
        assert_eq!(ClockOffset { ns: 5, within_ns: 0 }.to_rank_0_ns(10), 15);
    }

    #[test]
    fn a_short_answer_is_no_time() {
        assert_eq!(read(&[1, 2, 3]), None);
        assert_eq!(read(&[0; 16]), Some((0, 0)));
    }
}
