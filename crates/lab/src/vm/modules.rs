//! Selects the modules of a kernel that are needed, in load order. Dependencies are read from the modules themselves,
//! since a package that was only unpacked has no `modules.dep`.

use super::elf::module_facts;
use super::error::VmError;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Modules that every machine needs for its disks and its port to the host.
pub(super) const NEEDED: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];

/// Modules for the systems built in a machine. A module that the kernel lacks is skipped, and
/// reported when it is needed.
pub(super) const WANTED: &[&str] = &[
    // Checksums and ciphers that file systems request by these names. The kernel has no `modprobe` here to find them.
    "crc32c_generic",
    "crc32c_intel",
    "crc32_pclmul",
    "xxhash_generic",
    "blake2b_generic",
    "sha256_generic",
    "lzo",
    "lzo_rle",
    "lz4",
    "zstd",
    "loop",
    "zram",
    "md_mod",
    "linear",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
    "dm_mod",
    "dm_delay",
    "dm_flakey",
    "dm_log_writes",
    "dm_raid",
    "dm_snapshot",
    "dm_thin_pool",
    "ext4",
    "xfs",
    "btrfs",
    "f2fs",
    "overlay",
    "fuse",
    "bfq",
    "kyber_iosched",
    "mq_deadline",
];

/// A module, ready to be loaded.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// The modules of one kernel.
#[derive(Debug)]
pub(super) struct ModuleTree {
    dir: PathBuf,
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
}

impl ModuleTree {
    /// Reads a directory such as `/lib/modules/6.1.0-1-amd64`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or has no modules.
    pub(super) fn read(dir: &Path) -> Result<ModuleTree, VmError> {
        let mut files = BTreeMap::new();
        collect(dir, &mut files).map_err(|source| VmError::Read { path: dir.to_owned(), source })?;
        if files.is_empty() {
            return Err(VmError::NoModules { dir: dir.to_owned() });
        }
        let builtin = std::fs::read_to_string(dir.join("modules.builtin")).unwrap_or_default();
        let builtin = BTreeSet::from_iter(builtin.lines().filter_map(|line| module_name(Path::new(line))));
        Ok(ModuleTree { dir: dir.to_owned(), files, builtin })
    }

    /// Whether the kernel has a module, loadable or built in.
    pub(super) fn has(&self, name: &str) -> bool {
        let name = canonical(name);
        self.builtin.contains(&name) || self.files.contains_key(&name)
    }

    /// Whether the kernel has a module built in.
    pub(super) fn is_built_in(&self, name: &str) -> bool {
        self.builtin.contains(&canonical(name))
    }

    /// Returns the key of everything cached from these modules. It changes with the kernel.
    pub(super) fn identity(&self) -> Vec<u8> {
        let mut identity = Vec::new();
        for name in NEEDED.iter().chain(WANTED) {
            let content = self.files.get(*name).and_then(|path| std::fs::read(path).ok());
            identity.extend_from_slice(blake3::hash(&content.unwrap_or_default()).as_bytes());
        }
        identity
    }

    /// Returns the needed and wanted modules and their dependencies, each after its own dependencies.
    ///
    /// # Errors
    /// Returns an error if a needed module is missing or cannot be read.
    pub(super) fn in_order(&self) -> Result<Vec<Module>, VmError> {
        let mut order = LoadOrder { tree: self, done: BTreeSet::new(), modules: Vec::new() };
        for name in NEEDED {
            if !order.add(name)? {
                return Err(VmError::NoModule { dir: self.dir.clone(), name: name.to_owned() });
            }
        }
        for name in WANTED {
            order.add(name)?;
        }
        Ok(order.modules)
    }
}

struct LoadOrder<'a> {
    tree: &'a ModuleTree,
    done: BTreeSet<String>,
    modules: Vec<Module>,
}

impl LoadOrder<'_> {
    /// Adds a module. Returns `true` if the kernel has it, loadable or built in.
    fn add(&mut self, name: &str) -> Result<bool, VmError> {
        let name = canonical(name);
        if self.tree.builtin.contains(&name) || !self.done.insert(name.clone()) {
            return Ok(true);
        }
        let Some(path) = self.tree.files.get(&name) else { return Ok(false) };
        let bytes = unpacked(path)?;
        let facts = module_facts(&bytes).ok_or_else(|| VmError::NotModule { path: path.clone() })?;
        let values = |key: &'static str| facts.iter().filter(move |(name, _)| name == key).map(|(_, value)| value);
        for needed in values("depends").flat_map(|value| value.split(',')).filter(|name| !name.is_empty()) {
            if !self.add(needed)? {
                return Err(VmError::NeedsModule { path: path.clone(), name: needed.to_owned() });
            }
        }
        // Run-time dependencies: a checksum or cipher by its name, which may have several implementations.
        for line in values("softdep") {
            let before = line.split("pre:").nth(1).map_or("", |rest| rest.split("post:").next().unwrap_or_default());
            for name in before.split_whitespace() {
                if !self.add(name)? {
                    self.add(&format!("{name}_generic"))?;
                }
            }
        }
        self.modules.push(Module { name, bytes });
        Ok(true)
    }
}

/// Normalizes a module's name: the kernel treats `-` and `_` alike.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns the module's name: `dm_mod` for `…/dm-mod.ko.xz`.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (name, packed) = name.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&packed).then(|| canonical(name))
}

fn collect(dir: &Path, files: &mut BTreeMap<String, PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // `build` and `source` are links to other trees.
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else if let Some(name) = module_name(&entry.path()) {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// Returns a module's decompressed content. Not every kernel decompresses modules, and emulation makes it slow.
fn unpacked(path: &Path) -> Result<Vec<u8>, VmError> {
    let unreadable = |source| VmError::Read { path: path.to_owned(), source };
    let packed = std::fs::read(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => lzma_rust2::XzReader::new(&packed[..], true).read_to_end(&mut bytes).map_err(unreadable)?,
        Some("gz") => flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).map_err(unreadable)?,
        Some("zst") => {
            let mut reader = ruzstd::decoding::StreamingDecoder::new(&packed[..])
                .map_err(|error| VmError::Packed { path: path.to_owned(), reason: error.to_string() })?;
            reader.read_to_end(&mut bytes).map_err(unreadable)?
        }
        _ => return Ok(packed),
    };
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let name = |path: &str| module_name(Path::new(path));
        assert_eq!(name("kernel/drivers/md/dm-mod.ko").as_deref(), Some("dm_mod"));
        assert_eq!(name("kernel/fs/ext4/ext4.ko.xz").as_deref(), Some("ext4"));
        assert_eq!(name("modules.dep"), None);
        assert_eq!(name("a.ko.orig"), None);
    }

    // Protects: a tree without the modules that every machine needs is reported and not booted.
    #[test]
    fn a_tree_without_the_port_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let message = ModuleTree::read(dir.path()).unwrap_err().to_string();
        assert!(message.contains("has no kernel modules"), "{message}");
        std::fs::write(dir.path().join("loop.ko"), b"").unwrap();
        std::fs::write(dir.path().join("modules.builtin"), "kernel/drivers/virtio/virtio_pci.ko\n").unwrap();
        let message = ModuleTree::read(dir.path()).unwrap().in_order().unwrap_err().to_string();
        assert!(message.contains("virtio_blk"), "{message}");
    }
}
