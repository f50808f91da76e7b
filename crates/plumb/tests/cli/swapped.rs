//! Directories that are swapped with symbolic links while a tool runs, and names that are not regular files, tested with the whole
//! program. `crates/engine/tests/door/swaps.rs` and `crates/guard/src/races.rs` run thousands of rounds in one process.

use crate::common::{Home, needs};
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const PRECIOUS: &str = "precious";

/// A victim directory, and a thread that keeps swapping another directory with a link to it.
struct Swapped {
    victim: PathBuf,
    files: Vec<String>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Swapped {
    fn begin(home: &Home, directory: &str, files: &[&str]) -> Swapped {
        let victim = home.work().join("victim");
        fs::create_dir(&victim).unwrap();
        for file in files {
            fs::write(victim.join(file), PRECIOUS).unwrap();
        }
        let (directory, link, to) = (home.work().join(directory), home.work().join("link"), victim.clone());
        fs::create_dir_all(&directory).unwrap();
        symlink(&victim, &link).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !stops.load(Relaxed) {
                match rustix::fs::renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE) {
                    Ok(()) => swaps += 1,
                    // The tool removed one of the two, or has not created it yet.
                    Err(_) => drop(symlink(&to, &link)),
                }
                std::thread::sleep(Duration::from_micros(swaps % 5 * 20));
            }
            swaps
        });
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Swapped { victim, files, stop, thread: Some(thread) }
    }

    /// Panics if the victim directory has changed.
    #[track_caller]
    fn is_unharmed(&self, way: &str) {
        let mut found: Vec<String> = fs::read_dir(&self.victim)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut expected = self.files.clone();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{way}");
        for file in &self.files {
            assert_eq!(fs::read_to_string(self.victim.join(file)).unwrap(), PRECIOUS, "{way}: {file}");
        }
    }

    fn end(&mut self) -> u64 {
        self.stop.store(true, Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a command for `rounds` rounds while a directory is swapped. Any exit code is fine, but not a signal or a panic.
#[track_caller]
fn survives(home: &Home, line: &str, rounds: u32, directory: &str, files: &[&str]) {
    let mut swapped = Swapped::begin(home, directory, files);
    for _ in 0..rounds {
        let output = home.command(line.split_whitespace()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some() && !error.contains("panicked"), "{line}: {} {error}", output.status);
        swapped.is_unharmed(line);
    }
    let swaps = swapped.end();
    assert!(swaps > 50, "{line}: only {swaps} exchanges");
}

/// From the review: 24 of 60 IOzone runs overwrote or removed the victim's file.
#[test]
fn iozone_keeps_to_its_directory() {
    let home = Home::new();
    survives(&home, "as iozone -i 0 -s 4k -r 4k -f d/f", 60, "d", &["f"]);
}

/// Tools that write to a file named by the user, and tools whose own subdirectories are swapped.
#[test]
fn other_tools_keep_to_their_directories() {
    let mdtest = ["file.mdtest.0.0", "file.mdtest.0.1", "dir.mdtest.0.0", "dir.mdtest.0.1"];
    let ways: [(&str, u32, &str, &[&str]); 7] = [
        ("as fio --name=a --rw=write --bs=4k --size=4k --filename=d/f", 12, "d", &["f"]),
        ("as dd if=/dev/zero of=d/f bs=4096 count=1", 12, "d", &["f"]),
        ("as ior -a POSIX -w -r -b 4k -t 4k -o d/f", 12, "d", &["f"]),
        ("as elbencho -d -w -F -D -t 1 -n 1 -N 2 -s 4k --nolive d", 12, "d/r0/d0", &["r0-f0", "r0-f1"]),
        ("as mdtest -n 2 -w 8 -d out", 12, "out/test-dir.0-0/mdtest_tree.0", &mdtest),
        ("as fs_mark -d out -n 4 -s 4096 -D 1 -N 4", 12, "out/00", &["precious"]),
        (
            "as sysbench fileio --file-num=2 --file-total-size=8k --file-test-mode=seqwr prepare",
            2,
            "d",
            &["test_file.0"],
        ),
    ];
    for (line, rounds, directory, files) in ways {
        survives(&Home::new(), line, rounds, directory, files);
    }
}

/// Tools whose directories come from a script.
#[test]
fn tools_with_scripts_keep_to_their_directories() {
    let home = Home::new();
    home.file(
        "set.f",
        "set $dir=.\ndefine fileset name=set,path=$dir,entries=4,size=4k,dirwidth=100,prealloc=100,reuse\n\
         define process name=p,instances=1 {\n thread name=t,instances=1 {\n  flowop deletefile name=delete,filesetname=set\n\
           flowop createfile name=create,filesetname=set,fd=1\n  flowop closefile name=close,fd=1\n }\n}\nrun 1\n",
    );
    home.plumb("as filebench -f set.f");
    let first = ["00000001", "00000002", "00000003", "00000004"];
    survives(&home, "as filebench -f set.f", 4, "set/00000001", &first);
    let home = Home::new();
    home.file(
        "run.pm",
        "set location pm\nset number 20\nset transactions 20\nset subdirectories 1\nset size 500 1000\nrun\nquit\n",
    );
    fs::create_dir(home.work().join("pm")).unwrap();
    let mut swapped = Swapped::begin(&home, "pm/elsewhere", &["1", "2", "3"]);
    for _ in 0..6 {
        let _ = home.command(["as", "postmark", "run.pm"]).output().unwrap();
        swapped.is_unharmed("postmark");
    }
    swapped.end();
    let home = Home::new();
    home.file(
        "load",
        "Mkdir \"\\clients\" NT_STATUS_OK\nMkdir \"\\clients\\client1\" NT_STATUS_OK\n\
                       NTCreateX \"\\clients\\client1\\a\" 0x40 0x5 2 NT_STATUS_OK\nWriteX 2 0 512 512 NT_STATUS_OK\n\
                       Close 2 NT_STATUS_OK\nUnlink \"\\clients\\client1\\a\" NT_STATUS_OK\n",
    );
    survives(&home, "as dbench -c load -t 1 1", 3, "clients/client0", &["a"]);
}

/// Links in a path that the user typed are followed.
#[test]
fn links_in_what_was_typed_are_followed() {
    for line in [
        "as iozone -i 0 -s 4k -r 4k -w -f link/f",
        "as fio --name=a --rw=write --bs=4k --size=4k --directory=link",
        "as elbencho -d -w -t 1 -n 1 -N 2 -s 4k --nolive link",
        "as mdtest -C -n 2 -d link",
        "as fs_mark -k -d link -n 4 -s 4096",
    ] {
        let home = Home::new();
        fs::create_dir(home.work().join("real")).unwrap();
        symlink("real", home.work().join("link")).unwrap();
        home.plumb(line).expect(0);
        assert!(fs::read_dir(home.work().join("real")).unwrap().count() > 0, "{line}");
    }
}

/// Links inside a tool's own tree are not followed. Before, elbencho and mdtest followed them.
#[test]
fn links_in_own_trees_are_not_followed() {
    for (line, link) in [
        ("as elbencho -w -t 1 -n 1 -N 2 -s 4k --nolive d", "d/r0/d0"),
        ("as elbencho -F -t 1 -n 1 -N 2 -s 4k --nolive d", "d/r0/d0"),
        ("as mdtest -C -F -n 2 -d d", "d/test-dir.0-0/mdtest_tree.0"),
        ("as mdtest -r -F -n 2 -d d", "d/test-dir.0-0/mdtest_tree.0"),
    ] {
        let home = Home::new();
        let link = home.work().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let victim = home.work().join("victim");
        fs::create_dir(&victim).unwrap();
        let files = ["r0-f0", "r0-f1", "file.mdtest.0.0", "file.mdtest.0.1"];
        files.iter().for_each(|file| fs::write(victim.join(file), PRECIOUS).unwrap());
        symlink(&victim, &link).unwrap();
        let output = home.plumb(line);
        // mdtest always exits with 0, and prints a warning.
        let is_reported = if line.contains("mdtest") { output.out.contains("WARNING: ") } else { output.code != 0 };
        assert!(is_reported, "{line}: {output:?}");
        for file in files {
            assert_eq!(fs::read_to_string(victim.join(file)).unwrap(), PRECIOUS, "{line}: {file}");
        }
        assert_eq!(fs::read_dir(&victim).unwrap().count(), files.len(), "{line}");
    }
}

/// Pipes, sockets and devices are not removed. Before, elbencho's `-F` removed them and exited with 0.
#[test]
fn only_files_are_removed() {
    let home = Home::new();
    let at = |name: &str| home.work().join(name);
    rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let mut names = vec!["pipe", "socket"];
    if needs::is_root() {
        // The same device as /dev/null.
        rustix::fs::mknodat(
            CWD,
            at("null"),
            FileType::CharacterDevice,
            Mode::RUSR | Mode::WUSR,
            rustix::fs::makedev(1, 3),
        )
        .unwrap();
        names.push("null");
    }
    symlink("nowhere", at("dangling")).unwrap();
    names.push("dangling");
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    for name in names {
        for line in [
            format!("as elbencho -F --nolive {name}"),
            format!("as fio --name=a --ioengine=filedelete --filename={name} --size=4k"),
            format!("as iozone -i 0 -s 4k -r 4k -f {name}"),
            format!("as ior -a POSIX -w -b 4k -t 4k -o {name}"),
        ] {
            let output = home.plumb(&line);
            assert!(is_there(&at(name)), "{line}: {output:?}");
            assert_ne!(output.code, 0, "{line}: {output:?}");
        }
    }
    // In trees, under names that a tool deletes.
    for (line, directory, name) in [
        ("as mdtest -r -F -n 1 -d d", "d/test-dir.0-0/mdtest_tree.0", "file.mdtest.0.0"),
        ("as elbencho -F -t 1 -n 1 -N 1 --nolive d", "d/r0/d0", "r0-f0"),
        ("as sysbench fileio --file-num=1 --file-total-size=4k cleanup", ".", "test_file.0"),
        ("as elbencho -D -t 1 -n 1 --nolive d", "d/r0", "d0"),
    ] {
        let home = Home::new();
        let path = home.work().join(directory).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let output = home.plumb(line);
        assert!(fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_fifo()), "{line}: {output:?}");
        assert_ne!(output.code, 0, "{line}: {output:?}");
    }
}

/// `iozone -U` unmounts between tests: no descriptor keeps the file system busy, and the remounted directory must be
/// the same.
#[test]
fn what_is_mounted_again_must_be_the_same() {
    for (again, is_same) in [("exit 0", true), ("mv mnt old && ln -s victim mnt", false)] {
        let home = Home::new();
        for (name, script) in [("umount", "exit 0"), ("mount", again)] {
            fs::create_dir_all(home.work().join("bin")).unwrap();
            let path = home.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        fs::create_dir(home.work().join("mnt")).unwrap();
        fs::create_dir(home.work().join("victim")).unwrap();
        home.file("victim/f", PRECIOUS);
        let path = format!("{}:{}", home.work().join("bin").display(), std::env::var("PATH").unwrap());
        let line = "as iozone -U mnt -i 0 -i 1 -s 64k -r 4k -f mnt/f";
        let output = home.command(line.split_whitespace()).env("PATH", path).output().unwrap();
        assert_eq!(output.status.success(), is_same, "{again}: {output:?}");
        assert_eq!(fs::read_to_string(home.work().join("victim/f")).unwrap(), PRECIOUS, "{again}");
    }
}

/// Like the test above, but with a real file system in a mount namespace with its own fstab.
#[test]
fn root_a_file_system_is_mounted_again() {
    if !needs::root_and(&["unshare", "mkfs.ext4", "losetup"]) || !Path::new("/etc/fstab").exists() {
        return;
    }
    let home = Home::new();
    let (image, mount) = (home.work().join("image"), home.work().join("mnt"));
    fs::create_dir(&mount).unwrap();
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    assert!(needs::program("mkfs.ext4", &["-q", image.to_str().unwrap()]));
    home.file("fstab", &format!("{} {} ext4 loop 0 0\n", image.display(), mount.display()));
    let plumb = home.command([""]);
    let script = format!(
        "mount --bind fstab /etc/fstab && mount {mount} && {plumb} as iozone -U {mount} -i 0 -i 1 -i 2 -s 64k -r 4k -f {mount}/f",
        mount = mount.display(),
        plumb = Path::new(plumb.get_program()).display()
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", &script]).current_dir(home.work());
    for (name, value) in plumb.get_envs() {
        value.map(|value| command.env(name, value));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("iozone test complete."), "{output:?}");
}
