//! What only some engines know.

use super::kind::{ANY, Kind, Slots, Special, at_most, between};
use super::{Category, Shelf, Tier, row};

/// What only some engines know.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Engine,
    options: &[
        row("hipri", Tier::One, Kind::Flag)
            .only(&["pvsync2", "sg", "io_uring", "io_uring_cmd", "libblkio", "xnvme"])
            .doc("Poll for completions instead of waiting for interrupts."),
        row("hipri_percentage", Tier::Two, Kind::Whole(Slots::One, at_most(100)))
            .default("100")
            .only(&["pvsync2"])
            .doc("Per cent of ops that are polled for."),
        row("uncached", Tier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["pvsync2", "io_uring", "io_uring_cmd"])
            .doc("Use the page cache, but leave nothing in it (RWF_DONTCACHE)."),
        row("nowait", Tier::Two, Kind::Switch)
            .only(&["pvsync2", "io_uring", "io_uring_cmd", "libaio"])
            .doc("Fail an op instead of letting it block (RWF_NOWAIT)."),
        row("fixedbufs", Tier::One, Kind::Flag)
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Register the buffers with the ring once."),
        row("registerfiles", Tier::One, Kind::Flag)
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Register the files with the ring once."),
        row("sqthread_poll", Tier::Two, Kind::Flag)
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .doc("Let a kernel thread pick ops up."),
        row("sqthread_poll_cpu", Tier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["io_uring", "io_uring_cmd"])
            .doc("The CPU that kernel thread runs on."),
        row("nonvectored", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("-1")
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Hand over plain reads and writes instead of vectored ones; -1 chooses by itself."),
        row("force_async", Tier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["io_uring", "io_uring_cmd"])
            .doc("Ask for every so many-th op to be done asynchronously."),
        row("userspace_reap", Tier::Two, Kind::Flag)
            .only(&["libaio"])
            .doc("Take completions from the shared ring without a system call."),
        row("libaio_vectored", Tier::Two, Kind::Switch).only(&["libaio"]).doc("Hand over vectored reads and writes."),
        row("cmdprio_percentage", Tier::Two, Kind::Whole(Slots::Two, at_most(100)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Per cent of ops with a higher priority, for reads and writes."),
        row("cmdprio_class", Tier::Two, Kind::Whole(Slots::Two, between(1, 3)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Priority class of those ops."),
        row("cmdprio_hint", Tier::Two, Kind::Whole(Slots::Two, at_most(1023)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Priority hint of those ops."),
        row("cmdprio", Tier::Two, Kind::Whole(Slots::Two, at_most(7)))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Priority of those ops."),
        row("cmdprio_bssplit", Tier::Two, Kind::Special(Special::PrioritySplit))
            .only(&["io_uring", "io_uring_cmd", "libaio"])
            .doc("Shares of priorities by block size."),
        row("cpuload", Tier::Two, Kind::Whole(Slots::One, ANY)).only(&["cpuio"]).doc("Per cent of a CPU to keep busy."),
        row("cpumode", Tier::Two, Kind::Choice(&["noop", "qsort"]))
            .default("noop")
            .only(&["cpuio"])
            .doc("How the CPU is kept busy."),
        row("cpuchunks", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("50000")
            .only(&["cpuio"])
            .doc("Length of one busy piece, in microseconds."),
        row("exit_on_io_done", Tier::Two, Kind::Switch)
            .default("0")
            .only(&["cpuio"])
            .doc("End when the jobs that do I/O have ended."),
        row("hostname", Tier::Two, Kind::Text)
            .only(&["net", "netsplice", "rdma", "libhdfs"])
            .doc("The other host, or the group of a multicast."),
        row("port", Tier::Two, Kind::Whole(Slots::One, between(1, 65535)))
            .only(&["net", "netsplice", "rdma", "libhdfs"])
            .doc("The port to listen at or connect to."),
        row("protocol", Tier::Two, Kind::Choice(&["tcp", "tcpv6", "udp", "udpv6", "unix", "vsock"]))
            .or("proto")
            .default("tcp")
            .only(&["net", "netsplice"])
            .doc("The transport."),
        row("nodelay", Tier::Two, Kind::Switch).only(&["net", "netsplice"]).doc("Send at once (TCP_NODELAY)."),
        row("listen", Tier::Two, Kind::Flag)
            .only(&["net", "netsplice"])
            .doc("Wait for a connection instead of making one."),
        row("pingpong", Tier::Two, Kind::Flag).only(&["net", "netsplice"]).doc("Answer every message before the next."),
        row("window_size", Tier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["net", "netsplice"])
            .doc("Bytes of the socket's window."),
        row("mss", Tier::Two, Kind::Whole(Slots::One, ANY))
            .only(&["net", "netsplice"])
            .doc("Largest segment (TCP_MAXSEG)."),
        row("stat_type", Tier::Two, Kind::Choice(&["stat", "lstat", "statx"]))
            .default("stat")
            .only(&["filestat", "dirstat"])
            .doc("Which call asks for a file's attributes."),
        row("program", Tier::Two, Kind::Text).only(&["exec"]).doc("The program to run."),
        row("arguments", Tier::Two, Kind::Text).only(&["exec"]).doc("Its arguments."),
        row("grace_time", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("1")
            .only(&["exec"])
            .doc("Seconds between asking it to end and killing it."),
        row("std_redirect", Tier::Two, Kind::Switch).default("1").only(&["exec"]).doc("Send its output to files."),
    ],
};
