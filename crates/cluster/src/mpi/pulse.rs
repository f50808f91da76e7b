//! Heartbeats. MPI does not report a dead rank. If the launcher does not kill the job, ranks that wait for the dead
//! one block forever. A thread of each rank therefore sends a byte every half second to its neighbours in the tree:
//! its parent and its children. A rank that sends nothing for [`patience`] is presumed dead. The byte also says
//! whether the shared run is to end, and this is passed on from rank to rank.

use super::Shared;
use super::library::{Request, Tag};
use crate::cluster::{EndCause, Leave};
use crate::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between two heartbeats.
const PERIOD: Duration = Duration::from_millis(500);
/// Interval between checks for shutdown, within a period.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Silence after which a rank is presumed dead. A host too busy to schedule a thread for
/// this long cannot measure anyway.
const PATIENCE: Duration = Duration::from_secs(20);
/// Variable that overrides the patience, in seconds.
const SETTING: &str = "PLUMB_MPI_PATIENCE";

/// Stack size of the thread, the same as a main thread's. An MPI library may run pending work of all threads
/// on any thread that calls it: MPICH 4.0.2 packs and unpacks derived types in `MPI_Test`, which took more
/// than 128 KiB of stack.
const STACK_BYTES: usize = 8 << 20;

const ALIVE: [u8; 1] = [0];
const ENDS: [u8; 1] = [1];
/// Last byte of a rank that leaves at the regular end.
const LEAVES: [u8; 1] = [2];
/// Time limit for receiving the last messages of other ranks before leaving. Libraries warn about
/// messages that were never received.
const FAREWELL: Duration = Duration::from_secs(1);

/// State of the neighbouring ranks, as their heartbeats show it.
pub(super) struct VitalSigns {
    /// Time of the last byte from each neighbour.
    heard_at: Mutex<BTreeMap<u32, Instant>>,
    silent: Mutex<BTreeSet<u32>>,
    left: Mutex<BTreeSet<u32>>,
    ends: AtomicBool,
    stopped: AtomicBool,
    /// Set on abort: no rank waits for another any more.
    aborts: AtomicBool,
    patience: Duration,
}

impl VitalSigns {
    pub(super) fn new(rank: u32, size: u32) -> VitalSigns {
        let now = Instant::now();
        let neighbours = tree::parent(rank).into_iter().chain(tree::children(rank, size));
        VitalSigns {
            heard_at: Mutex::new(neighbours.map(|rank| (rank, now)).collect()),
            silent: Mutex::new(BTreeSet::new()),
            left: Mutex::new(BTreeSet::new()),
            ends: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            aborts: AtomicBool::new(false),
            patience: patience(std::env::var(SETTING).ok().as_deref()),
        }
    }

    /// Returns the neighbours that have not left and are not silent.
    fn neighbours(&self) -> Vec<u32> {
        let heard_at = self.heard_at.lock().unwrap_or_else(PoisonError::into_inner);
        heard_at.keys().copied().filter(|&rank| !self.is_silent(rank)).collect()
    }

    fn hear(&self, rank: u32, sign: u8) {
        let mut heard_at = self.heard_at.lock().unwrap_or_else(PoisonError::into_inner);
        // A rank that has left sends nothing more. That is not a failure, but waiting for it would never end.
        if sign == LEAVES[0] {
            heard_at.remove(&rank);
            self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(rank);
        } else {
            heard_at.insert(rank, Instant::now());
        }
        drop(heard_at);
        if sign == ENDS[0] {
            self.announce_end();
        }
    }

    /// Marks neighbours as silent that have sent nothing for too long.
    fn mark_silent(&self) {
        let heard_at = self.heard_at.lock().unwrap_or_else(PoisonError::into_inner);
        heard_at.iter().filter(|(_, at)| at.elapsed() > self.patience).for_each(|(&rank, _)| self.give_up(rank));
    }

    fn give_up(&self, rank: u32) {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(rank);
        self.announce_end();
    }

    fn is_silent(&self, rank: u32) -> bool {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).contains(&rank)
    }

    /// Returns `true` if nothing more will come from a rank: it is silent, or has left.
    pub(super) fn is_gone(&self, rank: u32) -> bool {
        self.is_silent(rank) || self.left.lock().unwrap_or_else(PoisonError::into_inner).contains(&rank)
    }

    pub(super) fn is_to_end(&self) -> Option<EndCause> {
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner).first().copied();
        silent.map(EndCause::Silent).or_else(|| self.ends.load(Ordering::Relaxed).then_some(EndCause::Announced))
    }

    pub(super) fn announce_end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Stops the heartbeat thread, in the manner of `how`.
    pub(super) fn stop(&self, how: Leave) {
        self.aborts.store(how != Leave::Together, Ordering::Relaxed);
        self.stopped.store(true, Ordering::Release);
    }
}

/// Parses the user's patience in seconds; the default if it cannot be parsed.
fn patience(setting: Option<&str>) -> Duration {
    let seconds = setting.and_then(|text| text.trim().parse::<u32>().ok()).filter(|&seconds| seconds > 0);
    seconds.map_or(PATIENCE, |seconds| Duration::from_secs(seconds.into()))
}

/// Starts the heartbeat thread. Without it, silence is not detected.
pub(super) fn start(shared: Arc<Shared>) -> Option<JoinHandle<()>> {
    thread().spawn(move || send_heartbeats(&shared)).ok()
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("plumb-pulse".to_owned()).stack_size(STACK_BYTES)
}

fn send_heartbeats(shared: &Shared) {
    let vital = &shared.vital;
    let mut under_way: Vec<Request> = Vec::new();
    while !vital.stopped.load(Ordering::Acquire) {
        let sign = if vital.ends.load(Ordering::Relaxed) { &ENDS } else { &ALIVE };
        send(shared, sign, &mut under_way);
        vital.neighbours().into_iter().for_each(|rank| listen(shared, rank));
        vital.mark_silent();
        let start = Instant::now();
        while start.elapsed() < PERIOD && !vital.stopped.load(Ordering::Acquire) {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    if vital.aborts.load(Ordering::Relaxed) {
        return;
    }
    send(shared, &LEAVES, &mut under_way);
    let start = Instant::now();
    while start.elapsed() < FAREWELL && !vital.neighbours().is_empty() {
        vital.neighbours().into_iter().for_each(|rank| listen(shared, rank));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a byte to all neighbours that are alive.
fn send(shared: &Shared, sign: &'static [u8; 1], under_way: &mut Vec<Request>) {
    for rank in shared.vital.neighbours() {
        // Some libraries report a lost rank as an error here.
        match shared.library().send(sign, rank, Tag::Pulse) {
            Ok(request) => under_way.push(request),
            Err(_) => shared.vital.give_up(rank),
        }
    }
    let library = shared.library();
    under_way.retain_mut(|request| !library.is_done(request).unwrap_or(true));
}

/// Receives the bytes that a rank has sent since the last call.
fn listen(shared: &Shared, rank: u32) {
    loop {
        let library = shared.library();
        match library.probe(rank, Tag::Pulse) {
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(_) => return shared.vital.give_up(rank),
        }
        let mut sign = [0_u8; 1];
        let Ok(mut request) = library.receive(&mut sign, rank, Tag::Pulse) else { return };
        // The data is here already: MPI sends a byte together with the message's envelope.
        while !library.is_done(&mut request).unwrap_or(true) {}
        drop(library);
        shared.vital.hear(rank, sign[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects ranks of MPICH: the work of `MPI_Test` fits on the thread's stack. With 128 KiB this
    /// crashes with a segmentation fault, like one in forty collective calls of IOR with
    /// `--mpiio.useStridedDatatype` on a busy machine.
    #[test]
    fn the_stack_is_as_large_as_a_library_expects() {
        let uses_much = || std::hint::black_box([1_u8; STACK_BYTES / 8]).iter().map(|&byte| usize::from(byte)).sum();
        let sum: usize = thread().spawn(uses_much).unwrap().join().unwrap();
        assert_eq!(sum, STACK_BYTES / 8);
    }

    // Protects: only a rank that was silent for too long is presumed dead, and an announced end is passed on.
    #[test]
    fn silent_ranks_are_detected() {
        let mut vital = VitalSigns::new(0, 3);
        vital.mark_silent();
        assert_eq!(vital.is_to_end(), None);
        vital.patience = Duration::from_millis(500);
        std::thread::sleep(Duration::from_millis(600));
        vital.hear(1, ALIVE[0]);
        vital.mark_silent();
        assert_eq!(vital.is_to_end(), Some(EndCause::Silent(2)));
        assert!(vital.is_silent(2) && !vital.is_silent(1));

        let signs = VitalSigns::new(1, 3);
        signs.hear(0, ENDS[0]);
        assert_eq!(signs.is_to_end(), Some(EndCause::Announced));

        let left = VitalSigns { patience: Duration::ZERO, ..VitalSigns::new(1, 2) };
        left.hear(0, LEAVES[0]);
        left.mark_silent();
        assert_eq!((left.is_to_end(), left.neighbours()), (None, Vec::new()));
        assert!(left.is_gone(0), "waiting for it would never end");
    }

    #[test]
    fn the_setting_is_in_seconds() {
        assert_eq!(
            [None, Some("3"), Some("0"), Some("soon")].map(patience).map(|time| time.as_secs()),
            [20, 3, 20, 20]
        );
    }
}
