//! What executes ops: system calls, queues of the kernel, and what stands in for them.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What executes ops.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Backend {
    /// `io-uring` for depth above 1 where the kernel has it, else `psync`; `null` and `sim` for those targets.
    #[default]
    Auto,
    /// `pread`/`pwrite`.
    Psync,
    /// `preadv2`/`pwritev2` with flags.
    Preadv2 {
        /// RWF_ flags.
        #[serde(default)]
        flags: Vec<RwFlag>,
        /// Per cent of ops that are polled for, where `hipri` is among the flags.
        #[serde(default = "all_ops", skip_serializing_if = "is_all_ops")]
        hipri_percent: u8,
    },
    /// `preadv`/`pwritev`.
    Preadv,
    /// `lseek`, then `read`/`write`.
    Seek,
    /// `lseek`, then `readv`/`writev` of neighbouring ops together, up to the depth.
    SeekVectored,
    /// The kernel's native asynchronous I/O, `io_submit`.
    Libaio {
        /// Look for completions in the ring that the kernel shares, without a system call.
        #[serde(default)]
        userspace_reap: bool,
        /// Vectored ops.
        #[serde(default)]
        vectored: bool,
        /// `RWF_NOWAIT`.
        #[serde(default)]
        nowait: bool,
    },
    /// `aio_read`/`aio_write` of the C library.
    PosixAio,
    /// `splice` through a pipe.
    Splice,
    /// Calls on whole files in place of reads: each op is one call on one file.
    Files(FileCall),
    /// `fallocate` in place of writes.
    Fallocate,
    /// `ftruncate` in place of writes.
    Truncate,
    /// A socket.
    Socket {
        /// How messages travel.
        kind: SocketKind,
        /// The other host's name, or the socket's path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The port; absent for a socket of the file system.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// Wait for a connection rather than make one.
        #[serde(default)]
        listens: bool,
        /// Answer every message.
        #[serde(default)]
        ping_pong: bool,
        /// `TCP_NODELAY`.
        #[serde(default)]
        no_delay: bool,
        /// `SO_SNDBUF` and `SO_RCVBUF`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// `TCP_MAXSEG`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment: Option<Bytes>,
    },
    /// Loads and stores through a mapping.
    Mmap,
    /// Loads and stores to anonymous memory, whose pages come into being as they are first touched. No file is used.
    PageFault,
    /// `EXT4_IOC_MOVE_EXT`, for writes: the blocks of the file and of a donor change places, and each file keeps its bytes.
    MoveExtents {
        /// The file that gives its blocks. It is written to.
        donor: String,
        /// The donor gets blocks for each op, and gives them back; else for the whole range before the start.
        #[serde(default)]
        in_place: bool,
    },
    /// `fread`/`fwrite` of the C library, with its buffer.
    Stdio,
    /// io_uring.
    IoUring {
        /// Busy-poll for completions (`IORING_SETUP_IOPOLL`; needs O_DIRECT and a polling driver).
        #[serde(default)]
        poll_completions: bool,
        /// A kernel thread submits (`IORING_SETUP_SQPOLL`); its CPU time is charged to the result.
        #[serde(default)]
        poll_submissions: bool,
        /// Use registered buffers.
        #[serde(default = "yes")]
        fixed_buffers: bool,
        /// Use registered files.
        #[serde(default = "yes")]
        fixed_files: bool,
        /// The CPU of the kernel thread that submits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_cpu: Option<u32>,
        /// Vectored ops.
        #[serde(default, skip_serializing_if = "is_off")]
        vectored: bool,
        /// Every Nth op is done by a kernel thread (`IOSQE_ASYNC`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        async_every: Option<u32>,
        /// RWF_ flags.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<RwFlag>,
    },
    /// Ops complete at once.
    Null,
    /// The simulated device.
    Sim,
    /// An engine of another tool that Plumb knows by name and cannot run. It says what a job would use; running it is
    /// refused.
    Foreign {
        /// Its name.
        engine: String,
        /// What was said of it, by that tool's names.
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

/// A call on a whole file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileCall {
    /// `open` of a new file, and `close`.
    Create,
    /// `stat`.
    Stat,
    /// `lstat`.
    Lstat,
    /// `statx`.
    Statx,
    /// `unlink`.
    Unlink,
    /// `mkdir`.
    Mkdir,
    /// `stat` of a directory.
    StatDir,
    /// `rmdir`.
    Rmdir,
}

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SocketKind {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4.
    Udp,
    /// UDP over IPv6.
    Udp6,
    /// A socket of the file system.
    Unix,
    /// To or from a virtual machine.
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

    /// Whether it waits for each request before the next, so that a worker has one in flight.
    pub fn is_synchronous(&self) -> bool {
        matches!(self, Backend::Psync | Backend::Preadv2 { .. } | Backend::Mmap | Backend::Stdio)
    }

    /// The name that users know it by.
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
