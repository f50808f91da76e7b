//! The files of a scratch directory: their names, and what may be done to them.

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
    /// The state that each phase hands on to the next one.
    pub(super) draws: Arc<KeptDraws>,
}

impl NamedRun {
    fn of(run: &Postmark) -> NamedRun {
        NamedRun { peak_bytes: run.peak_bytes(), run: run.clone(), draws: Arc::default() }
    }
}

/// The run of PostMark that a simulated target's files are of, where they are.
pub(crate) fn named_run(workload: &Workload, target: &str) -> Option<NamedRun> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == target);
    let mut steps = groups.filter_map(|group| group.work.program()).flat_map(|program| program.postmarks());
    steps.next().map(|step| NamedRun::of(&step.run))
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
                Some(_) => guard.look_later(self.path(number)),
                None => guard.register_later(self.path(number), self.table.lent.contains(&(number as u32))),
            }
        }
    }

    /// A door for its files.
    pub(crate) fn door(&self) -> Door {
        self.guard.door(Naming::Said).within(Arc::clone(self.table.roots()))
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
        false => Paths::new(&Names::Said(vec![target.path.clone()]), setting.base).path(0),
    };
    let paths = Paths::new(&target.names, &base);
    let said = !paths.are_generated();
    let listed = paths.into_list();
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
    // Of numbered files, one of each directory stands for all.
    let numbered_in = postmark.as_ref().map_or(Vec::new(), |named| paths_within(&base, named.run.file_directories()));
    let first_numbered = numbered_in.iter().map(|directory| directory.join("1"));
    let firsts = listed.chunk_by(|one, next| share_directory(one, next)).filter_map(<[PathBuf]>::first).cloned();
    let roots = Arc::new(Roots::new(&typed, firsts.chain(first_numbered), Pinning::Pinned));
    let first = listed.first().cloned().or_else(|| numbered_in.first().map(|directory| directory.join("1")));
    let mut judged = Judged::default();
    if changes {
        let removes = groups_of(workload, name).any(|program| program.all_steps().any(removes));
        let naming = if said { Naming::Said } else { Naming::Generated };
        let mut door = guard.door(naming).within(Arc::clone(&roots));
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
    // A mark is a call for each file; PostMark's live for a moment, and none of them is left after a run.
    let marks = (said && postmark.is_none()).then(|| guard.clone());
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

/// The findings about the names of files.
#[derive(Default)]
struct Judged {
    /// Bytes that they take of their file systems.
    occupied_bytes: u64,
    /// Numbers of files that the user allowed.
    allowed: Vec<u32>,
    /// Numbers of blank files that Plumb did not make.
    lent: Vec<u32>,
}

impl Judged {
    /// Looks at the names, and refuses where one is of a file that must not be changed.
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

    /// Looks at names of one directory, of which the first has this number. Where that directory has no files, none of them is one.
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

    /// Judges what bears a name that is not free.
    fn judge_taken(&mut self, door: &mut Door, path: &Path, number: usize, removes: bool) -> Result<(), Refusal> {
        match door.look(path)? {
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

/// Whether one of these directories may have an entry that is called like one of `count` numbered files. To list a directory
/// takes a call for some hundred entries; to look at each name, one for each.
fn has_namesakes(door: &mut Door, directories: &[PathBuf], count: usize) -> Result<bool, Refusal> {
    let is_namesake = |DirectoryEntry { name, .. }: DirectoryEntry<'_>| {
        let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
        // File systems that normalise names may take other digits for these.
        !name.is_ascii() || number.is_some_and(|number: usize| (1..=count).contains(&number))
    };
    for directory in directories {
        match door.may_contain(&directory.join("1"), count, is_namesake) {
            Ok(true) => return Ok(true),
            // The run makes it.
            Ok(false) | Err(Refusal::NoDirectory { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(false)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Permissions;
    use crate::guard::testing::guard;
    use std::fs;

    /// Protects a file among names that nothing bears, beside directories that are passed over: it is refused, and is the one
    /// that a permission is for.
    #[test]
    fn a_file_is_found_by_its_number_behind_directories_without_files() {
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
        assert!(matches!(first, Err(Refusal::NoDirectory { .. })), "the first directory must be there");
    }
}
