//! Root of `/proc`, `/sys` and `/etc`.

use crate::error::ProbeError;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Whether this system has `/proc` and `/sys`.
pub(crate) const HAS_PROC: bool = cfg!(target_os = "linux");

/// The tree with `/proc`, `/sys`, `/etc`, `/dev` and `/run`: the machine's own, or
/// files that describe another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysroot {
    root: PathBuf,
}

impl Sysroot {
    /// Returns the tree of the running machine.
    pub fn real() -> Sysroot {
        Sysroot { root: PathBuf::from("/") }
    }

    /// Returns a tree of files. System calls about the running machine are not made then.
    pub fn at(root: impl Into<PathBuf>) -> Sysroot {
        let root = root.into();
        Sysroot { root: root.canonicalize().unwrap_or(root) }
    }

    /// Whether this is the running machine.
    pub fn is_real(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns the real path of an absolute path in the tree.
    pub(crate) fn locate(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads a text file; the error names the file and the reason.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String, ProbeError> {
        self.read_until(path.as_ref(), |_| false)
    }

    /// Reads a text file that the kernel returns in one piece of up to 4 KiB, such as files about one process or
    /// setting (`single_open` of fs/seq_file.c, fs/kernfs/file.c). Saves the second call, which would return nothing:
    /// a run reads hundreds of such files.
    pub(crate) fn read_one_piece(&self, path: impl AsRef<Path>) -> Result<String, ProbeError> {
        self.read_until(path.as_ref(), |_| true)
    }

    fn read_until(&self, path: &Path, is_enough: fn(&[u8]) -> bool) -> Result<String, ProbeError> {
        match read_file(&self.locate(path), is_enough) {
            Ok(bytes) => Ok(text_of(bytes)),
            Err(_) if self.is_real() && !HAS_PROC => Err(ProbeError::NotHere),
            Err(error) => Err(ProbeError::read(path)(error)),
        }
    }

    /// Returns the first line of a text file, trimmed; `None` if it is missing or empty.
    pub(crate) fn line(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.read_until(path.as_ref(), |begun| begun.contains(&b'\n')).ok()?;
        let line = text.lines().next()?.trim().to_owned();
        (!line.is_empty()).then_some(line)
    }

    /// Reads a file that contains one number.
    pub(crate) fn number<N: std::str::FromStr>(&self, path: impl AsRef<Path>) -> Option<N> {
        self.line(path)?.parse().ok()
    }

    /// Returns the names in a directory, sorted; empty if it does not exist.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.locate(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether the path exists.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.locate(path).exists()
    }

    /// Returns the last name of a symbolic link's target, such as a driver; `None` if there is no link.
    pub(crate) fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = std::fs::read_link(self.locate(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Returns the target of a sysfs link, as an absolute path inside the tree; `None` if it does not exist. Neither
    /// the link's directory, such as `/sys/class/block`, nor its target may contain further links. Needs one call,
    /// whereas [`Sysroot::resolve`] makes one for each component.
    pub(crate) fn follow(&self, link: impl AsRef<Path>) -> Option<PathBuf> {
        let link = link.as_ref();
        match std::fs::read_link(self.locate(link)) {
            Ok(target) => Some(lexical(&link.parent()?.join(target))),
            // A tree of files may have the directory itself there.
            Err(_) => self.resolve(link),
        }
    }

    /// Resolves every symbolic link of a path, as an absolute path inside the tree; `None` if it does not exist.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = self.locate(path).canonicalize().ok()?;
        Some(Path::new("/").join(real.strip_prefix(&self.root).ok()?))
    }
}

/// Nearly always valid UTF-8, which needs no copy.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns a file's content, or its beginning if that is enough. The kernel's own files report a length of 0, so
/// `std::fs::read` would read 32 bytes at a time.
fn read_file(path: &Path, is_enough: fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    // Not `File`: some C libraries make a second call for close-on-exec, which is set here already.
    let file = crate::read_only::open(path, OFlags::RDONLY)?;
    let mut piece = [0; 4096];
    let mut content = Vec::new();
    loop {
        match rustix::io::read(&file, &mut piece) {
            Ok(0) => return Ok(content),
            Ok(got) => content.extend_from_slice(&piece[..got]),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if is_enough(&content) {
            return Ok(content);
        }
    }
}

/// Normalizes `.` and `..` in an absolute path, without accessing the file system.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::Normal(name) => clean.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: files longer than a piece are read to their end, and so are long lines.
    #[test]
    fn long_files_are_read_completely() {
        let tree = Tree::new();
        let line = "x".repeat(5000);
        tree.file("/proc/long", &format!("{line}\n{line}"));
        let sys = tree.sys();
        assert_eq!(sys.read("/proc/long").unwrap(), format!("{line}\n{line}"));
        assert_eq!(sys.line("/proc/long").unwrap(), line);
        assert_eq!(sys.read_one_piece("/proc/long").unwrap().len(), 4096);
    }

    // Protects: a described machine does not expose the real one's files, and links stay inside the tree.
    #[test]
    fn paths_stay_inside_the_tree() {
        let tree = Tree::new();
        tree.file("/sys/devices/x/vda/size", "8\n").link("/sys/block/vda", "../devices/x/vda");
        let sys = tree.sys();
        assert!(!sys.is_real());
        assert_eq!(sys.resolve("/sys/block/vda").unwrap(), Path::new("/sys/devices/x/vda"));
        assert_eq!(sys.follow("/sys/block/vda").unwrap(), Path::new("/sys/devices/x/vda"));
        assert_eq!(sys.follow("/sys/devices/x/vda").unwrap(), Path::new("/sys/devices/x/vda"), "no link");
        assert_eq!(sys.follow("/sys/block/sda"), None);
        assert_eq!(sys.number::<u64>("/sys/block/vda/size"), Some(8));
        assert!(sys.read("/proc/version").unwrap_err().to_string().contains("/proc/version"));
        assert_eq!(lexical(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
