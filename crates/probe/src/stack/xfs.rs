//! XFS. Source: `ioctl_xfs_fsgeometry(2)`.

use crate::platform::{self, XfsGeometry};
use crate::sysroot::Sysroot;
use std::collections::BTreeMap;
use std::path::Path;

/// `XFS_FSOP_GEOM_FLAGS_*`, named as in the output of `xfs_info` if possible.
const FLAGS: [(u32, &str); 18] = [
    (1 << 0, "attr"),
    (1 << 2, "quota"),
    (1 << 4, "dalign"),
    (1 << 8, "logv2"),
    (1 << 9, "sector"),
    (1 << 10, "attr2"),
    (1 << 11, "projid32bit"),
    (1 << 14, "lazy-count"),
    (1 << 15, "crc"),
    (1 << 16, "ftype"),
    (1 << 17, "finobt"),
    (1 << 18, "sparse"),
    (1 << 19, "rmapbt"),
    (1 << 20, "reflink"),
    (1 << 21, "bigtime"),
    (1 << 22, "inobtcount"),
    (1 << 23, "nrext64"),
    (1 << 24, "exchange"),
];

/// Adds the geometry; needs no privilege.
pub(super) fn features(sys: &Sysroot, path: &Path, features: &mut BTreeMap<String, String>, unseen: &mut Vec<String>) {
    if !sys.is_real() {
        unseen.push("the geometry of XFS: only the running machine reports it".to_owned());
        return;
    }
    // A file may be unreadable while its directory is readable.
    let geometry = path.ancestors().take(2).map(platform::xfs_geometry).reduce(|first, second| first.or(second));
    match geometry {
        Some(Ok(geometry)) => add_features(&geometry, features),
        Some(Err(error)) => unseen.push(error.to_string()),
        None => {}
    }
}

fn add_features(geometry: &XfsGeometry, features: &mut BTreeMap<String, String>) {
    let mut say = |name: &str, value: String| features.insert(name.to_owned(), value);
    let names: Vec<&str> = FLAGS.iter().filter(|(bit, _)| geometry.flags & bit != 0).map(|(_, name)| *name).collect();
    say("features", names.join(","));
    say("block_size", geometry.block_bytes.to_string());
    say("allocation_groups", geometry.allocation_groups.to_string());
    say("group_blocks", geometry.group_blocks.to_string());
    say("sector_size", geometry.sector_bytes.to_string());
    say("inode_size", geometry.inode_bytes.to_string());
    say("log_blocks", geometry.log_blocks.to_string());
    say("journal", if geometry.log_is_internal { "internal" } else { "external" }.to_owned());
    if geometry.stripe_unit_blocks != 0 || geometry.stripe_width_blocks != 0 {
        say("stripe_unit_blocks", geometry.stripe_unit_blocks.to_string());
        say("stripe_width_blocks", geometry.stripe_width_blocks.to_string());
    }
}
