//! The two ends of a copy, opened as they were asked for: the output through the write guard, with the length that it
//! begins with.

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

/// Why a copy cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The input cannot be opened.
    #[error("cannot open {path} for reading: {source}", path = path.display())]
    Input {
        /// The input.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output cannot be opened, or the guard refuses it.
    #[error(transparent)]
    Output(Refusal),
    /// A standard stream cannot be used as it was asked for.
    #[error("cannot use standard {stream} this way: {source}")]
    Stream {
        /// `input` or `output`.
        stream: &'static str,
        /// Why.
        source: io::Error,
    },
    /// No memory for a block.
    #[error("not enough memory for blocks of {bytes} bytes: {source}")]
    Memory {
        /// Of the input; of the output otherwise.
        is_input: bool,
        /// Length of the block.
        bytes: u64,
        /// Why.
        source: io::Error,
    },
}

impl CopyError {
    /// The guard's refusal, where it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            CopyError::Output(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// What a copy's target is.
#[derive(Clone, Copy)]
pub(crate) enum EndPlace<'a> {
    /// A file or device of the system.
    Path(&'a Path),
    /// A simulated device of this size.
    Sim(&'a SimDevice, u64),
    /// Nothing.
    Null,
}

/// Both ends, and the memory between.
pub(crate) struct Ends {
    pub(crate) input: End,
    pub(crate) output: End,
    pub(crate) input_block: Region,
    /// Where blocks are gathered.
    pub(crate) output_block: Option<Region>,
}

/// Opens the input, then the output.
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

/// The process's own stream, taken: what it prints later must not go where the data went, and whoever is at the other
/// end must see the end of the data when it is there. Afterwards the stream is `/dev/null`.
fn stream(own: BorrowedFd<'_>, name: &'static str, wanted: CopyFlags) -> Result<End, CopyError> {
    let failed = |error: Errno| CopyError::Stream { stream: name, source: error.into() };
    let is_closed = streams::was_closed(if name == "input" { Stream::Input } else { Stream::Output });
    if is_closed {
        // `/dev/null` has its number by now, which would take everything.
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
        empty_input: yields_nothing(input, copy).then_some(&*input.path),
        content: content_of(input, copy, guard),
        copy_of: copy_source(input, copy),
        stream_flags: wanted,
    };
    let file = guard.open_output(path, opening).map_err(CopyError::Output)?;
    let looked_at = |error: Errno| CopyError::Output(Refusal::io(path, "check the opened file")(error));
    let kind = kind_of(&rustix::fs::fstat(&file).map_err(looked_at)?);
    if copy.output.directory {
        return Err(CopyError::Output(Refusal::io(path, "open it for writing")(Errno::NOTDIR)));
    }
    let keeps = matches!(kind, FileType::RegularFile | FileType::BlockDevice);
    let (fd, held) = if keeps && !wanted.is_empty() {
        // What the flags ask for has to be asked for when it is opened.
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

/// Returns the place at which writing begins. One that no file reaches fails when it is sought.
fn begins_at_bytes(copy: &CopySpec) -> u64 {
    copy.seek.length_bytes(copy.write_block).unwrap_or(u64::MAX)
}

/// Gives a file the length at which writing begins. What has no length stays as it is.
fn begin_at(end: &End, bytes: u64) -> Result<(), UnsetLength> {
    match end.set_length(bytes) {
        Err(errno) if matches!(end.kind, FileType::RegularFile | FileType::Directory) => {
            Err(UnsetLength { bytes, errno })
        }
        _ => Ok(()),
    }
}

/// Whether nothing comes from the input for certain: `/dev/null`, a device without a medium, a file that is empty or ends
/// before what is skipped. Files of the kernel have no length and much to say, and so are read. What a pipe holds is known
/// only when it has been read.
fn yields_nothing(input: &End, copy: &CopySpec) -> bool {
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

/// Devices whose data the kernel generates: null, zero, full, random, urandom. Source:
/// Documentation/admin-guide/devices.txt.
const GENERATORS: (u32, &[u32]) = (1, &[3, 5, 7, 8, 9]);

/// Classifies the data to copy. Generated data is test data, as are files that Plumb filled and nothing has changed since.
fn content_of(input: &End, copy: &CopySpec, guard: &Guard) -> WrittenContent {
    let Some(fd) = input.fd() else { return WrittenContent::TestData };
    let is_test_data = match input.kind {
        FileType::CharacterDevice => rustix::fs::fstat(fd).is_ok_and(|stat| {
            let (major, minors) = GENERATORS;
            rustix::fs::major(stat.st_rdev) == major && minors.contains(&rustix::fs::minor(stat.st_rdev))
        }),
        FileType::RegularFile => yields_nothing(input, copy) || guard.holds_test_data(fd),
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

/// Flags of open(2).
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
