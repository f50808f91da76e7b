//! Misleading loads, on real file systems.

use crate::alone;
use crate::common::disks::{Loop, Mounted};
use crate::common::{Home, assert_found, findings, needs};
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn streams(content: &str, workers: u32) -> String {
    format!(
        "name = \"load\"\n[target.data.file]\npath = \"data\"\nsize = \"64MiB\"\nprepare = \"nothing\"\ncontent = \"{content}\"\n\
         [[phase]]\nname = \"write\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"1MiB\"\n\
         work.blocks.mix.write = 100\n[[phase]]\nname = \"read\"\ncache = \"cold\"\n[[phase.workers]]\ntarget = \"data\"\n\
         count = {workers}\nwork.blocks.block = \"1MiB\"\n"
    )
}

/// Protects: zeros on a compressing file system are never taken for the device's rate.
#[test]
fn zeros_over_compression_are_called_so() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.btrfs"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("btrfs", 512 << 20, "compress-force=zstd"), Home::new());
    let run = |content: &str| {
        home.file("load.toml", &streams(content, 1));
        home.plumb(&format!("run load.toml --at {} --json", mounted.as_str())).json()
    };
    let zeros = run("zero");
    assert_found(&zeros, "A9", "warn", "compress-force=zstd");
    assert_found(&zeros, "A9", "warn", "stored compressed");
    let random = run("random");
    assert_eq!(findings(&random, "A9", "warn").len(), 0, "{:#}", random["checks"]);
}

/// Protects: streams over the same bytes are not added up as if each had reached the device.
#[test]
fn streams_over_the_same_bytes_are_called_so() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 512 << 20, ""), Home::new());
    home.file("load.toml", &streams("random", 4));
    let result = home.plumb(&format!("run load.toml --at {} --json", mounted.as_str())).json();
    assert_found(&result, "B7", "warn", "4 sequential workers covered the same bytes");
}

/// Writes durably until told to stop.
fn write_beside(path: &Path, stop: &AtomicBool) {
    let (mut file, block) = (std::fs::File::create(path).unwrap(), vec![0x5a; 1 << 20]);
    while !stop.load(Ordering::Relaxed) {
        file.rewind().unwrap();
        for _ in 0..16 {
            file.write_all(&block).unwrap();
        }
        file.sync_data().unwrap();
    }
}

/// Protects: small random reads next to another process's stream are not taken for the device's own rate.
#[test]
fn another_process_on_the_device_is_seen() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    // A loop device over memory can have other users too.
    for disk in [Loop::uncached(512 << 20), Loop::in_memory(512 << 20)] {
        is_seen_on(&Mounted::on(disk, "ext4", ""));
    }
}

/// Protects: metadata that a file system adds to a log's writes is not attributed to a process that is busy on another
/// disk.
#[test]
fn another_process_on_another_disk_is_not_seen_on_this_one() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let mounted = Mounted::on(Loop::in_memory(512 << 20), "ext4", "");
    let elsewhere = Mounted::on(Loop::in_memory(512 << 20), "ext4", "");
    let home = Home::new();
    home.file(
        "load.toml",
        "name = \"load\"\n[target.data.file]\npath = \"data\"\nsize = \"4MiB\"\nprepare = \"nothing\"\n[[phase]]\n\
         name = \"log\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"4KiB\"\nwork.blocks.mix.write = 100\n\
         work.blocks.fsync-every = 1\n",
    );
    let stop = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| write_beside(&elsewhere.path().join("beside"), &stop));
        let output = home.plumb(&format!("run load.toml --at {} --json", mounted.as_str()));
        stop.store(true, Ordering::Relaxed);
        output.json()
    });
    // A journal commit follows each write of 4 KiB: the device writes several times the given amount.
    let of_c1: Vec<&serde_json::Value> =
        result["checks"].as_array().unwrap().iter().filter(|check| check["code"] == "C1").collect();
    let is_hidden = |check: &&serde_json::Value| {
        check["level"] == "skipped" && check["message"].as_str().unwrap().contains("is hidden from root")
    };
    if !of_c1.is_empty() && of_c1.iter().all(is_hidden) {
        return needs::not_shown("C1 is skipped: some process's I/O is hidden from root here; c1.rs has its cases");
    }
    assert!(!of_c1.is_empty() && of_c1.iter().all(|check| check["level"] == "pass"), "{of_c1:#?}");
}

fn is_seen_on(mounted: &Mounted) {
    let home = Home::new();
    home.file(
        "load.toml",
        "name = \"load\"\n[target.data.file]\npath = \"data\"\nsize = \"64MiB\"\n[[phase]]\nname = \"read\"\ncache = \"direct\"\n\
         stop.time = \"3s\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.pattern = \"random\"\n",
    );
    let stop = AtomicBool::new(false);
    // To plumb, this process is another one.
    let output = std::thread::scope(|scope| {
        scope.spawn(|| write_beside(&mounted.path().join("beside"), &stop));
        let output = home.plumb(&format!("run load.toml --at {} --json", mounted.as_str()));
        stop.store(true, Ordering::Relaxed);
        output
    });
    // It is reported while it happens, once.
    let reported: Vec<&str> = output.err.lines().filter(|line| line.contains("C1")).collect();
    eprintln!("{reported:#?}");
    let at = |level: &str| reported.iter().filter(|line| line.trim_start().starts_with(level)).count();
    assert!(at("fail") + at("warn") >= 1 && at("fail") <= 1 && at("warn") <= 1, "{}", output.err);
    assert!(reported.iter().any(|line| line.contains("Others used about")), "{}", output.err);
    let result = output.json();
    let found = findings(&result, "C1", "fail").len() + findings(&result, "C1", "warn").len();
    assert_eq!(found, 1, "{:#}", result["checks"]);
}
