//! The machine and its settings, apart from the storage.

use crate::cgroup;
use crate::platform::{self, Hypervisor};
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::observe::Environment;
use std::collections::BTreeMap;

/// Reads the running machine.
///
/// In `facts`, names that begin with `now.` (`now.loadavg`, `now.uptime_s`) change constantly and are not settings: a
/// comparison of two environments ignores them.
pub fn environment() -> Environment {
    environment_in(&Sysroot::real())
}

/// Like [`environment`], for the machine described by a tree of files.
pub(crate) fn environment_in(sys: &Sysroot) -> Environment {
    let uname = sys.is_real().then(rustix::system::uname);
    let of_uname = |pick: fn(&rustix::system::Uname) -> &std::ffi::CStr| {
        uname.as_ref().map(|uname| pick(uname).to_string_lossy().into_owned())
    };
    let cpuinfo = sys.read("/proc/cpuinfo").unwrap_or_default();
    let hypervisor = if sys.is_real() { platform::hypervisor() } else { Hypervisor::Unknown };
    Environment {
        hostname: sys.line("/proc/sys/kernel/hostname").or(of_uname(|uname| uname.nodename())).unwrap_or_default(),
        os: os(sys).or(of_uname(|uname| uname.sysname())).unwrap_or_else(|| std::env::consts::OS.to_owned()),
        arch: of_uname(|uname| uname.machine())
            .or_else(|| sys.line("/proc/sys/kernel/arch"))
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        kernel: sys.line("/proc/sys/kernel/osrelease").or(of_uname(|uname| uname.release())).unwrap_or_default(),
        kernel_cmdline: sys.read("/proc/cmdline").map(|line| line.trim().to_owned()).into(),
        libc: platform::libc_version(),
        cpu: cpu_model(sys, &cpuinfo),
        cpus: cpus(sys, &cpuinfo),
        ram_bytes: ram_bytes(sys),
        virtualisation: virtualisation(sys, &cpuinfo, hypervisor),
        clocksource: sys
            .read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .map(|line| line.trim().to_owned())
            .into(),
        governor: governor(sys),
        cgroup: cgroup::limits(sys),
        facts: facts(sys, &cpuinfo),
    }
}

/// Source: os-release(5).
fn os(sys: &Sysroot) -> Option<String> {
    let text = sys.read("/etc/os-release").or_else(|_| sys.read("/usr/lib/os-release")).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    };
    value("PRETTY_NAME").or_else(|| {
        let name = value("NAME")?;
        Some(match value("VERSION_ID") {
            Some(version) => format!("{name} {version}"),
            None => name,
        })
    })
}

/// Returns the value of the first line `key : value`.
fn cpuinfo_value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

fn cpu_model(sys: &Sysroot, cpuinfo: &str) -> String {
    for key in ["model name", "Model", "cpu model", "cpu", "Processor", "uarch"] {
        if let Some(model) = cpuinfo_value(cpuinfo, key) {
            return model.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    // 64-bit ARM reports numbers, and sometimes the board's name.
    let core = cpuinfo_value(cpuinfo, "CPU implementer")
        .zip(cpuinfo_value(cpuinfo, "CPU part"))
        .map(|(implementer, part)| format!("implementer {implementer} part {part}"));
    let board = sys.line("/proc/device-tree/model").map(|model| model.trim_end_matches('\0').to_owned());
    match (board, core) {
        (Some(board), Some(core)) => format!("{board}, {core}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "unknown".to_owned(),
    }
}

fn cpus(sys: &Sysroot, cpuinfo: &str) -> u32 {
    if let Some(count) = sys.line("/sys/devices/system/cpu/online").and_then(|list| list_length(&list)) {
        return count;
    }
    let lines = cpuinfo.lines().filter(|line| line.split(':').next().is_some_and(|key| key.trim() == "processor"));
    match lines.count() {
        0 => std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        count => count as u32,
    }
}

/// Counts the numbers in a list such as `0-3,8,10-11`.
fn list_length(list: &str) -> Option<u32> {
    let mut count = 0u32;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (count > 0).then_some(count)
}

fn ram_bytes(sys: &Sysroot) -> u64 {
    if let Some(bytes) = sys.read("/proc/meminfo").ok().and_then(|text| crate::counters::kib(&text, "MemTotal")) {
        return bytes;
    }
    0
}

/// Asks the processor first, then the files of the firmware and of the hypervisor.
fn virtualisation(sys: &Sysroot, cpuinfo: &str, hypervisor: Hypervisor) -> Seen<String> {
    let firmware = || {
        let text: Vec<String> = ["sys_vendor", "product_name", "bios_vendor", "board_vendor"]
            .iter()
            .filter_map(|name| sys.line(format!("/sys/class/dmi/id/{name}")))
            .collect();
        (!text.is_empty()).then(|| text.join(" "))
    };
    let by_firmware = || firmware().as_deref().and_then(firmware_name).map(str::to_owned);
    match hypervisor {
        Hypervisor::Present(name) => return Seen::Yes(name),
        Hypervisor::Absent => return Seen::Yes("none".to_owned()),
        Hypervisor::Unknown => {}
    }
    if let Some(kind) = sys.line("/sys/hypervisor/type") {
        return Seen::Yes(kind);
    }
    if let Some(tree) = sys.line("/proc/device-tree/hypervisor/compatible") {
        return Seen::Yes(tree.trim_end_matches('\0').to_owned());
    }
    if let Some(name) = by_firmware() {
        return Seen::Yes(name);
    }
    match cpuinfo_value(cpuinfo, "flags") {
        Some(flags) if flags.split(' ').any(|flag| flag == "hypervisor") => Seen::Yes("unnamed".to_owned()),
        Some(_) => Seen::Yes("none".to_owned()),
        None => Seen::no("neither the processor nor the firmware reports whether there is a hypervisor"),
    }
}

/// Recognises a virtual machine by its firmware's strings. `None` does not prove a physical one.
fn firmware_name(words: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 14] = [
        ("KVM", "kvm"),
        ("OpenStack", "kvm"),
        ("KubeVirt", "kvm"),
        ("Amazon EC2", "amazon"),
        ("Google Compute Engine", "google"),
        ("QEMU", "qemu"),
        ("VMware", "vmware"),
        ("VMW", "vmware"),
        ("innotek GmbH", "virtualbox"),
        ("VirtualBox", "virtualbox"),
        ("Xen", "xen"),
        ("BHYVE", "bhyve"),
        ("Hyper-V", "hyper-v"),
        ("Parallels", "parallels"),
    ];
    KNOWN.iter().find(|(word, _)| words.contains(word)).map(|(_, name)| *name)
}

fn governor(sys: &Sysroot) -> Seen<String> {
    let mut governors: Vec<String> = sys
        .names("/sys/devices/system/cpu")
        .iter()
        .filter(|name| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok()))
        .filter_map(|name| sys.line(format!("/sys/devices/system/cpu/{name}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    if governors.is_empty() {
        return Seen::no("this kernel does not control the processor frequency");
    }
    Seen::Yes(governors.join(", "))
}

/// Files whose only line is a fact.
const LINES: [(&str, &str); 33] = [
    ("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
    ("vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
    ("vm.dirty_bytes", "/proc/sys/vm/dirty_bytes"),
    ("vm.dirty_background_bytes", "/proc/sys/vm/dirty_background_bytes"),
    ("vm.dirty_expire_centisecs", "/proc/sys/vm/dirty_expire_centisecs"),
    ("vm.dirty_writeback_centisecs", "/proc/sys/vm/dirty_writeback_centisecs"),
    ("vm.vfs_cache_pressure", "/proc/sys/vm/vfs_cache_pressure"),
    ("vm.swappiness", "/proc/sys/vm/swappiness"),
    ("vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"),
    ("vm.laptop_mode", "/proc/sys/vm/laptop_mode"),
    ("vm.min_free_kbytes", "/proc/sys/vm/min_free_kbytes"),
    ("vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"),
    ("vm.nr_hugepages", "/proc/sys/vm/nr_hugepages"),
    ("fs.aio-max-nr", "/proc/sys/fs/aio-max-nr"),
    ("fs.file-max", "/proc/sys/fs/file-max"),
    ("kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled"),
    ("kernel.dmesg_restrict", "/proc/sys/kernel/dmesg_restrict"),
    ("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
    ("kernel.randomize_va_space", "/proc/sys/kernel/randomize_va_space"),
    ("kernel.version", "/proc/version"),
    ("cpu.smt", "/sys/devices/system/cpu/smt/control"),
    ("cpu.boost", "/sys/devices/system/cpu/cpufreq/boost"),
    ("cpu.no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("cpu.scaling_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    ("cpu.idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
    ("numa.nodes", "/sys/devices/system/node/online"),
    ("dmi.sys_vendor", "/sys/class/dmi/id/sys_vendor"),
    ("dmi.product_name", "/sys/class/dmi/id/product_name"),
    ("dmi.bios_version", "/sys/class/dmi/id/bios_version"),
    ("clocksource.available", "/sys/devices/system/clocksource/clocksource0/available_clocksource"),
    ("security.lockdown", "/sys/kernel/security/lockdown"),
    ("now.loadavg", "/proc/loadavg"),
    ("swap.zswap", "/sys/module/zswap/parameters/enabled"),
];

fn facts(sys: &Sysroot, cpuinfo: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for (name, path) in LINES {
        if let Some(line) = sys.line(path) {
            facts.insert(name.to_owned(), line);
        }
    }
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    for (name, file) in [("transparent_hugepage", "enabled"), ("transparent_hugepage.defrag", "defrag")] {
        let line = sys.line(format!("/sys/kernel/mm/transparent_hugepage/{file}"));
        say(name, line.map(|line| bracketed(&line).to_owned()));
    }
    say("microcode", cpuinfo_value(cpuinfo, "microcode").map(str::to_owned));
    say("mitigations", mitigations(sys));
    say("swap", swap(sys));
    say("container", container(sys));
    say("now.uptime_s", sys.line("/proc/uptime").and_then(|line| Some(line.split('.').next()?.to_owned())));
    say("page_bytes", sys.is_real().then(|| rustix::param::page_size().to_string()));
    say("ticks_per_second", sys.is_real().then(|| platform::ticks_per_second().to_string()));
    if let Ok(status) = sys.read("/proc/self/status") {
        let field = |key: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            Some(value.trim().to_owned())
        };
        say("process.cpus_allowed", field("Cpus_allowed_list"));
        say("process.effective_uid", field("Uid").and_then(|ids| Some(ids.split_whitespace().nth(1)?.to_owned())));
        say("process.capabilities", field("CapEff"));
    }
    if let Ok(limits) = sys.read("/proc/self/limits") {
        for (name, title) in [
            ("limit.open_files", "Max open files"),
            ("limit.locked_memory", "Max locked memory"),
            ("limit.file_size", "Max file size"),
            ("limit.processes", "Max processes"),
            ("limit.cpu_time", "Max cpu time"),
        ] {
            let rest = limits.lines().find_map(|line| line.strip_prefix(title));
            say(name, rest.and_then(|rest| Some(rest.split_whitespace().next()?.to_owned())));
        }
    }
    facts
}

/// Returns the chosen word of a list such as `always [madvise] never`; the whole line if none is chosen.
pub(crate) fn bracketed(line: &str) -> &str {
    line.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0)).unwrap_or(line).trim()
}

/// Lists mitigated and unmitigated vulnerabilities, without those that do not affect this processor.
fn mitigations(sys: &Sysroot) -> Option<String> {
    const DIRECTORY: &str = "/sys/devices/system/cpu/vulnerabilities";
    let names = sys.names(DIRECTORY);
    if names.is_empty() {
        return None;
    }
    let touched: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let line = sys.line(format!("{DIRECTORY}/{name}"))?;
            (line != "Not affected").then(|| format!("{name}: {}", line.trim_start_matches("Mitigation: ")))
        })
        .collect();
    Some(if touched.is_empty() { "not affected".to_owned() } else { touched.join("; ") })
}

/// Lists swap areas and their sizes. Source: proc_swaps(5); sizes are in KiB.
fn swap(sys: &Sysroot) -> Option<String> {
    let text = sys.read("/proc/swaps").ok()?;
    let areas: Vec<String> = text
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let (name, _kind, kib) = (fields.next()?, fields.next()?, fields.next()?);
            Some(format!("{} {kib} KiB", crate::mounts::unescape(name)))
        })
        .collect();
    Some(if areas.is_empty() { "none".to_owned() } else { areas.join(", ") })
}

/// Detects a container; `None` does not prove that there is none.
fn container(sys: &Sysroot) -> Option<String> {
    if let Some(name) = sys.line("/run/systemd/container") {
        return Some(name);
    }
    if sys.exists("/run/.containerenv") {
        return Some("podman".to_owned());
    }
    if sys.exists("/.dockerenv") {
        return Some("docker".to_owned());
    }
    // Readable by root only; otherwise the control group's path is the last hint.
    if let Ok(variables) = sys.read("/proc/1/environ") {
        let name = variables.split('\0').find_map(|variable| variable.strip_prefix("container="));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            return Some(name.to_owned());
        }
    }
    let groups = sys.read("/proc/self/cgroup").ok()?;
    ["kubepods", "docker", "libpod", "lxc"].iter().find(|word| groups.contains(*word)).map(|word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: every text is read from its file and stripped of decoration.
    #[test]
    fn a_described_machine() {
        let tree = Tree::new();
        tree.file("/proc/sys/kernel/hostname", "box\n")
            .file("/proc/sys/kernel/osrelease", "6.1.0-35-amd64\n")
            .file("/proc/sys/kernel/arch", "aarch64\n")
            .file("/etc/os-release", "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")
            .file("/proc/cmdline", "ro quiet mitigations=off\n")
            .file(
                "/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R)\nmicrocode\t: 0x2b\nflags\t\t: fpu vme\n",
            )
            .file("/sys/devices/system/cpu/online", "0-2,8\n")
            .file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
            .file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n")
            .file("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n")
            .file("/sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n")
            .file("/sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers\n")
            .file("/sys/devices/system/cpu/vulnerabilities/srbds", "Vulnerable\n")
            .file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
            .file("/proc/meminfo", "MemTotal:        1024 kB\nMemFree: 1 kB\n")
            .file("/proc/sys/vm/dirty_ratio", "20\n")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 2097148 0 -2\n")
            .file("/proc/self/limits", "Limit Soft Hard Units\nMax open files            1024   4096  files\n")
            .file("/proc/self/status", "Name:\tx\nUid:\t1000\t1001\t1000\t1000\nCpus_allowed_list:\t0-1\n");
        let seen = environment_in(&tree.sys());
        assert_eq!(seen.hostname, "box");
        assert_eq!(seen.os, "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(seen.arch, "aarch64");
        assert_eq!(seen.kernel, "6.1.0-35-amd64");
        assert_eq!(seen.kernel_cmdline, Seen::Yes("ro quiet mitigations=off".to_owned()));
        assert_eq!(seen.cpu, "Intel(R) Xeon(R)");
        assert_eq!(seen.cpus, 4);
        assert_eq!(seen.ram_bytes, 1 << 20);
        assert_eq!(seen.clocksource, Seen::Yes("hpet".to_owned()));
        assert_eq!(seen.governor, Seen::Yes("performance, powersave".to_owned()));
        assert_eq!(seen.virtualisation, Seen::Yes("none".to_owned()));
        let fact = |name: &str| seen.facts.get(name).map(String::as_str);
        assert_eq!(fact("vm.dirty_ratio"), Some("20"));
        assert_eq!(fact("transparent_hugepage"), Some("madvise"));
        assert_eq!(fact("mitigations"), Some("mds: Clear CPU buffers; srbds: Vulnerable"));
        assert_eq!(fact("microcode"), Some("0x2b"));
        assert_eq!(fact("swap"), Some("/dev/sda2 2097148 KiB"));
        assert_eq!(fact("limit.open_files"), Some("1024"));
        assert_eq!(fact("process.effective_uid"), Some("1001"));
        assert_eq!(fact("process.cpus_allowed"), Some("0-1"));
        assert_eq!(fact("container"), None);
    }

    // Protects: the order of the evidence for a hypervisor, and that none of it is invented.
    #[test]
    fn hypervisors() {
        let tree = Tree::new();
        let sys = tree.sys();
        let seen = |cpuinfo: &str, word| virtualisation(&sys, cpuinfo, word);
        assert_eq!(seen("", Hypervisor::Present("kvm".to_owned())), Seen::Yes("kvm".to_owned()));
        assert_eq!(seen("", Hypervisor::Absent), Seen::Yes("none".to_owned()));
        assert!(matches!(seen("", Hypervisor::Unknown), Seen::No(_)));
        assert_eq!(seen("flags : fpu hypervisor", Hypervisor::Unknown), Seen::Yes("unnamed".to_owned()));
        tree.file("/sys/class/dmi/id/product_name", "VMware Virtual Platform\n");
        assert_eq!(seen("", Hypervisor::Unknown), Seen::Yes("vmware".to_owned()));
        tree.file("/sys/hypervisor/type", "xen\n");
        assert_eq!(seen("", Hypervisor::Unknown), Seen::Yes("xen".to_owned()));
    }

    // Protects: ARM machines, which have no "model name".
    #[test]
    fn arm_processors_have_a_name() {
        let tree = Tree::new();
        tree.file("/proc/device-tree/model", "Raspberry Pi 4\0");
        let cpuinfo = "processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n";
        assert_eq!(cpu_model(&tree.sys(), cpuinfo), "Raspberry Pi 4, implementer 0x41 part 0xd08");
        assert_eq!(cpus(&tree.sys(), cpuinfo), 1);
        assert_eq!(list_length("0-"), None);
        assert_eq!(list_length("3-1"), None);
    }

    // Protects: reading the machine that runs the tests.
    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine() {
        let seen = environment();
        assert!(!seen.hostname.is_empty() && !seen.os.is_empty() && !seen.kernel.is_empty() && !seen.cpu.is_empty());
        assert!(seen.cpus >= 1);
        assert!(seen.ram_bytes > 16 << 20, "{}", seen.ram_bytes);
        assert!(seen.libc.starts_with("glibc 2.") || seen.libc == "musl", "{}", seen.libc);
        assert!(seen.facts.contains_key("vm.dirty_ratio"), "{:?}", seen.facts);
    }
}
