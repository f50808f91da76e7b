//! Kernel messages about storage trouble during a phase. Source: Documentation/ABI/testing/dev-kmsg.

use crate::error::{ProbeError, reason};
use crate::sysroot::HAS_PROC;
use plumb_result::Seen;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Maximum lines to report. More would add nothing.
const LINES_MAX: usize = 50;
/// Buffer size. The kernel's own limit for a record is 8 KiB.
const RECORD_BYTES: usize = 16 << 10;
/// Maximum records to read. The kernel's ring holds far fewer; this stops at a log that grows as fast as it is read.
const RECORDS_MAX: usize = 100_000;

/// A position in the kernel's log.
#[derive(Debug)]
pub struct KernelLog {
    log: Result<File, ProbeError>,
}

impl KernelLog {
    /// Marks the current end of the log.
    pub fn mark() -> KernelLog {
        KernelLog { log: open() }
    }

    /// Returns the lines since the mark about I/O errors, resets, timeouts or damaged file systems, oldest first.
    /// Returns at most fifty, and a last line with the number of further ones. Moves the mark to the end.
    pub fn since(&mut self) -> Seen<Vec<String>> {
        let log = match &mut self.log {
            Ok(log) => log,
            Err(error) => return Seen::no(error.to_string()),
        };
        match read(log) {
            Ok(found) => Seen::Yes(found.lines()),
            Err(error) => Seen::no(format!("cannot read /dev/kmsg: {}", reason(&error))),
        }
    }
}

fn open() -> Result<File, ProbeError> {
    if !HAS_PROC {
        return Err(ProbeError::NotHere);
    }
    let fail = |error: std::io::Error| match error.kind() {
        // Root is refused without CAP_SYSLOG (syslog(2)): advice to become root would not help.
        ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => ProbeError::Unseeable(
            "reading /dev/kmsg is closed to root, as in a container without CAP_SYSLOG; run on the host",
        ),
        ErrorKind::PermissionDenied => {
            ProbeError::Unseeable("reading /dev/kmsg is not permitted: run as root, or set kernel.dmesg_restrict=0")
        }
        _ => ProbeError::open("/dev/kmsg")(error),
    };
    let mut log = crate::read_only::open("/dev/kmsg", rustix::fs::OFlags::NONBLOCK)
        .map(File::from)
        .map_err(|error| fail(error.into()))?;
    log.seek(SeekFrom::End(0)).map_err(fail)?;
    Ok(log)
}

#[derive(Debug, Default, PartialEq)]
struct LogMessages {
    kept: Vec<String>,
    more: usize,
    overwritten: bool,
}

impl LogMessages {
    fn see(&mut self, record: &str) {
        let Some(message) = message(record).filter(|message| is_trouble(message)) else { return };
        if self.kept.len() < LINES_MAX { self.kept.push(message.to_owned()) } else { self.more += 1 }
    }

    fn lines(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("… and {} more", self.more));
        }
        if self.overwritten {
            self.kept.push("… the kernel overwrote older lines before they were read".to_owned());
        }
        self.kept
    }
}

/// Each read returns one record. After `EPIPE`, records were overwritten, and the next read continues after them.
fn read(log: &mut File) -> std::io::Result<LogMessages> {
    let mut found = LogMessages::default();
    let mut record = vec![0u8; RECORD_BYTES];
    for _ in 0..RECORDS_MAX {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => found.see(&String::from_utf8_lossy(&record[..length])),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => break,
                ErrorKind::BrokenPipe => found.overwritten = true,
                ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(found)
}

/// Extracts the message of a record `priority,sequence,µs,flags;message`, without the key-value lines that follow.
/// Skips messages from user space: their facility, the priority shifted by three, is not 0.
fn message(record: &str) -> Option<&str> {
    let (head, rest) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    (priority >> 3 == 0).then(|| rest.lines().next().unwrap_or("").trim())
}

/// Whether a message mentions both storage and trouble. Both are needed: network cards are reset too, and a mount
/// message may contain `errors` in its options.
fn is_trouble(message: &str) -> bool {
    const TROUBLE: [&str; 20] = [
        "error",
        "timeout",
        "timed out",
        "timing out",
        "reset",
        "abort",
        "fail",
        "corrupt",
        "offline",
        "not responding",
        "shutdown",
        "shutting down",
        "remounting filesystem read-only",
        "forced readonly",
        "write to read-only",
        "is down",
        "sense key",
        "exception",
        "no space left",
        "i/o stall",
    ];
    let lower = message.to_lowercase().replace("errors=", "");
    let hung = lower.contains("blocked for more than") && lower.contains("seconds");
    let storage = lower.contains("i/o") || lower.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(is_storage);
    hung || (storage && TROUBLE.iter().any(|word| lower.contains(word)))
}

/// Whether a word names a device, a driver or a file system.
fn is_storage(word: &str) -> bool {
    const WORDS: [&str; 34] = [
        "blk_update_request",
        "critical_medium_error",
        "block",
        "scsi",
        "sd",
        "ahci",
        "libata",
        "uas",
        "usb_storage",
        "nvme",
        "virtio_blk",
        "virtio_scsi",
        "mmcblk",
        "mpt3sas_cm0",
        "megaraid_sas",
        "hpsa",
        "smartpqi",
        "xen_blkfront",
        "vbd",
        "raid",
        "bcache",
        "dm",
        "mapper",
        "ext4",
        "ext3",
        "ext2",
        "jbd2",
        "xfs",
        "btrfs",
        "f2fs",
        "nfs",
        "cifs",
        "zfs",
        "overlayfs",
    ];
    let numbered = |prefix: &str| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.bytes().next().is_some_and(|b| b.is_ascii_digit()))
    };
    let lettered = |prefix: &str| {
        word.strip_prefix(prefix).is_some_and(|rest| {
            let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
            !letters.is_empty() && letters.len() <= 2 && letters.bytes().all(|b| b.is_ascii_lowercase())
        })
    };
    WORDS.contains(&word)
        || ["nvme", "ata", "md", "dm", "loop", "mmc", "mmcblk", "zram", "nbd", "rbd", "raid", "scsi"]
            .iter()
            .any(|prefix| numbered(prefix))
        || ["sd", "vd", "xvd", "hd"].iter().any(|prefix| lettered(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the messages that check B9 depends on.
    #[test]
    fn trouble_is_recognised() {
        for line in [
            "I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
            "blk_update_request: critical medium error, dev sdb, sector 2048",
            "Buffer I/O error on dev dm-3, logical block 0, lost async page write",
            "EXT4-fs error (device vda): ext4_lookup:1785: inode #2: comm ls: deleted inode referenced: 12",
            "EXT4-fs (sda1): Remounting filesystem read-only",
            "XFS (nvme0n1p1): metadata I/O error in \"xfs_trans_read_buf_map\" at daddr 0x1 len 1 error 5",
            "XFS (dm-0): Corruption of in-memory data (0x8) detected. Shutting down filesystem",
            "BTRFS error (device sdc): bdev /dev/sdc errs: wr 1, rd 0, flush 0, corrupt 0, gen 0",
            "nvme nvme0: I/O 12 QID 3 timeout, aborting",
            "nvme nvme1: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10",
            "ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen",
            "ata2: hard resetting link",
            "sd 0:0:0:0: [sda] tag#5 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE",
            "md/raid1:md0: Disk failure on sdb1, disabling device.",
            "INFO: task kworker/u8:1:123 blocked for more than 120 seconds.",
            "nfs: server filer not responding, still trying",
            "Trying to write to read-only block-device loop14",
        ] {
            assert!(is_trouble(line), "{line}");
        }
    }

    // Protects: a healthy machine's log does not make a run look broken.
    #[test]
    fn other_messages_are_skipped() {
        for line in [
            "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
            "XFS (vdb): Ending clean mount",
            "nvme nvme0: 8/0/0 default/read/poll queues",
            "e1000e 0000:00:1f.6 eth0: Reset adapter unexpectedly",
            "usb 1-2: reset full-speed USB device number 2 using xhci_hcd",
            "loop0: detected capacity change from 0 to 131072",
            "audit: error in audit_log_task_context",
            "block vda: the capability attribute has been deprecated.",
            "process (70): drop_caches: 3",
        ] {
            assert!(!is_trouble(line), "{line}");
        }
    }

    // Protects: the record format, and that user space messages cannot invalidate a run.
    #[test]
    fn records() {
        let record = "3,1234,5678,-;I/O error, dev sda, sector 0\n SUBSYSTEM=block\n DEVICE=b8:0\n";
        assert_eq!(message(record), Some("I/O error, dev sda, sector 0"));
        assert_eq!(message("12,1,2,-;I/O error, dev sda"), None);
        assert_eq!(message("no record"), None);
        let mut found = LogMessages::default();
        for _ in 0..LINES_MAX + 3 {
            found.see(record);
        }
        found.overwritten = true;
        let lines = found.lines();
        assert_eq!(lines.len(), LINES_MAX + 2);
        assert_eq!(lines[LINES_MAX], "… and 3 more");
    }

    // Protects: a read never blocks, and a closed log gives a reason.
    #[test]
    fn this_machine() {
        match KernelLog::mark().since() {
            Seen::Yes(lines) => assert!(lines.len() <= LINES_MAX + 2),
            Seen::No(reason) => assert!(reason.contains("kmsg") || reason.contains("platform"), "{reason}"),
        }
    }
}
