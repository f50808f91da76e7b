//! The interface: what carries bytes, and what is made of it.

use crate::clock;
use crate::error::ClusterError;
use crate::tree;
use std::time::Duration;

/// Whether to wait on for this rank; asked again and again, with how long it has been waited.
pub type Patience<'a> = dyn Fn(u32, Duration) -> bool + 'a;

/// Waits for as long as it takes.
pub fn wait_forever(_rank: u32, _waited: Duration) -> bool {
    true
}

/// How a rank leaves the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// All have come to the end.
    Together,
    /// Somebody does not answer: whatever still runs is ended, with this exit code.
    Abort(u8),
    /// Somebody does not answer, and another rank ends whatever still runs.
    Alone,
}

/// Why what all do is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// A rank has said so.
    Announced,
    /// This rank does not answer.
    Silent(u32),
}

/// How a rank comes to a barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// It is ready to go on.
    Ready,
    /// It cannot go on, for this reason; then no rank does.
    Ends(String),
}

/// What a barrier decides for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// All go on at this time of rank 0's clock, ns.
    At(u64),
    /// None does, because of these ranks; at most [`REASONS_MAX`] of them.
    End(Vec<Ending>),
}

/// A rank that ends what all do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Which.
    pub rank: u32,
    /// It said so itself, or does not answer.
    pub kind: EndingKind,
    /// Why, in words.
    pub why: String,
}

/// How a rank ends what all do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingKind {
    /// It said that it cannot go on.
    Said,
    /// It does not answer: whoever waits for it waits for ever.
    Silent,
}

/// More reasons say nothing new.
pub const REASONS_MAX: usize = 8;

/// What is added up from all ranks. A rank takes in what its children send, then sends the sum to its parent.
pub trait Reduction {
    /// Takes in what a child sent, or why nothing came from it: then all that lies behind that child is missing too.
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>);
    /// All that was taken in, for the parent. Not called on rank 0.
    fn bytes(&mut self) -> Vec<u8>;
}

/// Ranks that send bytes to each other. Messages between two ranks arrive in the order in which they were sent.
///
/// Transports write the required methods; the collective ones are made of them. A transport that has a faster way may write its own.
pub trait Cluster: Send + Sync {
    /// This process, from 0.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// What carries messages, as results name it: `Open MPI 4.1.4`.
    fn transport(&self) -> &str;

    /// The rank to which this one reports; none for rank 0.
    fn parent(&self) -> Option<u32> {
        tree::parent(self.rank())
    }

    /// The ranks that report to this one.
    fn children(&self) -> std::ops::Range<u32> {
        tree::children(self.rank(), self.size())
    }

    /// How many steps lie between rank 0 and the rank farthest from it.
    fn depth(&self) -> u32 {
        tree::depth(self.size())
    }

    /// How many steps lie below this rank.
    fn height(&self) -> u32 {
        tree::height(self.rank(), self.size())
    }

    /// How far ahead of a barrier's decision all start: the time that it takes to all ranks, and some more for one that has to be woken.
    fn release_delay_ns(&self) -> u64 {
        release_delay_ns(self.size(), self.depth())
    }

    /// Whether rank 0 is where the command was typed, and measures nothing itself.
    fn leads_only(&self) -> bool {
        false
    }

    /// Whether the others go on where one of them is lost; where not, all end. Only a transport that has a rank which leads can.
    fn carry_on(&self, _without_lost: bool) {}

    /// Sends news to rank 0, such as a second of a phase. It does not wait, and news may be lost. Transports without a leading rank send none.
    fn tell(&self, _news: &[u8]) {}

    /// What other ranks have told since this was asked last, in the order in which it came.
    fn told(&self) -> Vec<(u32, Vec<u8>)> {
        Vec::new()
    }

    /// Ranks that were lost, and how, in words.
    fn lost(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    /// Sends a message. The bytes may be reused when this returns; the other rank need not have them yet.
    ///
    /// # Errors
    /// The other rank cannot be reached, or took no message for longer than the patience lasts.
    fn send(&self, to: u32, message: &[u8], patience: &Patience<'_>) -> Result<(), ClusterError>;

    /// The next message from a rank.
    ///
    /// # Errors
    /// As [`Cluster::send`].
    fn receive(&self, from: u32, patience: &Patience<'_>) -> Result<Vec<u8>, ClusterError>;

    /// Leaves. Nothing is sent or received afterwards.
    fn leave(&self, how: Leave);

    /// Whether what all do is to end: a rank next to this one in the tree is silent, or another rank has
    /// [announced](Cluster::announce_end) it. Costs nothing: ask as often as you like. A transport that hears nothing while no
    /// message is received says nothing.
    fn is_to_end(&self) -> Option<EndCause> {
        None
    }

    /// Lets the others know, in a second or two, that what all do is to end: what is long under way need not come to its end. The
    /// reason is given at the next barrier.
    fn announce_end(&self) {}

    /// What rank 0 sends, on every rank. The argument counts on rank 0 only.
    ///
    /// # Errors
    /// As [`Cluster::send`], of the parent in the tree. A child that cannot be reached is its own to notice.
    fn broadcast(&self, message: Vec<u8>, patience: &Patience<'_>) -> Result<Vec<u8>, ClusterError> {
        let message = match self.parent() {
            None => message,
            Some(parent) => self.receive(parent, patience)?,
        };
        for child in self.children() {
            let _ = self.send(child, &message, patience);
        }
        Ok(message)
    }

    /// Adds up something of all ranks; the sum is at rank 0.
    ///
    /// # Errors
    /// As [`Cluster::send`], of the parent in the tree.
    fn reduce(&self, sum: &mut dyn Reduction, patience: &Patience<'_>) -> Result<(), ClusterError> {
        for child in self.children() {
            sum.absorb(child, self.receive(child, patience));
        }
        match self.parent() {
            None => Ok(()),
            Some(parent) => self.send(parent, &sum.bytes(), patience),
        }
    }

    /// Waits until all ranks have arrived, and decides whether they go on. Rank 0 names a moment shortly ahead, so that ranks
    /// at the far end of the tree start when those next to rank 0 do.
    ///
    /// # Errors
    /// The parent in the tree does not answer.
    fn barrier(&self, arrival: Arrival, patience: &Patience<'_>) -> Result<Release, ClusterError> {
        let mut arrivals = Arrivals::of(self.rank(), arrival);
        self.reduce(&mut arrivals, patience)?;
        let decided = match self.rank() {
            0 => arrivals.decided(clock::monotonic_ns().saturating_add(self.release_delay_ns())),
            _ => Vec::new(),
        };
        let decided = self.broadcast(decided, patience)?;
        Release::read(&decided).ok_or(ClusterError::Unexpected { rank: 0, what: "not a release" })
    }
}

/// The same along a tree.
fn release_delay_ns(size: u32, depth: u32) -> u64 {
    const WAKE_NS: u64 = 500_000;
    const STEP_NS: u64 = 500_000;
    if size <= 1 { 0 } else { WAKE_NS + STEP_NS * u64::from(depth) }
}

/// Who has arrived, so far as this rank knows.
struct Arrivals {
    endings: Vec<Ending>,
}

const READY: u8 = b'r';
const ENDS: u8 = b'e';
/// Between endings, and between their parts: the separators of ASCII, which no reason contains.
const SEPARATORS: [char; 2] = ['\u{1e}', '\u{1f}'];

impl Arrivals {
    fn of(rank: u32, arrival: Arrival) -> Arrivals {
        let endings = match arrival {
            Arrival::Ready => Vec::new(),
            Arrival::Ends(why) => vec![Ending { rank, kind: EndingKind::Said, why }],
        };
        Arrivals { endings }
    }

    fn add(&mut self, ending: Ending) {
        if self.endings.len() < REASONS_MAX {
            self.endings.push(ending);
        }
    }

    fn encoded(&self) -> Vec<u8> {
        let [between, within] = SEPARATORS;
        let text = |Ending { rank, kind, why }: &Ending| {
            let kind = if *kind == EndingKind::Silent { "silent" } else { "said" };
            format!("{rank}{within}{kind}{within}{}", why.replace(SEPARATORS, " "))
        };
        let all = self.endings.iter().map(text).collect::<Vec<_>>().join(&between.to_string());
        [&[if self.endings.is_empty() { READY } else { ENDS }], all.as_bytes()].concat()
    }

    /// What rank 0 tells all.
    fn decided(&self, at_ns: u64) -> Vec<u8> {
        if self.endings.is_empty() { [&[READY], at_ns.to_le_bytes().as_slice()].concat() } else { self.encoded() }
    }
}

fn endings(bytes: &[u8]) -> Vec<Ending> {
    let [between, within] = SEPARATORS;
    let text = String::from_utf8_lossy(bytes);
    let ending = |text: &str| {
        let mut parts = text.splitn(3, within);
        let rank = parts.next()?.parse().ok()?;
        let kind = if parts.next()? == "silent" { EndingKind::Silent } else { EndingKind::Said };
        Some(Ending { rank, kind, why: parts.next()?.to_owned() })
    };
    text.split(between).filter_map(ending).collect()
}

impl Reduction for Arrivals {
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>) {
        match sent.as_deref() {
            Ok([READY, ..]) => {}
            Ok([ENDS, text @ ..]) => endings(text).into_iter().for_each(|ending| self.add(ending)),
            Ok(_) => {
                let why = ClusterError::Unexpected { rank: child, what: "not an arrival" }.to_string();
                self.add(Ending { rank: child, kind: EndingKind::Said, why });
            }
            Err(error) => self.add(Ending { rank: child, kind: EndingKind::Silent, why: error.to_string() }),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.encoded()
    }
}

impl Release {
    fn read(bytes: &[u8]) -> Option<Release> {
        match bytes {
            [READY, at @ ..] => Some(Release::At(u64::from_le_bytes(at.try_into().ok()?))),
            [ENDS, text @ ..] => Some(Release::End(endings(text))),
            _ => None,
        }
    }
}
