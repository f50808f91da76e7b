//! Short native workloads: `write = { size = "8GiB", block = "1MiB", depth = 16 }`. Each is a phase, or one
//! phase for each block size.

use super::level_form::OneOrMany;
use super::target::PlotPlace;
use plumb_workload::suggest::nearest;
use plumb_workload::{
    Backend, BlockSize, Blocks, Bytes, CachePolicy, DeviceTarget, End, FileTarget, FilesTarget, Flush, Limit, Mix,
    Nanos, Pattern, Phase, Prepare, SimTarget, Size, Stop, Target, WorkerGroup, Workload,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One op over a file, as a phase; with several block sizes, a phase for each.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct OpForm {
    /// Size of each file. When absent, `1GiB`, or the size from the workload that writes the same path.
    pub size: Option<Size>,
    /// Bytes per op; when absent, 1 MiB in sequence and 4 KiB at random. A list is a phase for each.
    pub block: Option<OneOrMany<Bytes>>,
    /// I/O engine: `auto`, `psync`, `uring`, `libaio`, `posix-aio`, `mmap` …
    pub engine: Option<String>,
    /// Ops in flight for each worker.
    pub depth: u32,
    /// Bypass the page cache.
    pub direct: bool,
    /// Number of files, each with its own worker.
    pub files: u32,
    /// Number of workers; one for each file when absent.
    pub workers: Option<u32>,
    /// The call that makes writes durable within the measured time; `fsync` when absent.
    pub end: Flush,
    /// Ends the phase after this time; when absent, after one pass over the file. `write` ends after
    /// one pass at the latest.
    pub time: Option<Nanos>,
    /// Ends the phase after this many bytes.
    pub bytes: Option<Bytes>,
    /// The file, below the target; `data` when absent.
    pub path: Option<PathBuf>,
    /// State of the page cache before the phase.
    pub cache: Option<CachePolicy>,
    /// Number of writes between two `fsync` calls; 0 for none.
    pub fsync_every: u64,
    /// Allocation of the file's blocks before the phase: `write`, or `allocate`, which moves no data. When absent, the
    /// method that the op needs.
    pub prepare: Option<Prepare>,
    /// Share of reads in per cent, for `random-mix`.
    pub read: Option<u32>,
}

impl Default for OpForm {
    fn default() -> OpForm {
        OpForm {
            size: None,
            block: None,
            engine: None,
            depth: 1,
            direct: false,
            files: 1,
            workers: None,
            end: Flush::Fsync,
            time: None,
            bytes: None,
            path: None,
            cache: None,
            fsync_every: 0,
            prepare: None,
            read: None,
        }
    }
}

/// The kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShortOp {
    /// Writes a new file from end to end.
    Write,
    /// Writes an existing file from end to end.
    Rewrite,
    /// Reads a file from end to end.
    Read,
    /// Writes each block of an existing file once, in random order.
    RandomWrite,
    /// Reads each block once, in random order.
    RandomRead,
    /// Reads and writes in random order.
    RandomMix,
}

impl ShortOp {
    /// Their keys.
    pub(super) const ALL: [(&'static str, ShortOp); 6] = [
        ("write", ShortOp::Write),
        ("rewrite", ShortOp::Rewrite),
        ("read", ShortOp::Read),
        ("random-write", ShortOp::RandomWrite),
        ("random-read", ShortOp::RandomRead),
        ("random-mix", ShortOp::RandomMix),
    ];

    fn is_random(self) -> bool {
        matches!(self, ShortOp::RandomWrite | ShortOp::RandomRead | ShortOp::RandomMix)
    }
}

/// An op of a workload, with its key.
#[derive(Debug, Clone)]
pub(crate) struct NamedOp {
    pub op: ShortOp,
    pub key: &'static str,
    /// The options of the op.
    pub form: OpForm,
}

/// An error in one op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpProblem {
    /// Key of the op.
    pub op: &'static str,
    /// Key within the op.
    pub key: &'static str,
    pub message: String,
    pub help: String,
}

/// Sizes of files by path, over all workloads: one workload may read a file whose size another sets.
pub(super) type FileSizes = BTreeMap<PathBuf, Size>;

/// Path of the file if none is given.
pub(super) const DATA: &str = "data";

/// Size of the file if none is given.
const DEFAULT_SIZE: Size = Size::Bytes(Bytes(1 << 30));

/// Builds the workload of some ops, one after another. `working_set`, if given, replaces all their sizes.
///
/// # Errors
/// An op makes no sense.
pub(super) fn workload(
    name: &str,
    ops: &[NamedOp],
    place: &PlotPlace,
    sizes: &FileSizes,
    working_set: Option<Size>,
) -> Result<Workload, OpProblem> {
    let mut workload = Workload {
        name: name.to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::new(),
        phase: Vec::new(),
        repeat: None,
    };
    for named in ops {
        let default = Bytes(if named.op.is_random() { 4096 } else { 1 << 20 });
        let blocks = named.form.block.clone().unwrap_or(OneOrMany::One(default));
        for (index, &block) in blocks.as_slice().iter().enumerate() {
            // Each block size writes its own new file: otherwise the second would overwrite
            // the allocation of the first.
            let suffix = if index > 0 && named.op == ShortOp::Write { format!("-{block}") } else { String::new() };
            let file = target_of(named, &suffix, place, sizes, working_set)?;
            let phase = phase_of(named, &file, block, blocks.as_slice().len() > 1, place)?;
            add_target(&mut workload, named, file)?;
            workload.phase.push(phase);
        }
    }
    Ok(workload)
}

/// The file or files of an op.
struct File {
    name: String,
    size: Size,
    target: Target,
}

/// Returns the path below the directory of the target: a workload's `/mnt/raid/f` is `f` there.
pub(super) fn below(path: &Path, place: &PlotPlace) -> PathBuf {
    path.strip_prefix(&place.dir).unwrap_or(path).to_owned()
}

fn target_of(
    named: &NamedOp,
    suffix: &str,
    place: &PlotPlace,
    sizes: &FileSizes,
    working_set: Option<Size>,
) -> Result<File, OpProblem> {
    let form = &named.form;
    let path = below(form.path.as_deref().unwrap_or(Path::new(DATA)), place);
    let working_set = working_set.map(|size| match size {
        Size::Bytes(Bytes(bytes)) => Size::Bytes(Bytes(bytes / u64::from(form.files.max(1)))),
        Size::Ram(factor) => Size::Ram(factor / f64::from(form.files.max(1))),
        Size::Free(factor) => Size::Free(factor / f64::from(form.files.max(1))),
    });
    let size = working_set.or(form.size).or_else(|| sizes.get(&path).copied()).unwrap_or(DEFAULT_SIZE);
    let mut path = path.into_os_string();
    path.push(suffix);
    let path = PathBuf::from(path);
    let name = path.file_name().map_or_else(|| DATA.to_owned(), |name| name.to_string_lossy().into_owned());
    let needed = if named.op == ShortOp::Write { place.first_write } else { Prepare::Write };
    let prepare = form.prepare.unwrap_or(needed);
    if let Some(device) = &place.device {
        if form.files > 1 || form.path.is_some() {
            let key = if form.path.is_some() { "path" } else { "files" };
            return Err(named.problem(
                key,
                "a device has no files".to_owned(),
                "leave it out, or add a step that mounts one",
            ));
        }
        // The host substitutes the full path. Without the slash this would not be an absolute path.
        let path = PathBuf::from(format!("/${{made.{device}}}"));
        let target = DeviceTarget { path, size: Some(size), destroy_serial: None, content: place.fill };
        return Ok(File { name, size, target: Target::Device(target) });
    }
    let target = match (&place.sim, form.files) {
        (Some(device), files) => {
            let Some(Bytes(bytes)) = size.fixed() else {
                return Err(named.problem(
                    "size",
                    format!("a simulated device has no memory, so `{size}` cannot be a share of it"),
                    "give a size such as `256MiB`",
                ));
            };
            let size = Bytes(bytes.saturating_mul(u64::from(files)));
            Target::Sim(SimTarget { device: device.clone(), size, files: None, preallocated_percent: 0, shares: None })
        }
        (None, 0 | 1) => Target::File(FileTarget { path, size: Some(size), prepare, content: place.fill }),
        (None, count) => Target::Files(FilesTarget { path, count, size, prepare, content: place.fill }),
    };
    Ok(File { name, size, target })
}

/// Checks that two ops of one file agree about its size and number.
fn add_target(workload: &mut Workload, named: &NamedOp, file: File) -> Result<(), OpProblem> {
    let extent = |target: &Target| match target {
        Target::File(file) => (file.size, 1),
        Target::Files(files) => (Some(files.size), files.count),
        Target::Sim(sim) => (Some(Size::Bytes(sim.size)), 1),
        _ => (None, 0),
    };
    match workload.target.get(&file.name) {
        Some(there) if extent(there) != extent(&file.target) => Err(named.problem(
            "size",
            format!("`{}` is {} here, but differs in an earlier op of the workload", file.name, file.size),
            "use the same size and number of files, or give it its own `path`",
        )),
        Some(_) => Ok(()),
        None => {
            workload.target.insert(file.name, file.target);
            Ok(())
        }
    }
}

fn phase_of(named: &NamedOp, file: &File, block: Bytes, several: bool, place: &PlotPlace) -> Result<Phase, OpProblem> {
    let form = &named.form;
    let mix = match named.op {
        ShortOp::Read | ShortOp::RandomRead => Mix::READ,
        ShortOp::Write | ShortOp::Rewrite | ShortOp::RandomWrite => Mix::WRITE,
        ShortOp::RandomMix => {
            let read = form.read.unwrap_or(50);
            let Some(write) = 100u32.checked_sub(read) else {
                return Err(named.problem("read", format!("`read` of {read} is more than 100 %"), "use 0 to 100"));
            };
            Mix { read, write, trim: 0 }
        }
    };
    if form.read.is_some() && named.op != ShortOp::RandomMix {
        return Err(named.problem("read", "`read` is a share of `random-mix`".to_owned(), "leave it out"));
    }
    if form.files == 0 {
        return Err(named.problem("files", "`files` of 0 measures nothing".to_owned(), "use 1 or more"));
    }
    let cache = match (form.cache, form.direct) {
        (Some(cache), true) if cache != CachePolicy::Direct => {
            return Err(named.problem(
                "cache",
                "direct I/O bypasses the cache, so `cache` has no effect".to_owned(),
                "leave out `cache`, or `direct`",
            ));
        }
        (Some(cache), _) => cache,
        (None, true) => CachePolicy::Direct,
        (None, false) => CachePolicy::AsIs,
    };
    let workers = form.workers.unwrap_or(form.files);
    // On one simulated range, each worker of several files has its own part.
    let part = place.sim.as_ref().filter(|_| form.files > 1).and_then(|_| file.size.fixed());
    let blocks = Blocks {
        pattern: if named.op.is_random() { Pattern::Permutation } else { Pattern::Sequential },
        block: BlockSize::Fixed(block),
        mix,
        fsync_every: form.fsync_every,
        span: part,
        offset_increment: part.unwrap_or_default(),
        ..Blocks::default()
    };
    let group = WorkerGroup {
        count: workers,
        depth: form.depth,
        backend: backend(named, place)?,
        // A new file is written once: a second pass would be an overwrite.
        limit: Limit { passes: (named.op == ShortOp::Write).then_some(1), ..Limit::default() },
        ..WorkerGroup::new(&file.name, blocks)
    };
    Ok(Phase {
        cache,
        stop: Stop { time: form.time, bytes: form.bytes, ..Stop::default() },
        end: End { flush: form.end, ..End::default() },
        ..Phase::new(if several { format!("{}-{block}", named.key) } else { named.key.to_owned() }, vec![group])
    })
}

fn backend(named: &NamedOp, place: &PlotPlace) -> Result<Backend, OpProblem> {
    let Some(engine) = &named.form.engine else { return Ok(Backend::Auto) };
    const NAMES: [&str; 9] = ["auto", "psync", "preadv2", "uring", "io-uring", "libaio", "posix-aio", "mmap", "stdio"];
    let name = match engine.as_str() {
        "uring" => "io-uring",
        other => other,
    };
    match plumb_document::json::from_value::<Backend>(serde_json::Value::from(name)) {
        Ok(backend) if NAMES.contains(&name) && backend.is_synchronous() && named.form.depth > 1 => {
            let depth = named.form.depth;
            Err(named.problem(
                "depth",
                format!("the engine `{engine}` waits for each op and cannot keep {depth} in flight"),
                "use engine = \"uring\", or depth = 1 and more `workers`; levels that do not fit together are left out with \
                 `exclude` in [design]",
            ))
        }
        // A simulated device has its own backend.
        Ok(_) if place.sim.is_some() => Ok(Backend::Auto),
        Ok(backend) if NAMES.contains(&name) => Ok(backend),
        _ => {
            let help = match nearest(engine, NAMES) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("there is `{}`", NAMES.join("`, `")),
            };
            Err(named.problem("engine", format!("unknown engine `{engine}`"), help))
        }
    }
}

impl NamedOp {
    fn problem(&self, key: &'static str, message: String, help: impl Into<String>) -> OpProblem {
        OpProblem { op: self.key, key, message, help: help.into() }
    }
}
