//! The functions of MPI-IO and the types they need. Looked up on first use: a library
//! without them still carries messages.
//!
//! Threads: each call may wait for other ranks, and none takes the lock that messages share. With several ranks, a
//! library must therefore allow concurrent calls from several threads ([`Threads::AtOnce`](super::Threads)).

use super::file_numbers::{Modes, errno_of};
use super::{Abi, CallError, ErrorText, Handle, Library, Status, error_text, function};
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

/// A failed call, with the closest errno value.
#[derive(Debug)]
pub(in crate::mpi) struct FileCallError {
    pub(in crate::mpi) call: CallError,
    pub(in crate::mpi) errno: c_int,
}

/// A communicator's handle.
#[derive(Debug, Clone, Copy)]
pub(in crate::mpi) struct Communicator(Handle);

#[derive(Debug)]
pub(in crate::mpi) struct File {
    handle: Handle,
    /// Types for strided calls; `None` until `show_strided` is called.
    strides: Option<Strides>,
}

/// MPI datatypes of strided calls.
#[derive(Debug, Clone, Copy)]
struct Strides {
    /// Bytes of a record, and distance from a record to the next.
    of: (c_int, isize),
    /// Memory type: one record, at the same address for each element.
    memory: Handle,
    /// File type: one record and the gap up to the next.
    file: Handle,
}

/// MPI-IO of an initialized library.
#[derive(Clone, Copy)]
pub(in crate::mpi) struct FileLibrary {
    functions: Functions,
    abi: Abi,
}

impl Library {
    /// Looks up the functions of MPI-IO.
    ///
    /// # Errors
    /// Returns an error if the library lacks a function.
    pub(in crate::mpi) fn files(&self) -> Result<FileLibrary, StartError> {
        let (library, file) = (self.loaded as *mut c_void, self.name.as_str());
        // SAFETY: each type is that of the MPI standard's C binding, with handles as the parent module describes.
        // `MPI_Offset` has 64 bits, and `MPI_Aint` the size of an address, in every library.
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

    /// Returns the version of the MPI standard that the library implements.
    pub(in crate::mpi) fn standard(&self) -> (i32, i32) {
        let (mut version, mut subversion) = (0, 0);
        (self.functions.version)(&raw mut version, &raw mut subversion);
        (version, subversion)
    }

    /// Returns the communicator of this process alone.
    pub(in crate::mpi) fn own(&self) -> Communicator {
        Communicator(self.abi.own)
    }

    /// Returns the communicator of all processes.
    pub(in crate::mpi) fn world(&self) -> Communicator {
        Communicator(self.abi.world)
    }

    /// Creates a communicator of the first `ranks` processes, each of which calls this.
    pub(in crate::mpi) fn first(&self, ranks: c_int) -> Result<Communicator, FileCallError> {
        // Arbitrary: no two communicators are created at the same time.
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

    /// Broadcasts the value of the communicator's first process. Each of its processes calls this.
    pub(in crate::mpi) fn broadcast_first(&self, by: Communicator, value: bool) -> Result<bool, FileCallError> {
        let mut byte = u8::from(value);
        let code = (self.functions.broadcast)((&raw mut byte).cast(), 1, self.abi.byte, 0, by.0);
        self.checked("MPI_Bcast", code).map(|()| byte != 0)
    }

    /// Opens a file. Collective over the communicator, with the same modes on each process.
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
        self.checked("MPI_File_open", opened).map(|()| File { handle: file, strides: None })
    }

    /// Returns the hints in effect for a file, by name.
    pub(in crate::mpi) fn hints(&self, file: &File) -> Result<Vec<(String, String)>, FileCallError> {
        let Functions { info_of, count_hints, name_of_hint, value_of_hint, free_info, .. } = self.functions;
        let (mut info, mut count) = (self.abi.no_info, 0);
        self.checked("MPI_File_get_info", info_of(file.handle, &raw mut info))?;
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

    /// Reserves space up to this length. Collective over the processes that opened the file.
    pub(in crate::mpi) fn preallocate(&self, file: &File, bytes: i64) -> Result<(), FileCallError> {
        self.checked("MPI_File_preallocate", (self.functions.preallocate)(file.handle, bytes))
    }

    /// Sets the view of a file: the process sees only blocks at a fixed stride, from `first` on, as if they were
    /// contiguous. Collective over the processes that opened the file.
    pub(in crate::mpi) fn view(&self, file: &File, view: FileBlocks) -> Result<(), FileCallError> {
        let FileBlocks { first, record, records, stride } = view;
        let piece = self.repeated(record, self.abi.byte)?;
        let block = self.repeated(records, piece)?;
        let spaced = self.spaced(block, stride)?;
        let set = self.set_view(file, first, spaced);
        self.free([piece, block, spaced]);
        set
    }

    /// Sets the view of a file: records of `record` bytes, the first one at offset `first`, a new one every `stride`
    /// bytes. All processes that opened the file must call this (`MPI_File_set_view` is collective).
    pub(in crate::mpi) fn show_strided(
        &self,
        file: &mut File,
        first: i64,
        record: c_int,
        stride: isize,
    ) -> Result<(), FileCallError> {
        let known = file.strides.filter(|strides| strides.of == (record, stride));
        let strides = match known {
            Some(strides) => strides,
            None => {
                let piece = self.repeated(record, self.abi.byte)?;
                let made =
                    Strides { of: (record, stride), memory: self.spaced(piece, 0)?, file: self.spaced(piece, stride)? };
                self.free([piece]);
                if let Some(Strides { memory, file, .. }) = file.strides.replace(made) {
                    self.free([memory, file]);
                }
                made
            }
        };
        self.set_view(file, first, strides.file)
    }

    fn set_view(&self, file: &File, first: i64, shown: Handle) -> Result<(), FileCallError> {
        let Abi { byte, no_info, .. } = self.abi;
        let code = (self.functions.set_view)(file.handle, first, byte, shown, c"native".as_ptr(), no_info);
        self.checked("MPI_File_set_view", code)
    }

    /// Creates a type of `count` contiguous elements of another type.
    fn repeated(&self, count: c_int, of: Handle) -> Result<Handle, FileCallError> {
        let mut made = 0;
        self.checked("MPI_Type_contiguous", (self.functions.contiguous)(count, of, &raw mut made)).map(|()| made)
    }

    /// Creates a type like `of` with an extent of `bytes`: the next element begins there.
    fn spaced(&self, of: Handle, bytes: isize) -> Result<Handle, FileCallError> {
        let mut made = 0;
        self.checked("MPI_Type_create_resized", (self.functions.resized)(of, 0, bytes, &raw mut made))?;
        self.checked("MPI_Type_commit", (self.functions.commit)(&raw mut made)).map(|()| made)
    }

    fn free<const N: usize>(&self, types: [Handle; N]) {
        for mut made in types {
            (self.functions.free_type)(&raw mut made);
        }
    }

    /// Reads, and returns the number of bytes read. With `all`, the call is collective over the
    /// processes that opened the file.
    pub(in crate::mpi) fn read(
        &self,
        file: &File,
        place: Place,
        into: &mut [u8],
        all: bool,
    ) -> Result<u64, FileCallError> {
        let (name, read) = match all {
            true => ("MPI_File_read_at_all", self.functions.read_all),
            false => ("MPI_File_read_at", self.functions.read),
        };
        let mut status = Status([0; 128]);
        let (offset, count, of) = self.elements(file, place, into.len(), name)?;
        let code = read(file.handle, offset, into.as_mut_ptr().cast(), count, of, &raw mut status);
        self.checked(name, code)?;
        self.moved(&status, (count, of), into.len())
    }

    /// Writes, with the same arguments as [`read`](Self::read).
    pub(in crate::mpi) fn write(
        &self,
        file: &File,
        place: Place,
        from: &[u8],
        all: bool,
    ) -> Result<u64, FileCallError> {
        let (name, write) = match all {
            true => ("MPI_File_write_at_all", self.functions.write_all),
            false => ("MPI_File_write_at", self.functions.write),
        };
        let mut status = Status([0; 128]);
        let (offset, count, of) = self.elements(file, place, from.len(), name)?;
        let code = write(file.handle, offset, from.as_ptr().cast(), count, of, &raw mut status);
        self.checked(name, code)?;
        self.moved(&status, (count, of), from.len())
    }

    /// Returns the offset, the count and the type for a call that moves a buffer of `bytes` bytes.
    fn elements(
        &self,
        file: &File,
        place: Place,
        bytes: usize,
        function: &'static str,
    ) -> Result<(i64, c_int, Handle), FileCallError> {
        match (place, file.strides) {
            (Place::At(offset), _) => Ok((offset, c_int::try_from(bytes).unwrap_or(c_int::MAX), self.abi.byte)),
            (Place::Strided(records), Some(strides)) if usize::try_from(strides.of.0) == Ok(bytes) => {
                Ok((0, records, strides.memory))
            }
            (Place::Strided(_), _) => {
                let reason = "the file's view has records of another size".to_owned();
                Err(FileCallError { call: CallError { function, reason }, errno: libc::EINVAL })
            }
        }
    }

    /// Returns the number of bytes that a call moved, from its status. `count` elements of type `of` were requested,
    /// each with `bytes` bytes of memory. For a count of zero, libraries leave the status untouched.
    fn moved(&self, status: &Status, (count, of): (c_int, Handle), bytes: usize) -> Result<u64, FileCallError> {
        let counted = |of: Handle| {
            let mut moved = 0;
            let code = (self.functions.count)(&raw const *status, of, &raw mut moved);
            self.checked("MPI_Get_count", code).map(|()| u64::try_from(moved).ok())
        };
        if count == 0 {
            return Ok(0);
        }
        let bytes = bytes as u64;
        if of == self.abi.byte {
            return Ok(counted(of)?.unwrap_or(0).min(bytes));
        }
        // MPI gives no count of whole records if one was moved in part: count bytes instead.
        match counted(of)? {
            Some(records) => Ok(records.min(count as u64) * bytes),
            None => Ok(counted(self.abi.byte)?.unwrap_or(0)),
        }
    }

    /// Makes written data durable. Collective over the processes that opened the file.
    pub(in crate::mpi) fn sync(&self, file: &File) -> Result<(), FileCallError> {
        self.checked("MPI_File_sync", (self.functions.sync)(file.handle))
    }

    /// Closes a file. Collective over the processes that opened it.
    pub(in crate::mpi) fn close(&self, file: File) -> Result<(), FileCallError> {
        if let Some(Strides { memory, file, .. }) = file.strides {
            self.free([memory, file]);
        }
        let mut handle = file.handle;
        self.checked("MPI_File_close", (self.functions.close)(&raw mut handle))
    }
}

/// Target of a transfer in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) enum Place {
    /// The bytes at this offset.
    At(i64),
    /// This number of records of the view that [`show_strided`](FileLibrary::show_strided) set, all to
    /// or from the same memory.
    Strided(c_int),
}

/// Maximum length of a hint's value, in bytes: Open MPI's limit.
const VALUE_MAX: c_int = 255;

/// Converts a C string that a library wrote, up to its zero.
fn text_of(written: &[c_char]) -> String {
    let bytes: Vec<u8> = written.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The blocks of a file in a process's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) struct FileBlocks {
    /// Offset of the first block, bytes.
    pub(in crate::mpi) first: i64,
    /// Bytes in a record.
    pub(in crate::mpi) record: c_int,
    /// Number of records in a block.
    pub(in crate::mpi) records: c_int,
    /// Distance between the starts of two blocks, bytes.
    pub(in crate::mpi) stride: isize,
}
