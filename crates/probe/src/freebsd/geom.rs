//! Finds the providers under a device node in the text of `kern.geom.conftxt`. It is a tree with disks at its root,
//! one provider per line: level, class, name, size and sector size. A provider on several disks appears below each
//! of them. Source: FreeBSD's sys/geom/geom_dump.c.

use plumb_result::observe::{BlockLayer, LayerKind};
use std::collections::BTreeMap;

/// The providers below a provider.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GeomStack {
    /// The provider first, disks last.
    pub(super) layers: Vec<BlockLayer>,
    /// Names of the disks at the root of the tree.
    pub(super) disks: Vec<String>,
}

/// A line of the text.
#[derive(Debug, Clone, Copy)]
struct Provider<'a> {
    level: usize,
    class: &'a str,
    name: &'a str,
    size_bytes: u64,
    sector_bytes: u64,
}

impl<'a> Provider<'a> {
    /// Skips other lines, which some classes add.
    fn read(line: &'a str) -> Option<Provider<'a>> {
        let mut words = line.split_whitespace();
        Some(Provider {
            level: words.next()?.parse().ok()?,
            class: words.next()?,
            name: words.next()?,
            size_bytes: words.next()?.parse().ok()?,
            sector_bytes: words.next()?.parse().ok()?,
        })
    }

    fn layer(&self, below: Vec<String>) -> BlockLayer {
        BlockLayer {
            name: self.name.to_owned(),
            kind: match self.class {
                "DISK" => LayerKind::Disk,
                "PART" => LayerKind::Partition,
                "ELI" => LayerKind::Crypt,
                // A memory disk or a file as a disk.
                "MD" => LayerKind::Loop,
                _ => LayerKind::Stacked,
            },
            size_bytes: self.size_bytes,
            below,
            logical_block_bytes: Some(self.sector_bytes),
            settings: BTreeMap::from([("geom".to_owned(), self.class.to_owned())]),
            ..BlockLayer::default()
        }
    }
}

/// Returns the stack under a provider such as `ada0p2`; empty if the text does not contain it.
pub(super) fn below(text: &str, name: &str) -> GeomStack {
    let providers: Vec<Provider<'_>> = text.lines().filter_map(Provider::read).collect();
    let mut stack = GeomStack::default();
    for start in (0..providers.len()).filter(|&at| providers[at].name == name) {
        let mut at = start;
        loop {
            let next = nearer_to_disk(&providers[..at], providers[at].level);
            add(&mut stack, providers[at], next.map(|next| providers[next].name));
            let Some(next) = next else { break };
            at = next;
        }
    }
    stack
}

/// Returns the last of these lines that is one level nearer to the disks.
fn nearer_to_disk(before: &[Provider<'_>], level: usize) -> Option<usize> {
    let wanted = level.checked_sub(1)?;
    before.iter().rposition(|one| one.level == wanted)
}

fn add(stack: &mut GeomStack, provider: Provider<'_>, below: Option<&str>) {
    let below = below.map(str::to_owned);
    match stack.layers.iter_mut().find(|layer| layer.name == provider.name) {
        Some(known) => {
            if let Some(below) = below.filter(|name| !known.below.contains(name)) {
                known.below.push(below);
            }
        }
        None => stack.layers.push(provider.layer(below.into_iter().collect())),
    }
    if provider.level == 0 && !stack.disks.iter().any(|disk| disk == provider.name) {
        stack.disks.push(provider.name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIRROR: &str = "\
0 DISK ada0 1500301910016 512 hd 16 sc 63
1 PART ada0p1 65536 512 i 1 o 20480 ty freebsd-boot
1 PART ada0p2 1500000000000 512 i 2 o 86016 ty freebsd-ufs
2 MIRROR mirror/gm0 1499999999488 512
3 LABEL ufs/data 1499999999488 512 i 0 o 0
0 DISK ada1 1500301910016 512 hd 16 sc 63
1 MIRROR mirror/gm0 1499999999488 512
2 LABEL ufs/data 1499999999488 512 i 0 o 0
0 MD md0 1048576 512 u 0 s 512 f 0 fs 0 l 1048576 t malloc
";

    fn names(stack: &GeomStack) -> Vec<&str> {
        stack.layers.iter().map(|layer| layer.name.as_str()).collect()
    }

    // Protects: a mirror has the counters of both its disks, and of no other disk.
    #[test]
    fn a_mirror_is_on_both_disks() {
        let stack = below(MIRROR, "ufs/data");
        assert_eq!(names(&stack), ["ufs/data", "mirror/gm0", "ada0p2", "ada0", "ada1"]);
        assert_eq!(stack.disks, ["ada0", "ada1"]);
        assert_eq!(stack.layers[1].below, ["ada0p2", "ada1"]);
        assert_eq!((stack.layers[1].kind, stack.layers[2].kind), (LayerKind::Stacked, LayerKind::Partition));
        assert_eq!((stack.layers[3].size_bytes, stack.layers[3].logical_block_bytes), (1_500_301_910_016, Some(512)));
        assert_eq!(below(MIRROR, "ada0p1").disks, ["ada0"]);
        assert_eq!(below(MIRROR, "md0").layers[0].kind, LayerKind::Loop);
    }

    // Protects: no text causes a panic, and a missing name has no disk.
    #[test]
    fn other_text_has_no_geometry() {
        for text in ["", "0", "x DISK a 1 2", "1 PART a 1 512", "9 PART a 1 512\n0 DISK b 1 512\n", "0 DISK a -1 512"] {
            assert_eq!(below(text, "a").disks, [""; 0], "{text:?}");
        }
        assert_eq!(below(MIRROR, "ada9"), GeomStack::default());
        assert_eq!(below("18446744073709551615 PART a 1 1\n", "a").layers.len(), 1);
    }
}
