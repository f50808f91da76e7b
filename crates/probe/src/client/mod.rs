//! Counters of network file system clients: NFS and Lustre. Other clients do not count bytes per mount, or only in
//! files that programs cannot read.

mod lustre;
mod nfs;
#[cfg(test)]
mod tests;

use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::client::ClientCounters;
use plumb_result::observe::{FileSystem, TargetFacts};
use std::collections::BTreeMap;

/// A network file system under a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientMount {
    point: String,
    source: String,
    protocol: Protocol,
}

/// Network file systems with supported counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Nfs,
    Lustre,
}

impl ClientMount {
    fn from_filesystem(filesystem: &FileSystem) -> Option<ClientMount> {
        let protocol = match filesystem.kind.as_str() {
            "nfs" | "nfs3" | "nfs4" => Protocol::Nfs,
            "lustre" => Protocol::Lustre,
            _ => return None,
        };
        Some(ClientMount { point: filesystem.mount_point.clone(), source: filesystem.source.clone(), protocol })
    }
}

/// Returns the mounts under the targets whose clients count, each once.
pub(crate) fn mounts<'a>(targets: impl IntoIterator<Item = &'a TargetFacts>) -> Vec<ClientMount> {
    let mut found: Vec<ClientMount> = Vec::new();
    for mount in targets.into_iter().filter_map(|target| ClientMount::from_filesystem(target.filesystem.value()?)) {
        if !found.contains(&mount) {
            found.push(mount);
        }
    }
    found
}

/// Reads the counters of each mount, by mount point.
pub(crate) fn sample(sys: &Sysroot, mounts: &[ClientMount]) -> BTreeMap<String, Seen<ClientCounters>> {
    let has_nfs = mounts.iter().any(|mount| mount.protocol == Protocol::Nfs);
    // One file covers all NFS mounts of the machine.
    let nfs = has_nfs.then(|| nfs::Client::read(sys));
    BTreeMap::from_iter(mounts.iter().map(|mount| {
        let counters = match (mount.protocol, &nfs) {
            (Protocol::Nfs, Some(client)) => client.counters(&mount.point),
            (Protocol::Nfs, None) | (Protocol::Lustre, _) => lustre::counters(sys, &mount.source),
        };
        (mount.point.clone(), counters.into())
    }))
}
