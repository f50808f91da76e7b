//! Runs of several processes at once: rank 0 reads, decides, judges, prints and stores; all ranks measure.
//!
//! Rank 0 runs whatever command was typed. Wherever that makes a run, it sends an [order](order) first, which the others
//! [follow]; they read no command line and print nothing. A run begins with a barrier: every rank has looked at its files and been let
//! pass by the write guard before any rank removes or makes one, which may be the file that another is looking at. Then it goes so,
//! phase by phase:
//!
//! 1. every rank makes its files and workers ready and waits for the others, so that counters of machines, read behind that, hold
//!    nothing of it; then all start at a common moment;
//! 2. every rank measures by itself: nothing that anybody waits for is sent while a clock runs;
//! 3. every rank waits at a barrier as its clock stops, so that the counters of a machine, read behind it, hold the work of all
//!    ranks on it;
//! 4. what was measured and seen is [added up](share) along the tree, and rank 0 has the phase.
//!
//! A rank that cannot go on says so at its next barrier, and the run ends there for all, with the phases before it kept.

mod follow;
mod found;
mod meet;
mod mpi_io;
mod order;
mod patience;
mod policy;
mod queue;
mod run;
mod seconds;
mod share;

pub use follow::{Follower, follow};
pub(crate) use found::OfRanks;
pub use mpi_io::mpi_io_of;
pub use order::{Division, Task};
pub(crate) use order::{RunOrder, SimOrder, WorkloadOfRank, is_named};
pub use policy::AgentPolicy;
pub(crate) use run::{RanksFound, RanksRun};

use plumb_cluster::mpi::{Mpi, MpiIo};
use plumb_cluster::{
    ClockOffset, Cluster, ClusterError, Joined, Leave, Member, Roster, StartError, clock_offset, wait_forever,
};
use plumb_result::{RankHost, Ranks};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

/// The processes that measure together, as one of them sees it.
pub struct JoinedRanks {
    cluster: Arc<dyn Cluster>,
    /// All, also a rank that only leads.
    everyone: Roster,
    /// Those who measure.
    roster: Roster,
    /// Of the run that goes on.
    offset: Cell<ClockOffset>,
    /// Somebody does not answer: whoever waits for all of them waits for ever.
    broken: Cell<bool>,
    /// The library that carries their messages, where it is one of MPI.
    mpi: Option<Arc<Mpi>>,
    /// Its MPI-IO, once it was asked for.
    mpi_io: OnceCell<Arc<MpiIo>>,
}

impl JoinedRanks {
    /// Gets to know the others: their hosts and their clocks.
    ///
    /// # Errors
    /// A rank does not answer.
    pub fn meet(joined: Joined) -> Result<JoinedRanks, ClusterError> {
        let Joined { cluster, mpi, host } = joined;
        let mut this = Member::this();
        if let Some(host) = host {
            this.host = host;
        }
        let everyone = Roster::of_all(&*cluster, this, &wait_forever)?;
        let roster = if cluster.leads_only() { everyone.without(0) } else { everyone.clone() };
        let (offset, broken, mpi_io) = (Cell::default(), Cell::new(false), OnceCell::new());
        Ok(JoinedRanks { cluster, everyone, roster, offset, broken, mpi, mpi_io })
    }

    /// Compares the clocks of hosts, before each run: they drift apart by milliseconds an hour. Collective.
    ///
    /// # Errors
    /// A rank does not answer.
    pub(crate) fn compare_clocks(&self) -> Result<(), ClusterError> {
        if self.everyone.one_clock() {
            return Ok(());
        }
        let offset = clock_offset(&*self.cluster, &wait_forever)?;
        self.offset.set(if self.everyone.same_clock(0, self.rank()) { ClockOffset::default() } else { offset });
        Ok(())
    }

    /// MPI-IO of the library that carries the ranks' messages; `None` where they have another transport.
    ///
    /// # Errors
    /// The library cannot be used for it.
    pub fn mpi_io(&self) -> Result<Option<Arc<MpiIo>>, StartError> {
        let Some(mpi) = &self.mpi else { return Ok(None) };
        let found = match self.mpi_io.get() {
            Some(known) => known,
            None => {
                let found = Arc::new(mpi.io()?);
                self.mpi_io.get_or_init(|| found)
            }
        };
        Ok(Some(Arc::clone(found)))
    }

    /// This rank does nothing more with the others.
    pub(crate) fn break_off(&self) {
        self.broken.set(true);
    }

    /// Ends all ranks with this code: this one cannot take part.
    pub fn abandon(&self, exit_code: u8) {
        self.cluster.leave(Leave::Abort(exit_code));
    }

    /// This process, from 0.
    pub fn rank(&self) -> u32 {
        self.cluster.rank()
    }

    /// How many of them measure.
    pub fn size(&self) -> u32 {
        self.cluster.size() - u32::from(self.cluster.leads_only())
    }

    /// Which of those who measure this one is, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.number_of(self.rank())
    }

    pub(crate) fn number_of(&self, rank: u32) -> u32 {
        rank.saturating_sub(u32::from(self.cluster.leads_only()))
    }

    /// Whether rank 0 measures nothing, and each of the others is a host.
    pub fn leads_only(&self) -> bool {
        self.cluster.leads_only()
    }

    /// Whether the others go on where one of them is lost.
    pub(crate) fn carry_on(&self, without_lost: bool) {
        self.cluster.carry_on(without_lost);
    }

    /// How a rank is called where it is spoken of.
    pub(crate) fn name(&self, rank: u32) -> String {
        match self.leads_only() {
            true => format!("host {}", self.everyone.host(rank)),
            false => format!("rank {rank} on {}", self.everyone.host(rank)),
        }
    }

    /// Who they are.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// How many ranks this host has.
    pub(crate) fn on_this_host(&self) -> u32 {
        self.roster.processes_on_host_of(self.rank()).len() as u32
    }

    /// Leaves. Rank 0 ends the work of the others, which end with this code too.
    pub fn dismiss(&self, exit_code: u8) {
        let how = match (self.broken.get(), self.rank()) {
            (true, 0) => Leave::Abort(exit_code),
            // Not before rank 0 has stored what there is.
            (true, _) => Leave::Alone,
            (false, 0) => {
                let _ = order::send_end(self.cluster.as_ref(), exit_code);
                Leave::Together
            }
            (false, _) => Leave::Together,
        };
        self.cluster.leave(how);
    }

    /// The processes, for a result.
    pub fn facts(&self) -> Ranks {
        let hosts = self.roster.hosts().into_iter().map(|host| {
            let first = host.ranks.first().copied().unwrap_or(0);
            let is_same = self.everyone.same_clock(0, first);
            RankHost {
                name: host.name,
                ranks: host.ranks.len() as u32,
                first,
                environment: None,
                clock_offset_ns: is_same.then_some(0),
                clock_within_ns: is_same.then_some(0),
            }
        });
        Ranks {
            transport: self.cluster.transport().to_owned(),
            count: self.size(),
            hosts: hosts.collect(),
            ended_by: Vec::new(),
        }
    }
}
