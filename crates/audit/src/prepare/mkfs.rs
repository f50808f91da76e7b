//! Options of programs that make file systems, under common names. Values that equal the default are left out.
//! Sources: mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), zpool-create(8), zfsprops(7).

use plumb_trust::text::bytes_exact;

/// A file system that a command makes, with its settings.
#[derive(Debug, Default)]
pub(super) struct MadeFileSystem {
    pub(super) file_system: Option<String>,
    pub(super) settings: Vec<(String, String)>,
}

/// Default block size of all file systems here.
const BLOCK_BYTES: u64 = 4096;
/// Unit of XFS's `sunit`, bytes.
const SECTOR_BYTES: u64 = 512;

pub(super) fn makes_file_system(program: &str) -> bool {
    program.starts_with("mkfs") || matches!(program, "mke2fs" | "newfs" | "zpool" | "zfs" | "mkfs")
}

pub(super) fn read(program: &str, arguments: &[String]) -> MadeFileSystem {
    let mut made = MadeFileSystem { file_system: kind(program, arguments), settings: Vec::new() };
    let file_system = made.file_system.clone().unwrap_or_default();
    if matches!(program, "zpool" | "zfs") {
        made.zfs(arguments);
        return made;
    }
    let mut block = BLOCK_BYTES;
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-').filter(|option| !option.starts_with('-')) else { continue };
        let Some(letter) = option.chars().next() else { continue };
        let attached = &option[letter.len_utf8()..];
        if letter == 't' {
            let _ = words.next();
        } else if is_flag(&file_system, letter) {
            if letter == 'K' {
                made.set("discard", "no");
            }
        } else {
            let value = if attached.is_empty() { words.next().cloned() } else { Some(attached.to_owned()) };
            made.option(&file_system, letter, &value.unwrap_or_default(), &mut block);
        }
    }
    made
}

/// Returns `ext4` for `mkfs.ext4` and for `mkfs -t ext4`.
fn kind(program: &str, arguments: &[String]) -> Option<String> {
    let typed = || {
        let at = arguments.iter().position(|word| word == "-t" || word == "--type")?;
        arguments.get(at + 1).cloned()
    };
    match program {
        "mke2fs" => Some(typed().unwrap_or_else(|| "ext2".to_owned())),
        "newfs" => Some("ufs".to_owned()),
        "zpool" | "zfs" => Some("zfs".to_owned()),
        "mkfs" => typed(),
        program => program.strip_prefix("mkfs.").map(str::to_owned),
    }
}

/// Returns `true` for options without a value.
fn is_flag(file_system: &str, letter: char) -> bool {
    let flags = match file_system {
        name if name.starts_with("ext") => "FqvcnSVKDj",
        "xfs" => "fqNKV",
        "btrfs" => "fqvKMV",
        _ => "fqvFV",
    };
    flags.contains(letter)
}

impl MadeFileSystem {
    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.settings.push((name.to_owned(), value.into()));
    }

    fn option(&mut self, file_system: &str, letter: char, value: &str, block: &mut u64) {
        // Labels and UUIDs do not affect performance.
        if matches!(letter, 'L' | 'U') {
            return;
        }
        match file_system {
            name if name.starts_with("ext") => self.ext(letter, value, block),
            "xfs" => self.xfs(letter, value),
            "btrfs" => self.btrfs(letter, value),
            _ => self.set(&format!("mkfs -{letter}"), value),
        }
    }

    fn ext(&mut self, letter: char, value: &str, block: &mut u64) {
        match letter {
            'b' => {
                *block = size(value).unwrap_or(BLOCK_BYTES);
                self.block(*block);
            }
            'E' => self.extended(value, *block),
            'J' => {
                for (key, value) in pairs(value) {
                    match key {
                        "size" => {
                            let mib = value.parse::<u64>().unwrap_or(0);
                            self.set("journal size", bytes_exact(mib.saturating_mul(1 << 20)));
                        }
                        _ => self.set(&format!("journal {key}"), value),
                    }
                }
            }
            'O' => {
                for feature in value.split(',').filter(|feature| !feature.is_empty()) {
                    let (name, state) = feature.strip_prefix('^').map_or((feature, "on"), |name| (name, "off"));
                    self.set(&format!("feature {name}"), state);
                }
            }
            // Reserved blocks, and the directory of the last mount.
            'm' | 'M' | 'o' | 'd' | 'e' => {}
            'I' if value == "256" => {}
            letter => self.set(&format!("mkfs -{letter}"), value),
        }
    }

    /// Reads `-E`; its geometry is in blocks.
    fn extended(&mut self, value: &str, block: u64) {
        let find = |name: &str| pairs(value).find(|(key, _)| key.replace('_', "-") == name).map(|(_, value)| value);
        let stride = find("stride").and_then(|stride| stride.parse::<u64>().ok()).filter(|stride| *stride > 0);
        let width = find("stripe-width").and_then(|width| width.parse::<u64>().ok());
        if let Some(stride) = stride {
            self.set("stripe unit", bytes_exact(stride.saturating_mul(block)));
        }
        if let Some(width) = width {
            self.set("stripe width", (width / stride.unwrap_or(1)).to_string());
        }
        for (key, value) in pairs(value) {
            match key.replace('_', "-").as_str() {
                "stride" | "stripe-width" | "discard" => {}
                "nodiscard" => self.set("discard", "no"),
                // Only ext initialises its tables later.
                "lazy-itable-init" | "lazy-journal-init" => self.set("lazy initialisation", value),
                key => self.set(&format!("mkfs {key}"), value),
            }
        }
    }

    fn xfs(&mut self, letter: char, value: &str) {
        for (key, value) in pairs(value) {
            match (letter, key) {
                ('b', "size") => self.block(size(value).unwrap_or(BLOCK_BYTES)),
                ('d', "su") => self.set("stripe unit", shown(value)),
                ('d', "sw") => self.set("stripe width", value),
                ('d', "sunit") => {
                    let sectors = value.parse::<u64>().unwrap_or(0);
                    self.set("stripe unit", bytes_exact(sectors.saturating_mul(SECTOR_BYTES)));
                }
                ('l', "size") => self.set("journal size", shown(value)),
                ('l', "logdev") => self.set("journal device", "its own"),
                ('i', "size") if value == "512" => {}
                ('m', "crc" | "reflink" | "finobt" | "rmapbt" | "bigtime") if value == "1" => {}
                ('s', _) | ('l', "internal") => {}
                (letter, key) => self.set(&format!("mkfs -{letter} {key}"), value),
            }
        }
    }

    fn btrfs(&mut self, letter: char, value: &str) {
        match (letter, value) {
            ('d', "single") | ('s', "4096" | "4k" | "4K") | ('n', "16384" | "16k" | "16K") => {}
            ('d', _) => self.set("profile of data", value),
            ('m', _) => self.set("profile of metadata", value),
            ('n', _) => self.set("size of nodes", shown(value)),
            (letter, _) => self.set(&format!("mkfs -{letter}"), value),
        }
    }

    /// Reads properties of pools and datasets.
    fn zfs(&mut self, arguments: &[String]) {
        for (key, value) in arguments.iter().filter_map(|word| word.split_once('=')) {
            match key {
                "ashift" | "mountpoint" | "canmount" | "xattr" | "acltype" => {}
                "compression" | "dedup" if value == "off" => {}
                "sync" if value == "standard" => {}
                "recordsize" | "volblocksize" if size(value) == Some(128 << 10) => {}
                "recordsize" | "volblocksize" => self.set("record size", shown(value)),
                _ => self.set(key, value),
            }
        }
    }

    fn block(&mut self, bytes: u64) {
        if bytes != BLOCK_BYTES {
            self.set("block size of the file system", bytes_exact(bytes));
        }
    }
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap_or((part, "set")))
}

fn size(text: &str) -> Option<u64> {
    text.parse::<plumb_workload::Bytes>().ok().map(|bytes| bytes.0)
}

/// Formats a size in one form: `1g` and `1024m` are equal.
fn shown(text: &str) -> String {
    size(text).map_or_else(|| text.to_owned(), bytes_exact)
}
