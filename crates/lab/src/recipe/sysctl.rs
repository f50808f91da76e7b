//! Kernel settings. Source: sysctl(8), the kernel's `admin-guide/sysctl/`. Undoing the step restores the old values.

use super::queue;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Sysctl, Word};
use crate::system;
use crate::undo::Undo;
use std::path::PathBuf;

/// Pairs of settings of which setting one clears the other to 0, a value that
/// cannot be written: `admin-guide/sysctl/vm.rst`.
const COUNTERPARTS: [[&str; 2]; 2] =
    [["vm.dirty_bytes", "vm.dirty_ratio"], ["vm.dirty_background_bytes", "vm.dirty_background_ratio"]];

pub(super) fn build(step: &Sysctl, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    for (name, value) in &step.set {
        let setting = || format!("{name} = {value}");
        let path = known_path(name, value)?;
        let old = system::text(&path)
            .map_err(|error| Cause::field("set", setting(), format!("{}: {error}", path.display())))?;
        let (path_old, old) = to_restore(name, path.clone(), old);
        site.record_undo(Undo::Setting { path: path_old, value: old })?;
        queue::write(&path, name, value)?;
    }
    Ok(vec![])
}

/// Checks the step without building it.
pub(super) fn check(step: &Sysctl) -> Result<(), Cause> {
    if step.set.is_empty() {
        return Err(Cause::field("set", "{}", "list the settings"));
    }
    step.set.iter().try_for_each(|(name, value)| known_path(name, value).map(drop))
}

fn known_path(name: &str, value: &Word) -> Result<PathBuf, Cause> {
    path_of(name).ok_or_else(|| {
        Cause::field("set", format!("{name} = {value}"), "write the name as sysctl(8) does: `vm.dirty_ratio`")
    })
}

/// Converts a name to a path. Dots separate its parts; a slash stands for a dot
/// within a part (`net.ipv4.conf.eth0/1`).
fn path_of(name: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let parts = name.split('.').map(|part| part.replace('/', "."));
    let parts: Vec<String> = parts.collect();
    let is_part = |part: &String| !part.is_empty() && part != ".." && part.chars().all(is_plain);
    (parts.len() > 1 && parts.iter().all(is_part))
        .then(|| parts.iter().fold(PathBuf::from("/proc/sys"), |path, part| path.join(part)))
}

/// Returns the setting to write for the old value: the other one of a pair, if that one was in effect.
fn to_restore(name: &str, path: PathBuf, old: String) -> (PathBuf, String) {
    let other = COUNTERPARTS.iter().find_map(|[a, b]| match name {
        _ if name == *a => Some(*b),
        _ if name == *b => Some(*a),
        _ => None,
    });
    let counts = other.filter(|_| old == "0").and_then(path_of);
    match counts.and_then(|path| Some((system::text(&path).ok()?, path))) {
        Some((value, path)) => (path, value),
        None => (path, old),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn names_are_paths_below_proc_sys_and_nothing_else() {
        assert_eq!(path_of("vm.dirty_ratio").unwrap(), Path::new("/proc/sys/vm/dirty_ratio"));
        assert_eq!(
            path_of("net.ipv4.conf.eth0/1.forwarding").unwrap(),
            Path::new("/proc/sys/net/ipv4/conf/eth0.1/forwarding")
        );
        for bad in ["vm", "", "vm..x", "vm.//", "/etc/passwd", "vm. x"] {
            assert_eq!(path_of(bad), None, "{bad}");
        }
    }

    // Protects: a threshold in bytes whose old value is "none" (0) is undone by the ratio that was in effect.
    #[test]
    fn the_effective_setting_of_a_pair_is_restored() {
        let path = |name| path_of(name).unwrap();
        let (restored, value) = to_restore("vm.dirty_bytes", path("vm.dirty_bytes"), "0".to_owned());
        assert_eq!(restored, path("vm.dirty_ratio"));
        assert_eq!(value, system::text(&restored).unwrap());
        let kept = to_restore("vm.dirty_ratio", path("vm.dirty_ratio"), "20".to_owned());
        assert_eq!(kept, (path("vm.dirty_ratio"), "20".to_owned()));
    }
}
