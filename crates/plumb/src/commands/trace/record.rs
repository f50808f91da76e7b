//! `plumb trace record`.

use super::RecordArguments;
use super::recording_file::RecordingFile;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_engine::guard::space::MachineMemory;
use plumb_engine::signals;
use plumb_trace::Facts;
use plumb_trace::capture::{CaptureError, Captured, Method, Subject, record};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Least memory for a recording, enough for about 70 million ops.
const MEMORY_BYTES: u64 = 256 << 20;

/// Buffers a recording in memory until its end, because its file may be on the recorded file system. Writes
/// earlier only when memory is short.
struct Spool {
    memory: Vec<u8>,
    memory_bytes: u64,
    file: RecordingFile,
    has_spilled: bool,
}

impl Spool {
    fn new(file: RecordingFile) -> Spool {
        // A growing vector needs three times its size; the rest is left to the recorded program.
        let memory_bytes = MachineMemory::now().map_or(0, |machine| machine.available_bytes / 4).max(MEMORY_BYTES);
        Spool { memory: Vec::new(), memory_bytes, file, has_spilled: false }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.memory.len() + bytes.len()) as u64 > self.memory_bytes {
            self.has_spilled = true;
            self.file.append(&self.memory)?;
            self.memory.clear();
        }
        self.memory.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A finished recording, and the methods that the kernel refused.
struct Recorded {
    captured: Captured,
    method: Method,
    refused: Vec<String>,
}

pub(super) fn run(arguments: &RecordArguments) -> Result<End, Stopped> {
    let subject = subject(arguments)?;
    let path = output_path(arguments);
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let facts = facts(arguments);
    let file = RecordingFile::create(&path, &facts).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Stopped::usage(format!("{} exists; remove it, or name another file", path.display()))
        }
        _ => Stopped::io(format!("{}: {error}", path.display())),
    })?;
    let asked = arguments.by.as_deref().and_then(|name| name.parse::<Method>().ok());
    let mut spool = Spool::new(file);
    let recorded = match record_by_first(asked, &subject, &mut spool, &facts, &|| stop.requested()) {
        Ok(recorded) => recorded,
        Err(error) => {
            // An empty recording would suggest that the program did no I/O.
            spool.file.discard();
            return Err(match error {
                CaptureError::Start { .. } => Stopped::usage(error),
                _ => Stopped::io(error),
            });
        }
    };
    let (has_spilled, memory_bytes) = (spool.has_spilled, spool.memory_bytes);
    let finished = spool.file.finish().map_err(|error| Stopped::io(format!("{}: {error}", path.display())))?;
    if finished != path {
        error_line!(
            "warning: {} was created by another process during the recording, which is now in {}",
            path.display(),
            finished.display()
        );
    }
    print_summary(&recorded, &subject, &finished);
    if asked.is_none() && recorded.method != Method::Bpf {
        error_line!("note: {}", recorded.refused.join("; "));
    }
    report_missing(&recorded.captured);
    if has_spilled {
        error_line!(
            "note: the recording was too large for memory ({}), so parts of it were written early; if {} is on the recorded \
             storage, these writes disturbed it",
            plumb_report::format::bytes_iec(memory_bytes as f64),
            finished.display()
        );
    }
    if let Some(status) = recorded.captured.status.filter(|status| !status.success()) {
        let program = arguments.command.first().map_or("it".into(), |word| word.to_string_lossy());
        error_line!("note: {program} ended with {status}");
    }
    Ok(if stop.requested() { End::Interrupted } else { End::Done })
}

fn subject(arguments: &RecordArguments) -> Result<Subject, Stopped> {
    let subject = match (arguments.command.is_empty(), arguments.pid.is_empty(), arguments.dev.is_empty()) {
        (_, _, false) => {
            let devices = arguments.dev.iter().map(|path| device(path)).collect::<Result<_, _>>()?;
            Subject::Devices(devices, arguments.command.clone())
        }
        (true, false, _) => Subject::Processes(arguments.pid.clone()),
        (false, true, _) => Subject::Command(arguments.command.clone()),
        _ => return Err(Stopped::usage("name a program after `--`, processes with --pid, or devices with --dev")),
    };
    let is_gone = |pid: &&u32| !std::fs::exists(format!("/proc/{pid}")).unwrap_or(false);
    match arguments.pid.iter().find(is_gone) {
        Some(missing) => Err(Stopped::usage(format!("there is no process {missing}"))),
        None => Ok(subject),
    }
}

/// Returns the path of the recording: `--output`, or the name of the device or program with `.trace`.
fn output_path(arguments: &RecordArguments) -> PathBuf {
    arguments.output.clone().unwrap_or_else(|| {
        let named = arguments.dev.first().cloned().or_else(|| arguments.command.first().map(PathBuf::from));
        let name = named.and_then(|path| path.file_name().map(PathBuf::from));
        let mut path = name.unwrap_or_else(|| PathBuf::from("process")).into_os_string();
        path.push(".trace");
        PathBuf::from(path)
    })
}

/// Returns the facts for the head of the recording.
fn facts(arguments: &RecordArguments) -> Facts {
    let mut facts = Facts::default();
    facts.set("program", concat!("plumb ", env!("CARGO_PKG_VERSION")));
    let words: Vec<_> = arguments.command.iter().map(|word| word.to_string_lossy()).collect();
    facts.set("command", words.join(" "));
    facts.set("kernel", rustix::system::uname().release().to_string_lossy());
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    facts.set("recorded-at-unix-ns", since_epoch.as_nanos());
    facts
}

/// Records by the requested method, or by the first that the kernel allows.
fn record_by_first(
    asked: Option<Method>,
    subject: &Subject,
    spool: &mut Spool,
    facts: &Facts,
    should_stop: &dyn Fn() -> bool,
) -> Result<Recorded, CaptureError> {
    // ptrace does not see requests to devices.
    let is_usable = |method: &Method| *method != Method::Ptrace || !matches!(subject, Subject::Devices(..));
    let mut refused = Vec::new();
    for method in Method::ALL.iter().copied() {
        if asked.map_or(!is_usable(&method), |asked| asked != method) {
            continue;
        }
        match record(method, subject, &mut *spool, facts, should_stop) {
            Ok(captured) => {
                spool.file.append(&spool.memory).map_err(CaptureError::Write)?;
                return Ok(Recorded { captured, method, refused });
            }
            Err(CaptureError::Kernel { what, source }) => {
                refused.push(format!("cannot record by {}: {what}: {source}", method.name()));
            }
            Err(error) => return Err(error),
        }
        // Discards the head that the refused method wrote.
        spool.memory.clear();
    }
    let needs = "Recording by bpf needs root, or CAP_BPF and CAP_PERFMON, and a kernel with BTF; by tracefs root; by ptrace nothing, for programs \
         and processes of one's own.";
    Err(CaptureError::Refused(format!("{}\n{needs}", refused.join("\n"))))
}

fn print_summary(recorded: &Recorded, subject: &Subject, path: &Path) {
    let captured = &recorded.captured;
    let each_bytes = captured.bytes as f64 / captured.records.max(1) as f64;
    output::print(&format!(
        "{} ops recorded in {}, {each_bytes:.1} B each.\n{}\n",
        captured.records,
        path.display(),
        method_summary(recorded.method, subject, captured)
    ));
}

/// Warns about calls that the recording lacks.
fn report_missing(captured: &Captured) {
    if captured.drops > 0 {
        error_line!("warning: {} calls are missing: they came faster than they could be read", captured.drops);
    }
    if captured.without_path > 0 {
        error_line!(
            "warning: {} calls are missing: tracefs does not say which file they were about",
            captured.without_path
        );
    }
    if captured.misses_io_uring {
        error_line!("warning: io_uring was used; its reads and writes are not in the recording");
    }
    if captured.maps_files {
        error_line!("note: files were mapped; reads and writes through mappings are not in the recording");
    }
}

/// Returns the method, its cost per call, and the ops that it cannot see.
fn method_summary(by: Method, subject: &Subject, captured: &Captured) -> String {
    let ns = |ns: f64| if ns < 2000.0 { format!("{ns:.0} ns") } else { format!("{:.1} µs", ns / 1000.0) };
    let cost = match (captured.ns_per_call, captured.ns_per_path) {
        (None, _) => String::new(),
        (Some(call), None) => format!(": a recorded call takes about {} longer", ns(call)),
        (Some(call), Some(path)) => {
            format!(": a recorded call takes about {} longer, one with a path {}", ns(call), ns(path))
        }
    };
    let misses = match (by, subject) {
        (_, Subject::Devices(..)) | (Method::Bpf, _) => "",
        (Method::Tracefs, Subject::Processes(_)) => {
            ". Ops of io_uring and libaio are missing, and calls with paths, but for opens"
        }
        (Method::Ptrace, Subject::Processes(_)) => ", and each other call as well. Ops of io_uring are missing",
        _ => ". Ops of io_uring are missing",
    };
    format!("By {}{cost}{misses}.", by.name())
}

fn device(path: &Path) -> Result<(u32, u32), Stopped> {
    let invalid = |reason: &str| Stopped::usage(format!("{}: {reason}", path.display()));
    let stat = rustix::fs::stat(path).map_err(|error| invalid(&error.to_string()))?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_block_device() {
        return Err(invalid("not a block device"));
    }
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    // The kernel maps requests from a partition to its device before its tracepoints fire.
    match std::fs::exists(format!("/sys/dev/block/{major}:{minor}/partition")).unwrap_or(false) {
        true => Err(invalid("a partition; name the whole device")),
        false => Ok((major, minor)),
    }
}
