//! Command lines of lvm(8), which see the devices of one group only. Source: lvm(8), lvm.conf(5).

use crate::command::{self, Command};

/// What lvm is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LvmCommand<'a> {
    /// Whether there is such a group.
    Look,
    /// Labels of physical volumes.
    MakeLabels,
    /// The group over all devices.
    MakeGroup,
    /// A volume, by these words.
    MakeVolume(&'a [String]),
    /// How much of a mirror is in sync, percent.
    Synced,
    /// Nodes in /dev.
    MakeNodes,
    /// The group with its volumes.
    RemoveGroup,
    /// Labels of physical volumes.
    RemoveLabel,
}

/// A command line that sees these devices only, keeps no copies of metadata elsewhere and waits for no udev: a virtual
/// machine may have none, and other groups of this host are none of its business.
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
        LvmCommand::Look => ("vgs", vec![group.to_owned()]),
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

/// Characters that mean something in a regular expression of lvm.conf(5).
fn escaped(device: &str) -> String {
    device.chars().flat_map(|c| ".*+?[](){}|^$\\".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// Whether lvm is here, for those who only take down.
pub(crate) fn is_here() -> bool {
    command::find("lvm").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_groups_of_the_host_are_not_seen() {
        let line = lvm(LvmCommand::Look, "plumb_v", &["/dev/disk/by-id/a.b".to_owned()]).to_string();
        assert!(line.contains(r#"filter=["a|^/dev/disk/by-id/a\.b$|","r|.*|"]"#), "{line}");
        assert!(line.contains("udev_sync=0") && line.ends_with("plumb_v"), "{line}");
    }
}
