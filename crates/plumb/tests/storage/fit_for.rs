//! `plumb fit-for` on real storage: throttled, unthrottled, and in memory.

use crate::alone;
use crate::common::disks::{Loop, Mounted};
use crate::common::groups::{Controller, Group};
use crate::common::{CommandOutput, Home, needs};
use crate::devices::printed;
use serde_json::Value;
use std::io::Read;

const MIB: u64 = 1 << 20;

/// Protects: a device throttled to a few writes per second is not fit for etcd, and the limit gives the reason.
#[test]
fn a_throttled_device_is_not_good_enough_for_etcd() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on(Loop::uncached(512 * MIB), "ext4", ""), Home::new());
    let throttle =
        match Group::new(Controller::Io).and_then(|group| group.limit_writes(mounted.disk.as_ref().unwrap(), 30)) {
            Ok(throttle) => throttle,
            Err(why) => return needs::skip(&why),
        };
    let output = throttle.plumb(&home, &format!("fit-for etcd {} --runs 3 --json", mounted.as_str()));
    let fit = output.expect(1).json();
    assert_eq!(fit["answer"], "no", "{fit:#}");
    assert_eq!(fit["limits"][0]["tier"], "device", "{fit:#}");
    // At most a hundred flushes per second, each with a write of its own.
    assert!(fit["limits"][0]["lo"].as_f64().unwrap() > 1e7, "{fit:#}");
}

/// Protects: the answer follows from the number, on a disk whose speed is unknown.
#[test]
fn the_answer_of_a_real_device_follows_from_its_number() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 1024 * MIB, ""), Home::new());
    let output = home.plumb(&format!("fit-for etcd {} --runs 3 --json", mounted.as_str()));
    let fit = output.json();
    eprintln!("{}", fit["answer_note"]);
    let limit = &fit["limits"][0];
    let end = |name: &str| limit[name].as_f64();
    let (answer, code) = match (end("lo"), end("hi")) {
        _ if fit["answer"] == "refused" => {
            assert!(!fit["refused_because"].as_array().unwrap().is_empty(), "{fit:#}");
            (Value::from("refused"), 3)
        }
        (_, Some(hi)) if hi < 1e7 && limit["instead"].is_null() => (Value::from("yes"), 0),
        (Some(lo), _) if lo >= 1e7 => (Value::from("no"), 1),
        (Some(_), Some(_)) if limit["instead"].is_null() => (Value::from("borderline"), 6),
        _ => (Value::from("cannot-tell"), 6),
    };
    assert_eq!((&fit["answer"], output.code), (&answer, code), "{fit:#}");
    let left = std::fs::read_dir(mounted.as_str())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name() != "lost+found");
    assert_eq!(left.count(), 0, "test data is removed");
}

/// Protects: memory is fast, but unfit for anything that must be durable.
#[test]
fn tmpfs_is_refused() {
    let _alone = alone();
    if !needs::root_and(&["mount"]) {
        return;
    }
    let (mounted, home) = (Mounted::in_memory(512 * MIB), Home::new());
    let fit = home.plumb(&format!("fit-for etcd {} --runs 3 --json", mounted.as_str())).expect(3).json();
    assert_eq!(fit["answer"], "refused", "{fit:#}");
    assert!(fit["limits"].as_array().unwrap().iter().all(|limit| limit["answer"] == "refused"), "{fit:#}");
}

/// Protects data on a device: it is overwritten only with permission, and then judged like files. A use that needs
/// files says so.
#[test]
fn a_device_is_judged_with_permission_only() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let (disk, home) = (Loop::uncached(512 * MIB), Home::new());
    let begin = || {
        let mut begin = [0; 8];
        std::fs::File::open(&disk.device).and_then(|mut device| device.read_exact(&mut begin)).unwrap();
        begin
    };
    std::fs::write(&disk.device, "precious").unwrap();
    let device = disk.device.to_str().unwrap();
    let words = ["fit-for", "etcd", device, "--runs", "3", "--json"];
    let refused = home.plumb_args(words).expect(5).expect_stderr(&["PLUMB_ALLOW="]);
    assert_eq!(&begin(), b"precious");
    let mut allowed = home.command(words);
    allowed.env("PLUMB_ALLOW", printed(&refused, "PLUMB_ALLOW="));
    let output = CommandOutput::run(allowed);
    let fit = output.json();
    eprintln!("{}", fit["answer_note"]);
    let codes = [("yes", 0), ("no", 1), ("borderline", 6), ("cannot-tell", 6), ("refused", 3)];
    let expected = codes.iter().find(|(answer, _)| fit["answer"] == *answer).map(|(_, code)| *code);
    assert_eq!(expected, Some(output.code), "{fit:#}");
    assert!(fit["limits"][0]["value"].as_f64().is_some_and(|ns| ns > 0.0), "{fit:#}");
    assert_ne!(&begin(), b"precious");
    home.plumb_args(["fit-for", "mail", device]).expect(2).expect_stderr(&["works on files", "name a directory"]);
}
