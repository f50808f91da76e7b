//! ip(8) and the MTU of network interfaces. Source: ip-link(8).

use crate::command::Command;

fn ip(namespace: Option<&str>) -> Command {
    let of = namespace.map(|namespace| ["-n", namespace]);
    Command::new("ip", of.into_iter().flatten())
}

pub(crate) fn show(namespace: Option<&str>, device: &str) -> Command {
    ip(namespace).args(["-o", "link", "show", "dev", device])
}

pub(crate) fn set(namespace: Option<&str>, device: &str, mtu: u64) -> Command {
    ip(namespace).args(["link", "set", "dev", device, "mtu", &mtu.to_string()])
}

/// Parses the MTU from `2: eth0: <…> mtu 1500 qdisc …`.
pub(crate) fn mtu_of(shown: &str) -> Option<u64> {
    let mut words = shown.split_whitespace().skip_while(|word| *word != "mtu");
    words.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: an interface gets back the value that it had.
    #[test]
    fn the_mtu_is_read_as_ip_shows_it() {
        let shown = "3: plumb0@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP mode DEFAULT \\    link/ether";
        assert_eq!(mtu_of(shown), Some(1500));
        assert_eq!(mtu_of("Device does not exist"), None);
    }
}
