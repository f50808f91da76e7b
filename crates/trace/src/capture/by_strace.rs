//! Records by strace(1), where the kernel lets nobody load programs: it stops each recorded call twice.

use super::{CaptureError, Captured, Facts, Subject, kernel::terminate};
use crate::iolog::Waits;
use crate::open::{Format, read_as};
use crate::own::OwnWriter;
use crate::record::RecordedAct;
use std::io::{self, BufReader, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How often it is looked whether strace has ended.
const NAP: Duration = Duration::from_millis(5);

/// Calls, with all that the reader makes use of and no contents.
const OPTIONS: [&str; 9] = ["-f", "-ttt", "-T", "-y", "-X", "raw", "-s", "0", "-e"];
const CALLS: &str = "trace=%file,%desc,%process";

/// Records a program or processes into `out`.
///
/// # Errors
/// [`CaptureError`] where there is no strace, it cannot record that, or the recording cannot be written.
pub fn record_by_strace<W: Write + Send>(
    subject: &Subject,
    out: W,
    facts: &Facts,
    stop: &dyn Fn() -> bool,
) -> Result<Captured, CaptureError> {
    let start = |source| CaptureError::Start { program: "strace".to_owned(), source };
    let (text, to_text) = io::pipe().map_err(start)?;
    let mut command = Command::new("strace");
    // By this name the pipe can be opened without being inherited, which would give it to the recorded program as well.
    let place = format!("/proc/{}/fd/{}", std::process::id(), to_text.as_raw_fd());
    command.args(OPTIONS).arg(CALLS).arg("-o").arg(place);
    match subject {
        // Other calls are not stopped at all.
        Subject::Command(words) => command.arg("--seccomp-bpf").arg("--").args(words),
        Subject::Processes(processes) => command
            .args(processes.iter().flat_map(|process| ["-p".to_owned(), process.to_string()]))
            .stdin(Stdio::null()),
        Subject::Devices(..) => {
            return Err(start(io::Error::new(ErrorKind::Unsupported, "it does not see requests to devices")));
        }
    };
    let mut facts = facts.clone();
    facts.set("method", "strace");
    let mut writer = OwnWriter::new(out, &facts).map_err(CaptureError::Write)?;
    let mut child = command.spawn().map_err(start)?;
    thread::scope(|scope| {
        let reading = scope.spawn(move || -> Result<(u64, bool, u64), CaptureError> {
            let input = Box::new(BufReader::with_capacity(1 << 16, text));
            let mut reader = read_as(input, Path::new("strace"), Waits::Manual, Some(Format::Strace))?;
            let (mut records, mut maps_files) = (0, false);
            while let Some(record) = reader.next() {
                let record = record?;
                maps_files |= record.act == RecordedAct::Map;
                records += 1;
                writer.push(record, reader.names()).map_err(CaptureError::Write)?;
            }
            let bytes = writer.finish(reader.names(), &Facts::default()).map_err(CaptureError::Write)?;
            Ok((records, maps_files, bytes))
        });
        let status = loop {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break Some(status),
                Err(_) => break None,
            }
            if stop() {
                terminate(child.id());
            }
            thread::sleep(NAP);
        };
        // The reader's end: nobody else writes any more.
        drop(to_text);
        let (records, maps_files, bytes) = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Captured { records, drops: 0, ns_per_call: None, bytes, status, misses_io_uring: false, maps_files })
    })
}
