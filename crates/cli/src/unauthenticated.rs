//! Warnings of servers that admit clients without authentication.

use crate::output::error_line;
use std::net::IpAddr;

/// Warns that a server accepts unauthenticated clients from other hosts. `way_out` explains how to restrict it.
/// Prints nothing for a loopback address.
pub fn warn_beyond_loopback(name: &str, address: IpAddr, way_out: &str) {
    if let Some(line) = warning(name, address, way_out) {
        error_line!("{line}");
    }
}

/// Warns about the directories that a service without keys opens to processes of this user and of root.
pub(crate) fn warn_on_loopback(name: &str, allowed: &str) {
    error_line!(
        "{name}: warning: this protocol has no authentication: whatever runs as this user or root on this host may use {allowed} \
         through this port; PLUMB_AGENT_KEYS=FILE admits only clients with keys (docs/agents.md)"
    );
}

fn warning(name: &str, address: IpAddr, way_out: &str) -> Option<String> {
    let is_beyond = !address.to_canonical().is_loopback();
    is_beyond
        .then(|| format!("{name}: warning: no authentication: anyone who can reach {address} is served; {way_out}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_other_hosts_need_a_warning() {
        let warning_for = |text: &str| warning("iperf", text.parse().unwrap(), "use a firewall");
        for here in ["127.0.0.1", "127.9.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(warning_for(here), None, "{here}");
        }
        for beyond in ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1"] {
            let line = warning_for(beyond).unwrap();
            assert!(line.contains("no authentication") && line.contains(beyond), "{line}");
        }
    }
}
