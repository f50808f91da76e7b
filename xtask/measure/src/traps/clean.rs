//! Set-ups without problems. Every warning in one of them is a false alarm.

use super::site::Site;
use super::{Load, Trap};

pub(crate) fn setups() -> Vec<Trap> {
    let plain = |name, site, load| Trap::new(name, site, load, []);
    let permutation =
        Load { cache: "cold", pattern: "permutation", phase: "", workers: "limit.passes = 1", ..Load::RANDOM };
    let once = Load { cache: "cold", size: "256MiB", workers: "limit.passes = 1", ..Load::STREAM };
    let flushed = Load {
        phase: "stop.bytes = \"64MiB\"\nend = { flush = \"fsync\", clock = \"inside\" }",
        prepare: "write",
        ..Load::WRITE
    };
    let random_write = Load { op: "write", ..Load::RANDOM };
    vec![
        plain("clean: direct random reads on ext4", Site::Ext4, Load::RANDOM),
        plain("clean: direct random reads on xfs", Site::Xfs, Load::RANDOM),
        plain("clean: direct random reads on btrfs", Site::PlainBtrfs, Load::RANDOM),
        plain("clean: a direct stream on ext4", Site::Ext4, Load::STREAM),
        plain("clean: a direct stream on xfs", Site::Xfs, Load::STREAM),
        plain("clean: a cold stream, once", Site::Ext4, once.clone()),
        plain("clean: a cold stream, once, on xfs", Site::Xfs, once.clone()),
        plain("clean: each block once, cold", Site::Ext4, permutation.clone()),
        plain("clean: a flushed write over a written file", Site::Ext4, flushed.clone()),
        plain("clean: a flushed write on xfs", Site::Xfs, flushed.clone()),
        plain("clean: direct writes over a written file", Site::Ext4, Load::DIRECT_WRITE),
        plain("clean: random direct writes", Site::Ext4, random_write.clone()),
        plain("clean: random direct writes on xfs", Site::Xfs, random_write.clone()),
        plain("clean: a log on ext4", Site::Ext4, Load::LOG),
        plain("clean: a log on xfs", Site::Xfs, Load::LOG),
        plain("clean: a log on a journal of data", Site::DataJournal, Load::LOG),
        plain("clean: depth 16", Site::Ext4, Load { workers: "depth = 16", ..Load::RANDOM }),
        plain("clean: more workers than processors", Site::Ext4, Load { workers: "count = 8", ..Load::RANDOM }),
        plain(
            "clean: eight workers that only need processors",
            Site::Ext4,
            Load { workers: "count = 8", ..Load::MEMORY },
        ),
        plain("clean: a warm cache that was asked for", Site::Ext4, Load::MEMORY),
        plain(
            "clean: a paced load",
            Site::Ext4,
            Load { workers: "pace = { open = { rate = \"200/s\" } }", ..Load::RANDOM },
        ),
        plain("clean: an overlay", Site::Overlay, permutation),
        plain("clean: an ordinary user", Site::Ext4, random_write)
            .around("exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\""),
        plain("clean: an ordinary user's log", Site::Ext4, Load::LOG)
            .around("exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\""),
        plain("clean: a run of a third of a second", Site::Ext4, Load { workers: "limit.ops = 500", ..Load::RANDOM }),
    ]
}
