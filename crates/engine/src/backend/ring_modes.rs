//! What a workload may ask of a ring of io_uring.

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
