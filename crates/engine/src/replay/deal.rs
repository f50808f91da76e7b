//! Deals the calls of a recording to lanes, ahead of their time: by a thread of its own, so that no lane reads or decodes
//! anything. On virtual time, where everything is one thread, a lane deals when it has nothing left.

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

/// Descriptors of the recording that are open at once at most.
pub(super) const SLOTS_MAX: u32 = 1 << 16;

/// Calls that are dealt before lanes get theirs.
const DEALT_AT_ONCE: u32 = 512;

/// A pause of the dealer, who is far ahead.
const FAR_AHEAD_PAUSE: Duration = Duration::from_micros(200);

/// A lane without calls looks again after this.
const HUNGRY_PAUSE: Duration = Duration::from_millis(1);

/// Calls of one lane, and what they wait for, one after another.
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

/// What the lanes of a replay share.
pub(super) struct Deal {
    pub(super) progress: Progress,
    /// Open files by slot.
    pub(super) slots: Box<[RwLock<Option<OwnedFd>>]>,
    queues: Box<[LaneQueue]>,
    /// The dealer, where no thread of its own has it.
    dealer: Mutex<Option<Dealer>>,
    is_virtual: bool,
    /// All calls are dealt.
    is_over: AtomicBool,
    pub(super) error: ReadingError,
}

/// How dealing ended for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dealt {
    Some,
    /// The first call that has not ended is too far behind.
    FarAhead,
    Over,
}

impl Deal {
    /// Begins to deal.
    ///
    /// # Errors
    /// Where no thread can be started.
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
        // Until everything is dealt, or nobody is left to deal to.
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

    /// Gives each lane what was dealt to it.
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

    /// The next calls of a lane; none where it has no more.
    pub(super) fn take(&self, lane: u32) -> Option<Batch> {
        let queue = &self.queues[lane as usize];
        loop {
            // Before the look, so that what is dealt meanwhile is not missed.
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

    /// Deals in the thread of a lane that has nothing left.
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
            Dealt::FarAhead => self.progress.listen(),
            Dealt::Over => self.is_over.store(true, SeqCst),
        }
    }

    /// Waits until a lane has something to begin with, or there is nothing for it near the beginning.
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
    /// By thread.
    lane_of: Vec<u32>,
    /// By thread, whether its calls are made here; empty if all are.
    own: Vec<bool>,
    /// By process and descriptor, or by file where there are no descriptors: where it lies, and which file it is.
    handles: HashMap<u64, (u32, u32)>,
    /// Slots that are free once the call with this number has ended.
    freed: VecDeque<(u64, u32)>,
    next_slot: u32,
    /// Number of the next call.
    number: u64,
    /// The lowest number that has not ended, as far as it was looked.
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
                deal.error.tell(&error);
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

    /// Where the descriptor of a call lies.
    fn slot(&mut self, call: &RecordedCall, deal: &Deal) -> Result<u32, ReplayError> {
        let key = match call.handle {
            0 => 1 << 63 | u64::from(call.file),
            handle => {
                let process = self.processes.get(call.task as usize).copied().unwrap_or(0);
                u64::from(process) << 32 & !(1 << 63) | u64::from(handle)
            }
        };
        // A descriptor that was closed unseen, by another program's start, is another file's by now.
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
                // Opened before the recording began, inherited, or duplicated.
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

    /// A place for a descriptor of a file; the one that it had before is free once nobody uses it.
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
            // Where nobody recorded its close, it still has the file of before.
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
