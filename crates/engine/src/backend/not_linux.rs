//! Stubs of the Linux-only backends for other systems. Each constructor fails with an error that names the backend.

use crate::backend::priorities::Priorities;
use crate::backend::queue_modes::LibaioModes;
use crate::backend::{BlockContext, BlockFiles, Completion, Done, QueuedBackend, Slot, SyncBackend, Wait};
use crate::op::BlockOp;
use std::io;

/// A type without values, so that a stub cannot be constructed.
enum Never {}

fn only_linux(what: &str) -> io::Error {
    let text = format!("{what} needs Linux, but this system is {}; use psync or posix-aio", std::env::consts::OS);
    io::Error::new(io::ErrorKind::Unsupported, text)
}

macro_rules! never_queued {
    ($backend:ty) => {
        impl QueuedBackend for $backend {
            fn submit(&mut self, _: &BlockOp, _: Slot) {
                match self.0 {}
            }

            fn enter(&mut self, _: Wait) -> io::Result<()> {
                match self.0 {}
            }

            fn completed(&mut self) -> Option<Done> {
                match self.0 {}
            }

            fn name(&self) -> &'static str {
                match self.0 {}
            }
        }
    };
}

/// io_uring(7).
pub(crate) mod io_uring {
    use super::*;
    use crate::backend::FileKind;
    use crate::backend::queue_modes::RingModes;

    pub(crate) struct Ring(Never);

    impl Ring {
        pub(crate) fn new(_: u32, _: &RingModes, _: BlockContext, _: Option<Box<Priorities>>) -> io::Result<Ring> {
            Err(only_linux("io_uring"))
        }

        pub(crate) fn try_read(&mut self, _: u32) -> io::Result<()> {
            match self.0 {}
        }

        pub(crate) fn take_files(&mut self) -> BlockFiles {
            match self.0 {}
        }

        pub(crate) fn fallbacks(&self) -> &[String] {
            match self.0 {}
        }
    }

    never_queued!(Ring);

    /// Returns the error of a system without io_uring.
    pub(crate) fn refusal() -> Option<io::Error> {
        Some(only_linux("io_uring"))
    }

    pub(crate) fn can_trim(kind: FileKind) -> bool {
        kind == FileKind::Regular
    }
}

/// io_submit(2).
pub(crate) mod libaio {
    use super::*;
    use crate::syscall::aio::AioRange;

    pub(crate) struct KernelQueue(Never);

    impl KernelQueue {
        pub(crate) fn new(_: u32) -> io::Result<KernelQueue> {
            Err(only_linux("libaio"))
        }

        // The signature matches the queue on Linux. Nothing here is unsafe, because no queue can be constructed.
        #[allow(unsafe_code)]
        pub(crate) unsafe fn submit(&mut self, _: &mut [*mut IoControlBlock]) -> io::Result<usize> {
            match self.0 {}
        }

        pub(crate) fn take(&mut self, _: usize, _: &mut [IoEvent], _: Option<u64>) -> io::Result<usize> {
            match self.0 {}
        }
    }

    #[derive(Clone, Copy, Default)]
    pub(crate) struct IoControlBlock;

    impl IoControlBlock {
        pub(crate) fn reading(_: AioRange, _: u64) -> IoControlBlock {
            IoControlBlock
        }

        pub(crate) fn writing(_: AioRange, _: u64) -> IoControlBlock {
            IoControlBlock
        }
    }

    #[derive(Clone, Copy, Default)]
    pub(crate) struct IoEvent {
        pub(crate) data: u64,
        pub(crate) result: i64,
    }

    pub(crate) struct Libaio(Never);

    impl Libaio {
        pub(crate) fn new(
            kernel: KernelQueue,
            _: u32,
            _: LibaioModes,
            _: Option<Box<Priorities>>,
            _: BlockContext,
        ) -> Libaio {
            match kernel.0 {}
        }
    }

    never_queued!(Libaio);
}

/// splice(2).
pub(crate) mod splice {
    use super::*;

    pub(crate) struct Splice(Never);

    impl Splice {
        pub(crate) fn new(_: BlockContext) -> io::Result<Splice> {
            Err(only_linux("splice"))
        }
    }

    impl SyncBackend for Splice {
        type Op = BlockOp;

        fn execute(&mut self, _: &BlockOp) -> Completion {
            match self.0 {}
        }
    }
}
