//! From settings to a workload: elbencho's phases in their fixed order, each a phase in which every thread is a group of
//! one worker.
//!
//! Files and directories bear elbencho's own names, so that what one command line makes another one finds:
//! `PATH/r<rank>/d<directory>/r<rank>-f<file>`. What elbencho does between phases ([`Between`]) is left to whoever runs the
//! workload.

mod geometry;
mod jobs;
mod names;
mod tree;

pub use geometry::{Geometry, PathType};
pub use tree::TreeCounts;

use super::settings::{Rwmix, Settings};
use super::tree::Entry;
use plumb_workload::{
    CachePolicy, ClockScope, End, Flush, Limit, Nanos, OnError, Phase, Target, WhenDone, Work, Workload,
};
use std::collections::BTreeMap;
use tree::CustomTree;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Its length, bytes.
        bytes: u64,
    },
    /// A block device.
    Device {
        /// Its size, bytes.
        bytes: u64,
    },
    /// Something else that can be opened.
    Other,
}

/// What lowering asks of the system.
pub trait Places {
    /// What a path leads to, links followed.
    fn look(&mut self, path: &str) -> Found;
    /// The CPUs of a memory node; nothing where there is no such node.
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>>;
    /// The numbers of all memory nodes.
    fn nodes(&mut self) -> Vec<u32>;
    /// The numbers of all CPUs.
    fn cpus(&mut self) -> Vec<u32>;
    /// What a tree file holds; what is wrong with it in words.
    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, String>;
    /// All directories and regular files below a directory, as the system lists them, each directory before what is in it.
    fn look_through(&mut self, path: &str) -> Result<Vec<Entry>, String>;
    /// Keeps a tree file that was just made.
    fn keep_tree(&mut self, path: &str, text: &str) -> Result<(), String>;
}

/// A phase of elbencho.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseKind {
    /// Directories are made.
    MkDirs,
    /// Files are written.
    Write,
    /// Files are asked about.
    Stat,
    /// Files are read.
    Read,
    /// Files are removed.
    RmFiles,
    /// Directories are removed.
    RmDirs,
    /// The page cache is written out. Never in a workload.
    Sync,
    /// The caches are dropped. Never in a workload.
    DropCache,
}

impl PhaseKind {
    /// As elbencho prints it.
    pub const fn name(self) -> &'static str {
        match self {
            PhaseKind::MkDirs => "MKDIRS",
            PhaseKind::Write => "WRITE",
            PhaseKind::Stat => "STAT",
            PhaseKind::Read => "READ",
            PhaseKind::RmFiles => "RMFILES",
            PhaseKind::RmDirs => "RMDIRS",
            PhaseKind::Sync => "SYNC",
            PhaseKind::DropCache => "DROPCACHE",
        }
    }

    /// What its entries are.
    pub const fn entries(self) -> &'static str {
        match self {
            PhaseKind::MkDirs | PhaseKind::RmDirs => "Dirs",
            _ => "Files",
        }
    }

    /// Whether it moves data.
    pub const fn moves_data(self) -> bool {
        matches!(self, PhaseKind::Write | PhaseKind::Read)
    }
}

/// What is done before and after each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Between {
    /// `syncfs` of the file systems under the paths.
    pub sync: bool,
    /// 3 into `/proc/sys/vm/drop_caches`.
    pub drop_caches: bool,
    /// And so many seconds of rest.
    pub delay_s: u64,
}

/// A phase of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredPhase {
    /// Which of elbencho's.
    pub kind: PhaseKind,
    /// As elbencho prints it: `WRITE+s` asks about files as well, `RWMIX30` and `MIX-T2` read.
    pub name: String,
    /// Some of its ops read where others write, and are told apart.
    pub mixes: bool,
    /// Its entries have latencies.
    pub times_entries: bool,
    /// Which time, from 0.
    pub iteration: u32,
    /// The first of its iteration.
    pub opens_iteration: bool,
    /// Directories of ranks, which each thread makes or removes beside its own, and which count as no entries: so many
    /// calls at the beginning (making) or at the end (removing).
    pub rank_dirs: u32,
    /// Entries that each thread is to do.
    pub entries_per_thread: u64,
    /// Bytes that each thread is to move.
    pub bytes_per_thread: u64,
    /// Of the files of each thread, so many from the first one on count as entries: of the others it does parts. All count
    /// where this is empty.
    pub whole_files: Vec<u32>,
    /// How many of the threads, from the first one on, read in the write phase.
    pub reading_threads: u32,
}

/// A command line as a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// What is to be done; as many phases as [`Lowered::phases`].
    pub workload: Workload,
    /// Each of its phases.
    pub phases: Vec<LoweredPhase>,
    /// What is done around each.
    pub between: Between,
    /// Sizes and kinds, resolved.
    pub geometry: Geometry,
    /// What was changed, for people.
    pub notes: Vec<String>,
}

/// Why a command line cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LowerError(pub String);

fn error<T>(text: impl Into<String>) -> Result<T, LowerError> {
    Err(LowerError(text.into()))
}

/// As elbencho prints a phase.
fn phase_name(settings: &Settings, geometry: &Geometry, kind: PhaseKind) -> String {
    let name = match (kind, settings.rwmix) {
        (PhaseKind::Write, Rwmix::Percent(percent)) => format!("RWMIX{percent}"),
        (PhaseKind::Write, Rwmix::Threads(threads)) => format!("MIX-T{threads}"),
        _ => kind.name().to_owned(),
    };
    let inline = |asked: bool, suffix| if asked && geometry.path_type == PathType::Directory { suffix } else { "" };
    let asked = inline(kind.moves_data() && settings.stat_inline, "+s");
    let read = inline(kind == PhaseKind::Write && settings.read_inline, "+r");
    format!("{name}{asked}{read}")
}

/// Lowers a command line.
///
/// # Errors
/// What elbencho would refuse once it looked at its paths, and what cannot be done here.
pub fn lower(settings: &Settings, places: &mut dyn Places) -> Result<Lowered, LowerError> {
    let mut notes = Vec::new();
    let mut geometry = geometry::geometry(settings, places, &mut notes)?;
    let tree = tree::custom_tree(settings, places, &mut notes)?;
    geometry.tree = tree.as_ref().map(CustomTree::counts);
    let bindings = jobs::bindings(settings, places)?;
    if settings.infinite && settings.time_limit_s == 0 {
        notes.push("--infloop without --timelimit: Ctrl-C ends it".to_owned());
    }
    let asked = settings.phases;
    let order = [
        (PhaseKind::MkDirs, asked.mkdirs),
        (PhaseKind::Write, asked.write),
        (PhaseKind::Stat, asked.stat),
        (PhaseKind::Read, asked.read),
        (PhaseKind::RmFiles, asked.delfiles),
        (PhaseKind::RmDirs, asked.deldirs),
    ];
    let kinds: Vec<PhaseKind> = order.into_iter().filter(|(_, asked)| *asked).map(|(kind, _)| kind).collect();
    let mut target = BTreeMap::new();
    let mut phase = Vec::new();
    let mut phases = Vec::new();
    for iteration in 0..settings.iterations {
        for (place, &kind) in kinds.iter().enumerate() {
            let share = |thread| jobs::share(settings, &geometry, tree.as_ref(), kind, thread);
            let shares: Vec<jobs::Share> = (0..settings.threads).map(share).collect::<Result<_, _>>()?;
            let mut workers = Vec::new();
            for (share, thread) in shares.iter().zip(0..) {
                let Some(share_work) = &share.work else { continue };
                let name = format!("r{}", settings.rank_offset + thread);
                target
                    .entry(share_work.target_name.clone())
                    .or_insert_with(|| Target::JobFiles(share_work.files.clone()));
                let mut group = plumb_workload::WorkerGroup::new(
                    &share_work.target_name,
                    Work::Job(Box::new(share_work.job.clone())),
                );
                group.name = Some(name);
                group.backend = share_work.backend.clone();
                group.depth = share_work.depth;
                group.pace = share_work.pace;
                group.content.clone_from(&share_work.content);
                group.verify.clone_from(&share_work.verify);
                // elbencho hands over each op by a call of its own.
                group.batch.submit = 1;
                group.on_error = OnError::Stop;
                group.when_done = WhenDone::RunIfFailed;
                group.limit = Limit {
                    time: (settings.time_limit_s > 0)
                        .then(|| Nanos(settings.time_limit_s.saturating_mul(1_000_000_000))),
                    ..Limit::default()
                };
                bindings.bind(thread, &mut group);
                workers.push(group);
            }
            if workers.is_empty() {
                continue;
            }
            let name = match iteration {
                0 => kind.name().to_owned(),
                _ => format!("{}-{}", kind.name(), iteration + 1),
            };
            phase.push(Phase {
                cache: if settings.direct && kind.moves_data() { CachePolicy::Direct } else { CachePolicy::AsIs },
                end: End { flush: Flush::None, clock: ClockScope::Outside },
                ..Phase::new(name, workers)
            });
            phases.push(LoweredPhase {
                kind,
                name: phase_name(settings, &geometry, kind),
                mixes: kind == PhaseKind::Write && settings.rwmix != Rwmix::None,
                // Of files that are named one by one, elbencho keeps none.
                times_entries: geometry.path_type == PathType::Directory,
                iteration,
                opens_iteration: place == 0,
                rank_dirs: shares.first().map_or(0, |share| share.rank_dirs),
                entries_per_thread: shares.first().map_or(0, |share| share.entries),
                bytes_per_thread: shares.first().map_or(0, |share| share.bytes),
                whole_files: match shares.iter().any(|share| share.whole_files.is_some()) {
                    true => shares.iter().map(|share| share.whole_files.unwrap_or(u32::MAX)).collect(),
                    false => Vec::new(),
                },
                reading_threads: match settings.rwmix {
                    Rwmix::Threads(threads) if kind == PhaseKind::Write => threads.min(settings.threads),
                    _ => 0,
                },
            });
        }
    }
    if kinds.is_empty() && !asked.sync && !asked.dropcache {
        return error(
            "no phase is asked for; use --mkdirs, --write, --stat, --read, --delfiles or --deldirs (-d -w --stat -r -F -D)",
        );
    }
    let workload = Workload {
        name: "elbencho".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target,
        phase,
    };
    let between = Between { sync: asked.sync, drop_caches: asked.dropcache, delay_s: settings.phase_delay_s };
    Ok(Lowered { workload, phases, between, geometry, notes })
}

#[cfg(test)]
mod tests;
