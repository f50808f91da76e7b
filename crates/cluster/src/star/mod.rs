//! Ranks without MPI. Rank 0 is the coordinator and has a connection to each other rank.
//!
//! The coordinator runs where the command was typed, and measures nothing, unless the ranks are
//! [equal](Star::with_measuring_leader). Messages between two other ranks pass through
//! the coordinator. A connection is any pair of a reader and a writer: an encrypted channel, a socket, or an `ssh` child
//! process.
//!
//! Each connection has a reading thread and a writing thread. The writer sends a heartbeat when it has sent nothing
//! for half a second. A rank is lost if its connection ends, or if nothing came from it for the
//! [patience](Greeting::patience). Rank 0 then makes the others end.

pub mod build_session;
mod wire;

pub use wire::{
    FRAME_BYTES_MAX, Frame, Greeting, Kind, NEWS_BYTES_MAX, Protocols, RANKS_MAX, VERSION, http_answer, read_answer,
    read_line, refusal,
};

use crate::cluster::{Cluster, EndCause, Leave, Patience, Reduction};
use crate::error::{ClusterError, JoinError};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval between two heartbeats.
const PERIOD: Duration = Duration::from_millis(500);
/// Default silence after which a rank is presumed dead.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Limit of unread bytes from one rank, and of unwritten bytes to one.
const WAITING_BYTES_MAX: usize = 2 * FRAME_BYTES_MAX;
/// Limit of unread news from all ranks, in bytes. Further news is dropped.
const NEWS_WAITING_MAX: usize = 8 << 20;
/// Interval between two looks at all ranks for silent ones. A look takes time in proportion to their number.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Stack size of a connection's threads.
const STACK_BYTES: usize = 128 << 10;
/// Time limit for sending the last messages before leaving.
const FAREWELL: Duration = Duration::from_secs(2);

/// The two directions of a connection.
pub struct Link {
    /// Reads what the other end sends.
    pub reader: Box<dyn Read + Send>,
    /// Sends to the other end. Dropping it ends the connection.
    pub writer: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Link")
    }
}

/// State of the rank at the other end of a connection.
struct Peer {
    to_writer: Option<Sender<Arc<[u8]>>>,
    /// Number of bytes waiting to be written.
    queued: Arc<AtomicUsize>,
    heard: Instant,
    gone: bool,
    silent: bool,
    left: bool,
    written: bool,
}

impl Peer {
    /// Returns `true` if the rank went away without leaving properly.
    fn is_lost(&self) -> bool {
        self.gone && !self.left
    }
}

/// Frames to be written to a rank.
struct Queue {
    receiver: Receiver<Arc<[u8]>>,
    queued: Arc<AtomicUsize>,
}

/// Messages received from one rank.
#[derive(Default)]
struct Inbox {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    gone: bool,
}

struct State {
    peers: BTreeMap<u32, Peer>,
    inboxes: BTreeMap<u32, Inbox>,
    news: Vec<(u32, Vec<u8>)>,
    news_bytes: usize,
    /// Last look for silent ranks.
    looked: Instant,
    ends: bool,
    leaving: bool,
    carries_on: bool,
}

struct Shared {
    rank: u32,
    state: Mutex<State>,
    news: Condvar,
    patience: Duration,
}

/// Ranks connected to one coordinator.
pub struct Star {
    size: u32,
    leads_only: bool,
    transport: &'static str,
    shared: Arc<Shared>,
}

impl Star {
    /// Creates the coordinator's end from its connections to ranks 1, 2 …, which have [greeted](greet) each other.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn lead(links: Vec<Link>, patience: Duration, transport: &'static str) -> Result<Star, JoinError> {
        let size = links.len() as u32 + 1;
        Star::new(0, size, (1..).zip(links).collect(), patience, transport)
    }

    /// Creates the end of another rank, from its connection to rank 0.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn follow(link: Link, greeting: &Greeting, transport: &'static str) -> Result<Star, JoinError> {
        Star::new(greeting.rank, greeting.size, vec![(0, link)], greeting.patience, transport)
    }

    /// Lets rank 0 measure as well, as the ranks of MPI do. All ranks must say so.
    #[must_use]
    pub fn with_measuring_leader(mut self) -> Star {
        self.leads_only = false;
        self
    }

    fn new(
        rank: u32,
        size: u32,
        links: Vec<(u32, Link)>,
        patience: Duration,
        transport: &'static str,
    ) -> Result<Star, JoinError> {
        let mut peers = BTreeMap::new();
        let mut writers = Vec::new();
        for (other, link) in links {
            let (sender, receiver) = channel();
            let now = Instant::now();
            let queued = Arc::new(AtomicUsize::new(0));
            peers.insert(
                other,
                Peer {
                    to_writer: Some(sender),
                    queued: Arc::clone(&queued),
                    heard: now,
                    gone: false,
                    silent: false,
                    left: false,
                    written: false,
                },
            );
            writers.push((other, link, Queue { receiver, queued }));
        }
        let state = State {
            peers,
            inboxes: BTreeMap::new(),
            news: Vec::new(),
            news_bytes: 0,
            looked: Instant::now(),
            ends: false,
            leaving: false,
            carries_on: false,
        };
        let shared = Arc::new(Shared { rank, state: Mutex::new(state), news: Condvar::new(), patience });
        for (other, Link { reader, writer }, queue) in writers {
            let name = |what: &str| std::thread::Builder::new().name(format!("plumb-{what}")).stack_size(STACK_BYTES);
            let failed = |error: std::io::Error| JoinError::Io(error.to_string());
            let (of_reader, of_writer) = (Arc::clone(&shared), Arc::clone(&shared));
            name("link-read").spawn(move || listen(&of_reader, other, reader)).map_err(failed)?;
            name("link-write").spawn(move || write(&of_writer, other, writer, &queue)).map_err(failed)?;
        }
        Ok(Star { size, leads_only: true, transport, shared })
    }
}

/// Sends the greeting that assigns the other end its rank, and waits for the answer.
///
/// # Errors
/// Returns an error if the other end refuses, speaks no protocol of ours, or is not an agent.
pub fn greet(link: &mut Link, greeting: &Greeting) -> Result<(), JoinError> {
    let failed = |error: std::io::Error| JoinError::Io(error.to_string());
    let sent = link.writer.write_all(greeting.line().as_bytes()).and_then(|()| link.writer.flush());
    match (sent, read_line(&mut *link.reader)) {
        (Ok(()), line) => read_answer(&line?),
        // An agent that refuses at once may close before it reads the greeting; its answer can still be read.
        (Err(_), Ok(line)) => read_answer(&line),
        (Err(error), Err(_)) => Err(failed(error)),
    }
}

/// Writes queued frames, and a heartbeat when the queue is empty.
fn write(shared: &Shared, other: u32, mut writer: Box<dyn Write + Send>, queue: &Queue) {
    let alive: Arc<[u8]> = Frame::empty(Kind::Alive, shared.rank).bytes().into();
    let mut last = Instant::now();
    let failed = loop {
        let bytes = match queue.receiver.recv_timeout(PERIOD.saturating_sub(last.elapsed())) {
            Ok(bytes) => {
                queue.queued.fetch_sub(bytes.len(), Ordering::AcqRel);
                bytes
            }
            Err(RecvTimeoutError::Timeout) => Arc::clone(&alive),
            Err(RecvTimeoutError::Disconnected) => break false,
        };
        last = Instant::now();
        if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
            break true;
        }
    };
    drop(writer);
    let mut state = shared.state();
    if let Some(peer) = state.peers.get_mut(&other) {
        peer.written = true;
    }
    if failed {
        shared.lose(&mut state, other);
    }
    shared.news.notify_all();
}

/// Handles the frames of another rank until its connection ends.
fn listen(shared: &Shared, other: u32, mut reader: Box<dyn Read + Send>) {
    while let Ok(Some(frame)) = Frame::read(&mut *reader) {
        let mut state = shared.state();
        if let Some(peer) = state.peers.get_mut(&other) {
            peer.heard = Instant::now();
            peer.left |= frame.kind == Kind::Leaves;
        }
        // A sign of life is nothing that anyone waits for: with many ranks, most frames are.
        let is_awaited = frame.kind != Kind::Alive;
        let is_sound = shared.handle(&mut state, other, frame);
        if is_awaited {
            shared.news.notify_all();
        }
        if !is_sound {
            break;
        }
    }
    let mut state = shared.state();
    shared.lose(&mut state, other);
    shared.news.notify_all();
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a frame. Returns `false` if the other end may not send it.
    fn handle(&self, state: &mut State, other: u32, frame: Frame) -> bool {
        let leads = self.rank == 0;
        match frame.kind {
            Kind::Alive | Kind::Leaves => {}
            Kind::Ends if leads => self.end_all(state),
            Kind::Ends => state.ends = true,
            Kind::News if !leads => return false,
            Kind::News => {
                if state.news_bytes + frame.payload.len() <= NEWS_WAITING_MAX {
                    state.news_bytes += frame.payload.len();
                    state.news.push((other, frame.payload));
                }
            }
            // Only the coordinator knows about other ranks.
            Kind::Gone if leads => return false,
            Kind::Gone => {
                state.inboxes.entry(frame.rank).or_default().gone = true;
            }
            Kind::Message if leads && frame.rank != 0 => {
                let passed_on = Frame { rank: other, ..frame.clone() }.bytes().into();
                return state.send(frame.rank, passed_on);
            }
            Kind::Message => {
                let from = if leads { other } else { frame.rank };
                let inbox = state.inboxes.entry(from).or_default();
                inbox.bytes += frame.payload.len();
                inbox.messages.push_back(frame.payload);
                return inbox.bytes <= WAITING_BYTES_MAX;
            }
        }
        true
    }

    /// Marks a rank as lost. The coordinator informs the others, which then end.
    fn lose(&self, state: &mut State, other: u32) {
        let Some(peer) = state.peers.get_mut(&other).filter(|peer| !peer.gone) else { return };
        peer.gone = true;
        peer.to_writer = None;
        if peer.left || state.leaving {
            return;
        }
        if self.rank == 0 {
            let gone: Arc<[u8]> = Frame::empty(Kind::Gone, other).bytes().into();
            state.send_all(&gone);
            if state.carries_on {
                return;
            }
            self.end_all(state);
        }
        state.ends = true;
    }

    fn end_all(&self, state: &mut State) {
        if !state.ends {
            state.ends = true;
            state.send_all(&Frame::empty(Kind::Ends, self.rank).bytes().into());
        }
    }

    /// Marks ranks as lost that were silent for too long, if the last look was a while ago.
    fn lose_silent(&self, state: &mut State) {
        let now = Instant::now();
        if now.saturating_duration_since(state.looked) < LOOK_INTERVAL {
            return;
        }
        state.looked = now;
        let silence = |peer: &Peer| now.saturating_duration_since(peer.heard);
        let is_silent = |peer: &Peer| !peer.gone && !peer.left && silence(peer) > self.patience;
        let silent: Vec<u32> = state.peers.iter().filter(|(_, peer)| is_silent(peer)).map(|(&rank, _)| rank).collect();
        for rank in silent {
            if let Some(peer) = state.peers.get_mut(&rank) {
                peer.silent = true;
            }
            self.lose(state, rank);
        }
    }
}

impl State {
    /// Queues bytes for a rank. Returns `false` if the rank does not exist or has too much unread already.
    fn send(&self, to: u32, bytes: Arc<[u8]>) -> bool {
        let Some(peer) = self.peers.get(&to) else { return false };
        // Ignore a rank that is gone: its peers notice when they wait for it.
        let Some(writer) = &peer.to_writer else { return true };
        let before = peer.queued.fetch_add(bytes.len(), Ordering::AcqRel);
        let _ = writer.send(bytes);
        before <= WAITING_BYTES_MAX
    }

    fn send_all(&self, bytes: &Arc<[u8]>) {
        for &rank in self.peers.keys() {
            self.send(rank, Arc::clone(bytes));
        }
    }

    /// Returns `true` if nothing more will come from a rank, apart from messages that wait already.
    fn is_gone(&self, rank: u32) -> bool {
        let of_inbox = self.inboxes.get(&rank).is_some_and(|inbox| inbox.gone);
        let source = if self.peers.contains_key(&rank) { rank } else { 0 };
        of_inbox || self.peers.get(&source).is_none_or(|peer| peer.gone || peer.left)
    }
}

impl Cluster for Star {
    fn rank(&self) -> u32 {
        self.shared.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn transport(&self) -> &str {
        self.transport
    }

    fn parent(&self) -> Option<u32> {
        (self.shared.rank > 0).then_some(0)
    }

    fn children(&self) -> std::ops::Range<u32> {
        if self.shared.rank == 0 { 1..self.size } else { 0..0 }
    }

    fn depth(&self) -> u32 {
        1
    }

    fn release_delay_ns(&self) -> u64 {
        // Allows for a network, a process that decrypts, and a coordinator that informs the ranks one after the other.
        const WAKE_NS: u64 = 10_000_000;
        const EACH_NS: u64 = 200_000;
        WAKE_NS + EACH_NS * u64::from(self.size)
    }

    fn height(&self) -> u32 {
        u32::from(self.shared.rank == 0)
    }

    fn leads_only(&self) -> bool {
        self.leads_only
    }

    fn send(&self, to: u32, message: &[u8], _patience: &Patience<'_>) -> Result<(), ClusterError> {
        let mut state = self.shared.state();
        self.shared.lose_silent(&mut state);
        // Ranks other than 0 have no connection to each other: rank 0 passes the message on.
        let (through, rank) = if self.shared.rank == 0 { (to, 0) } else { (0, to) };
        if message.len() > FRAME_BYTES_MAX {
            let reason = format!("{} bytes are more than a message may have ({FRAME_BYTES_MAX})", message.len());
            return Err(ClusterError::Transport { function: "send", rank: to, reason });
        }
        let frame = Frame { kind: Kind::Message, rank, payload: message.to_vec() };
        match !state.is_gone(to) && state.send(through, frame.bytes().into()) {
            true => Ok(()),
            false => Err(ClusterError::Silent { rank: to, waited: Duration::ZERO }),
        }
    }

    fn receive(&self, from: u32, patience: &Patience<'_>) -> Result<Vec<u8>, ClusterError> {
        let start = Instant::now();
        let mut state = self.shared.state();
        loop {
            if let Some(inbox) = state.inboxes.get_mut(&from)
                && let Some(message) = inbox.messages.pop_front()
            {
                inbox.bytes -= message.len();
                return Ok(message);
            }
            self.shared.lose_silent(&mut state);
            let waited = start.elapsed();
            if state.is_gone(from) {
                return Err(ClusterError::Silent { rank: from, waited });
            }
            // Unlock: the callback may call `is_to_end`.
            drop(state);
            if !patience(from, waited) {
                return Err(ClusterError::Silent { rank: from, waited });
            }
            state = self.shared.state();
            let is_there = |state: &State| state.inboxes.get(&from).is_some_and(|inbox| !inbox.messages.is_empty());
            if !is_there(&state) {
                // A message wakes this thread at once. The interval is for signals and silent ranks.
                let woken = self.shared.news.wait_timeout(state, LOOK_INTERVAL);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn is_to_end(&self) -> Option<EndCause> {
        let mut state = self.shared.state();
        self.shared.lose_silent(&mut state);
        let lost = state.peers.iter().find(|(_, peer)| peer.is_lost() && !state.carries_on);
        let gone = lost.map(|(&rank, _)| rank);
        gone.map(EndCause::Silent).or_else(|| state.ends.then_some(EndCause::Announced))
    }

    fn tell(&self, news: &[u8]) {
        let state = self.shared.state();
        // Drop news while earlier news is still queued, because it would arrive late.
        let is_free =
            state.peers.get(&0).is_some_and(|coordinator| coordinator.queued.load(Ordering::Acquire) < NEWS_BYTES_MAX);
        if news.len() <= NEWS_BYTES_MAX && is_free {
            let frame = Frame { kind: Kind::News, rank: self.shared.rank, payload: news.to_vec() };
            state.send(0, frame.bytes().into());
        }
    }

    fn take_news(&self) -> Vec<(u32, Vec<u8>)> {
        let mut state = self.shared.state();
        state.news_bytes = 0;
        std::mem::take(&mut state.news)
    }

    fn carry_on(&self, without_lost: bool) {
        self.shared.state().carries_on = without_lost;
    }

    fn lost(&self) -> Vec<(u32, String)> {
        let state = self.shared.state();
        let how = |peer: &Peer| match peer.silent {
            true => format!("gave no sign of life for {} s", self.shared.patience.as_secs()),
            false => "is lost: its connection ended".to_owned(),
        };
        state.peers.iter().filter(|(_, peer)| peer.is_lost()).map(|(&rank, peer)| (rank, how(peer))).collect()
    }

    fn reduce(&self, sum: &mut dyn Reduction, patience: &Patience<'_>) -> Result<(), ClusterError> {
        for child in self.children() {
            let sent = self.receive(child, patience);
            let is_lost = matches!(sent, Err(ClusterError::Silent { .. }))
                && self.shared.state().peers.get(&child).is_some_and(Peer::is_lost);
            if !(is_lost && self.shared.state().carries_on) {
                sum.absorb(child, sent);
            }
        }
        match self.parent() {
            None => Ok(()),
            Some(parent) => self.send(parent, &sum.bytes(), patience),
        }
    }

    fn announce_end(&self) {
        self.shared.end_all(&mut self.shared.state());
    }

    fn leave(&self, _how: Leave) {
        let shared = &self.shared;
        let mut state = shared.state();
        state.leaving = true;
        state.send_all(&Frame::empty(Kind::Leaves, shared.rank).bytes().into());
        // Without its sender, a thread ends after writing the remaining frames.
        let ranks: Vec<u32> = state.peers.keys().copied().collect();
        for rank in ranks {
            if let Some(peer) = state.peers.get_mut(&rank) {
                peer.to_writer = None;
            }
        }
        let start = Instant::now();
        while start.elapsed() < FAREWELL && state.peers.values().any(|peer| !peer.written && !peer.gone) {
            let woken = shared.news.wait_timeout(state, Duration::from_millis(20));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Star {
    fn drop(&mut self) {
        let is_leaving = self.shared.state().leaving;
        if !is_leaving {
            self.leave(Leave::Alone);
        }
    }
}

#[cfg(test)]
mod tests;
