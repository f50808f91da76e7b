//! A target that is slower is found slower, and why is said.

use crate::alone;
use crate::common::disks::{Loop, Mounted};
use crate::common::{Home, Said, needs};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// A control group that holds one device's reads down.
struct Throttle {
    group: PathBuf,
}

impl Throttle {
    /// Version 2 where its io controller is there, else version 1; `None` where there is neither.
    fn reads(disk: &Loop, ops_per_second: u64) -> Option<Throttle> {
        let name = format!("plumb-test-{}", std::process::id());
        let number = disk.number();
        let unified = Path::new("/sys/fs/cgroup");
        let has_io = |file: &str| {
            std::fs::read_to_string(unified.join(file))
                .is_ok_and(|text| text.split_whitespace().any(|word| word == "io"))
        };
        if has_io("cgroup.controllers") {
            let _ = std::fs::write(unified.join("cgroup.subtree_control"), "+io");
            let group = unified.join(name);
            std::fs::create_dir(&group).ok()?;
            let throttle = Throttle { group };
            std::fs::write(throttle.group.join("io.max"), format!("{number} riops={ops_per_second}")).ok()?;
            return Some(throttle);
        }
        let blkio = unified.join("blkio");
        if !blkio.join("blkio.throttle.read_iops_device").exists() && !blkio.join("cgroup.procs").exists() {
            return None;
        }
        let group = blkio.join(name);
        std::fs::create_dir(&group).ok()?;
        let throttle = Throttle { group };
        std::fs::write(throttle.group.join("blkio.throttle.read_iops_device"), format!("{number} {ops_per_second}"))
            .ok()?;
        Some(throttle)
    }

    /// Plumb, in this group from its first instruction on.
    fn plumb(&self, home: &Home, line: &str) -> Said {
        let plain = home.command(line.split_whitespace());
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(&self.group)
            .arg(plain.get_program())
            .args(plain.get_args());
        command.current_dir(home.work());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Said::of(command)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.group);
    }
}

fn contrast<'a>(comparison: &'a Value, metric: &str) -> &'a Value {
    let contrasts = comparison["contrasts"].as_array().unwrap();
    contrasts
        .iter()
        .find(|contrast| contrast["metric"] == metric)
        .unwrap_or_else(|| panic!("no {metric} in {comparison:#}"))
}

#[test]
fn a_throttled_device_is_found_slower() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (free, held) = (Mounted::on_loop("ext4", 1024 * MIB, ""), Mounted::on_loop("ext4", 1024 * MIB, ""));
    let Some(throttle) = Throttle::reads(held.disk.as_ref().unwrap(), 500) else {
        return needs::skip("no control group can limit I/O here");
    };
    let home = Home::new();
    let line = format!(
        "compare {} {} --for random-read --budget 60s --time 1s --size 32MiB --json",
        free.as_str(),
        held.as_str()
    );
    let said = throttle.plumb(&home, &line);
    let comparison = said.json();
    eprintln!("{}", comparison["verdict_note"]);
    let rate = contrast(&comparison, "read.iops");
    assert_eq!(rate["verdict"], "slower", "{comparison:#}");
    assert!(rate["hi"].as_f64().unwrap() < 0.95);
    let rate = rate["candidate_value"].as_f64().unwrap();
    assert!(rate < 1000.0, "500 a second are allowed, and {rate} were had");
    // Turned round, the other one is faster.
    let line = format!(
        "compare {} {} --for random-read --budget 60s --time 1s --size 32MiB --json",
        held.as_str(),
        free.as_str()
    );
    assert_eq!(contrast(&throttle.plumb(&home, &line).json(), "read.iops")["verdict"], "faster");
}

#[test]
fn a_journal_of_data_and_synchronous_writes_are_found_slower() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (plain, slow) =
        (Mounted::on_loop("ext4", 1024 * MIB, ""), Mounted::on_loop("ext4", 1024 * MIB, "data=journal,sync"));
    let home = Home::new();
    let line = format!(
        "compare {} {} --for small-files,stream-write --varying mount --budget 180s --time 1s --size 64MiB",
        plain.as_str(),
        slow.as_str()
    );
    let comparison = home.plumb(&format!("{line} --json")).json();
    eprintln!("{}\n{:#}", comparison["verdict_note"], comparison["differences"]);
    assert_eq!(contrast(&comparison, "create.ops")["verdict"], "slower", "{comparison:#}");
    assert_eq!(contrast(&comparison, "write.bw")["verdict"], "slower", "{comparison:#}");
    // What differs is what was meant to, and it is named.
    let facts: Vec<&str> =
        comparison["differences"].as_array().unwrap().iter().map(|one| one["fact"].as_str().unwrap()).collect();
    assert!(facts.iter().any(|fact| fact.contains("options")), "{facts:?}");
    assert_eq!(comparison["confounded"], false, "{:#}", comparison["differences"]);
}
