//! Writes lines to a file in a separate thread: a slow disk or reader must not delay the run.

use super::Stamped;
use super::spec::Destination;
use crate::exit::Stopped;
use crossbeam_channel::TrySendError;
use crossbeam_channel::{Receiver, Sender, bounded};
use plumb_engine::guard::OutputFile;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lines that wait for a slow reader before some are dropped: a quarter of an hour of seconds.
const WAITING_MAX: usize = 1024;

/// Time that a run on virtual time waits for the reader; its seconds pass almost at once.
const VIRTUAL_PATIENCE: Duration = Duration::from_secs(5);

/// Time that the end of the program waits for unwritten lines.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Formats an event as lines of text.
pub(super) type Printer = fn(&Stamped) -> String;

/// A file that receives lines.
pub(super) struct FileSink {
    sender: Option<Sender<Arc<Stamped>>>,
    failed: Arc<OnceLock<String>>,
    thread: JoinHandle<()>,
    /// Lines that were dropped because the reader was too slow.
    left_out: u64,
}

/// An open file, or a pipe to open.
enum Opened {
    File(File),
    /// Opening it blocks until a reader opens the other end.
    Pipe(PathBuf),
}

impl FileSink {
    /// Opens the file, and starts the thread that writes to it.
    ///
    /// # Errors
    /// The file cannot be written, or must not be overwritten.
    pub(super) fn open(to: &Destination, print: Printer) -> Result<FileSink, Stopped> {
        let opened = match to {
            Destination::StandardOutput => {
                let out =
                    rustix::io::dup(io::stdout()).map_err(|error| Stopped::io(format!("standard output: {error}")))?;
                Opened::File(File::from(out))
            }
            // Not every `/dev` has it, and opening it again can fail, so duplicate the descriptor.
            Destination::File(path) if path == Path::new("/dev/stderr") => {
                let error =
                    rustix::io::dup(io::stderr()).map_err(|error| Stopped::io(format!("standard error: {error}")))?;
                Opened::File(File::from(error))
            }
            Destination::File(path) => open(path)?,
        };
        let (sender, lines) = bounded(WAITING_MAX);
        let failed = Arc::new(OnceLock::new());
        let reported = Arc::clone(&failed);
        let write = move || {
            if let Err(error) = write_all(opened, &lines, print) {
                let _ = reported.set(error.to_string());
            }
        };
        let thread = std::thread::Builder::new().name("plumb-stream".to_owned()).spawn(write).map_err(Stopped::io)?;
        Ok(FileSink { sender: Some(sender), failed, thread, left_out: 0 })
    }

    /// Queues an event. Blocks in virtual time only.
    pub(super) fn send(&mut self, event: &Arc<Stamped>, is_virtual: bool) {
        let Some(sender) = &self.sender else { return };
        let begun = Instant::now();
        loop {
            match sender.try_send(Arc::clone(event)) {
                Ok(()) => return,
                Err(TrySendError::Disconnected(_)) => {
                    self.sender = None;
                    return;
                }
                Err(TrySendError::Full(_)) if is_virtual && begun.elapsed() < VIRTUAL_PATIENCE => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TrySendError::Full(_)) => {
                    self.left_out += 1;
                    return;
                }
            }
        }
    }

    /// Returns the error that stopped the writer.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }

    /// Flushes within [`END_PATIENCE`], and returns a message about lost lines.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.sender = None;
        let begun = Instant::now();
        while !self.thread.is_finished() && begun.elapsed() < END_PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(failure) = self.failure() {
            return Some(failure.to_owned());
        }
        match (self.thread.is_finished(), self.left_out) {
            (true, 0) => None,
            (true, lines) => Some(format!("the reader was too slow, and {lines} lines were left out")),
            (false, _) => Some("the last lines were not written within 2 s, and are lost".to_owned()),
        }
    }
}

/// Opens a file for appending, which destroys nothing. Refuses devices.
fn open(path: &Path) -> Result<Opened, Stopped> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        return Ok(Opened::Pipe(path.to_owned()));
    }
    OutputFile::named("--stream", path).append().map(Opened::File).map_err(Stopped::usage)
}

fn write_all(opened: Opened, lines: &Receiver<Arc<Stamped>>, print: Printer) -> io::Result<()> {
    let mut file = match opened {
        Opened::File(file) => file,
        Opened::Pipe(path) => OutputFile::named("--stream", &path).append()?,
    };
    // Writes each line at once, so that its reader gets it without delay.
    lines.iter().try_for_each(|event| file.write_all(plumb_text::visible(&print(&event)).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::event;

    fn printed(event: &Stamped) -> String {
        format!("{}\n", event.line.run)
    }

    // Protects: lines are appended to an existing file, and all of them are in it at the end.
    #[test]
    fn lines_are_added() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "before\n").unwrap();
        let mut sink = FileSink::open(&Destination::File(path.clone()), printed).unwrap();
        (0..3000).for_each(|number| sink.send(&event(&number.to_string()), true));
        assert_eq!(sink.finish(), None);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("before\n0\n1\n") && text.ends_with("\n2999\n"), "{text}");
    }

    // Protects: a full disk is reported, and neither blocks nor panics.
    #[test]
    fn a_full_disk_is_reported() {
        let mut sink = FileSink::open(&Destination::File("/dev/full".into()), printed).unwrap();
        (0..10).for_each(|_| sink.send(&event("x"), false));
        let failure = sink.finish().unwrap();
        assert!(failure.contains("No space left"), "{failure}");
        sink.send(&event("x"), false);
    }

    // Protects: a pipe without a reader blocks nothing, and lost lines are reported.
    #[test]
    fn a_pipe_without_a_reader() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let mut sink = FileSink::open(&Destination::File(path), printed).unwrap();
        (0..WAITING_MAX + 5).for_each(|_| sink.send(&event("x"), false));
        assert_eq!(sink.left_out, 5);
        assert!(sink.finish().unwrap().contains("the last lines were not written"));
    }

    // Protects: a path that cannot be a stream is refused before any measurement.
    #[test]
    fn unusable_destinations_are_refused() {
        let refusal = FileSink::open(&Destination::File("/nosuch/dir/f".into()), printed).err().unwrap();
        assert!(refusal.message.contains("/nosuch/dir/f"), "{}", refusal.message);
    }
}
