//! Command lines of lvm(8) that see only the devices of one group. Source: lvm(8), lvm.conf(5).

use crate::command::{self, Command};

/// An action of lvm.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LvmCommand<'a> {
    /// Tests whether the group exists.
    Exists,
    /// Labels the devices as physical volumes.
    MakeLabels,
    /// Creates the group over all devices.
    MakeGroup,
    /// Creates a volume, with these arguments.
    MakeVolume(&'a [String]),
    /// Prints the synced share of a mirror, in percent.
    Synced,
    /// Creates nodes in /dev.
    MakeNodes,
    /// Removes the group with its volumes.
    RemoveGroup,
    /// Removes the labels of physical volumes.
    RemoveLabel,
}

/// Returns a command line that sees only these devices, keeps no copies of metadata elsewhere and does not wait for
/// udev. A virtual machine may have no udev, and other groups of this host must stay untouched.
pub(crate) fn lvm(what: LvmCommand<'_>, group: &str, devices: &[String]) -> Command {
    let accepted = devices.iter().map(|device| format!("\"a|^{}$|\"", escaped(device)));
    let filter: Vec<String> = accepted.chain(["\"r|.*|\"".to_owned()]).collect();
    let config = format!(
        "devices {{ filter=[{0}] global_filter=[{0}] use_devicesfile=0 obtain_device_list_from_udev=0 types=[\"zram\",16] \
         scan_lvs=0 }} activation {{ udev_sync=0 udev_rules=0 monitoring=0 }} backup {{ backup=0 archive=0 }} \
         global {{ event_activation=0 use_lvmpolld=0 use_lvmlockd=0 }}",
        filter.join(",")
    );
    let (verb, words): (&str, Vec<String>) = match what {
        LvmCommand::Exists => ("vgs", vec![group.to_owned()]),
        LvmCommand::MakeLabels => ("pvcreate", [&["--yes".to_owned()], devices].concat()),
        LvmCommand::MakeGroup => ("vgcreate", [&["--yes".to_owned(), group.to_owned()], devices].concat()),
        LvmCommand::MakeVolume(words) => ("lvcreate", words.to_vec()),
        LvmCommand::Synced => ("lvs", ["--noheadings", "--options", "sync_percent", group].map(str::to_owned).to_vec()),
        LvmCommand::MakeNodes => ("vgmknodes", vec![group.to_owned()]),
        LvmCommand::RemoveGroup => ("vgremove", vec!["--yes".to_owned(), "--force".to_owned(), group.to_owned()]),
        LvmCommand::RemoveLabel => {
            ("pvremove", [&["--yes".to_owned(), "--force".to_owned(), "--force".to_owned()], devices].concat())
        }
    };
    Command::new("lvm", [verb, "--config", &config]).args(words)
}

/// Escapes characters with a meaning in a regular expression of lvm.conf(5).
fn escaped(device: &str) -> String {
    device.chars().flat_map(|c| ".*+?[](){}|^$\\".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// Whether lvm is installed, for code that only takes down.
pub(crate) fn is_here() -> bool {
    command::find("lvm").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_groups_of_the_host_are_not_seen() {
        let line = lvm(LvmCommand::Exists, "plumb_v", &["/dev/disk/by-id/a.b".to_owned()]).to_string();
        assert!(line.contains(r#"filter=["a|^/dev/disk/by-id/a\.b$|","r|.*|"]"#), "{line}");
        assert!(line.contains("udev_sync=0") && line.ends_with("plumb_v"), "{line}");
    }
}
