//! The functions of MPI-IO, and what they need besides. They are looked up when somebody wants them: a library without them
//! still carries messages.
//!
//! Threads: each call may wait for other ranks, and none goes through the lock that messages share. A library must therefore let
//! several threads call it at the same time where there are several ranks ([`Threads::AtOnce`](super::Threads)).

use super::{Abi, CallError, ErrorText, Handle, Kind, Library, Status, error_text, function};
use crate::error::StartError;
use std::ffi::{CStr, c_char, c_int, c_void};

type Open = extern "C" fn(Handle, *const c_char, c_int, Handle, *mut Handle) -> c_int;
type OfHandle = extern "C" fn(*mut Handle) -> c_int;
type ReadAt = extern "C" fn(Handle, i64, *mut c_void, c_int, Handle, *mut Status) -> c_int;
type WriteAt = extern "C" fn(Handle, i64, *const c_void, c_int, Handle, *mut Status) -> c_int;
type Sync = extern "C" fn(Handle) -> c_int;
type Preallocate = extern "C" fn(Handle, i64) -> c_int;
type SetView = extern "C" fn(Handle, i64, Handle, Handle, *const c_char, Handle) -> c_int;
type SetInfo = extern "C" fn(Handle, *const c_char, *const c_char) -> c_int;
type InfoOf = extern "C" fn(Handle, *mut Handle) -> c_int;
type CountHints = extern "C" fn(Handle, *mut c_int) -> c_int;
type NameOfHint = extern "C" fn(Handle, c_int, *mut c_char) -> c_int;
type ValueOfHint = extern "C" fn(Handle, *const c_char, c_int, *mut c_char, *mut c_int) -> c_int;
type GroupOf = extern "C" fn(Handle, *mut Handle) -> c_int;
type RangeOf = extern "C" fn(Handle, c_int, *mut [c_int; 3], *mut Handle) -> c_int;
type CreateOfGroup = extern "C" fn(Handle, Handle, c_int, *mut Handle) -> c_int;
type Contiguous = extern "C" fn(c_int, Handle, *mut Handle) -> c_int;
type Resized = extern "C" fn(Handle, isize, isize, *mut Handle) -> c_int;
type Count = extern "C" fn(*const Status, Handle, *mut c_int) -> c_int;
type Broadcast = extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int;
type ErrorClass = extern "C" fn(c_int, *mut c_int) -> c_int;
type Version = extern "C" fn(*mut c_int, *mut c_int) -> c_int;

#[derive(Clone, Copy)]
struct Functions {
    open: Open,
    close: OfHandle,
    read: ReadAt,
    read_all: ReadAt,
    write: WriteAt,
    write_all: WriteAt,
    sync: Sync,
    preallocate: Preallocate,
    set_view: SetView,
    create_info: OfHandle,
    set_info: SetInfo,
    free_info: OfHandle,
    info_of: InfoOf,
    count_hints: CountHints,
    name_of_hint: NameOfHint,
    value_of_hint: ValueOfHint,
    group: GroupOf,
    range: RangeOf,
    free_group: OfHandle,
    create_of_group: CreateOfGroup,
    broadcast: Broadcast,
    contiguous: Contiguous,
    resized: Resized,
    commit: OfHandle,
    free_type: OfHandle,
    count: Count,
    error_text: ErrorText,
    error_class: ErrorClass,
    version: Version,
}

/// How a file is opened: MPI's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) struct Modes {
    pub(in crate::mpi) read: bool,
    pub(in crate::mpi) write: bool,
    pub(in crate::mpi) create: bool,
    pub(in crate::mpi) exclusive: bool,
}

impl Modes {
    /// As the library has them. Nobody else opens the file at the same time: `MPI_MODE_UNIQUE_OPEN`. Source: `mpi.h` of each; the
    /// standard's own are powers of two in the order of the names.
    fn number(self, kind: Kind) -> c_int {
        let [create, exclusive, unique, read, write, both] = match kind {
            Kind::OpenMpi | Kind::Mpich => [1, 64, 32, 2, 4, 8],
            Kind::Mpi5 => [2, 8, 128, 16, 256, 32],
        };
        let access = match (self.read, self.write) {
            (_, false) => read,
            (true, true) => both,
            (false, true) => write,
        };
        let wanted = [(self.create, create), (self.exclusive, exclusive)];
        wanted.into_iter().filter(|(wanted, _)| *wanted).fold(access | unique, |mode, (_, flag)| mode | flag)
    }
}

/// Error classes that have a number of the system's. Source: `mpi.h` of each; of MPI 5, the ABI's.
fn errno_of(kind: Kind, class: c_int) -> c_int {
    let known = [
        libc::EACCES,
        libc::EINVAL,
        libc::EEXIST,
        libc::EBUSY,
        libc::ENOMEM,
        libc::ENOSPC,
        libc::ENOENT,
        libc::EDQUOT,
        libc::EROFS,
        libc::EOPNOTSUPP,
    ];
    let classes = match kind {
        Kind::OpenMpi => [20, 23, 28, 29, 39, 41, 42, 44, 45, 52],
        Kind::Mpich => [20, 22, 25, 26, 34, 36, 37, 39, 40, 44],
        Kind::Mpi5 => [20, 23, 28, 29, 39, 41, 42, 45, 46, 58],
    };
    classes.into_iter().zip(known).find(|(known, _)| *known == class).map_or(libc::EIO, |(_, errno)| errno)
}

/// What failed, with a number of the system's that is closest to it.
#[derive(Debug)]
pub(in crate::mpi) struct FileCallError {
    pub(in crate::mpi) call: CallError,
    pub(in crate::mpi) errno: c_int,
}

/// A communicator.
#[derive(Debug, Clone, Copy)]
pub(in crate::mpi) struct Communicator(Handle);

/// An open file.
#[derive(Debug)]
pub(in crate::mpi) struct File(Handle);

/// MPI-IO of a library that was started.
#[derive(Clone, Copy)]
pub(in crate::mpi) struct FileLibrary {
    functions: Functions,
    abi: Abi,
}

impl Library {
    /// Its MPI-IO.
    ///
    /// # Errors
    /// A function is missing in it.
    pub(in crate::mpi) fn files(&self) -> Result<FileLibrary, StartError> {
        let (library, file) = (self.loaded as *mut c_void, self.name.as_str());
        // SAFETY: each type is that of the MPI standard's C binding, with handles as the parent module has them. `MPI_Offset` has 64
        // bits and `MPI_Aint` those of an address in every library.
        let functions = unsafe {
            Functions {
                open: function(library, c"MPI_File_open", file)?,
                close: function(library, c"MPI_File_close", file)?,
                read: function(library, c"MPI_File_read_at", file)?,
                read_all: function(library, c"MPI_File_read_at_all", file)?,
                write: function(library, c"MPI_File_write_at", file)?,
                write_all: function(library, c"MPI_File_write_at_all", file)?,
                sync: function(library, c"MPI_File_sync", file)?,
                preallocate: function(library, c"MPI_File_preallocate", file)?,
                set_view: function(library, c"MPI_File_set_view", file)?,
                create_info: function(library, c"MPI_Info_create", file)?,
                set_info: function(library, c"MPI_Info_set", file)?,
                free_info: function(library, c"MPI_Info_free", file)?,
                info_of: function(library, c"MPI_File_get_info", file)?,
                count_hints: function(library, c"MPI_Info_get_nkeys", file)?,
                name_of_hint: function(library, c"MPI_Info_get_nthkey", file)?,
                value_of_hint: function(library, c"MPI_Info_get", file)?,
                group: function(library, c"MPI_Comm_group", file)?,
                range: function(library, c"MPI_Group_range_incl", file)?,
                free_group: function(library, c"MPI_Group_free", file)?,
                create_of_group: function(library, c"MPI_Comm_create_group", file)?,
                broadcast: function(library, c"MPI_Bcast", file)?,
                contiguous: function(library, c"MPI_Type_contiguous", file)?,
                resized: function(library, c"MPI_Type_create_resized", file)?,
                commit: function(library, c"MPI_Type_commit", file)?,
                free_type: function(library, c"MPI_Type_free", file)?,
                count: function(library, c"MPI_Get_count", file)?,
                error_text: function(library, c"MPI_Error_string", file)?,
                error_class: function(library, c"MPI_Error_class", file)?,
                version: function(library, c"MPI_Get_version", file)?,
            }
        };
        Ok(FileLibrary { functions, abi: self.abi })
    }
}

impl FileLibrary {
    fn checked(&self, function: &'static str, code: c_int) -> Result<(), FileCallError> {
        if code == 0 {
            return Ok(());
        }
        let mut class = code;
        (self.functions.error_class)(code, &raw mut class);
        let reason = error_text(self.functions.error_text, code);
        Err(FileCallError { call: CallError { function, reason }, errno: errno_of(self.abi.kind, class) })
    }

    /// The version of the standard that the library follows.
    pub(in crate::mpi) fn standard(&self) -> (i32, i32) {
        let (mut version, mut subversion) = (0, 0);
        (self.functions.version)(&raw mut version, &raw mut subversion);
        (version, subversion)
    }

    /// This process alone.
    pub(in crate::mpi) fn own(&self) -> Communicator {
        Communicator(self.abi.own)
    }

    /// All processes.
    pub(in crate::mpi) fn world(&self) -> Communicator {
        Communicator(self.abi.world)
    }

    /// The first `ranks` processes, each of which calls this.
    pub(in crate::mpi) fn first(&self, ranks: c_int) -> Result<Communicator, FileCallError> {
        // Arbitrary: no two are made at the same time.
        const TAG: c_int = 0x506c;
        let Functions { group, range, free_group, create_of_group, .. } = self.functions;
        let (mut all, mut some, mut made) = (0, 0, 0);
        self.checked("MPI_Comm_group", group(self.abi.world, &raw mut all))?;
        let mut ranges = [[0, ranks - 1, 1]];
        self.checked("MPI_Group_range_incl", range(all, 1, ranges.as_mut_ptr(), &raw mut some))?;
        let created = create_of_group(self.abi.world, some, TAG, &raw mut made);
        free_group(&raw mut all);
        free_group(&raw mut some);
        self.checked("MPI_Comm_create_group", created).map(|()| Communicator(made))
    }

    /// What the first process of a communicator says; each of them calls this.
    pub(in crate::mpi) fn of_first(&self, by: Communicator, says: bool) -> Result<bool, FileCallError> {
        let mut byte = u8::from(says);
        let code = (self.functions.broadcast)((&raw mut byte).cast(), 1, self.abi.byte, 0, by.0);
        self.checked("MPI_Bcast", code).map(|()| byte != 0)
    }

    /// Opens a file. All processes of the communicator do, with the same modes; each waits for the others.
    pub(in crate::mpi) fn open(
        &self,
        by: Communicator,
        path: &CStr,
        modes: Modes,
        hints: &[(std::ffi::CString, std::ffi::CString)],
    ) -> Result<File, FileCallError> {
        let (mut info, mut file) = (self.abi.no_info, 0);
        if !hints.is_empty() {
            self.checked("MPI_Info_create", (self.functions.create_info)(&raw mut info))?;
            for (key, value) in hints {
                self.checked("MPI_Info_set", (self.functions.set_info)(info, key.as_ptr(), value.as_ptr()))?;
            }
        }
        let mode = modes.number(self.abi.kind);
        let opened = (self.functions.open)(by.0, path.as_ptr(), mode, info, &raw mut file);
        if !hints.is_empty() {
            (self.functions.free_info)(&raw mut info);
        }
        self.checked("MPI_File_open", opened).map(|()| File(file))
    }

    /// The hints that a file has, by name.
    pub(in crate::mpi) fn hints(&self, file: &File) -> Result<Vec<(String, String)>, FileCallError> {
        let Functions { info_of, count_hints, name_of_hint, value_of_hint, free_info, .. } = self.functions;
        let (mut info, mut count) = (self.abi.no_info, 0);
        self.checked("MPI_File_get_info", info_of(file.0, &raw mut info))?;
        if info == self.abi.no_info {
            return Ok(Vec::new());
        }
        let counted = self.checked("MPI_Info_get_nkeys", count_hints(info, &raw mut count));
        let hint = |number: c_int| {
            // Names have at most 256 bytes in any library (`MPI_MAX_INFO_KEY`).
            let (mut name, mut value, mut is_there): ([c_char; 512], [c_char; VALUE_MAX as usize + 1], c_int) =
                ([0; 512], [0; VALUE_MAX as usize + 1], 0);
            self.checked("MPI_Info_get_nthkey", name_of_hint(info, number, name.as_mut_ptr()))?;
            let found = value_of_hint(info, name.as_ptr(), VALUE_MAX, value.as_mut_ptr(), &raw mut is_there);
            self.checked("MPI_Info_get", found)?;
            Ok((text_of(&name), if is_there == 0 { String::new() } else { text_of(&value) }))
        };
        let hints = counted.and_then(|()| (0..count).map(hint).collect());
        free_info(&raw mut info);
        hints
    }

    /// Reserves space up to this length. All processes that opened the file do.
    pub(in crate::mpi) fn preallocate(&self, file: &File, bytes: i64) -> Result<(), FileCallError> {
        self.checked("MPI_File_preallocate", (self.functions.preallocate)(file.0, bytes))
    }

    /// Shows of a file only blocks of `block` bytes, each `stride` bytes behind the one before, from `first` on: the file of a process
    /// is then these blocks, one behind the other. All processes that opened the file do.
    pub(in crate::mpi) fn view(&self, file: &File, view: FileBlocks) -> Result<(), FileCallError> {
        let Functions { contiguous, resized, commit, free_type, set_view, .. } = self.functions;
        let FileBlocks { first, record, records, stride } = view;
        let (mut piece, mut block, mut spaced) = (0, 0, 0);
        self.checked("MPI_Type_contiguous", contiguous(record, self.abi.byte, &raw mut piece))?;
        self.checked("MPI_Type_contiguous", contiguous(records, piece, &raw mut block))?;
        self.checked("MPI_Type_create_resized", resized(block, 0, stride, &raw mut spaced))?;
        self.checked("MPI_Type_commit", commit(&raw mut spaced))?;
        let Abi { byte, no_info, .. } = self.abi;
        let set = set_view(file.0, first, byte, spaced, c"native".as_ptr(), no_info);
        for mut made in [piece, block, spaced] {
            free_type(&raw mut made);
        }
        self.checked("MPI_File_set_view", set)
    }

    /// Reads. `all`: the processes that opened the file do so together. The bytes that were read.
    pub(in crate::mpi) fn read(
        &self,
        file: &File,
        offset: i64,
        into: &mut [u8],
        all: bool,
    ) -> Result<u64, FileCallError> {
        let (name, read) = match all {
            true => ("MPI_File_read_at_all", self.functions.read_all),
            false => ("MPI_File_read_at", self.functions.read),
        };
        let mut status = Status([0; 128]);
        let count = c_int::try_from(into.len()).unwrap_or(c_int::MAX);
        let code = read(file.0, offset, into.as_mut_ptr().cast(), count, self.abi.byte, &raw mut status);
        self.checked(name, code)?;
        self.moved(&status, into.len())
    }

    /// Writes, as [`read`](Self::read) reads.
    pub(in crate::mpi) fn write(&self, file: &File, offset: i64, from: &[u8], all: bool) -> Result<u64, FileCallError> {
        let (name, write) = match all {
            true => ("MPI_File_write_at_all", self.functions.write_all),
            false => ("MPI_File_write_at", self.functions.write),
        };
        let mut status = Status([0; 128]);
        let count = c_int::try_from(from.len()).unwrap_or(c_int::MAX);
        let code = write(file.0, offset, from.as_ptr().cast(), count, self.abi.byte, &raw mut status);
        self.checked(name, code)?;
        self.moved(&status, from.len())
    }

    /// What a status says was moved. Of nothing, libraries leave it as it was.
    fn moved(&self, status: &Status, most: usize) -> Result<u64, FileCallError> {
        if most == 0 {
            return Ok(0);
        }
        let mut moved = 0;
        let code = (self.functions.count)(&raw const *status, self.abi.byte, &raw mut moved);
        self.checked("MPI_Get_count", code)?;
        Ok(u64::try_from(moved).unwrap_or(0).min(most as u64))
    }

    /// Makes durable what was written. All processes that opened the file do.
    pub(in crate::mpi) fn sync(&self, file: &File) -> Result<(), FileCallError> {
        self.checked("MPI_File_sync", (self.functions.sync)(file.0))
    }

    /// Closes a file. All processes that opened it do.
    pub(in crate::mpi) fn close(&self, file: File) -> Result<(), FileCallError> {
        let mut handle = file.0;
        self.checked("MPI_File_close", (self.functions.close)(&raw mut handle))
    }
}

/// How much of a hint's value is read, bytes: as much as Open MPI allows.
const VALUE_MAX: c_int = 255;

/// What a library wrote, up to its zero.
fn text_of(written: &[c_char]) -> String {
    let bytes: Vec<u8> = written.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The blocks of a file that a process sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) struct FileBlocks {
    /// Where the first one lies, bytes.
    pub(in crate::mpi) first: i64,
    /// Bytes of a record.
    pub(in crate::mpi) record: c_int,
    /// Records of a block.
    pub(in crate::mpi) records: c_int,
    /// From a block to the next, bytes.
    pub(in crate::mpi) stride: isize,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the numbers of each library: with a wrong one, a file that is to be read would be emptied or made.
    #[test]
    fn modes_and_errors_have_the_numbers_of_each_library() {
        let read = Modes { read: true, write: false, create: false, exclusive: false };
        let made = Modes { write: true, create: true, ..read };
        assert_eq!([read, made].map(|modes| modes.number(Kind::OpenMpi)), [2 | 32, 8 | 1 | 32]);
        assert_eq!([read, made].map(|modes| modes.number(Kind::Mpich)), [2 | 32, 8 | 1 | 32]);
        assert_eq!([read, made].map(|modes| modes.number(Kind::Mpi5)), [16 | 128, 32 | 2 | 128]);
        let only = Modes { read: false, exclusive: true, ..made };
        assert_eq!([Kind::Mpich, Kind::Mpi5].map(|kind| only.number(kind)), [4 | 1 | 64 | 32, 256 | 2 | 8 | 128]);
        assert_eq!(errno_of(Kind::OpenMpi, 41), libc::ENOSPC);
        assert_eq!(errno_of(Kind::Mpich, 36), libc::ENOSPC);
        assert_eq!(errno_of(Kind::Mpich, 37), libc::ENOENT);
        assert_eq!(errno_of(Kind::Mpi5, 41), libc::ENOSPC);
        assert_eq!(errno_of(Kind::OpenMpi, 999), libc::EIO);
    }
}
