//! Queries programs for their version.

use crate::command::Command;
use std::time::Duration;

/// Time limit of a query. A missing version is acceptable.
const LIMIT: Duration = Duration::from_secs(10);

/// Programs whose version affects their result, each with the option that prints it.
const VERSION_OPTIONS: &[(&str, &str)] = &[
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

/// Returns the command that prints a program's version; `None` if the version does not matter.
pub(crate) fn command(program: &str) -> Option<Command> {
    let (program, word) = VERSION_OPTIONS.iter().find(|(known, _)| *known == program)?;
    Some(Command::new(program, [*word]).with_timeout(LIMIT))
}

/// Returns the version from a program's two streams: the first line of the output, or else of the errors.
pub(crate) fn parse(output: &str, errors: &str) -> Option<String> {
    let mut lines = output.lines().chain(errors.lines()).map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: mke2fs and mdadm print their version on standard error.
    #[test]
    fn the_first_line_is_the_version() {
        assert_eq!(parse("", "mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS\n").unwrap(), "mke2fs 1.47.0 (5-Feb-2023)");
        let lvm = "  LVM version:     2.03.16(2) (2022-05-18)\n  Library version: 1.02.185\n";
        assert_eq!(parse(lvm, "File descriptor 10 leaked").unwrap(), "LVM version:     2.03.16(2) (2022-05-18)");
        assert_eq!(parse("\n", ""), None);
        assert_eq!(command("mkfs.xfs").unwrap().to_string(), "mkfs.xfs -V");
        assert!(command("sh").is_none());
    }
}
