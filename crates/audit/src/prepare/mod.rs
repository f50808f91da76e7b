//! Settings that setup commands leave on file systems, mounts, arrays, devices and the kernel, under names
//! that can be compared between sides.

mod mkfs;

use crate::command::{parts, words};
use std::collections::BTreeMap;

/// Part of a system that a setting belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PreparedPart {
    /// Options of `mkfs`, `zpool` and `zfs`.
    Mkfs,
    /// Options of `mount`, and ZFS properties with the same meaning.
    Mount,
    /// Options of `mdadm --create`, such as the chunk.
    Array,
    /// Kernel settings: `sysctl`, `/sys`, `/proc`.
    Kernel,
    /// State of a device: `hdparm`, `blockdev`, `blkdiscard`, preconditioning.
    Device,
    /// Another command, whose effect is unknown.
    Command,
}

impl PreparedPart {
    /// Returns the words in `compares` that declare a difference in any of the settings.
    pub(crate) const fn subjects(self) -> &'static [&'static str] {
        match self {
            PreparedPart::Mkfs => &["mkfs", "format", "tuning"],
            PreparedPart::Mount => &["mount", "tuning"],
            PreparedPart::Array => &["array"],
            PreparedPart::Kernel => &["kernel settings", "sysctl", "tuning"],
            PreparedPart::Device => &["device settings", "tuning"],
            PreparedPart::Command => &["setup", "preparation", "tuning"],
        }
    }
}

/// A setting that a command leaves. Default options of `mkfs` and `mount` are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreparedSetting {
    pub(crate) part: PreparedPart,
    pub(crate) value: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prepared {
    /// Settings by their plain names.
    pub(crate) settings: BTreeMap<String, PreparedSetting>,
    /// Whether an array was created. Settings of arrays are compared only if every side has one.
    pub(crate) has_array: bool,
    /// Kind of the file system that was made.
    pub(crate) file_system: Option<String>,
}

/// Programs without a lasting effect on a test.
const HARMLESS: [&str; 38] = [
    "mkdir",
    "cd",
    "umount",
    "wipefs",
    "sync",
    "sleep",
    "rm",
    "chown",
    "chmod",
    "apt",
    "apt-get",
    "dnf",
    "yum",
    "pkg",
    "zypper",
    "pacman",
    "pip",
    "parted",
    "sgdisk",
    "fdisk",
    "sfdisk",
    "gdisk",
    "partprobe",
    "lsblk",
    "udevadm",
    "echo",
    "printf",
    "cat",
    "ls",
    "df",
    "uname",
    "tee",
    "export",
    "git",
    "make",
    "cmake",
    "tar",
    "wget",
];

impl Prepared {
    /// Collects the settings that commands leave, in order: a later one replaces an earlier one.
    pub(crate) fn from_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Prepared {
        let mut prepared = Prepared::default();
        for line in lines {
            for part in parts(line) {
                prepared.obey(part, line);
            }
        }
        prepared
    }

    fn set(&mut self, part: PreparedPart, name: impl Into<String>, value: impl Into<String>) {
        self.settings.insert(name.into(), PreparedSetting { part, value: value.into() });
    }

    fn obey(&mut self, part: &str, line: &str) {
        if let Some((value, file)) = written_to_kernel(part, line) {
            self.set(PreparedPart::Kernel, file, value);
            return;
        }
        let words = crate::command::without_launcher(part);
        let Some((program, arguments)) = words.split_first() else { return };
        let program = program.rsplit('/').next().unwrap_or(program).to_lowercase();
        match program.as_str() {
            "mdadm" => self.array(arguments),
            "mount" => self.mount(arguments),
            "sysctl" => {
                for word in arguments.iter().filter(|word| !word.starts_with('-')) {
                    if let Some((key, value)) = word.split_once('=') {
                        self.set(PreparedPart::Kernel, key.trim(), value.trim());
                    }
                }
            }
            name if mkfs::makes_file_system(name) => self.file_system(name, arguments),
            name if HARMLESS.contains(&name) => {}
            _ => self.device(&program, arguments),
        }
    }

    fn file_system(&mut self, program: &str, arguments: &[String]) {
        let made = mkfs::read(program, arguments);
        if let Some(file_system) = made.file_system {
            self.file_system = Some(file_system);
        }
        for (name, value) in made.settings {
            // ZFS has `atime` as a property; other file systems have it as a mount option.
            let part = if name == "atime" { PreparedPart::Mount } else { PreparedPart::Mkfs };
            self.set(part, name, value);
        }
    }

    fn array(&mut self, arguments: &[String]) {
        if !arguments.iter().any(|word| word == "--create" || word == "-C") {
            return;
        }
        self.has_array = true;
        let names = [
            ("--level", "-l", "level of the array"),
            ("--chunk", "-c", "chunk size"),
            ("--raid-devices", "-n", "number of disks"),
            ("--layout", "-p", "layout of the array"),
            ("--bitmap", "-b", "write-intent bitmap"),
            ("--consistency-policy", "-k", "consistency policy"),
        ];
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (key, stated) = word.split_once('=').map_or((word.as_str(), None), |(key, value)| (key, Some(value)));
            if let Some((.., name)) = names.iter().find(|(long, short, _)| key == *long || key == *short) {
                let value = stated.map(str::to_owned).or_else(|| words.next().cloned());
                self.set(PreparedPart::Array, *name, value.unwrap_or_default());
            } else if key == "--assume-clean" {
                self.set(PreparedPart::Array, "assume-clean", "yes");
            }
        }
    }

    fn mount(&mut self, arguments: &[String]) {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let options = match word.as_str() {
                "-o" | "--options" => words.next().map(String::as_str),
                "-t" | "--types" => {
                    let _ = words.next();
                    None
                }
                word => word.strip_prefix("--options=").or_else(|| word.strip_prefix("-o")),
            };
            for option in options.unwrap_or_default().split(',') {
                let (name, value) = option.trim().split_once('=').unwrap_or((option.trim(), "set"));
                if !name.is_empty() && !MOUNT_DEFAULTS.contains(&option.trim()) && !MOUNT_PLACES.contains(&name) {
                    // `noatime` on one side and ZFS's `atime=off` on the other are the same choice.
                    let (name, value) = if name == "noatime" { ("atime", "off") } else { (name, value) };
                    self.set(PreparedPart::Mount, name, value);
                }
            }
        }
    }

    /// Records the arguments of another program, except devices and paths, as one setting.
    fn device(&mut self, program: &str, arguments: &[String]) {
        let kept: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !is_place(word)).collect();
        if program == "modprobe" && kept.len() < 2 {
            return;
        }
        let part = match program {
            "hdparm" | "blockdev" | "sdparm" | "nvme" | "blkdiscard" | "fstrim" | "shred" | "badblocks" | "dd"
            | "fio" => PreparedPart::Device,
            "cpupower" | "tuned-adm" | "modprobe" => PreparedPart::Kernel,
            "tune2fs" | "xfs_admin" | "btrfs" => PreparedPart::Mkfs,
            _ => PreparedPart::Command,
        };
        let value = if kept.is_empty() { "run".to_owned() } else { kept.join(" ") };
        self.set(part, program, value);
    }
}

/// Mount options that are defaults on Linux.
const MOUNT_DEFAULTS: [&str; 22] = [
    "defaults",
    "rw",
    "relatime",
    "auto",
    "exec",
    "suid",
    "dev",
    "async",
    "nouser",
    "seclabel",
    "data=ordered",
    "barrier",
    "barrier=1",
    "errors=remount-ro",
    "user_xattr",
    "acl",
    "inode64",
    "attr2",
    "noquota",
    "logbufs=8",
    "logbsize=32k",
    "space_cache=v2",
];
/// Options that select what is mounted and where, not how.
const MOUNT_PLACES: [&str; 6] = ["subvol", "subvolid", "loop", "uid", "gid", "remount"];

/// Returns `true` for a device or a path; each side has its own.
fn is_place(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    value.starts_with('/') || value.starts_with("./")
}

/// Returns a value written to `/sys` or `/proc`, and the file without the device's name. Dropping caches has no lasting
/// effect, so it does not count.
fn written_to_kernel(part: &str, line: &str) -> Option<(String, String)> {
    let mut echoed = part.trim();
    let mut file = part.split_once('>').map(|(before, after)| {
        echoed = before;
        after.trim_start_matches('>').trim()
    });
    if file.is_none() && words(part).iter().any(|word| word == "tee") {
        // `echo none | tee FILE`: the value comes before the pipe.
        let (before, after) = line.split_once('|')?;
        echoed = before;
        file = after.split_whitespace().find(|word| word.starts_with('/'));
    }
    let file = file.filter(|file| file.starts_with("/sys/") || file.starts_with("/proc/"))?;
    let value = words(echoed).into_iter().rfind(|word| word != "echo" && !word.starts_with('-'))?;
    let name = match file.strip_prefix("/sys/block/").and_then(|rest| rest.split_once('/')) {
        Some((_, setting)) => setting.to_owned(),
        None => file.trim_start_matches("/proc/sys/").replace('/', "."),
    };
    (!name.ends_with("drop_caches")).then_some((value, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settings(lines: &[&str]) -> Vec<String> {
        let prepared = Prepared::from_lines(lines.iter().copied());
        prepared.settings.iter().map(|(name, setting)| format!("{name}={}", setting.value)).collect()
    }

    // Protects: options that matter become settings; device names and defaults do not.
    #[test]
    fn preparations_become_settings() {
        assert_eq!(settings(&["mkfs.ext4 -F -q -L data /dev/sdb1", "mkdir -p /mnt/t"]), [] as [&str; 0]);
        assert_eq!(settings(&["mkfs.xfs -f -b size=4096 /dev/sdb1"]), [] as [&str; 0], "the default");
        assert_eq!(
            settings(&["mkfs.xfs -f -d su=256k,sw=4 -l size=1g /dev/sdb1"]),
            ["journal size=1 GiB", "stripe unit=256 KiB", "stripe width=4"]
        );
        assert_eq!(
            settings(&["mkfs -t ext4 -b 4096 -E stride=64,stripe-width=256 -J size=1024 /dev/md0"]),
            ["journal size=1 GiB", "stripe unit=256 KiB", "stripe width=4"],
            "the same geometry, spelled for ext4"
        );
        assert_eq!(
            settings(&["mkfs.ext4 -O ^has_journal,bigalloc /dev/sdb"]),
            ["feature bigalloc=on", "feature has_journal=off"]
        );
        assert_eq!(
            settings(&["mount -t ext4 -o rw,noatime,data=writeback /dev/sdb1 /mnt"]),
            ["atime=off", "data=writeback"]
        );
        assert_eq!(settings(&["mount -o defaults,data=ordered /dev/sdb1 /mnt"]), [] as [&str; 0]);
        assert_eq!(
            settings(&["zfs set compression=lz4 tank", "zfs set atime=off tank"]),
            ["atime=off", "compression=lz4"]
        );
        assert_eq!(
            settings(&["mdadm --create /dev/md0 --level=4 --chunk=256 -n 3 /dev/sdb /dev/sdc /dev/sdd"]),
            ["chunk size=256", "level of the array=4", "number of disks=3"]
        );
    }

    #[test]
    fn kernel_and_device_settings_are_read() {
        assert_eq!(settings(&["sysctl -w vm.dirty_ratio=5"]), ["vm.dirty_ratio=5"]);
        assert_eq!(settings(&["echo none > /sys/block/sdb/queue/scheduler"]), ["queue/scheduler=none"]);
        assert_eq!(settings(&["echo none | sudo tee /sys/block/nvme0n1/queue/scheduler"]), ["queue/scheduler=none"]);
        assert_eq!(settings(&["echo 5 > /proc/sys/vm/dirty_ratio"]), ["vm.dirty_ratio=5"]);
        assert_eq!(settings(&["sync; echo 3 > /proc/sys/vm/drop_caches"]), [] as [&str; 0]);
        assert_eq!(settings(&["hdparm -W0 /dev/sdb"]), ["hdparm=-W0"]);
        assert_eq!(settings(&["blkdiscard /dev/nvme0n1"]), ["blkdiscard=run"]);
        assert_eq!(settings(&["modprobe xfs", "apt-get install xfsprogs"]), [] as [&str; 0]);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC{0,60}", words in "(mkfs(\\.(ext4|xfs|btrfs))?|mount|mdadm|echo|tee|sysctl|zfs|-[a-zA-Z]|--create|[a-z_]{1,8}=|[0-9]{1,20}[kmg]?|/sys/block/|/proc/sys/| |,|;|>|\\||é){0,20}") {
            let _ = (Prepared::from_lines([text.as_str()]), Prepared::from_lines([words.as_str()]));
        }
    }
}
