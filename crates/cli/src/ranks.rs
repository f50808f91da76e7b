//! The processes that were started together with this one, by `mpirun`, `mpiexec` or `srun`: the first runs the command, the others
//! make its runs with it.

use crate::exit::{End, Stopped};
use crate::output::error_line;
use crate::session;
use plumb_bench::{Follower, JoinedRanks, follow};
use plumb_cluster::mpi::{self, Alone, MpiIo};
use plumb_cluster::{StartError, launcher, start};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

thread_local! {
    /// Of the main thread, where every command runs: most MPI libraries want to be called by the thread that started them.
    static JOINED: RefCell<Option<Rc<JoinedRanks>>> = const { RefCell::new(None) };
    /// The MPI library of a process that was started alone, where something wants one.
    static ALONE: RefCell<Option<Alone>> = const { RefCell::new(None) };
}

/// Joins the processes that were started together with this one. If this is not the first of them, makes its part of the
/// first one's runs, and returns the exit code at the end; `follower` does the work of tools that is not a run.
///
/// # Errors
/// The other processes cannot be reached.
pub fn join(follower: &mut dyn Follower) -> Result<Option<u8>, Stopped> {
    // One message is enough; the others end as the first one does.
    let is_first = launcher().is_none_or(|(_, rank)| rank == 0);
    let joined = start()
        .map_err(Stopped::usage)
        .and_then(|joined| joined.map(|joined| JoinedRanks::meet(joined).map_err(Stopped::io)).transpose());
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

/// This process leads the hosts of these ranks from now on.
pub fn lead(ranks: JoinedRanks) {
    JOINED.with(|joined| *joined.borrow_mut() = Some(Rc::new(ranks)));
}

/// The hosts that make every run, where this process only leads them.
pub fn led() -> Option<Rc<JoinedRanks>> {
    joined().filter(|ranks| ranks.leads_only())
}

/// Behind a place that is said: on how many hosts it is.
pub fn on_each_host() -> String {
    led().map_or(String::new(), |ranks| match ranks.size() {
        1 => " on the host".to_owned(),
        hosts => format!(" on each of {hosts} hosts"),
    })
}

/// The others, where this process is the first of several.
pub fn joined() -> Option<Rc<JoinedRanks>> {
    JOINED.with(|joined| joined.borrow().clone())
}

/// MPI-IO of the library that joins the processes, or of one that is started for this process alone.
///
/// # Errors
/// There is none, or it cannot be used for that.
pub fn mpi_io() -> Result<Arc<MpiIo>, StartError> {
    if let Some(ranks) = joined()
        && let Some(library) = ranks.mpi_io()?
    {
        return Ok(library);
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

/// Ends the other ranks. Nothing may use them afterwards.
pub fn dismiss(code: u8) {
    ALONE.with(|alone| alone.borrow_mut().take());
    if let Some(ranks) = JOINED.with(|joined| joined.borrow_mut().take()) {
        ranks.dismiss(code);
    }
}
