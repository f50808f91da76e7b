//! Kernel queue options of a workload, for io_uring and libaio.

use plumb_workload::Backend;
use plumb_workload::backend::RwFlag;

/// Options of an io_uring ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingModes {
    pub(crate) poll_completions: bool,
    pub(crate) poll_submissions: bool,
    /// CPU of the kernel thread that polls for submissions.
    pub(crate) poll_cpu: Option<u32>,
    pub(crate) fixed_buffers: bool,
    pub(crate) fixed_files: bool,
    pub(crate) vectored: bool,
    /// Every Nth op is executed by a kernel thread.
    pub(crate) async_every: Option<u32>,
    pub(crate) flags: Vec<RwFlag>,
}

impl RingModes {
    /// The fastest modes on almost every system.
    pub(crate) const BEST: RingModes = RingModes {
        poll_completions: false,
        poll_submissions: false,
        poll_cpu: None,
        fixed_buffers: true,
        fixed_files: true,
        vectored: false,
        async_every: None,
        flags: Vec::new(),
    };

    /// Returns the modes of a workload's backend, or [`BEST`](RingModes::BEST) if it has none.
    pub(crate) fn for_backend(backend: &Backend) -> RingModes {
        match backend {
            &Backend::IoUring {
                poll_completions,
                poll_submissions,
                fixed_buffers,
                fixed_files,
                poll_cpu,
                vectored,
                async_every,
                ref flags,
            } => RingModes {
                poll_completions,
                poll_submissions,
                poll_cpu,
                fixed_buffers,
                fixed_files,
                vectored,
                async_every,
                flags: flags.clone(),
            },
            _ => RingModes::BEST,
        }
    }
}

/// Submission and completion options of libaio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LibaioModes {
    /// Read completions from the shared ring, without a system call.
    pub(crate) userspace_reap: bool,
    pub(crate) vectored: bool,
    /// Set `RWF_NOWAIT`.
    pub(crate) nowait: bool,
    /// Set `RWF_ATOMIC` on writes.
    pub(crate) atomic: bool,
}
