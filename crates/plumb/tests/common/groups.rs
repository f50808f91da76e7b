//! Control groups of version 1 or 2, whichever has the controller, that are removed when the test ends.

use super::disks::Loop;
use super::{CommandOutput, Home};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The file layout of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// A controller of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    Io,
    Cpu,
    Memory,
}

/// A group for this test alone.
pub struct Group {
    dir: PathBuf,
    pub version: Version,
}

const ROOT: &str = "/sys/fs/cgroup";

impl Controller {
    fn name(self, version: Version) -> &'static str {
        match (self, version) {
            (Controller::Io, Version::One) => "blkio",
            (Controller::Io, Version::Two) => "io",
            (Controller::Cpu, _) => "cpu",
            (Controller::Memory, _) => "memory",
        }
    }
}

impl Group {
    /// Creates a group under the root of this controller, or returns the reason why it cannot.
    pub fn new(controller: Controller) -> Result<Group, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("plumb-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let make = |version: Version, parent: &Path| {
            let dir = parent.join(&name);
            // A killed test may have left it.
            let _ = std::fs::remove_dir(&dir);
            std::fs::create_dir(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
            Ok(Group { dir, version })
        };
        let one = Path::new(ROOT).join(controller.name(Version::One));
        if one.join("cgroup.procs").exists() && !one.join("cgroup.controllers").exists() {
            return make(Version::One, &one);
        }
        let word = controller.name(Version::Two);
        for unified in [ROOT, "/sys/fs/cgroup/unified"].map(Path::new) {
            let has = std::fs::read_to_string(unified.join("cgroup.controllers")).unwrap_or_default();
            if has.split_whitespace().any(|one| one == word) {
                let _ = std::fs::write(unified.join("cgroup.subtree_control"), format!("+{word}"));
                return make(Version::Two, unified);
            }
        }
        Err(format!("no control group has the controller `{word}` here"))
    }

    fn set(&self, one: &str, two: &str, value: &str) -> Result<(), String> {
        let file = self.dir.join(if self.version == Version::One { one } else { two });
        std::fs::write(&file, value).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Limits reads of one device.
    pub fn limit_reads(self, disk: &Loop, ops_per_second: u64) -> Result<Group, String> {
        let number = disk.number();
        let key = if self.version == Version::One { "" } else { "riops=" };
        let value = format!("{number} {key}{ops_per_second}");
        self.set("blkio.throttle.read_iops_device", "io.max", &value)?;
        Ok(self)
    }

    /// Limits writes to one device.
    pub fn limit_writes(self, disk: &Loop, ops_per_second: u64) -> Result<Group, String> {
        let number = disk.number();
        let key = if self.version == Version::One { "" } else { "wiops=" };
        self.set("blkio.throttle.write_iops_device", "io.max", &format!("{number} {key}{ops_per_second}"))?;
        Ok(self)
    }

    /// Limits CPU time, in hundredths of one processor.
    pub fn limit_cpu_percent(self, percent: u32) -> Result<Group, String> {
        let quota_us = percent * 1000;
        match self.version {
            Version::One => self.set("cpu.cfs_quota_us", "", &quota_us.to_string())?,
            Version::Two => self.set("", "cpu.max", &format!("{quota_us} 100000"))?,
        }
        Ok(self)
    }

    /// Limits memory, including the page cache of files that its processes read.
    pub fn limit_memory(self, bytes: u64) -> Result<Group, String> {
        self.set("memory.limit_in_bytes", "memory.max", &bytes.to_string())?;
        Ok(self)
    }

    /// Builds a Plumb command that is in this group from its first instruction on.
    pub fn plumb(&self, home: &Home, line: &str) -> CommandOutput {
        let plain = home.command(line.split_whitespace());
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(&self.dir)
            .arg(plain.get_program())
            .args(plain.get_args());
        command.current_dir(home.work());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        CommandOutput::run(command)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It can be busy for a moment after its last process has ended.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("left behind: {}", self.dir.display());
    }
}
