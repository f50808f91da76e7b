//! The storage under a path, in one line or a few.

use crate::format::{bytes_iec, percent};
use plumb_result::observe::{BlockLayer, LayerKind, TargetFacts};

/// `ext4 on /dev/vda1, 12 % free of 252 GiB`, or why that cannot be said.
pub fn filesystem(facts: &TargetFacts) -> String {
    match facts.filesystem.as_result() {
        Ok(fs) if fs.size_bytes > 0 => {
            let free = percent(fs.free_share());
            format!("{} on {}, {free} free of {}", fs.kind, fs.source, bytes_iec(fs.size_bytes as f64))
        }
        Ok(fs) => format!("{} on {}", fs.kind, fs.source),
        Err(reason) if facts.stack.is_empty() => format!("no file system ({reason})"),
        Err(_) => "no file system".to_owned(),
    }
}

/// `ext4 on loop0 → vda (virtual disk)`: what answers, in a few words.
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
        Ok(fs) if below.is_empty() => format!("{} on {}", fs.kind, fs.source),
        Ok(fs) => format!("{} on {below}", fs.kind),
        Err(_) => below,
    }
}

/// What kind of device a layer is, where it is one.
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

/// The block layers from top to bottom, `loop0 (loop) → vda (disk, virtio, write back, mq-deadline)`.
pub fn stack(facts: &TargetFacts) -> String {
    facts.stack.iter().map(layer).collect::<Vec<_>>().join(" → ")
}

fn layer(layer: &BlockLayer) -> String {
    let mut said = vec![kind(layer.kind).to_owned()];
    if let Some(level) = layer.settings.get("level") {
        said[0] = format!("md {level}");
    }
    said.extend(layer.model.clone());
    // What a virtual disk says of its rotation is the hypervisor's default, and memory does not rotate.
    match layer.settings.get("medium").map(String::as_str) {
        Some("memory") => match layer.settings.get("stands_on") {
            Some(stands_on) => said.push(format!("in memory: {stands_on}")),
            None => said.push("in memory".to_owned()),
        },
        Some("virtual disk") => said[0] = "virtual disk".to_owned(),
        Some("unknown") => said.push("backing file out of sight".to_owned()),
        _ if layer.kind == LayerKind::Disk => {
            said.extend(layer.rotational.map(|rotates| if rotates { "spinning" } else { "not spinning" }.to_owned()));
        }
        _ => {}
    }
    if layer.below.is_empty() {
        said.push(bytes_iec(layer.size_bytes as f64));
        said.extend(layer.write_cache.clone());
        said.extend(layer.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    }
    format!("{} ({})", layer.name, said.join(", "))
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

    fn said(name: &str, kind: LayerKind, settings: &[(&str, &str)]) -> String {
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

    /// What a hypervisor or a loop device reports about rotation is no evidence of a spinning disk.
    #[test]
    fn a_stack_says_what_stores_the_data() {
        assert_eq!(said("sda", LayerKind::Disk, &[]), "sda (disk, spinning, 1.00 GiB)");
        assert_eq!(said("vda", LayerKind::Disk, &[("medium", "virtual disk")]), "vda (virtual disk, 1.00 GiB)");
        let memory = [("medium", "memory"), ("stands_on", "tmpfs at /dev/shm")];
        assert_eq!(said("loop0", LayerKind::Loop, &memory), "loop0 (loop, in memory: tmpfs at /dev/shm, 1.00 GiB)");
    }
}
