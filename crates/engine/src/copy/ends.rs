//! Opens the two ends of a copy as requested. The output passes the write guard and gets its initial length.

use super::end::{End, SimEnd, UnsetLength};
use crate::backend::region::Region;
use crate::guard::{Access, CopySource, Guard, OutputOpening, Refusal, WrittenContent, open_again_as};
use crate::os;
use crate::sim::run::SimDevice;
use plumb_probe::streams::{self, Stream};
use plumb_workload::copy::{CopyFlags, CopySpec, CreateOutput};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Error from opening the ends of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("cannot open {path} for reading: {source}", path = path.display())]
    Input { path: PathBuf, source: io::Error },
    /// The output cannot be opened, or the guard rejects it.
    #[error(transparent)]
    Output(Refusal),
    /// A standard stream cannot be used with the requested flags.
    #[error("cannot use standard {stream} this way: {source}")]
    Stream {
        /// `input` or `output`.
        stream: &'static str,
        source: io::Error,
    },
    #[error("not enough memory for blocks of {bytes} bytes: {source}")]
    Memory {
        /// `true` for the input block, `false` for the output block.
        is_input: bool,
        bytes: u64,
        source: io::Error,
    },
}

impl CopyError {
    /// Returns the guard's refusal, if that is the error.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            CopyError::Output(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// Kind of a copy's target.
#[derive(Clone, Copy)]
pub(crate) enum EndPlace<'a> {
    Path(&'a Path),
    /// A simulated device and its size in bytes.
    Sim(&'a SimDevice, u64),
    /// Reads zeros and discards writes.
    Null,
}

/// Both ends with their block buffers.
pub(crate) struct Ends {
    pub(crate) input: End,
    pub(crate) output: End,
    pub(crate) input_block: Region,
    /// Buffer for gathered blocks.
    pub(crate) output_block: Option<Region>,
}

pub(crate) fn open(
    copy: &CopySpec,
    from: Option<EndPlace<'_>>,
    to: Option<EndPlace<'_>>,
    guard: &Guard,
) -> Result<Ends, CopyError> {
    if !os::HAS_NOATIME && (copy.input.noatime || copy.output.noatime) {
        return Err(CopyError::Input { path: "noatime".into(), source: Errno::OPNOTSUPP.into() });
    }
    let input = match from {
        Some(EndPlace::Path(path)) => open_input(path, flags(copy.input))?,
        Some(EndPlace::Sim(device, bytes)) if !copy.input.directory => {
            End::simulated(SimEnd::new(device.clone(), bytes, copy.input))
        }
        Some(EndPlace::Sim(device, _)) => {
            return Err(CopyError::Input { path: device.path(), source: Errno::NOTDIR.into() });
        }
        Some(EndPlace::Null) => End::null(),
        None => stream(rustix::stdio::stdin(), "input", copy.input)?,
    };
    let output = match to {
        Some(EndPlace::Path(path)) => open_output(copy, path, &input, guard)?,
        Some(EndPlace::Sim(device, bytes)) => {
            let refused = match copy {
                _ if copy.output.directory => Some(Errno::NOTDIR),
                _ if copy.create == CreateOutput::Always => Some(Errno::EXIST),
                _ => None,
            };
            if let Some(errno) = refused {
                return Err(CopyError::Output(Refusal::io(&device.path(), "open it for writing")(errno)));
            }
            End::simulated(SimEnd::new(device.clone(), bytes, copy.output))
        }
        Some(EndPlace::Null) => End::null(),
        None => stream(rustix::stdio::stdout(), "output", copy.output)?,
    };
    let block = |is_input, bytes: u64| {
        let failed = |source| CopyError::Memory { is_input, bytes, source };
        let length = usize::try_from(bytes).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        Region::new(length).map_err(failed)
    };
    Ok(Ends {
        input_block: block(true, copy.read_block.0)?,
        output_block: copy.gathers.then(|| block(false, copy.write_block.0)).transpose()?,
        input,
        output,
    })
}

fn open_input(path: &Path, flags: OFlags) -> Result<End, CopyError> {
    let failed = |error: Errno| CopyError::Input { path: path.to_owned(), source: error.into() };
    let fd = crate::raw_open::open(path, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let kind = kind_of(&rustix::fs::fstat(&fd).map_err(failed)?);
    Ok(End::open(fd, path.to_owned(), kind))
}

/// Takes over a standard stream of this process and replaces it with `/dev/null`. Later output must not follow the
/// data, and the peer must see the end of the data in time.
fn stream(own: BorrowedFd<'_>, name: &'static str, wanted: CopyFlags) -> Result<End, CopyError> {
    let failed = |error: Errno| CopyError::Stream { stream: name, source: error.into() };
    let is_closed = streams::was_closed(if name == "input" { Stream::Input } else { Stream::Output });
    if is_closed {
        // By now `/dev/null` has its descriptor and would accept all data.
        return Ok(End::closed(&format!("standard {name}")));
    }
    let fd = rustix::io::fcntl_dupfd_cloexec(own, 3).map_err(failed)?;
    let kind = kind_of(&rustix::fs::fstat(&fd).map_err(failed)?);
    if wanted.directory && kind != FileType::Directory {
        return Err(failed(Errno::NOTDIR));
    }
    let added = flags(wanted) - OFlags::DIRECTORY - OFlags::NOFOLLOW - OFlags::NOCTTY;
    let old = rustix::fs::fcntl_getfl(&fd).map_err(failed)?;
    if !old.contains(added) {
        rustix::fs::fcntl_setfl(&fd, old | added).map_err(failed)?;
    }
    let nothing = crate::raw_open::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    match name {
        "input" => rustix::stdio::dup2_stdin(&nothing).map_err(failed)?,
        _ => rustix::stdio::dup2_stdout(&nothing).map_err(failed)?,
    }
    Ok(End::open(fd, PathBuf::from(format!("standard {name}")), kind))
}

fn open_output(copy: &CopySpec, path: &Path, input: &End, guard: &Guard) -> Result<End, CopyError> {
    let wanted = flags(copy.output);
    if path.as_os_str().is_empty() {
        return Err(CopyError::Output(Refusal::io(path, "open it for writing")(Errno::NOENT)));
    }
    if copy.output.nofollow && path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(CopyError::Output(Refusal::io(path, "open it for writing")(Errno::LOOP)));
    }
    let left_bytes = if copy.empties { 0 } else { begins_at_bytes(copy) };
    let opening = OutputOpening {
        creates: copy.create != CreateOutput::Never,
        is_new: copy.create == CreateOutput::Always,
        cut_to_bytes: copy.truncate.then_some(left_bytes),
        empty_input: is_certainly_empty(input, copy).then_some(&*input.path),
        content: classify_content(input, copy, guard),
        copy_of: copy_source(input, copy),
        stream_flags: wanted,
    };
    let file = guard.open_output(path, opening).map_err(CopyError::Output)?;
    let check_failed = |error: Errno| CopyError::Output(Refusal::io(path, "check the opened file")(error));
    let kind = kind_of(&rustix::fs::fstat(&file).map_err(check_failed)?);
    if copy.output.directory {
        return Err(CopyError::Output(Refusal::io(path, "open it for writing")(Errno::NOTDIR)));
    }
    let keeps = matches!(kind, FileType::RegularFile | FileType::BlockDevice);
    let (fd, held) = if keeps && !wanted.is_empty() {
        // Some flags take effect only at open.
        let again = open_again_as(file.as_fd(), path, Access::ReadWrite, wanted).map_err(CopyError::Output)?;
        (OwnedFd::from(again), (kind == FileType::BlockDevice).then_some(file))
    } else {
        (OwnedFd::from(file), None)
    };
    let mut end = End { held, ..End::open(fd, path.to_owned(), kind) };
    if copy.truncate && !copy.seek.is_empty() {
        end.unset_length = begin_at(&end, left_bytes).err();
    }
    Ok(end)
}

/// Returns the offset at which writing begins. If no file can be that long, the seek will fail.
fn begins_at_bytes(copy: &CopySpec) -> u64 {
    copy.seek.length_bytes(copy.write_block).unwrap_or(u64::MAX)
}

/// Sets a file's length to the offset at which writing begins. Files without a length are left alone.
fn begin_at(end: &End, bytes: u64) -> Result<(), UnsetLength> {
    match end.set_length(bytes) {
        Err(errno) if matches!(end.kind, FileType::RegularFile | FileType::Directory) => {
            Err(UnsetLength { bytes, errno })
        }
        _ => Ok(()),
    }
}

/// Returns `true` if the input certainly yields no data: `/dev/null`, a device without a medium, or a file that is
/// empty or ends before the skipped bytes. Kernel files have no length but do have data, so they are read. The content
/// of a pipe is unknown until it is read.
fn is_certainly_empty(input: &End, copy: &CopySpec) -> bool {
    let Some(fd) = input.fd() else { return false };
    let Some(skipped_bytes) = copy.skip.length_bytes(copy.read_block) else { return false };
    match input.kind {
        _ if input.is_null() => true,
        FileType::RegularFile => {
            input.length().is_ok_and(|length| length <= skipped_bytes)
                && rustix::io::pread(fd, &mut [0; 1], skipped_bytes).is_ok_and(|got| got == 0)
        }
        FileType::BlockDevice => input.length().is_ok_and(|length| length <= skipped_bytes),
        _ => false,
    }
}

/// Major and minor numbers of devices with generated data: null, zero, full, random, urandom. Source:
/// Documentation/admin-guide/devices.txt.
const GENERATORS: (u32, &[u32]) = (1, &[3, 5, 7, 8, 9]);

/// Classifies the data to copy. Generated data is test data, and so are files that Plumb filled
/// and that are unchanged since.
fn classify_content(input: &End, copy: &CopySpec, guard: &Guard) -> WrittenContent {
    let Some(fd) = input.fd() else { return WrittenContent::TestData };
    let is_test_data = match input.kind {
        FileType::CharacterDevice => rustix::fs::fstat(fd).is_ok_and(|stat| {
            let (major, minors) = GENERATORS;
            rustix::fs::major(stat.st_rdev) == major && minors.contains(&rustix::fs::minor(stat.st_rdev))
        }),
        FileType::RegularFile => is_certainly_empty(input, copy) || guard.holds_test_data(fd),
        _ => false,
    };
    if is_test_data { WrittenContent::TestData } else { WrittenContent::Users }
}

/// Returns the source of an unconverted copy from a regular file, for comparison with the output; `None` for other copies.
fn copy_source<'a>(input: &'a End, copy: &CopySpec) -> Option<CopySource<'a>> {
    let file = input.fd().filter(|_| input.kind == FileType::RegularFile)?;
    let is_unchanged = copy.conversion.is_nothing() && copy.pad.is_none() && !copy.output.append;
    // A redirected standard input starts at the offset that another program left.
    let passed_bytes = rustix::fs::tell(file).ok().filter(|_| is_unchanged)?;
    let from_bytes = copy.skip.length_bytes(copy.read_block)?.checked_add(passed_bytes)?;
    Some(CopySource { file, path: &input.path, from_bytes, to_bytes: begins_at_bytes(copy) })
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Converts the flags of a job to those of open(2).
fn flags(wanted: CopyFlags) -> OFlags {
    let CopyFlags { append, direct, directory, dsync, sync, nonblock, noatime, nocache: _, noctty, nofollow } = wanted;
    let all = [
        (append, OFlags::APPEND),
        (direct, OFlags::DIRECT),
        (directory, OFlags::DIRECTORY),
        (dsync, os::DSYNC),
        (sync, OFlags::SYNC),
        (nonblock, OFlags::NONBLOCK),
        (noatime, os::NOATIME),
        (noctty, OFlags::NOCTTY),
        (nofollow, OFlags::NOFOLLOW),
    ];
    all.into_iter().filter(|(wanted, _)| *wanted).fold(OFlags::empty(), |flags, (_, flag)| flags | flag)
}
