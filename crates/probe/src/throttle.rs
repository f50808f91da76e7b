//! External limits during a phase: the CPU quota of control groups, and network
//! links. Sources: the kernel's Documentation/scheduler/sched-bwc.rst and
//! Documentation/admin-guide/cgroup-v2.rst (`cpu.stat`),
//! Documentation/ABI/testing/sysfs-class-net and sysfs-class-net-statistics.

use crate::cgroup::{groups, memberships};
use crate::error::ProbeError;
use crate::mounts;
use crate::sysroot::Sysroot;
use plumb_result::{CpuQuota, LimitsSeen, NetworkLink, Seen};
use std::path::PathBuf;

/// Whether to watch the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// A target is on the network.
    Watched,
    /// No target is on the network.
    Ignored,
}

/// Watches external limits.
#[derive(Debug)]
pub struct LimitWatch {
    sys: Sysroot,
    stats: QuotaFiles,
    quota: Vec<CpuQuota>,
    network: Network,
    links: Vec<NetworkLink>,
}

impl LimitWatch {
    /// Starts watching. Reads a few small files: call it as the clock starts.
    pub fn start(files: QuotaFiles, network: Network) -> LimitWatch {
        LimitWatch::start_in(&Sysroot::real(), files, network)
    }

    fn start_in(sys: &Sysroot, stats: QuotaFiles, network: Network) -> LimitWatch {
        let quota = stats.0.iter().flatten().map(|file| quota_of(sys, file)).collect();
        let links = if network == Network::Watched { links(sys) } else { Vec::new() };
        LimitWatch { sys: sys.clone(), stats, quota, network, links }
    }

    /// Returns the changes since the start.
    pub fn finish(self) -> LimitsSeen {
        let cpu_quota = match &self.stats.0 {
            Err(reason) => Seen::no(reason),
            Ok(files) => {
                let since = files.iter().zip(&self.quota).map(|(file, before)| {
                    let now = quota_of(&self.sys, file);
                    CpuQuota {
                        periods: now.periods.saturating_sub(before.periods),
                        throttled_periods: now.throttled_periods.saturating_sub(before.throttled_periods),
                        throttled_us: now.throttled_us.saturating_sub(before.throttled_us),
                    }
                });
                Seen::Yes(since.max_by_key(|quota| quota.throttled_periods).unwrap_or_default())
            }
        };
        let network = match self.network {
            Network::Ignored => Seen::no("no target is on a network"),
            Network::Watched => {
                let before = |link: &NetworkLink| self.links.iter().find(|other| other.name == link.name);
                let since = links(&self.sys).into_iter().filter_map(|link| {
                    let before = before(&link)?;
                    Some(NetworkLink {
                        received_bytes: link.received_bytes.saturating_sub(before.received_bytes),
                        sent_bytes: link.sent_bytes.saturating_sub(before.sent_bytes),
                        ..link
                    })
                });
                Seen::Yes(since.collect())
            }
        };
        LimitsSeen { cpu_quota, network }
    }
}

/// Quotas of this process: `cpu.stat` of its control group and of those above it, or the reason why there is none.
#[derive(Debug, Clone)]
pub struct QuotaFiles(Result<Vec<PathBuf>, String>);

impl QuotaFiles {
    /// Finds the files. Done once per run, before the clock starts, since it reads the mount table.
    pub fn find() -> QuotaFiles {
        QuotaFiles::find_in(&Sysroot::real())
    }

    pub(crate) fn find_in(sys: &Sysroot) -> QuotaFiles {
        QuotaFiles(quota_files(sys).map_err(|error| error.to_string()))
    }

    /// Returns `cpu.pressure` of the lowest group that has one. Source:
    /// Documentation/accounting/psi.rst, "Cgroup2 interface".
    pub(crate) fn pressure_file(&self, sys: &Sysroot) -> Option<PathBuf> {
        let files = self.0.as_ref().ok()?;
        files.iter().map(|file| file.with_file_name("cpu.pressure")).find(|file| sys.exists(file))
    }
}

/// Returns the `cpu.stat` of every group of this process, of v2 or of the v1 controller `cpu`.
fn quota_files(sys: &Sysroot) -> Result<Vec<PathBuf>, ProbeError> {
    let own = memberships(&sys.read("/proc/self/cgroup")?);
    let mounts = mounts::control_groups(&sys.read("/proc/self/mountinfo")?);
    let mut files = Vec::new();
    for membership in &own {
        let is_v2 = membership.controllers.is_empty();
        if !is_v2 && !membership.controllers.iter().any(|name| name == "cpu") {
            continue;
        }
        let mount = mounts.iter().find(|mount| match is_v2 {
            true => mount.kind == "cgroup2",
            false => mount.kind == "cgroup" && mount.super_options.iter().any(|name| name == "cpu"),
        });
        let all = mount.map_or_else(Vec::new, |mount| groups(mount, &membership.path));
        files.extend(all.into_iter().map(|group| group.join("cpu.stat")).filter(|file| sys.exists(file)));
    }
    match files.is_empty() {
        true => Err(ProbeError::Unseeable("no cpu.stat of a control group can be read here")),
        false => Ok(files),
    }
}

/// A group without a quota has no such lines, and was not throttled. v1 counts the time in ns, v2 in µs.
fn quota_of(sys: &Sysroot, file: &PathBuf) -> CpuQuota {
    let text = sys.read(file).unwrap_or_default();
    let field = |key: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?.trim().parse().ok()
    };
    CpuQuota {
        periods: field("nr_periods").unwrap_or(0),
        throttled_periods: field("nr_throttled").unwrap_or(0),
        throttled_us: field("throttled_usec").or_else(|| Some(field("throttled_time")? / 1000)).unwrap_or(0),
    }
}

/// Returns hardware links: those with a `device`. `speed` is in Mbit/s, and -1 or unreadable if unknown.
fn links(sys: &Sysroot) -> Vec<NetworkLink> {
    let of = |name: &String| {
        let directory = PathBuf::from("/sys/class/net").join(name);
        if !sys.exists(directory.join("device")) {
            return None;
        }
        let megabits: Option<i64> = sys.number(directory.join("speed"));
        Some(NetworkLink {
            name: name.clone(),
            received_bytes: sys.number(directory.join("statistics/rx_bytes"))?,
            sent_bytes: sys.number(directory.join("statistics/tx_bytes"))?,
            bytes_per_second: megabits.filter(|speed| *speed > 0).map(|speed| speed as f64 * 1e6 / 8.0),
        })
    };
    sys.names("/sys/class/net").iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    const V2: &str = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

    // Protects: the throttled group counts, however deep the process is below it, in both formats.
    #[test]
    fn throttled_periods_of_v1_and_v2() {
        for (membership, mount, directory, words) in [
            ("0::/a/b\n", V2, "/sys/fs/cgroup", "nr_periods N0\nnr_throttled N9\nthrottled_usec 700\n"),
            (
                "4:cpu,cpuacct:/a/b\n",
                V1,
                "/sys/fs/cgroup/cpu",
                "nr_periods N0\nnr_throttled N9\nthrottled_time 700000\n",
            ),
        ] {
            let tree = Tree::new();
            let at = |number: &str| words.replace('N', number);
            tree.file("/proc/self/cgroup", membership)
                .file("/proc/self/mountinfo", mount)
                .file(&format!("{directory}/a/b/cpu.stat"), "usage_usec 12\n")
                .file(&format!("{directory}/a/cpu.stat"), &at("1"));
            let watch = LimitWatch::start_in(&tree.sys(), QuotaFiles::find_in(&tree.sys()), Network::Ignored);
            tree.file(&format!("{directory}/a/cpu.stat"), &at("3"));
            let seen = watch.finish();
            let quota = seen.cpu_quota.value().unwrap();
            assert_eq!((quota.periods, quota.throttled_periods, quota.throttled_us), (20, 20, 0));
            assert!(seen.network.as_result().unwrap_err().contains("no target"));
        }
    }

    // Protects: without cgroups there is a reason, not a zero.
    #[test]
    fn without_control_groups_no_throttling_is_reported() {
        let tree = Tree::new();
        let reason = |tree: &Tree| {
            let seen = LimitWatch::start_in(&tree.sys(), QuotaFiles::find_in(&tree.sys()), Network::Ignored).finish();
            seen.cpu_quota.as_result().unwrap_err().to_owned()
        };
        assert!(reason(&tree).contains("/proc/self/cgroup"));
        tree.file("/proc/self/cgroup", "0::/\n").file("/proc/self/mountinfo", V2);
        assert!(reason(&tree).contains("cpu.stat"));
    }

    // Protects: loopback and bridges are not hardware, and a speed of -1 is unknown.
    #[test]
    fn only_hardware_links_count() {
        let tree = Tree::new();
        let link = |name: &str, speed: &str, moved: &str| {
            tree.file(&format!("/sys/class/net/{name}/speed"), speed)
                .file(&format!("/sys/class/net/{name}/statistics/rx_bytes"), moved)
                .file(&format!("/sys/class/net/{name}/statistics/tx_bytes"), "7");
        };
        for (name, speed) in [("eth0", "1000"), ("eth1", "-1"), ("lo", "10")] {
            link(name, speed, "100");
            if name != "lo" {
                tree.file(&format!("/sys/class/net/{name}/device/vendor"), "x");
            }
        }
        let watch = LimitWatch::start_in(&tree.sys(), QuotaFiles::find_in(&tree.sys()), Network::Watched);
        link("eth0", "1000", "350");
        let seen = watch.finish();
        let links = seen.network.value().unwrap();
        assert_eq!(links.len(), 2);
        assert_eq!((links[0].received_bytes, links[0].sent_bytes), (250, 0));
        assert_eq!((links[0].bytes_per_second, links[1].bytes_per_second), (Some(125e6), None));
    }
}
