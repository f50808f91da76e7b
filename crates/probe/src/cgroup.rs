//! Limits of this process's control groups. Sources: cgroups(7), the kernel's
//! Documentation/admin-guide/cgroup-v2.rst and
//! cgroup-v1/{memory,blkio-controller}.rst, scheduler/sched-bwc.rst.

use crate::mounts::{self, Mount};
use crate::sysroot::Sysroot;
use plumb_result::observe::CgroupLimits;
use std::path::{Path, PathBuf};

/// In v1, "no limit" is the largest number of whole pages, a little less than 2⁶³.
const V1_UNLIMITED_BYTES: u64 = 1 << 62;

/// One line of `/proc/self/cgroup`: a hierarchy and this process's group in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    /// Controllers of a v1 hierarchy; empty for v2.
    pub(crate) controllers: Vec<String>,
    pub(crate) path: PathBuf,
}

pub(crate) fn memberships(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let _hierarchy = parts.next()?;
            let controllers = parts.next()?.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Some(Membership { controllers, path: parts.next()?.into() })
        })
        .collect()
}

/// Reads the limits of this process's groups and of all groups above them. The tightest limit counts.
pub(crate) fn limits(sys: &Sysroot) -> CgroupLimits {
    let mut limits = CgroupLimits::default();
    let own = match sys.read("/proc/self/cgroup") {
        Ok(text) => memberships(&text),
        Err(error) => {
            limits.unseen.push(error.to_string());
            return limits;
        }
    };
    let mounts = match sys.read("/proc/self/mountinfo") {
        Ok(text) => mounts::control_groups(&text),
        Err(error) => {
            limits.unseen.push(error.to_string());
            return limits;
        }
    };
    for membership in &own {
        if membership.controllers.is_empty() {
            match mounts.iter().find(|mount| mount.kind == "cgroup2") {
                Some(mount) => v2(sys, &mut limits, &groups(mount, &membership.path)),
                // A hybrid system may leave v2 unmounted, without controllers in it: then no limit is missed.
                None if own.len() == 1 => limits.unseen.push("cgroup v2 is not mounted here".to_owned()),
                None => {}
            }
        }
        for controller in ["memory", "cpu", "blkio"] {
            if !membership.controllers.iter().any(|name| name == controller) {
                continue;
            }
            let of_controller =
                |mount: &&Mount| mount.kind == "cgroup" && mount.super_options.iter().any(|name| name == controller);
            match mounts.iter().find(of_controller) {
                Some(mount) => v1(sys, &mut limits, controller, &groups(mount, &membership.path)),
                None => limits.unseen.push(format!("the cgroup v1 controller {controller} is not mounted here")),
            }
        }
    }
    limits
}

/// Returns the directories of a group and of all groups above it, lowest first, as far as they are mounted here.
pub(crate) fn groups(mount: &Mount, path: &Path) -> Vec<PathBuf> {
    // In a container without its own namespace, the mount shows a subtree, and the path starts at the real root.
    let inside = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(Path::new(""));
    let outside = inside.components().any(|part| part == std::path::Component::ParentDir);
    let mut group = if outside { mount.point.clone() } else { mount.point.join(inside) };
    let mut groups = vec![group.clone()];
    while group != mount.point && group.pop() {
        groups.push(group.clone());
    }
    groups
}

fn v2(sys: &Sysroot, limits: &mut CgroupLimits, groups: &[PathBuf]) {
    for group in groups {
        // `memory.high` does not kill, but it stops the growth of the page cache.
        for file in ["memory.max", "memory.high"] {
            tighten_memory(limits, sys.number(group.join(file)));
        }
        let quota = sys.line(group.join("cpu.max"));
        tighten_cpus(limits, quota.and_then(|line| v2_cpus(&line)));
        for line in sys.read(group.join("io.max")).unwrap_or_default().lines() {
            limits.io.push(format!("io.max {}", line.trim()));
        }
    }
}

/// Parses `QUOTA PERIOD`, both in µs; the quota may be `max`.
fn v2_cpus(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    quota_cpus(quota.parse().ok()?, period.trim().parse().ok()?)
}

fn quota_cpus(quota_us: i64, period_us: i64) -> Option<f64> {
    (quota_us > 0 && period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

fn v1(sys: &Sysroot, limits: &mut CgroupLimits, controller: &str, groups: &[PathBuf]) {
    for group in groups {
        match controller {
            "memory" => {
                let bytes = sys.number(group.join("memory.limit_in_bytes"));
                tighten_memory(limits, bytes.filter(|bytes| *bytes < V1_UNLIMITED_BYTES));
            }
            "cpu" => {
                let quota = sys.number(group.join("cpu.cfs_quota_us"));
                let period = sys.number(group.join("cpu.cfs_period_us"));
                tighten_cpus(limits, quota.zip(period).and_then(|(quota, period)| quota_cpus(quota, period)));
            }
            _ => {
                for what in ["read_bps", "write_bps", "read_iops", "write_iops"] {
                    let file = format!("blkio.throttle.{what}_device");
                    for line in sys.read(group.join(&file)).unwrap_or_default().lines() {
                        limits.io.push(format!("{file} {}", line.trim()));
                    }
                }
            }
        }
    }
    if let Some(lowest) = groups.first().filter(|group| !sys.exists(group)) {
        limits.unseen.push(format!("{} does not exist here", lowest.display()));
    }
}

fn tighten_memory(limits: &mut CgroupLimits, bytes: Option<u64>) {
    limits.memory_bytes = [limits.memory_bytes, bytes].into_iter().flatten().min();
}

fn tighten_cpus(limits: &mut CgroupLimits, cpus: Option<f64>) {
    limits.cpus = [limits.cpus, cpus].into_iter().flatten().reduce(f64::min);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: ancestors' limits apply, `max` means no limit, and the lines of io.max are kept as written.
    #[test]
    fn v2_the_tightest_ancestor_wins() {
        let tree = Tree::new();
        let group = "/sys/fs/cgroup/a.slice/b.service";
        tree.file("/proc/self/cgroup", "0::/a.slice/b.service\n")
            .file("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n")
            .file(&format!("{group}/memory.max"), "max\n")
            .file(&format!("{group}/memory.high"), "3221225472\n")
            .file(&format!("{group}/cpu.max"), "max 100000\n")
            .file(&format!("{group}/io.max"), "254:0 rbps=1048576 wbps=max riops=max wiops=500\n")
            .file("/sys/fs/cgroup/a.slice/memory.max", "2147483648\n")
            .file("/sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
        let limits = limits(&tree.sys());
        assert_eq!(limits.memory_bytes, Some(2 << 30));
        assert_eq!(limits.cpus, Some(1.5));
        assert_eq!(limits.io, ["io.max 254:0 rbps=1048576 wbps=max riops=max wiops=500"]);
        assert!(limits.unseen.is_empty(), "{:?}", limits.unseen);
    }

    // Protects: one hierarchy per controller next to an empty v2, and huge numbers and -1 as "no limit".
    #[test]
    fn v1_next_to_v2() {
        let tree = Tree::new();
        tree.file("/proc/self/cgroup", "7:blkio:/\n4:memory:/box/inner\n2:cpu,cpuacct:/box\n1:name=systemd:/\n0::/\n")
            .file(
                "/proc/self/mountinfo",
                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                 32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            )
            .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
            .file("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "536870912\n")
            .file("/sys/fs/cgroup/memory/box/inner/memory.limit_in_bytes", "1073741824\n")
            .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
            .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
            .file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n")
            .file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n")
            .file("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "8:0 1048576\n8:16 2097152\n");
        let limits = limits(&tree.sys());
        assert_eq!(limits.memory_bytes, Some(512 << 20));
        assert_eq!(limits.cpus, Some(0.5));
        assert_eq!(
            limits.io,
            ["blkio.throttle.write_bps_device 8:0 1048576", "blkio.throttle.write_bps_device 8:16 2097152"]
        );
        assert!(limits.unseen.is_empty(), "{:?}", limits.unseen);
    }

    // Protects: a container that sees only its own subtree, mounted at the top.
    #[test]
    fn a_mounted_sub_tree() {
        let tree = Tree::new();
        tree.file("/proc/self/cgroup", "4:memory:/docker/abc\n")
            .file("/proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n")
            .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
        assert_eq!(limits(&tree.sys()).memory_bytes, Some(256 << 20));
    }

    // Protects: an unreadable limit is reported, and not taken for "no limit".
    #[test]
    fn unreadable_limits_are_reported() {
        let tree = Tree::new();
        assert!(limits(&tree.sys()).unseen[0].contains("/proc/self/cgroup"));
        tree.file("/proc/self/cgroup", "0::/\n").file("/proc/self/mountinfo", "");
        assert_eq!(limits(&tree.sys()).unseen, ["cgroup v2 is not mounted here"]);
    }
}
