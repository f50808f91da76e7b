//! Errors between ranks, and errors from starting or joining them.

use crate::launcher::{Launcher, SETTING};
use crate::star::Protocols;
use std::time::Duration;

/// Error from communicating with a rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// Nothing came from the rank in time.
    #[error("nothing came from rank {rank} for {:.1} s", .waited.as_secs_f64())]
    Silent {
        /// The silent rank.
        rank: u32,
        /// Time waited so far.
        waited: Duration,
    },
    /// The MPI library or another transport reports an error.
    #[error("{function} with rank {rank}: {reason}")]
    Transport {
        /// Function of the transport that failed.
        function: &'static str,
        rank: u32,
        /// The library's own error text.
        reason: String,
    },
    /// A rank sent an unexpected message: the ranks do not run the same program.
    #[error("rank {rank} sent an unexpected message ({what}): do all ranks run the same version of plumb?")]
    Unexpected {
        /// Rank that sent the message.
        rank: u32,
        /// Short description of the problem.
        what: &'static str,
    },
    /// A rank sent an order that this program cannot read.
    #[error("rank {rank} sent an order that this plumb cannot read: {error}\nUpdate the older end.")]
    Unreadable {
        /// Rank that sent the order.
        rank: u32,
        /// The reader's message.
        error: String,
    },
}

/// Error from reaching an agent, or from becoming a rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The peer speaks none of this program's protocols.
    #[error(
        "runs plumb {version}, which speaks the protocols {protocols} of agents, and this is plumb {} with {}: \
         update the older end",
        env!("CARGO_PKG_VERSION"),
        Protocols::OWN
    )]
    Version {
        /// Version that the peer reports.
        version: String,
        /// Protocols that the peer speaks.
        protocols: Protocols,
    },
    /// The peer is a real fio.
    #[error(
        "speaks fio's own protocol (version {protocol}), which changes with every release of fio and is not spoken here: \
         both ends must be `plumb as fio`"
    )]
    Fio {
        /// Version of fio's protocol.
        protocol: u16,
    },
    /// The peer is a real elbencho, or a browser.
    #[error("speaks HTTP, as a real elbencho does, which is not spoken here: both ends must be `plumb as elbencho`")]
    Http {
        /// First bytes that the peer sent. They were consumed already.
        start: [u8; 4],
    },
    /// The peer sends nothing: it waits for another protocol.
    #[error(
        "does not answer; a real elbencho's service waits for HTTP and says nothing, either: both ends must be Plumb"
    )]
    Silent,
    /// The peer is another program.
    #[error("does not answer as an agent of Plumb's does")]
    NotPlumb,
    /// The peer closed the connection.
    #[error("closed the connection without an answer")]
    Closed,
    /// The peer refused, for this reason.
    #[error("refused: {0}")]
    Refused(String),
    /// The system reported an error.
    #[error("{0}")]
    Io(String),
}

/// Error from joining the other processes of the same job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// A static binary cannot load a shared library.
    #[error(
        "started as one of {size} processes by {launcher}, but this is the static binary, which cannot load an MPI library\n\
         Use the binary of the .deb or .rpm package, which is linked with glibc; or PLUMB_MPI=off to run each process alone."
    )]
    Static {
        /// Launcher that started the processes.
        launcher: Launcher,
        /// Number of processes that it started.
        size: u32,
    },
    /// The loader finds no MPI library.
    #[error(
        "started as one of {size} processes by {launcher}, but no MPI library can be loaded: {tried}\n\
         Load the site's MPI module, or name the library: PLUMB_MPI=/path/to/libmpi.so; PLUMB_MPI=off runs each process alone."
    )]
    NoLibrary {
        /// Launcher that started the processes.
        launcher: Launcher,
        /// Number of processes that it started.
        size: u32,
        /// Each library that was tried, with the loader's message.
        tried: String,
    },
    /// MPI-IO in a process that was started alone: a static binary cannot load a shared library.
    #[error(
        "MPI-IO needs an MPI library, which the static binary cannot load\n\
         Use the binary of the .deb or .rpm package, which is linked with glibc; or another back end, such as POSIX."
    )]
    StaticAlone,
    /// MPI-IO of several processes that no MPI joins.
    #[error(
        "MPI-IO of several ranks needs MPI between them, and srun started these without\n\
         Use `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH); or another back end, such as POSIX."
    )]
    NotBetweenRanks,
    /// The user disabled MPI.
    #[error("MPI-IO needs an MPI library, and PLUMB_MPI=off leaves it out: unset PLUMB_MPI, or use another back end")]
    Off,
    /// MPI-IO in a process that was started alone: the loader finds no MPI library.
    #[error(
        "MPI-IO needs an MPI library, and none can be loaded: {tried}\n\
         Load the site's MPI module, or name the library: PLUMB_MPI=/path/to/libmpi.so"
    )]
    NoLibraryAlone {
        /// Each library that was tried, with the loader's message.
        tried: String,
    },
    /// The variables say that the process was started alone, but the library counts several.
    #[error("{library} counts {counted} processes where one was expected: start it with the launcher of that library")]
    NotAlone {
        /// Name of the MPI library.
        library: String,
        /// Number of processes that the library counts.
        counted: u32,
    },
    /// The library does not allow concurrent calls from several threads.
    #[error(
        "{library} was built to be called by one thread at a time, and MPI-IO of several ranks needs MPI_THREAD_MULTIPLE\n\
         Name another MPI library: PLUMB_MPI=/path/to/libmpi.so; or use another back end, such as POSIX."
    )]
    Threads {
        /// Name and version of the library.
        library: String,
    },
    /// The library lacks a function, or its handle values are unknown.
    #[error(
        "{library} cannot be used: {reason}\nPlumb knows Open MPI 4 and 5, MPICH 3.1 and later and its relatives, and the MPI 5 ABI."
    )]
    Unknown {
        /// Name of the MPI library.
        library: String,
        /// Name of the missing part.
        reason: String,
    },
    /// The library reports an error.
    #[error("{library}: {function} failed: {reason}")]
    Failed {
        /// Name of the MPI library.
        library: String,
        /// Function of the library that failed.
        function: &'static str,
        /// The library's own error text.
        reason: String,
    },
    /// The library counts other processes than the launcher started.
    #[error(
        "{launcher} started {size} processes, but {library} counts {counted}: it belongs to another MPI\n\
         Name the library of the launcher: PLUMB_MPI=/path/to/libmpi.so"
    )]
    OtherMpi {
        /// Launcher that started the processes.
        launcher: Launcher,
        /// Number of processes that the launcher's variables give.
        size: u32,
        /// Name of the MPI library.
        library: String,
        /// Number of processes that the library counts.
        counted: u32,
    },
    /// Slurm started several tasks without a process-management interface for MPI.
    #[error(
        "srun started {size} tasks without an interface for MPI\n\
         Use `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH); PLUMB_MPI=off runs each task alone."
    )]
    NoInterface {
        /// Number of tasks that Slurm started.
        size: u32,
    },
}

impl StartError {
    /// Returns `true` if no MPI that this program can use was found, and the user has not named one.
    pub fn is_without_mpi(&self) -> bool {
        let is_named = std::env::var_os(SETTING).is_some_and(|setting| !setting.is_empty());
        let is_without =
            matches!(self, StartError::NoInterface { .. } | StartError::NoLibrary { .. } | StartError::Static { .. });
        is_without && !is_named
    }
}
