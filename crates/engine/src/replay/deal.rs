//! Deals the calls of a recording to lanes ahead of time. A separate thread does this, so that no lane reads or decodes
//! anything. On virtual time, which has only one thread, a lane without calls deals itself.

use super::call::{CallAct, CallSurvey, DealtCall, NO_SLOT, RecordedCall, RecordedCalls};
use super::order::{Ancestors, Order, WaitFor};
use super::progress::{AHEAD_MAX, Progress};
use crate::source::trace::{ReadingError, ReplayError};
use plumb_workload::ReplayOrder;
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Maximum number of the recording's descriptors that are open at once.
pub(super) const SLOTS_MAX: u32 = 1 << 16;

/// Number of calls dealt before they are handed to the lanes.
const DEALT_AT_ONCE: u32 = 512;

/// Pause of the dealer when it is far ahead.
const FAR_AHEAD_PAUSE: Duration = Duration::from_micros(200);

/// Poll interval of a lane without calls.
const HUNGRY_PAUSE: Duration = Duration::from_millis(1);

/// Calls of one lane, with their dependencies in the same order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) calls: VecDeque<DealtCall>,
    pub(super) waits: VecDeque<WaitFor>,
}

#[derive(Debug, Default)]
struct LaneQueue {
    batch: Mutex<Batch>,
    is_hungry: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State shared by the lanes of a replay.
pub(super) struct Deal {
    pub(super) progress: Progress,
    /// Open files by slot.
    pub(super) slots: Box<[RwLock<Option<OwnedFd>>]>,
    queues: Box<[LaneQueue]>,
    /// The dealer, if it has no thread of its own.
    dealer: Mutex<Option<Dealer>>,
    is_virtual: bool,
    /// Whether all calls are dealt.
    is_over: AtomicBool,
    pub(super) error: ReadingError,
}

/// Result of one round of dealing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dealt {
    Some,
    /// Dealing must wait for the first call that has not ended.
    FarAhead,
    Over,
}

impl Deal {
    /// Starts dealing.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn begin(dealer: Dealer, lanes: u32, is_virtual: bool) -> std::io::Result<Arc<Deal>> {
        let deal = Arc::new(Deal {
            progress: Progress::new(lanes as usize, is_virtual),
            slots: (0..SLOTS_MAX).map(|_| RwLock::new(None)).collect(),
            queues: (0..lanes).map(|_| LaneQueue::default()).collect(),
            dealer: Mutex::new(None),
            is_virtual,
            is_over: AtomicBool::new(false),
            error: ReadingError::default(),
        });
        if is_virtual {
            *locked(&deal.dealer) = Some(dealer);
        } else {
            let dealt = Arc::clone(&deal);
            std::thread::Builder::new()
                .name("plumb-replay".to_owned())
                .spawn(move || Deal::deal_all(&dealt, dealer))?;
        }
        Ok(deal)
    }

    fn deal_all(this: &Arc<Deal>, mut dealer: Dealer) {
        // Stop when everything is dealt, or no lane is left.
        while !this.progress.is_abandoned() && Arc::strong_count(this) > 1 {
            let dealt = dealer.deal(this);
            this.hand_over(&mut dealer);
            match dealt {
                Dealt::Some => {}
                Dealt::FarAhead => std::thread::sleep(FAR_AHEAD_PAUSE),
                Dealt::Over => break,
            }
        }
        this.is_over.store(true, SeqCst);
        (0..this.queues.len() as u32).for_each(|lane| this.progress.wake(lane));
    }

    /// Appends the dealt calls to the lanes' queues.
    fn hand_over(&self, dealer: &mut Dealer) {
        for (lane, (queue, dealt)) in self.queues.iter().zip(&mut dealer.dealt).enumerate() {
            if dealt.calls.is_empty() {
                continue;
            }
            {
                let mut batch = locked(&queue.batch);
                batch.calls.append(&mut dealt.calls);
                batch.waits.append(&mut dealt.waits);
            }
            if queue.is_hungry.load(SeqCst) {
                self.progress.wake(lane as u32);
            }
        }
    }

    /// Returns the next calls of a lane; `None` if there are no more.
    pub(super) fn take(&self, lane: u32) -> Option<Batch> {
        let queue = &self.queues[lane as usize];
        loop {
            // Read this before the queue, so that calls dealt in between are not missed.
            let is_over = self.is_over.load(SeqCst) || self.progress.is_abandoned();
            let batch = std::mem::take(&mut *locked(&queue.batch));
            if !batch.calls.is_empty() {
                return Some(batch);
            }
            if is_over {
                return None;
            }
            if self.is_virtual {
                self.deal_here();
            } else {
                queue.is_hungry.store(true, SeqCst);
                if locked(&queue.batch).calls.is_empty() && !self.is_over.load(SeqCst) {
                    std::thread::park_timeout(HUNGRY_PAUSE);
                }
                queue.is_hungry.store(false, SeqCst);
            }
        }
    }

    /// Deals in the thread of a lane that has no calls left.
    fn deal_here(&self) {
        let dealt = match &mut *locked(&self.dealer) {
            Some(dealer) => {
                let dealt = dealer.deal(self);
                self.hand_over(dealer);
                dealt
            }
            None => Dealt::Over,
        };
        match dealt {
            Dealt::Some => {}
            Dealt::FarAhead => self.progress.wait_for_event(),
            Dealt::Over => self.is_over.store(true, SeqCst),
        }
    }

    /// Waits until a lane has its first calls, or the recording has none for it. Gives up after 2 s.
    pub(super) fn await_first(&self, lane: u32) {
        if self.is_virtual {
            return;
        }
        for _ in 0..2_000 {
            if !locked(&self.queues[lane as usize].batch).calls.is_empty() || self.is_over.load(Relaxed) {
                return;
            }
            std::thread::sleep(HUNGRY_PAUSE);
        }
    }
}

/// Reads a recording and deals its calls.
pub(super) struct Dealer {
    calls: RecordedCalls,
    order: Order,
    rule: ReplayOrder,
    processes: Vec<u32>,
    /// Lane of each thread.
    lane_of: Vec<u32>,
    /// By thread: whether this process replays its calls; empty if it replays all of them.
    own: Vec<bool>,
    /// Slot and file of each descriptor. The key is process and descriptor, or the file
    /// if the recording has no descriptors.
    handles: HashMap<u64, (u32, u32)>,
    /// Slots that become free once the call with this number has ended.
    freed: VecDeque<(u64, u32)>,
    next_slot: u32,
    /// Number of the next call.
    number: u64,
    /// Lowest number that had not ended at the last check.
    first_open: u64,
    dealt: Vec<Batch>,
    scratch: Vec<WaitFor>,
    is_over: bool,
}

impl Dealer {
    pub(super) fn new(
        calls: RecordedCalls,
        survey: &CallSurvey,
        ancestors: Ancestors,
        rule: ReplayOrder,
        lanes: u32,
    ) -> Dealer {
        let files = survey.paths.len();
        Dealer {
            calls,
            order: Order::new(rule, ancestors, files, lanes as usize),
            rule,
            processes: survey.processes.clone(),
            lane_of: survey.lanes.iter().map(|lane| lane % lanes).collect(),
            own: survey.own.clone(),
            handles: HashMap::new(),
            freed: VecDeque::new(),
            next_slot: 0,
            number: 0,
            first_open: 0,
            dealt: (0..lanes).map(|_| Batch::default()).collect(),
            scratch: Vec::new(),
            is_over: false,
        }
    }

    fn deal(&mut self, deal: &Deal) -> Dealt {
        if self.is_over {
            return Dealt::Over;
        }
        while self.first_open < self.number && deal.progress.has_ended(self.first_open) {
            self.first_open += 1;
        }
        for _ in 0..DEALT_AT_ONCE {
            if self.number - self.first_open >= AHEAD_MAX {
                return Dealt::FarAhead;
            }
            let dealt = match self.calls.next() {
                Some(Ok(call)) if !self.is_own(&call) => Ok(()),
                Some(Ok(call)) => self.deal_one(call, deal),
                Some(Err(error)) => Err(error),
                None => {
                    self.is_over = true;
                    return Dealt::Over;
                }
            };
            if let Err(error) = dealt {
                deal.error.set(&error);
                self.is_over = true;
                return Dealt::Over;
            }
        }
        Dealt::Some
    }

    fn is_own(&self, call: &RecordedCall) -> bool {
        self.own.get(call.task as usize).copied().unwrap_or(self.own.is_empty())
    }

    fn deal_one(&mut self, call: RecordedCall, deal: &Deal) -> Result<(), ReplayError> {
        let number = self.number;
        let lane = match self.rule {
            ReplayOrder::None => (number % self.dealt.len() as u64) as u32,
            _ => self.lane_of.get(call.task as usize).copied().unwrap_or(0),
        };
        let slot = self.slot(&call, deal)?;
        self.scratch.clear();
        let (think_ns, in_flight) = self.order.next(&call, number, lane, slot, &mut self.scratch);
        let batch = &mut self.dealt[lane as usize];
        let waits = self.scratch.len() as u32;
        batch.waits.extend(self.scratch.drain(..));
        batch.calls.push_back(DealtCall { call, number, slot, waits, think_ns, in_flight });
        self.number += 1;
        Ok(())
    }

    /// Returns the slot of a call's descriptor.
    fn slot(&mut self, call: &RecordedCall, deal: &Deal) -> Result<u32, ReplayError> {
        let key = match call.handle {
            0 => 1 << 63 | u64::from(call.file),
            handle => {
                let process = self.processes.get(call.task as usize).copied().unwrap_or(0);
                u64::from(process) << 32 & !(1 << 63) | u64::from(handle)
            }
        };
        // Starting another program may have closed the descriptor without a record; then it belongs to another file.
        let known = self.handles.get(&key).filter(|(_, file)| *file == call.file).map(|(slot, _)| *slot);
        match call.act {
            CallAct::Open if call.result < 0 => Ok(NO_SLOT),
            CallAct::Open => self.keep(key, call.file, deal),
            CallAct::Close => {
                let Some((slot, _)) = self.handles.remove(&key) else { return Ok(NO_SLOT) };
                self.freed.push_back((self.number, slot));
                Ok(slot)
            }
            CallAct::Read
            | CallAct::Write
            | CallAct::Trim
            | CallAct::Fsync
            | CallAct::Fdatasync
            | CallAct::Allocate
            | CallAct::List
            | CallAct::Seek
            | CallAct::SyncRange => match known {
                Some(slot) => Ok(slot),
                // The descriptor was opened before the recording began, inherited, or duplicated.
                None => self.keep(key, call.file, deal),
            },
            _ if call.handle == 0 => Ok(NO_SLOT),
            CallAct::SyncAll => Ok(NO_SLOT),
            _ => match known {
                Some(slot) => Ok(slot),
                None => self.keep(key, call.file, deal),
            },
        }
    }

    /// Assigns a new slot to a descriptor of a file. Its previous slot becomes free once no call uses it.
    fn keep(&mut self, key: u64, file: u32, deal: &Deal) -> Result<u32, ReplayError> {
        let slot = self.new_slot(deal)?;
        if let Some((before, _)) = self.handles.insert(key, (slot, file)) {
            self.freed.push_back((self.number, before));
        }
        Ok(slot)
    }

    fn new_slot(&mut self, deal: &Deal) -> Result<u32, ReplayError> {
        if let Some(&(number, slot)) = self.freed.front()
            && number < self.first_open
        {
            self.freed.pop_front();
            // If no close was recorded, the slot still holds the previous file.
            deal.slots[slot as usize].write().unwrap_or_else(PoisonError::into_inner).take();
            return Ok(slot);
        }
        if self.next_slot == SLOTS_MAX {
            return Err(ReplayError::TooManyOpen { most: SLOTS_MAX });
        }
        self.next_slot += 1;
        Ok(self.next_slot - 1)
    }
}
