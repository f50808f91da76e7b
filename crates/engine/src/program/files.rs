//! The files of a scratch directory: their names, and what may be done to them.

use super::trees::{self, TreeFiles, WallMark};
use crate::files::paths::Paths;
use crate::guard::{Create, Door, FoundName, Guard, Naming, PassReason, Pinning, Refusal, Roots};
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
    /// A program writes to its files.
    changes: bool,
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
            // A path that contains a NUL stays empty, so that calls on it fail with ENOENT.
            let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default();
            text.extend_from_slice(path.as_bytes_with_nul());
            bounds.push(text.len());
        }
        PathList { text, bounds }
    }

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns a path, NUL included.
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

/// The names of a target's files, by number.
pub(super) struct FileTable {
    paths: PathList,
    /// Length of a path's prefix before the file's name.
    directory_bytes: usize,
    /// Marks files when they are created, so that the run's other workers recognise them. If `None`, the run registers
    /// them at its end, because each mark costs a system call.
    marks: Option<Guard>,
    /// The directories that the user typed.
    roots: Arc<Roots>,
    /// Root and prefix length of each name, run-length encoded: consecutive names mostly share both.
    places: Vec<NamePlace>,
    /// Numbers of files that the user allowed; files that replace them are not marked.
    allowed: Vec<u32>,
    /// Numbers of blank files that Plumb did not make; files that replace them are lent, too.
    lent: Vec<u32>,
}

/// Root and prefix length of the names from `from` up to the next entry.
struct NamePlace {
    from: u32,
    root: u32,
    skip: usize,
}

/// Finds the root and the prefix length of each path.
fn places_of(paths: &[PathBuf], roots: &Roots) -> Vec<NamePlace> {
    let mut places: Vec<NamePlace> = Vec::new();
    for (from, path) in (0..).zip(paths) {
        let (root, rest) = roots.find(path).unwrap_or((usize::MAX, path));
        // `rest` is a slice of the path, so the difference of their addresses is the prefix length.
        let begins = |path: &Path| path.as_os_str().as_bytes().as_ptr() as usize;
        let (root, skip) = (root as u32, begins(rest).saturating_sub(begins(path)));
        if places.last().is_none_or(|last| (last.root, last.skip) != (root, skip)) {
            places.push(NamePlace { from, root, skip });
        }
    }
    places
}

impl FileTable {
    /// Returns the root of a name, and the path relative to it.
    #[inline]
    pub(super) fn beneath(&self, number: u32) -> Option<(u32, &CStr)> {
        let path = self.paths.bytes(number)?;
        let place = match self.places.as_slice() {
            [place] => place,
            places => places.get(places.partition_point(|place| place.from <= number).checked_sub(1)?)?,
        };
        Some((place.root, CStr::from_bytes_with_nul(path.get(place.skip..)?).ok()?))
    }

    /// Returns the directories that the user typed.
    pub(super) fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// Returns `true` if a file is in a subdirectory of those that the user typed.
    pub(super) fn has_directories(&self) -> bool {
        (0..self.count() as u32)
            .any(|number| self.beneath(number).is_some_and(|(_, path)| path.to_bytes().contains(&b'/')))
    }

    #[inline]
    pub(super) fn path(&self, number: u32) -> Option<&CStr> {
        self.paths.get(number)
    }

    /// Returns the file's name without its directory: the content of a link in the same directory.
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

    /// Marks a file that was created under the name of this number.
    #[cold]
    pub(super) fn made(&self, number: u32, file: BorrowedFd<'_>) {
        let Some(guard) = self.marks.as_ref().filter(|_| !self.allowed.contains(&number)) else { return };
        // A tool may remove and recreate a lent file; its owner will take the new one for theirs.
        match self.lent.contains(&number) {
            true => guard.take_lent(file, &self.path_buf(number)),
            false => guard.take_made(file, &self.path_buf(number)),
        }
    }
}

impl ScratchFiles {
    pub(crate) fn first_path(&self) -> &Path {
        &self.first_path
    }

    /// Returns the directories that the user typed and that contain the files.
    pub(crate) fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.table.roots)
    }

    /// Returns the directory of the first file.
    pub(crate) fn directory(&self) -> PathBuf {
        let parent = self.path(0).parent().map(Path::to_owned).unwrap_or_default();
        if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent }
    }

    /// Returns the number of names.
    pub(crate) fn count(&self) -> usize {
        self.table.count()
    }

    /// Returns the path of file `number`.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        self.table.path_buf(number as u32)
    }

    /// Lists its files for the guard, which registers those that exist at the end of the run.
    pub(crate) fn list_files(&self, guard: &Guard) {
        // PostMark removes its files, possibly a hundred thousand.
        if !self.changes || self.postmark.is_some() {
            return;
        }
        for number in (0..self.count()).filter(|&number| !self.table.allowed.contains(&(number as u32))) {
            match self.table.marks {
                Some(_) => guard.look_later(self.path(number)),
                None => guard.register_later(self.path(number), self.table.lent.contains(&(number as u32))),
            }
        }
    }

    /// A door for its files.
    pub(crate) fn door(&self) -> Door {
        self.guard.door(Naming::Said).within(Arc::clone(&self.table.roots))
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
            changes: false,
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
    let typed = crate::files::paths::typed(&target.typed, &base);
    let roots = Arc::new(Roots::new(&typed, all.iter().cloned(), Pinning::Pinned));
    let (mut allowed, mut lent) = (Vec::new(), Vec::new());
    if changes {
        let removes = groups_of(workload, name).any(|program| program.all_steps().any(removes));
        let naming = if said { Naming::Said } else { Naming::Generated };
        let mut door = guard.door(naming).within(Arc::clone(&roots));
        let mut occupied = 0;
        for (number, path) in all.iter().enumerate() {
            match door.look(path) {
                Ok(FoundName::Directory) => continue,
                // A dangling link is not replaced either.
                Ok(FoundName::Nothing) => {
                    door.admit_removal(path)?;
                    continue;
                }
                // The program may create the directory later.
                Err(Refusal::NoDirectory { .. }) if number > 0 => continue,
                Ok(FoundName::File { occupied_bytes, .. }) => occupied += occupied_bytes,
                Ok(_) => {}
                Err(refusal) => return Err(refusal),
            }
            // Opens without creating or changing anything, only to check permission.
            match door.open(path, Create::Never)?.origin {
                PassReason::Allowed => allowed.push(number as u32),
                PassReason::Blank => lent.push(number as u32),
                // Writing to `/dev/null` is harmless, but removing it is not.
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
    let marks = marked.then(|| guard.clone());
    let table = FileTable { paths, directory_bytes, roots, places, marks, allowed, lent };
    Ok(ScratchFiles {
        table: Arc::new(table),
        first_path,
        guard: guard.clone(),
        changes,
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
