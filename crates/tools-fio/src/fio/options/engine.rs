//! Options that only some engines have.

use super::keywords::words;
use super::row::{options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::value::kind::{ANY, at_most, between};
use crate::fio::value::split::PriorityShare;
use crate::fio::value::syntax::{Count, ENGINE_TEXT, FLAG, PRIORITY_SPLIT, SWITCH, Whole, Word, choice};
use crate::fio::value::{Map, Maybe, Pair, ReadWrite, UnlessZero};
use plumb_workload::{FileCall, SocketKind};

options! {
    /// Options that only some engines have. Those that the job's engine lacks keep their defaults.
    pub struct EngineOptions {
        /// Poll for completions instead of waiting for interrupts.
        hipri: bool = row("hipri", One, FLAG).only(&["pvsync2", "sg", "io_uring", "io_uring_cmd", "libblkio", "xnvme"]);
        /// Percentage of ops to poll for.
        hipri_percentage: u32 = row("hipri_percentage", Two, Count(at_most(100))).default("100").only(&["pvsync2"]);
        /// Use the page cache, but evict the pages afterwards (RWF_DONTCACHE).
        uncached: bool = row("uncached", Two, Map(Count(ANY), |number| number > 0))
            .only(&["pvsync2", "io_uring", "io_uring_cmd"]);
        /// Fail an op that would block (RWF_NOWAIT).
        nowait: bool = row("nowait", Two, SWITCH).only(&["pvsync2", "io_uring", "io_uring_cmd", "libaio"]);
        /// Register I/O buffers with the ring.
        fixed_buffers: bool = row("fixedbufs", One, FLAG).only(&["io_uring", "io_uring_cmd"]);
        /// Register files with the ring.
        register_files: bool = row("registerfiles", One, FLAG).only(&["io_uring", "io_uring_cmd"]);
        /// Let a kernel thread poll the submission queue (SQPOLL).
        sqthread_poll: bool = row("sqthread_poll", Two, FLAG).only(&["io_uring", "io_uring_cmd", "xnvme"]);
        /// CPU for that kernel thread.
        sqthread_poll_cpu: Option<u32> = row("sqthread_poll_cpu", Two, Maybe(Count(ANY)))
            .only(&["io_uring", "io_uring_cmd"]);
        /// Submit plain instead of vectored reads and writes; -1 chooses automatically.
        nonvectored: Option<bool> = row("nonvectored", Two, Map(Whole(ANY), |choice| (choice >= 0).then_some(choice > 0)))
            .default("-1")
            .only(&["io_uring", "io_uring_cmd"]);
        /// Force every Nth op to run asynchronously (IOSQE_ASYNC).
        force_async: Option<u32> = row("force_async", Two, UnlessZero(Count(ANY))).only(&["io_uring", "io_uring_cmd"]);
        /// Reap completions from the shared ring without a system call.
        userspace_reap: bool = row("userspace_reap", Two, FLAG).only(&["libaio"]);
        /// Submit vectored reads and writes.
        libaio_vectored: bool = row("libaio_vectored", Two, SWITCH).only(&["libaio"]);
        /// Ask for transparent huge pages in the mapping.
        huge_pages: bool = row("thp", Three, Map(Count(ANY), |number| number > 0)).only(&["mmap"]).default("0");
    } with {
        /// Priorities of some of the ops.
        priority: PriorityOptions,
        /// Options of the engine cpuio.
        cpuio: CpuOptions,
        /// Options of the engine net.
        net: NetOptions,
        /// Options of the engines filestat and dirstat.
        filestat: StatOptions,
        /// Options of the engine exec.
        exec: ExecOptions,
        /// Options of the engine e4defrag.
        defrag: DefragOptions,
    }
}

options! {
    /// Priorities of some of the ops.
    pub struct PriorityOptions {
        /// Percentage of ops with a set I/O priority, for reads and writes.
        percentage: ReadWrite<Option<i64>> = row("cmdprio_percentage", Two, Pair(Whole(at_most(100))))
            .only(&["io_uring", "io_uring_cmd", "libaio"]);
        /// I/O priority class of those ops.
        class: ReadWrite<Option<i64>> = row("cmdprio_class", Two, Pair(Whole(between(1, 3))))
            .only(&["io_uring", "io_uring_cmd", "libaio"]);
        /// I/O priority hint of those ops.
        hint: ReadWrite<Option<i64>> = row("cmdprio_hint", Two, Pair(Whole(at_most(1023))))
            .only(&["io_uring", "io_uring_cmd", "libaio"]);
        /// I/O priority of those ops.
        level: ReadWrite<Option<i64>> = row("cmdprio", Two, Pair(Whole(at_most(7))))
            .only(&["io_uring", "io_uring_cmd", "libaio"]);
        /// Percentage of each I/O priority by block size.
        split: ReadWrite<Vec<PriorityShare>> = row("cmdprio_bssplit", Two, PRIORITY_SPLIT)
            .only(&["io_uring", "io_uring_cmd", "libaio"]);
    }
}

options! {
    /// Options of the engine cpuio.
    pub struct CpuOptions {
        /// Percentage of a CPU to keep busy.
        load_percent: Option<u32> = row("cpuload", Two, UnlessZero(Count(ANY))).only(&["cpuio"]);
        /// How to keep the CPU busy.
        mode: CpuMode = row("cpumode", Two, choice::<CpuMode>()).default("noop").only(&["cpuio"]);
        /// Length of one busy period, in microseconds.
        chunks_us: u32 = row("cpuchunks", Two, Count(ANY)).default("50000").only(&["cpuio"]);
        /// End when all jobs that do I/O have ended.
        exit_on_io_done: bool = row("exit_on_io_done", Two, SWITCH).default("0").only(&["cpuio"]);
    }
}

options! {
    /// Options of the engine net.
    pub struct NetOptions {
        /// Remote host name or address, or multicast group.
        hostname: Option<String> = row("hostname", Two, Maybe(ENGINE_TEXT)).only(&["net", "netsplice", "rdma", "libhdfs"]);
        /// Port to listen on or connect to.
        port: Option<u32> = row("port", Two, UnlessZero(Count(between(1, 65535))))
            .only(&["net", "netsplice", "rdma", "libhdfs"]);
        /// Transport protocol.
        transport: SocketKind = row("protocol", Two, choice::<SocketKind>())
            .or("proto")
            .default("tcp")
            .only(&["net", "netsplice"]);
        /// Disable Nagle's algorithm (TCP_NODELAY).
        nodelay: bool = row("nodelay", Two, SWITCH).only(&["net", "netsplice"]);
        /// Listen for a connection instead of making one.
        listen: bool = row("listen", Two, FLAG).only(&["net", "netsplice"]);
        /// Wait for a reply to each message before sending the next.
        pingpong: bool = row("pingpong", Two, FLAG).only(&["net", "netsplice"]);
        /// Socket buffer size, in bytes.
        window_bytes: Option<u32> = row("window_size", Two, UnlessZero(Count(ANY))).only(&["net", "netsplice"]);
        /// Maximum segment size (TCP_MAXSEG).
        mss_bytes: Option<u32> = row("mss", Two, UnlessZero(Count(ANY))).only(&["net", "netsplice"]);
    }
}

options! {
    /// Options of the engines filestat and dirstat.
    pub struct StatOptions {
        /// System call that reads the attributes.
        call: FileCall = row("stat_type", Two, choice::<FileCall>()).default("stat").only(&["filestat", "dirstat"]);
    }
}

options! {
    /// Options of the engine exec.
    pub struct ExecOptions {
        /// Program to run.
        program: Option<String> = row("program", Two, Maybe(ENGINE_TEXT)).only(&["exec"]);
        /// Arguments of that program.
        arguments: Option<String> = row("arguments", Two, Maybe(ENGINE_TEXT)).only(&["exec"]);
        /// Seconds between SIGTERM and SIGKILL when the job ends.
        grace_time_s: u32 = row("grace_time", Two, Count(ANY)).default("1").only(&["exec"]);
        /// Redirect its output to files.
        std_redirect: bool = row("std_redirect", Two, SWITCH).default("1").only(&["exec"]);
    }
}

options! {
    /// Options of the engine e4defrag.
    pub struct DefragOptions {
        /// File whose blocks the job's file gets; it is written to, and made if it is missing.
        donor: Option<String> = row("donorname", Three, Maybe(ENGINE_TEXT)).only(&["e4defrag"]);
        /// 1 gives the donor blocks for each op and takes them back; 0 gives it all of them before the start.
        in_place: bool = row("inplace", Three, Map(Count(at_most(1)), |number| number == 1)).only(&["e4defrag"]);
    }
}

words! {
    /// The kind of load on the CPU.
    CpuMode:
    Noop = "noop",
    Qsort = "qsort",
}

words! {
    for SocketKind:
    Tcp = "tcp",
    Tcp6 = "tcpv6",
    Udp = "udp",
    Udp6 = "udpv6",
    Unix = "unix",
    Vsock = "vsock",
}

words! {
    for FileCall:
    Stat = "stat",
    Lstat = "lstat",
    Statx = "statx",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Engine,
            &[
                ("hipri", |job| job.engine.hipri),
                ("hipri_percentage=7", |job| job.engine.hipri_percentage == 7),
                ("uncached=1", |job| job.engine.uncached),
                ("nowait=1", |job| job.engine.nowait),
                ("fixedbufs", |job| job.engine.fixed_buffers),
                ("registerfiles", |job| job.engine.register_files),
                ("sqthread_poll", |job| job.engine.sqthread_poll),
                ("sqthread_poll_cpu=7", |job| job.engine.sqthread_poll_cpu == Some(7)),
                ("nonvectored=1", |job| job.engine.nonvectored == Some(true)),
                ("force_async=7", |job| job.engine.force_async == Some(7)),
                ("userspace_reap", |job| job.engine.userspace_reap),
                ("libaio_vectored=1", |job| job.engine.libaio_vectored),
                ("thp=1", |job| job.engine.huge_pages),
                ("cmdprio_percentage=10,20", |job| {
                    job.engine.priority.percentage == ReadWrite { read: Some(10), write: Some(20) }
                }),
                ("cmdprio_class=1,2", |job| job.engine.priority.class == ReadWrite { read: Some(1), write: Some(2) }),
                ("cmdprio_hint=3", |job| job.engine.priority.hint == ReadWrite { read: Some(3), write: Some(3) }),
                ("cmdprio=,4", |job| job.engine.priority.level == ReadWrite { read: None, write: Some(4) }),
                ("cmdprio_bssplit=4k/10/1/0:64k/90", |job| job.engine.priority.split.read.len() == 2),
                ("cpuload=7", |job| job.engine.cpuio.load_percent == Some(7)),
                ("cpumode=qsort", |job| job.engine.cpuio.mode == CpuMode::Qsort),
                ("cpuchunks=7", |job| job.engine.cpuio.chunks_us == 7),
                ("exit_on_io_done=1", |job| job.engine.cpuio.exit_on_io_done),
                ("hostname=x", |job| job.engine.net.hostname.as_deref() == Some("x")),
                ("port=2", |job| job.engine.net.port == Some(2)),
                ("protocol=udp", |job| job.engine.net.transport == SocketKind::Udp),
                ("nodelay=1", |job| job.engine.net.nodelay),
                ("listen", |job| job.engine.net.listen),
                ("pingpong", |job| job.engine.net.pingpong),
                ("window_size=7", |job| job.engine.net.window_bytes == Some(7)),
                ("mss=7", |job| job.engine.net.mss_bytes == Some(7)),
                ("stat_type=statx", |job| job.engine.filestat.call == FileCall::Statx),
                ("program=x", |job| job.engine.exec.program.as_deref() == Some("x")),
                ("arguments=x", |job| job.engine.exec.arguments.as_deref() == Some("x")),
                ("grace_time=7", |job| job.engine.exec.grace_time_s == 7),
                ("std_redirect=0", |job| !job.engine.exec.std_redirect),
                ("donorname=x", |job| job.engine.defrag.donor.as_deref() == Some("x")),
                ("inplace=1", |job| job.engine.defrag.in_place),
            ],
        );
    }
}
