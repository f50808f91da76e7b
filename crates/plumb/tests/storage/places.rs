//! Misleading targets: devices in memory, misaligned partitions, file systems that are full or unfinished, nested
//! caches; and quiet ones, for which nothing must be reported.

use crate::common::disks::{Loop, Mounted};
use crate::common::{Home, assert_found, assert_no_test_data, assert_quiet, findings, flat, metric, needs, verdicts};
use crate::{alone, trusted_but_for_others};
use serde_json::Value;

const MIB: u64 = 1 << 20;

fn show(result: &Value, code: &str) {
    let checks = result["checks"].as_array().unwrap();
    for finding in checks.iter().filter(|finding| finding["code"] == code) {
        eprintln!("{code} {}: {}", finding["level"], finding["message"]);
    }
}

/// Random direct reads of 4 KiB.
const READING: &str = "name = \"place\"\n[target.data.file]\npath = \"data\"\nsize = \"4MiB\"\n[[phase]]\nname = \"read\"\n\
                       cache = \"direct\"\nstop.time = \"1s\"\n[[phase.workers]]\ntarget = \"data\"\n\
                       work.blocks.pattern = \"random\"\n";

/// Runs [`READING`], optionally with another size.
fn read(home: &Home, place: &str, size: &str) -> Value {
    home.file("place.toml", &READING.replace("4MiB", size));
    home.plumb(&format!("run place.toml --at {place} --json")).expect_measured().json()
}

/// Protects: a loop device whose image is in memory does not count as a device, through any number of file systems.
#[test]
fn a_loop_device_in_memory_is_no_device() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let home = Home::new();
    let lower = Mounted::on(Loop::in_memory(256 * MIB), "ext4", "");
    let upper = Mounted::on(Loop::create_in(lower.path(), 128 * MIB), "ext4", "");
    for mounted in [&lower, &upper] {
        let result = read(&home, mounted.as_str(), "16MiB");
        show(&result, "A1");
        assert_eq!(metric(&result, "read", "read.iops")["tier"], "cache", "{:#}", result["target"]);
        assert_found(&result, "A1", "warn", "storage is memory");
        home.plumb(&format!("run place.toml --at {}", mounted.as_str())).expect_measured().expect_stdout(&["memory"]);
    }
    // The device itself, without a file system.
    let bare = Loop::in_memory(64 * MIB);
    home.file(
        "bare.toml",
        &READING.replace(
            "[target.data.file]\npath = \"data\"",
            &format!("[target.data.device]\npath = {:?}", bare.device()),
        ),
    );
    let result = home.plumb("run bare.toml --json").expect_measured().json();
    assert_eq!(metric(&result, "read", "read.iops")["tier"], "cache", "{:#}", result["target"]);
    // A loop device on a disk counts as one.
    let disk = Mounted::on_loop("ext4", 256 * MIB, "");
    let result = read(&home, disk.as_str(), "16MiB");
    assert_quiet(&result, "A1");
    assert_eq!(metric(&result, "read", "read.iops")["tier"], "device");
}

/// Protects: a loop device is recognised as memory even if its image has been deleted.
#[test]
fn a_loop_device_over_a_deleted_image_in_memory_is_no_device() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on(Loop::in_memory(128 * MIB), "ext4", ""), Home::new());
    std::fs::remove_file(mounted.disk.as_ref().unwrap().image()).unwrap();
    let result = read(&home, mounted.as_str(), "16MiB");
    assert_eq!(metric(&result, "read", "read.iops")["tier"], "cache", "{:#}", result["target"]);
    assert_found(&result, "A1", "warn", "storage is memory");
    home.plumb(&format!("check {}", mounted.as_str()))
        .expect_measured()
        .expect_stdout(&["in memory: tmpfs at /dev/shm"]);
}

/// Protects: `plumb check` reports in advance what a run would find or be refused for.
#[test]
fn a_check_reports_what_a_run_would_find() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let home = Home::new();
    let check = |path: &str| home.plumb(&format!("check {path} --json")).expect_measured().json();
    // The cache of a loop device's image, which serves direct reads.
    let cached = Mounted::on(Loop::new(128 * MIB), "ext4", "");
    let predicted = check(cached.as_str());
    assert_found(&predicted, "A7", "warn", "is cached");
    assert!(predicted["refused"].is_null(), "{predicted:#}");
    let direct = Mounted::on_loop("ext4", 128 * MIB, "");
    assert_quiet(&check(direct.as_str()), "A7");
    // A mounted device, and a read-only file system.
    let refused = |path: &str| check(path)["refused"].as_str().unwrap_or_default().to_owned();
    let device = refused(direct.disk.as_ref().unwrap().device());
    assert!(device.contains("is mounted"), "{device}");
    crate::common::disks::system("mount", &["-o", "remount,ro", direct.as_str()]);
    let read_only = refused(direct.as_str());
    assert!(read_only.contains("mounted read-only"), "{read_only}");
    home.file("place.toml", READING);
    home.plumb(&format!("run place.toml --at {}", direct.as_str())).expect(5);
}

/// Protects: compression is reported before a run.
#[test]
fn a_check_names_compression() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.btrfs"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("btrfs", 256 * MIB, "compress=zstd"), Home::new());
    let result = home.plumb(&format!("check {} --json", mounted.as_str())).expect_measured().json();
    assert_found(&result, "A9", "note", "compress=zstd");
}

/// Protects: misaligned blocks that span two pages are reported.
#[test]
fn partitions_and_loop_devices_that_lie_across_pages_are_called_so() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "sfdisk", "partx"]) {
        return;
    }
    let home = Home::new();
    let look = |disk: Loop| {
        let mounted = Mounted::on(disk, "ext4", "");
        let result = read(&home, mounted.as_str(), "4MiB");
        show(&result, "B8");
        result
    };
    assert_found(
        &look(Loop::partition(128 * MIB, 63)),
        "B8",
        "warn",
        "p1 starts at byte 32256, not at a multiple of 4 KiB",
    );
    assert_eq!(findings(&look(Loop::partition(128 * MIB, 2048)), "B8", "pass").len(), 1);
    assert_found(&look(Loop::from_byte(128 * MIB, 63 * 512)), "B8", "warn", "starts at byte 32256 of its file");
    assert_eq!(findings(&look(Loop::from_byte(128 * MIB, MIB)), "B8", "pass").len(), 1);
}

/// Protects: results from a full file system are labelled.
#[test]
fn a_nearly_full_file_system_is_graded() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "fallocate"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 256 * MIB, ""), Home::new());
    // Something to read that exists already, because the guard permits no writes to such a full file system.
    let there = mounted.path().join("there");
    std::fs::write(&there, vec![0x5a; 4 << 20]).unwrap();
    let text =
        READING.replace("\"data\"\nsize = \"4MiB\"", &format!("{:?}\nprepare = \"nothing\"", there.to_str().unwrap()));
    home.file("there.toml", &text);
    let leave = |percent: u64| {
        let fill = mounted.path().join("fill");
        let _ = std::fs::remove_file(&fill);
        // Removed blocks are free once they are in the journal.
        rustix::fs::syncfs(std::fs::File::open(mounted.path()).unwrap()).unwrap();
        let space = rustix::fs::statvfs(mounted.path()).unwrap();
        let bytes = (space.f_bavail - space.f_blocks * percent / 100) * space.f_frsize;
        crate::common::disks::system("fallocate", &["-l", &bytes.to_string(), fill.to_str().unwrap()]);
        let result = home.plumb("run there.toml --json").expect_measured().json();
        show(&result, "D1");
        result
    };
    assert_found(&leave(3), "D1", "fail", "Only 3");
    // Nothing is written to it, and the reason is printed.
    home.file("place.toml", READING);
    home.plumb(&format!("run place.toml --at {}", mounted.as_str())).expect(5).expect_stderr(&["less than 5 %"]);
    let check = home.plumb(&format!("check {} --json", mounted.as_str())).expect(3).json();
    assert_found(&check, "D1", "fail", "is free");
    let tight = leave(10);
    assert_found(&tight, "D1", "warn", "is free");
    assert_eq!(findings(&tight, "D1", "fail").len(), 0);
    assert_eq!(findings(&leave(30), "D1", "pass").len(), 1);
}

/// Protects: the kernel's zeroing of a fresh ext4 is not measured as if it were part of the load.
#[test]
fn an_ext4_whose_inode_tables_are_not_done_rejects_the_run() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let home = Home::new();
    {
        let lazy = Mounted::lazily_made(Loop::uncached(8192 * MIB));
        let result = read(&home, lazy.as_str(), "4MiB");
        show(&result, "C3");
        assert_found(&result, "C3", "fail", "still zeroing inode tables of loop");
        assert_eq!(result["verdict"], "reject");
    }
    // The thread may still run for another file system.
    let done = Mounted::on_loop("ext4", 1024 * MIB, "");
    let result = read(&home, done.as_str(), "4MiB");
    show(&result, "C3");
    assert_eq!(findings(&result, "C3", "fail"), Vec::<&Value>::new());
}

/// Protects: a cold file set is cold below the file system as well, if a loop device's image is cached.
#[test]
fn a_cold_file_set_on_a_loop_device_comes_from_the_device() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    // The image is cached.
    let (mounted, home) = (Mounted::on(Loop::new(512 * MIB), "ext4", ""), Home::new());
    home.file(
        "set.toml",
        "name = \"set\"\n[target.mail.tree]\npath = \"mail\"\nfiles = 1000\nwidth = 10\ndepth = 1\nsize = \"64KiB\"\n\
         preallocated-percent = 100\n[[phase]]\nname = \"read\"\ncache = \"cold\"\n[[phase.workers]]\ntarget = \"mail\"\n\
         limit.ops = 3000\nwork.flow.steps = [{ open = { file = \"sequential\" } }, \"read-whole\", \"close\"]\n",
    );
    let run = || trusted_but_for_others(&home.plumb(&format!("run set.toml --at {} --json", mounted.as_str())));
    let result = run();
    show(&result, "A7");
    assert_eq!(metric(&result, "read", "read.bw")["tier"], "device", "{:#}", result["checks"]);
    assert_quiet(&result, "A7");
    assert_quiet(&result, "A1");
    assert_no_test_data(mounted.path());
}

/// Protects: a clean run is not criticised. A short one is noted to be short, and no more.
#[test]
fn a_quiet_run_of_five_seconds_is_not_warned_of_its_series() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let home = Home::new();
    for mounted in [Mounted::on(Loop::in_memory(256 * MIB), "ext4", ""), Mounted::in_memory(256 * MIB)] {
        let line = format!("run random-read --at {} --set size=16MiB --set time=5s --json", mounted.as_str());
        let result = trusted_but_for_others(&home.plumb(&line));
        for code in ["E2", "E3", "E7"] {
            show(&result, code);
            assert_quiet(&result, code);
        }
        assert_found(&result, "E7", "note", "is only 5");
    }
}

/// Protects: after Plumb has ended, it keeps nothing open: a script can unmount the target at once.
#[test]
fn a_place_can_be_unmounted_as_soon_as_plumb_has_ended() {
    let _alone = alone();
    if !needs::root_and(&["mount", "umount"]) {
        return;
    }
    let home = Home::new();
    for _ in 0..5 {
        let mounted = Mounted::in_memory(64 * MIB);
        let line = "run random-read --set size=8MiB --set time=200ms --set backend=io-uring --at";
        home.plumb(&format!("{line} {}", mounted.as_str())).expect_measured();
        crate::common::disks::system("umount", &[mounted.as_str()]);
    }
}

/// Protects: a noise floor measured at a target is found again there, and shown next to the result that it limits.
#[test]
fn a_noise_floor_is_shown_by_the_next_comparison_there() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on(Loop::in_memory(512 * MIB), "ext4", ""), Home::new());
    let place = mounted.as_str();
    let more = "--for random-read --time 300ms --size 16MiB --json";
    let noise = home.plumb(&format!("noise {place} --budget 12s {more}")).expect_measured().json();
    eprintln!("{}", noise["note"]);
    let floors = noise["floors"].as_array().unwrap();
    if floors.is_empty() {
        return needs::not_shown(&format!("too many runs were rejected for a floor: {:#}", noise["left_out"]));
    }
    assert!(floors.iter().all(|floor| floor["floor"].as_f64().unwrap() > 0.0), "{floors:#?}");
    let compare = |more: &str| home.plumb(&format!("compare {place} {place} --budget 8s {more}")).expect_measured();
    let comparison = compare(more).json();
    // On a busy machine, the time may be over before there are enough blocks to scale a floor to.
    let contrasts = comparison["contrasts"].as_array().unwrap().iter();
    for contrast in contrasts.filter(|contrast| contrast["blocks"].as_u64().is_some_and(|blocks| blocks > 1)) {
        if !floors.iter().any(|floor| floor["metric"] == contrast["metric"]) {
            continue;
        }
        let share = contrast["floor"]["share"].as_f64();
        assert!(share.is_some_and(|share| share > 0.0), "{contrast:#}\n{}\n{floors:#?}", comparison["verdict_note"]);
        assert_eq!(contrast["floor"]["measured_at"], noise["measured_at"]);
    }
    if comparison["contrasts"].as_array().unwrap().iter().all(|contrast| contrast["floor"].is_null()) {
        return needs::not_shown("the machine was too busy for the blocks of a comparison");
    }
    let page = compare(more.trim_end_matches("--json"));
    assert!(flat(&page.out).contains("noise floor"), "{}", page.out);
    // A target without a floor shows none.
    let other = Mounted::on(Loop::in_memory(512 * MIB), "ext4", "");
    let elsewhere = home.plumb(&format!("compare {0} {0} --budget 4s {more}", other.as_str())).expect_measured().json();
    assert!(!verdicts(&elsewhere).is_empty());
    for contrast in elsewhere["contrasts"].as_array().unwrap() {
        assert!(contrast["floor"].is_null(), "{contrast:#}");
    }
}
