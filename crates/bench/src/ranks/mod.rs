//! Runs of several processes at once: rank 0 reads, decides, judges, prints and stores; all ranks measure.
//!
//! Rank 0 runs the typed command. Before each run it sends an [order](order), which the other ranks [follow]; they
//! parse no command line and print nothing. A run begins with a barrier: every rank has examined its files and passed
//! the write guard before any rank removes or creates one, which may be the file that another rank is examining. Then
//! each phase goes through these steps:
//!
//! 1. Every rank prepares its files and workers and waits for the others, so that machine counters read after that
//!    barrier include no preparation. Then all start at a common moment.
//! 2. Every rank measures by itself. While a clock runs, no message is sent that a rank waits for.
//! 3. Every rank waits at a barrier when its clock stops, so that machine counters read after it include the work of
//!    all ranks on that machine.
//! 4. Measurements and observations are [added up](share) along the tree, and rank 0 has the phase.
//!
//! A rank that cannot go on says so at its next barrier. The run then ends for all ranks, and
//! keeps the phases before it.

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
    /// All ranks, including a coordinator that does not measure.
    everyone: Roster,
    /// The ranks that measure.
    roster: Roster,
    /// Clock offset in the current run.
    offset: Cell<ClockOffset>,
    /// Whether a rank does not answer, so that waiting for all ranks would never end.
    broken: Cell<bool>,
    /// The MPI library that carries the messages; `None` if they have another transport.
    mpi: Option<Arc<Mpi>>,
    /// The library's MPI-IO, loaded on first use.
    mpi_io: OnceCell<Arc<MpiIo>>,
}

impl JoinedRanks {
    /// Exchanges hosts and clocks with the other ranks.
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

    /// Compares the clocks of hosts before each run, because they drift apart by milliseconds an hour. Collective.
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

    /// Returns MPI-IO of the library that carries the ranks' messages; `None` if they have another transport.
    ///
    /// # Errors
    /// The library provides no usable MPI-IO.
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

    /// Stops all communication of this rank.
    pub(crate) fn break_off(&self) {
        self.broken.set(true);
    }

    /// Ends all ranks with this exit code, because this one cannot take part.
    pub fn abandon(&self, exit_code: u8) {
        self.cluster.leave(Leave::Abort(exit_code));
    }

    /// Returns the rank of this process, from 0.
    pub fn rank(&self) -> u32 {
        self.cluster.rank()
    }

    /// Returns the number of ranks that measure.
    pub fn size(&self) -> u32 {
        self.cluster.size() - u32::from(self.cluster.leads_only())
    }

    /// Returns this rank's number among those that measure, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.number_of(self.rank())
    }

    pub(crate) fn number_of(&self, rank: u32) -> u32 {
        rank.saturating_sub(u32::from(self.cluster.leads_only()))
    }

    /// Returns `true` if rank 0 measures nothing, and each of the others is a host.
    pub fn leads_only(&self) -> bool {
        self.cluster.leads_only()
    }

    /// Sets whether the other ranks go on when one is lost.
    pub(crate) fn carry_on(&self, without_lost: bool) {
        self.cluster.carry_on(without_lost);
    }

    /// Returns the name of a rank for messages.
    pub(crate) fn name(&self, rank: u32) -> String {
        match self.leads_only() {
            true => format!("host {}", self.everyone.host(rank)),
            false => format!("rank {rank} on {}", self.everyone.host(rank)),
        }
    }

    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Returns the number of ranks on this host.
    pub(crate) fn on_this_host(&self) -> u32 {
        self.roster.processes_on_host_of(self.rank()).len() as u32
    }

    /// Leaves. Rank 0 ends the work of the others, which exit with this code too.
    pub fn dismiss(&self, exit_code: u8) {
        let how = match (self.broken.get(), self.rank()) {
            (true, 0) => Leave::Abort(exit_code),
            // Not before rank 0 has stored the results.
            (true, _) => Leave::Alone,
            (false, 0) => {
                let _ = order::send_end(self.cluster.as_ref(), exit_code);
                Leave::Together
            }
            (false, _) => Leave::Together,
        };
        self.cluster.leave(how);
    }

    /// Describes the processes for a result.
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
