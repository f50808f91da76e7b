//! The transport interface, and the collective operations built on it.

use crate::clock;
use crate::error::ClusterError;
use crate::tree;
use std::time::Duration;

/// Decides whether to keep waiting for a rank. Called repeatedly with the time waited so far.
pub type Patience<'a> = dyn Fn(u32, Duration) -> bool + 'a;

/// A [`Patience`] that never gives up.
pub fn wait_forever(_rank: u32, _waited: Duration) -> bool {
    true
}

/// Reason and manner in which a rank leaves the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// All ranks finished.
    Together,
    /// A rank does not answer: kill all processes that still run, with this exit code.
    Abort(u8),
    /// A rank does not answer, and another rank kills the remaining processes.
    Alone,
}

/// Reason to end the shared run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// A rank has announced the end.
    Announced,
    /// This rank does not answer.
    Silent(u32),
}

/// State in which a rank arrives at a barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// The rank is ready to continue.
    Ready,
    /// The rank cannot continue, for this reason. Then no rank does.
    Ends(String),
}

/// Decision of a barrier, for all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// All ranks continue at this time of rank 0's clock, ns.
    At(u64),
    /// No rank continues, because of these ranks; at most [`REASONS_MAX`] of them.
    End(Vec<Ending>),
}

/// A rank that ends the shared run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub rank: u32,
    /// Whether the rank reported a failure or went silent.
    pub kind: EndingKind,
    /// Human-readable reason.
    pub why: String,
}

/// How a rank ends the shared run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingKind {
    /// The rank reported that it cannot continue.
    Reported,
    /// The rank does not answer: waiting for it would never end.
    Silent,
}

/// Maximum number of reasons that a barrier reports. More would add nothing.
pub const REASONS_MAX: usize = 8;

/// A sum over all ranks. A rank absorbs what its children send, then sends the result to its parent.
pub trait Reduction {
    /// Adds a child's contribution. An error means that the child's whole subtree is missing.
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>);
    /// Returns the accumulated sum, to be sent to the parent. Not called on rank 0.
    fn bytes(&mut self) -> Vec<u8>;
}

/// Ranks that send bytes to each other. Messages between two ranks arrive in the order in which they were sent.
///
/// A transport implements the required methods; the collective operations have default implementations. A transport
/// with a faster way may override them.
pub trait Cluster: Send + Sync {
    /// Returns the rank of this process, counted from 0.
    fn rank(&self) -> u32;

    /// Returns the number of ranks.
    fn size(&self) -> u32;

    /// Returns the transport's name as results show it: `Open MPI 4.1.4`.
    fn transport(&self) -> &str;

    /// Returns the rank to which this one reports; `None` for rank 0.
    fn parent(&self) -> Option<u32> {
        tree::parent(self.rank())
    }

    /// Returns the ranks that report to this one.
    fn children(&self) -> std::ops::Range<u32> {
        tree::children(self.rank(), self.size())
    }

    /// Returns the number of steps from rank 0 to the rank farthest from it.
    fn depth(&self) -> u32 {
        tree::depth(self.size())
    }

    /// Returns the number of levels below this rank.
    fn height(&self) -> u32 {
        tree::height(self.rank(), self.size())
    }

    /// Returns how far in the future a barrier schedules the start. Covers the time that the decision takes to reach
    /// all ranks and to wake a sleeping one.
    fn release_delay_ns(&self) -> u64 {
        release_delay_ns(self.size(), self.depth())
    }

    /// Returns `true` if rank 0 only coordinates: it runs where the command was typed and measures nothing itself.
    fn leads_only(&self) -> bool {
        false
    }

    /// Sets whether the other ranks continue when one is lost. By default all end. Only transports
    /// with a coordinator support it.
    fn carry_on(&self, _without_lost: bool) {}

    /// Sends news to rank 0, such as one interval of a phase. Never waits, and news may be lost. Transports
    /// without a coordinator send none.
    fn tell(&self, _news: &[u8]) {}

    /// Returns news from other ranks since the last call, in order of arrival.
    fn take_news(&self) -> Vec<(u32, Vec<u8>)> {
        Vec::new()
    }

    /// Returns the ranks that were lost, each with a human-readable reason.
    fn lost(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    /// Sends a message. The bytes may be reused when this returns, even if the other rank does not have them yet.
    ///
    /// # Errors
    /// Returns an error if the other rank cannot be reached or accepted no message within the patience.
    fn send(&self, to: u32, message: &[u8], patience: &Patience<'_>) -> Result<(), ClusterError>;

    /// Receives the next message from a rank.
    ///
    /// # Errors
    /// Returns the same errors as [`Cluster::send`].
    fn receive(&self, from: u32, patience: &Patience<'_>) -> Result<Vec<u8>, ClusterError>;

    /// Leaves the cluster. Nothing is sent or received afterwards.
    fn leave(&self, how: Leave);

    /// Returns the cause if the shared run is to end: a neighbour in the tree is silent, or a rank has
    /// [announced](Cluster::announce_end) the end. Cheap enough to call often. A transport that hears nothing while
    /// no message is received always returns `None`.
    fn is_to_end(&self) -> Option<EndCause> {
        None
    }

    /// Announces the end of the shared run. Other ranks learn of it within a second or two and can stop long work
    /// early. The reason follows at the next barrier.
    fn announce_end(&self) {}

    /// Sends a message from rank 0 to every rank, and returns it. The argument is ignored on other ranks.
    ///
    /// # Errors
    /// Returns the errors of [`Cluster::send`] for the parent in the tree. A child that cannot
    /// be reached notices that itself.
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

    /// Reduces the contributions of all ranks into rank 0's sum.
    ///
    /// # Errors
    /// Returns the errors of [`Cluster::send`] for the parent in the tree.
    fn reduce(&self, sum: &mut dyn Reduction, patience: &Patience<'_>) -> Result<(), ClusterError> {
        for child in self.children() {
            sum.absorb(child, self.receive(child, patience));
        }
        match self.parent() {
            None => Ok(()),
            Some(parent) => self.send(parent, &sum.bytes(), patience),
        }
    }

    /// Waits until all ranks have arrived, and decides whether they continue. Rank 0 picks a time shortly in the
    /// future, so that ranks at the far end of the tree start together with those next to rank 0.
    ///
    /// # Errors
    /// Returns an error if the parent in the tree does not answer.
    fn barrier(&self, arrival: Arrival, patience: &Patience<'_>) -> Result<Release, ClusterError> {
        let mut arrivals = Arrivals::new(self.rank(), arrival);
        self.reduce(&mut arrivals, patience)?;
        let decided = match self.rank() {
            0 => arrivals.decided(clock::monotonic_ns().saturating_add(self.release_delay_ns())),
            _ => Vec::new(),
        };
        let decided = self.broadcast(decided, patience)?;
        Release::read(&decided).ok_or(ClusterError::Unexpected { rank: 0, what: "not a release" })
    }
}

/// Returns the default release delay for a tree.
fn release_delay_ns(size: u32, depth: u32) -> u64 {
    const WAKE_NS: u64 = 500_000;
    const STEP_NS: u64 = 500_000;
    if size <= 1 { 0 } else { WAKE_NS + STEP_NS * u64::from(depth) }
}

/// Ranks that have arrived, as far as this rank knows.
struct Arrivals {
    endings: Vec<Ending>,
}

const READY: u8 = b'r';
const ENDS: u8 = b'e';
/// Separators between endings, and between the parts of one. ASCII separators, which no reason contains.
const SEPARATORS: [char; 2] = ['\u{1e}', '\u{1f}'];

impl Arrivals {
    fn new(rank: u32, arrival: Arrival) -> Arrivals {
        let endings = match arrival {
            Arrival::Ready => Vec::new(),
            Arrival::Ends(why) => vec![Ending { rank, kind: EndingKind::Reported, why }],
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

    /// Encodes rank 0's decision for all ranks.
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
        let kind = if parts.next()? == "silent" { EndingKind::Silent } else { EndingKind::Reported };
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
                self.add(Ending { rank: child, kind: EndingKind::Reported, why });
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
