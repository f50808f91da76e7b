//! Health logs of the leaf devices: errors, wear, bytes written, temperature. Sources: NVM Express Base Specification
//! 2.0, 5.16.1.3 "SMART / Health Information (Log Identifier 02h)"; ACS-4, 7.47.6 "SMART READ DATA" and 9.5 "Device
//! Statistics log (04h)"; the numbers of ATA attributes are vendors' custom, as smartmontools' drivedb records them.

use crate::error::ProbeError;
use crate::platform::{self, AtaPage, PAGE_BYTES};
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::DeviceHealth;

/// Interface for querying a device.
#[derive(Debug, PartialEq, Eq)]
enum Interface {
    Nvme,
    Ata,
}

/// Reads the health log of a leaf device, by the kernel's name.
pub(super) fn read_health(sys: &Sysroot, leaf: &str) -> Seen<DeviceHealth> {
    read(sys, leaf).into()
}

fn read(sys: &Sysroot, leaf: &str) -> Result<DeviceHealth, ProbeError> {
    let interface = interface(sys, leaf)?;
    if !sys.is_real() {
        return Err(ProbeError::unavailable(leaf, "is described by files and cannot be queried"));
    }
    let root = rustix::process::geteuid().is_root();
    let explained = |error| if root { error } else { ProbeError::OnlyRoot(Box::new(error)) };
    match interface {
        Interface::Nvme => Ok(nvme(&platform::nvme_health_log(leaf).map_err(explained)?)),
        Interface::Ata => {
            let mut health =
                ata(&platform::ata_page(leaf, AtaPage::SmartData).map_err(explained)?).map_err(|error| {
                    ProbeError::Of { what: format!("the health data of {leaf}"), source: Box::new(error) }
                })?;
            // Older drives do not keep this log.
            let statistics = platform::ata_page(leaf, AtaPage::Log { address: 0x04, page: 0x01 });
            health.written_bytes = statistics.ok().and_then(|page| ata_written_sectors(&page)).map(|n| n * 512);
            Ok(health)
        }
    }
}

fn interface(sys: &Sysroot, leaf: &str) -> Result<Interface, ProbeError> {
    let directory = sys
        .follow(format!("/sys/class/block/{}", leaf.replace('/', "!")))
        .ok_or_else(|| ProbeError::lacks("/sys/class/block", leaf))?;
    let is_ata_port = |part: &str| part.strip_prefix("ata").is_some_and(|port| port.parse::<u32>().is_ok());
    if leaf.starts_with("nvme") {
        return Ok(Interface::Nvme);
    }
    if leaf.starts_with("sd") && directory.iter().filter_map(|part| part.to_str()).any(is_ata_port) {
        return Ok(Interface::Ata);
    }
    let driver = sys.link_name(directory.join("device/driver"));
    let driver = driver.as_deref().unwrap_or("its driver");
    Err(ProbeError::unavailable(format!("{leaf} ({driver})"), "is neither NVMe nor SATA and reports no health"))
}

fn u16_at(page: &[u8; PAGE_BYTES], at: usize) -> u64 {
    u64::from(u16::from_le_bytes([page[at], page[at + 1]]))
}

fn u32_at(page: &[u8; PAGE_BYTES], at: usize) -> u64 {
    u16_at(page, at) | (u16_at(page, at + 2) << 16)
}

/// Reads the lower half of a 128-bit counter. No drive needs more in its lifetime; larger values are truncated.
fn u128_at(page: &[u8; PAGE_BYTES], at: usize) -> u64 {
    let low = u32_at(page, at) | (u32_at(page, at + 4) << 32);
    if page[at + 8..at + 16].iter().all(|byte| *byte == 0) { low } else { u64::MAX }
}

/// Bits of the Critical Warning byte. Source: NVM Express Base Specification 2.0, figure 207.
const NVME_WARNINGS: [(u8, &str); 6] = [
    (1 << 0, "available spare below its threshold"),
    (1 << 1, "temperature beyond a threshold"),
    (1 << 2, "reliability degraded"),
    (1 << 3, "read-only"),
    (1 << 4, "volatile memory backup failed"),
    (1 << 5, "persistent memory region read-only"),
];

fn nvme(page: &[u8; PAGE_BYTES]) -> DeviceHealth {
    // One data unit is a thousand blocks of 512 bytes.
    const DATA_UNIT_BYTES: u64 = 512_000;
    let warnings = NVME_WARNINGS.iter().filter(|(bit, _)| page[0] & bit != 0).map(|(_, name)| (*name).to_owned());
    DeviceHealth {
        warnings: warnings.collect(),
        errors: [("media and data integrity errors".to_owned(), u128_at(page, 160))].into(),
        wear_percent: Some(u64::from(page[5])),
        written_bytes: Some(u128_at(page, 48).saturating_mul(DATA_UNIT_BYTES)),
        thermal_throttles: Some(u32_at(page, 216).saturating_add(u32_at(page, 220))),
        hot_minutes: Some(u32_at(page, 192).saturating_add(u32_at(page, 196))),
    }
}

/// Attributes that count errors.
const ATA_ERRORS: [(u8, &str); 4] = [
    (5, "reallocated sectors"),
    (197, "pending sectors"),
    (198, "uncorrectable sectors"),
    (199, "CRC errors of the link"),
];
/// Attributes whose normalized value falls from 100 to 0 as an SSD wears.
const ATA_LIFE_LEFT: [u8; 2] = [231, 233];

fn ata(page: &[u8; PAGE_BYTES]) -> Result<DeviceHealth, ProbeError> {
    if page.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
        return Err(ProbeError::Unseeable("its checksum is wrong"));
    }
    let mut health = DeviceHealth::default();
    for attribute in page[2..362].chunks_exact(12).filter(|attribute| attribute[0] != 0) {
        let (id, normalised) = (attribute[0], attribute[3]);
        // Four of the six raw bytes: some vendors store other numbers in the upper two.
        let raw = u64::from(u32::from_le_bytes([attribute[5], attribute[6], attribute[7], attribute[8]]));
        if let Some((_, name)) = ATA_ERRORS.iter().find(|(known, _)| *known == id) {
            health.errors.insert((*name).to_owned(), raw);
        }
        if ATA_LIFE_LEFT.contains(&id) && normalised <= 100 {
            let wear = u64::from(100 - normalised);
            health.wear_percent = Some(health.wear_percent.map_or(wear, |known| known.max(wear)));
        }
    }
    Ok(health)
}

/// Reads "Logical Sectors Written" of the General Statistics page. Bits 63 and 62 mark it as supported
/// and valid. Source: ACS-4, 9.5.4.
fn ata_written_sectors(page: &[u8; PAGE_BYTES]) -> Option<u64> {
    const AT: usize = 24;
    const SUPPORTED_AND_VALID: u64 = 0b11 << 62;
    let is_page_one = page[2] == 1;
    let value = u32_at(page, AT) | (u32_at(page, AT + 4) << 32);
    // The value itself has 48 bits.
    (is_page_one && value & SUPPORTED_AND_VALID == SUPPORTED_AND_VALID).then_some(value & 0xFFFF_FFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    fn put(page: &mut [u8; PAGE_BYTES], at: usize, bytes: &[u8]) {
        page[at..at + bytes.len()].copy_from_slice(bytes);
    }

    // Protects: the offsets and units of the NVMe log.
    #[test]
    fn an_nvme_log() {
        let mut page = [0u8; PAGE_BYTES];
        page[0] = 0b0000_0110;
        put(&mut page, 1, &318u16.to_le_bytes());
        page[5] = 83;
        put(&mut page, 32, &111u128.to_le_bytes());
        put(&mut page, 48, &2_000_000u128.to_le_bytes());
        put(&mut page, 160, &7u128.to_le_bytes());
        put(&mut page, 176, &99u128.to_le_bytes());
        put(&mut page, 192, &4u32.to_le_bytes());
        put(&mut page, 196, &1u32.to_le_bytes());
        put(&mut page, 216, &20u32.to_le_bytes());
        put(&mut page, 220, &3u32.to_le_bytes());
        put(&mut page, 224, &1000u32.to_le_bytes());
        let health = nvme(&page);
        assert_eq!(health.warnings, ["temperature beyond a threshold", "reliability degraded"]);
        assert_eq!(health.errors["media and data integrity errors"], 7);
        assert_eq!((health.wear_percent, health.written_bytes), (Some(83), Some(1_024_000_000_000)));
        assert_eq!((health.thermal_throttles, health.hot_minutes), (Some(23), Some(5)));
        put(&mut page, 48, &u128::MAX.to_le_bytes());
        assert_eq!(nvme(&page).written_bytes, Some(u64::MAX));
    }

    fn sum_up(page: &mut [u8; PAGE_BYTES]) {
        page[511] = 0;
        page[511] = page.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg();
    }

    // Protects: twelve bytes per attribute from the third byte on, raw values with the low
    // byte first, and the checksum.
    #[test]
    fn an_ata_table() {
        let mut page = [0u8; PAGE_BYTES];
        let attributes: [(u8, u8, u64); 6] =
            [(5, 100, 8), (9, 95, 12_345), (197, 100, 2), (199, 200, 0x0001_0000_0003), (231, 91, 0), (233, 15, 0)];
        for (at, (id, normalised, raw)) in attributes.into_iter().enumerate() {
            let at = 2 + at * 12;
            page[at] = id;
            page[at + 3] = normalised;
            put(&mut page, at + 5, &raw.to_le_bytes()[..6]);
        }
        assert!(ata(&page).unwrap_err().to_string().contains("checksum"));
        sum_up(&mut page);
        let health = ata(&page).unwrap();
        let errors: Vec<(&str, u64)> = health.errors.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(errors, [("CRC errors of the link", 3), ("pending sectors", 2), ("reallocated sectors", 8)]);
        assert_eq!((health.wear_percent, health.written_bytes), (Some(85), None));
    }

    // Protects: a drive without this counter does not appear to have written nothing.
    #[test]
    fn sectors_written_only_where_they_are_counted() {
        let mut page = [0u8; PAGE_BYTES];
        page[2] = 1;
        put(&mut page, 24, &(5000u64 | 0b11 << 62).to_le_bytes());
        assert_eq!(ata_written_sectors(&page), Some(5000));
        put(&mut page, 24, &(5000u64 | 0b10 << 62).to_le_bytes());
        assert_eq!(ata_written_sectors(&page), None);
        assert_eq!(ata_written_sectors(&[0; PAGE_BYTES]), None);
    }

    // Protects: each device gets its own kind of command. The wrong one may get any answer.
    #[test]
    fn devices_are_queried_by_their_own_interface() {
        let tree = Tree::new();
        tree.block("pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda", "8:0", 8)
            .block("pci0000:00/0000:00:14.0/usb2/2-1/host6/target6:0:0/6:0:0:0/block/sdb", "8:16", 8)
            .block("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", "259:0", 8)
            .block("platform/virtio0/block/vda", "254:0", 8)
            .directory("/sys/bus/virtio/drivers/virtio_blk")
            .link("/sys/devices/platform/virtio0/driver", "../../../bus/virtio/drivers/virtio_blk")
            .link("/sys/devices/platform/virtio0/block/vda/device", "../../../virtio0");
        let sys = tree.sys();
        assert_eq!(interface(&sys, "sda"), Ok(Interface::Ata));
        assert_eq!(interface(&sys, "nvme0n1"), Ok(Interface::Nvme));
        assert!(interface(&sys, "sdb").unwrap_err().to_string().contains("neither NVMe nor SATA"));
        assert!(interface(&sys, "vda").unwrap_err().to_string().contains("virtio_blk"));
        assert!(read_health(&sys, "nvme0n1").as_result().unwrap_err().contains("described by files"));
    }
}
