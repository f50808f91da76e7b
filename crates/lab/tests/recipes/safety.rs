//! Only permitted devices are destroyed, and refusals name a way out.

use crate::bench::{Bench, Disk, expendable, system};
use crate::needs;
use plumb_lab::step::Safety;

const MKFS: &str = r#"[{"kind": "mkfs", "fs": "ext2", "device": "DEVICE", "mount": "DIR/mnt"}]"#;

#[test]
fn root_a_device_that_is_not_listed_or_has_another_serial_is_refused() {
    if !needs::root_and(&["losetup", "mkfs.ext2"]) {
        return;
    }
    let disk = Disk::new(16 << 20);
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = MKFS.replace("DEVICE", &disk.device);
    let error = bench.build(&text).unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains(&format!("serial = \"{}\"", disk.serial)), "{error}");

    let error = bench.build_with(&text, &expendable(Some(&disk.device), Some("WD-1"))).unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains("names WD-1"), "{error}");

    let named = MKFS.replace("DEVICE", "@expendable");
    let error = bench.build_with(&named, &expendable(None, Some("WD-1"))).unwrap_err();
    assert!(error.to_string().contains("no disk here has the serial WD-1; disks here:"), "{error}");
    assert!(error.to_string().contains(&disk.device), "{error}");
    let error = bench.build(&named).unwrap_err();
    assert!(error.to_string().contains("[safety]"), "{error}");
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_an_expendable_device_is_used_and_left_as_empty_as_it_was() {
    if !needs::root_and(&["losetup", "mkfs.ext2"]) {
        return;
    }
    let disk = Disk::new(16 << 20);
    let mut bench = Bench::new();
    let before = bench.standing();
    let named = MKFS.replace("DEVICE", "@expendable");
    for safety in [expendable(None, Some(&disk.serial)), expendable(Some(&disk.device), Some(&disk.serial))] {
        bench.build_with(&named, &safety).unwrap();
        assert!(system("findmnt", &["-no", "SOURCE", bench.at("mnt").to_str().unwrap()]).contains(&disk.device));
        bench.undo();
        // So the next plot finds no signature, and needs no new permission.
        assert_eq!(bench.standing(), before);
    }
}

#[test]
fn root_content_of_an_expendable_device_is_destroyed_only_when_it_was_typed_too() {
    if !needs::root_and(&["losetup", "mkfs.ext2"]) {
        return;
    }
    let disk = Disk::new(16 << 20);
    system("mkfs.ext2", &["-q", &disk.device]);
    let mut bench = Bench::new();
    let text = MKFS.replace("DEVICE", "@disks");
    let listed = expendable(Some(&disk.device), Some(&disk.serial));
    let error = bench.build_with(&text, &listed).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("an ext2 file system"), "{error}");
    assert!(error.to_string().contains("--destroy"), "{error}");
    system("e2fsck", &["-fn", &disk.device]);
    let typed = Safety { typed: disk.serial.clone(), ..listed };
    bench.build_with(&text, &typed).unwrap();
    bench.undo();
}

#[test]
fn root_a_mounted_device_is_refused_despite_permissions() {
    if !needs::root_and(&["losetup", "mkfs.ext2"]) {
        return;
    }
    let disk = Disk::new(16 << 20);
    system("mkfs.ext2", &["-q", &disk.device]);
    let point = tempfile::tempdir().unwrap();
    let point = point.path().to_str().unwrap();
    system("mount", &[&disk.device, point]);
    let mut bench = Bench::new();
    let listed = expendable(Some(&disk.device), Some(&disk.serial));
    let safety = Safety { typed: format!("{},{}", disk.device, disk.serial), ..listed };
    let error = bench.build_with(&MKFS.replace("DEVICE", "@expendable"), &safety).unwrap_err();
    system("umount", &[point]);
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains(&format!("`umount {point}` first")), "{error}");
}

#[test]
fn root_a_mount_hides_nothing() {
    if !needs::root_and(&["losetup", "mkfs.ext2"]) {
        return;
    }
    let mut bench = Bench::new();
    std::fs::create_dir(bench.at("mnt")).unwrap();
    std::fs::write(bench.at("mnt/letter"), "").unwrap();
    let before = bench.standing();
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "16MiB"},
                   {"kind": "mkfs", "fs": "ext2", "device": "@d", "mount": "DIR/mnt"}]"#;
    let error = bench.build(text).unwrap_err();
    assert!(error.to_string().contains("`letter`"), "{error}");
    assert_eq!(bench.standing(), before);
}
