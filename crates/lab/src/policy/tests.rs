use super::*;
use crate::step::Expendable;

const RAM: u64 = 8 << 30;

fn steps(json: serde_json::Value) -> Vec<Step> {
    plumb_document::json::from_str(&json.to_string()).unwrap()
}

/// An owner's permissions for one directory and no device, with that directory.
struct Owner {
    dir: tempfile::TempDir,
    policy: BuildPolicy,
}

impl Owner {
    fn new() -> Owner {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("out"), dir.path().join("in/link")).unwrap();
        let policy = BuildPolicy { allow: vec![dir.path().join("in")], ..BuildPolicy::default() };
        Owner { dir, policy }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    #[track_caller]
    fn refuses(&self, json: serde_json::Value, part: &str) {
        let error = self.policy.admit(&steps(json.clone()), RAM).expect_err(&json.to_string()).to_string();
        assert!(error.contains(part), "{json}: {error}");
    }
}

// Protects what studies on agents are for: images, file systems and mounts below the allowed directory, and memory.
#[test]
fn systems_of_their_own_are_permitted() {
    let owner = Owner::new();
    let (dir, mount) = (owner.path("in"), owner.path("in/mnt/a"));
    let usual = serde_json::json!([
        { "kind": "loop", "name": "disk", "directory": dir, "size": "1GiB", "count": 4 },
        { "kind": "mdadm", "name": "array", "level": "5", "devices": "@disk", "layout": "left-symmetric" },
        { "kind": "dm", "name": "slow", "target": "delay", "device": "@array", "read-delay-ms": 2 },
        { "kind": "mkfs", "fs": "ext4", "device": "@slow", "mount": mount, "mount-options": ["noatime"] },
        { "kind": "fill", "directory": mount, "to": "50%" },
        { "kind": "tmpfs", "size": "1GiB", "mount": owner.path("in/memory") },
        { "kind": "queue", "device": "@disk", "set": { "nr_requests": 64 } },
    ]);
    assert_eq!(owner.policy.admit(&steps(usual), RAM), Ok(()));
}

// Protects the rest of the host: directories outside, links that lead there, and parents of the allowed directory.
#[test]
fn other_directories_are_refused() {
    let owner = Owner::new();
    for bad in ["out", "in/../out", "in/link", "in/link/x", "in/new/../../out", ""] {
        let bad = owner.path(bad);
        let outside = "and the agent builds only below";
        owner.refuses(serde_json::json!([{ "kind": "loop", "directory": bad, "size": "1MiB" }]), outside);
        owner.refuses(serde_json::json!([{ "kind": "tmpfs", "size": "1MiB", "mount": bad }]), outside);
        owner.refuses(
            serde_json::json!([{ "kind": "age", "directory": bad, "files": 1, "size": [1, 1], "operations": 1 }]),
            outside,
        );
        let overlay = serde_json::json!([{ "kind": "overlay", "lower": bad, "directory": owner.path("in"), "mount": owner.path("in/m") }]);
        owner.refuses(overlay, outside);
    }
    owner.refuses(serde_json::json!([{ "kind": "tmpfs", "size": "1MiB", "mount": "relative" }]), "builds only below");
}

// Protects the host's devices: only those that the owner names, and not by a path that a client can make another device.
#[test]
fn other_devices_are_refused() {
    let mut owner = Owner::new();
    for bad in ["/dev/null", "/dev/no-such-device"] {
        let mkfs = serde_json::json!([{ "kind": "mkfs", "fs": "ext4", "device": bad }]);
        owner.refuses(mkfs, &format!("its owner names it with `--allow-build {bad}`"));
    }
    let link = owner.path("in/link");
    for bad in [link.as_str(), "/dev/../tmp/x", "/dev/a b", "/dev/a\n0 8 linear /dev/b 0", "disk", "/devil"] {
        let dm = serde_json::json!([{ "kind": "dm", "name": "a", "target": "linear", "device": bad }]);
        let error = owner.policy.admit(&steps(dm), RAM).unwrap_err().to_string();
        assert!(error.contains("write @NAME") || error.contains("no control characters"), "{bad}: {error}");
    }
    // Settings of another device's queue are the host's, too.
    let queue = serde_json::json!([{ "kind": "queue", "device": "/dev/null", "set": { "nr_requests": 1 } }]);
    owner.refuses(queue, "does not let clients destroy /dev/null");
    // A study's own list permits nothing. Naming a file that is not a block device permits nothing, either.
    owner.policy.devices = vec!["/dev/null".to_owned()];
    let listed = Safety {
        expendable: vec![Expendable { path: Some("/dev/null".to_owned()), serial: None }],
        typed: "/dev/null".to_owned(),
    };
    let mkfs = steps(serde_json::json!([{ "kind": "mkfs", "fs": "ext4", "device": "@expendable" }]));
    assert_eq!(owner.policy.foreign_devices(&mkfs, &listed).len(), 1);
    let own = steps(serde_json::json!([{ "kind": "mkfs", "fs": "ext4", "device": "@disk" }]));
    assert_eq!(owner.policy.foreign_devices(&own, &listed), []);
}

// Protects hosts whose owner permits builds and no programs: a step that starts a program, or reaches past the new system,
// names the option that it needs, and passes with it.
#[test]
fn programs_and_settings_of_the_host_need_allow_exec() {
    let mut owner = Owner::new();
    let mount = owner.path("in/m");
    let reaching = [
        serde_json::json!([{ "kind": "cmd", "run": "touch /x\ntrue" }]),
        serde_json::json!([{ "kind": "sysctl", "set": { "kernel.core_pattern": "|/bin/sh" } }]),
        serde_json::json!([{ "kind": "link", "device": "eth0", "mtu": 68 }]),
        serde_json::json!([{ "kind": "nfs", "directory": owner.path("in"), "mount": mount }]),
        serde_json::json!([{ "kind": "mkfs", "fs": "ext4", "device": "@d", "options": ["-d", "/etc"] }]),
        serde_json::json!([{ "kind": "mkfs", "fs": "../../tmp/x", "device": "@d", "options": ["x"] }]),
        serde_json::json!([{ "kind": "mount", "device": "@d", "fs": "fuse.x", "mount": mount }]),
        serde_json::json!([{ "kind": "mount", "device": "@d", "mount": mount, "options": ["bind"] }]),
        serde_json::json!([{ "kind": "tmpfs", "size": "1MiB", "mount": mount, "options": ["suid"] }]),
        serde_json::json!([{ "kind": "tune", "device": "@d", "options": ["-J", "device=/dev/sdb"] }]),
        serde_json::json!([{ "kind": "btrfs", "devices": "@d", "data": "--rootdir=/etc" }]),
        serde_json::json!([{ "kind": "loop", "directory": owner.path("in"), "size": "1MiB", "limits": { "read-iops": 1 } }]),
    ];
    for step in &reaching {
        owner.refuses(step.clone(), "the agent needs `--allow-exec` next to `--allow-build`");
    }
    owner.policy.may_exec = true;
    for step in reaching {
        assert_eq!(owner.policy.admit(&steps(step.clone()), RAM), Ok(()), "{step}");
    }
    let outside = serde_json::json!([{ "kind": "tmpfs", "size": "1MiB", "mount": owner.path("out") }]);
    owner.refuses(outside, "builds only below");
}

// Protects the host's memory, and its time.
#[test]
fn a_client_takes_a_part_of_the_host() {
    let owner = Owner::new();
    let tmpfs = |size: &str| serde_json::json!({ "kind": "tmpfs", "size": size, "mount": owner.path("in/m") });
    owner.refuses(serde_json::json!([tmpfs("3GiB"), tmpfs("2GiB")]), "5GiB in memory are more than the agent builds");
    owner.refuses(serde_json::json!([{ "kind": "zram", "size": "1TiB", "count": 64 }]), "in memory");
    owner.refuses(serde_json::Value::Array(vec![tmpfs("1MiB"); 65]), "65 steps are more");
}

// Protects the host from what is on a client's file system: no file there raises rights or opens a device.
#[test]
fn every_mount_is_without_rights() {
    let owner = Owner::new();
    for step in [
        serde_json::json!({ "kind": "mkfs", "fs": "xfs", "device": "@d", "mount": "/m", "mount-options": ["noatime"] }),
        serde_json::json!({ "kind": "btrfs", "devices": "@d", "mount": "/m" }),
        serde_json::json!({ "kind": "mount", "device": "@d", "mount": "/m" }),
        serde_json::json!({ "kind": "overlay", "lower": "/a", "directory": "/b", "mount": "/m" }),
        serde_json::json!({ "kind": "tmpfs", "size": 1, "mount": "/m" }),
        serde_json::json!({ "kind": "nfs", "directory": "/a", "mount": "/m" }),
    ] {
        let step = steps(serde_json::json!([step])).remove(0);
        let text = plumb_document::json::to_string(&owner.policy.hardened(&step)).unwrap();
        assert!(text.contains(r#""nosuid","nodev"]"#), "{text}");
    }
}
