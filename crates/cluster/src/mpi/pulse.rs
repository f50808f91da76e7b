//! Signs of life. MPI says nothing of a rank that has died, and where the launcher does not end the job, whoever waits for that rank
//! waits for ever. A thread of each rank therefore sends a byte every half second to the ranks next to it in the tree: its parent and
//! its children. Who sends nothing for [`patience`] is taken for dead. The byte also says whether what all do is to end, and goes on
//! from rank to rank.

use super::Shared;
use super::library::{Request, Tag};
use crate::cluster::{EndCause, Leave};
use crate::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two signs of life.
const PERIOD: Duration = Duration::from_millis(500);
/// Of it, between two looks whether to go on.
const LOOK: Duration = Duration::from_millis(20);
/// A host that is so busy that a thread gets no turn for so long can hardly measure either.
const PATIENCE: Duration = Duration::from_secs(20);
/// Another patience, in seconds.
const SETTING: &str = "PLUMB_MPI_PATIENCE";

/// Stack size of the thread, the same as a main thread's. An MPI library may run pending work of all threads on any thread that
/// calls it: MPICH 4.0.2 packs and unpacks derived types in `MPI_Test`, which took more than 128 KiB of stack.
const STACK_BYTES: usize = 8 << 20;

const ALIVE: [u8; 1] = [0];
const ENDS: [u8; 1] = [1];
/// The last one: the rank leaves, as all do.
const LEAVES: [u8; 1] = [2];
/// A rank that leaves receives what others still send, for at most this long: libraries warn of messages that were not received.
const FAREWELL: Duration = Duration::from_secs(1);

/// What is known of the ranks next to this one.
pub(super) struct VitalSigns {
    /// When each was heard last.
    heard: Mutex<BTreeMap<u32, Instant>>,
    silent: Mutex<BTreeSet<u32>>,
    left: Mutex<BTreeSet<u32>>,
    ends: AtomicBool,
    stopped: AtomicBool,
    /// Nobody waits for anybody any more.
    aborts: AtomicBool,
    patience: Duration,
}

impl VitalSigns {
    pub(super) fn of(rank: u32, size: u32) -> VitalSigns {
        let now = Instant::now();
        let neighbours = tree::parent(rank).into_iter().chain(tree::children(rank, size));
        VitalSigns {
            heard: Mutex::new(neighbours.map(|rank| (rank, now)).collect()),
            silent: Mutex::new(BTreeSet::new()),
            left: Mutex::new(BTreeSet::new()),
            ends: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            aborts: AtomicBool::new(false),
            patience: patience(std::env::var(SETTING).ok().as_deref()),
        }
    }

    /// The ranks next to this one, without those that left or are silent.
    fn neighbours(&self) -> Vec<u32> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.keys().copied().filter(|&rank| !self.is_silent(rank)).collect()
    }

    fn hear(&self, rank: u32, sign: u8) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        // A rank that has left sends nothing more. That is no failure, but waiting for it would never end.
        if sign == LEAVES[0] {
            heard.remove(&rank);
            self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(rank);
        } else {
            heard.insert(rank, Instant::now());
        }
        drop(heard);
        if sign == ENDS[0] {
            self.announce_end();
        }
    }

    /// Who has been silent for too long, is so from now on.
    fn miss(&self) {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().filter(|(_, at)| at.elapsed() > self.patience).for_each(|(&rank, _)| self.give_up(rank));
    }

    fn give_up(&self, rank: u32) {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(rank);
        self.announce_end();
    }

    fn is_silent(&self, rank: u32) -> bool {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).contains(&rank)
    }

    /// Whether nothing more comes from a rank: it is silent, or has left.
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

    /// The thread ends.
    pub(super) fn stop(&self, how: Leave) {
        self.aborts.store(how != Leave::Together, Ordering::Relaxed);
        self.stopped.store(true, Ordering::Release);
    }
}

/// What the user wants, in seconds; the usual one where that cannot be read.
fn patience(setting: Option<&str>) -> Duration {
    let seconds = setting.and_then(|text| text.trim().parse::<u32>().ok()).filter(|&seconds| seconds > 0);
    seconds.map_or(PATIENCE, |seconds| Duration::from_secs(seconds.into()))
}

/// Starts the thread. Without it, silence means nothing.
pub(super) fn start(shared: Arc<Shared>) -> Option<JoinHandle<()>> {
    thread().spawn(move || beat(&shared)).ok()
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("plumb-pulse".to_owned()).stack_size(STACK_BYTES)
}

fn beat(shared: &Shared) {
    let vital = &shared.vital;
    let mut under_way: Vec<Request> = Vec::new();
    while !vital.stopped.load(Ordering::Acquire) {
        let sign = if vital.ends.load(Ordering::Relaxed) { &ENDS } else { &ALIVE };
        send(shared, sign, &mut under_way);
        vital.neighbours().into_iter().for_each(|rank| listen(shared, rank));
        vital.miss();
        let start = Instant::now();
        while start.elapsed() < PERIOD && !vital.stopped.load(Ordering::Acquire) {
            std::thread::sleep(LOOK);
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

/// Sends a sign to all ranks next to this one that are there.
fn send(shared: &Shared, sign: &'static [u8; 1], under_way: &mut Vec<Request>) {
    for rank in shared.vital.neighbours() {
        // An error of the library is how some of them tell of a rank that is gone.
        match shared.library().send(sign, rank, Tag::Pulse) {
            Ok(request) => under_way.push(request),
            Err(_) => shared.vital.give_up(rank),
        }
    }
    let library = shared.library();
    under_way.retain_mut(|request| !library.is_done(request).unwrap_or(true));
}

/// Takes in what a rank has sent since.
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
        // It is there already: a byte needs no second message.
        while !library.is_done(&mut request).unwrap_or(true) {}
        drop(library);
        shared.vital.hear(rank, sign[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects ranks of MPICH: the work of `MPI_Test` fits on the thread's stack. Main crashes here with a segmentation fault,
    /// as did about one in forty collective calls of IOR with `--mpiio.useStridedDatatype` on a busy machine.
    #[test]
    fn the_stack_is_as_large_as_a_library_expects() {
        let uses_much = || std::hint::black_box([1_u8; STACK_BYTES / 8]).iter().map(|&byte| usize::from(byte)).sum();
        let sum: usize = thread().spawn(uses_much).unwrap().join().unwrap();
        assert_eq!(sum, STACK_BYTES / 8);
    }

    // Protects: only who was silent for too long is taken for dead, and an end that was announced is passed on.
    #[test]
    fn silence_is_told_from_life() {
        let mut vital = VitalSigns::of(0, 3);
        vital.miss();
        assert_eq!(vital.is_to_end(), None);
        vital.patience = Duration::from_millis(500);
        std::thread::sleep(Duration::from_millis(600));
        vital.hear(1, ALIVE[0]);
        vital.miss();
        assert_eq!(vital.is_to_end(), Some(EndCause::Silent(2)));
        assert!(vital.is_silent(2) && !vital.is_silent(1));

        let told = VitalSigns::of(1, 3);
        told.hear(0, ENDS[0]);
        assert_eq!(told.is_to_end(), Some(EndCause::Announced));

        let left = VitalSigns { patience: Duration::ZERO, ..VitalSigns::of(1, 2) };
        left.hear(0, LEAVES[0]);
        left.miss();
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
