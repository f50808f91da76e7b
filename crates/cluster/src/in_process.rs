//! Ranks as threads of one process, joined by channels: for tests of code that uses a [`Cluster`].

use crate::cluster::{Cluster, Leave, Patience};
use crate::error::ClusterError;
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A rank that is a thread.
#[derive(Debug)]
pub struct Thread {
    rank: u32,
    to: Vec<Mutex<Sender<Vec<u8>>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

/// Creates `size` ranks, each for one thread. A dropped rank is silent from then on.
pub fn threads(size: u32) -> Vec<Thread> {
    let mut threads: Vec<Thread> = (0..size).map(|rank| Thread { rank, to: Vec::new(), from: Vec::new() }).collect();
    for one in 0..threads.len() {
        for other in 0..threads.len() {
            let (sender, receiver) = unbounded();
            threads[one].to.push(Mutex::new(sender));
            threads[other].from.push(Mutex::new(receiver));
        }
    }
    threads
}

impl Cluster for Thread {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.to.len() as u32
    }

    fn transport(&self) -> &str {
        "threads of one process"
    }

    fn send(&self, to: u32, message: &[u8], _patience: &Patience<'_>) -> Result<(), ClusterError> {
        // Ignore a rank that is gone: its peers notice when they wait for it.
        if let Some(Ok(sender)) = self.to.get(to as usize).map(Mutex::lock) {
            let _ = sender.send(message.to_vec());
        }
        Ok(())
    }

    fn receive(&self, from: u32, patience: &Patience<'_>) -> Result<Vec<u8>, ClusterError> {
        let start = Instant::now();
        let silent = || ClusterError::Silent { rank: from, waited: start.elapsed() };
        let Some(Ok(receiver)) = self.from.get(from as usize).map(Mutex::lock) else { return Err(silent()) };
        loop {
            match receiver.recv_timeout(Duration::from_millis(1)) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) if !patience(from, start.elapsed()) => {
                    return Err(silent());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn leave(&self, _how: Leave) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Arrival, Ending, EndingKind, Reduction, Release, wait_forever};
    use crate::offset::clock_offset;
    use crate::roster::{Member, Roster};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Runs `body` on each rank in a thread of its own, and returns the results in rank order.
    fn run_on_all<T: Send>(size: u32, body: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
        let threads = threads(size);
        std::thread::scope(|scope| {
            let body = &body;
            let running: Vec<_> = threads.iter().map(|thread| scope.spawn(move || body(thread))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    struct Sum {
        ranks: u64,
        missing: Vec<u32>,
    }

    impl Reduction for Sum {
        fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>) {
            match sent {
                Ok(bytes) => self.ranks += u64::from_le_bytes(bytes.try_into().unwrap()),
                Err(_) => self.missing.push(child),
            }
        }

        fn bytes(&mut self) -> Vec<u8> {
            self.ranks.to_le_bytes().to_vec()
        }
    }

    // Protects: a sum includes every rank once, and every rank receives rank 0's broadcast, in trees
    // of one and several levels.
    #[test]
    fn sums_hold_every_rank_once() {
        for size in [1, 2, 33, 34, 70] {
            let sums = run_on_all(size, |thread| {
                let mut sum = Sum { ranks: u64::from(thread.rank()), missing: Vec::new() };
                thread.reduce(&mut sum, &wait_forever).unwrap();
                thread.broadcast(sum.ranks.to_le_bytes().to_vec(), &wait_forever).unwrap()
            });
            let all: u64 = (0..u64::from(size)).sum();
            assert!(sums.iter().all(|sum| *sum == all.to_le_bytes()), "{size}");
        }
    }

    // Protects: no rank passes a barrier before all have arrived, and one rank that cannot continue stops all.
    #[test]
    fn barriers_hold_every_rank() {
        let arrived = AtomicU32::new(0);
        let released = run_on_all(40, |thread| {
            arrived.fetch_add(1, Ordering::SeqCst);
            let release = thread.barrier(Arrival::Ready, &wait_forever).unwrap();
            (release, arrived.load(Ordering::SeqCst))
        });
        let Release::At(at) = released[0].0 else { panic!("{:?}", released[0]) };
        assert!(released.iter().all(|(release, seen)| *release == Release::At(at) && *seen == 40));

        let ended = run_on_all(40, |thread| {
            let arrival = if thread.rank() == 39 { Arrival::Ends("no space".to_owned()) } else { Arrival::Ready };
            thread.barrier(arrival, &wait_forever).unwrap()
        });
        let ending = Ending { rank: 39, kind: EndingKind::Reported, why: "no space".to_owned() };
        assert!(ended.iter().all(|release| *release == Release::End(vec![ending.clone()])));
    }

    // Protects: a lost rank is named and does not hold up the others.
    #[test]
    fn a_silent_rank_is_named() {
        let ended = run_on_all(5, |thread| {
            let patience = |_rank: u32, waited: Duration| waited < Duration::from_secs(1);
            match thread.rank() {
                3 => None,
                0 => Some(thread.barrier(Arrival::Ready, &patience).unwrap()),
                _ => Some(thread.barrier(Arrival::Ready, &wait_forever).unwrap()),
            }
        });
        let Some(Release::End(endings)) = &ended[1] else { panic!("{:?}", ended[1]) };
        assert!(endings.len() == 1 && endings[0].rank == 3 && endings[0].kind == EndingKind::Silent, "{endings:?}");
    }

    // Protects: every rank knows all others. A rank that reads rank 0's own clock has an offset of
    // 0 within its stated error.
    #[test]
    fn ranks_know_each_other_and_their_clock_offsets() {
        let seen = run_on_all(40, |thread| {
            let roster = Roster::of_all(thread, Member::this(), &wait_forever).unwrap();
            (roster.ranks(), roster.one_clock(), clock_offset(thread, &wait_forever).unwrap())
        });
        for (ranks, one_clock, offset) in seen {
            assert!(ranks == 40 && one_clock);
            assert!(offset.ns.unsigned_abs() <= offset.within_ns, "{offset:?}");
        }
    }
}
