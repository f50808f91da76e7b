//! Custom trees: which files, or parts of files, of a list each thread works on.
//!
//! Files smaller than the share size are sorted by size and dealt to the threads round-robin. The blocks of larger
//! files form one sequence in list order; each thread gets a contiguous part of it, or every Nth block. Source:
//! elbencho 3.1-10, observed with `strace`.
//! observed with `strace`.

use super::geometry::{Geometry, TreeCounts};
use super::{LowerError, Places, error};
use crate::elbencho::settings::{ElbenchoSettings, Phases, TreeSettings};
use crate::elbencho::tree::{self, TreeFile, TreeListing};
use plumb_workload::Bytes;
use plumb_workload::blocks::sweep::FilePart;
use plumb_workload::files::{JobFiles, Names};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// By default, files of at least this many blocks are shared.
const SHARED_FROM_BLOCKS: u64 = 32;

/// A tree, sorted for the threads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CustomTree {
    /// Directories; parents precede their contents.
    pub(super) dirs: Vec<String>,
    /// Files that a single thread handles, the smallest first.
    pub(super) alone: Vec<TreeFile>,
    /// Files that threads share, in the list's order.
    pub(super) shared: Vec<TreeFile>,
}

/// The files of one thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThreadFiles {
    pub(super) files: JobFiles,
    pub(super) parts: Vec<FilePart>,
    /// Number of the first files that the thread does completely; it does parts of the others.
    pub(super) whole: u32,
}

/// Reads the tree file that the settings name, or scans the directory that they name.
pub(super) fn custom_tree(
    settings: &ElbenchoSettings,
    places: &mut dyn Places,
    notes: &mut Vec<String>,
) -> Result<Option<CustomTree>, LowerError> {
    let Some(options) = &settings.tree else { return Ok(None) };
    let tree = read(options, places, notes)?;
    Ok(Some(CustomTree::new(tree, options, settings)))
}

fn read(options: &TreeSettings, places: &mut dyn Places, notes: &mut Vec<String>) -> Result<TreeListing, LowerError> {
    let name = options.file.as_deref().or(options.scan.as_deref()).unwrap_or_default();
    let text = match &options.scan {
        Some(scan) => {
            let entries = places.look_through(scan).map_err(|what| LowerError(format!("--treescan: {what}")))?;
            let files = entries.iter().filter(|entry| matches!(entry, tree::Entry::File { .. })).count();
            notes.push(format!("{scan}: {files} files and {} directories", entries.len() - files));
            let text = tree::text(&entries);
            if let Some(file) = &options.file {
                places.keep_tree(file, &text).map_err(|what| LowerError(format!("--treefile: {what}")))?;
            }
            text.into_bytes()
        }
        None => places.tree_file(name).map_err(|what| LowerError(format!("--treefile: {what}")))?,
    };
    tree::parse(name, &text).map_err(|what| LowerError(format!("--treefile: {what}")))
}

/// Limit of blocks dealt one by one to a thread. Each takes some tens of bytes.
const PARTS_MAX: u64 = 4 << 20;

impl CustomTree {
    fn new(tree: TreeListing, options: &TreeSettings, settings: &ElbenchoSettings) -> CustomTree {
        let Phases { mkdirs, deldirs, write, stat, read, delfiles, .. } = settings.phases;
        let TreeListing { mut dirs, mut files } = tree;
        if !(mkdirs || deldirs) {
            dirs.clear();
        }
        if !(write || stat || read || delfiles) {
            files.clear();
        }
        dirs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        if options.round_up > 0 {
            let up = |bytes: u64| bytes.checked_next_multiple_of(options.round_up).unwrap_or(u64::MAX);
            files.iter_mut().for_each(|file| file.bytes = up(file.bytes));
        }
        let from = match options.share_from {
            Some(bytes) => bytes,
            None => settings.ops.block.saturating_mul(SHARED_FROM_BLOCKS),
        };
        let (shared, mut alone): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.bytes >= from.max(1));
        alone.sort_by(|a, b| (a.bytes, &a.path).cmp(&(b.bytes, &b.path)));
        CustomTree { dirs, alone, shared }
    }

    pub(super) fn counts(&self) -> TreeCounts {
        TreeCounts { dirs: self.dirs.len(), alone: self.alone.len(), shared: self.shared.len() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.alone.iter().chain(&self.shared).fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// Returns the directories that a thread creates.
    pub(super) fn dirs_of(&self, settings: &ElbenchoSettings, rank: u32, threads: u32) -> Vec<PathBuf> {
        let dealt = self.dirs.iter().skip(rank as usize).step_by(threads as usize);
        dealt.map(|dir| below(settings, dir)).collect()
    }

    /// Returns all directories; contents precede their parent.
    pub(super) fn dirs_to_remove(&self, settings: &ElbenchoSettings) -> Vec<PathBuf> {
        self.dirs.iter().rev().map(|dir| below(settings, dir)).collect()
    }

    /// Returns the files and parts of files of a thread; `None` if it has none.
    pub(super) fn files_of(
        &self,
        settings: &ElbenchoSettings,
        geometry: &Geometry,
        rank: u32,
        threads: u32,
    ) -> Result<Option<ThreadFiles>, LowerError> {
        let dealt = self.alone.iter().skip(rank as usize).step_by(threads as usize);
        let mut pieces: Vec<Piece<'_>> =
            dealt.map(|file| Piece { file, shared: None, start: 0, length: file.bytes }).collect();
        let block = geometry.block_bytes.max(1);
        let round_robin = settings.tree.as_ref().is_some_and(|tree| tree.round_robin);
        let parts = self.shared.iter().map(|file| file.bytes.div_ceil(block)).fold(0, u64::saturating_add);
        if round_robin && parts / u64::from(threads) > PARTS_MAX {
            return error(format!(
                "--treeroundrob deals {parts} blocks of {block} bytes one by one, more than {PARTS_MAX} for each thread; use a \
                 larger --block"
            ));
        }
        match round_robin {
            true => self.every_nth(block, threads, rank, &mut pieces),
            false => self.stretch(block, threads, rank, &mut pieces),
        }
        if settings.ops.direct && settings.order.rand && settings.phases.moves_data() {
            refuse_small(&pieces, block)?;
        }
        if pieces.is_empty() {
            return Ok(None);
        }
        let mut of_thread = numbered(settings, &pieces);
        if settings.tree.as_ref().is_some_and(|tree| tree.random) {
            shuffle(&mut of_thread.parts, rank);
        }
        Ok(Some(of_thread))
    }

    /// Adds a contiguous part of the block sequence of the shared files. The last thread gets the remainder.
    fn stretch<'t>(&'t self, block: u64, threads: u32, rank: u32, pieces: &mut Vec<Piece<'t>>) {
        let blocks = |file: &TreeFile| file.bytes.div_ceil(block);
        let all = self.shared.iter().map(blocks).fold(0, u64::saturating_add);
        let each = all / u64::from(threads);
        let first = u64::from(rank).saturating_mul(each);
        let end = if rank == threads - 1 { all } else { first.saturating_add(each) };
        let mut begins = 0;
        for (number, file) in self.shared.iter().enumerate() {
            let ends = blocks(file).saturating_add(begins);
            let (from, to) = (first.max(begins), end.min(ends));
            if from < to {
                let start = (from - begins).saturating_mul(block).min(file.bytes);
                let length = ((to - from).saturating_mul(block)).min(file.bytes - start);
                pieces.push(Piece { file, shared: Some(number), start, length });
            }
            begins = ends;
        }
    }

    /// Adds every Nth block of the block sequence of the shared files, each as a separate part.
    fn every_nth<'t>(&'t self, block: u64, threads: u32, rank: u32, pieces: &mut Vec<Piece<'t>>) {
        let threads = u64::from(threads);
        let mut begins = 0;
        for (number, file) in self.shared.iter().enumerate() {
            let blocks = file.bytes.div_ceil(block);
            let skipped = (u64::from(rank) + threads - begins % threads) % threads;
            if u64::from(rank) < threads {
                pieces.extend((skipped..blocks).step_by(threads as usize).map(|at| {
                    let start = at * block;
                    Piece { file, shared: Some(number), start, length: block.min(file.bytes - start) }
                }));
            }
            begins = blocks.saturating_add(begins);
        }
    }
}

/// A file, or a part of one.
struct Piece<'t> {
    file: &'t TreeFile,
    /// Index among the shared files; `None` if it is not shared.
    shared: Option<usize>,
    start: u64,
    length: u64,
}

impl Piece<'_> {
    fn is_whole(&self) -> bool {
        self.length == self.file.bytes
    }
}

/// Numbers the files of a thread, starting with those that it does completely.
fn numbered(settings: &ElbenchoSettings, pieces: &[Piece<'_>]) -> ThreadFiles {
    let (mut paths, mut lengths) = (Vec::new(), Vec::new());
    let mut add = |piece: &Piece<'_>| {
        paths.push(below(settings, &piece.file.path));
        lengths.push(Bytes(piece.file.bytes));
        (paths.len() - 1) as u32
    };
    let mut numbers: Vec<Option<u32>> = pieces.iter().map(|piece| piece.is_whole().then(|| add(piece))).collect();
    let whole = numbers.iter().flatten().count() as u32;
    let mut parts_of: HashMap<usize, u32> = HashMap::new();
    for (piece, number) in pieces.iter().zip(&mut numbers) {
        if let (None, Some(shared)) = (*number, piece.shared) {
            *number = Some(*parts_of.entry(shared).or_insert_with(|| add(piece)));
        }
    }
    let parts = pieces.iter().zip(numbers).filter_map(|(piece, file)| {
        Some(FilePart { file: file?, start: Bytes(piece.start), length: Bytes(piece.length) })
    });
    let parts = parts.collect();
    ThreadFiles {
        files: JobFiles { names: Names::Given(paths), lengths, typed: typed(settings), make_below: None },
        parts,
        whole,
    }
}

fn below(settings: &ElbenchoSettings, path: &str) -> PathBuf {
    settings.paths.first().map_or_else(|| PathBuf::from(path), |directory| Path::new(directory).join(path))
}

fn refuse_small(pieces: &[Piece<'_>], block: u64) -> Result<(), LowerError> {
    match pieces.iter().find(|piece| piece.length < block) {
        None => Ok(()),
        Some(Piece { file, start, length, .. }) => error(format!(
            "direct I/O at random offsets needs whole blocks of {block} bytes, but {} has {length} bytes from byte \
             {start}; use --treeroundup {block}, or another --block",
            file.path
        )),
    }
}

/// Shuffles the parts. The order is the same for the same thread in every run.
fn shuffle(parts: &mut [FilePart], rank: u32) {
    // Splitmix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
    let mut state = plumb_workload::Workload::DEFAULT_SEED ^ u64::from(rank).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    for last in (1..parts.len()).rev() {
        parts.swap(last, (draw() % (last as u64 + 1)) as usize);
    }
}

/// Returns the paths that the user typed. A file among them is reached through its parent directory.
pub(super) fn typed(settings: &ElbenchoSettings) -> Vec<PathBuf> {
    settings.paths.iter().map(PathBuf::from).collect()
}
