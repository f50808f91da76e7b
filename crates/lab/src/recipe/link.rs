//! The MTU of a network interface. Undoing the step restores the old value.

use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Link;
use crate::tool::ip_link::{mtu_of, set, show};
use crate::undo::Undo;

/// Smallest and largest MTU of any interface. Sources: RFC 791, and the 16-bit length field of an IP
/// packet as used by loopback.
const MTU: std::ops::RangeInclusive<u64> = 68..=65_536;

pub(super) fn build(step: &Link, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    let namespace = step.namespace.as_deref();
    let shown = site.run(&show(namespace, &step.device))?;
    let old = mtu_of(&shown).ok_or_else(|| {
        Cause::field("device", &step.device, format!("`ip link` shows no MTU for it: {}", shown.trim()))
    })?;
    site.record_undo(Undo::Mtu { device: step.device.clone(), namespace: step.namespace.clone(), mtu: old })?;
    site.run(&set(namespace, &step.device, step.mtu.0))?;
    let now = mtu_of(&site.run(&show(namespace, &step.device))?);
    if now != Some(step.mtu.0) {
        let why = format!("the kernel set it to {}", now.map_or("nothing".to_owned(), |mtu| mtu.to_string()));
        return Err(Cause::field("mtu", step.mtu.0, why));
    }
    Ok(vec![])
}

/// Checks the step without building it.
pub(super) fn check(step: &Link) -> Result<(), Cause> {
    let is_name = |name: &str| {
        !name.is_empty() && !name.starts_with('-') && !name.contains(|c: char| c == '/' || c.is_whitespace())
    };
    if !is_name(&step.device) {
        return Err(Cause::field("device", &step.device, "use the name of an interface, as `ip link` shows it"));
    }
    if let Some(namespace) = step.namespace.as_ref().filter(|name| !is_name(name)) {
        return Err(Cause::field("namespace", namespace, "use the name of a namespace, as `ip netns` shows it"));
    }
    if !MTU.contains(&step.mtu.0) {
        return Err(Cause::field("mtu", step.mtu.0, "use 68 to 65536 bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: no name becomes an option, and no interface gets an impossible MTU.
    #[test]
    fn names_and_sizes_are_checked() {
        let link =
            |device: &str, mtu| Link { device: device.to_owned(), namespace: None, mtu: crate::step::Count(mtu) };
        assert!(check(&link("eth0.1", 9000)).is_ok());
        for bad in [link("-a", 9000), link("a/b", 9000), link("eth0", 67), link("eth0", 65_537)] {
            assert!(check(&bad).is_err(), "{bad:?}");
        }
    }
}
