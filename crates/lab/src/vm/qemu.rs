//! QEMU's command line. Source: qemu(1).

use super::error::{NoKvm, VmError};
use super::root::{ROOT_SERIAL, ROOT_VARIABLE, RootDisk, RootFormat};
use super::{Accel, DISK_SERIAL, PORT_NAME};
use std::path::{Path, PathBuf};

/// Parts of a machine.
#[derive(Debug, Clone)]
pub(super) struct GuestMachine<'a> {
    pub(super) arch: &'a str,
    pub(super) kernel: &'a Path,
    pub(super) image: &'a Path,
    pub(super) disks: &'a [PathBuf],
    /// Disk with its own userland.
    pub(super) root: Option<&'a RootDisk>,
    /// Whether to bypass the host's page cache.
    pub(super) direct: bool,
    pub(super) memory_bytes: u64,
    pub(super) cpus: u32,
    pub(super) accel: Chosen,
    pub(super) console: &'a Path,
}

/// Accelerator of the machine's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    Kvm,
    Tcg,
}

impl Chosen {
    /// Resolves the study's choice on this host.
    ///
    /// # Errors
    /// Returns an error if KVM is requested by name and is not available.
    pub(super) fn resolve(accel: Accel, kvm: Result<(), NoKvm>) -> Result<Chosen, VmError> {
        match (accel, kvm) {
            (Accel::Tcg, _) | (Accel::Auto, Err(_)) => Ok(Chosen::Tcg),
            (_, Ok(())) => Ok(Chosen::Kvm),
            (Accel::Kvm, Err(reason)) => Err(VmError::Kvm(reason)),
        }
    }

    /// Returns the name that users know.
    pub(super) fn name(self) -> &'static str {
        match self {
            Chosen::Kvm => "KVM",
            Chosen::Tcg => "software emulation (TCG)",
        }
    }
}

/// Checks that KVM can be used here. The device alone is not enough: some guests have one without processor support,
/// and a machine started with it hangs silently.
///
/// # Errors
/// Returns the reason if it cannot.
pub(super) fn kvm() -> Result<(), NoKvm> {
    let open = |path| move |source| NoKvm::Open { path, source };
    plumb_engine::guard::open_channel("/dev/kvm").map_err(open("/dev/kvm"))?;
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").map_err(open("/proc/cpuinfo"))?;
    if std::env::consts::ARCH == "x86_64" && !has_virtualisation(&cpuinfo) {
        return Err(NoKvm::NoExtensions);
    }
    Ok(())
}

fn has_virtualisation(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.flat_map(str::split_whitespace).any(|flag| ["vmx", "svm"].contains(&flag))
}

/// Returns the program's name for an architecture.
pub(super) fn program(arch: &str) -> String {
    format!("qemu-system-{arch}")
}

/// Returns QEMU's arguments. The channel to the agent is standard input, a connected socket.
pub(super) fn words(machine: &GuestMachine<'_>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: String| {
        words.push(option.to_owned());
        words.push(value);
    };
    let (board, console) = if machine.arch == "aarch64" { ("virt", "ttyAMA0") } else { ("pc", "ttyS0") };
    let (accel, cpu) = match machine.accel {
        Chosen::Kvm => ("kvm", "host"),
        Chosen::Tcg => ("tcg", "max"),
    };
    add("-machine", board.into());
    add("-accel", accel.into());
    add("-cpu", cpu.into());
    add("-smp", machine.cpus.to_string());
    // QEMU's own unit is MiB.
    add("-m", format!("{}M", machine.memory_bytes.div_ceil(1 << 20)));
    add("-display", "none".into());
    add("-serial", format!("file:{}", quoted(machine.console)));
    add("-kernel", machine.kernel.display().to_string());
    add("-initrd", machine.image.display().to_string());
    let mut append = kernel_words(console);
    if machine.root.is_some() {
        append.push_str(&format!(" {ROOT_VARIABLE}={ROOT_SERIAL}"));
    }
    add("-append", append);
    add("-chardev", "socket,id=agent,fd=0".into());
    add("-device", "virtio-serial-pci".into());
    add("-device", format!("virtserialport,chardev=agent,name={PORT_NAME}"));
    for (number, disk) in machine.disks.iter().enumerate() {
        let name = format!("{DISK_SERIAL}{}", number + 1);
        let cache = if machine.direct { "none" } else { "writeback" };
        let file = quoted(disk);
        add("-drive", format!("if=none,id={name},format=raw,cache={cache},aio=threads,discard=unmap,file={file}"));
        add("-device", format!("virtio-blk-pci,drive={name},serial={name}"));
    }
    // After the disks, so that their names do not depend on it.
    if let Some(root) = machine.root {
        let how = match root.format {
            RootFormat::Packed => "format=raw,readonly=on",
            RootFormat::Raw => "format=raw,snapshot=on",
            RootFormat::Qcow2 => "format=qcow2,snapshot=on",
        };
        add("-drive", format!("if=none,id=root,{how},cache=writeback,file={}", quoted(&root.path)));
        add("-device", format!("virtio-blk-pci,drive=root,serial={ROOT_SERIAL}"));
    }
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned));
    words
}

/// Returns the kernel's command line. Unknown words that contain `=` become the environment of the first process.
fn kernel_words(console: &str) -> String {
    // On a busy host the kernel's test of its timer fails now and then ("IO-APIC + timer doesn't work"),
    // and it panics. `panic=-1` makes a panic reboot at once, which ends the machine. No udev runs here
    // that device-mapper could wait for.
    format!(
        "console={console} loglevel=4 panic=-1 no_timer_check PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DM_DISABLE_UDEV=1 XDG_DATA_HOME=/run/plumb"
    )
}

/// Quotes a path for a QEMU option: commas are doubled.
fn quoted(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine<'a>(disks: &'a [PathBuf]) -> GuestMachine<'a> {
        GuestMachine {
            arch: "x86_64",
            kernel: Path::new("/boot/vmlinuz"),
            image: Path::new("/cache/a.cpio"),
            disks,
            root: None,
            direct: true,
            memory_bytes: 512 << 20,
            cpus: 2,
            accel: Chosen::Tcg,
            console: Path::new("/tmp/a,b/console"),
        }
    }

    #[test]
    fn a_command_line() {
        let disks = [PathBuf::from("/tmp/a,b/disk1"), PathBuf::from("/tmp/a,b/disk2")];
        let line = words(&machine(&disks)).join(" ");
        for part in [
            "-machine pc -accel tcg -cpu max -smp 2 -m 512M",
            "-serial file:/tmp/a,,b/console",
            "-chardev socket,id=agent,fd=0",
            "virtserialport,chardev=agent,name=plumb.agent",
            "cache=none,aio=threads,discard=unmap,file=/tmp/a,,b/disk2 -device virtio-blk-pci,drive=disk2,serial=disk2",
            "console=ttyS0 loglevel=4 panic=-1 no_timer_check",
            "-nodefaults -no-user-config -no-reboot",
        ] {
            assert!(line.contains(part), "`{part}` is not in {line}");
        }
        assert!(!line.contains("disk3"));
    }

    #[test]
    fn other_machines() {
        let line =
            words(&GuestMachine { arch: "aarch64", accel: Chosen::Kvm, direct: false, ..machine(&[]) }).join(" ");
        assert!(line.contains("-machine virt -accel kvm -cpu host") && line.contains("console=ttyAMA0"), "{line}");
        let disks = [PathBuf::from("d")];
        assert!(words(&GuestMachine { direct: false, ..machine(&disks) }).join(" ").contains("cache=writeback"));
    }

    // Protects: the user's image is never written to, and its disk does not change the names of the others.
    #[test]
    fn a_root_is_the_last_disk_and_read_only() {
        let disks = [PathBuf::from("d")];
        let line = |format| {
            let root = RootDisk { path: PathBuf::from("/a,b"), format };
            words(&GuestMachine { root: Some(&root), ..machine(&disks) }).join(" ")
        };
        for (format, how) in [
            (RootFormat::Packed, "format=raw,readonly=on"),
            (RootFormat::Raw, "format=raw,snapshot=on"),
            (RootFormat::Qcow2, "format=qcow2,snapshot=on"),
        ] {
            let line = line(format);
            let drive =
                format!("-drive if=none,id=root,{how},cache=writeback,file=/a,,b -device virtio-blk-pci,drive=root");
            assert!(line.contains(&drive) && line.contains("serial=plumb-root"), "{line}");
            assert!(line.contains("PLUMB_ROOT=plumb-root"), "{line}");
            assert!(line.find("drive=disk1") < line.find("drive=root"), "{line}");
        }
        assert!(!words(&machine(&disks)).join(" ").contains("root,"));
    }

    // Protects: emulation is used if KVM is only a device file, and a study that requests KVM gets
    // the reason for its absence.
    #[test]
    fn accelerator_is_chosen() {
        let no = || Err(NoKvm::NoExtensions);
        assert_eq!(Chosen::resolve(Accel::Auto, no()).unwrap(), Chosen::Tcg);
        assert_eq!(Chosen::resolve(Accel::Auto, Ok(())).unwrap(), Chosen::Kvm);
        assert_eq!(Chosen::resolve(Accel::Tcg, Ok(())).unwrap(), Chosen::Tcg);
        let message = Chosen::resolve(Accel::Kvm, no()).unwrap_err().to_string();
        assert!(message.contains("neither vmx nor svm") && message.contains("run without it"), "{message}");
        assert!(has_virtualisation("flags\t\t: fpu vmx\n") && has_virtualisation("flags : svm"));
        assert!(!has_virtualisation("flags : fpu hypervisor\nmodel name : vmx"));
    }
}
