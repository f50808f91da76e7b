//! Traps of the machine: neighbours, contended processors, pauses, limits.

use super::site::Site;
use super::{Load, Sign, Trap, fail, note, warn};

/// Traps that this machine cannot set.
pub(crate) const OUT_OF_REACH: &[&str] = &[
    "stolen processor time: the host would have to be loaded",
    "suspension of the machine, and a virtual machine that its host does not run",
    "a rebuild or a check of RAID: this needs md",
    "errors of a device: this needs device-mapper (dm-flakey)",
    "heat, throttled processors and worn flash: this needs sensors",
];

pub(crate) fn traps() -> Vec<Trap> {
    [neighbours(), processors(), pauses(), limits()].concat()
}

/// A neighbour that still runs is named; one that has ended is attributed to its parent, by name.
fn by_dd() -> [Sign; 2] {
    [warn("C1", "dd"), warn("C1", "ran and waited for")]
}

/// Other processes on the same device.
fn neighbours() -> Vec<Trap> {
    const DIRECT: &str = "while :; do dd if=/dev/zero of=$AT/other bs=1M count=60 oflag=direct; done";
    const REMOVE: &str = "rm -f $AT/other";
    vec![
        Trap::new("a writer on the same file system", Site::Ext4, Load::RANDOM, by_dd()).during(DIRECT).afterwards(REMOVE),
        Trap::new("a writer beside a stream of writes", Site::Ext4, Load::DIRECT_WRITE, by_dd()).during(DIRECT).afterwards(REMOVE),
        Trap::new("a reader on the same file system", Site::Ext4, Load::RANDOM, by_dd())
            .during("dd if=/dev/urandom of=$AT/other bs=1M count=60; while :; do dd if=$AT/other of=/dev/null bs=1M iflag=direct; done")
            .afterwards(REMOVE),
        Trap::new("a writer that ended before the run did", Site::Ext4, Load::RANDOM, by_dd())
            .during("sh -c 'sleep 2; dd if=/dev/zero of=$AT/other bs=1M count=300 oflag=direct; sleep 60'")
            .afterwards(REMOVE),
        Trap::new("a writer below the loop device", Site::Ext4, Load::RANDOM, by_dd())
            .during("while :; do dd if=/dev/zero of=$W/other bs=1M count=60 oflag=direct; done")
            .afterwards("rm -f $W/other"),
        Trap::new("an ordinary user beside a writer of root", Site::Ext4, Load::RANDOM, [warn("C1", "cannot be seen")])
            .around(AS_NOBODY)
            .during(DIRECT)
            .afterwards(REMOVE),
    ]
}

const AS_NOBODY: &str = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";

const THREE_HOGS: &str = "for i in 1 2 3; do taskset -c 0 sh -c 'while :; do :; done' & done; wait";

const EIGHT_HOGS: &str = "for i in 1 2 3 4 5 6 7 8; do sh -c 'while :; do :; done' & done; wait";

/// Other programs on the worker's processors.
fn processors() -> Vec<Trap> {
    let pinned = Load { workers: "cpus = [0]", ..Load::MEMORY };
    let hogs = [fail("C5", "sh (process")];
    vec![
        Trap::new("three busy loops on the worker's processor", Site::Ext4, pinned.clone(), hogs).during(THREE_HOGS),
        Trap::new("busy loops beside direct reads", Site::Ext4, Load { workers: "cpus = [0]", ..Load::RANDOM }, [warn("C5", "sh (process")])
            .during("for i in 1 2 3; do taskset -c 0 nice -n -15 sh -c 'while :; do :; done' & done; wait"),
        Trap::new("more busy loops than processors", Site::Ext4, Load::MEMORY, hogs).during(EIGHT_HOGS),
        Trap::new("a load at nice 19 beside busy loops", Site::Ext4, Load::MEMORY, hogs)
            .around("exec nice -n 19 \"$@\"")
            .during(EIGHT_HOGS),
        Trap::new("busy loops for half the run", Site::Ext4, pinned.clone(), hogs)
            .during("sleep 2.5; for i in 1 2 3; do taskset -c 0 sh -c 'while :; do :; done' & done; wait"),
        Trap::new("programs that begin and end", Site::Ext4, pinned.clone(), [fail("C5", "programs run by sh (process")]).during(
            "for i in 1 2 3; do taskset -c 0 sh -c 'while :; do sh -c \"i=0; while [ \\$i -lt 20000 ]; do i=\\$((i+1)); done\"; done' & \
             done; wait",
        ),
        Trap::new("busy loops beside eight workers", Site::Ext4, Load { workers: "count = 8", ..Load::MEMORY }, hogs).during(EIGHT_HOGS),
        Trap::new("an ordinary user beside busy loops of root", Site::Ext4, pinned.clone(), hogs).around(AS_NOBODY).during(THREE_HOGS),
        Trap::new("busy loops beside writes", Site::Tmpfs, Load { op: "write", cache: "as-is", workers: "cpus = [0]", ..Load::RANDOM }, hogs)
            .during(THREE_HOGS),
        Trap::new("one program with many threads", Site::Ext4, pinned.clone(), [fail("C5", "dd (process"), fail("C5", "(process")])
            .during("for i in 1 2 3 4; do taskset -c 0 dd if=/dev/zero of=/dev/null bs=1M & done; wait"),
    ]
}

/// Times in which Plumb did not run.
fn pauses() -> Vec<Trap> {
    let long = |seconds| Load { seconds, ..Load::RANDOM };
    let never = &["E7", "E3", "E2", "C13"];
    vec![
        Trap::new("stopped for 2 of 6 seconds", Site::Ext4, long(6), [fail("C15", "signal")])
            .during("sleep 3; kill -STOP $PLUMB; sleep 2; kill -CONT $PLUMB")
            .never(never),
        Trap::new("stopped for 4 of 14 seconds", Site::Ext4, long(14), [fail("C15", "signal")])
            .during("sleep 7; kill -STOP $PLUMB; sleep 4; kill -CONT $PLUMB")
            .never(never),
        Trap::new("stopped half the time", Site::Ext4, long(6), [fail("C15", "signal")])
            .during("sleep 1; while kill -STOP $PLUMB; do sleep 0.05; kill -CONT $PLUMB; sleep 0.05; done")
            .never(never),
        Trap::new("stopped once for a quarter of a second", Site::Ext4, long(6), [warn("C15", "signal")])
            .during("sleep 3; kill -STOP $PLUMB; sleep 0.25; kill -CONT $PLUMB")
            .never(never),
        Trap::new("stopped beside busy loops", Site::Ext4, long(6), [fail("C15", "signal")])
            .during(
                "for i in 1 2 3 4; do sh -c 'while :; do :; done' & done; sleep 3; kill -STOP $PLUMB; sleep 2; \
                 kill -CONT $PLUMB; sleep 60",
            )
            .never(never),
        Trap::new("frozen with its control group", Site::Ext4, long(7), [fail("C15", "frozen control group")])
            .around("d=/sys/fs/cgroup/freezer/plumb-trap; mkdir -p $d && echo $$ >$d/cgroup.procs; exec \"$@\"")
            .during("d=/sys/fs/cgroup/freezer/plumb-trap; sleep 3; echo FROZEN >$d/freezer.state; sleep 2; echo THAWED >$d/freezer.state")
            .afterwards("echo THAWED >/sys/fs/cgroup/freezer/plumb-trap/freezer.state; rmdir /sys/fs/cgroup/freezer/plumb-trap")
            .never(never),
        Trap::new("stopped while it writes", Site::Ext4, Load { seconds: 6, ..Load::DIRECT_WRITE }, [fail("C15", "signal")])
            .during("sleep 3; kill -STOP $PLUMB; sleep 2; kill -CONT $PLUMB")
            .never(never),
    ]
}

/// Limits of control groups and of the process.
fn limits() -> Vec<Trap> {
    vec![
        Trap::new("a control group limits reads", Site::Ext4, Load::STREAM, [warn("C12", "limits reads")])
            .around(
                "d=/sys/fs/cgroup/blkio/plumb-trap; mkdir -p $d; \
                 n=$(cat /sys/class/block/$(basename $(findmnt -no SOURCE $AT))/dev); \
                 echo $n 10485760 >$d/blkio.throttle.read_bps_device; echo $$ >$d/cgroup.procs; exec \"$@\"",
            )
            .afterwards("rmdir /sys/fs/cgroup/blkio/plumb-trap"),
        Trap::new(
            "a control group limits writes a second",
            Site::Ext4,
            Load { op: "write", ..Load::RANDOM },
            [warn("C12", "limits writes")],
        )
        .around(
            "d=/sys/fs/cgroup/blkio/plumb-trap; mkdir -p $d; \
                 n=$(cat /sys/class/block/$(basename $(findmnt -no SOURCE $AT))/dev); \
                 echo $n 200 >$d/blkio.throttle.write_iops_device; echo $$ >$d/cgroup.procs; exec \"$@\"",
        )
        .afterwards("rmdir /sys/fs/cgroup/blkio/plumb-trap"),
        Trap::new("a tenth of a processor", Site::Ext4, Load::MEMORY, [fail("C5", "quota"), warn("C12", "used up")])
            .around(
                "d=/sys/fs/cgroup/cpu/plumb-trap; mkdir -p $d && echo 10000 >$d/cpu.cfs_quota_us && \
                 echo $$ >$d/cgroup.procs; exec \"$@\"",
            )
            .afterwards("rmdir /sys/fs/cgroup/cpu/plumb-trap")
            .never(&["C15"]),
        Trap::new(
            "files of at most a few megabytes",
            Site::Ext4,
            Load::WRITE,
            [warn("C12", "RLIMIT_FSIZE"), Sign::Error("large")],
        )
        .around("ulimit -f 16384; exec \"$@\""),
        Trap::new("a limit of processor time", Site::Ext4, Load::RANDOM, [warn("C12", "RLIMIT_CPU")])
            .around("ulimit -t 1000; exec \"$@\""),
        Trap::new(
            "direct reads of tmpfs",
            Site::Tmpfs,
            Load { cache: "direct", ..Load::RANDOM },
            [warn("A1", "is memory"), note("A1", "is memory"), Sign::Error("O_DIRECT")],
        ),
    ]
}
