//! The targets of a run: opened through the guard, laid out, and brought into the cache state that each phase asks for.

mod cache;
mod open;
mod others;

use crate::backend::{BlockFiles, FileKind};
use crate::engine_error::EngineError;
use crate::files::JobTarget;
use crate::files::evidence_files::{self, EvidenceFiles, Named};
use crate::files::failed::JobFault;
use crate::guard::{Guard, GuardedDir, IoMode, Refusal};
use crate::observer::TargetView;
use crate::plan::WorkerSeat;
use crate::prepare::TargetFiles;
use crate::program::shared::SharedSet;
use crate::program::{NamedRun, NamedTarget, NamesOnly, ScratchFiles, TreeState};
use crate::replay::OpenRecorded;
use crate::setting::Setting;
use crate::sim::run::{SimDevice, Simulation};
use crate::terms::Stamping;
use crate::testdir::TestDir;
use crate::tree::TreeShape;
use plumb_result::measurement::Fault;
use plumb_workload::{Content, Flush, OpKind, Phase, Workload};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of files that each worker opens separately. With more files, workers share descriptors: a process can
/// have only a limited number, and two workers rarely stream through the same file then.
const OWN_FILES_MAX: usize = 16;

/// Context for opening and preparing targets.
pub(crate) struct TargetContext<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) setting: &'a Setting<'a>,
    pub(crate) workload: &'a Workload,
}

/// An open target, by kind.
pub(crate) enum OpenTarget {
    Files(OpenFiles),
    Tree(OpenTree),
    Shared(Arc<SharedSet>),
    Job(Arc<JobTarget>),
    /// Opened by the copy itself when it starts.
    Copy {
        path: PathBuf,
    },
    Scratch(ScratchFiles),
    Recorded(OpenRecorded),
    Null {
        bytes: u64,
        /// File names for programs.
        files: Option<NamesOnly>,
    },
    Sim(OpenSim),
}

impl OpenTarget {
    /// Returns the lengths of its files in bytes, for block I/O; empty for a tree.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        match self {
            OpenTarget::Files(open) => open.lengths(),
            OpenTarget::Tree(_)
            | OpenTarget::Shared(_)
            | OpenTarget::Copy { .. }
            | OpenTarget::Scratch(_)
            | OpenTarget::Recorded(_) => Vec::new(),
            OpenTarget::Job(target) => target.lengths.to_vec(),
            OpenTarget::Null { bytes, .. } => vec![*bytes],
            OpenTarget::Sim(sim) => vec![sim.bytes],
        }
    }
}

pub(crate) struct OpenFiles {
    files: TargetFiles,
    kind: FileKind,
    /// Buffered or direct, as the current phase asks for.
    mode: IoMode,
    pub(crate) content: Content,
    pub(crate) stamping: Option<Stamping>,
}

/// The root of a file set.
enum TreeRoot {
    Own(GuardedDir),
    /// A tree of another process, which is only read.
    OfOthers {
        fd: OwnedFd,
        path: PathBuf,
    },
}

impl TreeRoot {
    fn path(&self) -> &Path {
        match self {
            TreeRoot::Own(directory) => directory.path(),
            TreeRoot::OfOthers { path, .. } => path,
        }
    }
}

impl AsFd for TreeRoot {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            TreeRoot::Own(directory) => directory.as_fd(),
            TreeRoot::OfOthers { fd, .. } => fd.as_fd(),
        }
    }
}

pub(crate) struct OpenTree {
    root: TreeRoot,
    pub(crate) files: FileSet,
    pub(crate) content: Content,
}

/// A simulated device, with its file set if it has one.
pub(crate) struct OpenSim {
    pub(crate) device: SimDevice,
    pub(crate) bytes: u64,
    pub(crate) files: Option<FileSet>,
    postmark: Option<NamedRun>,
}

impl OpenSim {
    /// Returns the device as the target of a program over named files, which are stored one after another.
    pub(crate) fn named(&self) -> NamedTarget<'_> {
        let (files, postmark) = (self.file_count(), self.postmark.as_ref());
        NamedTarget::Sim { device: &self.device, files, bytes: self.bytes, postmark }
    }

    /// Returns the number of its files.
    pub(crate) fn file_count(&self) -> u64 {
        self.files.as_ref().map_or(1, |files| files.shape.files())
    }
}

/// The files of a target that programs change.
pub(crate) struct FileSet {
    pub(crate) shape: Arc<TreeShape>,
    /// `None` while a phase uses it, and after a phase with an unknown effect.
    state: Option<TreeState>,
}

impl FileSet {
    fn new(shape: TreeShape) -> FileSet {
        let shape = Arc::new(shape);
        FileSet { state: Some(TreeState::new(Arc::clone(&shape))), shape }
    }

    pub(crate) fn take_state(&mut self) -> Option<TreeState> {
        self.state.take()
    }
}

pub(crate) struct OpenTargets {
    guard: Guard,
    // Declared before the directory, so that files are closed before it is removed.
    targets: BTreeMap<String, OpenTarget>,
    /// Jobs whose files cannot be opened.
    failed: Vec<FailedJob>,
    dir: Option<TestDir>,
    /// Additional test directories, for targets with absolute paths, each with its parent directory.
    dirs: Vec<(PathBuf, TestDir)>,
    /// State of the simulation, if all targets are simulated.
    simulation: Option<Simulation>,
}

/// Position of a group in the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupSeat {
    phase: u32,
    group: usize,
}

/// A job whose files cannot be opened.
struct FailedJob {
    seat: GroupSeat,
    fault: JobFault,
}

impl OpenFiles {
    /// Returns the files for the only worker of the target.
    pub(crate) fn block_files(&self) -> BlockFiles {
        BlockFiles {
            fds: self.files.iter().map(|file| file.file().as_raw_fd()).collect(),
            paths: self.files.iter().map(|file| file.path().to_owned()).collect(),
            lengths: self.lengths(),
            kind: self.kind,
            ..BlockFiles::default()
        }
    }

    /// Opens the files again for one of several workers. A descriptor has one read-ahead state, so two streams through
    /// it would each look like random access.
    pub(crate) fn own_block_files(&self) -> Result<BlockFiles, Refusal> {
        if self.files.len() > OWN_FILES_MAX {
            return Ok(self.block_files());
        }
        let owned: Vec<File> = self.files.iter().map(|file| file.again(self.mode)).collect::<Result<_, _>>()?;
        let fds = owned.iter().map(AsRawFd::as_raw_fd).collect();
        Ok(BlockFiles { fds, _owned: owned.into(), ..self.block_files() })
    }

    pub(crate) fn lengths(&self) -> Vec<u64> {
        self.files.iter().map(|file| file.length_bytes()).collect()
    }
}

impl OpenTree {
    /// Duplicates the descriptor of the root for one worker.
    pub(crate) fn root(&self) -> Result<OwnedFd, EngineError> {
        self.root.as_fd().try_clone_to_owned().map_err(|error| EngineError::Tree {
            target: self.root.path().display().to_string(),
            reason: format!("cannot reopen its root: {error}"),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }
}

impl OpenTargets {
    /// Returns the guard through which the targets were opened.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Returns `true` if all targets are simulated, so that phases run on virtual time.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulation.is_some()
    }

    /// Returns the simulation of the targets, if they are simulated.
    pub(crate) fn simulation(&mut self) -> Option<&mut Simulation> {
        self.simulation.as_mut()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OpenTarget> {
        self.targets.get(name)
    }

    /// Returns the error of a seat's job, if its files cannot be opened.
    pub(crate) fn fault_of(&self, seat: &WorkerSeat<'_>) -> Option<&JobFault> {
        let seat = GroupSeat { phase: seat.phase_number, group: seat.group_number };
        self.failed.iter().find(|job| job.seat == seat).map(|job| &job.fault)
    }

    /// Returns the files of a target that programs change.
    pub(crate) fn file_set(&mut self, name: &str) -> Option<&mut FileSet> {
        match self.targets.get_mut(name) {
            Some(OpenTarget::Tree(tree)) => Some(&mut tree.files),
            Some(OpenTarget::Sim(sim)) => sim.files.as_mut(),
            _ => None,
        }
    }

    /// Returns a file set after a phase; `None` as its state if the effect of the phase is unknown.
    pub(crate) fn return_files(&mut self, name: &str, state: Option<TreeState>) {
        if let Some(files) = self.file_set(name) {
            files.state = state;
        }
    }

    /// Returns views of the targets whose names `wanted` accepts, for inspection.
    pub(crate) fn views(&self, wanted: impl Fn(&str) -> bool) -> Vec<TargetView<'_>> {
        self.targets.iter().filter(|(name, _)| wanted(name)).map(|(name, target)| view(name, target)).collect()
    }

    /// Returns views of a phase's targets, including the files of its jobs.
    pub(crate) fn views_with<'a>(&'a self, evidence: &'a [EvidenceFiles], phase: &Phase) -> Vec<TargetView<'a>> {
        let mut views =
            self.views(|name| phase.workers.iter().any(|group| group.targets().any(|target| target == name)));
        for view in &mut views {
            // Both are sorted by name.
            if let Ok(at) = evidence.binary_search_by(|files| files.name.as_str().cmp(view.name)) {
                evidence[at].fill(view);
            }
        }
        views
    }

    /// Opens the files of a phase's jobs and scripts for the evidence checks.
    pub(crate) fn open_evidence(&self, phase: &Phase) -> Vec<EvidenceFiles> {
        let jobs = self.targets.iter().filter_map(|(name, target)| match target {
            OpenTarget::Job(target) => Some((name.as_str(), Named::Job(target))),
            OpenTarget::Scratch(files) => Some((name.as_str(), Named::Scratch(files))),
            _ => None,
        });
        let mut evidence = evidence_files::open(phase, jobs);
        evidence.extend(self.targets.iter().filter_map(|(name, target)| match target {
            OpenTarget::Copy { path } => EvidenceFiles::open_file(name, path),
            _ => None,
        }));
        evidence
    }

    /// Makes a phase's writes to a target durable.
    pub(crate) fn flush(&self, name: &str, flush: Flush) -> Result<(), Box<Fault>> {
        let op = match flush {
            Flush::None => return Ok(()),
            Flush::Fsync => OpKind::Fsync,
            Flush::Fdatasync => OpKind::Fdatasync,
            Flush::Close => OpKind::Close,
        };
        let failed = |path: &Path, errno: Option<i32>, reason: String| {
            let message = format!("flushing at the end of the phase: {reason}");
            Box::new(Fault { op, path: path.to_owned(), offset: 0, length: 0, errno, message })
        };
        match self.targets.get(name) {
            Some(OpenTarget::Files(open)) => open.files.iter().try_for_each(|file| {
                let done = match flush {
                    Flush::None => Ok(()),
                    Flush::Fsync => file.file().sync_all(),
                    Flush::Fdatasync => file.file().sync_data(),
                    // A network file system flushes on close, of any descriptor.
                    Flush::Close => file.again(IoMode::Buffered).map(drop).map_err(std::io::Error::other),
                };
                done.map_err(|error| failed(file.path(), error.raw_os_error(), error.to_string()))
            }),
            Some(OpenTarget::Tree(tree)) if flush != Flush::Close => crate::os::sync_file_system(tree.root.as_fd())
                .map_err(|error| failed(tree.root.path(), Some(error.raw_os_error()), error.to_string())),
            _ => Ok(()),
        }
    }

    /// Registers the files of jobs and programs with the guard, which records their final state. Workers in other
    /// processes may have created some of them.
    pub(crate) fn list_files(&self, guard: &Guard, workload: &Workload) {
        for (name, target) in &self.targets {
            let mut groups =
                workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == *name);
            match target {
                OpenTarget::Job(target) if groups.any(crate::files::changes) => target.list_files(guard),
                OpenTarget::Scratch(files) => files.list_files(guard),
                _ => {}
            }
        }
    }

    /// Closes the files and removes the test directories.
    pub(crate) fn close(self) -> Result<(), crate::testdir::TestDirError> {
        drop(self.targets);
        self.dirs.into_iter().map(|(_, dir)| dir).chain(self.dir).try_for_each(TestDir::remove)
    }
}

fn view<'a>(name: &'a str, target: &'a OpenTarget) -> TargetView<'a> {
    match target {
        OpenTarget::Files(open) => TargetView {
            name,
            path: open.files.iter().next().map_or(Path::new(""), |file| file.path()),
            files: open.files.iter().map(AsFd::as_fd).collect(),
            file_count: open.files.len(),
        },
        OpenTarget::Tree(tree) => TargetView { name, path: tree.root.path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Shared(set) => TargetView { name, path: set.path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Job(target) => TargetView { name, path: target.first_path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Copy { path } => TargetView { name, path, files: Vec::new(), file_count: 0 },
        OpenTarget::Scratch(target) => TargetView { name, path: target.first_path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Recorded(files) => TargetView { name, path: files.path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Null { .. } => TargetView { name, path: Path::new("null"), files: Vec::new(), file_count: 0 },
        OpenTarget::Sim(_) => TargetView { name, path: Path::new("sim"), files: Vec::new(), file_count: 0 },
    }
}
