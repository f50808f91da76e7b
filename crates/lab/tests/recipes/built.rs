//! Builds, checks and takes down each recipe that this kernel supports.

use crate::bench::{Bench, system};
use crate::needs;
use plumb_lab::step::MadeNames;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Builds steps, checks the result and takes it down. Nothing may be left.
#[track_caller]
fn build_and_check(text: &str, look: impl FnOnce(&Bench, &MadeNames)) {
    let mut bench = Bench::new();
    let before = bench.standing();
    let made = bench.build(text).unwrap_or_else(|error| panic!("{error}"));
    look(&bench, &made);
    assert_eq!(bench.build(text).unwrap(), made, "building again what stands");
    bench.undo();
    assert_eq!(bench.standing(), before);
}

fn sys(device: &str, file: &str) -> String {
    let name = device.trim_start_matches("/dev/");
    fs::read_to_string(format!("/sys/class/block/{name}/{file}")).unwrap().trim().to_owned()
}

fn mount_option(path: &Path) -> String {
    system("findmnt", &["-no", "FSTYPE,OPTIONS", path.to_str().unwrap()])
}

#[test]
fn root_loop_devices_match_their_count_and_fill() {
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "4MiB", "count": 2, "fill": "filled",
                    "sector-size": 4096, "direct-io": true},
                   {"kind": "loop", "name": "s", "directory": "DIR", "size": "8MiB"}]"#;
    build_and_check(text, |_, made| {
        assert_eq!(made["d"].len(), 2);
        for device in &made["d"] {
            assert_eq!(sys(device, "size"), "8192");
            assert_eq!(sys(device, "queue/logical_block_size"), "4096");
            assert_eq!(sys(device, "loop/dio"), "1");
            let image = fs::metadata(sys(device, "loop/backing_file")).unwrap();
            assert!(image.blocks() * 512 >= 4 << 20, "{} blocks", image.blocks());
        }
        let image = fs::metadata(sys(&made["s"][0], "loop/backing_file")).unwrap();
        assert_eq!((image.len(), image.blocks()), (8 << 20, 0));
    });
}

#[test]
fn root_partitions_have_the_requested_positions() {
    if !needs::root_and(&["losetup", "sfdisk", "partx", "mkfs.ext4"]) {
        return;
    }
    for (table, sector) in [("gpt", 512), ("dos", 512), ("gpt", 4096)] {
        let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "64MiB", "sector-size": SECTOR},
                       {"kind": "partition", "name": "p", "device": "@d", "table": "TABLE", "align": "2MiB",
                        "sizes": ["10MiB", "rest"]},
                       {"kind": "mkfs", "fs": "ext4", "device": "@p.2", "mount": "DIR/mnt"}]"#;
        let text = text.replace("TABLE", table).replace("SECTOR", &sector.to_string());
        build_and_check(&text, |bench, made| {
            let [first, second] = made["p"].as_slice() else { panic!("{made:?}") };
            // Both in sectors of 512 bytes.
            assert_eq!((sys(first, "start"), sys(first, "size")), ("4096".to_owned(), "20480".to_owned()));
            assert_eq!(sys(second, "start"), "24576");
            assert!(mount_option(&bench.at("mnt")).starts_with("ext4"));
        });
    }
}

#[test]
fn root_zram_devices_have_their_algorithm() {
    if !needs::root_and(&[]) {
        return;
    }
    if !Path::new("/sys/class/zram-control").is_dir() {
        return needs::not_shown("this kernel has no zram");
    }
    // The available algorithms depend on the kernel's configuration.
    let mut known = vec![];
    build_and_check(r#"[{"kind": "zram", "name": "z", "size": "16MiB", "count": 2}]"#, |_, made| {
        assert_eq!(made["z"].len(), 2);
        assert_eq!(sys(&made["z"][1], "size"), "32768");
        known = sys(&made["z"][0], "comp_algorithm").split_whitespace().map(str::to_owned).collect();
    });
    let other = known.iter().find(|name| !name.starts_with('[')).unwrap_or(&known[0]).trim_matches(['[', ']']);
    let text = r#"[{"kind": "zram", "name": "z", "size": "16MiB", "algorithm": "ALGORITHM"}]"#;
    build_and_check(&text.replace("ALGORITHM", other), |_, made| {
        assert!(sys(&made["z"][0], "comp_algorithm").contains(&format!("[{other}]")));
    });
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = r#"[{"kind": "zram", "size": "16MiB", "algorithm": "middle-out"}]"#;
    let error = bench.build(text).unwrap_err().to_string();
    assert!(error.contains("`algorithm` is `middle-out`: this kernel has"), "{error}");
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_every_file_system_is_made_and_mounted() {
    for (fs, option) in [
        ("ext2", "noatime"),
        ("ext3", "data=journal"),
        ("ext4", "data=writeback"),
        ("xfs", "noatime"),
        ("btrfs", "compress=zstd:1"),
        ("f2fs", "noatime"),
    ] {
        if !needs::root_and(&["losetup", &format!("mkfs.{fs}")]) {
            continue;
        }
        let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "320MiB"},
                       {"kind": "mkfs", "name": "fs", "fs": "FS", "device": "@d", "mount": "DIR/mnt",
                        "mount-options": ["OPTION"]}]"#;
        let text = text.replace("FS", fs).replace("OPTION", option);
        if !fs::read_to_string("/proc/filesystems").unwrap().contains(&format!("\t{fs}\n")) {
            let mut bench = Bench::new();
            let before = bench.standing();
            let error = bench.build(&text).unwrap_err().to_string();
            assert!(error.contains("this kernel") && error.contains(&format!("cannot mount {fs}")), "{error}");
            assert_eq!(bench.standing(), before);
            needs::not_shown(&format!("{fs} is made, but this kernel cannot mount it: {error}"));
            continue;
        }
        build_and_check(&text, |bench, _| {
            let shown = mount_option(&bench.at("mnt"));
            assert!(shown.starts_with(fs) && shown.contains(option), "{shown}");
        });
    }
}

#[test]
fn root_btrfs_spreads_over_devices_by_profile() {
    if !needs::root_and(&["losetup", "mkfs.btrfs", "btrfs"]) {
        return;
    }
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "256MiB", "count": 2},
                   {"kind": "btrfs", "name": "fs", "devices": "@d", "data": "raid0", "metadata": "raid1",
                    "mount": "DIR/mnt", "mount-options": ["noatime"]}]"#;
    build_and_check(text, |bench, made| {
        assert_eq!(made["fs"].len(), 1);
        let usage = system("btrfs", &["filesystem", "df", bench.at("mnt").to_str().unwrap()]);
        assert!(usage.contains("Data, RAID0") && usage.contains("Metadata, RAID1"), "{usage}");
    });
}

#[test]
fn root_a_mount_is_a_step_of_its_own_and_tune_converts_before_it() {
    if !needs::root_and(&["losetup", "mkfs.ext2", "tune2fs", "dumpe2fs"]) {
        return;
    }
    for (made_as, to, features, mounted_as) in
        [("ext2", "ext3", "has_journal", "ext3"), ("ext3", "ext2", "", "ext2"), ("ext2", "ext4", "extent", "ext4")]
    {
        let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "64MiB"},
                       {"kind": "mkfs", "fs": "MADE", "device": "@d"},
                       {"kind": "tune", "device": "@d", "to": "TO", "options": ["-L", "tuned"]},
                       {"kind": "mount", "name": "fs", "device": "@d", "fs": "MOUNTED", "mount": "DIR/mnt",
                        "options": ["noatime"]}]"#;
        let text = text.replace("MADE", made_as).replace("TO", to).replace("MOUNTED", mounted_as);
        build_and_check(&text, |bench, made| {
            let shown = system("dumpe2fs", &["-h", &made["d"][0]]);
            assert!(shown.contains("tuned") && shown.contains(features), "{shown}");
            assert_eq!(shown.contains("has_journal"), to != "ext2", "{shown}");
            assert!(mount_option(&bench.at("mnt")).starts_with(mounted_as));
        });
    }
}

#[test]
fn root_overlay_and_tmpfs_are_mounted() {
    if !needs::root_and(&["mount"]) {
        return;
    }
    if !fs::read_to_string("/proc/filesystems").unwrap().contains("overlay") {
        return needs::not_shown("this kernel has no overlay");
    }
    let text = r#"[{"kind": "tmpfs", "name": "t", "size": "8MiB", "mount": "DIR/t", "options": ["mode=700"]},
                   {"kind": "cmd", "run": "mkdir DIR/t/lower && echo below > DIR/t/lower/file"},
                   {"kind": "overlay", "lower": "DIR/t/lower", "directory": "@t", "mount": "DIR/o"},
                   {"kind": "cmd", "run": "echo above > DIR/o/file"}]"#;
    build_and_check(text, |bench, _| {
        assert!(mount_option(&bench.at("t")).contains("size=8192k"));
        assert_eq!(fs::read_to_string(bench.at("o/file")).unwrap(), "above\n");
        assert_eq!(fs::read_to_string(bench.at("t/lower/file")).unwrap(), "below\n");
    });
}

#[test]
fn root_a_file_system_is_filled_and_aged() {
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "128MiB"},
                   {"kind": "mkfs", "name": "fs", "fs": "ext4", "device": "@d", "mount": "DIR/mnt",
                    "options": ["-E", "lazy_itable_init=0,lazy_journal_init=0"]},
                   {"kind": "age", "directory": "@fs", "files": 40, "size": ["4k", "256k"], "operations": 300, "seed": 7},
                   {"kind": "fill", "directory": "@fs", "to": "97%", "file-size": "8MiB"}]"#;
    build_and_check(text, |bench, _| {
        let used = system("df", &["--output=pcent", bench.at("mnt").to_str().unwrap()]);
        // df rounds up.
        assert!(used.ends_with("97%") || used.ends_with("98%"), "{used}");
        let dirs = fs::read_dir(bench.at("mnt")).unwrap().flatten();
        let own = dirs.filter(|entry| entry.file_name().to_string_lossy().starts_with("plumb-lab-")).count();
        assert_eq!(own, 2);
    });
}

// Protects: other users' file systems are not filled up.
#[test]
fn root_a_file_system_of_others_is_not_filled_beyond_the_floor() {
    let mut bench = Bench::new();
    let before = bench.standing();
    let error = bench.build(r#"[{"kind": "fill", "directory": "DIR", "to": "99%"}]"#).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("less than 5 %"), "{error}");
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_a_device_is_overwritten_from_end_to_end() {
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "5MiB"},
                   {"kind": "precondition", "device": "@d", "passes": 2, "block": "2MiB", "seed": 1}]"#;
    build_and_check(text, |_, made| {
        let bytes = fs::read(&made["d"][0]).unwrap();
        let is_empty = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        assert_eq!(bytes.len(), 5 << 20);
        assert!(!bytes.chunks(4096).any(is_empty));
    });
}

#[test]
fn root_missing_drivers_are_reported_and_leave_nothing() {
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let has = |driver: &str| {
        fs::read_to_string("/proc/devices").unwrap().lines().any(|line| line.ends_with(&format!(" {driver}")))
    };
    for (driver, step, expected) in [
        ("md", r#"{"kind": "mdadm", "name": "a", "level": 1, "devices": "@d"}"#, "has no md RAID"),
        ("device-mapper", r#"{"kind": "lvm", "name": "v", "devices": "@d"}"#, "has no LVM"),
        (
            "device-mapper",
            r#"{"kind": "dm", "name": "m", "target": "linear", "device": "@d.1"}"#,
            "has no device mapper",
        ),
        ("-", r#"{"kind": "gmirror", "name": "m", "devices": "@d"}"#, "FreeBSD's"),
        ("-", r#"{"kind": "zpool", "name": "m", "devices": "@d"}"#, "FreeBSD's"),
        ("-", r#"{"kind": "newfs", "device": "@d.1"}"#, "FreeBSD's"),
    ] {
        if has(driver) {
            needs::not_shown(&format!("this kernel has {driver}"));
            continue;
        }
        let mut bench = Bench::new();
        let before = bench.standing();
        let text =
            format!(r#"[{{"kind": "loop", "name": "d", "directory": "DIR", "size": "8MiB", "count": 2}}, {step}]"#);
        let error = bench.build(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(bench.standing(), before);
    }
    if !Path::new("/proc/fs/nfsd/threads").exists() {
        let mut bench = Bench::new();
        let before = bench.standing();
        let error = bench.build(r#"[{"kind": "nfs", "directory": "DIR", "mount": "DIR/m"}]"#).unwrap_err().to_string();
        assert!(error.contains("NFS server"), "{error}");
        assert_eq!(bench.standing(), before);
    }
}
