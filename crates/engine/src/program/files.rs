//! The files of a scratch directory: their names, and the operations that the guard allows on them.

use super::file_table::{FileTable, NumberedFiles};
use super::postmark::KeptDraws;
use super::trees::{self, TreeFiles, WallMark};
use crate::files::paths::{Paths, paths_within};
use crate::guard::{
    Create, DirectoryEntry, Door, FoundName, Guard, MANY_NAMES, Naming, PassReason, Pinning, Refusal, Roots,
    share_directory,
};
use crate::mpi_io::MpiIo;
use crate::setting::Setting;
use plumb_workload::files::Names;
use plumb_workload::program::{FileWork, Postmark, RecordOrder, Step, Transfer};
use plumb_workload::{Phase, Program, ScratchTarget, Work, Workload};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scratch directory whose files were checked.
pub(crate) struct ScratchFiles {
    pub(super) table: Arc<FileTable>,
    /// Path of the first file, or of its directory if it does not exist.
    first_path: PathBuf,
    guard: Guard,
    /// Whether a program writes to its files.
    changes: bool,
    /// The run of PostMark that the names belong to.
    pub(super) postmark: Option<NamedRun>,
    /// The trees that the names belong to.
    pub(super) trees: Option<Arc<TreeFiles>>,
    /// Results of earlier phases, such as the items completed before the last stonewall.
    pub(super) mark: Arc<WallMark>,
    /// Opens the files if a program uses MPI-IO.
    pub(super) mpi_io: Option<Arc<dyn MpiIo>>,
}

/// A run of PostMark, computed once.
pub(crate) struct NamedRun {
    pub(super) run: Postmark,
    /// Maximum bytes of all its files at a time.
    pub(super) peak_bytes: u64,
    /// State that each phase passes on to the next one.
    pub(super) draws: Arc<KeptDraws>,
}

impl NamedRun {
    fn new(run: &Postmark) -> NamedRun {
        NamedRun { peak_bytes: run.peak_bytes(), run: run.clone(), draws: Arc::default() }
    }
}

/// Returns the run of PostMark on a simulated target, if there is one.
pub(crate) fn named_run(workload: &Workload, target: &str) -> Option<NamedRun> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == target);
    let mut steps = groups.filter_map(|group| group.work.program()).flat_map(|program| program.postmarks());
    steps.next().map(|step| NamedRun::new(&step.run))
}

impl ScratchFiles {
    pub(crate) fn first_path(&self) -> &Path {
        &self.first_path
    }

    /// Returns the directories that the user typed and that contain the files.
    pub(crate) fn roots(&self) -> Arc<Roots> {
        Arc::clone(self.table.roots())
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

    /// Returns the path of file `number`; of a numbered file, in the first directory.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        self.table.path_buf(number as u64)
    }

    /// Lists its files for the guard, which registers those that exist at the end of the run.
    pub(crate) fn list_files(&self, guard: &Guard) {
        // PostMark removes its files, possibly a hundred thousand.
        if !self.changes || self.postmark.is_some() {
            return;
        }
        for number in (0..self.count()).filter(|&number| !self.table.allowed.contains(&(number as u32))) {
            match self.table.marks {
                Some(_) => guard.check_later(self.path(number)),
                None => guard.register_later(self.path(number), self.table.lent.contains(&(number as u32))),
            }
        }
    }

    /// Creates a door of the guard for its files.
    pub(crate) fn door(&self) -> Door {
        self.guard.door(Naming::Typed).with_roots(Arc::clone(self.table.roots()))
    }
}

/// Checks the files with the names of a scratch directory. Refuses them if a program would change
/// files that are not its own.
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
        let table = FileTable::new(Vec::new(), Path::new(""), Arc::clone(&trees.roots));
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
        false => Paths::new(&Names::Given(vec![target.path.clone()]), setting.base).path(0),
    };
    let paths = Paths::new(&target.names, &base);
    let is_typed = !paths.are_generated();
    let listed = paths.into_list();
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == name);
    let programs = groups.filter_map(|group| match &group.work {
        Work::Program(program) => Some((&**program, group.count)),
        _ => None,
    });
    let postmark = match &target.names {
        Names::Postmark(run) => Some(NamedRun::new(run)),
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
    // Of numbered files, one in each directory represents all.
    let numbered_in = postmark.as_ref().map_or(Vec::new(), |named| paths_within(&base, named.run.file_directories()));
    let first_numbered = numbered_in.iter().map(|directory| directory.join("1"));
    let firsts = listed.chunk_by(|one, next| share_directory(one, next)).filter_map(<[PathBuf]>::first).cloned();
    let roots = Arc::new(Roots::new(&typed, firsts.chain(first_numbered), Pinning::Pinned));
    let first = listed.first().cloned().or_else(|| numbered_in.first().map(|directory| directory.join("1")));
    let mut judged = Judged::default();
    if changes {
        let removes = groups_of(workload, name).any(|program| program.all_steps().any(removes));
        let naming = if is_typed { Naming::Typed } else { Naming::Generated };
        let mut door = guard.door(naming).with_roots(Arc::clone(&roots));
        match &postmark {
            None => judged.judge(&mut door, &listed, removes)?,
            Some(named) if has_namesakes(&mut door, &numbered_in, named.run.count())? => {
                judged.judge(&mut door, &paths_within(&base, named.run.paths()), removes)?;
            }
            Some(_) if listed.is_empty() => judged.judge(&mut door, first.as_slice(), removes)?,
            Some(_) => judged.judge(&mut door, &listed, removes)?,
        }
        if let Some(first) = &first {
            door.admit(first, most_bytes.saturating_sub(judged.occupied_bytes))?;
        }
    }
    let first_path = match first {
        Some(path) if path.exists() => path,
        Some(path) => path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned(),
        None => base.clone(),
    };
    let numbered = postmark.as_ref().map(|named| {
        let count = named.run.count() - listed.len();
        NumberedFiles::new(&numbered_in, count, &roots)
    });
    // A mark takes a call per file. PostMark's files live briefly, and none of them is left after a run.
    let marks = (is_typed && postmark.is_none()).then(|| guard.clone());
    let mut table = FileTable::new(listed, &base, roots).followed_by(numbered);
    (table.marks, table.allowed, table.lent) = (marks, judged.allowed, judged.lent);
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

/// Findings from checking the names.
#[derive(Default)]
struct Judged {
    /// Bytes that existing files occupy on their file systems.
    occupied_bytes: u64,
    /// Numbers of files that the user allowed.
    allowed: Vec<u32>,
    /// Numbers of blank files that Plumb did not make.
    lent: Vec<u32>,
}

impl Judged {
    /// Checks the names, and refuses one whose file must not be changed.
    fn judge(&mut self, door: &mut Door, names: &[PathBuf], removes: bool) -> Result<(), Refusal> {
        let mut number = 0;
        for of_directory in names.chunk_by(|one, next| share_directory(one, next)) {
            match self.judge_names(door, of_directory, number, removes) {
                // The program may create the directory later.
                Err(Refusal::NoDirectory { .. }) if number > 0 => {}
                judged => judged?,
            }
            number += of_directory.len();
        }
        Ok(())
    }

    /// Checks names in one directory, of which the first has number `first`. If the directory contains
    /// no files, no name is taken.
    fn judge_names(&mut self, door: &mut Door, names: &[PathBuf], first: usize, removes: bool) -> Result<(), Refusal> {
        if names.len() >= MANY_NAMES
            && let Some(path) = names.first()
            && !door.may_contain_files(path)?
        {
            return Ok(());
        }
        for (number, path) in (first..).zip(names) {
            if !door.is_free(path)? {
                self.judge_taken(door, path, number, removes)?;
            }
        }
        Ok(())
    }

    /// Checks the file under a name that is taken.
    fn judge_taken(&mut self, door: &mut Door, path: &Path, number: usize, removes: bool) -> Result<(), Refusal> {
        match door.find(path)? {
            FoundName::Directory => return Ok(()),
            // A dangling link is not replaced either.
            FoundName::Nothing => return door.admit_removal(path),
            FoundName::File { occupied_bytes, .. } => self.occupied_bytes += occupied_bytes,
            _ => {}
        }
        // Opens without creating or changing anything, only to check permission.
        match door.open(path, Create::Never)?.origin {
            PassReason::Allowed => self.allowed.push(number as u32),
            PassReason::Blank => self.lent.push(number as u32),
            // Writing to `/dev/null` is harmless, but removing it is not.
            PassReason::Sink if removes => {
                let expected = "a file: the program removes what it has written to";
                return Err(Refusal::WrongKind { path: path.to_owned(), found: "a character device", expected });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns `true` if one of these directories may have an entry with the name of one of `count` numbered files. Listing
/// a directory takes one call per few hundred entries, while checking each name takes one call per name.
fn has_namesakes(door: &mut Door, directories: &[PathBuf], count: usize) -> Result<bool, Refusal> {
    let is_namesake = |DirectoryEntry { name, .. }: DirectoryEntry<'_>| {
        let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
        // File systems that normalize names may map other digits to these.
        !name.is_ascii() || number.is_some_and(|number: usize| (1..=count).contains(&number))
    };
    for directory in directories {
        match door.may_contain(&directory.join("1"), count, is_namesake) {
            Ok(true) => return Ok(true),
            // The run creates it.
            Ok(false) | Err(Refusal::NoDirectory { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(false)
}

/// Returns the programs that use a target.
fn groups_of<'w>(workload: &'w Workload, target: &'w str) -> impl Iterator<Item = &'w Program> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    groups.filter(move |group| group.target == target).filter_map(|group| group.work.program())
}

/// Returns `true` if a step removes a file.
fn removes(step: &Step) -> bool {
    match step {
        Step::Unlink { .. } | Step::Postmark(_) => true,
        Step::OfFile(step) => step.does == FileWork::Remove,
        _ => false,
    }
}

/// Returns the end of the last byte that a program may write in a file. With a wall, the amount is unknown, and the
/// free space floor of the disk ends a run that goes on too long.
fn needed_bytes(program: &Program) -> u64 {
    let reach = |transfer: &Transfer| if transfer.wall.is_some() { transfer.record.0 } else { transfer.end() };
    program.transfers().map(reach).max().unwrap_or(0)
}

/// Returns the bytes that the workers of a phase write into segments, each into its own.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Permissions;
    use crate::guard::testing::guard;
    use std::fs;

    /// Protects an existing file among unused names, next to directories that are skipped: it is refused, and
    /// permission applies to exactly this file.
    #[test]
    fn a_file_is_found_by_its_number_after_directories_without_files() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("of-directories/deeper")).unwrap();
        fs::create_dir(at("of-files")).unwrap();
        let mut names = vec![at("of-directories")];
        for directory in ["of-directories", "missing", "of-files"] {
            names.extend((0..2 * MANY_NAMES).map(|number| at(directory).join(number.to_string())));
        }
        let judge = |permissions| {
            let mut judged = Judged::default();
            judged.judge(&mut guard(permissions).door(Naming::Generated), &names, true).map(|()| judged.allowed)
        };
        assert!(judge(Permissions::none()).unwrap().is_empty());
        let last = names.last().unwrap();
        fs::write(last, "precious").unwrap();
        assert!(matches!(judge(Permissions::none()), Err(Refusal::ExistingFile { .. })));
        let allowed = judge(Permissions::parse(last.to_str().unwrap())).unwrap();
        assert_eq!(allowed, [names.len() as u32 - 1]);
        let missing = [at("missing/first")];
        let first = Judged::default().judge(&mut guard(Permissions::none()).door(Naming::Generated), &missing, true);
        assert!(matches!(first, Err(Refusal::NoDirectory { .. })), "the first directory must exist");
    }
}
