//! Loads modelled on real applications and benchmarks. Each is a native file in this directory.
//!
//! A file's comments give the source of each number (see [`super::explain`]). A load whose numbers are only known
//! from memory never carries the name of a standard. To add a load, add the file and a row here, and create its page
//! in `docs/loads/` with `PLUMB_BLESS=1 cargo test -p plumb-report loads`.

use super::NamedWorkload;
use super::scale::Made;

/// Returns the file of a load.
pub(super) fn file(name: &str) -> &'static str {
    // Every load has a file, since one row of the macro defines both.
    FILES.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

macro_rules! loads {
    ($($name:literal, $banner:expr, $about:literal, $headline:expr;)*) => {
        /// All loads in the order of `plumb workloads`.
        pub const LOADS: &[NamedWorkload] = &[$(NamedWorkload {
            name: $name,
            about: $about,
            headline: &$headline,
            banner: $banner,
            made: Made::Written,
        }),*];

        /// Names of the loads and their files.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!($name, ".toml")))),*];
    };
}

loads! {
    "etcd-wal", None, "etcd's log: append 2.3 kB and fdatasync, again and again",
        ["fdatasync.lat.p99", "fdatasync.ops"];
    "etcd-wal-8k", None, "the log of a Kubernetes control plane's etcd: append 8 kB and fdatasync, again and again",
        ["fdatasync.lat.p99", "write.iops"];
    "innodb-like", None, "16 KiB pages read and written at random (70:30) at depth 16, next to a redo log flushed at each commit",
        ["read.iops", "read.lat.p99", "fdatasync.lat.p99"];
    "message-log", None, "a message broker: batches of 16 KiB appended to four logs at once, then all of them read uncached",
        ["write.bw", "read.bw"];
    "vm-image", None, "a virtual machine's disk: 4 to 64 KiB read and written at random (60:40) at depth 8, with flushes",
        ["read.iops", "read.lat.p99", "fdatasync.lat.p99"];
    "video", None, "video: a recording written in 1 MiB blocks and flushed, then four streams read at once",
        ["write.bw", "read.bw"];
    "object-store", None, "an object store's device: 4 and 64 KiB at random (70:30) at depth 16, next to a flushed log",
        ["read.iops", "read.lat.p99", "fdatasync.lat.p99"];
    "spc1-like", Some("SPC-1"), "eight streams of an array's users on three stores, at 1,000 operations a second",
        ["read.resp.p99", "write.resp.p99"];
    "spc1-persistence-like", Some("SPC-1"), "stamped writes of 64 KiB all over the stores, then all of them read back and checked",
        ["write.resp.p99", "read.bw"];
    "nfs-mix-2008-like", Some("SPEC SFS"), "home directories on a file server: mostly stat, access and small reads, as counted in 2008",
        ["stat.ops", "read.iops", "create.ops"];
    "nfs-mix-sfs3-like", Some("SPEC SFS"), "a file server's clients around 2000: lookups, reads and directories",
        ["stat.ops", "read.iops", "create.ops"];
    "sfs2014-database-like", Some("SPEC SFS"), "a database's tables at random (80:20, 8 KiB), and its log",
        ["read.iops", "read.lat.p99", "write.iops"];
    "eda-frontend-like", Some("SPEC SFS"), "designing chips: 100 operations a second of each process on small files, mostly stat",
        ["stat.lat.p99", "read.lat.p99"];
    "ycsb-a-like", Some("YCSB"), "records of 1 kB, half read and half updated, popular ones first",
        ["read.iops", "write.iops"];
    "ycsb-b-like", Some("YCSB"), "records of 1 kB, 95 % read and 5 % updated, popular ones first",
        ["read.iops", "write.iops"];
    "ycsb-c-like", Some("YCSB"), "records of 1 kB, read, popular ones first", ["read.iops"];
    "ycsb-d-like", Some("YCSB"), "records of 1 kB, 95 % read, the newest ones most, and 5 % inserts", ["read.iops", "write.iops"];
    "ycsb-e-like", Some("YCSB"), "scans of 1 to 100 records of 1 kB, and 5 % inserts", ["read.iops", "read.bw"];
    "ycsb-f-like", Some("YCSB"), "records of 1 kB in files of their own, half read and half read, changed and written back",
        ["read.iops", "write.iops"];
    "training-unet3d-like", Some("training benchmark"), "training on samples of 147 MB: read uncached at the rate of one accelerator",
        ["read.bw"];
    "training-resnet50-like", Some("training benchmark"), "training on records of 1,251 images: read uncached at the rate of one accelerator",
        ["read.bw"];
    "training-cosmoflow-like", Some("training benchmark"), "training on files of 2.8 MB: read uncached at the rate of one accelerator",
        ["read.bw"];
    "checkpoint-like", Some("training benchmark"), "a checkpoint: eight ranks write 128 MiB each and fsync, then read it back from the device",
        ["write.bw", "read.bw"];
    "kv-cache-like", None, "a language model's cache of keys and values: entries of 4 MiB read whole, and written and made durable (92:8), by 16 at once",
        ["read.bw", "read.lat.p99"];
    "vector-index-like", None, "searching vectors on disk: random 8 KiB reads of 16 searches, 4 at once each",
        ["read.iops", "read.lat.p99"];
    "seq-scan", None, "four sequential readers of 1 MiB at depth 4, then one", [];
    "paced-stream", None, "64 streams of 3 blocks of 256 KiB a second, with the time from when each was due",
        ["read.resp.p99"];
    "crystal-like", Some("CrystalDiskMark"), "SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1 and RND4K Q1T1, each read and written for 5 s", [];
    "crystal-nvme-like", Some("CrystalDiskMark"), "SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16 and RND4K Q1T1, each read and written for 5 s", [];
    "iometer-default-like", Some("IOMeter"), "IOMeter's default: 2 KiB at random, 67 % reads, depth 1",
        ["read.iops", "read.lat.p99", "write.iops"];
    "iometer-file-server-like", Some("IOMeter"), "IOMeter's file server: 512 bytes to 64 KiB at random, 80 % reads, depth 16",
        ["read.iops", "read.lat.p99", "write.iops"];
    "iometer-web-server-like", Some("IOMeter"), "IOMeter's web server: reads of 512 bytes to 512 KiB at random, depth 16",
        ["read.iops", "read.lat.p99"];
    "iometer-database-like", Some("IOMeter"), "IOMeter's database: 8 KiB at random, 67 % reads, depth 16",
        ["read.iops", "read.lat.p99", "write.iops"];
    "pts-iops-like", Some("SNIA PTS"), "56 cells of random reads and writes, in rounds until 4 KiB writes are steady", [];
    "pts-throughput-128k-like", Some("SNIA PTS"), "128 KiB read and written in sequence, in rounds until both are steady", [];
    "pts-throughput-1m-like", Some("SNIA PTS"), "1 MiB read and written in sequence, in rounds until both are steady", [];
    "pts-latency-like", Some("SNIA PTS"), "one random op at a time in 9 cells, in rounds until 4 KiB writes are steady", [];
    "pts-wsat-like", Some("SNIA PTS"), "random 4 KiB writes without a pause, until they are steady",
        ["write.iops", "write.lat.p99"];
    "pts-hir-like", Some("SNIA PTS"), "random 4 KiB writes with pauses of growing length, and without after each", [];
    "cross-stimulus", None, "sequential writes, random ones, then sequential ones again", [];
}
