//! How programs are asked for their version.

use crate::command::Command;
use std::time::Duration;

/// An answer that takes longer is done without.
const LIMIT: Duration = Duration::from_secs(10);

/// Programs whose version decides on what they make, each with the words that ask for it.
const ASKED: &[(&str, &str)] = &[
    ("losetup", "--version"),
    ("lvm", "version"),
    ("mdadm", "--version"),
    ("mkfs.btrfs", "-V"),
    ("mkfs.ext2", "-V"),
    ("mkfs.ext3", "-V"),
    ("mkfs.ext4", "-V"),
    ("mkfs.f2fs", "-V"),
    ("mkfs.xfs", "-V"),
    ("sfdisk", "--version"),
    ("thin_check", "-V"),
    ("zpool", "version"),
];

/// What asks a program for its version; `None` where that has none that matters.
pub(crate) fn command(program: &str) -> Option<Command> {
    let (program, word) = ASKED.iter().find(|(known, _)| *known == program)?;
    Some(Command::new(program, [*word]).within(LIMIT))
}

/// The version in what a program said on its two streams: the first line, of the output or else of the errors.
pub(crate) fn of_words(output: &str, errors: &str) -> Option<String> {
    let mut lines = output.lines().chain(errors.lines()).map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: mke2fs and mdadm answer on standard error.
    #[test]
    fn the_first_line_says_it() {
        assert_eq!(of_words("", "mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS\n").unwrap(), "mke2fs 1.47.0 (5-Feb-2023)");
        let lvm = "  LVM version:     2.03.16(2) (2022-05-18)\n  Library version: 1.02.185\n";
        assert_eq!(of_words(lvm, "File descriptor 10 leaked").unwrap(), "LVM version:     2.03.16(2) (2022-05-18)");
        assert_eq!(of_words("\n", ""), None);
        assert_eq!(command("mkfs.xfs").unwrap().to_string(), "mkfs.xfs -V");
        assert!(command("sh").is_none());
    }
}
