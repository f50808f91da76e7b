//! Virtual machines.

use super::{Site, alone, dialect, job, native, processes, silent, steps};
use crate::common::{Home, findings, needs};
use plumb_lab::step::Safety;
use plumb_lab::vm::VmSpec;
use plumb_lab::{Host, HostError, Vm};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns `true` if a kernel of this series is installed. `cargo xtask test --install` unpacks it.
#[track_caller]
pub(super) fn kernel(series: &str) -> bool {
    let name = format!("vmlinuz-{series}.");
    let in_boot = |root: &Path| {
        std::fs::read_dir(root.join("boot"))
            .into_iter()
            .flatten()
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(&name))
    };
    let unpacked = std::fs::read_dir("/var/lib/plumb/kernels").into_iter().flatten().flatten();
    if in_boot(Path::new("/")) || unpacked.map(|entry| entry.path()).any(|root| in_boot(&root)) {
        return needs::tools(&["qemu-system-x86_64", "mkfs.ext4"]);
    }
    needs::skip(&format!("needs a kernel {series}, see docs/hosts.md"));
    false
}

pub(super) fn spec(kernel: &str, disks: &[&str]) -> VmSpec {
    VmSpec {
        kernel: Some(kernel.into()),
        disks: disks.iter().map(|disk| (*disk).to_owned()).collect(),
        ..VmSpec::default()
    }
}

/// A machine with a kernel builds on its disk, runs, counts, and shuts down.
fn measures(series: &str) {
    if !kernel(series) {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let mut vm = Vm::boot(&spec(series, &["64MiB"]), &site.surroundings()).unwrap();
    let pid = vm.pid();
    assert!(vm.facts().kernel.starts_with(series), "{:?}", vm.facts());
    // Devices created for a machine need no permission.
    let options = ["-E", "lazy_itable_init=0,lazy_journal_init=0"];
    let system = json!([{ "kind": "mkfs", "fs": "ext4", "device": "@disks", "options": options, "mount": "/mnt/a" }]);
    vm.build("test", &steps(system), &Safety::default(), &mut silent()).unwrap();
    let dir = Path::new("/mnt/a");

    let answer = vm.run(&job(native(2), dir, 120), &mut silent()).unwrap();
    let result = plumb_document::json::to_value(&answer.result.unwrap()).unwrap();
    assert_eq!(findings(&result, "C14", "note").len(), 1, "{:#}", result["checks"]);
    assert!(result["environment"]["kernel"].to_string().contains(series), "{:#}", result["environment"]);

    let copy = dialect("dd", "if=/dev/zero of=out bs=4096 count=256 conv=fsync", "");
    let answer = vm.run(&job(copy, dir, 120), &mut silent()).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    let disk = answer.devices["vda"].counts;
    // The data, and less than the same amount of file system metadata.
    assert!((1 << 20..2 << 20).contains(&disk.written_bytes) && disk.flushes >= 1, "{disk:?}");

    let session = "set number 50\nset transactions 100\nrun\nquit\n";
    let answer = vm.run(&job(dialect("postmark", "", session), dir, 120), &mut silent()).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    assert_eq!(answer.result.unwrap().workload.name, "postmark");
    vm.undo(&mut silent()).unwrap();
    Box::new(vm).close().unwrap();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn linux_6_1() {
    measures("6.1");
}

#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn linux_6_12() {
    measures("6.12");
}

/// A machine with an array of three disks counts the array's I/O and each disk's share.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn an_array() {
    if !kernel("6.1") || !needs::tools(&["mdadm"]) {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let mut vm = Vm::boot(&spec("6.1", &["32MiB", "32MiB", "32MiB"]), &site.surroundings()).unwrap();
    let array = json!([
        { "kind": "mdadm", "name": "r", "level": 5, "devices": "@disks", "chunk": "256KiB" },
        { "kind": "mkfs", "fs": "ext4", "device": "@r", "mount": "/mnt/a" },
    ]);
    let mut output = Vec::new();
    let built = vm.build("array", &steps(array), &Safety::default(), &mut |text| output.push(text.to_owned()));
    built.unwrap_or_else(|error| panic!("{error}\n{output:#?}"));
    let copy = dialect("dd", "if=/dev/zero of=out bs=1M count=4 conv=fsync", "");
    let answer = vm.run(&job(copy, Path::new("/mnt/a"), 120), &mut silent()).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    let of_array: u64 =
        answer.devices.iter().filter(|(name, _)| name.starts_with("md")).map(|(_, one)| one.counts.written_bytes).sum();
    let of_disks: u64 =
        answer.devices.iter().filter(|(name, _)| name.starts_with("vd")).map(|(_, one)| one.counts.written_bytes).sum();
    // At least half as much again is parity; partially written stripes cost more.
    assert!(of_array >= 4 << 20 && of_disks >= of_array / 2 * 3, "{:#?}", answer.devices);
    vm.undo(&mut silent()).unwrap();
    Box::new(vm).close().unwrap();
}

/// Builds a root directory with these programs of this machine and their libraries, which calls itself
/// `plumb-test-root`.
fn root_of(programs: &[&str], root: &Path) {
    let text = format!(
        "set -e; R=$0; mkdir -p $R/etc $R/usr/bin $R/usr/sbin $R/usr/lib $R/usr/lib64 $R/tmp $R/mnt
         for name in bin sbin lib lib64; do ln -s usr/$name $R/$name; done
         echo ID=plumb-test-root >$R/etc/os-release
         for program in {}; do cp -L $(command -v $program) $R/usr/bin/$program; done
         for program in $R/usr/bin/* $1; do
             for library in $(ldd $program 2>/dev/null | grep -o '/[^ ]*'); do
                 mkdir -p $R${{library%/*}}; test -e $R$library || cp -L $library $R$library
             done
         done",
        programs.join(" ")
    );
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut command = Command::new("sh");
    command.args(["-c", &text]).arg(root).arg(super::program()).env("PATH", path);
    assert!(command.status().unwrap().success());
}

/// Another distribution's tools build in a machine, from a directory and from an image, and neither is changed.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn another_userland() {
    if !kernel("6.1") || !needs::tools(&["ldd"]) {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let root = site.path("root");
    root_of(&["sh", "cat", "ls", "mount", "umount", "mke2fs"], &root);
    std::os::unix::fs::symlink("mke2fs", root.join("usr/bin/mkfs.ext4")).unwrap();
    let machine = |root: &Path| VmSpec { root: Some(root.to_owned()), ..spec("6.1", &["64MiB"]) };
    let mut vm = Vm::boot(&machine(&root), &site.surroundings()).unwrap();
    let system = json!([
        { "kind": "cmd", "run": "echo >/etc/written; read id </etc/os-release; test $id = ID=plumb-test-root" },
        // No tools of this machine were copied.
        { "kind": "cmd", "run": "! command -v sed && ! command -v mdadm" },
        { "kind": "mkfs", "fs": "ext4", "device": "@disks", "mount": "/mnt/a" },
    ]);
    vm.build("test", &steps(system), &Safety::default(), &mut silent()).unwrap();
    let copy = dialect("dd", "if=/dev/zero of=out bs=4096 count=256 conv=fsync", "");
    let answer = vm.run(&job(copy, Path::new("/mnt/a"), 120), &mut silent()).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    // The study's disk keeps its name, and the system disk is not counted.
    assert_eq!(answer.devices.keys().filter(|name| name.starts_with("vd")).collect::<Vec<_>>(), ["vda"]);
    Box::new(vm).close().unwrap();
    assert!(!root.join("etc/written").exists());

    if !needs::tools(&["qemu-img", "sfdisk"]) {
        return;
    }
    // The same as an image of a whole disk with one partition.
    let image = site.path("disk.qcow2");
    let text =
        "set -e; cd $1; truncate -s 256M part; mkfs.ext4 -q -d root part; truncate -s 258M disk; echo 'start=2048' | sfdisk -q disk
                dd if=part of=disk bs=1M seek=1 conv=notrunc status=none; qemu-img convert -O qcow2 disk disk.qcow2";
    let made = Command::new("sh").args(["-c", text, "sh"]).arg(site.path("")).status().unwrap();
    assert!(made.success());
    let before = std::fs::read(&image).unwrap();
    let mut vm = Vm::boot(&machine(&image), &site.surroundings()).unwrap();
    let written = json!([{ "kind": "cmd", "run": "echo >/etc/written; cat /etc/written /etc/os-release" }]);
    vm.build("image", &steps(written), &Safety::default(), &mut silent()).unwrap();
    Box::new(vm).close().unwrap();
    assert!(std::fs::read(&image).unwrap() == before, "the image was changed");
}

/// If the program cannot run in a root, the console gives the reason and a suggestion; likewise for an image without a
/// system.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn a_userland_that_cannot_be_used() {
    if !kernel("6.1") {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let root = site.path("root");
    root_of(&["sh"], &root);
    let machine = |root: &Path| VmSpec { root: Some(root.to_owned()), ..spec("6.1", &[]) };
    // A program without its libraries; a static one runs in any root.
    if plumb_needs_libraries() {
        std::fs::remove_dir_all(root.join("usr/lib64")).unwrap();
        let error = Vm::boot(&machine(&root), &site.surroundings()).err().unwrap().to_string();
        assert!(error.contains("cargo xtask musl") && error.contains("PLUMB_AGENT"), "{error}");
    }
    let image = site.path("empty");
    std::fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    let error = Vm::boot(&machine(&image), &site.surroundings()).err().unwrap().to_string();
    assert!(error.contains("no system found on it") && error.contains("ext4"), "{error}");
}

fn plumb_needs_libraries() -> bool {
    Command::new("ldd").arg(super::program()).output().is_ok_and(|output| output.status.success())
}

/// A missing kernel is reported with its package.
#[test]
fn a_missing_kernel() {
    if !needs::tools(&["qemu-system-x86_64"]) {
        return;
    }
    let site = Site::new();
    for (wanted, output) in [("4.4", "linux-image-4.4"), ("/boot/no-such-kernel", "/boot/no-such-kernel")] {
        let error = Vm::boot(&spec(wanted, &[]), &site.surroundings()).err().unwrap();
        assert!(error.to_string().contains(output), "{error}");
    }
    let error = Vm::boot(&spec("4.4", &["much"]), &site.surroundings()).err().unwrap();
    assert!(error.to_string().contains("disks = \"much\""), "{error}");
}

/// Errors of a machine are found before it boots. A trial boots it, builds in it and leaves nothing behind.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn a_study_is_checked_in_its_machine() {
    if !kernel("6.1") {
        return;
    }
    let _alone = alone();
    let home = Home::new();
    let study = |options: &str, size: &str| {
        format!(
            "[experiment]\nname = \"checked\"\n[hosts]\nvm = {{ vm = {{ kernel = \"6.1\", disks = [\"64MiB\"] }} }}\n\
             [[factor]]\nname = \"barrier\"\nlevels = [0, 1]\nchange = \"hard\"\n\
             [[provision]]\nkind = \"mkfs\"\nfs = \"ext4\"\ndevice = \"@disks\"\n\
             options = [\"-E\", \"lazy_itable_init=0,lazy_journal_init=0\"]\nmount = \"/mnt/a\"\n\
             mount-options = [\"{options}\"]\n[workload]\nwrite = {{ size = \"{size}\", block = \"64KiB\" }}\n"
        )
    };
    home.file("good.toml", &study("barrier=${barrier}", "8MiB"));
    let output = home.plumb("study plan good.toml --check").expect(0);
    output.expect_stdout(&["Linux 6.1.", "2 plots built and taken down", "No problem found."]);
    // Without booting: it does not fit.
    home.file("large.toml", &study("barrier=${barrier}", "100MiB"));
    let output = home.plumb("study run large.toml").expect(2);
    output.expect_stderr(&[
        "1 problem found before the first run",
        "vm: workload `checked`: its data need 100MiB",
        "64MiB",
    ]);
    // Only the kernel knows its options; the host with invalid ones is named.
    home.file("options.toml", &study("no_such_option=${barrier}", "8MiB"));
    let output = home.plumb("study plan options.toml --check").expect(2);
    output.expect_stderr(&["vm: step 1 (mkfs): `mount -t ext4 -o no_such_option=0", "no_such_option=1"]);
}

/// A kernel panic is reported immediately with the kernel's message.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn a_panic() {
    if !kernel("6.1") {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let small = VmSpec { memory: Some("256MiB".into()), ..spec("6.1", &[]) };
    let error = Vm::boot(&small, &site.surroundings()).err().unwrap();
    for part in ["did not boot", "Kernel panic", "256 MiB of memory may be too little", "console's last lines"] {
        assert!(error.to_string().contains(part), "`{part}` is missing from {error}");
    }
}

/// A machine that dies during work is lost, with the reason.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn a_machine_that_dies() {
    if !kernel("6.1") {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let mut vm = Vm::boot(&spec("6.1", &[]), &site.surroundings()).unwrap();
    let crash = steps(json!([{ "kind": "cmd", "run": "echo c >/proc/sysrq-trigger" }]));
    let error = vm.build("crash", &crash, &Safety::default(), &mut silent()).unwrap_err();
    assert!(matches!(&error, HostError::Lost(reason) if reason.contains("Kernel panic")), "{error}");
}

/// `kill -9` of Plumb leaves neither QEMU nor files of the machine.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn a_killed_plumb() {
    if !kernel("6.1") {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let temp = site.path("temp");
    std::fs::create_dir(&temp).unwrap();
    let file = site.path("vm.toml");
    std::fs::write(&file, "kernel = \"6.1\"\ndisks = [\"16MiB\"]\n").unwrap();
    let mut plumb = Command::new(super::program())
        .args(["agent", "--vm"])
        .arg(&file)
        .env("TMPDIR", &temp)
        .env("XDG_CACHE_HOME", site.surroundings().cache)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(plumb.stdin.as_mut().unwrap(), "{{\"ask\":\"hello\",\"version\":{}}}", plumb_lab::protocol::VERSION)
        .unwrap();
    let mut line = String::new();
    BufReader::new(plumb.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"reply\":\"hello\""), "{line}");
    // After booting, only QEMU itself remains.
    assert_eq!(processes(temp.to_str().unwrap()).len(), 1);
    plumb.kill().unwrap();
    plumb.wait().unwrap();
    site.assert_no_process();
    let left: Vec<_> = std::fs::read_dir(&temp).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
