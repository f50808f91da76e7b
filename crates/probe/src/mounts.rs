//! Mounted file systems. Source: proc_pid_mountinfo(5).

use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The kernel's ID of the mount.
    pub(crate) id: u64,
    /// Device number `M:m`; major 0 is anonymous (btrfs, overlay, tmpfs, nfs).
    pub(crate) number: String,
    /// Mounted directory of the file system: `/` except for bind mounts and subvolumes.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    /// Type of the file system.
    pub(crate) kind: String,
    /// Source as passed to mount(2).
    pub(crate) source: String,
    /// Options of the mount.
    pub(crate) mount_options: Vec<String>,
    /// Options of the file system.
    pub(crate) super_options: Vec<String>,
}

impl Mount {
    /// Returns the value of a file system option `name=value`.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.super_options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns all options once, sorted.
    pub(crate) fn options(&self) -> Vec<String> {
        let mut all: Vec<String> = self.mount_options.iter().chain(&self.super_options).cloned().collect();
        all.sort();
        all.dedup();
        all
    }
}

/// Parses `mountinfo`. Skips malformed lines.
pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// Returns the control group mounts, of both versions.
pub(crate) fn control_groups(text: &str) -> Vec<Mount> {
    text.lines().filter(|line| line.contains(" - cgroup")).filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let mut head = head.split(' ');
    let id = head.next()?.parse().ok()?;
    let _parent = head.next()?;
    let number = head.next()?.to_owned();
    let root = unescape(head.next()?).into();
    let point = unescape(head.next()?).into();
    let mount_options = split_options(head.next()?);
    let mut tail = tail.split(' ');
    let kind = unescape(tail.next()?);
    let source = unescape(tail.next()?);
    let super_options = split_options(tail.next().unwrap_or(""));
    Some(Mount { id, number, root, point, kind, source, mount_options, super_options })
}

/// Splits at commas before unescaping: a comma inside a value is written `\054`.
fn split_options(text: &str) -> Vec<String> {
    text.split(',').filter(|option| !option.is_empty()).map(unescape).collect()
}

/// Decodes escapes such as `\040`: a backslash and three octal digits are one byte.
pub(crate) fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 4).filter(|digits| digits.iter().all(|b| (b'0'..=b'7').contains(b)));
        match digits {
            Some(digits) if bytes[at] == b'\\' => {
                let value = digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                out.push(value as u8);
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the mount that contains a path: by the kernel's ID if known, else the longest mount point above it. Of two
/// at the same point, the later one covers the earlier.
pub(crate) fn find<'a>(mounts: &'a [Mount], path: &Path, id: Option<u64>) -> Option<&'a Mount> {
    if let Some(mount) = id.and_then(|id| mounts.iter().find(|mount| mount.id == id)) {
        return Some(mount);
    }
    mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
30 22 0:40 /@home /home rw,noatime shared:5 master:2 - btrfs /dev/mapper/my\\040vg rw,compress=zstd:3,subvol=/@home
31 22 8:17 / /mnt/with\\040space\\011tab rw - xfs /dev/sdb1 rw
32 22 0:50 / /var/merged rw - overlay overlay rw,lowerdir=/l\\0541:/l2,upperdir=/u\\054pper,workdir=/w
33 22 8:33 / /mnt/with\\040space\\011tab ro - ext3 /dev/sdc1 ro
34 22 0:51 / /odd\\134name rw - tmpfs none rw
not a line
";

    // Protects: mount points with spaces, any number of optional fields, commas inside options.
    #[test]
    fn escapes_and_optional_fields() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 6);
        assert_eq!(mounts[1].source, "/dev/mapper/my vg");
        assert_eq!(mounts[1].root, Path::new("/@home"));
        assert_eq!(mounts[1].option("compress"), Some("zstd:3"));
        assert_eq!(mounts[1].option("comp"), None);
        assert_eq!(mounts[2].point, Path::new("/mnt/with space\ttab"));
        assert_eq!(mounts[3].option("upperdir"), Some("/u,pper"));
        assert_eq!(mounts[3].option("lowerdir"), Some("/l,1:/l2"));
        assert_eq!(mounts[5].point, Path::new("/odd\\name"));
        assert_eq!(mounts[0].options(), ["errors=remount-ro", "relatime", "rw"]);
        assert_eq!(unescape("a\\04"), "a\\04");
    }

    // Protects: component-wise prefixes, over-mounts, and the ID's precedence.
    #[test]
    fn the_mount_above_a_path() {
        let mounts = parse(TEXT);
        let kind = |path: &str, id| find(&mounts, Path::new(path), id).unwrap().kind.clone();
        assert_eq!(kind("/home/me/file", None), "btrfs");
        assert_eq!(kind("/homes", None), "ext4");
        assert_eq!(kind("/mnt/with space\ttab/x", None), "ext3");
        assert_eq!(kind("/mnt/with space\ttab/x", Some(31)), "xfs");
        assert_eq!(kind("/home/x", Some(999)), "btrfs");
    }
}
