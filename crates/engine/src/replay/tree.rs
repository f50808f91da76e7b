//! Creates the files that must exist before a recording begins, through the write guard.

use super::call::{CallSurvey, InitialFileKind};
use super::paths::{Paths, open_beneath};
use crate::content::Filler;
use crate::engine_error::EngineError;
use crate::guard::{Guard, GuardedDir};
use crate::os::Space;
use crate::prepare::PrepareError;
use crate::setting::{Setting, content_stream};
use crate::signals::StopFlag;
use crate::source::trace::ReplayError;
use crate::testdir::TestDir;
use crate::tree::layout::write_whole;
use plumb_workload::replay::path_names;
use plumb_workload::{Content, Prepare, RecordedTree, Replay, Workload};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Target of recreated symbolic links: recordings do not contain it, and it must not exist.
const LINK_TARGET: &str = "not-recorded";

/// The files of a recording, after layout.
pub(crate) struct OpenRecorded {
    pub(super) root: GuardedDir,
    pub(super) survey: Arc<CallSurvey>,
    pub(super) paths: Arc<Paths>,
    pub(super) content: Content,
}

impl OpenRecorded {
    /// Path of the root directory.
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// Returns the paths of the files that exist before the recording begins.
    pub(crate) fn initial_files(&self) -> impl Iterator<Item = PathBuf> {
        let files = self.survey.initial.iter().filter(|entry| matches!(entry.kind, InitialFileKind::File { .. }));
        let paths = files.filter_map(|entry| self.survey.paths.get(entry.file as usize));
        let paths = paths.map(|path| self.path().join(path_names(path).join("/")));
        // A recorded file that contains other files is actually a directory.
        paths.filter(|path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
    }
}

/// Surveys the recording of the replay that uses a target.
pub(super) fn surveyed(setting: &Setting<'_>, replay: &Replay) -> Result<CallSurvey, ReplayError> {
    let Some(recordings) = setting.recordings else {
        let text = format!("{}: recordings cannot be read here; use the `plumb` command", replay.path.display());
        return Err(ReplayError::Read(text.into()));
    };
    let survey = recordings.survey(replay)?;
    if survey.ops.is_empty() {
        return Err(ReplayError::Nothing { path: replay.path.clone(), has_below: replay.below.is_some() });
    }
    Ok(survey)
}

/// Opens the directory of a recording's files, and creates the files.
///
/// # Errors
/// [`EngineError::Refused`], [`EngineError::Tree`]; [`EngineError::Prepare`] after a stop signal.
pub(crate) fn open_recorded(
    name: &str,
    target: &RecordedTree,
    dir: &TestDir,
    workload: &Workload,
    guard: &Guard,
    setting: &Setting<'_>,
    report: &mut dyn FnMut(&str),
) -> Result<OpenRecorded, EngineError> {
    let failed = |reason: String| EngineError::Tree { target: name.to_owned(), reason };
    let mut groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == name);
    let replay = groups.find_map(|group| group.work.replay());
    let replay = replay.ok_or_else(|| failed("no replay uses it; add a group with `work.replay`".to_owned()))?;
    report("reading the recording");
    let survey = surveyed(setting, replay).map_err(|error| failed(error.to_string()))?;
    let root = guard.open_dir_in(dir, &target.path, survey.reach_bytes)?;
    let stream = content_stream(workload, setting, u32::MAX >> 9, 0);
    let mut filler = Filler::new(target.content, stream);
    let files = survey.initial.iter().filter(|entry| matches!(entry.kind, InitialFileKind::File { .. })).count();
    report(&format!("creating {files} files and the directories that the recording needs"));
    let builder = TreeBuilder { root: root.as_fd(), stop: setting.stop, prepare: target.prepare };
    match builder.create_all(&survey, &mut |buffer| filler.fill(buffer)) {
        Ok(()) => {}
        Err(MakeError::Stopped) => {
            return Err(EngineError::Prepare(PrepareError::Stopped { signal: setting.stop.signal() }));
        }
        Err(error) => return Err(failed(error.to_string())),
    }
    let paths = Arc::new(Paths::new(&survey.paths));
    Ok(OpenRecorded { root, survey: Arc::new(survey), paths, content: target.content })
}

/// Error from creating the files.
#[derive(Debug, thiserror::Error)]
enum MakeError {
    #[error("stopped")]
    Stopped,
    #[error("cannot {what} `{path}`, which the recording needs: {source}")]
    Call { what: &'static str, path: String, source: std::io::Error },
}

struct TreeBuilder<'a> {
    root: BorrowedFd<'a>,
    stop: StopFlag,
    prepare: Prepare,
}

/// Kind of file to create at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Directory,
    File(u64),
    Link,
}

impl TreeBuilder<'_> {
    fn create_all(&self, survey: &CallSurvey, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), MakeError> {
        let mut made: BTreeMap<String, Made> = BTreeMap::new();
        let above = |path: &[&str], made: &mut BTreeMap<String, Made>| {
            for length in 1..path.len() {
                made.insert(path[..length].join("/"), Made::Directory);
            }
        };
        // Insert in a loop, here and below: `collect` would sort, and would compile another instance.
        let mut initial: BTreeMap<u32, InitialFileKind> = BTreeMap::new();
        for entry in &survey.initial {
            initial.insert(entry.file, entry.kind);
        }
        for (file, kind) in &initial {
            let Some(recorded) = survey.paths.get(*file as usize) else { continue };
            let path = path_names(recorded);
            if path.is_empty() {
                continue;
            }
            above(&path, &mut made);
            let kind = match kind {
                InitialFileKind::Directory => Made::Directory,
                InitialFileKind::File { bytes } => Made::File(*bytes),
                InitialFileKind::Link => Made::Link,
            };
            // A path that contains files is a directory, whatever else is known about it.
            made.entry(path.join("/")).or_insert(kind);
        }
        // All other files need their directories, unless the recording creates these itself.
        let mut absent: BTreeSet<String> = BTreeSet::new();
        for path in survey.absent.iter().filter_map(|file| survey.paths.get(*file as usize)) {
            absent.insert(path_names(path).join("/"));
        }
        for recorded in &survey.paths {
            let path = path_names(recorded);
            for length in 1..path.len() {
                let directory = path[..length].join("/");
                if absent.contains(&directory) && !made.contains_key(&directory) {
                    break;
                }
                let known = made.entry(directory).or_insert(Made::Directory);
                // Only the existence of the path is known.
                if *known == Made::File(0) {
                    *known = Made::Directory;
                }
            }
        }
        let mut piece = Vec::new();
        // Sorted by path, so directories come before their contents.
        for (path, kind) in &made {
            if self.stop.requested() {
                return Err(MakeError::Stopped);
            }
            self.create_one(path, *kind, &mut piece, fill)?;
        }
        crate::os::sync_file_system(self.root).map_err(|source| MakeError::Call {
            what: "flush",
            path: String::new(),
            source: source.into(),
        })
    }

    fn create_one(
        &self,
        path: &str,
        kind: Made,
        piece: &mut Vec<u8>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), MakeError> {
        let failed = |what| move |source: Errno| MakeError::Call { what, path: path.to_owned(), source: source.into() };
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = match above {
            "" => None,
            above => Some(
                open_beneath(self.root, above, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
                    .map_err(|errno| failed("open the directory of")(Errno::from_raw_os_error(errno.0)))?,
            ),
        };
        let place = place.as_ref().map_or(self.root, AsFd::as_fd);
        match kind {
            Made::Directory => match rustix::fs::mkdirat(place, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(failed("make directory")(error)),
            },
            Made::Link => rustix::fs::symlinkat(LINK_TARGET, place, name).map_err(failed("make link")),
            Made::File(bytes) => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = crate::raw_open::openat(place, name, flags, Mode::from_raw_mode(0o644))
                    .map_err(failed("make file"))?;
                match self.prepare {
                    Prepare::Write => write_whole(file.as_fd(), bytes, piece, fill).map_err(failed("write file")),
                    Prepare::Allocate if bytes > 0 => {
                        crate::os::take_space(file.as_fd(), Space::Grow, 0, bytes).map_err(failed("allocate file"))
                    }
                    Prepare::Sparse => rustix::fs::ftruncate(&file, bytes).map_err(failed("extend file")),
                    Prepare::Allocate | Prepare::Nothing => Ok(()),
                }
            }
        }
    }
}
