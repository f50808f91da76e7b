//! The files of `write_bw_log`, the other logs, and `write_iolog`, written from each worker's record of single ops.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use plumb_engine::LoggedOp;
use plumb_engine::guard::OutputFile;
use plumb_engine::op::Role;
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::lower::{Lowered, LoweredJob};
use plumb_tools_fio::fio::options::logs::LogOptions as FioLogOptions;
use plumb_tools_fio::fio::print::{
    HistLog, IologAction, JobLog, LogDirection, LogForm, LogPriority, LogQuantity, LogWriting, LoggedExtent, LoggedIo,
    UsedBuffers, Window, iolog_header, iolog_line,
};
use plumb_tools_fio::fio::value::choice::LogName;
use plumb_tools_run::error::DialectError;
use plumb_workload::{BlockStream, OpKind, WorkerGroup};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::rc::Rc;

/// Position of the class in a Linux I/O priority (`IOPRIO_CLASS_SHIFT` of linux/ioprio.h).
const PRIORITY_CLASS_SHIFT: u32 = 13;
const REALTIME: u32 = 1;

/// The logs of all jobs.
pub struct Logs<'a> {
    fio: &'a Fio,
    lowered: &'a Lowered,
    /// Logs that this run has created; further lines are appended.
    begun: BTreeSet<PathBuf>,
    place: Place,
    /// The first error.
    pub error: Option<DialectError>,
}

#[derive(Clone)]
pub enum Place {
    /// In files with the logs' names.
    Disk,
    /// In memory, to be sent to the client that owns the jobs.
    Memory(KeptLogs),
}

/// Log lines kept in memory.
#[derive(Clone, Default)]
pub struct KeptLogs(Rc<RefCell<Kept>>);

#[derive(Default)]
struct Kept {
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    is_cut: bool,
}

/// Maximum size of the logs kept per phase. They must fit into one message, in which lines are a tenth longer.
pub(crate) const KEPT_BYTES_MAX: usize = 32 << 20;

impl KeptLogs {
    /// Takes the logs out, and returns whether they were cut.
    pub fn take(&self) -> (BTreeMap<String, Vec<u8>>, bool) {
        let mut kept = self.0.take();
        if kept.is_cut {
            // Drop incomplete lines at the end.
            for bytes in kept.files.values_mut() {
                bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
            }
        }
        (kept.files, kept.is_cut)
    }
}

struct KeptLog {
    name: String,
    all: KeptLogs,
}

impl Write for KeptLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.all.0.borrow_mut();
        let taken = &bytes[..bytes.len().min(KEPT_BYTES_MAX - all.bytes)];
        all.is_cut |= taken.len() < bytes.len();
        all.bytes += taken.len();
        all.files.entry(self.name.clone()).or_default().extend_from_slice(taken);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type LogFile = BufWriter<Box<dyn Write>>;

/// The output of a log.
enum LogOut {
    Plain(LogFile),
    /// `log_store_compressed`.
    Packed(ZlibEncoder<LogFile>),
}

impl LogOut {
    /// Flushes buffered output.
    fn finish(self) -> io::Result<()> {
        match self {
            LogOut::Plain(mut out) => out.flush(),
            LogOut::Packed(out) => out.finish()?.flush(),
        }
    }
}

impl Write for LogOut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            LogOut::Plain(out) => out.write(bytes),
            LogOut::Packed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            LogOut::Plain(out) => out.flush(),
            // Flushing in the middle would worsen compression; `finish` does it.
            LogOut::Packed(_) => Ok(()),
        }
    }
}

/// The outputs for one worker.
struct OfWorker {
    series: Vec<JobLog<LogOut>>,
    hist: Option<HistLog<LogFile>>,
    /// `write_iolog`: the file, and its lines until they are sorted.
    recording: Option<Recording>,
}

struct Recording {
    out: LogFile,
    ops: Vec<LoggedOp>,
}

impl<'a> Logs<'a> {
    pub fn new(fio: &'a Fio, lowered: &'a Lowered, place: Place) -> Logs<'a> {
        Logs { fio, lowered, begun: BTreeSet::new(), place, error: None }
    }

    /// Writes all logs of a worker. Its phase started at `phase_start_unix_ms`.
    pub fn write(&mut self, worker: &str, phase_start_unix_ms: u64, ops: &mut dyn Iterator<Item = LoggedOp>) {
        let group = worker.rsplit_once('/').map_or(worker, |(group, _)| group);
        let lowered = self.lowered;
        let Some(copy) = lowered.jobs.iter().find(|copy| copy.group_name == group) else { return };
        if let Err(error) = self.write_of(copy, phase_start_unix_ms, ops) {
            self.error.get_or_insert(error);
        }
    }

    fn write_of(
        &mut self,
        copy: &LoweredJob,
        phase_start_unix_ms: u64,
        ops: &mut dyn Iterator<Item = LoggedOp>,
    ) -> Result<(), DialectError> {
        // A companion has no ops to log.
        let Some(group) = copy.group(&self.lowered.workload) else { return Ok(()) };
        let mut logs = self.open(copy, group, phase_start_unix_ms)?;
        let fio = self.fio;
        let failed = |source: io::Error| DialectError::File {
            what: format!("log of job `{}`", fio.jobs[copy.job].name),
            source,
        };
        // Log times count from the job's start. A job that waits for others starts with its first op.
        let mut start_ns = group.start.after.is_empty().then_some(group.start.delay.0);
        let mut end_ns = 0;
        for op in ops {
            if let Some(recording) = &mut logs.recording {
                recording.ops.push(op);
            }
            let start_ns = *start_ns.get_or_insert(op.submit_ns);
            let (Some(direction), Ok(bytes), false) = (direction(op.kind), op.result, op.in_ramp) else { continue };
            let one = LoggedIo {
                direction,
                issue_ns: op.submit_ns.saturating_sub(start_ns),
                complete_ns: op.complete_ns.saturating_sub(start_ns),
                submission_ns: op.submission_ns,
                offset: op.offset,
                bytes,
            };
            end_ns = end_ns.max(one.complete_ns);
            for log in &mut logs.series {
                log.op(&one).map_err(failed)?;
            }
            if let Some(log) = &mut logs.hist {
                log.op(&one).map_err(failed)?;
            }
        }
        for log in logs.series {
            log.end(end_ns).and_then(LogOut::finish).map_err(failed)?;
        }
        if let Some(log) = logs.hist {
            log.end(end_ns).map_err(failed)?;
        }
        logs.recording.map_or(Ok(()), |recording| {
            Self::record(copy, group.depth, start_ns.unwrap_or(0), recording).map_err(failed)
        })
    }

    /// Opens the logs that a job asks for.
    fn open(
        &mut self,
        copy: &LoweredJob,
        group: &WorkerGroup,
        phase_start_unix_ms: u64,
    ) -> Result<OfWorker, DialectError> {
        let job = &self.fio.jobs[copy.job];
        let asked = &job.logs;
        let mut form = form(asked, job, phase_start_unix_ms + group.start.delay.0 / 1_000_000);
        if matches!(self.place, Place::Memory(_)) {
            form.writing = LogWriting::Lines;
        }
        let Some(moves) = group.work.stream().map(BlockStream::moves) else {
            return Ok(OfWorker { series: Vec::new(), hist: None, recording: None });
        };
        let directions = || {
            let all = [
                (LogDirection::Read, moves.read),
                (LogDirection::Write, moves.write),
                (LogDirection::Trim, moves.trim),
            ];
            all.into_iter().filter_map(|(direction, moves)| moves.then_some(direction)).collect::<Vec<_>>()
        };
        let statistics = &job.statistics;
        let latencies = [
            (LogQuantity::Slat, statistics.measures_slat()),
            (LogQuantity::Clat, statistics.measures_clat()),
            (LogQuantity::Lat, statistics.measures_lat()),
        ];
        let latencies = latencies.into_iter().filter(|(_, measured)| *measured).map(|(one, _)| one);
        let wanted = asked.bw.iter().map(|name| (LogQuantity::Bandwidth, name));
        let wanted = wanted.chain(asked.iops.iter().map(|name| (LogQuantity::Iops, name)));
        let lat = asked.lat.as_ref();
        let wanted: Vec<(LogQuantity, &LogName)> =
            wanted.chain(lat.into_iter().flat_map(|name| latencies.clone().map(move |one| (one, name)))).collect();
        let name = |name: &LogName, suffix: &str| {
            let base = match name {
                LogName::OfJob => &job.name,
                LogName::Named(base) => base,
            };
            match asked.per_job {
                true => PathBuf::from(format!("{base}_{suffix}.{}.log", copy.thread_number)),
                false => PathBuf::from(format!("{base}_{suffix}.log")),
            }
        };
        let mut series = Vec::new();
        for (quantity, base) in wanted {
            let path = name(base, quantity.suffix());
            let out = match form.writing {
                LogWriting::Lines => LogOut::Plain(self.file(path, LogNaming::MadeUp)?.out),
                LogWriting::Records => {
                    let packed = PathBuf::from(format!("{}.fz", path.display()));
                    LogOut::Packed(ZlibEncoder::new(self.file(packed, LogNaming::MadeUp)?.out, Compression::default()))
                }
            };
            series.push(JobLog::new(out, quantity, form, directions()));
        }
        let hist = match &asked.hist {
            None => None,
            Some(base) => {
                let out = self.file(name(base, "clat_hist"), LogNaming::MadeUp)?.out;
                let window_ms = u64::from(asked.hist_ms.or(asked.avg_ms).unwrap_or(1));
                Some(HistLog::new(out, window_ms, asked.hist_coarseness, form.epoch_ms))
            }
        };
        let recording = match &job.replay.write_iolog {
            None => None,
            Some(path) => {
                let Opened { mut out, is_new } = self.file(PathBuf::from(path), LogNaming::Typed("write_iolog"))?;
                if is_new {
                    out.write_all(iolog_header().as_bytes()).map_err(DialectError::file(path.as_str()))?;
                }
                Some(Recording { out, ops: Vec::new() })
            }
        };
        Ok(OfWorker { series, hist, recording })
    }

    /// Opens a log's file, truncating it unless this run created it.
    fn file(&mut self, path: PathBuf, naming: LogNaming) -> Result<Opened, DialectError> {
        let is_new = self.begun.insert(path.clone());
        let file: Box<dyn Write> = match &self.place {
            Place::Memory(all) => Box::new(KeptLog { name: path.to_string_lossy().into_owned(), all: all.clone() }),
            Place::Disk => {
                let output = match naming {
                    LogNaming::Typed(option) => OutputFile::named(option, &path),
                    LogNaming::MadeUp => OutputFile::made_up("log", &path),
                };
                Box::new(if is_new { output.create()? } else { output.append()? })
            }
        };
        Ok(Opened { out: BufWriter::new(file), is_new })
    }

    /// Writes the recording of a worker: adds its files, then writes all events in submission order. If the record
    /// lacks opens and closes, the files are open all the time.
    fn record(copy: &LoweredJob, depth: u32, start_ns: u64, recording: Recording) -> io::Result<()> {
        let Recording { mut out, mut ops } = recording;
        let paths: Vec<String> = (0..copy.names.count())
            .filter_map(|number| copy.names.path(number))
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let path = |file: u32| paths.get(file as usize).map_or("", String::as_str);
        let us = |at_ns: u64| at_ns.saturating_sub(start_ns) / 1000;
        ops.sort_by_key(|op| op.sequence);
        let last_us = ops.iter().map(|op| us(op.complete_ns)).max().unwrap_or(0);
        for path in &paths {
            out.write_all(iolog_line(0, path, IologAction::Add).as_bytes())?;
        }
        let mut open = BTreeSet::new();
        if !ops.iter().any(|op| op.kind == OpKind::Open) {
            open = ops.iter().map(|op| op.file).collect();
            for file in &open {
                out.write_all(iolog_line(0, path(*file), IologAction::Open).as_bytes())?;
            }
        }
        let mut buffers = UsedBuffers::new(depth);
        let mut synced = BTreeSet::new();
        let mut now_us = 0;
        for op in &ops {
            // A bookkeeping entry carries the time of the worker loop,
            // which can be slightly before earlier submissions.
            now_us = us(op.submit_ns).max(now_us);
            let has_place = matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim);
            let mut flushed =
                || LoggedExtent { offset: buffers.used_by(op.submit_ns, op.complete_ns, None), length: 0 };
            let line = |action: IologAction| iolog_line(now_us, path(op.file), action);
            let line = match op.kind {
                // fio calls it while it closes the file, and does not log it.
                OpKind::EndFsync if op.role == Role::AtClose => continue,
                OpKind::Fsync | OpKind::EndFsync => line(IologAction::Sync(flushed())),
                OpKind::Fdatasync => line(IologAction::Datasync(flushed())),
                OpKind::SyncRange => line(IologAction::SyncFileRange(flushed())),
                OpKind::Syncfs => {
                    let directory = directory_of(path(op.file));
                    // fio flushes each file system once, and names it by the first directory on it.
                    if !synced.insert(directory) {
                        continue;
                    }
                    iolog_line(now_us, directory, IologAction::Syncfs(flushed()))
                }
                OpKind::Open => {
                    open.insert(op.file);
                    line(IologAction::Open)
                }
                OpKind::Close => {
                    open.remove(&op.file);
                    line(IologAction::Close)
                }
                _ if has_place => {
                    buffers.used_by(op.submit_ns, op.complete_ns, Some(op.offset));
                    let extent = LoggedExtent { offset: op.offset, length: op.length };
                    line(match op.kind {
                        OpKind::Read => IologAction::Read(extent),
                        OpKind::Write => IologAction::Write(extent),
                        _ => IologAction::Trim(extent),
                    })
                }
                _ => continue,
            };
            out.write_all(line.as_bytes())?;
        }
        for file in &open {
            out.write_all(iolog_line(last_us.max(now_us), path(*file), IologAction::Close).as_bytes())?;
        }
        out.flush()
    }
}

/// Returns the directory of a path, like dirname(3).
fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    }
}

/// The origin of a log's name.
#[derive(Debug, Clone, Copy)]
enum LogNaming {
    /// The value of this option.
    Typed(&'static str),
    /// Derived by adding the log's kind and number: `X_bw.1.log`.
    MadeUp,
}

/// A file opened for writing.
struct Opened {
    out: LogFile,
    is_new: bool,
}

/// Returns the columns that a job asks for.
fn form(asked: &FioLogOptions, job: &plumb_tools_fio::fio::FioJob, start_unix_ms: u64) -> LogForm {
    let statistics = &job.statistics;
    let window = asked.avg_ms.map(|length_ms| Window {
        length_ms: u64::from(length_ms),
        value: asked.window_value,
        piece_ms: u64::from(statistics.bw_avg_ms.min(statistics.iops_avg_ms).clamp(1, length_ms)),
    });
    let class = job.memory.prio_class.unwrap_or(0);
    let priority = if asked.prio {
        let value = class << PRIORITY_CLASS_SHIFT | job.memory.prio.unwrap_or(0);
        LogPriority::Value(u16::try_from(value).unwrap_or(0))
    } else {
        LogPriority::Class { realtime: class == REALTIME }
    };
    LogForm {
        window,
        offset: asked.offset,
        issue_time: asked.issue_time,
        priority,
        epoch_ms: if asked.alternate_epoch { start_unix_ms } else { 0 },
        writing: if asked.store_compressed { LogWriting::Records } else { LogWriting::Lines },
    }
}

fn direction(kind: OpKind) -> Option<LogDirection> {
    match kind {
        OpKind::Read => Some(LogDirection::Read),
        OpKind::Write => Some(LogDirection::Write),
        OpKind::Trim => Some(LogDirection::Trim),
        _ => None,
    }
}
