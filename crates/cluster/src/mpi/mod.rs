//! MPI as a site provides it: the launcher's own library, opened at run time.
//!
//! Ranks communicate only by non-blocking point-to-point messages, which are polled: a blocking MPI call never
//! returns if the other rank has died. That is true of MPI's own collective functions, and of [MPI-IO](io),
//! which is under test there.

mod io;
mod library;
mod pulse;

pub use io::{Alone, MpiBlocks, MpiFile, MpiIo, MpiIoError, MpiOpening};

use crate::cluster::{Cluster, EndCause, Leave, Patience};
use crate::error::{ClusterError, StartError};
use crate::launcher::{Launched, Launcher, SETTING, started_by};
use library::{CallError, Library, OpenError, Overwrite, Request, Tag, Threads};
use pulse::VitalSigns;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The ranks of an MPI job.
pub struct Mpi {
    rank: u32,
    size: u32,
    threads: Threads,
    transport: String,
    shared: Arc<Shared>,
    pulse: Mutex<Option<JoinHandle<()>>>,
}

/// State shared by the threads of a rank.
struct Shared {
    library: Mutex<Library>,
    vital: VitalSigns,
}

/// Returns library names to try, the launcher's own kind first. A site with several libraries puts the right one on
/// the loader's path, as for every program. `libmpi.so.12` is the name of MPICH's derivatives, and of MPICH itself
/// where Debian and others do not rename it.
fn candidates(launcher: Launcher) -> &'static [&'static str] {
    match launcher {
        Launcher::OpenMpi => &["libmpi.so.40", "libmpi.so.80", "libmpi_abi.so.0", "libmpi.so"],
        Launcher::Pmi => &["libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.0", "libmpi.so"],
        Launcher::Pmix | Launcher::Slurm => {
            &["libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.0", "libmpi.so"]
        }
    }
}

/// Joins the ranks of the job that this process belongs to. `named` is the library that the user chose.
pub(crate) fn join(launched: Launched, named: Option<&str>) -> Result<Mpi, StartError> {
    let Launched { launcher, size, .. } = launched;
    if cfg!(target_feature = "crt-static") {
        return Err(StartError::Static { launcher, size: size.unwrap_or(0) });
    }
    let names = named.as_ref().map_or_else(|| candidates(launcher), std::slice::from_ref);
    let library = open(names).map_err(|error| {
        error.or_not_found(|tried| StartError::NoLibrary { launcher, size: size.unwrap_or(0), tried })
    })?;
    let mpi = begin(library)?;
    if let Some(size) = size.filter(|&size| size != mpi.size) {
        let library = mpi.library().name.clone();
        return Err(StartError::OtherMpi { launcher, size, library, counted: mpi.size });
    }
    Ok(mpi)
}

/// Initializes the MPI library in a process that was started alone, for functions that need no other process.
///
/// # Errors
/// Returns an error if there is no library or it fails.
pub fn alone() -> Result<Alone, StartError> {
    if cfg!(target_feature = "crt-static") {
        return Err(StartError::StaticAlone);
    }
    let named = std::env::var(SETTING).ok().filter(|setting| !setting.is_empty());
    if named.as_deref() == Some("off") {
        return Err(StartError::Off);
    }
    let names =
        named.as_deref().map_or_else(|| candidates(started_by().unwrap_or(Launcher::Pmix)).to_vec(), |name| vec![name]);
    let library = open(&names).map_err(|error| error.or_not_found(|tried| StartError::NoLibraryAlone { tried }))?;
    let mpi = begin(library)?;
    match mpi.size {
        1 => Alone::new(mpi),
        counted => Err(StartError::NotAlone { library: mpi.library().name.clone(), counted }),
    }
}

/// Initializes a library after it was opened.
fn begin(library: Library) -> Result<Mpi, StartError> {
    // Workers may be separate processes that never call MPI. Open MPI's warning about fork does not apply to them.
    library::set_variable(c"OMPI_MCA_mpi_warn_on_fork", c"0", Overwrite::Default);
    // Open MPI's components `lockedfile` and `individual` for shared file pointers, which Plumb does not use,
    // create helper files next to each opened file and overwrite files of the same names. The write guard does not
    // see that, so both are disabled.
    library::set_variable(c"OMPI_MCA_sharedfp", c"^lockedfile,individual", Overwrite::Always);
    let failed = |error: CallError| StartError::Failed {
        library: library.name.clone(),
        function: error.function,
        reason: error.reason,
    };
    let threads = library.init().map_err(failed)?;
    let (rank, size) = (library.rank().map_err(failed)?, library.size().map_err(failed)?);
    let transport = short(&library.version);
    let vital = VitalSigns::new(rank, size);
    let shared = Arc::new(Shared { library: Mutex::new(library), vital });
    let pulse = (threads >= Threads::Several && size > 1).then(|| pulse::start(Arc::clone(&shared))).flatten();
    Ok(Mpi { rank, size, threads, transport, shared, pulse: Mutex::new(pulse) })
}

/// Opens the first of these libraries that exists.
///
/// # Errors
/// Returns an error if the first existing one cannot be used. If none exists, the error holds
/// the loader's message for each.
fn open(names: &[&str]) -> Result<Library, OpenError> {
    let mut tried: Vec<String> = Vec::new();
    for name in names {
        match Library::open(name) {
            Err(OpenError::NotFound(message)) => tried.push(message),
            opened => return opened,
        }
    }
    Err(OpenError::NotFound(tried.join("; ")))
}

/// Extracts name and version from a library's version text: `Open MPI 4.1.4` from `Open MPI v4.1.4, package: …`,
/// `MPICH 4.0.2` from `MPICH Version: 4.0.2⏎MPICH Release date: …`.
fn short(version: &str) -> String {
    let first = version.lines().next().unwrap_or_default();
    let first = first.split(',').next().unwrap_or_default();
    let words = first.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("version:"));
    let plain = words.map(|word| match word.strip_prefix('v') {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => number,
        _ => word,
    });
    plain.collect::<Vec<_>>().join(" ")
}

/// Pauses between two polls. Spins at first, since most answers come at once. Sleeps longer and longer afterwards,
/// since other ranks may need this processor.
fn pause(waited: Duration) {
    const AWAKE: Duration = Duration::from_micros(500);
    const LONGEST: Duration = Duration::from_millis(2);
    if waited < AWAKE {
        std::thread::yield_now();
    } else {
        std::thread::sleep((waited / 16).clamp(Duration::from_micros(20), LONGEST));
    }
}

impl Shared {
    /// Locks the library: most MPI libraries do not support concurrent calls.
    fn library(&self) -> MutexGuard<'_, Library> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mpi {
    /// Returns the library's MPI-IO functions.
    ///
    /// # Errors
    /// Returns an error if the library lacks a function or does not allow concurrent calls.
    pub fn io(&self) -> Result<MpiIo, StartError> {
        MpiIo::start(&self.library(), self.threads, self.size)
    }

    fn library(&self) -> MutexGuard<'_, Library> {
        self.shared.library()
    }

    /// Returns `true` if this rank should keep waiting for another one that has not answered for this long.
    fn keeps_waiting(&self, rank: u32, waited: Duration, patience: &Patience<'_>) -> bool {
        patience(rank, waited) && !self.shared.vital.is_gone(rank)
    }

    /// Waits until a request is done. After an error it may still be pending: the library may still use its buffer.
    fn finish(&self, mut request: Request, rank: u32, patience: &Patience<'_>) -> Result<(), ClusterError> {
        let start = Instant::now();
        loop {
            if self.library().is_done(&mut request).map_err(|error| failed(error, rank))? {
                return Ok(());
            }
            let waited = start.elapsed();
            if !self.keeps_waiting(rank, waited, patience) {
                return Err(ClusterError::Silent { rank, waited });
            }
            pause(waited);
        }
    }
}

fn failed(error: CallError, rank: u32) -> ClusterError {
    ClusterError::Transport { function: error.function, rank, reason: error.reason }
}

impl Cluster for Mpi {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn transport(&self) -> &str {
        &self.transport
    }

    fn send(&self, to: u32, message: &[u8], patience: &Patience<'_>) -> Result<(), ClusterError> {
        let message = message.to_vec();
        let request = self.library().send(&message, to, Tag::Message).map_err(|error| failed(error, to))?;
        let sent = self.finish(request, to, patience);
        if sent.is_err() {
            // Leak the buffer: the library may read it as long as the process lives.
            std::mem::forget(message);
        }
        sent
    }

    fn receive(&self, from: u32, patience: &Patience<'_>) -> Result<Vec<u8>, ClusterError> {
        let start = Instant::now();
        let length = loop {
            // Check this before probing: messages that a rank sent before it left are there
            // when its departure is known.
            let waited = start.elapsed();
            let waits_on = self.keeps_waiting(from, waited, patience);
            if let Some(length) = self.library().probe(from, Tag::Message).map_err(|error| failed(error, from))? {
                break length;
            }
            if !waits_on {
                return Err(ClusterError::Silent { rank: from, waited });
            }
            pause(waited);
        };
        let mut message = vec![0; length];
        let request = self.library().receive(&mut message, from, Tag::Message).map_err(|error| failed(error, from))?;
        match self.finish(request, from, patience) {
            Ok(()) => Ok(message),
            Err(error) => {
                // Leak the buffer: the library may write to it as long as the process lives.
                std::mem::forget(message);
                Err(error)
            }
        }
    }

    fn is_to_end(&self) -> Option<EndCause> {
        self.shared.vital.is_to_end()
    }

    fn announce_end(&self) {
        self.shared.vital.announce_end();
    }

    fn leave(&self, how: Leave) {
        self.shared.vital.stop(how);
        let pulse = self.pulse.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pulse) = pulse {
            let _ = pulse.join();
        }
        let library = self.library();
        match how {
            Leave::Together => library.finalize(),
            Leave::Abort(exit_code) => library.abort(exit_code),
            Leave::Alone => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: results show the library's usual name.
    #[test]
    fn results_show_the_usual_name_of_a_library() {
        let open_mpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
        assert_eq!(short(open_mpi), "Open MPI 4.1.4");
        assert_eq!(short("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022"), "MPICH 4.0.2");
        assert_eq!(short(""), "");
    }
}
