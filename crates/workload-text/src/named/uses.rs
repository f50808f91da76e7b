//! Uses of storage, each with a load and the limits published for it.
//!
//! All limits are in this file. A use without a published limit gets numbers but no verdict, because
//! Plumb does not invent limits.

use super::NamedWorkload;
use plumb_workload::named::{PublishedLimit, Use};
use plumb_workload::suggest::did_you_mean;

/// Returns the load of a use.
///
/// # Panics
/// If no load has that name. A test looks up all of them.
pub fn load_of(wanted: &Use) -> &'static NamedWorkload {
    super::find(wanted.load).unwrap_or_else(|| panic!("{}: no load `{}`", wanted.name, wanted.load))
}

/// All uses, in the order of `plumb fit-for --list`.
pub const USES: &[Use] = &[
    Use {
        name: "etcd",
        load: "etcd-wal",
        limits: &[PublishedLimit {
            condition: "wal/fdatasync.lat.p99 < 10ms",
            source: "etcd's documentation, FAQ (etcd.io/docs): \"wal_fsync_duration_seconds (p99 duration should be less than 10ms)\"",
        }],
        numbers: &["wal/fdatasync.lat.p50", "wal/fdatasync.ops"],
        note: "etcd's other limit, 25 ms for a commit of its backend, needs etcd itself.",
    },
    Use {
        name: "kubernetes",
        load: "etcd-wal-8k",
        limits: &[
            PublishedLimit {
                condition: "wal/write.iops >= 50/s",
                source: "OpenShift's documentation, \"Recommended etcd practices\": at least 50 IOPS of 8 kB in sequence, with fdatasync",
            },
            PublishedLimit {
                condition: "wal/fdatasync.lat.p99 < 10ms",
                source: "the same: in under 10 ms; taken as p99, as etcd's FAQ does",
            },
        ],
        numbers: &["wal/fdatasync.lat.p50", "wal/write.bw"],
        note: "This is the control plane's etcd; for heavy load the same page recommends 500 IOPS (2 ms). What your pods need is \
               another question.",
    },
    Use {
        name: "postgres",
        load: "database",
        limits: &[],
        numbers: &["database/read.iops", "database/read.lat.p99", "database/write.iops", "database/fdatasync.lat.p99"],
        note: "PostgreSQL publishes no limit: what is enough depends on the queries.",
    },
    Use {
        name: "mysql",
        load: "innodb-like",
        limits: &[],
        numbers: &[
            "transactions/read.iops",
            "transactions/read.lat.p99",
            "transactions/write.iops",
            "transactions/fdatasync.lat.p99",
        ],
        note: "MySQL publishes no limit: what is enough depends on the queries.",
    },
    Use {
        name: "kafka",
        load: "message-log",
        limits: &[],
        numbers: &["append/write.bw", "catch-up/read.bw"],
        note: "Kafka publishes no limit. Compare with the bytes a second that your producers send, times the replicas on this \
               broker.",
    },
    Use {
        name: "vm-image",
        load: "vm-image",
        limits: &[],
        numbers: &["guest/read.iops", "guest/read.lat.p99", "guest/write.lat.p99", "guest/fdatasync.lat.p99"],
        note: "There is no published limit for guests in general.",
    },
    Use {
        name: "mail",
        load: "mail",
        limits: &[],
        numbers: &["mail/txn.ops", "mail/fsync.lat.p99"],
        note: "There is no published limit for mail in files; Microsoft's for Exchange (Jetstress) are about a database.",
    },
    Use {
        name: "nfs-home",
        load: "nfs-mix-2008-like",
        limits: &[],
        numbers: &["mix/stat.ops", "mix/read.lat.p99", "mix/fsync.lat.p99", "mix/create.lat.p99"],
        note: "There is no published limit; SPEC's for results of SFS2008 (20 ms) is about requests over a network.",
    },
    Use {
        name: "video",
        load: "video",
        limits: &[],
        numbers: &["record/write.bw", "play/read.bw"],
        note: "The limit is your format's rate, times the number of streams: give it with --limit.",
    },
    Use {
        name: "ceph-osd",
        load: "object-store",
        limits: &[],
        numbers: &["objects/read.iops", "objects/read.lat.p99", "objects/write.lat.p99", "objects/fdatasync.lat.p99"],
        note: "Ceph publishes no limit for a device.",
    },
];

/// Error for an unknown use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown use `{name}`; {help}")]
pub struct UnknownUse {
    pub name: String,
    /// The nearest name, or a list of all names.
    pub help: String,
}

/// Returns the use with this name.
///
/// # Errors
/// Fails if no use has that name.
pub fn use_named(name: &str) -> Result<&'static Use, UnknownUse> {
    let unknown = || {
        let names: Vec<&str> = USES.iter().map(|one| one.name).collect();
        UnknownUse { name: name.to_owned(), help: did_you_mean(name, &names).unwrap_or_default() }
    };
    USES.iter().find(|one| one.name == name).ok_or_else(unknown)
}
