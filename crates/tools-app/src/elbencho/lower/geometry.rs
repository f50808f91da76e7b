//! Sizes and kinds of paths, resolved before the work is divided between threads.

use super::{Found, LowerError, Places, error};
use crate::elbencho::settings::ElbenchoSettings;
use std::path::Path;

/// Kind of the benchmark paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathType {
    Directory,
    File,
    Device,
}

impl PathType {
    /// Returns the name that elbencho prints.
    pub const fn name(self) -> &'static str {
        match self {
            PathType::Directory => "dir",
            PathType::File => "file",
            PathType::Device => "blockdev",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Kind of all paths.
    pub path_type: PathType,
    /// Size of each file or device, bytes.
    pub file_bytes: u64,
    /// Size of an op, bytes.
    pub block_bytes: u64,
    /// Bytes at random offsets, in all threads together.
    pub random_bytes: u64,
    /// Whether random offsets may be unaligned to the block size.
    pub unaligned: bool,
    /// Contents of the custom tree, if there is one.
    pub tree: Option<TreeCounts>,
}

/// Smallest alignment for direct I/O, bytes.
const SECTOR: u64 = 512;

pub(super) fn geometry(
    settings: &ElbenchoSettings,
    places: &mut dyn Places,
    notes: &mut Vec<String>,
) -> Result<Geometry, LowerError> {
    let found: Vec<Found> = settings.paths.iter().map(|path| places.find(path)).collect();
    let path_type = path_type(settings, &found)?;
    // elbencho maps the file anyway, and audits could take its result for direct I/O.
    if settings.ops.direct && settings.ops.mmap {
        return error("--mmap always goes through the page cache; remove --direct");
    }
    if settings.tree.is_some() {
        return tree_geometry(settings, path_type);
    }
    let moves = settings.phases.moves_data();
    let mut file_bytes = settings.dataset.size;
    if path_type != PathType::Directory {
        for (path, found) in settings.paths.iter().zip(&found) {
            if *found == Found::Absent && settings.phases.write {
                check_parent(path, places)?;
            }
            check_size(settings, path, *found, &mut file_bytes, notes)?;
        }
    }
    if settings.ops.block == 0 && file_bytes > 0 && moves {
        return error("--block is 0; give a block size, such as -b 1m");
    }
    let block_bytes = settings.ops.block.min(file_bytes);
    if (settings.ops.direct || settings.order.rand || settings.order.strided)
        && moves
        && block_bytes > 0
        && !file_bytes.is_multiple_of(block_bytes)
    {
        let whole = file_bytes - file_bytes % block_bytes;
        notes.push(format!(
            "direct, random and strided I/O need whole blocks: file size reduced from {file_bytes} to {whole}"
        ));
        file_bytes = whole;
    }
    let unaligned = settings.order.rand_unaligned && settings.order.rand && !settings.ops.direct;
    if settings.ops.direct && moves && !block_bytes.is_multiple_of(SECTOR) {
        return error(format!(
            "direct I/O needs blocks that are a multiple of {SECTOR} bytes, and {block_bytes} is not; use another \
             --block"
        ));
    }
    let mut random_bytes = settings.order.rand_amount;
    if path_type == PathType::Directory {
        if settings.order.strided {
            return error("--strided applies to files or devices; name those instead of a directory");
        }
    } else if moves {
        let threads = u64::from(settings.hosts.threads(settings.part, settings.threads, 0).all);
        let blocks = file_bytes.div_ceil(block_bytes.max(1)).saturating_mul(settings.paths.len() as u64);
        if blocks < threads {
            return error(format!(
                "{blocks} blocks of {block_bytes} bytes are not enough for {threads} threads; use a larger --size, smaller \
                 blocks or fewer threads"
            ));
        }
        if settings.order.rand {
            if random_bytes == 0 {
                random_bytes = file_bytes.saturating_mul(settings.paths.len() as u64);
            }
            let round = block_bytes.saturating_mul(threads);
            if random_bytes < round && !settings.schedule.infinite {
                return error(format!(
                    "--randamount of {random_bytes} bytes is less than one block per thread; use at least {round}"
                ));
            }
            if !unaligned && !random_bytes.is_multiple_of(round) {
                let whole = random_bytes - random_bytes % round;
                notes.push(format!(
                    "random I/O needs whole blocks per thread: amount reduced from {random_bytes} bytes to {whole}"
                ));
                random_bytes = whole;
            }
        }
    }
    Ok(Geometry { path_type, file_bytes, block_bytes, random_bytes, unaligned, tree: None })
}

/// Returns the geometry of a tree, in which each file has its own size.
fn tree_geometry(settings: &ElbenchoSettings, path_type: PathType) -> Result<Geometry, LowerError> {
    let moves = settings.phases.moves_data();
    if path_type != PathType::Directory || settings.paths.len() > 1 {
        return error("a tree (--treefile, --treescan) needs one directory; name it as the only benchmark path");
    }
    if settings.order.strided {
        return error("--strided applies to files or devices; use --treeroundrob for a tree");
    }
    if moves && settings.ops.block == 0 {
        return error("--block is 0; give a block size, such as -b 1m");
    }
    if settings.ops.direct && moves && !settings.ops.block.is_multiple_of(SECTOR) {
        return error(format!(
            "direct I/O needs blocks that are a multiple of {SECTOR} bytes, and {} is not; use another --block",
            settings.ops.block
        ));
    }
    Ok(Geometry {
        path_type,
        file_bytes: settings.dataset.size,
        block_bytes: settings.ops.block,
        random_bytes: 0,
        unaligned: settings.order.rand_unaligned && settings.order.rand && !settings.ops.direct,
        tree: None,
    })
}

fn path_type(settings: &ElbenchoSettings, found: &[Found]) -> Result<PathType, LowerError> {
    let phases = settings.phases;
    let of = |found: &Found| match found {
        Found::Directory => PathType::Directory,
        Found::Device { .. } => PathType::Device,
        Found::Absent | Found::File { .. } | Found::Other => PathType::File,
    };
    let Some(first) = found.first().map(of) else { return error("no benchmark path given") };
    for (path, found) in settings.paths.iter().zip(found) {
        if of(found) != first {
            return error(format!(
                "{path} is a different kind of path from {}; name only directories, only files or only devices",
                settings.paths[0]
            ));
        }
        if path.starts_with("/dev/") && matches!(found, Found::Absent | Found::Directory) {
            return error(format!("the device {path} does not exist; Plumb creates nothing below /dev"));
        }
    }
    if first != PathType::Directory && (phases.mkdirs || phases.deldirs) {
        return error(
            "--mkdirs and --deldirs need a directory as benchmark path; create it first, or remove the options",
        );
    }
    if first != PathType::Directory && phases.stat {
        return error("--stat needs a directory as benchmark path; create it first, or remove the option");
    }
    if first == PathType::Device && phases.delfiles {
        return error("--delfiles cannot delete a block device; remove the option");
    }
    Ok(first)
}

/// Checks that the directory of a new file exists.
fn check_parent(path: &str, places: &mut dyn Places) -> Result<(), LowerError> {
    let parent = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
    if parent.is_empty() || places.find(parent) != Found::Absent {
        return Ok(());
    }
    error(format!("{path} cannot be created: the directory {parent} does not exist; create it: mkdir -p {parent}"))
}

/// Returns the size of a file or device: the given one, or the actual one.
fn check_size(
    settings: &ElbenchoSettings,
    path: &str,
    found: Found,
    file_bytes: &mut u64,
    notes: &mut Vec<String>,
) -> Result<(), LowerError> {
    let phases = settings.phases;
    let there = match found {
        Found::File { bytes } | Found::Device { bytes } => bytes,
        _ => 0,
    };
    if !phases.read && !phases.write {
        if found == Found::Absent && phases.delfiles {
            return error(format!("{path} does not exist (No such file or directory); there is nothing to delete"));
        }
        if *file_bytes == 0 {
            *file_bytes = there;
        }
        return Ok(());
    }
    if *file_bytes == 0 {
        if found == Found::Absent && !phases.write {
            return error(format!("{path} does not exist (No such file or directory); write it first (-w)"));
        }
        if there == 0 && settings.dataset.size_given {
            return error(format!("{path}: --size 0 leaves nothing to write or read; use --size above 0"));
        }
        if there == 0 {
            return error(format!("{path} is empty and no size is given; use --size"));
        }
        notes.push(format!("using the size of {path}: {there} bytes"));
        *file_bytes = there;
    }
    let short = there < *file_bytes;
    match found {
        Found::Device { .. } if short => {
            error(format!("{path} has {there} bytes, less than --size {file_bytes}; use a smaller --size"))
        }
        Found::Absent if !phases.write => {
            error(format!("{path} does not exist (No such file or directory); write it first (-w)"))
        }
        Found::File { .. } if short && !phases.write => error(format!(
            "{path} has {there} bytes, less than --size {file_bytes}; write it first (-w), or use a smaller --size"
        )),
        _ => Ok(()),
    }
}

/// Numbers of directories and files in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeCounts {
    pub dirs: usize,
    /// Files that a single thread handles.
    pub alone: usize,
    /// Files shared by several threads.
    pub shared: usize,
}
