//! What can go wrong between ranks, and before there are any.

use crate::launcher::Launcher;
use std::time::Duration;

/// Why a rank could not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// Nothing came from it in time.
    #[error("nothing came from rank {rank} for {:.1} s", .waited.as_secs_f64())]
    Silent {
        /// The rank that was waited for.
        rank: u32,
        /// For how long.
        waited: Duration,
    },
    /// The library that carries messages reports an error.
    #[error("{function} with rank {rank}: {reason}")]
    Transport {
        /// Its function.
        function: &'static str,
        /// The other rank.
        rank: u32,
        /// In the library's words.
        reason: String,
    },
    /// A message is not what was expected from that rank at this point: the ranks do not run the same program.
    #[error("rank {rank} sent an unexpected message ({what}): do all ranks run the same version of plumb?")]
    Unexpected {
        /// The rank that sent it.
        rank: u32,
        /// What was wrong with it.
        what: &'static str,
    },
}

/// Why an agent cannot be reached, or cannot be a rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The other end is of another version.
    #[error("runs plumb {found}, and this is {}: both ends must be of one version", env!("CARGO_PKG_VERSION"))]
    Version {
        /// What it says.
        found: String,
    },
    /// A real fio is there.
    #[error(
        "speaks fio's own protocol (version {protocol}), which changes with every release of fio and is not spoken here: \
         both ends must be `plumb as fio`"
    )]
    Fio {
        /// Of its protocol.
        protocol: u16,
    },
    /// A real elbencho is there, or a browser.
    #[error("speaks HTTP, as a real elbencho does, which is not spoken here: both ends must be `plumb as elbencho`")]
    Http {
        /// First bytes of what it says, which were read already.
        start: [u8; 4],
    },
    /// It says nothing, as whatever waits for other words.
    #[error(
        "does not answer; a real elbencho's service waits for HTTP and says nothing, either: both ends must be Plumb"
    )]
    Silent,
    /// Something else is there.
    #[error("does not answer as an agent of Plumb's does")]
    NotPlumb,
    /// It ended the connection.
    #[error("closed the connection without an answer")]
    Closed,
    /// It says why not.
    #[error("refused: {0}")]
    Refused(String),
    /// The system's.
    #[error("{0}")]
    Io(String),
}

/// Why a process that was started as one of several cannot join the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// A static binary cannot open a shared library.
    #[error(
        "started as one of {size} processes by {launcher}, but this is the static binary, which cannot load an MPI library\n\
         Use the binary of the .deb or .rpm package, which is linked with glibc; or PLUMB_MPI=off to run each process alone."
    )]
    Static {
        /// What started it.
        launcher: Launcher,
        /// How many processes.
        size: u32,
    },
    /// There is no MPI library where the loader looks.
    #[error(
        "started as one of {size} processes by {launcher}, but no MPI library can be loaded: {tried}\n\
         Load the site's MPI module, or name the library: PLUMB_MPI=/path/to/libmpi.so; PLUMB_MPI=off runs each process alone."
    )]
    NoLibrary {
        /// What started it.
        launcher: Launcher,
        /// How many processes.
        size: u32,
        /// Each library that was tried, with the loader's message.
        tried: String,
    },
    /// The same, of a process that was started alone and wants one.
    #[error(
        "MPI-IO needs an MPI library, which the static binary cannot load\n\
         Use the binary of the .deb or .rpm package, which is linked with glibc; or another back end, such as POSIX."
    )]
    StaticAlone,
    /// The user wants none.
    #[error("MPI-IO needs an MPI library, and PLUMB_MPI=off leaves it out: unset PLUMB_MPI, or use another back end")]
    Off,
    /// A process that was started alone wants a library, and there is none where the loader looks.
    #[error(
        "MPI-IO needs an MPI library, and none can be loaded: {tried}\n\
         Load the site's MPI module, or name the library: PLUMB_MPI=/path/to/libmpi.so"
    )]
    NoLibraryAlone {
        /// Each library that was tried, with the loader's message.
        tried: String,
    },
    /// A process that was started alone, as far as its variables say, is one of several to the library.
    #[error("{library} counts {counted} processes where one was expected: start it with the launcher of that library")]
    NotAlone {
        /// The library.
        library: String,
        /// How many it counts.
        counted: u32,
    },
    /// The library does not let threads call it at the same time.
    #[error(
        "{library} was built to be called by one thread at a time, and MPI-IO of several ranks needs MPI_THREAD_MULTIPLE\n\
         Name another MPI library: PLUMB_MPI=/path/to/libmpi.so; or use another back end, such as POSIX."
    )]
    Threads {
        /// The library, with its version.
        library: String,
    },
    /// The library lacks a function, or its handles are not known.
    #[error(
        "{library} cannot be used: {reason}\nPlumb knows Open MPI 4 and 5, MPICH 3.1 and later and its relatives, and the MPI 5 ABI."
    )]
    Unknown {
        /// The library.
        library: String,
        /// What is missing.
        reason: String,
    },
    /// The library reports an error.
    #[error("{library}: {function} failed: {reason}")]
    Failed {
        /// The library.
        library: String,
        /// Its function.
        function: &'static str,
        /// In its words.
        reason: String,
    },
    /// The library was started, and knows of other processes than the launcher does.
    #[error(
        "{launcher} started {size} processes, but {library} counts {counted}: it belongs to another MPI\n\
         Name the library of the launcher: PLUMB_MPI=/path/to/libmpi.so"
    )]
    OtherMpi {
        /// What started it.
        launcher: Launcher,
        /// How many processes the launcher's variables name.
        size: u32,
        /// The library.
        library: String,
        /// How many it counts.
        counted: u32,
    },
    /// Slurm started several tasks without an interface that MPI could use.
    #[error(
        "srun started {size} tasks without an interface for MPI\n\
         Use `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH); PLUMB_MPI=off runs each task alone."
    )]
    NoInterface {
        /// How many tasks.
        size: u32,
    },
}
