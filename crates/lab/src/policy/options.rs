//! Options of tools that reach nothing but the device that they are given.
//!
//! Sources: mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.f2fs(8), tune2fs(8), mount(8), ext4(5), xfs(5), btrfs(5), f2fs in the
//! kernel's Documentation/filesystems/f2fs.rst, tmpfs(5), overlayfs.rst. Left out are options that name files, directories
//! and other devices (`-d /etc`, `-J device=`, `-z`, `logdev=`), and those that can stop the host (`errors=panic`).

/// An option of a program.
struct Flag {
    /// As written: `-b`, `--data`.
    name: &'static str,
    value: FlagValue,
}

/// Text that may follow an option.
enum FlagValue {
    /// No text: the option stands alone.
    None,
    /// A word without a slash.
    Word,
    /// `key=value` or `key`, separated by commas, with these keys.
    Keys(&'static [&'static str]),
}

const fn bare(name: &'static str) -> Flag {
    Flag { name, value: FlagValue::None }
}

const fn word(name: &'static str) -> Flag {
    Flag { name, value: FlagValue::Word }
}

const fn keys(name: &'static str, keys: &'static [&'static str]) -> Flag {
    Flag { name, value: FlagValue::Keys(keys) }
}

const EXT_EXTENDED: &[&str] = &[
    "assume_storage_prezeroed",
    "desc_size",
    "discard",
    "hash_seed",
    "lazy_itable_init",
    "lazy_journal_init",
    "nodiscard",
    "num_backup_sb",
    "orphan_file_size",
    "packed_meta_blocks",
    "resize",
    "stride",
    "stripe-width",
    "stripe_width",
];

const EXT: &[Flag] = &[
    word("-b"),
    word("-C"),
    word("-g"),
    word("-G"),
    word("-i"),
    word("-I"),
    word("-L"),
    word("-m"),
    word("-N"),
    word("-O"),
    word("-T"),
    word("-U"),
    bare("-j"),
    bare("-q"),
    bare("-v"),
    keys("-E", EXT_EXTENDED),
    keys("-J", &["fast_commit_size", "location", "size"]),
];

const XFS: &[Flag] = &[
    keys("-b", &["size"]),
    keys("-s", &["size"]),
    keys("-d", &["agcount", "agsize", "cowextsize", "extszinherit", "noalign", "su", "sunit", "sw", "swidth"]),
    keys("-i", &["align", "attr", "exchange", "maxpct", "nrext64", "perblock", "projid32bit", "size", "sparse"]),
    keys("-l", &["agnum", "internal", "lazy-count", "size", "su", "sunit", "version"]),
    keys("-m", &["bigtime", "crc", "finobt", "inobtcount", "metadir", "reflink", "rmapbt", "uuid"]),
    keys("-n", &["ftype", "parent", "size", "version"]),
    word("-L"),
    bare("-f"),
    bare("-K"),
    bare("-q"),
];

const BTRFS: &[Flag] = &[
    word("-b"),
    word("--byte-count"),
    word("-d"),
    word("--data"),
    word("-m"),
    word("--metadata"),
    word("-n"),
    word("--nodesize"),
    word("-s"),
    word("--sectorsize"),
    word("-O"),
    word("--features"),
    word("-R"),
    word("--runtime-features"),
    word("--csum"),
    word("--checksum"),
    word("-L"),
    word("--label"),
    word("-U"),
    word("--uuid"),
    bare("-M"),
    bare("--mixed"),
    bare("-K"),
    bare("--nodiscard"),
    bare("-f"),
    bare("-q"),
];

const F2FS: &[Flag] = &[
    word("-a"),
    word("-i"),
    word("-l"),
    word("-o"),
    word("-O"),
    word("-s"),
    word("-t"),
    word("-w"),
    word("-z"),
    bare("-f"),
    bare("-m"),
    bare("-q"),
];

const TUNE: &[Flag] = &[
    word("-c"),
    word("-C"),
    word("-i"),
    word("-I"),
    word("-L"),
    word("-m"),
    word("-o"),
    word("-O"),
    word("-r"),
    word("-U"),
    bare("-f"),
    bare("-j"),
    keys("-E", &["force_fsck", "hash_alg", "orphan_file_size", "stride", "stripe-width", "stripe_width"]),
    keys("-J", &["fast_commit_size", "location", "size"]),
];

/// Types of file systems that may be mounted. Others may start a helper program (`mount.TYPE`).
pub(super) const MOUNTED: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

/// Options of mount(8) that concern nothing but the mounted file system.
const MOUNT: &[&str] = &[
    "active_logs",
    "alloc_mode",
    "allocsize",
    "async",
    "attr2",
    "auto_da_alloc",
    "autodefrag",
    "background_gc",
    "barrier",
    "commit",
    "compress",
    "compress-force",
    "data",
    "datacow",
    "datasum",
    "delalloc",
    "dioread_lock",
    "dioread_nolock",
    "dirsync",
    "discard",
    "extent_cache",
    "filestreams",
    "flushoncommit",
    "fsync_mode",
    "huge",
    "ikeep",
    "index",
    "init_itable",
    "inline_data",
    "inline_dentry",
    "inode32",
    "inode64",
    "inode_readahead_blks",
    "journal_async_commit",
    "journal_checksum",
    "journal_ioprio",
    "largeio",
    "lazytime",
    "logbsize",
    "logbufs",
    "max_batch_time",
    "max_inline",
    "mb_optimize_scan",
    "metacopy",
    "metadata_ratio",
    "min_batch_time",
    "mode",
    "noalign",
    "noatime",
    "noauto_da_alloc",
    "noautodefrag",
    "nobarrier",
    "nodatacow",
    "nodatasum",
    "nodelalloc",
    "nodev",
    "nodiratime",
    "nodiscard",
    "noexec",
    "noextent_cache",
    "noflushoncommit",
    "noikeep",
    "noinit_itable",
    "noinline_data",
    "noinline_dentry",
    "nolargeio",
    "nolazytime",
    "noquota",
    "nospace_cache",
    "nossd",
    "nosuid",
    "notreelog",
    "nouuid",
    "nr_blocks",
    "nr_inodes",
    "prjquota",
    "redirect_dir",
    "relatime",
    "ro",
    "rw",
    "space_cache",
    "ssd",
    "ssd_spread",
    "strictatime",
    "stripe",
    "sunit",
    "swalloc",
    "swidth",
    "sync",
    "thread_pool",
    "treelog",
    "volatile",
    "wsync",
    "xino",
];

/// Words of dm-flakey's features. Source: the kernel's `admin-guide/device-mapper/dm-flakey.rst`.
const FLAKEY: &[&str] = &[
    "corrupt_bio_byte",
    "drop_writes",
    "error_reads",
    "error_writes",
    "r",
    "random_read_corrupt",
    "random_write_corrupt",
    "w",
];

/// Returns the first of the options for making a file system that may reach more than its device.
pub(super) fn beyond_mkfs<'a>(fs: &str, options: &'a [String]) -> Option<&'a str> {
    match fs {
        "ext2" | "ext3" | "ext4" => beyond(EXT, options),
        "xfs" => beyond(XFS, options),
        "btrfs" => beyond(BTRFS, options),
        "f2fs" => beyond(F2FS, options),
        // The recipe knows no other file system.
        _ => options.first().map(String::as_str),
    }
}

/// Returns the first option of tune2fs that may reach more than its device.
pub(super) fn beyond_tune(options: &[String]) -> Option<&str> {
    beyond(TUNE, options)
}

/// Returns the first mount option that may reach more than the mounted file system.
pub(super) fn beyond_mount(options: &[String]) -> Option<&str> {
    options.iter().flat_map(|entry| entry.split(',')).find(|option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        !(MOUNT.contains(&name) && is_word(value) || ["errors=continue", "errors=remount-ro"].contains(option))
    })
}

/// Returns the first word of dm-flakey's features that may be part of another table.
pub(super) fn beyond_flakey(features: &[String]) -> Option<&str> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    features.iter().map(String::as_str).find(|feature| {
        feature.contains('\n') || !feature.split(' ').all(|word| FLAKEY.contains(&word) || is_number(word))
    })
}

/// Returns `true` for text that names neither a path nor a second option, or is empty.
pub(super) fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:^+-,=%".contains(&byte))
}

/// Returns the first word that is not one of these options with a plain value. Words that are neither, such as another
/// device, are not options.
fn beyond<'a>(known: &[Flag], options: &'a [String]) -> Option<&'a str> {
    let mut words = options.iter();
    while let Some(option) = words.next() {
        let Some((flag, attached)) = parts(known, option) else { return Some(option) };
        let is_sound = match (&flag.value, attached) {
            (FlagValue::None, attached) => attached.is_none(),
            (_, Some(value)) => is_plain(&flag.value, value),
            (_, None) => words.next().is_some_and(|value| is_plain(&flag.value, value)),
        };
        if !is_sound {
            return Some(option);
        }
    }
    None
}

/// Returns the option, and the value that is attached to it (`-b4096`, `--data=raid1`).
fn parts<'a>(known: &'a [Flag], option: &'a str) -> Option<(&'a Flag, Option<&'a str>)> {
    if let Some(flag) = known.iter().find(|flag| flag.name == option) {
        return Some((flag, None));
    }
    known.iter().find_map(|flag| {
        let attached = option.strip_prefix(flag.name)?;
        let attached = if flag.name.starts_with("--") { attached.strip_prefix('=')? } else { attached };
        Some((flag, Some(attached)))
    })
}

fn is_plain(kind: &FlagValue, value: &str) -> bool {
    match kind {
        FlagValue::None => false,
        FlagValue::Word => !value.is_empty() && !value.starts_with('-') && is_word(value),
        FlagValue::Keys(keys) => {
            is_word(value) && value.split(',').all(|part| keys.contains(&part.split('=').next().unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    // Protects other devices and files of an agent's host: options that read or write them need `--allow-exec`, in
    // whichever form they are written, and a word without an option would be another device to format.
    #[test]
    fn options_that_reach_further_are_found() {
        for (fs, text) in [
            ("ext4", "-d /etc"),
            ("ext4", "-d/etc"),
            ("ext4", "-J device=/dev/sdb"),
            ("ext4", "-J size=4,device=UUID=1"),
            ("ext4", "-z undo"),
            ("ext4", "-b"),
            ("ext4", "-b -d"),
            ("ext4", "/dev/sdb"),
            ("ext4", "-E stride=1,offset=/x"),
            ("ext4", "-e panic"),
            ("ext4", "-q/dev/sdb"),
            ("ext4", "--"),
            ("ext4", "sdb"),
            ("xfs", "-l logdev=/dev/sdb"),
            ("xfs", "-r rtdev=x"),
            ("xfs", "-d file,name=x"),
            ("xfs", "-p /etc/passwd"),
            ("xfs", "-c options=x"),
            ("btrfs", "--rootdir /etc"),
            ("btrfs", "--rootdir=/etc"),
            ("btrfs", "-r /etc"),
            ("btrfs", "--data=/x"),
            ("f2fs", "-c /dev/sdb"),
            ("other", "-q"),
        ] {
            assert!(beyond_mkfs(fs, &words(text)).is_some(), "{fs} {text}");
        }
        for text in ["-J device=/dev/sdb", "-z undo", "-e panic", "-E mount_opts=x", "/dev/sdb"] {
            assert!(beyond_tune(&words(text)).is_some(), "{text}");
        }
        for text in [
            "bind",
            "noatime,logdev=/dev/sdb",
            "device=/dev/sdb",
            "errors=panic",
            "loop",
            "X-mount.mkdir",
            "suid",
            "data=/x",
            "",
        ] {
            assert!(beyond_mount(&[text.to_owned()]).is_some(), "{text}");
        }
        for text in ["drop_writes\n0 8 linear /dev/sdb 0", "/dev/sdb", "corrupt_bio_byte 1 r 1 0x", "linear"] {
            assert!(beyond_flakey(&[text.to_owned()]).is_some(), "{text}");
        }
    }

    #[test]
    fn options_of_usual_studies_pass() {
        for (fs, text) in [
            ("ext4", "-E lazy_itable_init=0,lazy_journal_init=0 -b 4096 -O ^has_journal,metadata_csum -m0 -i 16384"),
            ("ext2", ""),
            ("xfs", "-d su=256k,sw=4 -l size=64m -m crc=1,reflink=0 -K"),
            ("btrfs", "-m single --data=raid1 --csum xxhash -n 16k"),
            ("f2fs", "-s 2 -O extra_attr,compression"),
        ] {
            assert_eq!(beyond_mkfs(fs, &words(text)), None, "{fs} {text}");
        }
        assert_eq!(beyond_tune(&words("-O ^has_journal -o journal_data_writeback")), None);
        let mount = ["noatime,data=journal", "barrier=0", "errors=remount-ro", "compress=zstd:3"].map(str::to_owned);
        assert_eq!(beyond_mount(&mount), None);
        assert_eq!(beyond_flakey(&["drop_writes".to_owned(), "corrupt_bio_byte 32 r 1 0".to_owned()]), None);
    }
}
