//! The progress lines of a build: commands after `$ `, as in a shell, and program versions after `# `. All other
//! lines are for people only.

use std::fmt;

/// A progress line that is worth keeping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildLine {
    /// A command that is run: `$ mkfs.ext4 -q -F /dev/loop0`.
    Command(String),
    /// A program that was run: `# mkfs.ext4: mke2fs 1.47.0 (5-Feb-2023)`.
    Version {
        program: String,
        /// Version as the program prints it.
        version: String,
    },
}

impl BuildLine {
    /// Parses a progress line; `None` if it is for people only.
    pub fn read(line: &str) -> Option<BuildLine> {
        if let Some(command) = line.strip_prefix("$ ") {
            return Some(BuildLine::Command(command.to_owned()));
        }
        let (program, version) = line.strip_prefix("# ")?.split_once(": ")?;
        Some(BuildLine::Version { program: program.to_owned(), version: version.to_owned() })
    }
}

impl fmt::Display for BuildLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildLine::Command(command) => write!(f, "$ {command}"),
            BuildLine::Version { program, version } => write!(f, "# {program}: {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the conductor of a study reads the same lines from this machine, over ssh and from a virtual machine.
    #[test]
    fn printed_lines_parse_back() {
        let lines = [
            BuildLine::Command("mdadm --create /dev/md0 --level 5".to_owned()),
            BuildLine::Version { program: "mdadm".to_owned(), version: "mdadm - v4.2: x".to_owned() },
        ];
        for line in lines {
            assert_eq!(BuildLine::read(&line.to_string()), Some(line));
        }
        assert_eq!(BuildLine::read("waiting for /dev/md0"), None);
        assert_eq!(BuildLine::read("# a remark"), None);
    }
}
