//! The first file system of a machine: Plumb itself, the tools that build systems under
//! test, and the kernel's modules.

use super::cpio::Archive;
use super::elf;
use super::error::VmError;
use super::kernel::Kernel;
use super::modules::ModuleTree;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Path of the list of modules, in load order.
pub(crate) const MODULES_FILE: &str = "/plumb/modules";

/// Part of each image's name: changing the layout makes new images.
const LAYOUT: &str = "plumb initramfs 2";

/// Programs that steps use, and those that `cmd` steps may expect. A machine lacks programs that the host lacks; a
/// step that needs one reports it.
pub(super) const PROGRAMS: &[&str] = &[
    "mdadm",
    "mdmon",
    "mkfs.ext2",
    "mkfs.ext3",
    "mkfs.ext4",
    "mke2fs",
    "tune2fs",
    "dumpe2fs",
    "debugfs",
    "e2fsck",
    "fsck.ext4",
    "resize2fs",
    "mkfs.xfs",
    "xfs_io",
    "xfs_repair",
    "mkfs.btrfs",
    "btrfs",
    "btrfstune",
    "mkfs.f2fs",
    "fsck.f2fs",
    "bindfs",
    "fusermount3",
    "thin_check",
    "lvm",
    "pvcreate",
    "pvremove",
    "vgcreate",
    "vgremove",
    "vgchange",
    "lvcreate",
    "lvremove",
    "lvs",
    "pvs",
    "vgs",
    "dmsetup",
    "losetup",
    "mount",
    "umount",
    "mkswap",
    "swapon",
    "swapoff",
    "blkid",
    "wipefs",
    "blockdev",
    "sfdisk",
    "partx",
    "lsblk",
    "fstrim",
    "zramctl",
    "ip",
    "hdparm",
    "sysctl",
    "ps",
    "sh",
    "dash",
    "cat",
    "chmod",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "find",
    "grep",
    "head",
    "kill",
    "ln",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "od",
    "printf",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "sleep",
    "sort",
    "stat",
    "sync",
    "tail",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "uname",
    "wc",
    "xargs",
    "setpriv",
];

/// Settings files of the host that change its tools' behavior.
const SETTINGS: [&str; 3] = ["/etc/mke2fs.conf", "/etc/ld.so.cache", "/etc/nsswitch.conf"];

/// Contents of the image, by path.
#[derive(Debug)]
enum ImageEntry {
    Directory,
    File { permissions: u32, content: Vec<u8> },
    Link(String),
    Console,
}

/// An image in memory.
#[derive(Debug, Default)]
struct Image {
    entries: BTreeMap<String, ImageEntry>,
    /// Library directories, in the dynamic loader's order.
    libraries: Vec<PathBuf>,
}

/// Origin of the tools that build the system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tools {
    /// This machine's tools, which go into the image.
    OfTheHost,
    /// The tools of the root that the machine switches to.
    OfTheRoot,
}

/// Returns the image for a kernel: the cached one if nothing has changed, else a new one.
///
/// # Errors
/// Returns an error if Plumb or a needed module cannot be read, or the image cannot be written.
pub(super) fn provide(kernel: &Kernel, program: &Path, tools: Tools, cache: &Path) -> Result<PathBuf, VmError> {
    let mut image = Image::with_programs(program, tools)?;
    let tree = ModuleTree::read(&kernel.modules)?;
    let name = image.name(&kernel.release, &tree.identity());
    let path = cache.join(name);
    if path.is_file() {
        return Ok(path);
    }
    let mut list = String::new();
    for module in tree.in_order()? {
        let place = format!("/plumb/modules.d/{}.ko", module.name);
        list.push_str(&place);
        list.push('\n');
        image.file(&place, 0o644, module.bytes);
    }
    image.file(MODULES_FILE, 0o644, list.into_bytes());
    let written = || -> io::Result<()> {
        std::fs::create_dir_all(cache)?;
        forget_old(cache, IMAGE_END, KEPT_IMAGES);
        // Rename atomically: other processes may create the same image.
        let file = tempfile::NamedTempFile::new_in(cache)?;
        image.write(file.as_file())?;
        file.persist(&path)?;
        Ok(())
    };
    match written() {
        Ok(()) => Ok(path),
        Err(source) => Err(VmError::Write { path, source }),
    }
}

/// Number of images kept: one for each kernel in use, and those of a recent change or two of Plumb.
const KEPT_IMAGES: usize = 7;

/// Removes the least recently used images whose name ends with `end`.
pub(super) fn forget_old(cache: &Path, end: &str, kept: usize) {
    let entries = std::fs::read_dir(cache).into_iter().flatten().flatten();
    let mut images: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(end))
        .filter_map(|entry| Some((entry.metadata().ok()?.accessed().ok()?, entry.path())))
        .collect();
    images.sort();
    let surplus = images.len().saturating_sub(kept);
    for (_, path) in &images[..surplus] {
        let _ = std::fs::remove_file(path);
    }
}

const IMAGE_END: &str = ".cpio";

/// Name of the last file of an image. A kernel that runs out of memory while it unpacks one goes on without the rest.
pub(crate) const LAST_FILE: &str = "/~last";

impl Image {
    fn with_programs(program: &Path, tools: Tools) -> Result<Image, VmError> {
        let mut image = Image { libraries: library_directories(), ..Image::default() };
        for directory in
            ["dev", "proc", "sys", "run", "tmp", "mnt", "root", "etc", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"]
        {
            image.directory(&format!("/{directory}"));
        }
        for name in ["bin", "sbin", "lib", "lib64"] {
            image.entries.insert(format!("/{name}"), ImageEntry::Link(format!("usr/{name}")));
        }
        image.entries.insert("/dev/console".into(), ImageEntry::Console);
        image.link("/etc/mtab", "/proc/self/mounts");
        image.file("/etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\n".to_vec());
        image.file("/etc/group", 0o644, b"root:x:0:\n".to_vec());
        image.file(LAST_FILE, 0o644, Vec::new());
        image.file("/etc/os-release", 0o644, OS_RELEASE.as_bytes().to_vec());
        let bytes = std::fs::read(program).map_err(|source| VmError::Read { path: program.to_owned(), source })?;
        image.needed_by(program, &bytes);
        image.file("/init", 0o755, elf::loaded_part(&bytes));
        image.link("/usr/bin/plumb", "/init");
        if tools == Tools::OfTheRoot {
            return Ok(image);
        }
        for name in PROGRAMS {
            if let Some(path) = in_path(name) {
                image.host_file(&path);
            }
        }
        for path in SETTINGS {
            image.host_file(Path::new(path));
        }
        Ok(image)
    }

    /// Returns a name that changes with the content.
    fn name(&self, release: &str, modules: &[u8]) -> String {
        let mut hash = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(LAYOUT.as_bytes());
        add(modules);
        for (path, entry) in &self.entries {
            add(path.as_bytes());
            match entry {
                ImageEntry::Directory => add(b"directory"),
                ImageEntry::File { permissions, content } => {
                    add(&permissions.to_le_bytes());
                    add(content);
                }
                ImageEntry::Link(target) => add(target.as_bytes()),
                ImageEntry::Console => add(b"console"),
            }
        }
        format!("{release}-{}{IMAGE_END}", &hash.finalize().to_hex()[..16])
    }

    fn directory(&mut self, path: &str) {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        for count in 1..=parts.len() {
            self.entries.entry(format!("/{}", parts[..count].join("/"))).or_insert(ImageEntry::Directory);
        }
    }

    fn put(&mut self, path: &str, entry: ImageEntry) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    fn file(&mut self, path: &str, permissions: u32, content: Vec<u8>) {
        self.put(path, ImageEntry::File { permissions, content });
    }

    fn link(&mut self, path: &str, target: &str) {
        self.put(path, ImageEntry::Link(target.to_owned()));
    }

    /// Adds a file of the host at the same path, with its requirements. Does nothing if the file does not exist.
    fn host_file(&mut self, path: &Path) {
        let place = merged(path);
        if self.entries.contains_key(&place) {
            return;
        }
        let Ok(real) = path.canonicalize() else { return };
        let real_place = merged(&real);
        if real_place != place {
            self.link(&place, &real_place);
            if self.entries.contains_key(&real_place) {
                return;
            }
        }
        let Ok(bytes) = std::fs::read(&real) else { return };
        let permissions = real.metadata().map_or(0o755, |facts| facts.permissions().mode() & 0o777);
        self.needed_by(&real, &bytes);
        self.file(&real_place, permissions, elf::loaded_part(&bytes));
    }

    fn needed_by(&mut self, path: &Path, bytes: &[u8]) {
        let Some(needs) = elf::needs(bytes) else { return };
        if let Some(loader) = &needs.loader {
            self.host_file(Path::new(loader));
        }
        let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let own: Vec<PathBuf> = needs
            .search
            .iter()
            .map(|dir| PathBuf::from(dir.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin)))
            .collect();
        for name in &needs.libraries {
            let found = own.iter().chain(&self.libraries).map(|dir| dir.join(name)).find(|path| path.is_file());
            if let Some(found) = found {
                self.host_file(&found);
            }
        }
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let mut archive = Archive::new(BufWriter::with_capacity(1 << 20, file));
        for (path, entry) in &self.entries {
            let name = path.trim_start_matches('/');
            match entry {
                ImageEntry::Directory => archive.directory(name)?,
                ImageEntry::File { permissions, content } => archive.file(name, *permissions, content)?,
                ImageEntry::Link(target) => archive.link(name, target)?,
                // Character device 5:1, the kernel's Documentation/admin-guide/devices.txt.
                ImageEntry::Console => archive.character_device(name, (5, 1))?,
            }
        }
        archive.finish()?.flush()
    }
}

const OS_RELEASE: &str = "ID=plumb-vm\nNAME=\"Plumb's virtual machine\"\nPRETTY_NAME=\"Plumb's virtual machine\"\n";

/// Maps a host's path into the image, where `/bin`, `/sbin`, `/lib` and `/lib64` are links into `/usr`.
fn merged(path: &Path) -> String {
    let parts: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let in_usr = parts.first().is_some_and(|first| ["bin", "sbin", "lib", "lib64"].contains(&first.as_str()));
    format!("{}/{}", if in_usr { "/usr" } else { "" }, parts.join("/"))
}

/// Returns the path of a host program. Searches root's directories too, which a user's path may lack.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&own).chain(["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from));
    all.map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Returns the directories of ld.so.conf(5), then those built into the loader.
fn library_directories() -> Vec<PathBuf> {
    let mut directories = Vec::new();
    read_conf(Path::new("/etc/ld.so.conf"), &mut directories, 0);
    let arch = std::env::consts::ARCH;
    for base in ["/lib", "/usr/lib"] {
        directories.push(format!("{base}/{arch}-linux-gnu").into());
        directories.push(format!("{base}64").into());
        directories.push(base.into());
    }
    directories
}

fn read_conf(path: &Path, directories: &mut Vec<PathBuf>, depth: u32) {
    let Ok(text) = plumb_text::bounded::read_to_string(path) else { return };
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(pattern) = line.strip_prefix("include ") {
            // The only form in use is `include /etc/ld.so.conf.d/*.conf`.
            let pattern = Path::new(pattern.trim());
            if depth == 0
                && let Some(dir) = pattern.parent()
            {
                let mut files: Vec<PathBuf> =
                    std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
                files.sort();
                for file in files.iter().filter(|file| file.extension() == pattern.extension()) {
                    read_conf(file, directories, depth + 1);
                }
            }
        } else if !line.is_empty() {
            directories.push(line.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a tool comes with its loader and libraries, at paths where the loader finds them.
    #[test]
    fn a_tool_brings_its_loader_and_libraries() {
        let image = Image::with_programs(&std::env::current_exe().unwrap(), Tools::OfTheHost).unwrap();
        for (path, entry) in &image.entries {
            if let ImageEntry::Link(target) = entry
                && target.starts_with('/')
                && !target.starts_with("/proc")
            {
                assert!(image.entries.contains_key(target), "{path} is a link to {target}, which is missing");
            }
        }
        assert_eq!(image.entries.keys().next_back().unwrap(), LAST_FILE, "it shows that all others are there");
        let ends = |end: &str| image.entries.keys().any(|path| path.ends_with(end));
        assert!(ends("/init") && ends("/sh") && ends("/libc.so.6"), "{:?}", image.entries.keys().collect::<Vec<_>>());
        let name = image.name("6.1", b"modules");
        assert_eq!(
            name,
            Image::with_programs(&std::env::current_exe().unwrap(), Tools::OfTheHost).unwrap().name("6.1", b"modules")
        );
        assert_ne!(name, image.name("6.1", b"others"));
    }

    #[test]
    fn places_in_the_image() {
        assert_eq!(merged(Path::new("/lib/x/libc.so")), "/usr/lib/x/libc.so");
        assert_eq!(merged(Path::new("/usr/bin/sh")), "/usr/bin/sh");
        assert_eq!(merged(Path::new("/opt/lib/a")), "/opt/lib/a");
    }
}
