//! Stacks of the machine that runs the tests.

use super::*;
use crate::counters::{SampleSet, sample};
use plumb_result::observe::LayerKind;
use std::process::Command;

/// Prints why a test cannot run, and fails under CI.
fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    eprintln!("SKIPPED: {reason}");
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A file system on a loop device on a file, mounted; undone on drop.
struct Mounted {
    device: String,
    mount_point: PathBuf,
    is_mounted: bool,
    _directory: tempfile::TempDir,
}

impl Mounted {
    fn new(mkfs: &str, parent: &Path, megabytes: u64) -> Result<Mounted, String> {
        let directory = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
        let image = directory.path().join("image with space");
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(megabytes << 20).map_err(|error| error.to_string())?;
        let image = image.to_str().ok_or("a path that is text")?;
        let mount_point = directory.path().join("mount point");
        std::fs::create_dir(&mount_point).map_err(|error| error.to_string())?;
        let device = run("losetup", &["-f", "--show", image])?;
        let mut mounted = Mounted { device, mount_point, is_mounted: false, _directory: directory };
        run(mkfs, &[if mkfs == "mkfs.ext4" { "-q" } else { "-f" }, &mounted.device])?;
        let point = mounted.mount_point.to_str().ok_or("a path that is text")?;
        run("mount", &[&mounted.device, point])?;
        mounted.is_mounted = true;
        Ok(mounted)
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = Command::new("umount").arg(&self.mount_point).status();
        }
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

/// Checks the stack, the features that every mkfs gives, and counters that advance when a
/// file is written and flushed.
fn real_filesystem(kind: &str, mkfs: &str, megabytes: u64, features: &[&str]) {
    if !rustix::process::geteuid().is_root() {
        return skip("a loop device needs root");
    }
    let mounted = match Mounted::new(mkfs, &std::env::temp_dir(), megabytes) {
        Ok(mounted) => mounted,
        Err(reason) => return skip(&reason),
    };
    let path = mounted.mount_point.join("still to be made");
    let facts = of_path(&path);
    let fs = facts.filesystem.value().expect("a file system");
    assert_eq!((fs.kind.as_str(), fs.source.as_str()), (kind, mounted.device.as_str()));
    assert_eq!(Path::new(&fs.mount_point), mounted.mount_point);
    let uuid = run("blkid", &["-p", "-s", "UUID", "-o", "value", &mounted.device]);
    if let Ok(uuid) = uuid {
        assert_eq!(fs.uuid, Seen::Yes(uuid));
    }
    assert!(fs.size_bytes > 0 && fs.free_bytes <= fs.size_bytes);
    for feature in features {
        let (name, word) = feature.split_once('=').expect("name=word");
        let value = fs.features.get(name).unwrap_or_else(|| panic!("{name} in {:?}", fs.features));
        assert!(value.split(',').any(|part| part == word), "{feature}: {value}");
    }
    let top = &facts.stack[0];
    assert_eq!((top.name.as_str(), top.kind), (mounted.name(), LayerKind::Loop));
    assert_eq!(top.size_bytes, megabytes << 20);
    assert!(top.backing_file.as_deref().is_some_and(|file| file.ends_with("image with space")));
    assert!(!facts.leaves.is_empty());

    let set = SampleSet::for_targets([&facts]);
    let before = sample(&set);
    let file = std::fs::File::create(&path).expect("a file");
    std::io::Write::write_all(&mut &file, &vec![0x5A; 4 << 20]).expect("written");
    file.sync_all().expect("flushed");
    let after = sample(&set);
    let moved =
        |counters: &plumb_result::observe::Counters| counters.devices[mounted.name()].value().unwrap().write_bytes;
    assert!(moved(&after) - moved(&before) >= 4 << 20);
}

// Protects: the superblock, /proc/fs/ext4 and the kernel's UUID, compared with mkfs and blkid.
#[test]
fn ext4_on_a_loop_device() {
    real_filesystem(
        "ext4",
        "mkfs.ext4",
        64,
        &["features=extent", "journal=yes", "journal_mode=ordered", "mount_count=1"],
    );
}

// Protects: the layout of the geometry that the kernel fills.
#[test]
fn xfs_on_a_loop_device() {
    real_filesystem(
        "xfs",
        "mkfs.xfs",
        320,
        &["features=crc", "features=reflink", "block_size=4096", "journal=internal"],
    );
}

// Protects: the source of an anonymous number, profiles and features in sysfs.
#[test]
fn btrfs_on_a_loop_device() {
    real_filesystem("btrfs", "mkfs.btrfs", 160, &["metadata_profile=dup", "node_size=16384", "devices=1"]);
}

// Protects: a loop device on memory is its own leaf.
#[test]
fn a_loop_device_on_memory() {
    if !rustix::process::geteuid().is_root() {
        return skip("a loop device needs root");
    }
    match Mounted::new("mkfs.ext4", Path::new("/dev/shm"), 16) {
        Ok(mounted) => {
            let facts = of_path(&mounted.mount_point);
            assert_eq!(facts.leaves, [mounted.name()]);
            assert_eq!(facts.stack[0].settings["medium"], "memory");
        }
        Err(reason) => skip(&reason),
    }
}

// Protects: a loop device with a deleted backing file keeps its underlying device.
#[test]
fn a_loop_device_on_a_deleted_file() {
    if !rustix::process::geteuid().is_root() {
        return skip("a loop device needs root");
    }
    for (parent, medium) in [(Path::new("/dev/shm").to_owned(), Some("memory")), (std::env::temp_dir(), None)] {
        let mounted = match Mounted::new("mkfs.ext4", &parent, 16) {
            Ok(mounted) => mounted,
            Err(reason) => return skip(&reason),
        };
        let image = of_path(&mounted.mount_point).stack[0].backing_file.clone().expect("a backing file");
        let named = of_path(&mounted.mount_point);
        std::fs::remove_file(&image).expect("removed");
        let nameless = of_path(&mounted.mount_point);
        assert_eq!(nameless.leaves, named.leaves, "{}", parent.display());
        assert_eq!(nameless.stack[0].settings.get("medium").map(String::as_str), medium, "{:?}", nameless.unseen);
    }
}

// Protects: an overlay's upper directory is found in the real mount table.
#[test]
fn an_overlay_on_a_loop_device() {
    if !rustix::process::geteuid().is_root() {
        return skip("a mount needs root");
    }
    let mounted = match Mounted::new("mkfs.ext4", Path::new("/dev/shm"), 16) {
        Ok(mounted) => mounted,
        Err(reason) => return skip(&reason),
    };
    let place = |name: &str| {
        let directory = mounted.mount_point.join(name);
        std::fs::create_dir(&directory).expect("a directory");
        directory
    };
    let (lower, upper, work, merged) = (place("lower"), place("up,per"), place("work"), place("merged"));
    let escaped = upper.display().to_string().replace(',', "\\,");
    let options = format!("lowerdir={},upperdir={escaped},workdir={}", lower.display(), work.display());
    let merged = merged.to_str().expect("text");
    if let Err(reason) = run("mount", &["-t", "overlay", "overlay", "-o", &options, merged]) {
        return skip(&reason);
    }
    let facts = of_path(&Path::new(merged).join("file"));
    let unmounted = run("umount", &[merged]);
    let fs = facts.filesystem.value().expect("a file system");
    assert_eq!((fs.kind.as_str(), facts.leaves.as_slice()), ("overlay", &[mounted.name().to_owned()][..]));
    assert!(fs.features["stands_on"].starts_with("ext4 at "));
    unmounted.expect("unmounted");
}

// Protects: memory is distinguished from storage.
#[test]
fn a_directory_in_memory() {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        return skip("/dev/shm does not exist");
    }
    let directory = tempfile::tempdir_in(shm).expect("a directory");
    let facts = of_path(&directory.path().join("file"));
    let fs = facts.filesystem.value().expect("a file system");
    assert_eq!((fs.kind.as_str(), fs.in_memory, fs.remote), ("tmpfs", true, false));
    assert!(facts.stack.is_empty() && facts.leaves.is_empty());
    assert!(fs.size_bytes > 0);
}

// Protects: devices without storage.
#[test]
fn a_character_device() {
    let facts = of_path(Path::new("/dev/null"));
    assert!(facts.filesystem.as_result().unwrap_err().contains("character device"));
    assert!(facts.stack.is_empty());
}
