//! A directory to build in, and an inventory of the standing systems.

use plumb_lab::step::{Expendable, MadeNames, Safety};
use plumb_lab::{Builder, LabError, Step};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A directory next to the build, not in memory, with journals in it.
pub(crate) struct Bench {
    pub dir: tempfile::TempDir,
    pub builder: Builder,
    /// One test at a time: the inventory covers the whole machine.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Bench {
    pub(crate) fn new() -> Bench {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let builder = Builder::new(&dir.path().join("journals"));
        // A failed test has taken down its own systems.
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Bench { dir, builder, _alone: alone }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns a path in the directory.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Parses steps from JSON. `DIR` stands for the directory.
    pub(crate) fn steps(&self, text: &str) -> Vec<Step> {
        steps(text, self.path())
    }

    pub(crate) fn build(&mut self, text: &str) -> Result<MadeNames, LabError> {
        self.build_with(text, &Safety::default())
    }

    pub(crate) fn build_with(&mut self, text: &str, safety: &Safety) -> Result<MadeNames, LabError> {
        let steps = self.steps(text);
        self.builder.build("test", &steps, safety, &mut |line| eprintln!("{line}"))
    }

    #[track_caller]
    pub(crate) fn undo(&mut self) {
        self.builder.undo(&mut |line| eprintln!("{line}")).unwrap();
    }

    /// Returns everything standing that was made below the directory, or by this process.
    pub(crate) fn standing(&self) -> BTreeSet<String> {
        standing(self.path())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.builder.undo(&mut |line| eprintln!("{line}"));
        }
    }
}

/// Returns a zram step for the start of a list, or nothing if the kernel has no zram.
pub(crate) fn zram() -> &'static str {
    let has = Path::new("/sys/class/zram-control").is_dir();
    if has { r#"{"kind": "zram", "name": "memory", "size": "16MiB"},"# } else { "" }
}

pub(crate) fn steps(text: &str, dir: &Path) -> Vec<Step> {
    let text = text.replace("DIR", dir.to_str().unwrap());
    plumb_document::json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns loop devices, mounts, files and processes that refer to a directory, and all arrays, mapped devices and
/// zram devices of the machine. Other programs may use loop devices and mounts of their own.
pub(crate) fn standing(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let text = dir.to_str().unwrap();
    for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let image = std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if image.contains(text) || ["md", "dm-", "zram"].iter().any(|kind| name.starts_with(kind)) {
            found.insert(format!("device {name} {}", image.trim()));
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(text)).map(|line| format!("mount {line}")));
    let processes = system("ps", &["-eo", "pid=,args="]);
    let own = std::process::id().to_string();
    let others = processes.lines().filter(|line| line.contains(text) && line.split_whitespace().next() != Some(&own));
    found.extend(others.map(|line| format!("process {line}")));
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let is_empty_journals =
            entry.file_name() == "journals" && std::fs::read_dir(entry.path()).unwrap().count() == 0;
        if !is_empty_journals {
            found.insert(format!("file {}", entry.path().display()));
        }
    }
    for root in ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup"] {
        let groups = std::fs::read_dir(root).into_iter().flatten().flatten();
        let mine = format!("plumb-lab-{}-", std::process::id());
        let groups = groups.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine));
        found.extend(groups.map(|entry| format!("group {}", entry.path().display())));
    }
    found
}

/// Runs a program of the system, which must succeed.
#[track_caller]
pub(crate) fn system(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns a study's permission to destroy a device.
pub(crate) fn expendable(path: Option<&str>, serial: Option<&str>) -> Safety {
    let entry = Expendable { path: path.map(str::to_owned), serial: serial.map(str::to_owned) };
    Safety { expendable: vec![entry], typed: String::new() }
}

/// A user's disk: a loop device that the lab did not make, removed after the test.
pub(crate) struct Disk {
    pub device: String,
    pub serial: String,
    _dir: tempfile::TempDir,
}

impl Disk {
    pub(crate) fn new(bytes: u64) -> Disk {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = dir.path().join("users-own.img");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let device = system("losetup", &["--find", "--show", image.to_str().unwrap()]);
        let name = device.trim_start_matches("/dev/");
        let shown = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap();
        Disk { device, serial: format!("loop:{}", shown.trim()), _dir: dir }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}
