//! Where `/proc`, `/sys` and `/etc` are looked for.

use crate::error::ProbeError;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Whether this system has `/proc` and `/sys`.
pub(crate) const HAS_PROC: bool = cfg!(target_os = "linux");

/// The tree that holds `/proc`, `/sys`, `/etc`, `/dev` and `/run`: the machine's own, or one of files that describes
/// another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysroot {
    root: PathBuf,
}

impl Sysroot {
    /// The running machine.
    pub fn real() -> Sysroot {
        Sysroot { root: PathBuf::from("/") }
    }

    /// A tree of files. System calls that would answer for the running machine are not made.
    pub fn at(root: impl Into<PathBuf>) -> Sysroot {
        let root = root.into();
        Sysroot { root: root.canonicalize().unwrap_or(root) }
    }

    /// Whether this is the running machine.
    pub fn is_real(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where the absolute path `path` lies.
    pub(crate) fn locate(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A text file as it is; the error names the file and the reason.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String, ProbeError> {
        self.read_until(path.as_ref(), |_| false)
    }

    /// A text file that the kernel hands out in one piece if it is asked for 4 KiB, as it does what it says of one process or
    /// one setting (`single_open` of fs/seq_file.c, fs/kernfs/file.c). The second call, which would return nothing, is saved:
    /// there are hundreds of such files around a run.
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

    /// The first line of a text file, trimmed; `None` where there is none or it is empty.
    pub(crate) fn line(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.read_until(path.as_ref(), |begun| begun.contains(&b'\n')).ok()?;
        let line = text.lines().next()?.trim().to_owned();
        (!line.is_empty()).then_some(line)
    }

    /// A file that holds one number.
    pub(crate) fn number<N: std::str::FromStr>(&self, path: impl AsRef<Path>) -> Option<N> {
        self.line(path)?.parse().ok()
    }

    /// Names in a directory, sorted; empty where there is none.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.locate(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether something is there.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.locate(path).exists()
    }

    /// The last name of what a symbolic link leads to, as the name of a driver; `None` where there is no link.
    pub(crate) fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = std::fs::read_link(self.locate(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// What a link of sysfs leads to, as an absolute path inside the tree; `None` where nothing is there. The link's directory is one
    /// without links above it, as `/sys/class/block`, and so is what the link says: one call tells, where [`Sysroot::resolve`]
    /// makes one for each name on the way.
    pub(crate) fn follow(&self, link: impl AsRef<Path>) -> Option<PathBuf> {
        let link = link.as_ref();
        match std::fs::read_link(self.locate(link)) {
            Ok(target) => Some(lexical(&link.parent()?.join(target))),
            // A tree of files may have the directory itself there.
            Err(_) => self.resolve(link),
        }
    }

    /// The path with every symbolic link followed, as an absolute path inside the tree; `None` where nothing is there.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = self.locate(path).canonicalize().ok()?;
        Some(Path::new("/").join(real.strip_prefix(&self.root).ok()?))
    }
}

/// Nearly always it is UTF-8, and need not be copied.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A file's content, or its beginning where that is enough. The kernel's own files say that they are 0 bytes long, so that
/// `std::fs::read` would ask for 32 bytes at a time.
fn read_file(path: &Path, is_enough: fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    // Not by `File`: some C libraries make a second call to have the file closed in other programs, as it is without.
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

/// An absolute path without `.` and `..`, without looking at the file system.
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

    // Protects: files longer than a piece are read to their end, and a line may be longer, too.
    #[test]
    fn what_is_longer_than_a_piece_is_whole() {
        let tree = Tree::new();
        let line = "x".repeat(5000);
        tree.file("/proc/long", &format!("{line}\n{line}"));
        let sys = tree.sys();
        assert_eq!(sys.read("/proc/long").unwrap(), format!("{line}\n{line}"));
        assert_eq!(sys.line("/proc/long").unwrap(), line);
        assert_eq!(sys.read_one_piece("/proc/long").unwrap().len(), 4096);
    }

    // Protects: a fake machine must not leak the real one's files, and links stay inside the tree.
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
