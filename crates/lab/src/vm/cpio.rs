//! Writes an archive in the format that the kernel unpacks into its first file system.
//! Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst (`newc`).

use std::io::{self, Write};

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

/// Writes an archive, entry by entry. A directory must come before its contents.
pub(super) struct Archive<W> {
    to: W,
    count: u32,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(to: W) -> Archive<W> {
        Archive { to, count: 0 }
    }

    /// Adds a directory. Names have no leading `/`; permissions as in chmod(2).
    pub(super) fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY | 0o755, (0, 0), b"")
    }

    pub(super) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.entry(name, REGULAR | permissions, (0, 0), content)
    }

    pub(super) fn link(&mut self, name: &str, target: &str) -> io::Result<()> {
        self.entry(name, LINK | 0o777, (0, 0), target.as_bytes())
    }

    pub(super) fn character_device(&mut self, name: &str, number: (u32, u32)) -> io::Result<()> {
        self.entry(name, CHARACTER | 0o600, number, b"")
    }

    /// Writes the trailer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, (0, 0), b"")?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) -> io::Result<()> {
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, format!("{name} has 4 GiB or more")))?;
        self.count += 1;
        // Fields: magic, inode, mode, uid, gid, links, time, size, device, device of a node,
        // length of the name, checksum.
        write!(self.to, "070701{:08x}{mode:08x}{:08x}{:08x}{:08x}{:08x}{size:08x}", self.count, 0, 0, 1, 0)?;
        write!(self.to, "{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}", 0, 0, device.0, device.1, name.len() + 1, 0)?;
        self.to.write_all(name.as_bytes())?;
        self.to.write_all(&[0])?;
        const HEADER_BYTES: usize = 110;
        self.pad(HEADER_BYTES + name.len() + 1)?;
        self.to.write_all(content)?;
        self.pad(content.len())
    }

    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.to.write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    // Protects the format, against an independent reader.
    #[test]
    fn cpio_reads_it() {
        let mut archive = Archive::new(Vec::new());
        archive.directory("etc").unwrap();
        archive.file("etc/a", 0o644, b"abc").unwrap();
        archive.file("etc/empty", 0o755, b"").unwrap();
        archive.link("lib", "usr/lib").unwrap();
        archive.character_device("console", (5, 1)).unwrap();
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let listed =
            Command::new("cpio").args(["-itv", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut cpio) = listed else {
            assert!(std::env::var_os("CI").is_none(), "needs cpio");
            eprintln!("SKIPPED: needs cpio");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (line, end) in lines.iter().zip([" etc", " etc/a", " etc/empty", " lib -> usr/lib", " console"]) {
            assert!(line.ends_with(end), "{line}");
        }
        assert!(lines.len() == 5 && lines[1].contains(" 3 ") && lines[2].starts_with("-rwxr-xr-x"), "{text}");
        assert!(lines[4].starts_with("crw-------") && lines[4].contains("5,   1"), "{text}");
    }
}
