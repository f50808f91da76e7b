//! Power source of the machine. Source: Documentation/ABI/testing/sysfs-class-power.

use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::PowerSource;

const DIRECTORY: &str = "/sys/class/power_supply";

/// Returns mains if a supply is online or the machine has no battery of its own.
pub(super) fn source(sys: &Sysroot) -> Seen<PowerSource> {
    if !sys.exists("/sys") {
        return Seen::no("there is no /sys, so the power source is unknown");
    }
    let mut on_battery = false;
    for name in sys.names(DIRECTORY) {
        let line = |file: &str| sys.line(format!("{DIRECTORY}/{name}/{file}"));
        // Skip batteries of peripherals, such as a mouse.
        if line("scope").as_deref() == Some("Device") {
            continue;
        }
        match line("type").as_deref() {
            Some("Battery") => on_battery |= line("status").as_deref() == Some("Discharging"),
            Some(_) if line("online").as_deref() == Some("1") => return Seen::Yes(PowerSource::Mains),
            _ => {}
        }
    }
    Seen::Yes(if on_battery { PowerSource::Battery } else { PowerSource::Mains })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: a laptop on its battery, on mains, and a server with a wireless mouse.
    #[test]
    fn supplies_are_distinguished() {
        let tree = Tree::new();
        assert!(source(&tree.sys()).value().is_none());
        tree.directory("/sys");
        assert_eq!(source(&tree.sys()), Seen::Yes(PowerSource::Mains));
        let at = |name: &str, file: &str| format!("/sys/class/power_supply/{name}/{file}");
        tree.file(&at("hidpp_battery_0", "type"), "Battery\n")
            .file(&at("hidpp_battery_0", "scope"), "Device\n")
            .file(&at("hidpp_battery_0", "status"), "Discharging\n");
        assert_eq!(source(&tree.sys()), Seen::Yes(PowerSource::Mains));
        tree.file(&at("BAT0", "type"), "Battery\n").file(&at("BAT0", "status"), "Discharging\n");
        tree.file(&at("AC", "type"), "Mains\n").file(&at("AC", "online"), "0\n");
        assert_eq!(source(&tree.sys()), Seen::Yes(PowerSource::Battery));
        tree.file(&at("AC", "online"), "1\n");
        assert_eq!(source(&tree.sys()), Seen::Yes(PowerSource::Mains));
    }
}
