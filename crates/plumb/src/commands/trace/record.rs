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

/// A recording is kept in memory up to this size at least: about 70 million ops.
const MEMORY_BYTES: u64 = 256 << 20;

/// What is kept in memory until the end, and written before only where memory would be short: the file may lie on the file system
/// that is recorded.
struct Spool<'a> {
    memory: &'a mut Vec<u8>,
    memory_bytes: u64,
    file: &'a mut RecordingFile,
    has_spilled: &'a mut bool,
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.memory.len() + bytes.len()) as u64 > self.memory_bytes {
            *self.has_spilled = true;
            self.file.append(self.memory)?;
            self.memory.clear();
        }
        self.memory.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records a program or processes.
pub(super) fn run(arguments: &RecordArguments) -> Result<End, Stopped> {
    let subject = match (arguments.command.is_empty(), arguments.pid.is_empty(), arguments.dev.is_empty()) {
        (_, _, false) => {
            let devices = arguments.dev.iter().map(|path| device(path)).collect::<Result<_, _>>()?;
            Subject::Devices(devices, arguments.command.clone())
        }
        (true, false, _) => Subject::Processes(arguments.pid.clone()),
        (false, true, _) => Subject::Command(arguments.command.clone()),
        _ => return Err(Stopped::usage("name a program behind `--`, processes with --pid, or devices with --dev")),
    };
    if let Some(missing) = arguments.pid.iter().find(|pid| !std::fs::exists(format!("/proc/{pid}")).unwrap_or(false)) {
        return Err(Stopped::usage(format!("there is no process {missing}")));
    }
    let named = arguments.dev.first().cloned().or_else(|| arguments.command.first().map(PathBuf::from));
    let name = named.and_then(|path| path.file_name().map(PathBuf::from));
    let path = arguments.output.clone().unwrap_or_else(|| {
        let mut path = name.unwrap_or_else(|| PathBuf::from("process")).into_os_string();
        path.push(".trace");
        PathBuf::from(path)
    });
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let mut facts = Facts::default();
    facts.set("program", concat!("plumb ", env!("CARGO_PKG_VERSION")));
    let words: Vec<_> = arguments.command.iter().map(|word| word.to_string_lossy()).collect();
    facts.set("command", words.join(" "));
    let kernel = rustix::system::uname();
    facts.set("kernel", kernel.release().to_string_lossy());
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    facts.set("recorded-at-unix-ns", since_epoch.as_nanos());
    let mut file = RecordingFile::create(&path, &facts).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Stopped::usage(format!("{} exists; remove it, or name another file", path.display()))
        }
        _ => Stopped::io(format!("{}: {error}", path.display())),
    })?;
    let (mut memory, mut has_spilled) = (Vec::new(), false);
    // A vector that grows has thrice its bytes for a moment; the rest is left to what is recorded.
    let memory_bytes = MachineMemory::now().map_or(0, |machine| machine.available_bytes / 4).max(MEMORY_BYTES);
    let stops = || stop.requested();
    let asked = arguments.by.as_deref().and_then(|name| name.parse::<Method>().ok());
    // Requests to devices are seen by ptrace under no circumstances.
    let usable = |method: &Method| *method != Method::Ptrace || !matches!(subject, Subject::Devices(..));
    let methods = Method::ALL.iter().copied().filter(|method| asked.map_or(usable(method), |asked| asked == *method));
    let (mut outcome, mut by, mut refused) = (None, Method::Bpf, String::new());
    for method in methods {
        let spool = Spool { memory: &mut memory, memory_bytes, file: &mut file, has_spilled: &mut has_spilled };
        by = method;
        let tried = record(method, &subject, spool, &facts, &stops);
        let Err(CaptureError::Kernel { what, source }) = &tried else {
            outcome = Some(tried);
            break;
        };
        refused.push_str(&format!(
            "{}cannot record by {}: {what}: {source}",
            if refused.is_empty() { "" } else { "\n" },
            method.name()
        ));
        // The head of a recording that did not begin.
        memory.clear();
    }
    let outcome = outcome.unwrap_or_else(|| {
        let needs = "Recording by bpf needs root, or CAP_BPF and CAP_PERFMON, and a kernel with BTF; by tracefs root; by ptrace nothing, for programs \
             and processes of one's own.";
        Err(CaptureError::Refused(format!("{refused}\n{needs}")))
    });
    let captured = outcome.and_then(|captured| {
        file.append(&memory).map_err(CaptureError::Write)?;
        Ok(captured)
    });
    let captured = match captured {
        Ok(captured) => captured,
        Err(error) => {
            // An empty recording would suggest that the program did no I/O.
            file.discard();
            return Err(match error {
                CaptureError::Start { .. } => Stopped::usage(error),
                _ => Stopped::io(error),
            });
        }
    };
    let asked_for = path;
    let path = file.finish().map_err(|error| Stopped::io(format!("{}: {error}", asked_for.display())))?;
    if path != asked_for {
        let (asked_for, path) = (asked_for.display(), path.display());
        error_line!("warning: {asked_for} was made by something else during the recording, which is in {path}");
    }
    let each = captured.bytes as f64 / captured.records.max(1) as f64;
    output::print(&format!(
        "{} ops recorded in {}, {each:.1} B each.\n{}\n",
        captured.records,
        path.display(),
        said_of(by, &subject, &captured)
    ));
    if asked.is_none() && by != Method::Bpf {
        error_line!("note: {}", refused.replace('\n', "; "));
    }
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
        error_line!("note: files were mapped; what is read and written through maps is not in the recording");
    }
    if has_spilled {
        error_line!(
            "note: the recording was written while it was made, because it was too large for memory ({}); if {} lies on what was \
             recorded, some of these writes disturbed it",
            plumb_report::format::bytes_iec(memory_bytes as f64),
            path.display()
        );
    }
    if let Some(status) = captured.status.filter(|status| !status.success()) {
        error_line!("note: {} ended with {status}", words.first().map_or("it", |word| word.as_ref()));
    }
    Ok(if stop.requested() { End::Interrupted } else { End::Done })
}

/// How it was recorded, what that cost, and what such a recording never has.
fn said_of(by: Method, subject: &Subject, captured: &Captured) -> String {
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

/// The numbers of a whole block device.
fn device(path: &Path) -> Result<(u32, u32), Stopped> {
    let wrong = |reason: &str| Stopped::usage(format!("{}: {reason}", path.display()));
    let stat = rustix::fs::stat(path).map_err(|error| wrong(&error.to_string()))?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_block_device() {
        return Err(wrong("not a block device"));
    }
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    // The kernel moves requests to a partition to its device before it announces them.
    match std::fs::exists(format!("/sys/dev/block/{major}:{minor}/partition")).unwrap_or(false) {
        true => Err(wrong("a partition; name the whole device")),
        false => Ok((major, minor)),
    }
}
