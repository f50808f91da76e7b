//! Devices over devices: md arrays, logical volumes, mapped devices. Kernels of containers rarely have them;
//! those of virtual machines do.

use crate::bench::{Bench, system};
use crate::needs;
use std::fs;
use std::process::Command;

/// Returns `true` if the kernel has or can load a block driver; prints a note if not.
fn has(driver: &str, modules: &[&str]) -> bool {
    for module in modules {
        let _ = Command::new("modprobe").args(["--quiet", module]).output();
    }
    let devices = fs::read_to_string("/proc/devices").unwrap();
    let has = devices.lines().any(|line| line.ends_with(&format!(" {driver}")));
    if !has {
        needs::not_shown(&format!("this kernel has no {driver}"));
    }
    has
}

fn md(array: &str, file: &str) -> String {
    let name = array.trim_start_matches("/dev/");
    fs::read_to_string(format!("/sys/block/{name}/md/{file}")).unwrap().trim().to_owned()
}

const LEVELS: [(&str, u32, &str); 6] = [
    ("0", 2, "raid0"),
    ("1", 2, "raid1"),
    ("4", 3, "raid4"),
    ("5", 3, "raid5"),
    ("6", 4, "raid6"),
    ("10", 4, "raid10"),
];

#[test]
fn root_arrays_of_each_level_are_in_sync_when_they_are_built() {
    if !needs::root_and(&["losetup"]) || !has("md", &["md-mod", "raid0", "raid1", "raid456", "raid10"]) {
        return;
    }
    if !needs::root_and(&["mdadm", "mkfs.ext4"]) {
        return;
    }
    for (level, members, name) in LEVELS {
        let mut bench = Bench::new();
        let before = bench.standing();
        let chunk = if level == "1" { "" } else { r#""chunk": "256k","# };
        let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "24MiB", "count": MEMBERS},
                       {"kind": "mdadm", "name": "array", "level": LEVEL, CHUNK "devices": "@d"},
                       {"kind": "mkfs", "fs": "ext4", "device": "@array", "mount": "DIR/mnt"},
                       {"kind": "cmd", "run": "dd if=/dev/zero of=DIR/mnt/file bs=1M count=4 conv=fsync"}]"#;
        let text = text.replace("MEMBERS", &members.to_string()).replace("LEVEL", level).replace("CHUNK", chunk);
        let made = bench.build(&text).unwrap_or_else(|error| panic!("RAID {level}: {error}"));
        let array = &made["array"][0];
        assert_eq!(md(array, "level"), name);
        if level != "0" {
            assert_eq!((md(array, "degraded").as_str(), md(array, "sync_action").as_str()), ("0", "idle"));
            assert_eq!(md(array, "resync_start"), "none");
        }
        if level != "1" {
            assert_eq!(md(array, "chunk_size"), (256 << 10).to_string());
        }
        bench.build(&text).unwrap();
        bench.undo();
        assert_eq!(bench.standing(), before, "RAID {level}");
    }
}

#[test]
fn root_a_member_fails_and_is_rebuilt() {
    if !needs::root_and(&["losetup"]) || !has("md", &["md-mod", "raid456"]) || !needs::root_and(&["mdadm"]) {
        return;
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let array = r#"{"kind": "loop", "name": "d", "directory": "DIR", "size": "24MiB", "count": 3},
                   {"kind": "mdadm", "name": "array", "level": 5, "devices": "@d", "chunk": "64k", "bitmap": "internal"},
                   {"kind": "degrade", "array": "@array", "member": "@d.2"}"#;
    let made = bench.build(&format!("[{array}]")).unwrap();
    let device = &made["array"][0];
    assert_eq!(md(device, "degraded"), "1");
    let rebuild = format!(r#"[{array}, {{"kind": "rebuild", "array": "@array", "member": "@d.2"}}]"#);
    bench.build(&rebuild).unwrap();
    assert_eq!((md(device, "degraded").as_str(), md(device, "sync_action").as_str()), ("0", "idle"));
    bench.undo();
    assert_eq!(bench.standing(), before);
}

// Protects: a device that others are built upon cannot be destroyed.
#[test]
fn root_a_member_of_an_array_is_refused() {
    if !needs::root_and(&["losetup"]) || !has("md", &["md-mod", "raid1"]) || !needs::root_and(&["mdadm", "mkfs.ext4"]) {
        return;
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "24MiB", "count": 2},
                   {"kind": "mdadm", "name": "array", "level": 1, "devices": "@d", "wait": "none"},
                   {"kind": "mkfs", "fs": "ext4", "device": "@d.1"}]"#;
    let error = bench.build(text).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("mdadm --stop"), "{error}");
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_logical_volumes_have_the_requested_layout() {
    let modules = ["dm-mod", "dm-raid", "dm-thin-pool", "dm-mirror"];
    if !needs::root_and(&["losetup"]) || !has("device-mapper", &modules) || !needs::root_and(&["lvm", "mkfs.ext4"]) {
        return;
    }
    for (layout, more, shown) in [
        ("linear", "", "linear"),
        ("striped", r#", "stripe-size": "64k""#, "striped"),
        ("mirror", "", "raid1"),
        ("thin", r#", "size": "64MiB", "chunk": "64k""#, "thin"),
    ] {
        let mut bench = Bench::new();
        let before = bench.standing();
        let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "64MiB", "count": 2},
                       {"kind": "lvm", "name": "volume", "devices": "@d", "layout": "LAYOUT" MORE},
                       {"kind": "mkfs", "fs": "ext4", "device": "@volume", "mount": "DIR/mnt"}]"#;
        let text = text.replace("LAYOUT", layout).replace("MORE", more);
        let made = bench.build(&text).unwrap_or_else(|error| panic!("{layout}: {error}"));
        let table = system("dmsetup", &["table", &made["volume"][0]]);
        let target = table.split_whitespace().nth(2).unwrap();
        assert!(target == shown || target == "raid", "{layout}: {table}");
        if layout == "mirror" {
            let status = system("dmsetup", &["status", &made["volume"][0]]);
            assert!(status.contains("AA"), "both copies are in sync: {status}");
        }
        bench.build(&text).unwrap();
        bench.undo();
        assert_eq!(bench.standing(), before, "{layout}");
    }
}

#[test]
fn root_mapped_devices_behave_as_requested() {
    let modules = ["dm-mod", "dm-delay", "dm-flakey", "dm-log-writes"];
    if !needs::root_and(&["losetup"]) || !has("device-mapper", &modules) || !needs::root_and(&["dmsetup"]) {
        return;
    }
    for (target, more) in [
        ("linear", r#", "offset": "1MiB", "size": "8MiB""#),
        ("delay", r#", "read-delay-ms": 1, "write-delay-ms": 2"#),
        ("flakey", r#", "up-s": 1000, "down-s": 1, "features": ["drop_writes"]"#),
        ("log-writes", r#", "log": "@d.2""#),
    ] {
        let mut bench = Bench::new();
        let before = bench.standing();
        let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "16MiB", "count": 2},
                       {"kind": "dm", "name": "mapped", "target": "TARGET", "device": "@d.1" MORE},
                       {"kind": "cmd", "run": "dd if=/dev/zero of=/dev/mapper/plumb-mapped bs=1M count=1 conv=fsync"}]"#;
        let text = text.replace("TARGET", target).replace("MORE", more);
        match bench.build(&text) {
            Ok(made) => {
                let table = system("dmsetup", &["table", &made["mapped"][0]]);
                assert_eq!(table.split_whitespace().nth(2), Some(target), "{table}");
                bench.build(&text).unwrap();
                bench.undo();
            }
            Err(error) => {
                assert!(error.to_string().contains(&format!("has no dm-{target}")), "{error}");
                needs::not_shown(&error.to_string());
            }
        }
        assert_eq!(bench.standing(), before, "{target}");
    }
}
