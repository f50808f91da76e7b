//! The network interface of an address, and its properties. Sources: /proc/net/if_inet6, /proc/net/fib_trie and
//! /proc/net/route as described by proc(5) and the kernel's documentation, /sys/class/net.

use crate::platform;
use std::fs;
use std::net::IpAddr;

/// A network interface, with the properties that it reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link {
    pub name: String,
    /// The reported speed. `None` for a virtual link: the number in its `speed` limits nothing.
    pub bits_per_second: Option<f64>,
    /// MTU in bytes.
    pub mtu: Option<u64>,
    /// NUMA node of its device.
    pub node: Option<u32>,
    pub driver: Option<String>,
    /// Offloads, such as `tso`, and whether each is enabled. Unreported ones are missing.
    pub offloads: Vec<(&'static str, bool)>,
}

/// ethtool commands that query an offload, and the bit to test. Source: `include/uapi/linux/ethtool.h`.
const OFFLOADS: [(&str, u32, u32); 7] = [
    ("rx-checksum", 0x14, 1),
    ("tx-checksum", 0x16, 1),
    ("scatter-gather", 0x18, 1),
    ("tso", 0x1e, 1),
    ("gso", 0x23, 1),
    ("gro", 0x2b, 1),
    ("lro", 0x25, 1 << 15),
];

/// Drivers of paravirtual interfaces, which transfer through memory: their reported speed limits nothing.
const IN_MEMORY: [&str; 5] = ["virtio_net", "vmxnet3", "hv_netvsc", "vif", "xen_netfront"];

/// Kinds of interfaces without their own device that report the speed of the devices below
/// them, as named in `uevent`.
const ON_DEVICES: [&str; 2] = ["bond", "vlan"];

/// Whether an interface has no wire: `veth`, `lo`, a bridge, or a hypervisor's. `driver` is `None` without a device,
/// and `uevent` is the text of that file in sysfs.
fn is_virtual(driver: Option<&str>, uevent: &str) -> bool {
    match driver {
        Some(driver) => IN_MEMORY.contains(&driver),
        None => {
            !uevent.lines().any(|line| line.strip_prefix("DEVTYPE=").is_some_and(|kind| ON_DEVICES.contains(&kind)))
        }
    }
}

/// Returns the interface of this machine with this address.
pub fn of_address(address: IpAddr) -> Option<Link> {
    let name = match address {
        _ if address.is_loopback() => "lo".to_owned(),
        IpAddr::V4(address) => {
            let table = fs::read_to_string("/proc/net/route").ok()?;
            of_routes(&table, u32::from(address))?
        }
        IpAddr::V6(address) => {
            let table = fs::read_to_string("/proc/net/if_inet6").ok()?;
            let digits: String = address.octets().iter().map(|byte| format!("{byte:02x}")).collect();
            let line = table.lines().find(|line| line.starts_with(&digits))?;
            line.split_whitespace().last()?.to_owned()
        }
    };
    // A property that does not apply is -1 or unreadable.
    let number = |of: &str| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/{of}")).ok()?;
        text.trim().parse::<f64>().ok().filter(|&number| number >= 0.0)
    };
    let driver = fs::read_link(format!("/sys/class/net/{name}/device/driver")).ok();
    let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let uevent = fs::read_to_string(format!("/sys/class/net/{name}/uevent")).unwrap_or_default();
    let has_wire = !is_virtual(driver.as_deref(), &uevent);
    let offload = |&(what, command, bit): &(&'static str, u32, u32)| {
        Some((what, platform::ethtool_value(&name, command)? & bit != 0))
    };
    Some(Link {
        bits_per_second: number("speed").filter(|&megabits| megabits > 0.0 && has_wire).map(|megabits| megabits * 1e6),
        mtu: number("mtu").map(|bytes| bytes as u64),
        node: number("device/numa_node").map(|node| node as u32),
        driver,
        offloads: OFFLOADS.iter().filter_map(offload).collect(),
        name,
    })
}

/// Returns the processors that this process may run on, as a list such as `0-3,8`.
pub fn allowed_processors() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

/// Returns the interface of the narrowest network that contains an address.
fn of_routes(table: &str, address: u32) -> Option<String> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| Some(u32::from_str_radix(words.get(at)?, 16).ok()?.swap_bytes());
        let (to, gateway, mask) = (number(1)?, number(2)?, number(7)?);
        (gateway == 0 && mask != 0 && address & mask == to).then(|| (mask, (*words[0]).to_owned()))
    });
    rows.max_by_key(|(mask, _)| *mask).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the share of the link: of two networks that contain an address, the narrower one wins, and a
    // default route does not count.
    #[test]
    fn the_narrowest_network_has_the_address() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n\
                     ib0\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let of = |text: &str| of_routes(table, u32::from(text.parse::<std::net::Ipv4Addr>().unwrap()));
        assert_eq!(of("10.0.1.7").as_deref(), Some("ib0"));
        assert_eq!(of("10.9.9.9").as_deref(), Some("eth0"));
        assert_eq!((of("192.0.2.1"), of_routes("", 1), of_routes("\nx y z\n", 1)), (None, None, None));
    }

    // Protects the share of the link: veth reports 10 Gbit/s, which limits nothing; a bond's speed
    // is that of its wires.
    #[test]
    fn virtual_links_have_no_speed() {
        for (driver, uevent) in [
            (None, "INTERFACE=veth0\nIFINDEX=9\n"),
            (None, "DEVTYPE=bridge\nINTERFACE=br0\n"),
            (None, ""),
            (Some("virtio_net"), "INTERFACE=eth0\n"),
            (Some("vmxnet3"), ""),
        ] {
            assert!(is_virtual(driver, uevent), "{driver:?} {uevent}");
        }
        for (driver, uevent) in
            [(Some("ixgbe"), "INTERFACE=eth0\n"), (None, "DEVTYPE=bond\nINTERFACE=bond0\n"), (None, "DEVTYPE=vlan\n")]
        {
            assert!(!is_virtual(driver, uevent), "{driver:?} {uevent}");
        }
    }

    // Protects the line of facts: the loopback has an MTU and offloads, and no speed, driver or node.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_loopback_has_an_mtu_and_no_speed() {
        let link = of_address(IpAddr::from([127, 0, 0, 1])).unwrap();
        assert_eq!((link.name.as_str(), link.bits_per_second, link.driver, link.node), ("lo", None, None, None));
        assert!(link.mtu >= Some(1280), "{:?}", link.mtu);
        assert!(link.offloads.iter().any(|(name, _)| *name == "gso"), "{:?}", link.offloads);
        assert_eq!(platform::ethtool_value("none", 0x23), None);
        assert_eq!(platform::ethtool_value("a-name-of-16-bytes", 0x23), None);
        assert!(allowed_processors().is_some_and(|list| list.starts_with(|letter: char| letter.is_ascii_digit())));
    }
}
