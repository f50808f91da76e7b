//! Backends, which execute ops: system calls, kernel queues, and test doubles for both.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The backend that executes a worker's ops.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Backend {
    /// Picks `io-uring` for depths above 1 where the kernel supports it, and `psync` otherwise. `null` and `sim`
    /// targets get the backend of that name.
    #[default]
    Auto,
    /// `pread`/`pwrite`, one op at a time.
    Psync,
    /// `preadv2`/`pwritev2`, one op at a time, with per-op flags.
    Preadv2 {
        /// `RWF_` flags passed with each op.
        #[serde(default)]
        flags: Vec<RwFlag>,
        /// Percentage of ops that poll for completion if `hipri` is among the flags.
        #[serde(default = "all_ops", skip_serializing_if = "is_all_ops")]
        hipri_percent: u8,
    },
    /// `preadv`/`pwritev`, one op at a time.
    Preadv,
    /// `lseek` followed by `read`/`write`.
    Seek,
    /// `lseek` followed by one `readv`/`writev` for a run of adjacent ops, up to the depth.
    SeekVectored,
    /// The kernel's native asynchronous I/O, `io_submit`.
    Libaio {
        /// Reap completions from the ring shared with the kernel, without a system call.
        #[serde(default)]
        userspace_reap: bool,
        /// Submit vectored ops (`PREADV`/`PWRITEV`).
        #[serde(default)]
        vectored: bool,
        /// Set `RWF_NOWAIT` on every op.
        #[serde(default)]
        nowait: bool,
    },
    /// `aio_read`/`aio_write` of the C library.
    PosixAio,
    /// `splice` through a pipe, with `vmsplice` to and from user memory.
    Splice,
    /// Whole-file calls in place of reads: each op makes one call on one file.
    Files(FileCall),
    /// `fallocate` in place of writes.
    Fallocate,
    /// `ftruncate` in place of writes.
    Truncate,
    /// A network or Unix socket, or a vsock.
    Socket {
        /// Transport protocol and address family.
        kind: SocketKind,
        /// Host name of the peer, or the path of a Unix socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// Port number; absent for a Unix socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// Wait for a connection instead of making one.
        #[serde(default)]
        listens: bool,
        /// Answer every message that arrives.
        #[serde(default)]
        ping_pong: bool,
        /// Disable Nagle's algorithm (`TCP_NODELAY`).
        #[serde(default)]
        no_delay: bool,
        /// Size of the socket buffers (`SO_SNDBUF` and `SO_RCVBUF`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// Maximum TCP segment size (`TCP_MAXSEG`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment: Option<Bytes>,
    },
    /// Loads and stores through a memory mapping of the file.
    Mmap,
    /// Loads and stores to anonymous memory, which the kernel allocates page by page on first touch. Uses no file.
    PageFault,
    /// `EXT4_IOC_MOVE_EXT` in place of writes: swaps blocks between the file and a donor.
    /// Both files keep their contents.
    MoveExtents {
        /// Path of the donor file. It is written to.
        donor: String,
        /// Allocate donor blocks for each op and free them after it. Otherwise allocate blocks for the
        /// whole range before the start.
        #[serde(default)]
        in_place: bool,
    },
    /// `fread`/`fwrite` of the C library, through its buffer.
    Stdio,
    /// Linux `io_uring`, with the options below.
    IoUring {
        /// Busy-poll for completions (`IORING_SETUP_IOPOLL`; needs O_DIRECT and a polling driver).
        #[serde(default)]
        poll_completions: bool,
        /// Let a kernel thread submit (`IORING_SETUP_SQPOLL`). The result includes its CPU time.
        #[serde(default)]
        poll_submissions: bool,
        /// Register the buffers with the kernel.
        #[serde(default = "yes")]
        fixed_buffers: bool,
        /// Register the files with the kernel.
        #[serde(default = "yes")]
        fixed_files: bool,
        /// CPU that the submission thread is pinned to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_cpu: Option<u32>,
        /// Submit vectored ops (`READV`/`WRITEV`).
        #[serde(default, skip_serializing_if = "is_off")]
        vectored: bool,
        /// Hand every Nth op to a kernel worker thread (`IOSQE_ASYNC`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        async_every: Option<u32>,
        /// `RWF_` flags passed with each op.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<RwFlag>,
    },
    /// Complete every op at once without doing anything.
    Null,
    /// The simulated device of a `sim` target.
    Sim,
    /// An engine of another tool that Plumb recognises but cannot run. It documents the job's settings, and running it is
    /// an error.
    Foreign {
        /// The engine's name in that tool.
        engine: String,
        /// The engine's options, keyed by the tool's own option names.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        options: BTreeMap<String, String>,
    },
}

fn yes() -> bool {
    true
}

fn is_off(switch: &bool) -> bool {
    !switch
}

fn all_ops() -> u8 {
    100
}

fn is_all_ops(percent: &u8) -> bool {
    *percent == all_ops()
}

/// A call on a whole file or directory, counted as one op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileCall {
    /// `open` of a new file followed by `close`.
    Create,
    /// `stat` of a file by path.
    Stat,
    /// `lstat` of a file by path.
    Lstat,
    /// `statx` of a file by path.
    Statx,
    /// `unlink` of a file by path.
    Unlink,
    /// `mkdir` of a new directory.
    Mkdir,
    /// `stat` of a directory by path.
    StatDir,
    /// `rmdir` of an empty directory.
    Rmdir,
}

/// Transport protocol and address family of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SocketKind {
    /// A TCP connection over IPv4.
    Tcp,
    /// A TCP connection over IPv6.
    Tcp6,
    /// Datagrams of UDP over IPv4.
    Udp,
    /// Datagrams of UDP over IPv6.
    Udp6,
    /// A Unix domain socket on this machine.
    Unix,
    /// A vsock, between a virtual machine and its host.
    Vsock,
}

impl Backend {
    /// io_uring with registered buffers and files and no polling.
    pub const IO_URING: Backend = Backend::IoUring {
        poll_completions: false,
        poll_submissions: false,
        fixed_buffers: true,
        fixed_files: true,
        poll_cpu: None,
        vectored: false,
        async_every: None,
        flags: Vec::new(),
    };

    /// Returns `true` for backends that validation refuses with a depth above 1, because they finish each request before
    /// they start the next. Backends of other tools that also make one call at a time, such as `preadv`, are not among
    /// them.
    pub fn is_synchronous(&self) -> bool {
        matches!(self, Backend::Psync | Backend::Preadv2 { .. } | Backend::Mmap | Backend::Stdio)
    }

    /// Returns the backend's name as users write it.
    pub fn name(&self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Psync => "psync",
            Backend::Preadv2 { .. } => "preadv2",
            Backend::Preadv => "preadv",
            Backend::Seek => "seek",
            Backend::SeekVectored => "seek-vectored",
            Backend::Libaio { .. } => "libaio",
            Backend::PosixAio => "posix-aio",
            Backend::Splice => "splice",
            Backend::Files(_) => "files",
            Backend::Fallocate => "fallocate",
            Backend::Truncate => "truncate",
            Backend::PageFault => "page-fault",
            Backend::MoveExtents { .. } => "move-extents",
            Backend::Socket { .. } => "socket",
            Backend::Mmap => "mmap",
            Backend::Stdio => "stdio",
            Backend::IoUring { .. } => "io-uring",
            Backend::Null => "null",
            Backend::Sim => "sim",
            Backend::Foreign { .. } => "foreign",
        }
    }
}

/// A flag of `preadv2`/`pwritev2`. Source: preadv2(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RwFlag {
    /// `RWF_HIPRI`: poll for completion.
    Hipri,
    /// `RWF_DSYNC`: each write as if under `O_DSYNC`.
    Dsync,
    /// `RWF_SYNC`: each write as if under `O_SYNC`.
    Sync,
    /// `RWF_NOWAIT`: fail with `EAGAIN` rather than wait.
    Nowait,
    /// `RWF_UNCACHED` (`RWF_DONTCACHE`): drop pages after use.
    Uncached,
    /// `RWF_ATOMIC`: torn-write protection.
    Atomic,
}
