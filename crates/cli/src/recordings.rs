//! Adapts recordings for the engine: opens them with `plumb-trace`, and scales, aligns and filters their ops for a replay.

use plumb_engine::replay::{CallAct, CallSurvey, InitialFile, InitialFileKind, RecordedCall, RecordedCalls};
use plumb_engine::trace::{RecordedOp, RecordedOps, Recordings, ReplayError};
use plumb_result::ReplayedSum;
use plumb_trace::survey::{Apart, InitialKind, Shares, Survey, shares};
use plumb_trace::{ACTS, FileName, MergedPart, MergedRecording, Record, Recorded, RecordedAct, TraceError};
use plumb_workload::blocks::trace::{Recording, SkipOps, Waits};
use plumb_workload::replay::{ReplayPart, path_names, replay_part};
use plumb_workload::{OpKind, Replay, ReplayOrder, ReplayShare};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub struct OnDisk;

impl Recordings for OnDisk {
    fn open(&self, recording: &Recording) -> Result<RecordedOps, ReplayError> {
        let everything = ReplayedDirectory(Vec::new());
        let asked = ReplaySource {
            path: &recording.path,
            model: recording.model.as_deref(),
            with: &recording.with,
            loops: 1,
            clones: 0..1,
        };
        let open = || asked.open(recording.waits, &everything);
        let part = part_of(recording.share, recording.clones)?;
        let own = match &part {
            ReplayPart::Copies(_) => None,
            ReplayPart::Threads(share) => Some(Own::of_ops(*share, &recording.path, &open)?),
        };
        let clones = match part {
            ReplayPart::Copies(copies) => copies,
            ReplayPart::Threads(_) => 0..1,
        };
        let (reader, recording) = (open()?, recording.clone());
        let is_own = move |record: &Record| own.as_ref().is_none_or(|own| own.has(record));
        let reader = reader.filter(move |record| record.as_ref().map_or(true, &is_own));
        Ok(Box::new(reader.flat_map(move |record| ops(record, &recording, clones.clone()))))
    }

    fn survey(&self, replay: &Replay) -> Result<CallSurvey, ReplayError> {
        let below = ReplayedDirectory::from_replay(replay);
        let asked = ReplaySource::from_replay(replay)?;
        let open = || asked.open(replay.waits, &below);
        let own = match part_of(replay.share, replay.clones)? {
            ReplayPart::Copies(_) => None,
            ReplayPart::Threads(share) => Some(Own::of_calls(share, replay, &below, &open)?),
        };
        let is_own = |task: u32| own.as_ref().is_none_or(|own| own.is_own(task));
        let survey = plumb_trace::survey::survey(open()?, |file| below.path(file).is_some(), is_own);
        let mut survey = call_survey(&survey.map_err(cannot_read)?, &below);
        survey.own = own.map_or_else(Vec::new, |own| own.flags);
        Ok(survey)
    }

    fn open_calls(&self, replay: &Replay) -> Result<RecordedCalls, ReplayError> {
        let below = ReplayedDirectory::from_replay(replay);
        let reader = ReplaySource::from_replay(replay)?.open(replay.waits, &below)?;
        Ok(Box::new(Calls { reader, below, wanted: Vec::new(), first_ns: None }))
    }
}

fn cannot_read(error: TraceError) -> ReplayError {
    ReplayError::Read(Box::new(error))
}

fn part_of(share: Option<ReplayShare>, clones: u32) -> Result<ReplayPart, ReplayError> {
    replay_part(share, clones).ok_or_else(|| {
        let ranks = share.map_or(1, |share| share.of);
        ReplayError::Read(
            format!("{clones} copies cannot be shared by {ranks} ranks; use a multiple of {ranks}").into(),
        )
    })
}

/// Reopens a recording from its start.
type Reopen<'a> = dyn Fn() -> Result<Box<dyn Recorded + Send>, ReplayError> + 'a;

/// Threads or files that belong to one of several processes.
struct Own {
    flags: Vec<bool>,
    of_files: bool,
}

impl Own {
    fn new(shares: Shares, number: u32, of_files: bool) -> Own {
        Own { flags: shares.process_of.into_iter().map(|process| process == number).collect(), of_files }
    }

    fn is_own(&self, number: u32) -> bool {
        self.flags.get(number as usize) == Some(&true)
    }

    fn has(&self, record: &Record) -> bool {
        self.is_own(if self.of_files { record.file } else { record.task })
    }

    /// Divides reads and writes by thread, or by file if there are too few threads.
    fn of_ops(share: ReplayShare, path: &Path, open: &Reopen<'_>) -> Result<Own, ReplayError> {
        let taken = |apart| shares(open()?, |_| true, apart, share.of).map_err(cannot_read);
        let by_thread = taken(Apart::Threads)?;
        if by_thread.parts >= share.of {
            return Ok(Own::new(by_thread, share.number, false));
        }
        let by_file = taken(Apart::Files)?;
        if by_file.parts >= share.of {
            return Ok(Own::new(by_file, share.number, true));
        }
        Err(too_few("a thread stays whole, and so does a file", path, &by_thread, share.of, ""))
    }

    /// Divides calls as their order allows.
    fn of_calls(
        share: ReplayShare,
        replay: &Replay,
        below: &ReplayedDirectory,
        open: &Reopen<'_>,
    ) -> Result<Own, ReplayError> {
        let shares = shares_of_calls(share.of, replay, below, open)?;
        Ok(Own::new(shares, share.number, false))
    }
}

fn too_few(why: &'static str, path: &Path, shares: &Shares, ranks: u32, other: &str) -> ReplayError {
    let fewer = match shares.parts {
        0 | 1 => "use one rank".to_owned(),
        parts => format!("use {parts} ranks"),
    };
    let instead = format!("{fewer}{other}, or replay a copy in each rank (--clones {ranks})");
    ReplayError::TooFewParts { path: path.to_owned(), why, found: shares.parts, ranks, instead }
}

fn shares_of_calls(
    ranks: u32,
    replay: &Replay,
    below: &ReplayedDirectory,
    open: &Reopen<'_>,
) -> Result<Shares, ReplayError> {
    let (apart, why, other) = match replay.order {
        ReplayOrder::None | ReplayOrder::Thread => (Apart::Threads, "a thread stays whole", ""),
        ReplayOrder::Resource => {
            let why = "threads that change files which others use stay together";
            (Apart::Resources, why, ", --order thread")
        }
        ReplayOrder::Inferred => return Err(ReplayError::OrderOfRanks { order: "inferred", ranks }),
        ReplayOrder::Total => return Err(ReplayError::OrderOfRanks { order: "total", ranks }),
    };
    let shares = shares(open()?, |file| below.path(file).is_some(), apart, ranks).map_err(cannot_read)?;
    if shares.parts < ranks { Err(too_few(why, &replay.path, &shares, ranks, other)) } else { Ok(shares) }
}

/// Returns the most threads that one of several ranks needs for its part of a replay of calls.
///
/// # Errors
/// The recording cannot be divided among this number of ranks.
pub fn most_lanes(replay: &Replay, ranks: u32) -> Result<u32, ReplayError> {
    let (below, asked) = (ReplayedDirectory::from_replay(replay), ReplaySource::from_replay(replay)?);
    shares_of_calls(ranks, replay, &below, &|| asked.open(replay.waits, &below)).map(|shares| shares.most_lanes)
}

/// Source of a replay, with its repeats.
struct ReplaySource<'a> {
    path: &'a Path,
    model: Option<&'a str>,
    with: &'a [PathBuf],
    loops: u32,
    clones: Range<u32>,
}

impl<'a> ReplaySource<'a> {
    fn from_replay(replay: &'a Replay) -> Result<ReplaySource<'a>, ReplayError> {
        let clones = match part_of(replay.share, replay.clones)? {
            ReplayPart::Copies(copies) => copies,
            ReplayPart::Threads(_) => 0..1,
        };
        let model = replay.model.as_deref();
        Ok(ReplaySource { path: &replay.path, model, with: &replay.with, loops: replay.loops, clones })
    }

    /// Opens one recording, several at the same time, one repeatedly, or ops drawn from a model.
    fn open(&self, of_fio: Waits, below: &ReplayedDirectory) -> Result<Box<dyn Recorded + Send>, ReplayError> {
        let waits = waits(of_fio);
        let path = self.path;
        let reader: Result<Box<dyn Recorded + Send>, TraceError> = match self.model {
            Some(text) => plumb_trace::read(Box::new(Cursor::new(text.to_owned())), path, waits)
                .map(|reader| Box::new(reader) as _),
            None if self.with.is_empty() && self.loops <= 1 && self.clones == (0..1) => {
                plumb_trace::open(path, waits).map(|reader| Box::new(reader) as _)
            }
            None => {
                let paths = [path].into_iter().chain(self.with.iter().map(PathBuf::as_path));
                let parts: Vec<MergedPart> = paths
                    .flat_map(|path| self.clones.clone().map(move |copy| (path, copy)))
                    .map(|(path, copy)| MergedPart { path: path.to_owned(), percent: 100.0, times: self.loops, copy })
                    .collect();
                let merged =
                    MergedRecording::open_calls(&parts, waits, &|file, copy, time| below.copy_name(file, copy, time));
                merged.map(|merged| Box::new(merged) as _)
            }
        };
        reader.map_err(|error| ReplayError::Read(Box::new(error)))
    }
}

/// Directories whose files are never replayed.
const NO_FILES: [&str; 3] = ["/dev/", "/proc/", "/sys/"];

fn is_pseudo_file(path: &str) -> bool {
    NO_FILES.iter().any(|place| path.starts_with(place)) && !path.starts_with("/dev/shm/")
}

/// Directory whose files are replayed, as path components.
struct ReplayedDirectory(Vec<String>);

impl ReplayedDirectory {
    fn from_replay(replay: &Replay) -> ReplayedDirectory {
        ReplayedDirectory(path_names(replay.below.as_deref().unwrap_or("/")).into_iter().map(str::to_owned).collect())
    }

    /// Returns a file's name in another copy or repeat of the recording. A file that is not replayed keeps its name.
    fn copy_name(&self, file: &FileName, copy: u32, time: u32) -> FileName {
        match (file, self.path(file)) {
            (FileName::Path(_), Some(path)) if copy > 0 || time > 0 => {
                let mut name = self.0.join("/");
                for (what, number) in [("copy", copy), ("again", time)].into_iter().filter(|(_, number)| *number > 0) {
                    name.push_str(&format!("/{what}-{number}"));
                }
                FileName::Path(format!("{name}/{path}"))
            }
            _ => file.clone(),
        }
    }

    /// Returns the path of a replayed file below the directory; `None` for other files.
    fn path(&self, file: &FileName) -> Option<String> {
        match file {
            // Terminals, null devices and pseudo-files of the kernel belong to no file system.
            FileName::Path(path) if is_pseudo_file(path) => None,
            FileName::Path(path) => {
                let names = path_names(path);
                let rest = self.0.iter().zip(&names).all(|(one, other)| one == other) && names.len() >= self.0.len();
                rest.then(|| names[self.0.len()..].join("/"))
            }
            FileName::Device { major, minor } => self.0.is_empty().then(|| format!("device-{major}-{minor}")),
        }
    }
}

/// Converts an act to the engine's type; `None` for acts that it does not replay.
fn call_act(act: RecordedAct) -> Option<CallAct> {
    Some(match act {
        RecordedAct::Open => CallAct::Open,
        RecordedAct::Close => CallAct::Close,
        RecordedAct::Read => CallAct::Read,
        RecordedAct::Write => CallAct::Write,
        RecordedAct::Trim => CallAct::Trim,
        RecordedAct::Sync => CallAct::Fsync,
        RecordedAct::Datasync => CallAct::Fdatasync,
        RecordedAct::Stat => CallAct::Stat,
        RecordedAct::Unlink => CallAct::Unlink,
        RecordedAct::Mkdir => CallAct::Mkdir,
        RecordedAct::Rmdir => CallAct::Rmdir,
        RecordedAct::Rename => CallAct::Rename,
        RecordedAct::Link => CallAct::Link,
        RecordedAct::Symlink => CallAct::Symlink,
        RecordedAct::Readlink => CallAct::Readlink,
        RecordedAct::Truncate => CallAct::Truncate,
        RecordedAct::Allocate => CallAct::Allocate,
        RecordedAct::List => CallAct::List,
        RecordedAct::Seek => CallAct::Seek,
        RecordedAct::Attribute => CallAct::Attribute,
        RecordedAct::SyncRange => CallAct::SyncRange,
        RecordedAct::SyncAll => CallAct::SyncAll,
        // Reads and writes through mappings are not recorded.
        RecordedAct::Map | RecordedAct::Add | RecordedAct::Other => return None,
    })
}

fn call_survey(survey: &Survey, below: &ReplayedDirectory) -> CallSurvey {
    let mut ops: BTreeMap<OpKind, ReplayedSum> = BTreeMap::new();
    let mut left_out = Vec::new();
    for ((act, name), sum) in ACTS.iter().zip(&survey.acts).filter(|(_, sum)| sum.count > 0) {
        match call_act(*act) {
            Some(call) => {
                let known = ops.entry(call.kind()).or_default();
                known.ops += sum.count;
                known.failed += sum.failed;
                known.bytes = known.bytes.saturating_add(sum.bytes);
            }
            None if *act == RecordedAct::Add => {}
            None => left_out.push(((*name).to_owned(), sum.count)),
        }
    }
    if survey.skipped > 0 && below.0.is_empty() {
        left_out.push(("on devices".to_owned(), survey.skipped));
    }
    let initial = survey.initial.iter().map(|entry| InitialFile {
        file: entry.file,
        kind: match entry.kind {
            InitialKind::Directory => InitialFileKind::Directory,
            InitialKind::File { bytes } => InitialFileKind::File { bytes },
            InitialKind::Link => InitialFileKind::Link,
        },
    });
    CallSurvey {
        // Files that are left out get the root's name; nothing is done to them.
        paths: survey.files.iter().map(|file| below.path(file).unwrap_or_default()).collect(),
        initial: initial.collect(),
        absent: survey.absent.clone(),
        reach_bytes: survey.reach_bytes,
        reaches: survey.reaches.clone(),
        processes: survey.processes.clone(),
        lanes: survey.lanes.clone(),
        lane_count: survey.lane_count,
        ops,
        length_ns: survey.last_ns.saturating_sub(survey.first_ns),
        busy_ns: survey.has_durations.then_some(survey.busy_ns),
        has_handles: survey.has_handles,
        largest_read: survey.largest_read,
        largest_write: survey.largest_write,
        left_out,
        own: Vec::new(),
    }
}

/// The replayed calls of a recording.
struct Calls {
    reader: Box<dyn Recorded + Send>,
    below: ReplayedDirectory,
    /// Whether each file is replayed; indexed by file number.
    wanted: Vec<bool>,
    /// Start of the first call, ns.
    first_ns: Option<u64>,
}

impl Iterator for Calls {
    type Item = Result<RecordedCall, ReplayError>;

    fn next(&mut self) -> Option<Result<RecordedCall, ReplayError>> {
        loop {
            let record = match self.reader.next()? {
                Ok(record) => record,
                Err(error) => return Some(Err(ReplayError::Read(Box::new(error)))),
            };
            let files = self.reader.names().files();
            while self.wanted.len() < files.len() {
                self.wanted.push(self.below.path(&files[self.wanted.len()]).is_some());
            }
            let is_wanted = |file: u64| usize::try_from(file).is_ok_and(|file| self.wanted.get(file) == Some(&true));
            let has_other = matches!(record.act, RecordedAct::Rename | RecordedAct::Link);
            if !is_wanted(record.file.into()) || has_other && !is_wanted(record.aux) {
                continue;
            }
            let Some(act) = call_act(record.act) else { continue };
            let first_ns = *self.first_ns.get_or_insert(record.at_ns);
            return Some(Ok(RecordedCall {
                at_ns: record.at_ns.saturating_sub(first_ns),
                took_ns: record.took_ns,
                offset: record.offset,
                length: record.length,
                result: record.result,
                aux: record.aux,
                file: record.file,
                task: record.task,
                handle: record.handle,
                act,
            }));
        }
    }
}

/// Converts to the reader's type.
pub fn waits(waits: Waits) -> plumb_trace::iolog::Waits {
    match waits {
        Waits::Manual => plumb_trace::iolog::Waits::Manual,
        Waits::Fio => plumb_trace::iolog::Waits::Fio,
    }
}

/// Converts a record to ops, one per clone.
fn ops(
    record: Result<Record, TraceError>,
    recording: &Recording,
    clones: Range<u32>,
) -> Vec<Result<RecordedOp, ReplayError>> {
    let Some(first) = op(record, recording) else { return Vec::new() };
    let Ok(first) = first else { return vec![first] };
    let place = |clone: u64| first.offset.saturating_add(clone.saturating_mul(recording.clone_every.0));
    clones.map(|clone| Ok(RecordedOp { offset: place(clone.into()), ..first })).collect()
}

/// Converts a record to an op; `None` if the replay skips it.
fn op(record: Result<Record, TraceError>, recording: &Recording) -> Option<Result<RecordedOp, ReplayError>> {
    let record = match record {
        Ok(record) => record,
        Err(error) => return Some(Err(ReplayError::Read(Box::new(error)))),
    };
    let kind = kind(record.act).filter(|kind| !skips(recording.skip, *kind))?;
    let align = recording.align.map_or(1, |align| align.0.max(1));
    let mut offset = (record.offset / u64::from(recording.scale.max(1))).saturating_add(recording.shift.0);
    if let Some(fold) = recording.fold {
        // Cuts off an op that would cross the end of the range.
        offset = (offset % fold.0.max(1)).min(fold.0.saturating_sub(record.length));
    }
    let offset = offset / align * align;
    let file = if recording.one_file { 0 } else { record.file };
    Some(match u32::try_from(record.length) {
        Ok(length) => Ok(RecordedOp { at_ns: record.at_ns, took_ns: record.took_ns, kind, file, offset, length }),
        Err(_) => Err(ReplayError::TooLong { bytes: record.length }),
    })
}

fn kind(act: RecordedAct) -> Option<OpKind> {
    match act {
        RecordedAct::Read => Some(OpKind::Read),
        RecordedAct::Write => Some(OpKind::Write),
        RecordedAct::Trim => Some(OpKind::Trim),
        RecordedAct::Sync => Some(OpKind::Fsync),
        RecordedAct::Datasync => Some(OpKind::Fdatasync),
        // Files stay open for the whole job, and all operations on names come before it.
        _ => None,
    }
}

fn skips(skip: SkipOps, kind: OpKind) -> bool {
    match kind {
        OpKind::Read => skip.read,
        OpKind::Write => skip.write,
        OpKind::Trim => skip.trim,
        _ => skip.sync,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use std::path::PathBuf;

    fn recording(change: impl FnOnce(&mut Recording)) -> Recording {
        let mut recording = Recording::new(PathBuf::from("r"), Bytes(4096));
        change(&mut recording);
        recording
    }

    const WRITE: Record = Record::ranged(5, 3, RecordedAct::Write, 10_000, 512);

    #[test]
    fn offsets_are_divided_and_then_rounded_down() {
        let found = op(Ok(WRITE), &recording(|asked| (asked.scale, asked.align) = (2, Some(Bytes(4096)))));
        assert_eq!(found.unwrap().unwrap().offset, 4096);
    }

    #[test]
    fn offsets_are_shifted_folded_and_cloned() {
        let found = |change: fn(&mut Recording)| -> Vec<u64> {
            {
                let recording = recording(change);
                ops(Ok(WRITE), &recording, 0..recording.clones).into_iter().map(|op| op.unwrap().offset).collect()
            }
        };
        assert_eq!(found(|asked| asked.shift = Bytes(100)), [10_100]);
        assert_eq!(found(|asked| asked.fold = Some(Bytes(8192))), [1808]);
        assert_eq!(found(|asked| asked.fold = Some(Bytes(10_100))), [9588], "it ends with the range");
        assert_eq!(
            found(|asked| (asked.clones, asked.clone_every) = (3, Bytes(1 << 20))),
            [10_000, 1_058_576, 2_107_152]
        );
    }

    #[test]
    fn all_ops_may_go_to_one_file_and_kinds_may_be_left_out() {
        assert_eq!(op(Ok(WRITE), &recording(|_| {})).unwrap().unwrap().file, 3);
        assert_eq!(op(Ok(WRITE), &recording(|asked| asked.one_file = true)).unwrap().unwrap().file, 0);
        assert!(op(Ok(WRITE), &recording(|asked| asked.skip.write = true)).is_none());
        assert!(
            op(Ok(Record { act: RecordedAct::Sync, ..WRITE }), &recording(|asked| asked.skip.sync = true)).is_none()
        );
    }

    #[test]
    fn files_below_the_directory_are_replayed_under_their_relative_names() {
        let below = |directory: &str| ReplayedDirectory(path_names(directory).into_iter().map(str::to_owned).collect());
        let path = |path: &str| FileName::Path(path.to_owned());
        assert_eq!(below("/a/b/").path(&path("/a/b/c/d")).as_deref(), Some("c/d"));
        assert_eq!(below("/a/b").path(&path("/a/b")).as_deref(), Some(""));
        assert_eq!(below("/a/b").path(&path("/a/bc")), None);
        assert_eq!(below("/a/b").path(&path("/a/b/../x")), None);
        assert_eq!(below("/").path(&path("../../etc/x")).as_deref(), Some("etc/x"));
        assert_eq!(below("/").path(&FileName::Device { major: 8, minor: 1 }).as_deref(), Some("device-8-1"));
        assert_eq!(below("/a").path(&FileName::Device { major: 8, minor: 1 }), None);
    }

    #[test]
    fn repeats_stay_below_the_directory() {
        let below = ReplayedDirectory(vec!["a".to_owned()]);
        let named = |path: &str, copy, time| below.copy_name(&FileName::Path(path.to_owned()), copy, time).to_string();
        assert_eq!([named("/a/b", 0, 0), named("/a/b", 0, 2), named("/c", 1, 2)], ["/a/b", "a/again-2/b", "/c"]);
        assert_eq!([named("/a/b", 3, 0), named("/a/b", 3, 2)], ["a/copy-3/b", "a/copy-3/again-2/b"]);
        assert_eq!(below.path(&FileName::Path(named("/a/b", 0, 2))).as_deref(), Some("again-2/b"));
    }

    #[test]
    fn an_op_beyond_four_gigabytes_is_an_error() {
        assert!(op(Ok(Record { length: 1 << 33, ..WRITE }), &recording(|_| {})).unwrap().is_err());
    }
}
