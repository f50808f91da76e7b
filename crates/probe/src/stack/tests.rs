//! Stacks of described machines.

use super::*;
use crate::testtree::Tree;
use plumb_result::observe::{BlockLayer, LayerKind};

fn probe_path(tree: &Tree, path: &str) -> TargetFacts {
    of_path_in(&tree.sys(), Path::new(path), Serials::Hashed)
}

fn names(facts: &TargetFacts) -> Vec<&str> {
    facts.stack.iter().map(|layer| layer.name.as_str()).collect()
}

fn layer<'a>(facts: &'a TargetFacts, name: &str) -> &'a BlockLayer {
    facts.stack.iter().find(|layer| layer.name == name).expect(name)
}

const NVME: &str = "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
const NVME2: &str = "pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1";

/// Adds an NVMe disk with a second partition of 100 GiB.
fn nvme(tree: &Tree) {
    let disk = format!("/sys/devices/{NVME}");
    tree.block(NVME, "259:0", 1 << 30)
        .block(&format!("{NVME}/nvme0n1p2"), "259:2", 209_715_200)
        .file(&format!("{disk}/nvme0n1p2/partition"), "2\n")
        .file(&format!("{disk}/nvme0n1p2/start"), "2048\n")
        .file(&format!("{disk}/nvme0n1p2/alignment_offset"), "-1\n")
        .file(&format!("{disk}/device/model"), "Fast Disk 3000   \n")
        .file(&format!("{disk}/device/serial"), "S3CR3T  \n")
        .file(&format!("{disk}/device/firmware_rev"), "FW1\n")
        .file("/sys/devices/pci0000:00/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe\n")
        .file("/sys/devices/pci0000:00/0000:01:00.0/current_link_width", "4\n")
        .file(&format!("{disk}/queue/rotational"), "0\n")
        .file(&format!("{disk}/queue/scheduler"), "[none] mq-deadline kyber\n")
        .file(&format!("{disk}/queue/write_cache"), "write back\n")
        .file(&format!("{disk}/queue/logical_block_size"), "512\n")
        .file(&format!("{disk}/queue/physical_block_size"), "4096\n")
        .file(&format!("{disk}/queue/optimal_io_size"), "0\n")
        .file(&format!("{disk}/queue/nr_requests"), "1023\n")
        .file(&format!("{disk}/queue/iostats"), "1\n");
}

// Protects an ordinary machine: file system, partition, disk, and the facts about each.
#[test]
fn a_partition_on_nvme() {
    let tree = Tree::new();
    nvme(&tree);
    tree.file(
        "/proc/self/mountinfo",
        "22 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n23 22 0:20 / /proc rw - proc proc rw\n",
    )
    .file("/proc/fs/ext4/nvme0n1p2/options", "rw\ndelalloc\nbarrier\ndata=ordered\n")
    .file("/dev/nvme0n1p2", "")
    .link("/dev/disk/by-uuid/1234-abcd", "../../nvme0n1p2");
    let facts = probe_path(&tree, "/home/me/../me/file");
    let fs = facts.filesystem.value().unwrap();
    assert_eq!((fs.kind.as_str(), fs.mount_point.as_str(), fs.source.as_str()), ("ext4", "/", "/dev/nvme0n1p2"));
    assert_eq!(fs.options, ["errors=remount-ro", "relatime", "rw"]);
    assert_eq!(fs.uuid, Seen::Yes("1234-abcd".to_owned()));
    assert_eq!(fs.features["journal_mode"], "ordered");
    assert!(!fs.in_memory && !fs.remote);
    assert_eq!(names(&facts), ["nvme0n1p2", "nvme0n1"]);
    assert_eq!(facts.leaves, ["nvme0n1"]);
    let partition = layer(&facts, "nvme0n1p2");
    assert_eq!((partition.kind, partition.number.as_str()), (LayerKind::Partition, "259:2"));
    assert_eq!((partition.start_bytes, partition.alignment_offset_bytes), (Some(1 << 20), Some(-1)));
    assert_eq!((partition.logical_block_bytes, partition.physical_block_bytes), (Some(512), Some(4096)));
    assert_eq!((partition.size_bytes, partition.below.as_slice()), (100 << 30, &["nvme0n1".to_owned()][..]));
    let disk = layer(&facts, "nvme0n1");
    assert_eq!(disk.kind, LayerKind::Disk);
    assert_eq!(disk.model.as_deref(), Some("Fast Disk 3000"));
    assert_eq!(disk.serial.as_deref(), Some(&blake3::hash(b"S3CR3T").to_hex()[..16]));
    assert_eq!(disk.firmware.as_deref(), Some("FW1"));
    assert_eq!((disk.rotational, disk.scheduler.as_deref()), (Some(false), Some("none")));
    assert_eq!((disk.write_cache.as_deref(), disk.optimal_io_bytes), (Some("write back"), Some(0)));
    assert_eq!(disk.settings["nr_requests"], "1023");
    assert_eq!(disk.settings["pci_link_speed"], "8.0 GT/s PCIe");
    // The superblock on the empty node could not be read, and that is reported.
    assert!(facts.unseen.iter().any(|line| line.contains("superblock")), "{:?}", facts.unseen);
    let plain = of_path_in(&tree.sys(), Path::new("/x"), Serials::Plain);
    assert_eq!(layer(&plain, "nvme0n1").serial.as_deref(), Some("S3CR3T"));
}

// Protects: a bare device as target, by its node.
#[test]
fn a_block_device() {
    let tree = Tree::new();
    nvme(&tree);
    let facts = probe_path(&tree, "/dev/nvme0n1p2");
    assert!(facts.filesystem.as_result().unwrap_err().contains("block device"));
    assert_eq!(names(&facts), ["nvme0n1p2", "nvme0n1"]);
}

/// Adds LVM on LUKS on RAID 1 on two partitions.
fn add_lvm_stack(tree: &Tree) {
    nvme(tree);
    let virtual_device = |name: &str, number: &str| {
        tree.block(&format!("virtual/block/{name}"), number, 1 << 20);
    };
    tree.block(NVME2, "259:3", 1 << 30).block(&format!("{NVME2}/nvme1n1p2"), "259:5", 1 << 20);
    tree.file(&format!("/sys/devices/{NVME2}/nvme1n1p2/partition"), "2\n");
    virtual_device("md0", "9:0");
    virtual_device("dm-0", "253:0");
    virtual_device("dm-1", "253:1");
    tree.slave("virtual/block/md0", &format!("{NVME}/nvme0n1p2"))
        .slave("virtual/block/md0", &format!("{NVME2}/nvme1n1p2"))
        .slave("virtual/block/dm-0", "virtual/block/md0")
        .slave("virtual/block/dm-1", "virtual/block/dm-0");
    let at = "/sys/devices/virtual/block";
    tree.file(&format!("{at}/md0/md/level"), "raid1\n")
        .file(&format!("{at}/md0/md/raid_disks"), "2\n")
        .file(&format!("{at}/md0/md/sync_action"), "resync\n")
        .file(&format!("{at}/md0/md/degraded"), "0\n")
        .file(&format!("{at}/dm-0/dm/uuid"), "CRYPT-LUKS2-0123-name\n")
        .file(&format!("{at}/dm-0/dm/name"), "secret\n")
        .file(&format!("{at}/dm-1/dm/uuid"), "LVM-abcdef\n")
        .file(&format!("{at}/dm-1/dm/name"), "vg-my--data\n");
}

// Protects: every kind of layer is distinguished, and both disks are leaves.
#[test]
fn lvm_on_luks_on_raid() {
    let tree = Tree::new();
    add_lvm_stack(&tree);
    tree.file("/proc/self/mountinfo", "22 1 253:1 / /data rw - xfs /dev/mapper/vg-my--data rw\n");
    let facts = probe_path(&tree, "/data/x");
    assert_eq!(names(&facts), ["dm-1", "dm-0", "md0", "nvme0n1p2", "nvme0n1", "nvme1n1p2", "nvme1n1"]);
    assert_eq!(facts.leaves, ["nvme0n1", "nvme1n1"]);
    let kinds: Vec<LayerKind> = facts.stack.iter().take(3).map(|layer| layer.kind).collect();
    assert_eq!(kinds, [LayerKind::Lvm, LayerKind::Crypt, LayerKind::Md]);
    let md = layer(&facts, "md0");
    assert_eq!(md.below, ["nvme0n1p2", "nvme1n1p2"]);
    assert_eq!((md.settings["level"].as_str(), md.settings["sync_action"].as_str()), ("raid1", "resync"));
    assert_eq!(layer(&facts, "dm-0").settings["dm_type"], "CRYPT-LUKS2");
    assert_eq!(layer(&facts, "dm-1").settings["dm_name"], "vg-my--data");
}

/// Adds a loop device on a file.
fn looped(tree: &Tree, backing: &str) {
    tree.block("virtual/block/loop7", "7:7", 2048)
        .file("/sys/devices/virtual/block/loop7/loop/backing_file", &format!("{backing}\n"))
        .file("/sys/devices/virtual/block/loop7/loop/dio", "1\n");
}

// Protects: the relevant counters are those of the disk, below the loop device's backing file.
#[test]
fn a_loop_device_on_a_file() {
    let tree = Tree::new();
    nvme(&tree);
    looped(&tree, "/var/images/disk image");
    tree.file(
        "/proc/self/mountinfo",
        "22 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n23 22 7:7 / /mnt rw - ext4 /dev/loop7 rw\n",
    );
    let facts = probe_path(&tree, "/mnt/file");
    assert_eq!(names(&facts), ["loop7", "nvme0n1p2", "nvme0n1"]);
    assert_eq!(facts.leaves, ["nvme0n1"]);
    let top = layer(&facts, "loop7");
    assert_eq!(top.kind, LayerKind::Loop);
    assert_eq!(top.backing_file.as_deref(), Some("/var/images/disk image"));
    assert_eq!((top.settings["dio"].as_str(), top.settings["stands_on"].as_str()), ("1", "ext4 at /"));
    assert_eq!(top.below, ["nvme0n1p2"]);
}

// Protects: a loop device on memory or on another machine has no countable device below, and is its own leaf.
#[test]
fn a_loop_device_on_memory_or_network() {
    for (kind, source) in [("tmpfs", "tmpfs"), ("nfs4", "server:/export")] {
        let tree = Tree::new();
        looped(&tree, "/shm/image");
        tree.file(
            "/proc/self/mountinfo",
            &format!("22 1 0:9 / /shm rw - {kind} {source} rw\n23 1 7:7 / /mnt rw - xfs /dev/loop7 rw\n"),
        );
        let facts = probe_path(&tree, "/mnt/file");
        assert_eq!((names(&facts), facts.leaves.as_slice()), (vec!["loop7"], &["loop7".to_owned()][..]));
        assert_eq!(facts.unseen.iter().any(|line| line.contains("server:/export")), kind == "nfs4");
    }
}

// Protects: btrfs has an anonymous number and several devices; its source is a device-mapper link.
#[test]
fn a_btrfs_subvolume_on_two_devices() {
    let tree = Tree::new();
    add_lvm_stack(&tree);
    tree.block("pci0000:00/ata2/host1/block/sdb", "8:16", 4096)
        .file("/sys/class/ata_link/link2/sata_spd", "6.0 Gbps\n")
        .file("/sys/fs/btrfs/features/no_holes", "1\n");
    let btrfs = "/sys/fs/btrfs/aaaa-bbbb";
    tree.link(&format!("{btrfs}/devices/dm-1"), "../../../../devices/virtual/block/dm-1")
        .link(&format!("{btrfs}/devices/sdb"), "../../../../devices/pci0000:00/ata2/host1/block/sdb")
        .file(&format!("{btrfs}/features/no_holes"), "1\n")
        .file(&format!("{btrfs}/nodesize"), "16384\n")
        .file(&format!("{btrfs}/allocation/data/disk_used"), "1\n")
        .directory(&format!("{btrfs}/allocation/data/raid0"))
        .directory(&format!("{btrfs}/allocation/metadata/raid1"))
        .file(
            "/proc/self/mountinfo",
            "22 1 0:40 /@home /home rw - btrfs /dev/mapper/vg-my--data rw,compress=zstd:3,subvolid=256,subvol=/@home\n",
        );
    let facts = probe_path(&tree, "/home/me");
    let fs = facts.filesystem.value().unwrap();
    assert_eq!(facts.stack[0].name, "dm-1");
    assert_eq!(facts.leaves, ["nvme0n1", "nvme1n1", "sdb"]);
    assert_eq!(layer(&facts, "sdb").settings["sata_link_speed"], "6.0 Gbps");
    for (name, value) in [
        ("data_profile", "raid0"),
        ("metadata_profile", "raid1"),
        ("compress", "zstd:3"),
        ("subvol", "/@home"),
        ("mounted_root", "/@home"),
        ("node_size", "16384"),
        ("devices", "2"),
    ] {
        assert_eq!(fs.features.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(fs.uuid, Seen::Yes("aaaa-bbbb".to_owned()));
}

// Protects: an overlay writes to its upper directory, so the device under that directory moves.
#[test]
fn an_overlay() {
    let tree = Tree::new();
    nvme(&tree);
    tree.file(
        "/proc/self/mountinfo",
        "22 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n24 1 0:9 / /shm rw - tmpfs tmpfs rw\n\
         25 22 0:50 / /merged rw - overlay overlay rw,lowerdir=/shm/l,upperdir=/up/a\\054b,workdir=/w\n\
         26 22 0:51 / /read ro - overlay overlay ro,lowerdir=/shm/l:/other\n",
    );
    let facts = probe_path(&tree, "/merged/file");
    let fs = facts.filesystem.value().unwrap();
    assert_eq!((fs.kind.as_str(), fs.features["stands_on"].as_str()), ("overlay", "ext4 at /"));
    assert_eq!(facts.leaves, ["nvme0n1"]);
    let facts = probe_path(&tree, "/read/file");
    assert!(facts.filesystem.value().unwrap().in_memory);
    assert!(facts.leaves.is_empty());
}

// Protects: bind mounts, a mapper name without its node, and /dev/root, which does not exist.
#[test]
fn bind_mounts_and_odd_sources() {
    let tree = Tree::new();
    add_lvm_stack(&tree);
    tree.file(
        "/proc/self/mountinfo",
        "22 1 259:2 / / rw - ext4 /dev/root rw\n23 22 253:1 /srv/x /mnt/bind\\040here rw - ext4 /dev/mapper/gone rw\n",
    );
    assert_eq!(probe_path(&tree, "/etc/passwd").stack[0].name, "nvme0n1p2");
    let bound = probe_path(&tree, "/mnt/bind here/y");
    assert_eq!(bound.stack[0].name, "dm-1");
    assert_eq!(bound.filesystem.value().unwrap().features["mounted_root"], "/srv/x");
}

// Protects: the heads of NVMe multipath do not count on older kernels; their paths do.
#[test]
fn nvme_multipath() {
    let tree = Tree::new();
    tree.block("virtual/nvme-subsystem/nvme-subsys3/nvme3n1", "259:8", 4096);
    for path in ["nvme3c0n1", "nvme3c1n1", "nvme3c1n2"] {
        tree.file(&format!("/sys/devices/pci/{path}/size"), "4096\n")
            .link(&format!("/sys/class/block/{path}"), &format!("../../devices/pci/{path}"));
    }
    tree.file("/proc/self/mountinfo", "22 1 259:8 / / rw - xfs /dev/nvme3n1 rw\n");
    assert_eq!(probe_path(&tree, "/x").leaves, ["nvme3c0n1", "nvme3c1n1"]);
}

// Protects: missing facts are reported: no mount, no device, disabled counters.
#[test]
fn missing_facts_are_reported() {
    let tree = Tree::new();
    assert!(probe_path(&tree, "/x").filesystem.as_result().unwrap_err().contains("mountinfo"));
    tree.file(
        "/proc/self/mountinfo",
        "22 1 8:1 / /data rw - ext4 /dev/sda1 rw\n23 1 0:30 / /z rw - zfs tank/data rw\n",
    );
    assert!(probe_path(&tree, "/x").filesystem.as_result().unwrap_err().contains("no mount that holds /x"));
    let facts = probe_path(&tree, "/data/x");
    assert!(facts.stack.is_empty() && facts.leaves.is_empty());
    assert!(facts.unseen[0].contains("8:1") && facts.unseen[0].contains("/dev/sda1"), "{:?}", facts.unseen);
    assert!(probe_path(&tree, "/z/x").unseen[0].contains("tank/data"));
    let tree = Tree::new();
    nvme(&tree);
    tree.file(&format!("/sys/devices/{NVME}/queue/iostats"), "0\n")
        .file("/proc/self/mountinfo", "22 1 259:2 / / rw - f2fs /dev/nvme0n1p2 rw\n");
    let facts = probe_path(&tree, "/x");
    assert!(facts.unseen.iter().any(|line| line.contains("iostats")), "{:?}", facts.unseen);
    assert!(facts.unseen.iter().any(|line| line.contains("f2fs")), "{:?}", facts.unseen);
}

// Protects: FUSE counts as remote only if its program is known to be.
#[test]
fn fuse_is_not_a_network() {
    let tree = Tree::new();
    tree.file(
        "/proc/self/mountinfo",
        "22 1 0:40 / /bound rw - fuse.bindfs /data/src rw,user_id=0\n23 1 0:41 / /far rw - fuse.sshfs host:/x rw\n\
         24 1 0:42 / /bare rw - fuse own rw\n",
    );
    for path in ["/bound/x", "/bare/x"] {
        let facts = probe_path(&tree, path);
        assert!(!facts.filesystem.value().unwrap().remote, "{facts:?}");
        assert!(facts.unseen[0].contains("a program serves fuse"), "{:?}", facts.unseen);
    }
    let far = probe_path(&tree, "/far/x");
    assert!(far.filesystem.value().unwrap().remote && far.unseen[0].contains("served remotely"), "{far:?}");
}

// Protects: a hypervisor's disk reports that it rotates; that does not make it a spinning disk.
#[test]
fn a_virtual_disk_is_called_one() {
    let tree = Tree::new();
    tree.block("virtual/a/vda", "254:0", 1 << 20)
        .directory("/sys/bus/virtio/drivers/virtio_blk")
        .link("/sys/devices/virtual/a/vda/device/driver", "../../../../../bus/virtio/drivers/virtio_blk")
        .block("pci/b/sda", "8:0", 1 << 20)
        .file("/sys/devices/pci/b/sda/device/vendor", "QEMU\n")
        .file("/sys/devices/pci/b/sda/device/model", "QEMU HARDDISK\n")
        .block("pci/c/sdb", "8:16", 1 << 20)
        .file("/sys/devices/pci/c/sdb/device/vendor", "ATA\n")
        .file("/sys/devices/pci/c/sdb/device/model", "ST1000DM003\n")
        .block("virtual/block/ram0", "1:0", 1 << 20);
    for name in ["vda", "sda", "sdb", "ram0"] {
        tree.file(&format!("/dev/{name}"), "");
    }
    let medium = |name: &str| probe_path(&tree, &format!("/dev/{name}")).stack[0].settings.get("medium").cloned();
    assert_eq!(medium("vda").as_deref(), Some("virtual disk"));
    assert_eq!(medium("sda").as_deref(), Some("virtual disk"));
    assert_eq!((medium("sdb"), medium("ram0").as_deref()), (None, Some("memory")));
}

// Protects: the medium of a loop device is unknown if its backing file has no name here.
#[test]
fn a_loop_device_on_a_file_that_is_gone_is_unknown() {
    let tree = Tree::new();
    tree.block("virtual/block/loop7", "7:7", 1 << 20).file("/dev/loop7", "");
    let backed_by = |file: &str| {
        tree.file("/sys/devices/virtual/block/loop7/loop/backing_file", file);
        probe_path(&tree, "/dev/loop7").stack[0].settings["medium"].clone()
    };
    assert_eq!(backed_by("relative (deleted)\n"), "unknown");
    assert_eq!(backed_by("/memfd:image (deleted)\n"), "memory");
}
