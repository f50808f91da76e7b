use super::*;
use crate::counters::{self, SampleSet};
use crate::testtree::Tree;
use plumb_result::client::ClientRequests;

const MIB: u64 = 1 << 20;

/// Returns a target on a network file system.
fn target(kind: &str, source: &str, point: &str) -> TargetFacts {
    let filesystem = FileSystem {
        kind: kind.to_owned(),
        mount_point: point.to_owned(),
        source: source.to_owned(),
        remote: true,
        ..FileSystem::default()
    };
    TargetFacts { filesystem: Seen::Yes(filesystem), ..TargetFacts::default() }
}

/// Returns the counters of the mount at `point`, from a whole sample.
fn sampled(tree: &Tree, kind: &str, source: &str, point: &str) -> Result<ClientCounters, String> {
    let facts = target(kind, source, point);
    let mut clients = counters::sample(&SampleSet::for_targets_in(&tree.sys(), [&facts])).clients;
    clients.remove(point).expect("the mount is sampled").as_result().copied().map_err(str::to_owned)
}

fn nfs(mountstats: &str, point: &str) -> Result<ClientCounters, String> {
    let tree = Tree::new();
    tree.file("/proc/self/mountstats", mountstats);
    sampled(&tree, "nfs4", "server:/", point)
}

/// Linux 4.18, NFS 3. Eight numbers per op.
const V3: &str = include_str!("recorded/nfs3.txt");
/// Linux 6.1, NFS 4.1, written and read through the cache and with O_DIRECT. Nine numbers per op.
const V4_1: &str = include_str!("recorded/nfs41.txt");
/// Linux 6.12, NFS 4.2, written and read through the cache.
const V4_2: &str = include_str!("recorded/nfs42.txt");

// Protects: the byte counters of three protocol versions, and the columns of the requests.
#[test]
fn recordings_of_three_versions() {
    let v3 = nfs(V3, "/mnt/foo").unwrap();
    assert_eq!((v3.asked_read_bytes, v3.server_read_bytes, v3.asked_write_bytes), (1_755_164, 1_868_663, 0));
    let reads = ClientRequests {
        count: 52_788_914,
        sent_bytes: 6_968_136_648,
        received_bytes: 174_865_686_144,
        queued_us: 2_732_530_000,
        answered_us: 21_976_474_000,
    };
    assert_eq!(v3.reads, Some(reads));
    assert_eq!((v3.writes, v3.commits), (Some(ClientRequests::default()), Some(ClientRequests::default())));
    // 8 MiB were written and read back from the cache, then read with O_DIRECT, to the end. 4
    // MiB were written with O_DIRECT.
    let v4_1 = nfs(V4_1, "/mnt").unwrap();
    assert_eq!((v4_1.asked_read_bytes, v4_1.asked_write_bytes), (8 * MIB + 9 * MIB, 8 * MIB + 4 * MIB));
    assert_eq!((v4_1.server_read_bytes, v4_1.server_write_bytes), (8 * MIB, 12 * MIB));
    assert_eq!((v4_1.reads.unwrap().count, v4_1.commits.unwrap().count), (144, 5));
    // This kernel sends READ_PLUS.
    let v4_2 = nfs(V4_2, "/mnt").unwrap();
    assert_eq!((v4_2.server_read_bytes, v4_2.server_write_bytes), (64 * MIB, 48 * MIB));
    let reads = v4_2.reads.unwrap();
    assert_eq!((reads.count, reads.received_bytes, reads.answered_us), (1024, 67_231_744, 21_190_000));
    assert_eq!(v3.uncommitted_bytes, None, "without /proc/meminfo it is unknown");
}

// Protects: uncommitted pages on a server are found on kernels before and after Linux 5.8.
#[test]
fn uncommitted_pages_have_two_sources() {
    let of = |meminfo: &str| {
        let tree = Tree::new();
        tree.file("/proc/self/mountstats", V3).file("/proc/meminfo", meminfo);
        sampled(&tree, "nfs", "server:/", "/mnt/foo").unwrap().uncommitted_bytes
    };
    assert_eq!(of("Dirty: 9 kB\nWriteback: 4 kB\nWritebackTmp: 7 kB\nNFS_Unstable: 16 kB\n"), Some(20 * 1024));
    assert_eq!(of("Dirty: 9 kB\nWriteback: 4 kB\n"), Some(4096));
    assert_eq!(of("Dirty: 9 kB\n"), None);
}

// Protects: the right one of several mounts is chosen: with an automounter below it, one that
// covers another, names with blanks.
#[test]
fn each_mount_has_its_own_counters() {
    let about = |read: u64| {
        format!("\topts:\trw\n\tbytes:\t{read} 2 3 4 5 6 7 8\n\tper-op statistics\n\t READ: 1 1 0 9 9 1 2 3\n\n")
    };
    let text = format!(
        "device rootfs mounted on / with fstype rootfs\n\
         no device mounted on /none with fstype tmpfs\n\
         device auto.nfs mounted on /mnt/a with fstype autofs\n\
         device s:/a mounted on /mnt/a with fstype nfs statvers=1.1\n{}\
         device s:/b\\040c mounted on /mnt/b\\040c with fstype nfs4 statvers=1.1\n{}\
         device s:/d mounted on /mnt/a with fstype nfs4 statvers=1.1\n{}\
         device /dev/vda mounted on /mnt/local with fstype ext4\n",
        about(10),
        about(20),
        about(30)
    );
    let read_bytes = |point: &str| nfs(&text, point).map(|counters| counters.asked_read_bytes);
    assert_eq!(read_bytes("/mnt/a"), Ok(33));
    assert_eq!(read_bytes("/mnt/b c"), Ok(23));
    for elsewhere in ["/mnt", "/mnt/local", "/none", "/"] {
        assert!(read_bytes(elsewhere).unwrap_err().contains("has no NFS mount at"), "{elsewhere}");
    }
}

// Protects: no kernel output causes a panic or an invented number.
#[test]
fn mountstats_that_are_not_as_expected() {
    let with = |lines: &str| nfs(&format!("device s:/ mounted on /m with fstype nfs4 statvers=1.1\n{lines}"), "/m");
    assert!(with("").unwrap_err().contains("has no line bytes"));
    assert!(with("\tbytes:\t1 2 3 4 5\n").unwrap_err().contains("at least 6 numbers"));
    assert!(with("\tbytes:\t1 2 3 4 5 99999999999999999999\n").unwrap_err().contains("99999999999999999999"));
    assert!(with("\tbytes:\t1 2 3 4 -5 6\n").unwrap_err().contains("\"-5\""));
    assert!(with("\tbytes:\t1 2 3 4 5 6\n\t READ: 1 2 3\n").unwrap_err().contains("at least 7 numbers after READ"));
    assert!(with("\tbytes:\t1 2 3 4 5 6\n\t WRITE: 1 2 3 4 5 6 x\n").unwrap_err().contains("\"x\""));
    let most = with(&format!("\tbytes:\t{max} 1 {max} 1 {max} 1\n\t READ: 1 1 0 9 9 {max} {max} 3\n", max = u64::MAX));
    assert_eq!(most.unwrap().asked_read_bytes, u64::MAX);
    let unknown = with("\tbytes:\t1 2 3 4 5 6\n\t SEEK: x\n\t WRITE_SAME: 1\n\tnot a line\n\t:\n:::\n").unwrap();
    assert_eq!((unknown.server_read_bytes, unknown.reads, unknown.commits), (5, None, None));
    assert!(nfs("", "/m").unwrap_err().contains("has no NFS mount"));
    assert!(nfs("device s:/ mounted on /m with fstype\n\tbytes:\t1 2 3 4 5 6\n", "/m").is_err());
    assert!(sampled(&Tree::new(), "nfs", "s:/", "/m").unwrap_err().contains("/proc/self/mountstats"));
}

// Protects: a truncated recording gives an error or complete numbers, and never a panic.
#[test]
fn a_truncated_recording() {
    for end in (0..V4_2.len()).filter(|end| V4_2.is_char_boundary(*end)) {
        let client = nfs::Client { statistics: Ok(V4_2[..end].to_owned()), uncommitted_bytes: None };
        match client.counters("/mnt") {
            Ok(counters) => assert!(counters.asked_read_bytes <= 67_108_864),
            Err(reason) => assert!(reason.to_string().contains("/proc/self/mountstats")),
        }
    }
}

const LLITE: &str = "\
snapshot_time             1637627183.394337 secs.usecs
read_bytes                449131 samples [bytes] 1 23553884 101262334767 5512071507059074
write_bytes               201770 samples [bytes] 1 20971520 236938468092
open                      8050 samples [regs]
";
const OSC: &str = "\
snapshot_time             1637627183.394337 secs.usecs
req_waittime              393905757 samples [usec] 31 17820911 483362372205 28824671200467887
read_bytes                2997684 samples [bytes] 0 4194304 68951632479 -3193831078871982772
write_bytes               102081 samples [bytes] 1 4194304 109176167617 4366299781827334380
ost_read                  2997684 samples [usec] 60 17820911 2715135371 5512071507059074
ost_write                 102081 samples [usec] 86 15329179 983965344 5245570501603571
ost_sync                  854 samples [usec] 35 2683564 4074203
";

/// Describes a client of `scratch` with two object storage targets, which is also a server itself.
fn lustre(root: &str) -> Tree {
    let tree = Tree::new();
    let file = |path: &str, content: &str| {
        tree.file(&format!("{root}/{path}"), content);
    };
    file("llite/scratch-ffff8a1c4d2e7000/stats", LLITE);
    file(
        "llite/scratch-ffff8a1c4d2e7000/unstable_stats",
        "unstable_check:     1\nunstable_pages:  12\nunstable_mb:   0\n",
    );
    file("llite/scratch2-ffff8a1c4d2e8000/stats", "read_bytes 1 samples [bytes] 7 7 7\n");
    file("osc/scratch-OST0000-osc-ffff8a1c4d2e7000/stats", OSC);
    file("osc/scratch-OST0001-osc-ffff8a1c4d2e7000/stats", OSC);
    file("osc/scratch-OST0000-osc-MDT0000/stats", OSC);
    file("osc/scratch2-OST0000-osc-ffff8a1c4d2e8000/stats", OSC);
    file("mdc/scratch-MDT0000-mdc-ffff8a1c4d2e7000/stats", "read_bytes 2 samples [bytes] 1 9 100 1\n");
    tree
}

// Protects: the requests of programs and the traffic of all servers are read, in the paths of both Lustre versions,
// without the clients of other file systems and of servers.
#[test]
fn a_client_of_lustre() {
    for root in ["/proc/fs/lustre", "/sys/kernel/debug/lustre"] {
        let seen = sampled(&lustre(root), "lustre", "10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch/me", "/lustre").unwrap();
        assert_eq!((seen.asked_read_bytes, seen.asked_write_bytes), (101_262_334_767, 236_938_468_092));
        assert_eq!(seen.server_read_bytes, 2 * 68_951_632_479 + 100);
        assert_eq!(seen.server_write_bytes, 2 * 109_176_167_617);
        assert_eq!(seen.uncommitted_bytes, Some(12 * rustix::param::page_size() as u64));
        let [reads, commits] = [seen.reads.unwrap(), seen.commits.unwrap()];
        assert_eq!((reads.count, reads.answered_us, reads.queued_us), (2 * 2_997_684, 2 * 2_715_135_371, 0));
        assert_eq!((commits.count, commits.answered_us), (2 * 854, 2 * 4_074_203));
    }
}

// Protects: several mounts of one Lustre are summed, since no file relates a counter to a mount point.
#[test]
fn several_mounts_of_one_lustre_are_counted_together() {
    let tree = lustre("/proc/fs/lustre");
    tree.file("/proc/fs/lustre/llite/scratch-ffff000000000001/stats", "read_bytes 1 samples [bytes] 5 5 5\n");
    let seen = sampled(&tree, "lustre", "mgs@tcp:/scratch", "/lustre").unwrap();
    assert_eq!(seen.asked_read_bytes, 101_262_334_767 + 5);
    assert_eq!(seen.uncommitted_bytes, None, "one of the two is unknown");
}

// Protects: reasons instead of zeros.
#[test]
fn lustre_that_does_not_answer() {
    let reason = sampled(&Tree::new(), "lustre", "mgs@tcp:/scratch", "/l").unwrap_err();
    assert!(reason.contains("entry of `scratch`") && reason.contains("only root"), "{reason}");
    assert!(sampled(&Tree::new(), "lustre", "scratch", "/l").unwrap_err().contains("SERVER:/NAME"));
    for line in [
        "read_bytes",
        "read_bytes 1 samples [bytes] 1 2",
        "read_bytes 1 samples [bytes] 1 2 x",
        "read_bytes 1 samples [bytes] 1 2 99999999999999999999",
    ] {
        let tree = Tree::new();
        tree.file("/proc/fs/lustre/llite/s-ab/stats", line);
        let reason = sampled(&tree, "lustre", "m@tcp:/s", "/l").unwrap_err();
        assert!(reason.contains("llite/s-ab/stats") && reason.contains(line), "{reason}");
    }
}

// Protects: file systems without client counters are skipped, and one mount under two targets is read once.
#[test]
fn only_counting_clients_are_read() {
    let tree = Tree::new();
    let facts = [
        target("nfs", "s:/", "/m"),
        target("nfs", "s:/", "/m"),
        target("cifs", "//s/x", "/c"),
        target("ext4", "/dev/vda", "/"),
    ];
    let clients = counters::sample(&SampleSet::for_targets_in(&tree.sys(), &facts)).clients;
    assert_eq!(clients.keys().collect::<Vec<_>>(), ["/m"]);
}
