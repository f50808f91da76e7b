//! The MPI library, opened at run time. Together with [`files`] the only module of this
//! crate that calls foreign code.
//!
//! No MPI header is compiled in. Libraries differ in the form of a handle: an address in Open MPI, a number in MPICH
//! and in the MPI 5 ABI. Both are passed in a register, so a `usize` can hold either. The functions used are those of
//! MPI-1, with `MPI_Init_thread` of MPI-2 and `MPI_Get_library_version` of MPI-3.
//!
//! Sources of the numbers: `mpi.h` of Open MPI and of MPICH, whose values are fixed by the MPICH ABI Compatibility
//! Initiative; chapter 20 of the MPI 5.0 standard, "Application Binary Interface (ABI)". Open MPI's handles are the
//! addresses of its exported variables.
#![allow(unsafe_code)]

pub(super) mod file_numbers;
pub(super) mod files;

use crate::error::StartError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// An MPI handle: an address or a number.
type Handle = usize;
/// A request in its library's form: 8 bytes in Open MPI and MPI 5, 4 in MPICH.
pub(super) type Request = usize;

/// Larger than any library's `MPI_Status`: 24 bytes in Open MPI, 20 in MPICH, 32 in MPI 5.
#[repr(C, align(16))]
struct Status([u8; 128]);

/// Longer than any library's text: 8,192 bytes in MPICH and in MPI 5, `MPI_MAX_LIBRARY_VERSION_STRING`.
const TEXT_MAX: usize = 8_192;

/// Kind of a message. No other code uses this process's communicator, so the numbers are arbitrary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// A message that a rank waits for.
    Message = 0x506c,
    /// A heartbeat between neighbouring ranks.
    Pulse = 0x506d,
}

type Init = extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type OfCommunicator = extern "C" fn(Handle, *mut c_int) -> c_int;
type SetHandler = extern "C" fn(Handle, Handle) -> c_int;
type Send = extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
type Receive = extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
type Probe = extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut Status) -> c_int;
type Test = extern "C" fn(*mut Request, *mut c_int, *mut Status) -> c_int;
type Count = extern "C" fn(*const Status, Handle, *mut c_int) -> c_int;
type Text = extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type ErrorText = extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
type Finalize = extern "C" fn() -> c_int;
type Abort = extern "C" fn(Handle, c_int) -> c_int;

/// Functions of the library that Plumb calls.
struct Functions {
    init: Init,
    rank: OfCommunicator,
    size: OfCommunicator,
    set_handler: SetHandler,
    send: Send,
    receive: Receive,
    probe: Probe,
    test: Test,
    count: Count,
    version: Text,
    error_text: ErrorText,
    finalize: Finalize,
    abort: Abort,
}

/// Family of libraries that share handle and constant values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    OpenMpi,
    /// MPICH and its derivatives.
    Mpich,
    /// The ABI of the MPI 5 standard.
    Mpi5,
}

/// Constants that a header would define: `MPI_COMM_WORLD`, `MPI_COMM_SELF`, `MPI_BYTE`,
/// `MPI_INFO_NULL`, `MPI_ERRORS_RETURN`, `MPI_THREAD_SERIALIZED` and `MPI_THREAD_MULTIPLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Abi {
    kind: Kind,
    world: Handle,
    own: Handle,
    byte: Handle,
    no_info: Handle,
    errors_return: Handle,
    /// `MPI_THREAD_SERIALIZED`: any thread may call the library, one at a time.
    serialized: c_int,
    /// `MPI_THREAD_MULTIPLE`: any number of threads may call at once.
    multiple: c_int,
}

const MPICH: Abi = Abi {
    kind: Kind::Mpich,
    world: 0x4400_0000,
    own: 0x4400_0001,
    byte: 0x4c00_010d,
    no_info: 0x1c00_0000,
    errors_return: 0x5400_0001,
    serialized: 2,
    multiple: 3,
};
const MPI_5: Abi = Abi {
    kind: Kind::Mpi5,
    world: 0x101,
    own: 0x102,
    byte: 0x247,
    no_info: 0x130,
    errors_return: 0x142,
    serialized: 2048,
    multiple: 4096,
};

/// Names in the version texts of libraries with MPICH's numbers.
const MPICH_KIND: [&str; 4] = ["MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation"];

/// An opened library. Never closed: threads that it started run until the process ends.
pub(super) struct Library {
    /// Name or path that was passed to the loader.
    pub(super) name: String,
    /// Version text that the library reports.
    pub(super) version: String,
    functions: Functions,
    abi: Abi,
    /// Handle of `dlopen`, as an address.
    loaded: usize,
}

/// Threads that may call an initialized library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Threads {
    /// Only the thread that initialized it.
    One,
    /// Any thread, one at a time.
    Several,
    /// Any threads, at the same time.
    AtOnce,
}

/// A failed call, with the library's own error text.
#[derive(Debug)]
pub(super) struct CallError {
    pub(super) function: &'static str,
    pub(super) reason: String,
}

/// Looks up a function of the library by name.
///
/// # Safety
/// `F` must be the type of a function pointer, and the function of that name must have this type.
unsafe fn function<F: Copy>(library: *mut c_void, name: &'static CStr, file: &str) -> Result<F, StartError> {
    // SAFETY: the library is open, and the name ends with a zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        let reason = format!("it has no {}", name.to_string_lossy());
        return Err(StartError::Unknown { library: file.to_owned(), reason });
    }
    // SAFETY: the caller guarantees the type. Function pointers have the size of addresses on all POSIX platforms.
    Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

impl Library {
    /// Opens a library by name or path.
    ///
    /// # Errors
    /// Returns the loader's message if the library cannot be opened, or the name of a missing part.
    pub(super) fn open(file: &str) -> Result<Library, OpenError> {
        let name = CString::new(file).map_err(|_| OpenError::NotFound("its name contains a zero".to_owned()))?;
        // SAFETY: the name ends with a zero. The library runs its own initializers, like any linked library.
        // `RTLD_GLOBAL` because Open MPI's plugins look for its symbols among the global ones.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err(OpenError::NotFound(loader_message()));
        }
        // SAFETY: each type is that of the MPI standard's C binding, with handles as described above.
        let functions = unsafe {
            Functions {
                init: function(library, c"MPI_Init_thread", file)?,
                rank: function(library, c"MPI_Comm_rank", file)?,
                size: function(library, c"MPI_Comm_size", file)?,
                set_handler: function(library, c"MPI_Comm_set_errhandler", file)?,
                send: function(library, c"MPI_Isend", file)?,
                receive: function(library, c"MPI_Irecv", file)?,
                probe: function(library, c"MPI_Iprobe", file)?,
                test: function(library, c"MPI_Test", file)?,
                count: function(library, c"MPI_Get_count", file)?,
                version: function(library, c"MPI_Get_library_version", file)?,
                error_text: function(library, c"MPI_Error_string", file)?,
                finalize: function(library, c"MPI_Finalize", file)?,
                abort: function(library, c"MPI_Abort", file)?,
            }
        };
        // SAFETY: as in `function`; only the addresses are used.
        let address = |name: &'static CStr| unsafe { libc::dlsym(library, name.as_ptr()) } as usize;
        let open_mpi = Abi {
            kind: Kind::OpenMpi,
            world: address(c"ompi_mpi_comm_world"),
            own: address(c"ompi_mpi_comm_self"),
            byte: address(c"ompi_mpi_byte"),
            no_info: address(c"ompi_mpi_info_null"),
            errors_return: address(c"ompi_mpi_errors_return"),
            serialized: 2,
            multiple: 3,
        };
        let version = version(functions.version);
        let abi = if file.contains("mpi_abi") {
            MPI_5
        } else if open_mpi.world != 0 && open_mpi.byte != 0 && open_mpi.errors_return != 0 {
            open_mpi
        } else if MPICH_KIND.iter().any(|kind| version.contains(kind)) {
            MPICH
        } else {
            let reason = format!("it calls itself `{}`", version.lines().next().unwrap_or_default());
            return Err(StartError::Unknown { library: file.to_owned(), reason }.into());
        };
        Ok(Library { name: file.to_owned(), functions, abi, version, loaded: library as usize })
    }

    /// Initializes MPI in this process, and returns which threads may call it. Must be the first
    /// call, and only called once. Workers block in MPI-IO calls while another thread sends
    /// heartbeats, so this asks for `MPI_THREAD_MULTIPLE`.
    pub(super) fn init(&self) -> Result<Threads, CallError> {
        let mut provided = 0;
        // SAFETY: MPI accepts null for both arguments of `main`.
        let code = (self.functions.init)(ptr::null_mut(), ptr::null_mut(), self.abi.multiple, &raw mut provided);
        self.checked("MPI_Init_thread", code)?;
        // Up to here an error kills the process; from here on it is returned.
        self.checked("MPI_Comm_set_errhandler", (self.functions.set_handler)(self.abi.world, self.abi.errors_return))?;
        Ok(match provided {
            level if level >= self.abi.multiple => Threads::AtOnce,
            level if level >= self.abi.serialized => Threads::Several,
            _ => Threads::One,
        })
    }

    /// Returns the rank of this process.
    pub(super) fn rank(&self) -> Result<u32, CallError> {
        self.number("MPI_Comm_rank", self.functions.rank)
    }

    /// Returns the number of processes.
    pub(super) fn size(&self) -> Result<u32, CallError> {
        self.number("MPI_Comm_size", self.functions.size)
    }

    fn number(&self, name: &'static str, function: OfCommunicator) -> Result<u32, CallError> {
        let mut number = 0;
        self.checked(name, function(self.abi.world, &raw mut number))?;
        Ok(u32::try_from(number).unwrap_or(0))
    }

    /// Starts sending a message of at most `i32::MAX` bytes. The buffer must stay in place until the request is done.
    pub(super) fn send(&self, message: &[u8], to: u32, tag: Tag) -> Result<Request, CallError> {
        let mut request = 0;
        let length = c_int::try_from(message.len()).map_err(|_| too_long("MPI_Isend"))?;
        let Abi { world, byte, .. } = self.abi;
        let code = (self.functions.send)(
            message.as_ptr().cast(),
            length,
            byte,
            to as c_int,
            tag as c_int,
            world,
            &raw mut request,
        );
        self.checked("MPI_Isend", code).map(|()| request)
    }

    /// Returns the length of the next message from a rank, if one is waiting.
    pub(super) fn probe(&self, from: u32, tag: Tag) -> Result<Option<usize>, CallError> {
        let (mut is_there, mut length) = (0, 0);
        let mut status = Status([0; 128]);
        let Abi { world, byte, .. } = self.abi;
        let code = (self.functions.probe)(from as c_int, tag as c_int, world, &raw mut is_there, &raw mut status);
        self.checked("MPI_Iprobe", code)?;
        if is_there == 0 {
            return Ok(None);
        }
        self.checked("MPI_Get_count", (self.functions.count)(&raw const status, byte, &raw mut length))?;
        usize::try_from(length).map(Some).map_err(|_| too_long("MPI_Get_count"))
    }

    /// Starts receiving the probed message. The buffer must stay in place until the request is done.
    pub(super) fn receive(&self, message: &mut [u8], from: u32, tag: Tag) -> Result<Request, CallError> {
        let mut request = 0;
        let length = c_int::try_from(message.len()).map_err(|_| too_long("MPI_Irecv"))?;
        let Abi { world, byte, .. } = self.abi;
        let code = (self.functions.receive)(
            message.as_mut_ptr().cast(),
            length,
            byte,
            from as c_int,
            tag as c_int,
            world,
            &raw mut request,
        );
        self.checked("MPI_Irecv", code).map(|()| request)
    }

    /// Returns `true` if a request is done. The request is freed then.
    pub(super) fn is_done(&self, request: &mut Request) -> Result<bool, CallError> {
        let mut done = 0;
        let mut status = Status([0; 128]);
        self.checked("MPI_Test", (self.functions.test)(&raw mut *request, &raw mut done, &raw mut status))?;
        Ok(done != 0)
    }

    /// Finalizes MPI in this process. Every process must call it, and each waits for the others.
    pub(super) fn finalize(&self) {
        (self.functions.finalize)();
    }

    /// Kills all processes of the job.
    pub(super) fn abort(&self, exit_code: u8) {
        (self.functions.abort)(self.abi.world, exit_code.into());
    }

    fn checked(&self, function: &'static str, code: c_int) -> Result<(), CallError> {
        // `MPI_SUCCESS` is 0 in every library.
        if code == 0 {
            return Ok(());
        }
        Err(CallError { function, reason: error_text(self.functions.error_text, code) })
    }
}

/// Returns the library's text for an error code.
fn error_text(function: ErrorText, code: c_int) -> String {
    let mut text = vec![0_u8; TEXT_MAX];
    let mut length = 0;
    function(code, text.as_mut_ptr().cast(), &raw mut length);
    text_of(&text, length)
}

/// Returns the library's version text. May be called before MPI is initialized.
fn version(function: Text) -> String {
    let mut text = vec![0_u8; TEXT_MAX];
    let mut length = 0;
    function(text.as_mut_ptr().cast(), &raw mut length);
    text_of(&text, length)
}

fn too_long(function: &'static str) -> CallError {
    CallError { function, reason: "the message is longer than 2 GiB".to_owned() }
}

fn text_of(bytes: &[u8], length: c_int) -> String {
    let length = usize::try_from(length).unwrap_or(0).min(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).trim_matches(['\0', '\n', ' ']).to_owned()
}

/// Returns the loader's message for the last library that it could not open.
fn loader_message() -> String {
    // SAFETY: the text belongs to the loader, and is copied before it is called again.
    let message = unsafe {
        let message = libc::dlerror();
        if message.is_null() { None } else { Some(CStr::from_ptr(message).to_string_lossy().into_owned()) }
    };
    message.unwrap_or_else(|| "the loader gives no reason".to_owned())
}

/// Whether a variable that is already set is overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overwrite {
    /// Keeps a value that is already set.
    Default,
    /// Overwrites any value with Plumb's.
    Always,
}

/// Sets an environment variable of this process, for the library that is about to be initialized.
pub(super) fn set_variable(name: &CStr, value: &CStr, overwrite: Overwrite) {
    // SAFETY: both strings end with a zero. Called before MPI is initialized, by the only thread of this
    // process that uses the environment.
    unsafe {
        libc::setenv(name.as_ptr(), value.as_ptr(), (overwrite == Overwrite::Always).into());
    }
}

/// Error from opening a library.
#[derive(Debug)]
pub(super) enum OpenError {
    /// The library does not exist; the caller may try another one.
    NotFound(String),
    /// The library exists, but cannot be used.
    Unusable(StartError),
}

impl OpenError {
    /// Converts the error for the caller. `not_found` builds it from the loader's messages.
    pub(super) fn or_not_found(self, not_found: impl FnOnce(String) -> StartError) -> StartError {
        match self {
            OpenError::NotFound(tried) => not_found(tried),
            OpenError::Unusable(error) => error,
        }
    }
}

impl From<StartError> for OpenError {
    fn from(error: StartError) -> OpenError {
        OpenError::Unusable(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a missing library, or one that is not MPI, is an error with its name and never a crash.
    #[test]
    fn other_libraries_are_refused() {
        let Err(OpenError::NotFound(message)) = Library::open("libplumb-is-not-there.so.1") else { panic!() };
        assert!(message.contains("libplumb-is-not-there.so.1"), "{message}");
        assert!(matches!(Library::open("nul\0"), Err(OpenError::NotFound(_))));
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            let Err(OpenError::Unusable(error)) = Library::open("libc.so.6") else { panic!() };
            assert!(error.to_string().contains("libc.so.6 cannot be used: it has no MPI_"), "{error}");
        }
    }
}
