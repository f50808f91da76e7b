//! Sites for traps. A script creates each site when it is first needed, and another one removes it.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A site for traps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Site {
    /// ext4 on a loop device with direct I/O, over a written file.
    Ext4,
    Xfs,
    /// btrfs with zstd compression.
    Btrfs,
    /// btrfs without compression.
    PlainBtrfs,
    /// ext4 on a loop device through the page cache.
    Cached,
    /// ext4 on a loop device over a sparse file.
    Sparse,
    NoBarrier,
    /// An ext4 that no other trap uses, because its journal will be lost.
    Doomed,
    /// ext4 that journals data as well.
    DataJournal,
    /// On a loop device that begins at an odd sector.
    Misaligned,
    /// With inode tables that the kernel is still zeroing.
    Lazy,
    /// With hardly any free space.
    Full,
    /// On a file in memory.
    InMemory,
    Zram,
    Tmpfs,
    Overlay,
    /// A directory seen through FUSE.
    Fuse,
}

impl Site {
    /// Returns the script that creates `$W/at`. Loop devices are recorded in `$W/loop`.
    const fn make(self) -> &'static str {
        match self {
            Site::Ext4 => "image 1024; device --direct-io=on; ext4",
            Site::Xfs => "image 1024; device --direct-io=on; mkfs.xfs -q -f -K $L && mount_it",
            Site::Btrfs => {
                "image 512; device --direct-io=on; mkfs.btrfs -q -f -K $L && mount_it -o nodiscard,compress-force=zstd"
            }
            Site::PlainBtrfs => "image 512; device --direct-io=on; mkfs.btrfs -q -f -K $L && mount_it -o nodiscard",
            Site::Cached => "image 512; device; ext4",
            Site::Sparse => "truncate -s 1G image; device --direct-io=on; ext4",
            Site::NoBarrier => "image 256; device --direct-io=on; ext4 -o nobarrier",
            Site::Doomed => "image 256; device --direct-io=on; ext4",
            Site::DataJournal => "image 256; device --direct-io=on; ext4 -o data=journal",
            Site::Misaligned => "image 256; device --direct-io=on --offset 512 || device --offset 512; ext4",
            Site::Lazy => {
                "truncate -s 40G image; device --direct-io=on; mkfs.ext4 -q -F -N 4000000 -E lazy_itable_init=1 $L && \
                 mount_it -o init_itable=40"
            }
            Site::Full => {
                "image 512; device --direct-io=on; ext4; fallocate -l $(($(df -m --output=avail at | tail -1) - 50))M at/filler"
            }
            Site::InMemory => {
                "mkdir memory; mount -t tmpfs -o size=400M tmpfs memory; truncate -s 300M memory/image; \
                 ln -s memory/image image; device; ext4"
            }
            Site::Zram => "L=$(zramctl --find --size 256M); echo $L >zram; mkfs.ext4 -q -F $L && mount_it",
            Site::Tmpfs => "mkdir at; mount -t tmpfs -o size=400M tmpfs at",
            Site::Overlay => {
                "base; mkdir at base/lower base/upper base/work; mount -t overlay \
                 -o lowerdir=base/lower,upperdir=base/upper,workdir=base/work overlay at"
            }
            Site::Fuse => "base; mkdir at base/below; bindfs base/below at",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Site::Ext4 => "ext4",
            Site::Xfs => "xfs",
            Site::Btrfs => "btrfs-zstd",
            Site::PlainBtrfs => "btrfs",
            Site::Cached => "cached-loop",
            Site::Sparse => "sparse-loop",
            Site::NoBarrier => "nobarrier",
            Site::Doomed => "doomed",
            Site::DataJournal => "data-journal",
            Site::Misaligned => "misaligned",
            Site::Lazy => "lazy",
            Site::Full => "full",
            Site::InMemory => "memory-loop",
            Site::Zram => "zram",
            Site::Tmpfs => "tmpfs",
            Site::Overlay => "overlay",
            Site::Fuse => "fuse",
        }
    }
}

/// Functions of the scripts. Blocks of an image are written, and protected from the discards of mkfs, so that no first
/// write is measured.
const WORDS: &str = r#"set -e
image() { dd if=/dev/urandom of=image bs=1M count="$1" conv=fsync 2>/dev/null; }
device() { L=$(losetup --find --show "$@" image); echo "$L" >loop; }
mount_it() { mkdir -p at; mount "$@" "$L" at; }
base() { image 512; device --direct-io=on; mkfs.ext4 -q -F -E nodiscard "$L"; mkdir base; mount "$L" base; }
ext4() { mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$L" && mount_it "$@"; }
"#;

/// Removes a site, even if only a part of it was created.
const GIVE_BACK: &str = "mountpoint -q at && umount at
mountpoint -q base && umount base
[ -s loop ] && losetup -d \"$(cat loop)\"
[ -s zram ] && zramctl --reset \"$(cat zram)\"
mountpoint -q memory && umount memory
true";

/// The sites created so far.
pub(crate) struct Sites {
    work: PathBuf,
    made: BTreeMap<Site, Result<PathBuf, String>>,
}

impl Sites {
    /// Creates an empty set; sites will be below `work`.
    pub(crate) fn below(work: &Path) -> Result<Sites> {
        std::fs::create_dir_all(work).with_context(|| format!("making {}", work.display()))?;
        Ok(Sites { work: work.to_owned(), made: BTreeMap::new() })
    }

    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    /// Returns the directory of a site, created if necessary, or the reason why it cannot be created here.
    pub(crate) fn get(&mut self, site: Site) -> Result<PathBuf, String> {
        if !self.made.contains_key(&site) {
            let made = make(&self.work.join(site.name()), site);
            self.made.insert(site, made);
        }
        self.made[&site].clone()
    }
}

fn make(folder: &Path, site: Site) -> Result<PathBuf, String> {
    // A killed run may have left it.
    give_back(folder);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let script = format!("{WORDS}{}\nchmod 1777 at\n", site.make());
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder).output();
    match output {
        Ok(output) if output.status.success() => Ok(folder.join("at")),
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("cannot make {}: {}", site.name(), errors.lines().next().unwrap_or("the script failed")))
        }
        Err(error) => Err(format!("cannot start sh: {error}")),
    }
}

fn give_back(folder: &Path) {
    if !folder.exists() {
        return;
    }
    let _ = Command::new("sh").args(["-c", GIVE_BACK]).current_dir(folder).output();
    let _ = std::fs::remove_dir_all(folder);
}

impl Drop for Sites {
    fn drop(&mut self) {
        for site in self.made.keys() {
            give_back(&self.work.join(site.name()));
        }
    }
}
