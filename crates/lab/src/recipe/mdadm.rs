//! Arrays of the md driver. Source: mdadm(8), md(4); the kernel's `admin-guide/md.rst` for the files in /sys.

use super::driver::need_driver;
use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Mdadm, Wait};
use crate::system;
use crate::undo::Undo;
use plumb_engine::guard::write_setting;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Default time limit for a sync: a day is enough for large disks.
pub(super) const SYNC_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Interval between checks of a sync.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Interval between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Number of minor numbers for arrays with plain names: md(4).
const NUMBERS: u32 = 512;

pub(super) fn build(step: &Mdadm, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let level = level(step)?;
    need_driver("md", "md RAID", "md-mod")?;
    let members = site.resolve(step.devices.as_slice())?;
    let spares = site.resolve(step.spares.as_ref().map_or(&[], |spares| spares.as_slice()))?;
    check(step, level, members.len())?;
    let all = [members.as_slice(), &spares].concat();
    site.claim(&all)?;
    let array = free_array()?;
    site.record_undo(Undo::Md { device: array.clone(), members: all })?;
    site.run(&command(step, level, &array, &members, &spares))?;
    site.own(&array);
    // With `md_mod.start_ro`, arrays and their sync stay read-only until the first write.
    if Array::at(&array).text("array_state").as_deref() == Some("read-auto") {
        site.run(&Command::new("mdadm", ["--readwrite".to_owned(), word(&array)]))?;
    }
    if let Some(delay) = &step.safe_mode_delay {
        let setting = Array::at(&array).dir.join("safe_mode_delay");
        let action = format!("write {} to {}", delay.0, setting.display());
        write_setting(&setting, &delay.0).map_err(Cause::io(action))?;
    }
    if step.wait == Wait::Sync {
        let timeout = step.timeout.map_or(SYNC_TIMEOUT, |seconds| Duration::from_secs(seconds.0));
        wait_for_sync(&array, 0, timeout, site)?;
    }
    Ok(vec![array])
}

/// Supported levels, with the minimum number of members and whether they have redundancy to sync.
const LEVELS: &[Level] = &[
    Level { name: "0", module: "raid0", members_min: 2, is_redundant: false, has_chunks: true },
    Level { name: "1", module: "raid1", members_min: 2, is_redundant: true, has_chunks: false },
    Level { name: "4", module: "raid456", members_min: 3, is_redundant: true, has_chunks: true },
    Level { name: "5", module: "raid456", members_min: 3, is_redundant: true, has_chunks: true },
    Level { name: "6", module: "raid456", members_min: 4, is_redundant: true, has_chunks: true },
    Level { name: "10", module: "raid10", members_min: 2, is_redundant: true, has_chunks: true },
];

/// A RAID level and its requirements.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    /// Kernel module that provides the level.
    pub(crate) module: &'static str,
    members_min: usize,
    is_redundant: bool,
    has_chunks: bool,
}

/// Returns the level of a step.
pub(crate) fn level(step: &Mdadm) -> Result<&'static Level, Cause> {
    let text = step.level.0.trim().to_ascii_lowercase();
    let name = text.strip_prefix("raid").unwrap_or(&text).trim_start_matches('-');
    LEVELS
        .iter()
        .find(|level| level.name == name)
        .ok_or_else(|| Cause::field("level", &step.level, "write 0, 1, 4, 5, 6 or 10"))
}

/// Checks that the step fits this many members.
pub(crate) fn check(step: &Mdadm, level: &Level, members: usize) -> Result<(), Cause> {
    if members < level.members_min {
        let expected = format!("RAID {} has {} members or more", level.name, level.members_min);
        return Err(Cause::field("devices", members, expected));
    }
    if let Some(chunk) = step.chunk {
        if !level.has_chunks {
            return Err(Cause::field("chunk", chunk, "a mirror has no chunks; leave it out"));
        }
        if chunk.0 < 4096 || !chunk.0.is_power_of_two() {
            return Err(Cause::field("chunk", chunk, "write a power of two from 4 KiB on"));
        }
    }
    if !level.is_redundant && (step.spares.is_some() || step.bitmap.is_some()) {
        return Err(Cause::field("level", &step.level, "RAID 0 has neither spares nor a bitmap; leave them out"));
    }
    for (field, bytes) in [("size", step.size), ("align", step.align)] {
        if bytes.is_some_and(|bytes| !bytes.0.is_multiple_of(1024) || bytes.0 == 0) {
            return Err(Cause::field(field, bytes.unwrap_or_default(), "write whole KiB"));
        }
    }
    if !["0.90", "1.0", "1.1", "1.2"].contains(&metadata(step)) {
        return Err(Cause::field("metadata", metadata(step), "write 0.90, 1.0, 1.1 or 1.2"));
    }
    if let Some(bitmap) = step.bitmap.as_deref().filter(|bitmap| !["none", "internal"].contains(bitmap)) {
        return Err(Cause::field("bitmap", bitmap, "write none or internal"));
    }
    Ok(())
}

/// Returns the version of the superblock. A number in a study file has lost its last zero.
fn metadata(step: &Mdadm) -> &str {
    match step.metadata.as_ref().map(|metadata| metadata.0.as_str()) {
        None => "1.2",
        Some("0.9") => "0.90",
        Some(version) => version,
    }
}

/// Returns the command that creates an array without questions (`--run`).
fn command(step: &Mdadm, level: &Level, array: &Path, members: &[PathBuf], spares: &[PathBuf]) -> Command {
    let kib = |bytes: plumb_workload::units::Bytes| bytes.0 / 1024;
    let mut words = vec![
        "--create".to_owned(),
        word(array),
        "--run".to_owned(),
        "--homehost=any".to_owned(),
        format!("--name={}", step.name),
        format!("--level={}", level.name),
        format!("--metadata={}", metadata(step)),
        format!("--raid-devices={}", members.len()),
    ];
    if !spares.is_empty() {
        words.push(format!("--spare-devices={}", spares.len()));
    }
    words.extend(step.chunk.map(|chunk| format!("--chunk={}", kib(chunk))));
    words.extend(step.layout.as_ref().map(|layout| format!("--layout={layout}")));
    if level.is_redundant {
        // Always given: newer versions of mdadm ask otherwise.
        words.push(format!("--bitmap={}", step.bitmap.as_deref().unwrap_or("none")));
    }
    words.extend(step.size.map(|size| format!("--size={}", kib(size))));
    words.extend(step.align.map(|align| format!("--data-offset={}K", kib(align))));
    if step.assume_clean && level.is_redundant {
        words.push("--assume-clean".to_owned());
    }
    words.extend(members.iter().chain(spares).map(|device| word(device)));
    Command::new("mdadm", words)
}

fn free_array() -> Result<PathBuf, Cause> {
    let free = (0..NUMBERS).find(|number| !Path::new(&format!("/sys/block/md{number}")).exists());
    let number = free.ok_or_else(|| Cause::Unavailable(format!("all {NUMBERS} numbers of arrays are taken")))?;
    Ok(PathBuf::from(format!("/dev/md{number}")))
}

/// The sysfs directory of an array.
pub(super) struct Array {
    dir: PathBuf,
}

/// Progress of a sync.
#[derive(Debug, Clone, PartialEq)]
enum Sync {
    /// No sync is pending.
    Done,
    /// The running action (`resync`, `recover`), and the share done if known.
    Going { what: String, share: Option<f64> },
}

impl Array {
    pub(super) fn at(device: &Path) -> Array {
        let name = fs::canonicalize(device).unwrap_or_else(|_| device.to_owned());
        Array { dir: Path::new("/sys/block").join(name.file_name().unwrap_or_default()).join("md") }
    }

    fn text(&self, file: &str) -> Option<String> {
        system::text(&self.dir.join(file)).ok()
    }

    /// Returns the number of missing members.
    pub(super) fn degraded(&self) -> u64 {
        self.text("degraded").and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Returns the state of a member, such as `in_sync` or `faulty`; `None` if it is not a member.
    pub(super) fn member(&self, device: &Path) -> Option<String> {
        let name = system::kernel_name(device).ok()?;
        self.text(&format!("dev-{name}/state"))
    }

    fn sync(&self, degraded_max: u64) -> Sync {
        // RAID 0 has none of these files.
        let Some(action) = self.text("sync_action") else { return Sync::Done };
        let is_clean = self.text("resync_start").is_none_or(|start| start == "none");
        if action == "idle" && is_clean && self.degraded() <= degraded_max {
            return Sync::Done;
        }
        Sync::Going { what: action, share: self.text("sync_completed").and_then(|text| share(&text)) }
    }
}

/// Parses `1024 / 4096`, in sectors.
fn share(text: &str) -> Option<f64> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (f64, f64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (all > 0.0).then_some(done / all)
}

/// Waits until an array no longer syncs and lacks at most this many members.
pub(super) fn wait_for_sync(
    array: &Path,
    degraded_max: u64,
    timeout: Duration,
    site: &mut Site<'_>,
) -> Result<(), Cause> {
    let shown = Array::at(array);
    let begin = Instant::now();
    let mut reported = begin;
    loop {
        let Sync::Going { what, share } = shown.sync(degraded_max) else { return Ok(()) };
        let share = share.map_or_else(String::new, |share| format!(", {:.0} % done", share * 100.0));
        if begin.elapsed() > timeout {
            return Err(Cause::Unavailable(format!(
                "{} still syncs after {} s ({what}{share}); give it more `timeout`",
                array.display(),
                timeout.as_secs()
            )));
        }
        if reported.elapsed() >= REPORT_INTERVAL {
            reported = Instant::now();
            site.say(&format!("waiting for {}: {what}{share}", array.display()));
        }
        site.wait(POLL_INTERVAL)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(more: &str) -> String {
        let text = format!(r#"{{"name": "array", "devices": "@disks"{more}}}"#);
        let step: Mdadm = plumb_document::json::from_str(&text).unwrap();
        let members = ["/dev/vda", "/dev/vdb", "/dev/vdc"].map(PathBuf::from);
        let spares: Vec<PathBuf> = step.spares.iter().map(|_| PathBuf::from("/dev/vdd")).collect();
        let level = level(&step).unwrap();
        check(&step, level, 3).map_err(|error| error.to_string()).unwrap();
        command(&step, level, Path::new("/dev/md0"), &members, &spares).to_string()
    }

    #[test]
    fn arrays_are_created_from_the_step_without_questions() {
        assert_eq!(
            line(r#", "level": 4, "chunk": "256k""#),
            "mdadm --create /dev/md0 --run --homehost=any --name=array --level=4 --metadata=1.2 --raid-devices=3 \
             --chunk=256 --bitmap=none /dev/vda /dev/vdb /dev/vdc"
        );
        assert_eq!(
            line(
                r#", "level": "raid5", "layout": "left-asymmetric", "spares": "@s", "metadata": 1.0, "bitmap": "internal",
                  "size": "100MiB", "align": "1MiB", "assume-clean": true"#
            ),
            "mdadm --create /dev/md0 --run --homehost=any --name=array --level=5 --metadata=1.0 --raid-devices=3 \
             --spare-devices=1 --layout=left-asymmetric --bitmap=internal --size=102400 --data-offset=1024K \
             --assume-clean /dev/vda /dev/vdb /dev/vdc /dev/vdd"
        );
        assert!(!line(r#", "level": "0", "assume-clean": true"#).contains("--bitmap"));
        assert!(!line(r#", "level": "0", "assume-clean": true"#).contains("--assume-clean"));
    }

    #[test]
    fn invalid_arrays_are_rejected() {
        let problem = |text: &str, members| {
            let step: Mdadm =
                plumb_document::json::from_str(&format!(r#"{{"name": "a", "devices": "@d", {text}}}"#)).unwrap();
            level(&step).and_then(|level| check(&step, level, members)).unwrap_err().to_string()
        };
        assert_eq!(problem(r#""level": 7"#, 3), "`level` is `7`: write 0, 1, 4, 5, 6 or 10");
        assert!(problem(r#""level": 6"#, 3).contains("RAID 6 has 4 members or more"));
        assert!(problem(r#""level": 1, "chunk": "64k""#, 2).contains("no chunks"));
        assert!(problem(r#""level": 5, "chunk": "100k""#, 3).contains("power of two"));
        assert!(problem(r#""level": 0, "bitmap": "internal""#, 2).contains("neither spares nor a bitmap"));
        assert!(problem(r#""level": 1, "bitmap": "/file""#, 2).contains("none or internal"));
    }

    // Protects: an array between its creation and the start of its sync is not considered ready.
    #[test]
    fn an_array_is_ready_when_no_sync_is_pending() {
        let dir = tempfile::tempdir().unwrap();
        let array = Array { dir: dir.path().to_owned() };
        let write = |files: &[(&str, &str)]| {
            files.iter().for_each(|(file, text)| fs::write(dir.path().join(file), format!("{text}\n")).unwrap());
        };
        assert_eq!(array.sync(0), Sync::Done, "RAID 0");
        write(&[("sync_action", "idle"), ("degraded", "1"), ("resync_start", "none"), ("sync_completed", "none")]);
        assert_eq!(array.sync(0), Sync::Going { what: "idle".to_owned(), share: None });
        assert_eq!(array.sync(1), Sync::Done, "one member is meant to be missing");
        write(&[("degraded", "0"), ("resync_start", "0")]);
        assert_ne!(array.sync(0), Sync::Done, "the resync has not started yet");
        write(&[("sync_action", "resync"), ("sync_completed", "1024 / 4096")]);
        assert_eq!(array.sync(0), Sync::Going { what: "resync".to_owned(), share: Some(0.25) });
        write(&[("sync_action", "idle"), ("resync_start", "none"), ("sync_completed", "none")]);
        assert_eq!(array.sync(0), Sync::Done);
    }
}
