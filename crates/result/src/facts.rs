//! Describes the storage under a path, in one line or a few.

use crate::number::{self, Digits};
use crate::observe::{BlockLayer, LayerKind, TargetFacts};

fn bytes_iec(bytes: u64) -> String {
    number::BYTES.set(bytes as f64, Digits::Three)
}

/// Returns `ext4 on /dev/vda1, 12 % free of 252 GiB`, or why the file system is unknown.
pub fn filesystem(facts: &TargetFacts) -> String {
    match facts.filesystem.as_result() {
        Ok(fs) if fs.size_bytes > 0 => {
            let free = number::percent(fs.free_share(), Digits::Three);
            format!("{} on {}, {free} free of {}", fs.kind, fs.source, bytes_iec(fs.size_bytes))
        }
        Ok(fs) => format!("{} on {}", fs.kind, fs.source),
        Err(reason) if facts.stack.is_empty() => format!("no file system ({reason})"),
        Err(_) => "no file system".to_owned(),
    }
}

/// Returns a short description of the storage: `ext4 on loop0 → vda (virtual disk)`.
pub fn storage(facts: &TargetFacts) -> String {
    if facts.stack.iter().any(|layer| layer.kind == LayerKind::Sim) {
        return "simulated".to_owned();
    }
    let names: Vec<String> = facts
        .stack
        .iter()
        .map(|layer| match device(layer) {
            Some(device) => format!("{} ({device})", layer.name),
            None => layer.name.clone(),
        })
        .collect();
    let below = names.join(" → ");
    match facts.filesystem.as_result() {
        Ok(fs) if fs.in_memory => format!("{} (memory)", fs.kind),
        Ok(fs) if fs.remote => format!("{} on {} (network)", fs.kind, fs.source),
        Ok(fs) if fs.is_served_by_a_program() => {
            format!("{} on {} (served by a program)", fs.kind, fs.source)
        }
        Ok(fs) if below.is_empty() => format!("{} on {}", fs.kind, fs.source),
        Ok(fs) => format!("{} on {below}", fs.kind),
        Err(_) => below,
    }
}

/// Returns the kind of device, if the layer is a device.
fn device(layer: &BlockLayer) -> Option<&'static str> {
    let driver = layer.settings.get("driver").map(String::as_str).unwrap_or_default();
    match (layer.kind, layer.rotational) {
        (LayerKind::Zram, _) => Some("memory"),
        (LayerKind::Disk, _) if driver.starts_with("virtio") || driver.starts_with("xen") => Some("virtual disk"),
        (LayerKind::Disk, _) if layer.name.starts_with("nvme") => Some("NVMe"),
        (LayerKind::Disk, Some(true)) => Some("hard disk"),
        (LayerKind::Disk, Some(false)) => Some("SSD"),
        _ => None,
    }
}

/// Returns the block layers from top to bottom: `loop0 (loop) → vda (disk, virtio, write back, mq-deadline)`.
pub fn stack(facts: &TargetFacts) -> String {
    facts.stack.iter().map(layer).collect::<Vec<_>>().join(" → ")
}

/// Returns the block layers by kind, `md raid5 (chunk 512 KiB) → 3 × loop (1.00 GiB)`, because their kernel names
/// can change with each build.
pub fn stack_by_kind(facts: &TargetFacts) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for layer in &facts.stack {
        let (kind, about) = described(layer);
        let about = about.join(", ");
        let text = if about.is_empty() { kind } else { format!("{kind} ({about})") };
        match kinds.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => kinds.push((text, 1)),
        }
    }
    let counted = |(text, count): (String, usize)| if count == 1 { text } else { format!("{count} × {text}") };
    kinds.into_iter().map(counted).collect::<Vec<_>>().join(" → ")
}

fn layer(layer: &BlockLayer) -> String {
    let (kind, about) = described(layer);
    format!("{} ({})", layer.name, [vec![kind], about].concat().join(", "))
}

/// Returns the kind of a layer and further properties.
fn described(layer: &BlockLayer) -> (String, Vec<String>) {
    let mut words = vec![kind(layer.kind).to_owned()];
    if let Some(level) = layer.settings.get("level") {
        words[0] = format!("md {level}");
    }
    let chunk = layer.settings.get("chunk_size").filter(|_| layer.kind == LayerKind::Md);
    if let Some(bytes) = chunk.and_then(|bytes| bytes.parse::<u64>().ok()).filter(|bytes| *bytes > 0) {
        words.push(format!("chunk {}", number::BYTES.set(bytes as f64, Digits::Spoken)));
    }
    words.extend(layer.model.clone());
    // The rotation that a virtual disk reports is the hypervisor's default, and memory does not rotate.
    match layer.settings.get("medium").map(String::as_str) {
        Some("memory") => match layer.settings.get("stands_on") {
            Some(stands_on) => words.push(format!("in memory: {stands_on}")),
            None => words.push("in memory".to_owned()),
        },
        Some("virtual disk") => words[0] = "virtual disk".to_owned(),
        Some("unknown") => words.push("backing file out of sight".to_owned()),
        _ if layer.kind == LayerKind::Disk => {
            words.extend(layer.rotational.map(|rotates| if rotates { "spinning" } else { "not spinning" }.to_owned()));
        }
        _ => {}
    }
    if layer.below.is_empty() {
        words.push(bytes_iec(layer.size_bytes));
        words.extend(layer.write_cache.clone());
        words.extend(layer.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    }
    let kind = words.remove(0);
    (kind, words)
}

fn kind(kind: LayerKind) -> &'static str {
    match kind {
        LayerKind::Disk => "disk",
        LayerKind::Partition => "partition",
        LayerKind::Loop => "loop",
        LayerKind::Md => "md",
        LayerKind::Lvm => "LVM",
        LayerKind::Crypt => "encrypted",
        LayerKind::Dm => "device mapper",
        LayerKind::Zram => "zram",
        LayerKind::Stacked => "stacked",
        LayerKind::Sim => "simulated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(name: &str, kind: LayerKind, settings: &[(&str, &str)]) -> String {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let layer = BlockLayer {
            name: name.to_owned(),
            kind,
            rotational: Some(true),
            size_bytes: 1 << 30,
            settings,
            ..BlockLayer::default()
        };
        stack(&TargetFacts { stack: vec![layer], ..TargetFacts::default() })
    }

    /// Protects: the rotation reported by a hypervisor or a loop device is not taken as evidence of a spinning disk.
    #[test]
    fn a_stack_names_the_medium_of_the_data() {
        assert_eq!(describe("sda", LayerKind::Disk, &[]), "sda (disk, spinning, 1.00 GiB)");
        assert_eq!(describe("vda", LayerKind::Disk, &[("medium", "virtual disk")]), "vda (virtual disk, 1.00 GiB)");
        let raid = [("level", "raid5"), ("chunk_size", "524288")];
        assert_eq!(describe("md0", LayerKind::Md, &raid), "md0 (md raid5, chunk 512 KiB, 1.00 GiB)");
        let memory = [("medium", "memory"), ("stands_on", "tmpfs at /dev/shm")];
        assert_eq!(describe("loop0", LayerKind::Loop, &memory), "loop0 (loop, in memory: tmpfs at /dev/shm, 1.00 GiB)");
    }

    // Protects: in a table of systems, two builds that differ only in kernel names are one system.
    #[test]
    fn stacks_by_kind_omit_kernel_names_and_count_equal_layers() {
        let layer = |name: &str, kind, below: &[&str]| BlockLayer {
            name: name.to_owned(),
            kind,
            size_bytes: 1 << 30,
            below: below.iter().map(|name| (*name).to_owned()).collect(),
            ..BlockLayer::default()
        };
        let stack = |loops: [&str; 2]| {
            let [one, other] = loops.map(|name| layer(name, LayerKind::Loop, &[]));
            let mut array = layer("md127", LayerKind::Md, &loops);
            array.settings.insert("level".to_owned(), "raid1".to_owned());
            stack_by_kind(&TargetFacts { stack: vec![array, one, other], ..TargetFacts::default() })
        };
        assert_eq!(stack(["loop0", "loop1"]), "md raid1 → 2 × loop (1.00 GiB)");
        assert_eq!(stack(["loop0", "loop1"]), stack(["loop3", "loop7"]));
    }
}
