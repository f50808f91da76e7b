//! Opens targets through the guard and lays them out, or simulates them.

use super::{
    FailedJob, FileSet, GroupSeat, OpenFiles, OpenSim, OpenTarget, OpenTargets, OpenTree, TargetContext, TreeRoot,
};
use crate::backend::FileKind;
use crate::content::{BufferRequest, Buffers, ContentError, Filler, Stamper, total_bytes};
use crate::engine_error::EngineError;
use crate::files::failed::JobFault;
use crate::files::layout::{FailedMember, JobLayout, Laid, lay_out};
use crate::files::{HeldDevice, JobFilesError};
use crate::guard::{Access, IoMode};
use crate::kept_files::{FilesFrom, LaidOut};
use crate::observer::Observer;
use crate::plan::{seats, stamping};
use crate::prepare::{LayoutProgress, LayoutRequest, PrepareError, open_target};
use crate::program::NamesOnly;
use crate::replay::open_recorded;
use crate::rng::StreamId;
use crate::setting::{Setting, content_stream};
use crate::sim::run::Simulation;
use crate::testdir::TestDir;
use crate::tree::{self, TreeShape};
use plumb_workload::files::JobFiles;
use plumb_workload::{
    BufferContent, Bytes, Content, Distribution, NullTarget, Prepare, SimTarget, Size, Target, TreeTarget, Work,
    WorkerGroup, Workload,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl OpenTargets {
    /// Opens and lays out every target.
    pub(crate) fn open(
        surroundings: &TargetContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<OpenTargets, EngineError> {
        let workload = surroundings.workload;
        if workload.target.values().any(|target| matches!(target, Target::Sim(_))) {
            return OpenTargets::simulate(surroundings);
        }
        let needs_dir = workload.target.values().any(Target::is_in_test_dir);
        // Laying out a device or an absolute path needs no directory, but the API requires one.
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
        let (targets, failed, dirs) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut open = OpenTargets { guard, targets, failed, dir, dirs, simulation: None };
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
                Target::SharedTree(tree) => {
                    let TargetContext { guard, setting, workload } = *surroundings;
                    let set = crate::program::shared::open_set(name, tree, workload, guard, setting, observer)?;
                    OpenTarget::Shared(Arc::new(set))
                }
                Target::Recorded(target) => {
                    let TargetContext { guard, setting, workload } = *surroundings;
                    let dir = open.dir.as_ref().ok_or_else(|| EngineError::plan("there is no test directory"))?;
                    let mut report = |what: &str| observer.preparing(&format!("{name}: {what}"));
                    let opened = open_recorded(name, target, dir, workload, guard, setting, &mut report)?;
                    OpenTarget::Recorded(opened)
                }
                Target::Tree(tree) if tree.path.is_absolute() => {
                    let dir = open.dir_above(&tree.path, surroundings)?;
                    open_tree(
                        name,
                        tree,
                        Path::new(tree.path.file_name().unwrap_or_default()),
                        dir,
                        surroundings,
                        observer,
                    )?
                }
                // Its sockets are connected when a phase begins.
                Target::Host(_) => OpenTarget::Null { bytes: 0, files: None },
                target => open.open_one(name, target, surroundings, observer)?,
            };
            open.targets.insert(name.clone(), opened);
        }
        Ok(open)
    }

    /// Simulates the devices of a workload. Virtual time allows no real targets in the same workload.
    fn simulate(surroundings: &TargetContext<'_>) -> Result<OpenTargets, EngineError> {
        let TargetContext { guard, setting, workload } = *surroundings;
        for (number, phase) in workload.phase.iter().enumerate() {
            for seat in seats(phase, number as u32).filter(|seat| seat.number == 0) {
                // A null target completes everything immediately, so a copy may combine it with virtual time.
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
        let simulation = Simulation::new(sims.iter().copied(), setting.sim_run).owing(setting.sim_debt);
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
                targets.insert(name.clone(), open_null(null));
            }
        }
        let guard = guard.clone();
        Ok(OpenTargets {
            guard,
            targets,
            failed: Vec::new(),
            dir: None,
            dirs: Vec::new(),
            simulation: Some(simulation),
        })
    }

    /// Returns the test directory in the parent of an absolute path, and creates it on first use.
    fn dir_above(&mut self, path: &Path, surroundings: &TargetContext<'_>) -> Result<&TestDir, EngineError> {
        let above = path.parent().unwrap_or(path);
        if let Some(known) = self.dirs.iter().position(|(known, _)| known == above) {
            return Ok(&self.dirs[known].1);
        }
        let TargetContext { setting, workload, .. } = *surroundings;
        let dir = setting.test_dirs.create(above, &workload.name).map_err(EngineError::TestDir)?;
        self.dirs.push((above.to_owned(), dir));
        Ok(&self.dirs[self.dirs.len() - 1].1)
    }

    fn open_one(
        &self,
        name: &str,
        target: &Target,
        surroundings: &TargetContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<OpenTarget, EngineError> {
        match (target, &self.dir) {
            (Target::Null(null), _) => Ok(open_null(null)),
            (Target::Tree(tree), Some(dir)) => open_tree(name, tree, &tree.path, dir, surroundings, observer),
            (_, Some(dir)) => open_files(name, target, dir, surroundings, observer),
            (_, None) => Err(EngineError::plan(format!("target `{name}` cannot be opened here"))),
        }
    }
}

fn open_null(null: &NullTarget) -> OpenTarget {
    OpenTarget::Null { bytes: null.size.0, files: null.files.as_deref().map(NamesOnly::new) }
}

/// Returns the file set that a simulated target represents: its size, split into equal files in one directory.
fn file_set(sim: &SimTarget, files: u64) -> TreeTarget {
    TreeTarget {
        path: PathBuf::from("sim"),
        files,
        width: 1,
        depth: 0,
        size: Distribution::Fixed(Bytes((sim.size.0 / files.max(1)).max(1))),
        preallocated_percent: sim.preallocated_percent,
        directories: 0,
        content: Default::default(),
    }
}

/// Returns write access if any work of the workload writes to the target.
fn access(workload: &Workload, target: &str) -> Access {
    let writes = workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| {
        group.target == target
            && match &group.work {
                Work::Blocks(_) => group.work.changes(),
                Work::Program(program) => program.is_over_file_set() || program.changes(),
                Work::Copy(_) | Work::Net(_) => false,
                Work::Replay(_) => true,
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

/// Phase number for laid-out content, which belongs to no phase.
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
        Target::Tree(_)
        | Target::JobFiles(_)
        | Target::Scratch(_)
        | Target::SharedTree(_)
        | Target::Recorded(_)
        | Target::Host(_)
        | Target::Null(_)
        | Target::Sim(_) => {
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
    let path = target.path().unwrap_or(Path::new(""));
    let stays_whole = prepare == Prepare::Write && stamped.is_none() && !trims(workload, name);
    let kept = setting.kept.filter(|_| stays_whole && path.is_relative());
    let laid_out = LaidOut { path: path.to_owned(), files: count, size_bytes: size.unwrap_or(0), content };
    let source = kept.map_or(FilesFrom::Taken, |kept| kept.source(&laid_out));
    let (dir, target) = match source {
        FilesFrom::Existing(kept) => (kept, Cow::Owned(unprepared(target))),
        FilesFrom::New(kept) => (kept, Cow::Borrowed(target)),
        FilesFrom::Taken => (dir, Cow::Borrowed(target)),
    };
    let mut layout = LayoutRequest {
        guard,
        dir,
        access,
        phase_writes_bytes: match (prepare, access) {
            // Either the layout writes all blocks, or no phase writes.
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

/// Returns `true` if a target is the source or destination of a copy.
fn is_copied(workload: &Workload, target: &str) -> bool {
    workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| match &group.work {
        Work::Copy(copy) => copy.targets().any(|end| end == target),
        _ => false,
    })
}

/// A target of jobs, and the jobs that cannot use it.
struct OpenedJobFiles {
    target: OpenTarget,
    failed: Vec<FailedJob>,
}

/// Lays a target of jobs out, by the rules of all jobs that use it.
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
            Work::Blocks(_) | Work::Copy(_) | Work::Program(_) | Work::Replay(_) | Work::Net(_) => {
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
                FailedJob { seat: seats[place], fault: JobFault::from_error(&error) }
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

/// Returns the content of a job's own writes if it is not plain random bytes. The files that the job reads
/// are laid out with that content.
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

/// Returns `true` if any work punches holes into a target.
fn trims(workload: &Workload, target: &str) -> bool {
    let mut groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    groups.any(|group| group.target == target && group.work.moves().trim)
}

/// Returns a copy of the target that uses its files unprepared.
fn unprepared(target: &Target) -> Target {
    let mut target = target.clone();
    match &mut target {
        Target::File(file) => file.prepare = Prepare::Nothing,
        Target::Files(files) => files.prepare = Prepare::Nothing,
        Target::Tree(_)
        | Target::Device(_)
        | Target::JobFiles(_)
        | Target::Scratch(_)
        | Target::SharedTree(_)
        | Target::Recorded(_)
        | Target::Host(_)
        | Target::Null(_)
        | Target::Sim(_) => {}
    }
    target
}

fn open_tree(
    name: &str,
    target: &TreeTarget,
    path: &Path,
    dir: &TestDir,
    surroundings: &TargetContext<'_>,
    observer: &mut dyn Observer,
) -> Result<OpenTarget, EngineError> {
    let TargetContext { guard, setting, workload } = *surroundings;
    let shape = TreeShape::new(target, workload.seed).map_err(EngineError::plan)?;
    let most_bytes = (0..target.files).map(|file| shape.size_of(tree::FileId(file))).sum();
    let root = guard.open_dir_in(dir, path, most_bytes)?;
    observer.preparing(&format!("making {name}: {} files of {}", shape.preallocated(), target.files));
    let mut filler = Filler::new(target.content, content_stream(workload, setting, LAYOUT_PHASE, 0));
    tree::layout(root.as_fd(), &shape, setting.stop, &mut |buffer| filler.fill(buffer)).map_err(
        |error| match error {
            tree::LayoutError::Stopped => EngineError::Prepare(PrepareError::Stopped { signal: setting.stop.signal() }),
            error => EngineError::Tree { target: name.to_owned(), reason: error.to_string() },
        },
    )?;
    Ok(OpenTarget::Tree(OpenTree { root: TreeRoot::Own(root), files: FileSet::new(shape), content: target.content }))
}
