//! The network interface that has an address, and its stated speed. Sources: /proc/net/if_inet6, /proc/net/fib_trie and
//! /proc/net/route as proc(5) and the kernel's documentation have them, /sys/class/net.

use std::fs;
use std::net::IpAddr;

/// The name of the interface of this machine that has an address, and the bits per second that it states, where it does.
pub fn of_address(address: IpAddr) -> Option<(String, Option<f64>)> {
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
    // Interfaces without a speed say -1, or nothing.
    let speed = fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok();
    let megabits = speed.and_then(|text| text.trim().parse::<f64>().ok()).filter(|&megabits| megabits > 0.0);
    Some((name, megabits.map(|megabits| megabits * 1e6)))
}

/// The interface of the narrowest network that an address is in.
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

    // Protects the share of the link: of two networks that hold an address, the narrower one's interface has it, and a way
    // out is nobody's own network.
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

    #[test]
    fn loopback_states_no_speed() {
        let found = of_address(IpAddr::from([127, 0, 0, 1])).unwrap();
        assert_eq!((found.0.as_str(), found.1), ("lo", None));
    }
}
