//! `plumb try` on file systems with little information or little space: a chroot, 64 MiB, and FUSE.

use crate::alone;
use crate::common::disks::{Mounted, system};
use crate::common::{Home, assert_no_test_data, needs};
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Copies the program and the libraries that it loads below `root`.
fn copy_program(root: &Path) {
    let program = env!("CARGO_BIN_EXE_plumb");
    let listed = system("sh", &["-c", "ldd \"$0\" || true", program]);
    let libraries = listed.split_whitespace().filter(|word| word.starts_with('/')).map(|word| (word, word));
    for (from, to) in libraries.chain([(program, "/plumb")]) {
        let to = root.join(to.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
}

/// Protects: in a chroot below a mount point, `/proc/self/mountinfo` does not list the mount that holds a directory; statfs answers.
#[test]
fn a_chroot_without_a_mount_of_its_own_is_measured() {
    let _alone = alone();
    if !needs::root_and(&["chroot", "unshare", "mount", "ldd"]) {
        return;
    }
    let home = Home::new();
    let root = home.work().join("root");
    for directory in ["proc", "data", "tmp"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    copy_program(&root);
    let try_line = "/plumb try /data --size 16MiB --time 100ms --no-store";
    // The type of file system comes from statfs.
    let script = "exec chroot \"$0\" /plumb posix /data --only make.dir,unlink.removes --no-store";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&root);
    let output = crate::common::CommandOutput::run(command).expect(0);
    assert!(!output.out.starts_with(' ') && output.out.contains("conforms to POSIX"), "{}", output.out);
    for proc in ["mount -t proc proc \"$0/proc\"", "true"] {
        let script = format!("{proc} && exec chroot \"$0\" {try_line}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).arg(&root);
        let output = crate::common::CommandOutput::run(command);
        assert!(matches!(output.code, 0 | 3), "{script}: {}\n{}", output.out, output.err);
        assert!(!output.err.contains("cannot see how much is free"), "{}", output.err);
        output.expect_stdout(&["/data", "Sequential 1 MiB", "Small files"]);
        assert_no_test_data(&root.join("data"));
    }
}

/// Protects: a file system of 64 MiB is measured with the size that the refusal names.
#[test]
fn a_file_system_of_64_mib_is_measured_with_a_size() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let home = Home::new();
    let small = Mounted::on_loop("ext4", 64 * MIB, "");
    let line = format!("try {} --time 100ms", small.as_str());
    home.plumb(&line).expect(2).expect_stderr(&["too little to measure with", "`--size 8MiB`"]);
    let output = home.plumb(&format!("{line} --size 8MiB")).expect_measured();
    assert!(matches!(output.code, 0 | 3), "{}\n{}", output.out, output.err);
    output.expect_stdout(&["8 MiB file", "Sequential 1 MiB", "Small files"]);
    assert_no_test_data(small.path());
}

/// A directory that bindfs mounts at another place.
struct Bound {
    at: std::path::PathBuf,
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

/// Protects: FUSE is called a program on this machine and not a network.
#[test]
fn fuse_is_called_what_it_is() {
    let _alone = alone();
    if !needs::root_and(&["bindfs", "umount"]) || !Path::new("/dev/fuse").exists() {
        return;
    }
    let home = Home::new();
    let [from, at] = ["from", "at"].map(|name| home.work().join(name));
    for directory in [&from, &at] {
        std::fs::create_dir(directory).unwrap();
    }
    system("bindfs", &[from.to_str().unwrap(), at.to_str().unwrap()]);
    let bound = Bound { at };
    let output = home.plumb(&format!("try {} --size 16MiB --time 100ms -v", bound.at.display())).expect_measured();
    let output = output.expect_stdout(&["served by a program"]);
    for wrong in ["(network)", "remotely"] {
        assert!(!output.out.contains(wrong), "{}", output.out);
    }
    assert_no_test_data(&bound.at);
}
