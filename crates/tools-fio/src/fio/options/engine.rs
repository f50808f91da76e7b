//! What only some engines know.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_most, between};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::ReadWrite;
use crate::fio::value::split::PriorityShare;
use plumb_workload::{FileCall, SocketKind};

/// What only some engines know.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Engine,
    options: &[
        row("hipri", UsageTier::One, Kind::Flag)
            .only(&["pvsync2", "sg", "io_uring", "io_uring_cmd", "libblkio", "xnvme"])
            .doc("Poll for completions instead of waiting for interrupts."),
        row("hipri_percentage", UsageTier::Two, Kind::Whole(Slots::One, at_most(100)))
            .default("100")
            .only(&["pvsync2"])
            .doc("Percentage of ops to poll for."),
        row("uncached", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["pvsync2", "io_uring", "io_uring_cmd"])
            .doc("Use the page cache, but evict the pages afterwards (RWF_DONTCACHE)."),
        row("nowait", UsageTier::Two, Kind::Switch)
            .only(&["pvsync2", "io_uring", "io_uring_cmd", "libaio"])
            .doc("Fail an op that would block (RWF_NOWAIT)."),
        row("fixedbufs", UsageTier::One, Kind::Flag)
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Register I/O buffers with the ring."),
        row("registerfiles", UsageTier::One, Kind::Flag)
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Register files with the ring."),
        row("sqthread_poll", UsageTier::Two, Kind::Flag)
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .doc("Let a kernel thread poll the submission queue (SQPOLL)."),
        row("sqthread_poll_cpu", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["io_uring", "io_uring_cmd"])
            .doc("CPU for that kernel thread."),
        row("nonvectored", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("-1")
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Submit plain instead of vectored reads and writes; -1 chooses automatically."),
        row("force_async", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Force every Nth op to run asynchronously (IOSQE_ASYNC)."),
        row("userspace_reap", UsageTier::Two, Kind::Flag)
            .only(&["libaio"])
            .doc("Reap completions from the shared ring without a system call."),
        row("libaio_vectored", UsageTier::Two, Kind::Switch).only(&["libaio"]).doc("Submit vectored reads and writes."),
        row("thp", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["mmap"])
            .default("0")
            .doc("Ask for transparent huge pages in the mapping."),
        row("cmdprio_percentage", UsageTier::Two, Kind::Whole(Slots::Two, at_most(100)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Percentage of ops with a set I/O priority, for reads and writes."),
        row("cmdprio_class", UsageTier::Two, Kind::Whole(Slots::Two, between(1, 3)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("I/O priority class of those ops."),
        row("cmdprio_hint", UsageTier::Two, Kind::Whole(Slots::Two, at_most(1023)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("I/O priority hint of those ops."),
        row("cmdprio", UsageTier::Two, Kind::Whole(Slots::Two, at_most(7)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("I/O priority of those ops."),
        row("cmdprio_bssplit", UsageTier::Two, Kind::Special(Special::PrioritySplit))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Percentage of each I/O priority by block size."),
        row("cpuload", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["cpuio"])
            .doc("Percentage of a CPU to keep busy."),
        row("cpumode", UsageTier::Two, Kind::Choice(CpuMode::WORDS))
            .default("noop")
            .only(&["cpuio"])
            .doc("How to keep the CPU busy."),
        row("cpuchunks", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("50000")
            .only(&["cpuio"])
            .doc("Length of one busy period, in microseconds."),
        row("exit_on_io_done", UsageTier::Two, Kind::Switch)
            .default("0")
            .only(&["cpuio"])
            .doc("End when all jobs that do I/O have ended."),
        row("hostname", UsageTier::Two, Kind::Text)
            .only(&["net", "netsplice", "rdma", "libhdfs"])
            .doc("Remote host name or address, or multicast group."),
        row("port", UsageTier::Two, Kind::Whole(Slots::One, between(1, 65535)))
            .only(&["net", "netsplice", "rdma", "libhdfs"])
            .doc("Port to listen on or connect to."),
        row("protocol", UsageTier::Two, Kind::Choice(SocketKind::WORDS))
            .or("proto")
            .default("tcp")
            .only(&["net", "netsplice"])
            .doc("Transport protocol."),
        row("nodelay", UsageTier::Two, Kind::Switch)
            .only(&["net", "netsplice"])
            .doc("Disable Nagle's algorithm (TCP_NODELAY)."),
        row("listen", UsageTier::Two, Kind::Flag)
            .only(&["net", "netsplice"])
            .doc("Listen for a connection instead of making one."),
        row("pingpong", UsageTier::Two, Kind::Flag)
            .only(&["net", "netsplice"])
            .doc("Wait for a reply to each message before sending the next."),
        row("window_size", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["net", "netsplice"])
            .doc("Socket buffer size, in bytes."),
        row("mss", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["net", "netsplice"])
            .doc("Maximum segment size (TCP_MAXSEG)."),
        row("stat_type", UsageTier::Two, Kind::Choice(FileCall::WORDS))
            .default("stat")
            .only(&["filestat", "dirstat"])
            .doc("System call that reads the attributes."),
        row("program", UsageTier::Two, Kind::Text).only(&["exec"]).doc("Program to run."),
        row("arguments", UsageTier::Two, Kind::Text).only(&["exec"]).doc("Arguments of that program."),
        row("grace_time", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("1")
            .only(&["exec"])
            .doc("Seconds between SIGTERM and SIGKILL when the job ends."),
        row("std_redirect", UsageTier::Two, Kind::Switch)
            .default("1")
            .only(&["exec"])
            .doc("Redirect its output to files."),
        row("donorname", UsageTier::Three, Kind::Text)
            .only(&["e4defrag"])
            .doc("File whose blocks the job's file gets; it is written to, and made if it is missing."),
        row("inplace", UsageTier::Three, Kind::Whole(Slots::One, at_most(1)))
            .only(&["e4defrag"])
            .doc("1 gives the donor blocks for each op and takes them back; 0 gives it all of them before the start."),
    ],
};

/// What only some engines know; what the job's engine does not know is at its default.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineOptions {
    /// Poll for completions.
    pub hipri: bool,
    /// Percentage of ops polled for.
    pub hipri_percentage: u32,
    /// Leave nothing in the page cache (RWF_DONTCACHE).
    pub uncached: bool,
    /// Fail instead of blocking (RWF_NOWAIT).
    pub nowait: bool,
    /// Register buffers once.
    pub fixed_buffers: bool,
    /// Register files once.
    pub register_files: bool,
    /// A kernel thread picks ops up.
    pub sqthread_poll: bool,
    /// That thread's CPU.
    pub sqthread_poll_cpu: Option<u32>,
    /// Plain instead of vectored calls; automatic if absent.
    pub nonvectored: Option<bool>,
    /// Every Nth op is done asynchronously.
    pub force_async: Option<u32>,
    /// Take completions without a system call.
    pub userspace_reap: bool,
    /// Vectored calls of libaio.
    pub libaio_vectored: bool,
    /// Transparent huge pages in mappings.
    pub huge_pages: bool,
    /// Priorities of some of the ops.
    pub priority: PriorityOptions,
    /// Of the engine cpuio.
    pub cpuio: CpuOptions,
    /// Of the engine net.
    pub net: NetOptions,
    /// Of the engines filestat and dirstat.
    pub stat_type: FileCall,
    /// Of the engine exec.
    pub exec: ExecOptions,
    /// Of the engine e4defrag.
    pub defrag: DefragOptions,
}

impl EngineOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> EngineOptions {
        EngineOptions {
            hipri: values.switch("hipri"),
            hipri_percentage: values.count("hipri_percentage"),
            uncached: values.count("uncached") > 0,
            nowait: values.switch("nowait"),
            fixed_buffers: values.switch("fixedbufs"),
            register_files: values.switch("registerfiles"),
            sqthread_poll: values.switch("sqthread_poll"),
            sqthread_poll_cpu: values.maybe_count("sqthread_poll_cpu"),
            nonvectored: values.maybe_whole("nonvectored").filter(|choice| *choice >= 0).map(|choice| choice > 0),
            force_async: values.count_unless_zero("force_async"),
            userspace_reap: values.switch("userspace_reap"),
            libaio_vectored: values.switch("libaio_vectored"),
            huge_pages: values.count("thp") > 0,
            priority: PriorityOptions::of(values),
            cpuio: CpuOptions::of(values),
            net: NetOptions::of(values),
            stat_type: FileCall::of(values),
            exec: ExecOptions::of(values),
            defrag: DefragOptions::of(values),
        }
    }
}

/// Priorities of some of the ops.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityOptions {
    /// Percentage of ops that get it.
    pub percentage: ReadWrite<Option<i64>>,
    /// The class they get.
    pub class: ReadWrite<Option<i64>>,
    /// The hint they get.
    pub hint: ReadWrite<Option<i64>>,
    /// The priority they get.
    pub level: ReadWrite<Option<i64>>,
    /// By block size; empty if none is given.
    pub split: ReadWrite<Vec<PriorityShare>>,
}

impl PriorityOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> PriorityOptions {
        PriorityOptions {
            percentage: values.pair("cmdprio_percentage").unwrap_or_default(),
            class: values.pair("cmdprio_class").unwrap_or_default(),
            hint: values.pair("cmdprio_hint").unwrap_or_default(),
            level: values.pair("cmdprio").unwrap_or_default(),
            split: values.priority_split("cmdprio_bssplit").unwrap_or_default(),
        }
    }
}

/// Of the engine cpuio.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuOptions {
    /// Percentage of a CPU.
    pub load_percent: Option<u32>,
    /// With what.
    pub mode: CpuMode,
    /// Length of a busy piece.
    pub chunks_us: u32,
    /// End with the jobs that do I/O.
    pub exit_on_io_done: bool,
}

impl CpuOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> CpuOptions {
        CpuOptions {
            load_percent: values.count_unless_zero("cpuload"),
            mode: CpuMode::of(values),
            chunks_us: values.count("cpuchunks"),
            exit_on_io_done: values.switch("exit_on_io_done"),
        }
    }
}

/// Of the engine net.
#[derive(Debug, Clone, PartialEq)]
pub struct NetOptions {
    /// The other host.
    pub hostname: Option<String>,
    /// The port.
    pub port: Option<u32>,
    /// How messages travel.
    pub transport: SocketKind,
    /// Send at once.
    pub nodelay: bool,
    /// Wait for a connection.
    pub listen: bool,
    /// Answer every message.
    pub pingpong: bool,
    /// Bytes of the socket's window.
    pub window_bytes: Option<u32>,
    /// Largest segment.
    pub mss_bytes: Option<u32>,
}

impl NetOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> NetOptions {
        NetOptions {
            hostname: values.text("hostname"),
            port: values.count_unless_zero("port"),
            transport: SocketKind::of(values),
            nodelay: values.switch("nodelay"),
            listen: values.switch("listen"),
            pingpong: values.switch("pingpong"),
            window_bytes: values.count_unless_zero("window_size"),
            mss_bytes: values.count_unless_zero("mss"),
        }
    }
}

/// Of the engine exec.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecOptions {
    /// The program.
    pub program: Option<String>,
    /// Its arguments.
    pub arguments: Option<String>,
    /// Seconds between asking and killing.
    pub grace_time_s: u32,
    /// Send its output to files.
    pub std_redirect: bool,
}

impl ExecOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> ExecOptions {
        ExecOptions {
            program: values.text("program"),
            arguments: values.text("arguments"),
            grace_time_s: values.count("grace_time"),
            std_redirect: values.switch("std_redirect"),
        }
    }
}

/// Of the engine e4defrag.
#[derive(Debug, Clone, PartialEq)]
pub struct DefragOptions {
    /// The file that gives its blocks.
    pub donor: Option<String>,
    /// It gets blocks for each op, and gives them back.
    pub in_place: bool,
}

impl DefragOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> DefragOptions {
        DefragOptions { donor: values.text("donorname"), in_place: values.count("inplace") == 1 }
    }
}

words! {
    /// How a CPU is kept busy.
    CpuMode, "cpumode":
    /// With empty loops.
    Noop = "noop",
    /// With sorting.
    Qsort = "qsort",
}

words! {
    for SocketKind, "protocol":
    Tcp = "tcp",
    Tcp6 = "tcpv6",
    Udp = "udp",
    Udp6 = "udpv6",
    Unix = "unix",
    Vsock = "vsock",
}

words! {
    for FileCall, "stat_type":
    Stat = "stat",
    Lstat = "lstat",
    Statx = "statx",
}
