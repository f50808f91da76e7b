//! Temperatures of the leaf devices. Source: Documentation/hwmon/sysfs-interface.rst, drivetemp.rst; the drivers nvme
//! and drivetemp register a hwmon device below the disk's own.

use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::Heat;
use std::path::Path;

const DIRECTORY: &str = "/sys/class/hwmon";

/// Reads the temperature of a leaf device, by the kernel's name. The device must read its sensor for this, so it is
/// done while the clock is stopped.
pub(super) fn read_heat(sys: &Sysroot, leaf: &str) -> Seen<Heat> {
    read(sys, leaf).into()
}

fn read(sys: &Sysroot, leaf: &str) -> Result<Heat, ProbeError> {
    let block = sys
        .follow(format!("/sys/class/block/{}", leaf.replace('/', "!")))
        .ok_or_else(|| ProbeError::lacks("/sys/class/block", leaf))?;
    let chip = sys.names(DIRECTORY).into_iter().find(|chip| {
        let name = sys.line(format!("{DIRECTORY}/{chip}/name"));
        matches!(name.as_deref(), Some("nvme" | "drivetemp"))
            && sys.resolve(format!("{DIRECTORY}/{chip}/device")).is_some_and(|device| block.starts_with(device))
    });
    let chip = chip.ok_or_else(|| ProbeError::lacks(leaf, "temperature in /sys/class/hwmon"))?;
    let chip = Path::new(DIRECTORY).join(chip);
    let names = sys.names(&chip);
    let sensors = names.iter().filter_map(|name| name.strip_prefix("temp")?.strip_suffix("_input"));
    let mut readings: Vec<Heat> = sensors.filter_map(|number| sensor(sys, &chip, number)).collect();
    // Use the sensor nearest to its limit. Sensors without a limit count only if there is no other.
    readings.sort_by(|one, other| degrees_to_limit(one).total_cmp(&degrees_to_limit(other)));
    readings
        .first()
        .copied()
        .ok_or_else(|| ProbeError::unavailable(format!("the temperature of {leaf}"), "cannot be read"))
}

fn sensor(sys: &Sysroot, chip: &Path, number: &str) -> Option<Heat> {
    let celsius = |what: &str| sys.number::<i64>(chip.join(format!("temp{number}_{what}"))).map(|m| m as f64 / 1000.0);
    // Drives without a limit report 0 or an unreachable value.
    let limit = |what: &str| celsius(what).filter(|limit| (1.0..200.0).contains(limit));
    Some(Heat {
        celsius: celsius("input")?,
        warning_celsius: limit("max"),
        critical_celsius: limit("crit"),
        alarm: sys.number::<u8>(chip.join(format!("temp{number}_alarm"))) == Some(1),
    })
}

/// Returns the degrees up to the nearest limit.
fn degrees_to_limit(heat: &Heat) -> f64 {
    let limit = heat.warning_celsius.or(heat.critical_celsius);
    limit.map_or(f64::INFINITY, |limit| limit - heat.celsius)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: a chip is matched to its own disk, the sensor nearest to its limit counts,
    // and implausible limits are ignored.
    #[test]
    fn each_disk_has_its_own_sensor() {
        let tree = Tree::new();
        let nvme = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
        let ata = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
        tree.block("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", "259:0", 8)
            .block("pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda", "8:0", 8)
            .block("platform/virtio0/block/vda", "254:0", 8)
            .file(&format!("{nvme}/hwmon1/name"), "nvme\n")
            .file(&format!("{nvme}/hwmon1/temp1_input"), "84850\n")
            .file(&format!("{nvme}/hwmon1/temp1_max"), "83850\n")
            .file(&format!("{nvme}/hwmon1/temp1_crit"), "87850\n")
            .file(&format!("{nvme}/hwmon1/temp1_alarm"), "1\n")
            .file(&format!("{nvme}/hwmon1/temp2_input"), "95850\n")
            .file(&format!("{nvme}/hwmon1/temp2_max"), "65261850\n")
            .link(&format!("{nvme}/hwmon1/device"), "../../nvme0")
            .link("/sys/class/hwmon/hwmon1", "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/hwmon1")
            .file(&format!("{ata}/hwmon/hwmon2/name"), "drivetemp\n")
            .file(&format!("{ata}/hwmon/hwmon2/temp1_input"), "31000\n")
            .link(&format!("{ata}/hwmon/hwmon2/device"), "../../../2:0:0:0")
            .link(
                "/sys/class/hwmon/hwmon2",
                "../../devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/hwmon/hwmon2",
            );
        let sys = tree.sys();
        let hot = Heat { celsius: 84.85, warning_celsius: Some(83.85), critical_celsius: Some(87.85), alarm: true };
        assert_eq!(read_heat(&sys, "nvme0n1"), Seen::Yes(hot));
        let cool = Heat { celsius: 31.0, ..Heat::default() };
        assert_eq!(read_heat(&sys, "sda"), Seen::Yes(cool));
        assert!(read_heat(&sys, "vda").as_result().unwrap_err().contains("vda has no temperature"));
    }
}
