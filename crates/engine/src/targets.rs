//! The targets of a run while it lasts: opened through the guard, laid out, and brought into the cache state that each
//! phase asks for.

mod cache;

use crate::backend::{BlockFiles, FileKind};
use crate::content::{BufferRequest, Buffers, ContentError, Filler, Stamper, total_bytes};
use crate::engine_error::EngineError;
use crate::files::failed::JobFault;
use crate::files::layout::{FailedMember, JobLayout, Laid, lay_out};
use crate::files::look::{self, Look, Named};
use crate::files::{HeldDevice, JobFilesError, JobTarget};
use crate::guard::{Access, Guard, GuardedDir, IoMode, Refusal};
use crate::observer::{Observer, TargetView};
use crate::plan::{WorkerSeat, seats, stamping};
use crate::prepare::{LayoutProgress, LayoutRequest, PrepareError, TargetFiles, open_target};
use crate::program::{NamedRun, NamedTarget, ScratchFiles, TreeState};
use crate::rng::StreamId;
use crate::setting::Setting;
use crate::sim::run::{SimDevice, Simulation};
use crate::terms::Stamping;
use crate::testdir::{FilesFrom, LaidOut, TestDir};
use crate::tree::{self, TreeShape};
use plumb_result::measurement::Fault;
use plumb_workload::files::JobFiles;
use plumb_workload::{
    BufferContent, Bytes, Content, Distribution, Flush, OpKind, Phase, Prepare, SimTarget, Size, Target, TreeTarget,
    Work, WorkerGroup, Workload,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Workers share the descriptors of targets with more files than this: a process has only so many, and with as many
/// files two workers seldom stream through the same one.
const OWN_FILES_MAX: usize = 16;

/// What opening and preparing need.
pub(crate) struct TargetContext<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) setting: &'a Setting<'a>,
    pub(crate) workload: &'a Workload,
}

/// Block targets have files, flows have trees.
pub(crate) enum OpenTarget {
    Files(OpenFiles),
    Tree(OpenTree),
    Job(Arc<JobTarget>),
    /// What a copy opens by itself, when its turn has come.
    Copy {
        path: PathBuf,
    },
    Scratch(ScratchFiles),
    Null {
        bytes: u64,
    },
    Sim(OpenSim),
}

impl OpenTarget {
    /// Lengths of its files, for block I/O, bytes; none for a tree.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        match self {
            OpenTarget::Files(open) => open.lengths(),
            OpenTarget::Tree(_) | OpenTarget::Copy { .. } | OpenTarget::Scratch(_) => Vec::new(),
            OpenTarget::Job(target) => target.lengths.to_vec(),
            OpenTarget::Null { bytes } => vec![*bytes],
            OpenTarget::Sim(sim) => vec![sim.bytes],
        }
    }
}

pub(crate) struct OpenFiles {
    files: TargetFiles,
    kind: FileKind,
    /// Through the page cache or around it, as the phase at hand has it.
    mode: IoMode,
    pub(crate) content: Content,
    pub(crate) stamping: Option<Stamping>,
}

pub(crate) struct OpenTree {
    root: GuardedDir,
    pub(crate) files: FileSet,
    pub(crate) content: Content,
}

/// A simulated device, and the files that it has where it has any.
pub(crate) struct OpenSim {
    pub(crate) device: SimDevice,
    pub(crate) bytes: u64,
    pub(crate) files: Option<FileSet>,
    postmark: Option<NamedRun>,
}

impl OpenSim {
    /// For a program over named files, which lie one after another.
    pub(crate) fn named(&self) -> NamedTarget<'_> {
        let (files, postmark) = (self.file_count(), self.postmark.as_ref());
        NamedTarget::Sim { device: &self.device, files, bytes: self.bytes, postmark }
    }

    /// How many files it has.
    pub(crate) fn file_count(&self) -> u64 {
        self.files.as_ref().map_or(1, |files| files.shape.files())
    }
}

/// The files of a target that programs change.
pub(crate) struct FileSet {
    pub(crate) shape: Arc<TreeShape>,
    /// `None` while a phase has it, and after a phase whose effect is not known.
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

/// The targets of a run.
pub(crate) struct OpenTargets {
    guard: Guard,
    // Before the directory, so that files are closed when it is removed.
    targets: BTreeMap<String, OpenTarget>,
    /// Jobs that cannot have their files.
    failed: Vec<FailedJob>,
    dir: Option<TestDir>,
    /// What runs on virtual time, where all targets are simulated.
    simulation: Option<Simulation>,
}

/// Where a group stands in the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupSeat {
    phase: u32,
    group: usize,
}

/// A job that cannot have its files.
struct FailedJob {
    seat: GroupSeat,
    fault: JobFault,
}

impl OpenFiles {
    /// The files as the target's only worker uses them.
    pub(crate) fn block_files(&self) -> BlockFiles {
        BlockFiles {
            fds: self.files.iter().map(|file| file.file().as_raw_fd()).collect(),
            paths: self.files.iter().map(|file| file.path().to_owned()).collect(),
            lengths: self.lengths(),
            kind: self.kind,
            ..BlockFiles::default()
        }
    }

    /// The files opened once more, for one of several workers: a descriptor has one read-ahead state, and two streams
    /// through it would each take the other for random access.
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
    /// A descriptor of the root of its own, for one worker.
    pub(crate) fn root(&self) -> Result<OwnedFd, EngineError> {
        self.root.as_fd().try_clone_to_owned().map_err(|error| EngineError::Tree {
            target: self.root.path().display().to_string(),
            reason: format!("cannot reopen its root: {error}"),
        })
    }

    /// The path of the root.
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }
}

/// The file set that a simulated target stands for: its size, in equal files of one directory.
fn file_set(sim: &SimTarget, files: u64) -> TreeTarget {
    TreeTarget {
        path: PathBuf::from("sim"),
        files,
        width: 1,
        depth: 0,
        size: Distribution::Fixed(Bytes((sim.size.0 / files.max(1)).max(1))),
        preallocated_percent: sim.preallocated_percent,
        content: Default::default(),
    }
}

/// Whether anything in the workload writes to a target.
fn access(workload: &Workload, target: &str) -> Access {
    let writes = workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| {
        group.target == target
            && match &group.work {
                Work::Blocks(_) => group.work.changes(),
                Work::Program(program) => program.is_over_file_set() || program.changes(),
                Work::Copy(_) => false,
            }
    });
    if writes { Access::ReadWrite } else { Access::Read }
}

fn size_bytes(name: &str, size: Option<Size>) -> Result<Option<u64>, EngineError> {
    match size {
        None => Ok(None),
        Some(Size::Bytes(bytes)) => Ok(Some(bytes.0)),
        Some(relative) => Err(EngineError::plan(format!("target `{name}`: its size `{relative}` is not resolved"))),
    }
}

impl OpenTargets {
    /// Opens every target and lays it out.
    pub(crate) fn open(
        surroundings: &TargetContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<OpenTargets, EngineError> {
        let workload = surroundings.workload;
        if workload.target.values().any(|target| matches!(target, Target::Sim(_))) {
            return OpenTargets::simulate(surroundings);
        }
        let needs_dir = workload.target.values().any(|target| match target {
            Target::File(file) => file.path.is_relative(),
            Target::Files(files) => files.path.is_relative(),
            Target::Tree(_) => true,
            Target::Device(_) | Target::JobFiles(_) | Target::Scratch(_) | Target::Null(_) | Target::Sim(_) => false,
        });
        // A device's and an absolute file's layout need no directory, but the door asks for one.
        let needs_door = workload
            .target
            .values()
            .any(|target| matches!(target, Target::File(_) | Target::Files(_) | Target::Device(_)));
        let dir = if needs_dir || needs_door {
            let base = if needs_dir { surroundings.setting.base } else { Path::new("/tmp") };
            Some(surroundings.setting.test_dirs.create(base, &workload.name).map_err(EngineError::TestDir)?)
        } else {
            None
        };
        let guard = surroundings.guard.clone();
        let mut open = OpenTargets { guard, targets: BTreeMap::new(), failed: Vec::new(), dir, simulation: None };
        let mut held = Vec::new();
        for (name, target) in &workload.target {
            let opened = match target {
                Target::JobFiles(files) if is_copied(workload, name) => OpenTarget::Copy {
                    path: files
                        .names
                        .path(0)
                        .ok_or_else(|| EngineError::plan(format!("target `{name}` has no name")))?,
                },
                Target::JobFiles(files) => {
                    let OpenedJobFiles { target, failed } =
                        open_job_files(name, files, surroundings, &mut held, observer)?;
                    open.failed.extend(failed);
                    target
                }
                Target::Scratch(scratch) => {
                    let TargetContext { guard, setting, workload } = *surroundings;
                    OpenTarget::Scratch(crate::program::open(name, scratch, workload, guard, setting)?)
                }
                target => open.open_one(name, target, surroundings, observer)?,
            };
            open.targets.insert(name.clone(), opened);
        }
        Ok(open)
    }

    /// Simulates the devices that a workload uses. Virtual time is no time for anything else.
    fn simulate(surroundings: &TargetContext<'_>) -> Result<OpenTargets, EngineError> {
        let TargetContext { guard, setting, workload } = *surroundings;
        for (number, phase) in workload.phase.iter().enumerate() {
            for seat in seats(phase, number as u32).filter(|seat| seat.number == 0) {
                // What takes everything at once takes no time of any kind.
                let is_copy = seat.group.work.copy().is_some();
                let is_simulated = |name: &str| match workload.target.get(name) {
                    Some(Target::Sim(_)) => true,
                    Some(Target::Null(_)) => is_copy,
                    _ => false,
                };
                if !seat.group.targets().all(is_simulated) {
                    return Err(seat.error("simulated and real targets cannot be mixed in one workload").into());
                }
            }
        }
        let sims: Vec<(&str, &SimTarget)> = workload
            .target
            .iter()
            .filter_map(|(name, target)| match target {
                Target::Sim(sim) => Some((name.as_str(), sim)),
                _ => None,
            })
            .collect();
        let simulation = Simulation::new(sims.iter().copied(), setting.sim_run);
        let mut targets = BTreeMap::new();
        for (name, sim) in sims {
            let Some(device) = simulation.device(name) else { continue };
            let shape = sim.files.map(|files| TreeShape::new(&file_set(sim, files), workload.seed));
            let files = shape.transpose().map_err(EngineError::plan)?.map(FileSet::new);
            let postmark = crate::program::named_run(workload, name);
            targets.insert(name.to_owned(), OpenTarget::Sim(OpenSim { device, bytes: sim.size.0, files, postmark }));
        }
        for (name, target) in &workload.target {
            if let Target::Null(null) = target {
                targets.insert(name.clone(), OpenTarget::Null { bytes: null.size.0 });
            }
        }
        let guard = guard.clone();
        Ok(OpenTargets { guard, targets, failed: Vec::new(), dir: None, simulation: Some(simulation) })
    }

    /// What they were opened through.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Whether they are all simulated, and phases run on virtual time.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulation.is_some()
    }

    /// The simulation that the targets belong to, where they do.
    pub(crate) fn simulation(&mut self) -> Option<&mut Simulation> {
        self.simulation.as_mut()
    }

    fn open_one(
        &self,
        name: &str,
        target: &Target,
        surroundings: &TargetContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<OpenTarget, EngineError> {
        match (target, &self.dir) {
            (Target::Null(null), _) => Ok(OpenTarget::Null { bytes: null.size.0 }),
            (Target::Tree(tree), Some(dir)) => open_tree(name, tree, dir, surroundings, observer),
            (_, Some(dir)) => open_files(name, target, dir, surroundings, observer),
            (_, None) => Err(EngineError::plan(format!("target `{name}` cannot be opened here"))),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OpenTarget> {
        self.targets.get(name)
    }

    /// Why the job of a seat cannot have its files, where it cannot.
    pub(crate) fn fault_of(&self, seat: &WorkerSeat<'_>) -> Option<&JobFault> {
        let seat = GroupSeat { phase: seat.phase_number, group: seat.group_number };
        self.failed.iter().find(|job| job.seat == seat).map(|job| &job.fault)
    }

    /// The files of a target that programs change.
    pub(crate) fn file_set(&mut self, name: &str) -> Option<&mut FileSet> {
        match self.targets.get_mut(name) {
            Some(OpenTarget::Tree(tree)) => Some(&mut tree.files),
            Some(OpenTarget::Sim(sim)) => sim.files.as_mut(),
            _ => None,
        }
    }

    /// Brings a file set back after a phase; `None` where nobody knows what happened to it.
    pub(crate) fn return_files(&mut self, name: &str, state: Option<TreeState>) {
        if let Some(files) = self.file_set(name) {
            files.state = state;
        }
    }

    /// The targets that `wanted` names, for looking at.
    pub(crate) fn views(&self, wanted: impl Fn(&str) -> bool) -> Vec<TargetView<'_>> {
        self.targets.iter().filter(|(name, _)| wanted(name)).map(|(name, target)| view(name, target)).collect()
    }

    /// The targets of a phase, with the files of its jobs.
    pub(crate) fn views_with<'a>(&'a self, looks: &'a [Look], phase: &Phase) -> Vec<TargetView<'a>> {
        let mut views =
            self.views(|name| phase.workers.iter().any(|group| group.targets().any(|target| target == name)));
        for view in &mut views {
            // Both stand in the order of names.
            if let Ok(at) = looks.binary_search_by(|look| look.name.as_str().cmp(view.name)) {
                looks[at].fill(view);
            }
        }
        views
    }

    /// Descriptors of the files of a phase's jobs and scripts.
    pub(crate) fn look(&self, phase: &Phase) -> Vec<Look> {
        let jobs = self.targets.iter().filter_map(|(name, target)| match target {
            OpenTarget::Job(target) => Some((name.as_str(), Named::Job(target))),
            OpenTarget::Scratch(files) => Some((name.as_str(), Named::Scratch(files))),
            _ => None,
        });
        let mut looks = look::look(phase, jobs);
        looks.extend(self.targets.iter().filter_map(|(name, target)| match target {
            OpenTarget::Copy { path } => Look::of_file(name, path),
            _ => None,
        }));
        looks
    }

    /// Makes what a phase wrote to a target durable.
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
                    // What a network file system flushes on, it flushes on the close of any descriptor.
                    Flush::Close => file.again(IoMode::Buffered).map(drop).map_err(std::io::Error::other),
                };
                done.map_err(|error| failed(file.path(), error.raw_os_error(), error.to_string()))
            }),
            Some(OpenTarget::Tree(tree)) if flush != Flush::Close => crate::os::sync_file_system(tree.root.as_fd())
                .map_err(|error| failed(tree.root.path(), Some(error.raw_os_error()), error.to_string())),
            _ => Ok(()),
        }
    }

    /// Closes the files and removes the test directory.
    pub(crate) fn close(self) -> Result<(), crate::testdir::TestDirError> {
        drop(self.targets);
        self.dir.map_or(Ok(()), TestDir::remove)
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
        OpenTarget::Job(target) => TargetView { name, path: target.first_path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Copy { path } => TargetView { name, path, files: Vec::new(), file_count: 0 },
        OpenTarget::Scratch(target) => TargetView { name, path: target.first_path(), files: Vec::new(), file_count: 0 },
        OpenTarget::Null { .. } => TargetView { name, path: Path::new("null"), files: Vec::new(), file_count: 0 },
        OpenTarget::Sim(_) => TargetView { name, path: Path::new("sim"), files: Vec::new(), file_count: 0 },
    }
}

/// A stream for content: the workload's, but different in every run.
pub(crate) fn content_stream(workload: &Workload, setting: &Setting<'_>, phase: u32, worker: u32) -> StreamId {
    StreamId { seed: workload.seed ^ setting.content_seed, phase, worker }
}

/// Content that is laid out belongs to no phase.
const LAYOUT_PHASE: u32 = u32::MAX >> 9;

fn open_files(
    name: &str,
    target: &Target,
    dir: &TestDir,
    surroundings: &TargetContext<'_>,
    observer: &mut dyn Observer,
) -> Result<OpenTarget, EngineError> {
    let TargetContext { guard, setting, workload } = *surroundings;
    let (size, count, content, prepare, kind) = match target {
        Target::File(file) => (file.size, 1, file.content, file.prepare, FileKind::Regular),
        Target::Files(files) => (Some(files.size), files.count, files.content, files.prepare, FileKind::Regular),
        Target::Device(device) => (device.size, 1, device.content, Prepare::Nothing, FileKind::Device),
        Target::Tree(_) | Target::JobFiles(_) | Target::Scratch(_) | Target::Null(_) | Target::Sim(_) => {
            return Err(EngineError::plan(format!("target `{name}` has no files")));
        }
    };
    let size = size_bytes(name, size)?;
    let run_seed = workload.seed ^ setting.content_seed;
    let planned = size.map(|size| vec![size; count as usize]);
    let stamped = planned.map(|lengths| stamping(workload, name, &lengths, run_seed)).transpose()?.flatten();
    let mut stamper = stamped
        .map(|stamp| Stamper::new(stamp.checksum, stamp.interval_bytes, stamp.seed, stamp.first_sequence))
        .transpose()
        .map_err(EngineError::plan)?;
    let mut filler = Filler::new(content, content_stream(workload, setting, LAYOUT_PHASE, 0));
    let mut fill = |buffer: &mut [u8], file: u32, offset: u64| {
        filler.fill(buffer);
        if let Some(stamper) = &mut stamper {
            stamper.stamp(file, offset, buffer);
        }
    };
    let mut progress = |progress: LayoutProgress| {
        let percent = progress.written_bytes * 100 / progress.total_bytes.max(1);
        observer.preparing(&format!("writing {name}: {percent} % of {} MiB", progress.total_bytes >> 20));
    };
    let access = access(workload, name);
    let path = file_path(target);
    let stays_whole = prepare == Prepare::Write && stamped.is_none() && !trims(workload, name);
    let kept = setting.kept.filter(|_| stays_whole && path.is_relative());
    let laid_out = LaidOut { path: path.to_owned(), files: count, size_bytes: size.unwrap_or(0), content };
    let source = kept.map_or(FilesFrom::Taken, |kept| kept.source(&laid_out));
    let (dir, target) = match source {
        FilesFrom::There(kept) => (kept, Cow::Owned(unprepared(target))),
        FilesFrom::New(kept) => (kept, Cow::Borrowed(target)),
        FilesFrom::Taken => (dir, Cow::Borrowed(target)),
    };
    let mut layout = LayoutRequest {
        guard,
        dir,
        access,
        phase_writes_bytes: match (prepare, access) {
            // Either it is written already, or nobody writes.
            (Prepare::Write, _) | (_, Access::Read) => 0,
            _ => size.unwrap_or(0).saturating_mul(u64::from(count)),
        },
        stop: setting.stop,
        fill: &mut fill,
        progress: &mut progress,
    };
    let files = open_target(&target, size, &mut layout)?;
    if let (Some(kept), FilesFrom::New(_)) = (kept, source) {
        kept.complete(laid_out);
    }
    let stamping = match stamped {
        Some(stamp) => Some(stamp),
        None => {
            let lengths: Vec<u64> = files.iter().map(|file| file.length_bytes()).collect();
            stamping(workload, name, &lengths, run_seed)?
        }
    };
    Ok(OpenTarget::Files(OpenFiles { files, kind, mode: IoMode::Buffered, content, stamping }))
}

/// Whether a target is an end of a copy.
fn is_copied(workload: &Workload, target: &str) -> bool {
    workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| match &group.work {
        Work::Copy(copy) => copy.targets().any(|end| end == target),
        _ => false,
    })
}

/// A target of jobs, and those that cannot use it.
struct OpenedJobFiles {
    target: OpenTarget,
    failed: Vec<FailedJob>,
}

/// Lays a target of jobs out, by the rules of all jobs on it.
fn open_job_files(
    name: &str,
    files: &JobFiles,
    surroundings: &TargetContext<'_>,
    held: &mut Vec<HeldDevice>,
    observer: &mut dyn Observer,
) -> Result<OpenedJobFiles, EngineError> {
    let TargetContext { guard, setting, workload } = *surroundings;
    let numbered = (0..).zip(&workload.phase);
    let groups =
        numbered.flat_map(|(phase, of)| of.workers.iter().enumerate().map(move |(place, group)| (phase, place, group)));
    let mut members = Vec::new();
    let mut seats: Vec<GroupSeat> = Vec::new();
    for (phase, place, group) in groups.filter(|(_, _, group)| group.target == name) {
        match &group.work {
            Work::Blocks(stream) if !stream.is_plumb() => {
                members.push(group);
                seats.push(GroupSeat { phase, group: place });
            }
            Work::Blocks(_) | Work::Copy(_) | Work::Program(_) => {
                return Err(EngineError::plan(format!(
                    "target `{name}` is for jobs; use a file target for other work"
                )));
            }
        }
    }
    let stream = content_stream(workload, setting, LAYOUT_PHASE, 0);
    let mut filler = Filler::new(Content::Random, stream);
    let mut special = members
        .iter()
        .map(|member| special_content(member, setting, StreamId { seed: stream.seed, phase: 0, worker: 1 }))
        .collect::<Result<Vec<_>, ContentError>>()
        .map_err(|source| EngineError::Content { target: name.to_owned(), source })?;
    let mut layout = JobLayout {
        guard,
        made: setting.test_dirs.made_files(),
        base: setting.base,
        stop: setting.stop,
        fill: &mut |group, buffer, _file, _offset| {
            let of_group = members.iter().position(|&member| std::ptr::eq(member, group));
            match of_group.and_then(|number| special.get_mut(number)?.as_mut()) {
                Some(buffers) => buffers.fill(buffer),
                None => filler.fill(buffer),
            }
        },
        say: &mut |what| observer.preparing(&format!("{name}: {what}")),
        held,
        unopened: setting.unopened,
    };
    let laid = lay_out(files, &members, &mut layout);
    match laid {
        Ok(Laid { target, failed }) => {
            let failed = failed.into_iter().map(|FailedMember { place, error }| {
                observer.job_failed(name, &error);
                FailedJob { seat: seats[place], fault: JobFault::of(&error) }
            });
            let failed = failed.collect();
            Ok(OpenedJobFiles { target: OpenTarget::Job(Arc::new(target)), failed })
        }
        Err(JobFilesError::Stopped) => {
            Err(EngineError::Prepare(PrepareError::Stopped { signal: setting.stop.signal() }))
        }
        Err(source) => Err(EngineError::JobFiles { target: name.to_owned(), source: Box::new(source) }),
    }
}

/// What a job's own writes hold, where that is anything but random bytes: files that it reads are laid out with it.
fn special_content(
    member: &WorkerGroup,
    setting: &Setting<'_>,
    stream: StreamId,
) -> Result<Option<Buffers>, ContentError> {
    let is_special = |content: &&BufferContent| {
        content.zero || !content.pattern.is_empty() || content.compress_percent > 0 || content.dedupe_percent > 0
    };
    let Some(content) = member.content.as_ref().filter(is_special) else { return Ok(None) };
    if !member.files.prepare.write {
        return Ok(None);
    }
    let total_bytes = member.work.fio().map_or(0, |stream| total_bytes(stream, None));
    let request = BufferRequest { content, stream, smallest: 4096, total_bytes, base: setting.base };
    Buffers::new(&request).map(Some)
}

fn file_path(target: &Target) -> &Path {
    match target {
        Target::File(file) => &file.path,
        Target::Files(files) => &files.path,
        Target::Device(device) => &device.path,
        Target::Tree(tree) => &tree.path,
        Target::JobFiles(_) | Target::Scratch(_) | Target::Null(_) | Target::Sim(_) => Path::new(""),
    }
}

/// Whether anything punches holes into a target.
fn trims(workload: &Workload, target: &str) -> bool {
    let mut groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    groups.any(|group| group.target == target && group.work.moves().trim)
}

/// The same target, taken as it lies there.
fn unprepared(target: &Target) -> Target {
    let mut target = target.clone();
    match &mut target {
        Target::File(file) => file.prepare = Prepare::Nothing,
        Target::Files(files) => files.prepare = Prepare::Nothing,
        Target::Tree(_)
        | Target::Device(_)
        | Target::JobFiles(_)
        | Target::Scratch(_)
        | Target::Null(_)
        | Target::Sim(_) => {}
    }
    target
}

fn open_tree(
    name: &str,
    target: &TreeTarget,
    dir: &TestDir,
    surroundings: &TargetContext<'_>,
    observer: &mut dyn Observer,
) -> Result<OpenTarget, EngineError> {
    let TargetContext { guard, setting, workload } = *surroundings;
    let shape = TreeShape::new(target, workload.seed).map_err(EngineError::plan)?;
    let most_bytes = (0..target.files).map(|file| shape.size_of(tree::FileId(file))).sum();
    let root = guard.open_dir_in(dir, &target.path, most_bytes)?;
    observer.preparing(&format!("making {name}: {} files of {}", shape.preallocated(), target.files));
    let mut filler = Filler::new(target.content, content_stream(workload, setting, LAYOUT_PHASE, 0));
    tree::layout(root.as_fd(), &shape, setting.stop, &mut |buffer| filler.fill(buffer)).map_err(
        |error| match error {
            tree::LayoutError::Stopped => EngineError::Prepare(PrepareError::Stopped { signal: setting.stop.signal() }),
            error => EngineError::Tree { target: name.to_owned(), reason: error.to_string() },
        },
    )?;
    Ok(OpenTarget::Tree(OpenTree { root, files: FileSet::new(shape), content: target.content }))
}
