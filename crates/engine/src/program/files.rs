//! The files of a scratch directory: their names, and what may be done to them.

use super::trees::{self, TreeFiles, WallMark};
use crate::files::paths::Paths;
use crate::guard::{
    Create, Door, FoundName, Guard, MadeFiles, Naming, PassReason, Pinning, Refusal, Roots, mark_lent, mark_made,
};
use crate::mpi_io::MpiIo;
use crate::setting::Setting;
use plumb_workload::files::Names;
use plumb_workload::program::{FileWork, Postmark, RecordOrder, Step, Transfer};
use plumb_workload::{Phase, Program, ScratchTarget, Work, Workload};
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scratch directory, looked at.
pub(crate) struct ScratchFiles {
    pub(super) table: Arc<FileTable>,
    /// Where its files lie: the first of them, or its directory where that is not there.
    first_path: PathBuf,
    guard: Guard,
    /// The run of PostMark whose names these are.
    pub(super) postmark: Option<NamedRun>,
    /// Trees, where these are their names.
    pub(super) trees: Option<Arc<TreeFiles>>,
    /// How far workers came behind the last wall.
    pub(super) mark: Arc<WallMark>,
    /// What opens them where MPI-IO is to.
    pub(super) mpi_io: Option<Arc<dyn MpiIo>>,
}

/// A run of PostMark, reckoned once.
pub(crate) struct NamedRun {
    pub(super) run: Postmark,
    /// Bytes of all its files at the most.
    pub(super) peak_bytes: u64,
}

impl NamedRun {
    fn of(run: &Postmark) -> NamedRun {
        NamedRun { peak_bytes: run.peak_bytes(), run: run.clone() }
    }
}

/// The run of PostMark that a simulated target's files are of, where they are.
pub(crate) fn named_run(workload: &Workload, target: &str) -> Option<NamedRun> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == target);
    let mut steps = groups.filter_map(|group| group.work.program()).flat_map(|program| program.postmarks());
    steps.next().map(|step| NamedRun::of(&step.run))
}

/// Paths one behind the other: those of many small files are asked for in any order, and are to be found in the
/// processor's caches.
struct PathList {
    /// Each with its NUL.
    text: Vec<u8>,
    /// Where each begins in it, and where the last one ends.
    bounds: Vec<usize>,
}

impl PathList {
    fn new(paths: impl Iterator<Item = PathBuf>) -> PathList {
        let (mut text, mut bounds) = (Vec::new(), vec![0]);
        for path in paths {
            // A path with a NUL in it is no path: it stays empty, and the system says so.
            let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default();
            text.extend_from_slice(path.as_bytes_with_nul());
            bounds.push(text.len());
        }
        PathList { text, bounds }
    }

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// A path with its NUL.
    #[inline]
    fn bytes(&self, number: u32) -> Option<&[u8]> {
        let number = number as usize;
        let (from, to) = (*self.bounds.get(number)?, *self.bounds.get(number + 1)?);
        self.text.get(from..to)
    }

    #[inline]
    fn get(&self, number: u32) -> Option<&CStr> {
        CStr::from_bytes_with_nul(self.bytes(number)?).ok()
    }
}

/// Names by number.
pub(super) struct FileTable {
    paths: PathList,
    /// Length of what stands before a file's name in its path.
    directory_bytes: usize,
    /// The directories that the user typed.
    roots: Arc<Roots>,
    /// Of each name: its root, and the length of what stands before the rest of its path. Names that follow one another mostly share
    /// both.
    places: Vec<NamePlace>,
    /// Files of these names are marked as they are made, so that they are known again.
    marks: Option<MadeFiles>,
    /// Names of files that the user allowed: what replaces them is not marked.
    allowed: Vec<u32>,
    /// Names of files that somebody else made and that held nothing: what replaces them is lent, too.
    lent: Vec<u32>,
}

/// Root and prefix of the names from one number on, up to the next entry's.
struct NamePlace {
    from: u32,
    root: u32,
    skip: usize,
}

/// Finds the root and prefix of each path.
fn places_of(paths: &[PathBuf], roots: &Roots) -> Vec<NamePlace> {
    let mut places: Vec<NamePlace> = Vec::new();
    for (from, path) in (0..).zip(paths) {
        let (root, rest) = roots.find(path).unwrap_or((usize::MAX, path));
        // The rest is a part of the path: its address tells where it begins.
        let begins = |path: &Path| path.as_os_str().as_bytes().as_ptr() as usize;
        let (root, skip) = (root as u32, begins(rest).saturating_sub(begins(path)));
        if places.last().is_none_or(|last| (last.root, last.skip) != (root, skip)) {
            places.push(NamePlace { from, root, skip });
        }
    }
    places
}

impl FileTable {
    /// The number of the root of a name, and the path from there on.
    #[inline]
    pub(super) fn beneath(&self, number: u32) -> Option<(u32, &CStr)> {
        let path = self.paths.bytes(number)?;
        let place = match self.places.as_slice() {
            [place] => place,
            places => places.get(places.partition_point(|place| place.from <= number).checked_sub(1)?)?,
        };
        Some((place.root, CStr::from_bytes_with_nul(path.get(place.skip..)?).ok()?))
    }

    /// The directories of the user's.
    pub(super) fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// Whether names lie in directories below those of the user's.
    pub(super) fn has_directories(&self) -> bool {
        (0..self.count() as u32)
            .any(|number| self.beneath(number).is_some_and(|(_, path)| path.to_bytes().contains(&b'/')))
    }

    #[inline]
    pub(super) fn path(&self, number: u32) -> Option<&CStr> {
        self.paths.get(number)
    }

    /// What a link to the file says that lies beside it.
    pub(super) fn name(&self, number: u32) -> Option<&CStr> {
        let path = self.path(number)?.to_bytes_with_nul();
        CStr::from_bytes_with_nul(path.get(self.directory_bytes..)?).ok()
    }

    pub(super) fn path_buf(&self, number: u32) -> PathBuf {
        let path = self.path(number).map(CStr::to_bytes).unwrap_or_default();
        PathBuf::from(std::ffi::OsStr::from_bytes(path))
    }

    pub(super) fn count(&self) -> usize {
        self.paths.len()
    }

    /// A file was made under the name of this number.
    #[cold]
    pub(super) fn made(&self, number: u32, file: BorrowedFd<'_>) {
        let Some(made) = self.marks.as_ref().filter(|_| !self.allowed.contains(&number)) else { return };
        // A tool may remove the file and make it anew; the owner of the first one takes the second for theirs.
        let mark = if self.lent.contains(&number) { mark_lent } else { mark_made };
        mark(file, &self.path_buf(number), made);
    }
}

impl ScratchFiles {
    pub(crate) fn first_path(&self) -> &Path {
        &self.first_path
    }

    /// The directories of the user's in which they lie.
    pub(crate) fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.table.roots)
    }

    /// The directory of the first name.
    pub(crate) fn directory(&self) -> PathBuf {
        let parent = self.path(0).parent().map(Path::to_owned).unwrap_or_default();
        if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent }
    }

    /// How many names.
    pub(crate) fn count(&self) -> usize {
        self.table.count()
    }

    /// The path of a name.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        self.table.path_buf(number as u32)
    }

    /// A door for its files.
    pub(crate) fn door(&self) -> Door {
        self.guard.door(Naming::Said, self.table.marks.clone()).within(Arc::clone(&self.table.roots))
    }
}

/// Looks at what bears the names of a scratch directory, and refuses where a program would change what is not its own.
///
/// # Errors
/// [`Refusal`], with the way out.
pub(crate) fn open(
    name: &str,
    target: &ScratchTarget,
    workload: &Workload,
    guard: &Guard,
    setting: &Setting<'_>,
) -> Result<ScratchFiles, Refusal> {
    if let Names::Trees(names) = &target.names {
        let trees = trees::open(name, target, names, workload, guard, setting)?;
        let table = FileTable {
            paths: PathList::new(std::iter::empty()),
            directory_bytes: 0,
            roots: Arc::clone(&trees.roots),
            places: Vec::new(),
            marks: None,
            allowed: Vec::new(),
            lent: Vec::new(),
        };
        let (table, first_path) = (Arc::new(table), trees.first_path());
        let trees = Some(Arc::new(trees));
        return Ok(ScratchFiles {
            table,
            first_path,
            guard: guard.clone(),
            postmark: None,
            trees,
            mark: Arc::default(),
            mpi_io: None,
        });
    }
    let base = match target.path.as_os_str().is_empty() {
        true => setting.base.to_owned(),
        false => Paths::new(&Names::Said(vec![target.path.clone()]), setting.base).path(0),
    };
    let paths = Paths::new(&target.names, &base);
    let said = !paths.are_generated();
    let all: Vec<PathBuf> = (0..paths.count()).map(|number| paths.path(number)).collect();
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == name);
    let programs = groups.filter_map(|group| match &group.work {
        Work::Program(program) => Some((&**program, group.count)),
        _ => None,
    });
    let postmark = match &target.names {
        Names::Postmark(run) => Some(NamedRun::of(run)),
        _ => None,
    };
    let (mut changes, mut most_bytes) = (false, postmark.as_ref().map_or(0, |named| named.peak_bytes));
    for (program, workers) in programs.filter(|(program, _)| program.changes()) {
        changes = true;
        most_bytes = most_bytes.max(needed_bytes(program).saturating_mul(workers.into()));
    }
    let of_phases = workload.phase.iter().map(|phase| bytes_of_segments(name, phase));
    most_bytes = most_bytes.max(of_phases.max().unwrap_or(0));
    let made = setting.test_dirs.made_files();
    let typed = crate::files::paths::typed(&target.typed, &base);
    let roots = Arc::new(Roots::new(&typed, all.iter().cloned(), Pinning::Pinned));
    let (mut allowed, mut lent) = (Vec::new(), Vec::new());
    if changes {
        let removes = groups_of(workload, name).any(|program| program.all_steps().any(removes));
        let naming = if said { Naming::Said } else { Naming::Generated };
        let mut door = guard.door(naming, Some(made.clone())).within(Arc::clone(&roots));
        let mut occupied = 0;
        for (number, path) in all.iter().enumerate() {
            match door.look(path) {
                Ok(FoundName::Directory) => continue,
                // A link that leads nowhere is not replaced either.
                Ok(FoundName::Nothing) => {
                    door.admit_removal(path)?;
                    continue;
                }
                // A directory that a program makes first is not there yet.
                Err(Refusal::NoDirectory { .. }) if number > 0 => continue,
                Ok(FoundName::File { occupied_bytes, .. }) => occupied += occupied_bytes,
                Ok(_) => {}
                Err(refusal) => return Err(refusal),
            }
            // Nothing is made, and nothing is changed: only whether it may be.
            match door.open(path, Create::Never)?.origin {
                PassReason::Allowed => allowed.push(number as u32),
                PassReason::Blank => lent.push(number as u32),
                // `/dev/null` takes what is written to it, and is not to be removed for that.
                PassReason::Sink if removes => {
                    let expected = "a file: the program removes what it has written to";
                    return Err(Refusal::WrongKind { path: path.clone(), found: "a character device", expected });
                }
                _ => {}
            }
        }
        if let Some(first) = all.first() {
            door.admit(first, most_bytes.saturating_sub(occupied))?;
        }
    }
    let exists = all.first().is_some_and(|path| path.exists());
    let first_path = match all.first() {
        Some(path) if exists => path.clone(),
        Some(path) => path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned(),
        None => base.clone(),
    };
    let directory_bytes =
        if base.as_os_str().is_empty() || base == Path::new(".") { 0 } else { base.as_os_str().len() + 1 };
    // A mark is a call for each file; PostMark's live for a moment, and nothing of them is there behind a run.
    let marked = said && postmark.is_none();
    let places = places_of(&all, &roots);
    let paths = PathList::new(all.into_iter());
    let marks = marked.then_some(made);
    let table = FileTable { paths, directory_bytes, roots, places, marks, allowed, lent };
    Ok(ScratchFiles {
        table: Arc::new(table),
        first_path,
        guard: guard.clone(),
        postmark,
        trees: None,
        mark: Arc::default(),
        mpi_io: setting.mpi_io.clone(),
    })
}

/// The programs over a target.
fn groups_of<'w>(workload: &'w Workload, target: &'w str) -> impl Iterator<Item = &'w Program> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    groups.filter(move |group| group.target == target).filter_map(|group| group.work.program())
}

/// Whether a step removes a file.
fn removes(step: &Step) -> bool {
    match step {
        Step::Unlink { .. } | Step::Postmark(_) => true,
        Step::OfFile(step) => step.does == FileWork::Remove,
        _ => false,
    }
}

/// Bytes from the beginning of a file to the end of what a program may write of it. How much a wall lets through is not
/// known; the disk's floor of free space ends what goes on too long.
fn needed_bytes(program: &Program) -> u64 {
    let reach = |transfer: &Transfer| if transfer.wall.is_some() { transfer.record.0 } else { transfer.end() };
    program.transfers().map(reach).max().unwrap_or(0)
}

/// Bytes that the workers of a phase write into segments, each into its own.
fn bytes_of_segments(target: &str, phase: &Phase) -> u64 {
    let groups = phase.workers.iter().filter(|group| group.target == target);
    let written = groups.filter_map(|group| Some((group.work.program()?, group.count))).flat_map(|(program, count)| {
        let walled = |transfer: &&Transfer| transfer.wall.is_none() && transfer.writes();
        let segments =
            program.transfers().filter(walled).filter(|transfer| matches!(transfer.order, RecordOrder::Segments(_)));
        segments.map(move |transfer| transfer.bytes().saturating_mul(count.into()))
    });
    written.fold(0, u64::saturating_add)
}
