//! The MPI library, opened at run time. The only module of this crate that calls foreign code, with [`files`] below it.
//!
//! No header of an MPI is compiled in. What differs between libraries is how a handle looks: an address in Open MPI, a number in
//! MPICH and in the MPI 5 ABI. Both are passed in a register, so that a `usize` is either. Functions used are those of MPI-1, with
//! `MPI_Init_thread` of MPI-2 and `MPI_Get_library_version` of MPI-3.
//!
//! Sources of the numbers: `mpi.h` of Open MPI and of MPICH, whose values are fixed by the MPICH ABI Compatibility Initiative; chapter 20 of the
//! MPI 5.0 standard, "Application Binary Interface (ABI)". Open MPI's are the addresses of its exported variables.
#![allow(unsafe_code)]

pub(super) mod file_numbers;
pub(super) mod files;

use crate::error::StartError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// A handle: an address or a number.
type Handle = usize;
/// A request, as its library writes it: 8 bytes of Open MPI and MPI 5, 4 of MPICH.
pub(super) type Request = usize;

/// Longer than any library's `MPI_Status`: 24 bytes of Open MPI, 20 of MPICH, 32 of MPI 5.
#[repr(C, align(16))]
struct Status([u8; 128]);

/// Longer than any library's text: 8,192 of MPICH and of MPI 5, `MPI_MAX_LIBRARY_VERSION_STRING`.
const TEXT_MAX: usize = 8_192;

/// Kinds of messages. Nobody else uses this process' communicator: the numbers are arbitrary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// A message that somebody waits for.
    Message = 0x506c,
    /// A sign of life.
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

/// The functions that are used.
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

/// Whose numbers a library has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    OpenMpi,
    /// With its relatives.
    Mpich,
    /// The standard's own.
    Mpi5,
}

/// What a header would define: `MPI_COMM_WORLD`, `MPI_COMM_SELF`, `MPI_BYTE`, `MPI_INFO_NULL`, `MPI_ERRORS_RETURN`,
/// `MPI_THREAD_SERIALIZED` and `MPI_THREAD_MULTIPLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Abi {
    kind: Kind,
    world: Handle,
    own: Handle,
    byte: Handle,
    no_info: Handle,
    errors_return: Handle,
    /// No two threads are in the library at once, but any may be.
    serialized: c_int,
    /// Any number of threads is.
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

/// What libraries with the numbers of MPICH call themselves.
const MPICH_KIND: [&str; 4] = ["MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation"];

/// An opened library. It is never closed: what it started runs until the process ends.
pub(super) struct Library {
    /// As it was opened.
    pub(super) name: String,
    /// What it says of itself.
    pub(super) version: String,
    functions: Functions,
    abi: Abi,
    /// As the loader knows it: an address.
    loaded: usize,
}

/// Which threads may call a library that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Threads {
    /// The one that started it.
    One,
    /// Any, one at a time.
    Several,
    /// Any, at the same time.
    AtOnce,
}

/// What failed, in the library's words.
#[derive(Debug)]
pub(super) struct CallError {
    pub(super) function: &'static str,
    pub(super) reason: String,
}

/// A function of the library, by its name.
///
/// # Safety
/// `F` is the type of a function pointer, and the function of that name has it.
unsafe fn function<F: Copy>(library: *mut c_void, name: &'static CStr, file: &str) -> Result<F, StartError> {
    // SAFETY: the library is open, and the name ends with a zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        let reason = format!("it has no {}", name.to_string_lossy());
        return Err(StartError::Unknown { library: file.to_owned(), reason });
    }
    // SAFETY: the caller vouches for the type; function pointers have the size of addresses on all platforms of POSIX.
    Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

impl Library {
    /// Opens a library by its name, or its path.
    ///
    /// # Errors
    /// The loader's message, where it cannot be opened; what is missing in it.
    pub(super) fn open(file: &str) -> Result<Library, OpenError> {
        let name = CString::new(file).map_err(|_| OpenError::NotFound("its name contains a zero".to_owned()))?;
        // SAFETY: the name ends with a zero. The library runs its own initialisers, as any that is linked does. Open MPI's plugins
        // look for its symbols among the global ones.
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

    /// Starts MPI in this process, and says which threads may call it. It must be the first call, and the only one. Workers that
    /// wait in a call of MPI-IO do so at the same time as signs of life are sent.
    pub(super) fn init(&self) -> Result<Threads, CallError> {
        let mut provided = 0;
        // SAFETY: MPI takes null for both arguments of `main`.
        let code = (self.functions.init)(ptr::null_mut(), ptr::null_mut(), self.abi.multiple, &raw mut provided);
        self.checked("MPI_Init_thread", code)?;
        // Until here an error ends the process; from here on it is returned.
        self.checked("MPI_Comm_set_errhandler", (self.functions.set_handler)(self.abi.world, self.abi.errors_return))?;
        Ok(match provided {
            level if level >= self.abi.multiple => Threads::AtOnce,
            level if level >= self.abi.serialized => Threads::Several,
            _ => Threads::One,
        })
    }

    /// This process.
    pub(super) fn rank(&self) -> Result<u32, CallError> {
        self.number("MPI_Comm_rank", self.functions.rank)
    }

    /// How many processes.
    pub(super) fn size(&self) -> Result<u32, CallError> {
        self.number("MPI_Comm_size", self.functions.size)
    }

    fn number(&self, name: &'static str, function: OfCommunicator) -> Result<u32, CallError> {
        let mut number = 0;
        self.checked(name, function(self.abi.world, &raw mut number))?;
        Ok(u32::try_from(number).unwrap_or(0))
    }

    /// Begins to send a message. It must stay where it is until the request is done; `i32::MAX` bytes at most.
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

    /// The length of the next message from a rank, if there is one.
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

    /// Begins to receive the message that was probed. The memory must stay where it is until the request is done.
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

    /// Whether a request is done. It is gone then.
    pub(super) fn is_done(&self, request: &mut Request) -> Result<bool, CallError> {
        let mut done = 0;
        let mut status = Status([0; 128]);
        self.checked("MPI_Test", (self.functions.test)(&raw mut *request, &raw mut done, &raw mut status))?;
        Ok(done != 0)
    }

    /// Ends MPI in this process. All processes do so, and each waits for the others.
    pub(super) fn finalize(&self) {
        (self.functions.finalize)();
    }

    /// Ends all processes.
    pub(super) fn abort(&self, exit_code: u8) {
        (self.functions.abort)(self.abi.world, exit_code.into());
    }

    fn checked(&self, function: &'static str, code: c_int) -> Result<(), CallError> {
        // `MPI_SUCCESS` is 0 in all of them.
        if code == 0 {
            return Ok(());
        }
        Err(CallError { function, reason: error_text(self.functions.error_text, code) })
    }
}

/// What an error code means, in the library's words.
fn error_text(function: ErrorText, code: c_int) -> String {
    let mut text = vec![0_u8; TEXT_MAX];
    let mut length = 0;
    function(code, text.as_mut_ptr().cast(), &raw mut length);
    text_of(&text, length)
}

/// What a library says of itself. It may be asked before it is started.
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

/// Why the last library could not be opened.
fn loader_message() -> String {
    // SAFETY: the text belongs to the loader, and is copied before it is called again.
    let message = unsafe {
        let message = libc::dlerror();
        if message.is_null() { None } else { Some(CStr::from_ptr(message).to_string_lossy().into_owned()) }
    };
    message.unwrap_or_else(|| "the loader gives no reason".to_owned())
}

/// Who has the last word about a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sets {
    /// Whoever set it before.
    Default,
    /// Plumb.
    Always,
}

/// Sets a variable of this process' environment, for the library that is about to be started.
pub(super) fn set_variable(name: &CStr, value: &CStr, sets: Sets) {
    // SAFETY: both end with a zero. It is called before MPI is started, by the only thread of this process that uses the
    // environment.
    unsafe {
        libc::setenv(name.as_ptr(), value.as_ptr(), (sets == Sets::Always).into());
    }
}

/// Why a library is not open.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Another one may be there.
    NotFound(String),
    /// It is there, and cannot be used.
    Unusable(StartError),
}

impl OpenError {
    /// As the error of whoever asked for a library; `not_found` makes it of the loader's messages.
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

    // Protects: a library that is not there, or is none of MPI's, is an error with its name, and never a crash.
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
