//! One step of building a system under test, as written in a study file.

mod device;
mod file_system;
mod freebsd;
mod kernel;
mod raid;
mod safety;
mod tools;
mod words;

pub use device::{Dm, DmTarget, IoLimits, Loop, LoopFill, Partition, PartitionTable, Precondition, Zram};
pub use file_system::{Age, Btrfs, ExtKind, Fill, Mkfs, Mount, Nfs, Overlay, Tmpfs, Tune};
pub use freebsd::{Gmirror, Newfs, Zpool};
pub use kernel::{Cmd, Link, QueueSettings, Readahead, Sysctl};
pub use raid::{Degrade, Lvm, LvmLayout, Mdadm, Rebuild, Wait};
pub use safety::{Expendable, Safety};
pub use words::{Count, Names, Word};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of steps by name: devices or mount points.
pub type MadeNames = BTreeMap<String, Vec<String>>;

/// One step of building. Steps are built in order and undone in reverse order.
///
/// Where a field names a device or a directory, `@name` refers to everything that an earlier step of that name made;
/// `@name.2` is the second of several items. `@expendable` refers to the devices that the study may destroy, in the
/// order in which it lists them. In a virtual machine these are its disks, and `@disks` means the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(tag = "kind", rename = "Step"))]
pub enum Step {
    /// Loop devices over image files.
    Loop(Loop),
    /// Partitions of a device.
    Partition(Partition),
    /// A RAID array of the md driver.
    Mdadm(Mdadm),
    /// Makes a member of an array fail.
    Degrade(Degrade),
    /// Rebuilds a member of an array.
    Rebuild(Rebuild),
    /// A logical volume.
    Lvm(Lvm),
    /// A mapped device that delays, fails, logs or only passes I/O on.
    Dm(Dm),
    /// Compressed devices in memory.
    Zram(Zram),
    /// A file system on one device.
    Mkfs(Mkfs),
    /// A btrfs over several devices.
    Btrfs(Btrfs),
    /// A mount of an existing file system.
    Mount(Mount),
    /// A change to an ext2, ext3 or ext4 file system.
    Tune(Tune),
    /// A union of directories (overlayfs).
    Overlay(Overlay),
    /// A file system in memory (tmpfs).
    Tmpfs(Tmpfs),
    /// A directory of this host, exported by NFS and mounted.
    Nfs(Nfs),
    /// Settings of a device's queue.
    Queue(QueueSettings),
    /// The read-ahead of a device.
    Readahead(Readahead),
    /// Kernel settings, below `/proc/sys`.
    Sysctl(Sysctl),
    /// The MTU of a network interface.
    Link(Link),
    /// Fills a file system to a given share.
    Fill(Fill),
    /// Ages a file system by creating and removing files.
    Age(Age),
    /// Writes a device from end to end.
    Precondition(Precondition),
    /// Runs a user's command.
    Cmd(Cmd),
    /// A mirror of FreeBSD's gmirror.
    Gmirror(Gmirror),
    /// A UFS on FreeBSD.
    Newfs(Newfs),
    /// A ZFS pool on FreeBSD.
    Zpool(Zpool),
}

plumb_document::tagged!(Step, "kind");

impl Step {
    /// Returns the kind as written in a study file.
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Loop(_) => "loop",
            Step::Partition(_) => "partition",
            Step::Mdadm(_) => "mdadm",
            Step::Degrade(_) => "degrade",
            Step::Rebuild(_) => "rebuild",
            Step::Lvm(_) => "lvm",
            Step::Dm(_) => "dm",
            Step::Zram(_) => "zram",
            Step::Mkfs(_) => "mkfs",
            Step::Btrfs(_) => "btrfs",
            Step::Mount(_) => "mount",
            Step::Tune(_) => "tune",
            Step::Overlay(_) => "overlay",
            Step::Tmpfs(_) => "tmpfs",
            Step::Nfs(_) => "nfs",
            Step::Queue(_) => "queue",
            Step::Readahead(_) => "readahead",
            Step::Sysctl(_) => "sysctl",
            Step::Link(_) => "link",
            Step::Fill(_) => "fill",
            Step::Age(_) => "age",
            Step::Precondition(_) => "precondition",
            Step::Cmd(_) => "cmd",
            Step::Gmirror(_) => "gmirror",
            Step::Newfs(_) => "newfs",
            Step::Zpool(_) => "zpool",
        }
    }

    /// Returns the name by which later steps and targets refer to the result.
    pub fn name(&self) -> Option<&str> {
        match self {
            Step::Mdadm(Mdadm { name, .. })
            | Step::Lvm(Lvm { name, .. })
            | Step::Dm(Dm { name, .. })
            | Step::Gmirror(Gmirror { name, .. })
            | Step::Zpool(Zpool { name, .. }) => Some(name),
            Step::Loop(Loop { name, .. })
            | Step::Partition(Partition { name, .. })
            | Step::Zram(Zram { name, .. })
            | Step::Mkfs(Mkfs { name, .. })
            | Step::Btrfs(Btrfs { name, .. })
            | Step::Mount(Mount { name, .. })
            | Step::Overlay(Overlay { name, .. })
            | Step::Tmpfs(Tmpfs { name, .. })
            | Step::Nfs(Nfs { name, .. })
            | Step::Newfs(Newfs { name, .. }) => name.as_deref(),
            Step::Degrade(_)
            | Step::Rebuild(_)
            | Step::Tune(_)
            | Step::Queue(_)
            | Step::Readahead(_)
            | Step::Sysctl(_)
            | Step::Link(_)
            | Step::Fill(_)
            | Step::Age(_)
            | Step::Precondition(_)
            | Step::Cmd(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Step;
    use serde_json::Value;

    #[cfg(feature = "schema")]
    // Protects: every kind and field is documented.
    #[test]
    fn the_page_has_each_kind_with_each_of_its_fields() {
        let page = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md"))
            .unwrap();
        let schema = serde_json::Value::from(schemars::schema_for!(Step));
        let kinds = schema["oneOf"].as_array().unwrap();
        assert!(kinds.len() > 20);
        for kind in kinds {
            let name = kind["properties"]["kind"]["const"].as_str().unwrap();
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/lab.md has no row for `{name}`"));
            let fields = match kind["$ref"].as_str() {
                Some(reference) => &schema["$defs"][reference.trim_start_matches("#/$defs/")]["properties"],
                None => &kind["properties"],
            };
            let fields = fields.as_object().map(|fields| fields.keys().collect::<Vec<_>>()).unwrap_or_default();
            assert!(!fields.is_empty(), "{name}: {kind}");
            for field in fields.into_iter().filter(|field| *field != "kind") {
                assert!(row.contains(&format!("`{field}`")), "docs/lab.md: the row of `{name}` lacks `{field}`");
            }
        }
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let error =
            plumb_document::json::from_str::<Step>(r#"{"kind": "tmpfs", "size": "1M", "mount": "/m", "sise": 1}"#);
        assert!(error.unwrap_err().to_string().contains("`sise`"));
        let error = plumb_document::json::from_str::<Step>(r#"{"kind": "mkfz"}"#).unwrap_err().to_string();
        assert!(error.contains("`mkfz`") && error.contains("`mkfs`"), "{error}");
    }

    #[test]
    fn a_step_survives_a_round_trip() {
        let text = r#"{"kind":"mdadm","name":"a","level":"4","devices":"@disks","chunk":"256KiB","assume-clean":false,"wait":"sync"}"#;
        let step: Step = plumb_document::json::from_str(text).unwrap();
        let again: Value = plumb_document::json::to_value(&step).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!((step.kind(), step.name()), ("mdadm", Some("a")));
        assert_eq!(step.tools(), ["mdadm"]);
    }
}
