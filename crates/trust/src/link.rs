//! The speed of the link to a device, from the facts about its layer.

use crate::not_seen::NotSeen;
use plumb_result::observe::{BlockLayer, LayerKind};

/// Returns the bytes per second that the narrowest known link to a device carries in one direction, or the reason why
/// it is unknown. A simulated device states its own; otherwise it is the smaller of the SATA link and the PCIe link.
pub(crate) fn bytes_per_second(layer: &BlockLayer, virtualised: bool) -> Result<f64, NotSeen> {
    let device = || layer.name.clone();
    let setting = |name: &str| layer.settings.get(name).map(String::as_str);
    if layer.kind == LayerKind::Sim {
        let stated = setting("link_bytes_per_second").and_then(|text| text.parse().ok());
        return stated.ok_or_else(|| NotSeen::LinkNotStated { device: device() });
    }
    // A hypervisor's buses report 2.5 GT/s for a disk without such a limit.
    if virtualised {
        return Err(NotSeen::InventedLink { device: device() });
    }
    let sata = setting("sata_link_speed").and_then(sata);
    let pcie = setting("pci_link_speed").zip(setting("pci_link_width")).and_then(|(speed, width)| pcie(speed, width));
    match (sata, pcie) {
        (Some(sata), Some(pcie)) => Ok(sata.min(pcie)),
        (Some(one), None) | (None, Some(one)) => Ok(one),
        (None, None) => Err(NotSeen::UnknownLink { device: device() }),
    }
}

/// Parses the speed of a SATA link. `6.0 Gbps` is the line rate, of which 8b/10b coding leaves 8 in 10.
/// Source: Serial ATA revision 3.
fn sata(speed: &str) -> Option<f64> {
    let gigabits: f64 = speed.strip_suffix("Gbps")?.trim().parse().ok()?;
    Some(gigabits * 1e9 * 8.0 / 10.0 / 8.0).filter(|rate| *rate > 0.0)
}

/// Computes the speed of a PCIe link: `8.0 GT/s PCIe` times the lanes, less the line's coding. That is 8b/10b up to 5
/// GT/s, 128b/130b up to 32, and flits of 242 bytes in 256 from 64 on. Packet headers are included, so that the limit
/// is never too low. Source: PCI Express base specification 6.0, 4.2.
fn pcie(speed: &str, width: &str) -> Option<f64> {
    let transfers: f64 = speed.split_once("GT/s")?.0.trim().parse().ok()?;
    let lanes: f64 = width.trim().parse().ok()?;
    let kept = match transfers {
        slow if slow <= 5.0 => 8.0 / 10.0,
        middle if middle <= 32.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    Some(transfers * 1e9 / 8.0 * lanes * kept).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn layer(kind: LayerKind, settings: &[(&str, &str)]) -> BlockLayer {
        let settings: BTreeMap<_, _> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        BlockLayer { name: "x".to_owned(), kind, settings, ..BlockLayer::default() }
    }

    #[test]
    fn rates_are_those_of_the_standards() {
        assert_eq!(sata("6.0 Gbps"), Some(600e6));
        assert_eq!(sata("<unknown>"), None);
        assert_eq!(pcie("2.5 GT/s PCIe", "1"), Some(250e6));
        assert_eq!(pcie("8.0 GT/s PCIe", "4").map(f64::round), Some(3_938_461_538.0));
        assert_eq!(pcie("8.0 GT/s PCIe", "0"), None);
        assert_eq!(pcie("Unknown", "255"), None);
    }

    #[test]
    fn the_narrowest_link_counts() {
        let sata = [("sata_link_speed", "3.0 Gbps"), ("pci_link_speed", "8.0 GT/s PCIe"), ("pci_link_width", "4")];
        assert_eq!(bytes_per_second(&layer(LayerKind::Disk, &sata), false), Ok(300e6));
        assert!(bytes_per_second(&layer(LayerKind::Disk, &[]), false).is_err());
    }

    /// A virtio disk behind an emulated root port of 2.5 GT/s does 1.2 GB/s and more.
    #[test]
    fn a_hypervisors_link_is_not_a_limit() {
        let pci = [("pci_link_speed", "2.5 GT/s PCIe"), ("pci_link_width", "1")];
        assert!(bytes_per_second(&layer(LayerKind::Disk, &pci), true).is_err());
        assert_eq!(bytes_per_second(&layer(LayerKind::Sim, &[("link_bytes_per_second", "500")]), true), Ok(500.0));
    }
}
