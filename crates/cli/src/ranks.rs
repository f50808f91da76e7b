//! Processes that `mpirun`, `mpiexec` or `srun` started together: the first runs the command, and the others take part in its runs.

use crate::exit::{End, Stopped};
use crate::output::error_line;
use crate::session;
use crate::slurm;
use plumb_bench::{Follower, JoinedRanks, follow};
use plumb_cluster::mpi::{self, Alone, MpiIo};
use plumb_cluster::slurm::Task;
use plumb_cluster::{Joined, StartError, launcher, start};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

thread_local! {
    /// Belongs to the main thread, which runs every command: most MPI libraries must be called by the thread that initialised them.
    static JOINED: RefCell<Option<Rc<JoinedRanks>>> = const { RefCell::new(None) };
    /// MPI library of a process that was started alone; loaded on demand.
    static ALONE: RefCell<Option<Alone>> = const { RefCell::new(None) };
}

/// Joins the processes that were started together with this one. The first returns `None`. Any other takes part in the
/// first one's runs, and returns the exit code at the end; `follower` handles work of tools other than runs.
///
/// # Errors
/// The other processes cannot be reached.
pub fn join(follower: &mut dyn Follower) -> Result<Option<u8>, Stopped> {
    // Only the first process prints the error; the others end with the same code.
    let is_first = launcher().is_none_or(|(_, rank)| rank == 0);
    let joined =
        started().and_then(|joined| joined.map(|joined| JoinedRanks::meet(joined).map_err(Stopped::io)).transpose());
    let ranks = match joined {
        Ok(None) => return Ok(None),
        Ok(Some(ranks)) => Rc::new(ranks),
        Err(stopped) if is_first => return Err(stopped),
        Err(stopped) => return Ok(Some(stopped.end.number())),
    };
    if ranks.rank() == 0 {
        JOINED.with(|joined| *joined.borrow_mut() = Some(ranks));
        return Ok(None);
    }
    let code = match session::bench_of_rank() {
        Ok(mut bench) => follow(&mut bench, &ranks, follower).unwrap_or(End::Io.number()),
        Err(stopped) => {
            let host = ranks.roster().host(ranks.rank());
            error_line!("error: rank {} on {host}: {}", ranks.rank(), stopped.message);
            let code = stopped.end.number();
            ranks.abandon(code);
            return Ok(Some(code));
        }
    };
    ranks.dismiss(code);
    Ok(Some(code))
}

/// Joins the other processes by MPI or, where a step of Slurm has none that this program can use, over the network.
fn started() -> Result<Option<Joined>, Stopped> {
    match start() {
        Ok(joined) => Ok(joined),
        Err(error) => match Task::of_environment().filter(|_| error.is_without_mpi()) {
            Some(task) => slurm::join(&task).map(Some),
            None => Err(Stopped::usage(error)),
        },
    }
}

/// Makes this process the coordinator of these hosts.
pub fn lead(ranks: JoinedRanks) {
    JOINED.with(|joined| *joined.borrow_mut() = Some(Rc::new(ranks)));
}

/// Returns the hosts that make every run if this process only coordinates them.
pub fn led() -> Option<Rc<JoinedRanks>> {
    joined().filter(|ranks| ranks.leads_only())
}

/// Returns text to append to a place: the number of hosts.
pub fn on_each_host() -> String {
    led().map_or(String::new(), |ranks| match ranks.size() {
        1 => " on the host".to_owned(),
        hosts => format!(" on each of {hosts} hosts"),
    })
}

/// Returns the joined processes if this is the first of several.
pub fn joined() -> Option<Rc<JoinedRanks>> {
    JOINED.with(|joined| joined.borrow().clone())
}

/// Returns MPI-IO of the library that joins the processes, or of one that is initialised for this process alone.
///
/// # Errors
/// There is no MPI library, or it has no usable MPI-IO.
pub fn mpi_io() -> Result<Arc<MpiIo>, StartError> {
    if let Some(ranks) = joined() {
        match ranks.mpi_io()? {
            Some(library) => return Ok(library),
            None if !ranks.leads_only() => return Err(StartError::NotBetweenRanks),
            None => {}
        }
    }
    ALONE.with(|alone| {
        let mut alone = alone.borrow_mut();
        let started = match alone.take() {
            Some(started) => started,
            None => mpi::alone()?,
        };
        Ok(Arc::clone(alone.insert(started).io()))
    })
}

/// Ends the other ranks. They must not be used afterwards.
pub fn dismiss(code: u8) {
    ALONE.with(|alone| alone.borrow_mut().take());
    if let Some(ranks) = JOINED.with(|joined| joined.borrow_mut().take()) {
        ranks.dismiss(code);
    }
}
