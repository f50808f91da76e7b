//! What a workload may ask of the kernel's queues, wherever they are known: of a ring of io_uring, and of libaio.

use plumb_workload::Backend;
use plumb_workload::backend::RwFlag;

/// The modes that a workload may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingModes {
    pub(crate) poll_completions: bool,
    pub(crate) poll_submissions: bool,
    /// The CPU of the kernel thread that submits.
    pub(crate) poll_cpu: Option<u32>,
    pub(crate) fixed_buffers: bool,
    pub(crate) fixed_files: bool,
    pub(crate) vectored: bool,
    /// Every Nth op is done by a kernel thread.
    pub(crate) async_every: Option<u32>,
    pub(crate) flags: Vec<RwFlag>,
}

impl RingModes {
    /// What is fastest almost everywhere.
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

    /// The modes of a workload's backend; the best ones for a backend without any.
    pub(crate) fn of(backend: &Backend) -> RingModes {
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

/// How ops are handed over and taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LibaioModes {
    /// Look for completions in the shared ring, without a system call.
    pub(crate) userspace_reap: bool,
    pub(crate) vectored: bool,
    /// `RWF_NOWAIT`.
    pub(crate) nowait: bool,
    /// `RWF_ATOMIC` on writes.
    pub(crate) atomic: bool,
}
